"""The residuals that a set of marginals needs, and the weight of each residual in each marginal."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    Integers: TypeAlias = npt.NDArray[np.int64]
    Floats: TypeAlias = npt.NDArray[np.float64]

_BITS = 62  # attributes whose sets are the bits of one number


@final
@dataclass(frozen=True, slots=True, eq=False)
class Incidence:
    """How variances depend on noise: that of an output is Σ `factors` · v over its pairs (`owners`, `members`).

    There are `outputs` outputs, and v is the variance of each of `parts` independent parts.
    """

    outputs: int
    parts: int
    owners: Integers
    members: Integers
    factors: Floats

    def coefficients(self, weights: Floats) -> Floats:
        """The weight of each part's variance in the weighted sum of the outputs' variances."""
        return _added(self.members, self.factors * weights[self.owners], self.parts)

    def variances(self, noise: Floats) -> Floats:
        """The variance of each output, from the variances of the parts."""
        return _added(self.owners, self.factors * noise[self.members], self.outputs)

    @classmethod
    def joined(cls, several: Sequence[Incidence]) -> Incidence:
        """Several incidences as one, with their outputs and parts one after the other."""
        outputs = np.cumsum([0, *(each.outputs for each in several)])
        parts = np.cumsum([0, *(each.parts for each in several)])
        return cls(
            int(outputs[-1]),
            int(parts[-1]),
            np.concatenate([each.owners + start for each, start in zip(several, outputs[:-1], strict=True)]),
            np.concatenate([each.members + start for each, start in zip(several, parts[:-1], strict=True)]),
            np.concatenate([each.factors for each in several]),
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Marginals of attributes with `sizes` values, each a rising tuple of attributes, and the residuals they need.

    `residuals` are all subsets of the marginals, in rising order of their size. In a cell of a marginal each residual
    is spread evenly over the attributes that it does not have [XWZK23].
    """

    sizes: tuple[int, ...]
    marginals: tuple[tuple[int, ...], ...]
    residuals: tuple[tuple[int, ...], ...]
    incidence: Incidence

    @classmethod
    def of(cls, sizes: Sequence[int], marginals: Sequence[tuple[int, ...]]) -> Layout:
        """The layout of the given marginals, computed by arrays of all pairs, without a loop over them."""
        by_length: dict[int, list[int]] = {}
        for place, attributes in enumerate(marginals):
            by_length.setdefault(len(attributes), []).append(place)
        listed = np.array(sizes, dtype=np.float64)
        found: list[tuple[int, ...]] = []
        owners: list[Integers] = []
        members: list[Integers] = []
        factors: list[Floats] = []
        for length in range(max(by_length, default=0) + 1):
            subsets = list(_subsets(by_length, marginals, length))
            if not subsets:
                continue
            chosen = np.concatenate([inside for _, inside, _ in subsets])
            _, first, places = np.unique(_codes(chosen, len(sizes)), return_index=True, return_inverse=True)
            members.append(places.reshape(-1) + len(found))
            owners.append(np.concatenate([places for places, _, _ in subsets]))
            factors.extend(
                np.prod(1 - 1 / listed[inside], axis=1) / np.prod(listed[outside] ** 2, axis=1)
                for _, inside, outside in subsets
            )
            found.extend(map(tuple, chosen[first].tolist()))
        pairs = np.concatenate(owners), np.concatenate(members), np.concatenate(factors)
        return cls(tuple(sizes), tuple(marginals), tuple(found), Incidence(len(marginals), len(found), *pairs))

    def coefficients(self, weights: Floats) -> Floats:
        """The weight of each residual's variance in the weighted sum of the marginals' variances."""
        return self.incidence.coefficients(weights)

    def variances(self, noise: Floats) -> Floats:
        """The variance of a cell of each marginal, from the variances of the residuals' noise."""
        return self.incidence.variances(noise)

    def largest(self) -> list[tuple[int, ...]]:
        """The marginals that are part of no other."""
        inside = {
            each[:place] + each[place + 1 :] for each in self.residuals for place in range(len(each))
        }  # every subset of a marginal is a residual
        return [each for each in self.marginals if each not in inside]

    def cells(self) -> int:
        """How many cells all marginals have together."""
        return sum(self.cells_of(each) for each in self.marginals)

    def cells_of(self, attributes: tuple[int, ...]) -> int:
        """How many cells the table of some attributes has."""
        return math.prod(self.sizes[each] for each in attributes)

    def sizes_of(self, attributes: tuple[int, ...]) -> tuple[int, ...]:
        """How many values each of some attributes has."""
        return tuple(self.sizes[each] for each in attributes)


def _subsets(
    by_length: dict[int, list[int]], marginals: Sequence[tuple[int, ...]], length: int
) -> Iterator[tuple[Integers, Integers, Integers]]:
    """The subsets of one length: the places of their marginals, the attributes inside, and those outside."""
    for longer, places in by_length.items():
        if longer < length:
            continue
        attributes = np.array([marginals[place] for place in places], dtype=np.int64).reshape(len(places), longer)
        for inside in itertools.combinations(range(longer), length):
            outside = [place for place in range(longer) if place not in inside]
            yield np.array(places, dtype=np.int64), attributes[:, list(inside)], attributes[:, outside]


def _added(places: Integers, numbers: Floats, size: int) -> Floats:
    """For each place, the sum of its numbers."""
    return np.bincount(places, numbers, minlength=size).astype(np.float64)


def _codes(chosen: Integers, count: int) -> Integers:
    """One number for each set of attributes of the same length."""
    if count <= _BITS:
        bits: Integers = np.bitwise_or.reduce(np.int64(1) << chosen, axis=1)
        return bits
    codes = np.zeros(len(chosen), dtype=np.int64)
    for column in range(chosen.shape[1]):
        _, codes = np.unique(codes * count + chosen[:, column], return_inverse=True)
        codes = codes.reshape(-1)
    return codes
