"""Noisy tables made consistent: not negative, with equal sums. This is post-processing, and no longer unbiased."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np

from giveortake.mechanisms.marginals import rebuilt

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]

MOST_CELLS = 300_000  # of all largest tables together; more would take minutes
_NEAREST = 30  # rounds of the search for the nearest tables
_ROUNDS = 400  # rounds of the search for any consistent tables near those
_BEYOND = 2.5  # how far beyond zero negative cells are moved in these rounds
_ABOVE = 5e-4  # of the noise, and a little more


@final
@dataclass(frozen=True, slots=True, eq=False)
class ConsistentTables:
    """Tables of sets of attributes; tables of fewer attributes are sums over them."""

    sizes: tuple[int, ...]
    tables: Mapping[tuple[int, ...], Floats]

    def table(self, attributes: tuple[int, ...]) -> Floats:
        """The table of some attributes, flat: a sum over any table that has all of them."""
        largest = next(candidate for candidate in self.tables if set(attributes) <= set(candidate))
        summed_axes = tuple(axis for axis, attribute in enumerate(largest) if attribute not in attributes)
        table: Floats = self.tables[largest].sum(axis=summed_axes).reshape(-1)
        return table


def consistent_tables(
    sizes: Sequence[int], tables: Mapping[tuple[int, ...], Floats], variances: Mapping[tuple[int, ...], float]
) -> ConsistentTables:
    """Non-negative tables with the same sums, near the given ones.

    Dykstra's algorithm projects in turn on the tables that agree (their residuals are averaged, by the inverse of the
    variances) and on those that are not negative. It finds the nearest tables, but slowly; so after some rounds
    negative cells are moved beyond zero, which soon ends the search. If it does not, uniform tables are mixed in until
    no cell is below zero.
    """
    shaped = {
        attributes: table.reshape([sizes[attribute] for attribute in attributes])
        for attributes, table in tables.items()
    }
    weights = {attributes: 1 / variances[attributes] for attributes in tables}
    noise = min(math.sqrt(variance) for variance in variances.values())
    now = _agreeing(sizes, shaped, weights)
    total = max(float(next(iter(now.values())).sum()), 0.0)
    below = {attributes: np.zeros_like(table) for attributes, table in now.items()}
    now = _agreeing(sizes, now, weights, total)
    for round_number in range(_NEAREST + _ROUNDS):
        if min(float(table.min()) for table in now.values()) >= 0:
            break
        for attributes, table in now.items():
            if round_number < _NEAREST:
                moved = table + below[attributes]
                now[attributes] = np.maximum(moved, 0.0)
                below[attributes] = moved - now[attributes]
            else:
                above = min(_ABOVE * noise, 1e-3 * total / table.size)
                now[attributes] = np.where(table < 0, above - _BEYOND * table, table)
        now = _agreeing(sizes, now, weights, total)
    return ConsistentTables(tuple(sizes), _lifted(now, total))


def _agreeing(
    sizes: Sequence[int],
    tables: Mapping[tuple[int, ...], Floats],
    weights: Mapping[tuple[int, ...], float],
    total: float | None = None,
) -> dict[tuple[int, ...], Floats]:
    """The nearest tables that agree: each residual is the weighted average of its values in all tables."""
    sums: dict[tuple[int, ...], Floats] = {}
    shares: dict[tuple[int, ...], float] = {}
    for attributes, table in tables.items():
        for axes, subset in _subsets(attributes):
            summed_axes = tuple(axis for axis in range(table.ndim) if axis not in axes)
            cells = math.prod(table.shape[axis] for axis in summed_axes)
            weight = weights[attributes] / cells  # a sum over n cells has n times the variance
            sums[subset] = sums.get(subset, 0.0) + weight * np.add.reduce(table, axis=summed_axes)
            shares[subset] = shares.get(subset, 0.0) + weight
    parts = {
        subset: _centred(weighted_sum / shares[subset]) for subset, weighted_sum in sums.items()
    }  # once for all: it is linear
    if total is not None:
        parts[()] = np.array(total)
    return {
        attributes: rebuilt(
            [sizes[attribute] for attribute in attributes],
            {axes: parts[subset] for axes, subset in _subsets(attributes)},
        )
        for attributes in tables
    }


def _centred(table: Floats) -> Floats:
    """A table minus all means: the residual of its attributes."""
    for axis in range(table.ndim):
        table = table - np.add.reduce(table, axis=axis, keepdims=True) / table.shape[axis]
    return table


def _subsets(attributes: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    for length in range(len(attributes) + 1):
        for axes in itertools.combinations(range(len(attributes)), length):
            yield axes, tuple(attributes[axis] for axis in axes)


def _lifted(tables: Mapping[tuple[int, ...], Floats], total: float) -> dict[tuple[int, ...], Floats]:
    """The tables without negative cells: each is mixed with the uniform table, all in the same proportion."""
    share = 0.0
    for table in tables.values():
        least, alike = float(table.min()), total / table.size
        if least < 0:
            share = max(share, 1.0 if alike == 0 else -least / (alike - least))
    return {
        attributes: np.maximum((1 - share) * table + share * total / table.size, 0.0)
        for attributes, table in tables.items()
    }


def rising(totals: Floats) -> Floats:
    """For each row of running totals, the nearest that never fall nor are negative (pool adjacent violators)."""
    rising_totals = np.empty_like(totals)
    for row_index, row in enumerate(totals):
        rising_totals[row_index] = np.maximum(_isotonic(row), 0.0)
    return rising_totals


def _isotonic(row: Floats) -> Floats:
    means: list[float] = []
    counts: list[int] = []
    for value in row.tolist():
        means.append(value)
        counts.append(1)
        while len(means) > 1 and means[-2] > means[-1]:
            mean, count = means.pop(), counts.pop()
            together = counts[-1] + count
            means[-1] = (means[-1] * counts[-1] + mean * count) / together
            counts[-1] = together
    return np.repeat(means, counts)
