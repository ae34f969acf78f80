"""Trees over bins with many branches and least-squares estimates [HRMS10; QYL13]: the strategy for Laplace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from operator import mul
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake.mechanisms.prefix_sums import PrefixStrategy

if TYPE_CHECKING:
    import numpy.typing as npt

    Integers: TypeAlias = npt.NDArray[np.int64]
    Floats: TypeAlias = npt.NDArray[np.float64]

FINENESS = 2**6  # steps that one value counts, so that rounding the noise to steps hardly adds to it
_FEW, _MANY = 40, 450  # bins: a tree has one level up to the first number, two up to the second, else three


@final
@dataclass(frozen=True, slots=True)
class ConsistentTree(PrefixStrategy):
    """Sums over bins, level by level, the widest first: `branches` is into how many each splits; `size` bins are used.

    A bin is in one sum of each level: `FINENESS` in L1 and L2 for every section. Running totals come from the bins
    that fit all sums best by least squares, which is the best linear estimate: every level has the same noise.

    >>> ConsistentTree((2, 2), 3).transform(np.array([[1, 0, 2]])).tolist()
    [[64, 128, 64, 0, 128, 0]]
    >>> ConsistentTree((2, 2), 3).running_totals(np.array([[64.0, 128, 64, 0, 128, 0]])).tolist()
    [[0.0, 1.0, 1.0, 3.0]]
    """

    branches: tuple[int, ...]
    size: int

    kind: ClassVar[str] = "tree"

    @classmethod
    def over(cls, size: int) -> ConsistentTree:
        """The tree with the least noise in ranks for `size` bins: one, two or three levels of equal branching."""
        levels = 1 if size <= _FEW else 2 if size <= _MANY else 3
        branches, left = [], size
        for level in range(levels, 0, -1):
            branches.append(_root_up(left, level))
            left = -(-left // branches[-1])
        return cls(tuple(branches), size)

    @property
    def fineness(self) -> int:
        return FINENESS

    @property
    def sections(self) -> tuple[int, ...]:
        return tuple(accumulate(self.branches, mul))

    @property
    def l1(self) -> Fraction:
        return Fraction(FINENESS)

    @property
    def l2(self) -> Fraction:
        return Fraction(FINENESS)

    @property
    def growth(self) -> int:
        return FINENESS * math.prod(self.branches[1:])  # the bins below a node of the first level

    def transform(self, bins: Integers) -> Integers:
        level = np.zeros((len(bins), math.prod(self.branches)), dtype=bins.dtype)
        level[:, : self.size] = bins * FINENESS
        levels = [level]
        for width, branching in zip(reversed(self.sections[:-1]), reversed(self.branches[1:]), strict=True):
            levels.insert(0, levels[0].reshape(len(bins), width, branching).sum(axis=2))
        return np.concatenate(levels, axis=1)

    def running_totals(self, released: Floats) -> Floats:
        """Upwards, each node is averaged with the sum of its parts; downwards, differences are shared out equally."""
        keys = len(released)
        ends = [0, *accumulate(self.sections)]
        levels = [released[:, start:end] / FINENESS for start, end in pairwise(ends)]
        best = levels[-1]
        from_below = [best]
        variance = 1.0
        for level, branching in zip(reversed(levels[:-1]), reversed(self.branches[1:]), strict=True):
            of_parts = branching * variance
            parts = best.reshape(keys, level.shape[1], branching).sum(axis=2)
            best = (of_parts * level + parts) / (1 + of_parts)
            variance = of_parts / (1 + of_parts)
            from_below.insert(0, best)
        for level, branching in zip(from_below[1:], self.branches[1:], strict=True):
            parts = level.reshape(keys, best.shape[1], branching)
            best = (parts + ((best - parts.sum(axis=2)) / branching)[:, :, np.newaxis]).reshape(keys, level.shape[1])
        totals = np.cumsum(best[:, : self.size], axis=1)
        return np.concatenate([np.zeros((keys, 1)), totals], axis=1)

    def to_json(self) -> list[Any]:
        return [self.kind, list(self.branches), self.size, FINENESS]


def _root_up(number: int, order: int) -> int:
    """The least whole number whose power of that order is at least `number`."""
    root = 1
    while math.prod([root] * order) < number:
        root += 1
    return root
