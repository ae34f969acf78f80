"""Junction trees: the cliques of a triangulated graph of columns, and exact marginals of a product of factors."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]


Columns: TypeAlias = "tuple[int, ...]"  # indices of columns, in increasing order


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
    def from_groups(cls, sizes: Sequence[int], groups: Iterable[Columns]) -> Triangulation:
        """The cliques for some groups of columns.

        >>> Triangulation.from_groups([2, 3, 4, 5], [(0, 1), (1, 2), (2, 3), (0, 3)])
        Triangulation(cliques=((0, 1, 2), (0, 2, 3)), cells=64)
        """
        neighbours = _neighbours(len(sizes), groups)
        weights = [math.log(size) for size in sizes]

        def weight(column: int) -> float:
            return sum(weights[other] for other in _members(neighbours[column]))

        costs = {column: weight(column) for column in range(len(sizes))}
        clique_bits: list[int] = []
        while costs:
            column = min(costs, key=lambda candidate: (costs[candidate], candidate))
            clique = neighbours[column]
            if not any(clique & other == clique for other in clique_bits):
                clique_bits.append(clique)
            del costs[column]
            remaining = clique & ~(1 << column)
            for other in _members(remaining):
                neighbours[other] = (neighbours[other] | remaining) & ~(1 << column)
            for other in _members(remaining):
                costs[other] = weight(other)
        cliques = tuple(sorted(tuple(_members(clique)) for clique in clique_bits))
        return cls(cliques, sum(cells_of(clique, sizes) for clique in cliques))


def _neighbours(count: int, groups: Iterable[Columns]) -> list[int]:
    """For each column, the columns that it is in a group with, itself included, as bits."""
    neighbours = [1 << column for column in range(count)]
    for group in groups:
        bits = sum(1 << column for column in group)
        for column in group:
            neighbours[column] |= bits
    return neighbours


def _members(bits: int) -> list[int]:
    members = []
    while bits:
        lowest = bits & -bits
        members.append(lowest.bit_length() - 1)
        bits ^= lowest
    return members


@final
@dataclass(frozen=True, slots=True, eq=False)
class JunctionTree:
    """A tree of cliques: where a column is in two cliques, it is in all cliques between them.

    `order` lists every clique after its parent; `separators` are the columns that a clique shares with its parent.
    """

    sizes: tuple[int, ...]
    cliques: tuple[Columns, ...]
    cells: int
    parents: tuple[int, ...]
    order: tuple[int, ...]
    separators: tuple[Columns, ...]
    _homes: dict[Columns, int | None] = field(default_factory=dict, repr=False)

    @classmethod
    def from_groups(cls, sizes: Sequence[int], groups: Iterable[Columns]) -> JunctionTree:
        """The tree in which every group of columns lies inside one clique."""
        triangulation = Triangulation.from_groups(sizes, groups)
        members = [set(clique) for clique in triangulation.cliques]
        count = len(members)
        parents, order = [-1] * count, [0]
        nearest = {clique: (len(members[0] & members[clique]), 0) for clique in range(1, count)}
        while nearest:  # a spanning tree of greatest separators is a junction tree
            chosen = max(nearest, key=lambda candidate: (nearest[candidate][0], -candidate))
            parents[chosen] = nearest.pop(chosen)[1]
            order.append(chosen)
            for clique, (shared, _) in nearest.items():
                overlap = len(members[chosen] & members[clique])
                if overlap > shared:
                    nearest[clique] = (overlap, chosen)
        separators = tuple(
            tuple(sorted(members[clique] & members[parents[clique]])) if parents[clique] >= 0 else ()
            for clique in range(count)
        )
        return cls(tuple(sizes), triangulation.cliques, triangulation.cells, tuple(parents), tuple(order), separators)

    def home(self, columns: Columns) -> int | None:
        """The smallest clique that holds these columns together, if one does."""
        if columns not in self._homes:
            wanted = set(columns)
            holding = [index for index, clique in enumerate(self.cliques) if wanted <= set(clique)]
            self._homes[columns] = min(
                holding, key=lambda index: cells_of(self.cliques[index], self.sizes), default=None
            )
        return self._homes[columns]

    def spread(self, table: Floats, columns: Columns, clique: int) -> Floats:
        """A table over some columns of a clique, reshaped to combine with a table over all of them."""
        return table.reshape([self.sizes[column] if column in columns else 1 for column in self.cliques[clique]])

    def summed(self, table: Floats, clique: int, columns: Columns) -> Floats:
        """A table over a clique, summed to some of its columns."""
        axes = tuple(axis for axis, column in enumerate(self.cliques[clique]) if column not in columns)
        summed: Floats = table.sum(axis=axes)
        return summed

    def calibrate(self, factors: Mapping[Columns, Floats]) -> tuple[Calibrated, float]:
        """The distribution that is proportional to the product of e^factor, and the logarithm of its sum.

        A factor may hold −∞: such cells have probability zero.
        """
        beliefs: list[Floats] = [np.zeros([self.sizes[column] for column in clique]) for clique in self.cliques]
        for columns, factor in factors.items():
            home = self.home(columns)
            assert home is not None  # noqa: S101 (the tree was made for these factors)
            beliefs[home] += self.spread(factor, columns, home)
        logarithm = 0.0
        messages: dict[int, Floats] = {}
        for clique in reversed(self.order):
            belief = beliefs[clique]
            top = float(belief.max())
            if top == -math.inf:
                return Calibrated(self, beliefs), -math.inf
            logarithm += top
            np.exp(np.subtract(belief, top, out=belief), out=belief)
            for child in [other for other in messages if self.parents[other] == clique]:
                belief *= self.spread(messages[child], self.separators[child], clique)
            if self.parents[clique] >= 0:
                message = self.summed(belief, clique, self.separators[clique])
                scale = float(message.max())
                if scale <= 0:
                    return Calibrated(self, beliefs), -math.inf
                logarithm += math.log(scale)
                belief /= scale
                messages[clique] = message / scale
        root = self.order[0]
        total = float(beliefs[root].sum())
        if total <= 0:
            return Calibrated(self, beliefs), -math.inf
        beliefs[root] /= total
        for clique in self.order[1:]:
            above = self.summed(beliefs[self.parents[clique]], self.parents[clique], self.separators[clique])
            below = np.asarray(messages[clique])
            ratio = np.divide(above, below, out=np.zeros_like(below), where=below > 0)
            beliefs[clique] *= self.spread(ratio, self.separators[clique], clique)
        return Calibrated(self, beliefs), logarithm + math.log(total)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Calibrated:
    """The probability of every cell of every clique; cliques agree on what they share."""

    tree: JunctionTree
    beliefs: list[Floats]
    _reduced: dict[tuple[int, Columns], Floats] = field(default_factory=dict, repr=False)

    def inside(self, columns: Columns) -> Floats:
        """The marginal of columns that lie in one clique."""
        home = self.tree.home(columns)
        assert home is not None  # noqa: S101 (the tree was made for these columns)
        return self.tree.summed(self.beliefs[home], home, columns)

    def marginal(self, columns: Columns) -> Floats:
        """The marginal of any columns, in increasing order, by eliminating the others along the tree.

        Each clique passes on the distribution of what is wanted at or below it, given what it shares with its parent;
        one with nothing new that is wanted passes on nothing, since its conditional probabilities add up to one. The
        first clique that reaches all of them takes its own probabilities instead.
        """
        if self.tree.home(columns) is not None:
            return self.inside(columns)
        tree, wanted = self.tree, set(columns)
        passed: dict[int, tuple[Floats, Columns]] = {}
        for clique in reversed(tree.order):
            own, above = tree.cliques[clique], set(tree.separators[clique])
            tables = [passed.pop(child) for child in list(passed) if tree.parents[child] == clique]
            if not tables and not (set(own) - above) & wanted:
                continue
            below = {column for _, order in tables for column in order}
            is_top = wanted <= below | set(own)
            needed = wanted | below | (set() if is_top else above)
            retained = tuple(column for column in own if column in needed)
            table = self._retained(clique, retained)
            if is_top:
                return np.ascontiguousarray(_summed_product([(table, retained), *tables], columns))
            axes = tuple(axis for axis, column in enumerate(retained) if column not in above)
            given = table.sum(axis=axes, keepdims=True)
            conditional: Floats = np.divide(table, given, out=np.zeros_like(table), where=given > 0)
            left = tuple(sorted((below | set(retained)) & (wanted | above)))
            passed[clique] = _summed_product([(conditional, retained), *tables], left), left
        raise AssertionError("the root reaches every column")

    def _retained(self, clique: int, columns: Columns) -> Floats:
        """The probabilities of some columns of a clique, which many marginals need."""
        if (clique, columns) not in self._reduced:
            self._reduced[clique, columns] = self.tree.summed(self.beliefs[clique], clique, columns)
        return self._reduced[clique, columns]


def _summed_product(tables: list[tuple[Floats, Columns]], left: Columns) -> Floats:
    """A product of tables over named columns, summed over those that are not in `left`."""
    labels = {
        column: label for label, column in enumerate(dict.fromkeys(column for _, order in tables for column in order))
    }
    operands: list[Any] = []
    for table, order in tables:
        operands += [table, [labels[column] for column in order]]
    product: Floats = np.einsum(*operands, [labels[column] for column in left], optimize=len(tables) > 2)
    return product
