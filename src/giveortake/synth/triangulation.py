"""Which columns a junction tree holds together: the cliques of a triangulated graph, and how many cells they have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Columns: TypeAlias = "tuple[int, ...]"  # places of columns, in increasing order


def cells_of(columns: Iterable[int], sizes: Sequence[int]) -> int:
    """How many combinations of values some columns have."""
    return math.prod(sizes[column] for column in columns)


@final
@dataclass(frozen=True, slots=True)
class Triangulation:
    """Maximal cliques of a triangulated graph in which every group that was wanted lies inside one clique.

    Columns are eliminated one after the other, each time the one whose neighbours have fewest cells together.
    """

    cliques: tuple[Columns, ...]
    cells: int

    @classmethod
    def of(cls, sizes: Sequence[int], groups: Iterable[Columns]) -> Triangulation:
        """The cliques for some groups of columns.

        >>> Triangulation.of([2, 3, 4, 5], [(0, 1), (1, 2), (2, 3), (0, 3)])
        Triangulation(cliques=((0, 1, 2), (0, 2, 3)), cells=64)
        """
        neighbours = _neighbours(len(sizes), groups)
        weights = [math.log(size) for size in sizes]

        def weight(column: int) -> float:
            return sum(weights[other] for other in _members(neighbours[column]))

        costs = {column: weight(column) for column in range(len(sizes))}
        found: list[int] = []
        while costs:
            column = min(costs, key=lambda each: (costs[each], each))
            clique = neighbours[column]
            if not any(clique & other == clique for other in found):
                found.append(clique)
            del costs[column]
            rest = clique & ~(1 << column)
            for other in _members(rest):
                neighbours[other] = (neighbours[other] | rest) & ~(1 << column)
            for other in _members(rest):
                costs[other] = weight(other)
        cliques = tuple(sorted(tuple(_members(clique)) for clique in found))
        return cls(cliques, sum(cells_of(clique, sizes) for clique in cliques))


def _neighbours(count: int, groups: Iterable[Columns]) -> list[int]:
    """For each column, the columns that it is in a group with, itself included, as bits."""
    found = [1 << column for column in range(count)]
    for group in groups:
        bits = sum(1 << column for column in group)
        for column in group:
            found[column] |= bits
    return found


def _members(bits: int) -> list[int]:
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found
