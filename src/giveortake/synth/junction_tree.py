"""Junction trees: triangulation, and exact marginals of a product of factors.

Which columns a junction tree holds together: the cliques of a triangulated graph, and how many cells they have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]


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
    def of(cls, sizes: Sequence[int], groups: Iterable[Columns]) -> JunctionTree:
        """The tree in which every group of columns lies inside one clique."""
        made = Triangulation.of(sizes, groups)
        members = [set(clique) for clique in made.cliques]
        count = len(members)
        parents, order = [-1] * count, [0]
        nearest = {each: (len(members[0] & members[each]), 0) for each in range(1, count)}
        while nearest:  # a spanning tree of greatest separators is a junction tree
            chosen = max(nearest, key=lambda each: (nearest[each][0], -each))
            parents[chosen] = nearest.pop(chosen)[1]
            order.append(chosen)
            for each, (shared, _) in nearest.items():
                now = len(members[chosen] & members[each])
                if now > shared:
                    nearest[each] = (now, chosen)
        separators = tuple(
            tuple(sorted(members[each] & members[parents[each]])) if parents[each] >= 0 else () for each in range(count)
        )
        return cls(tuple(sizes), made.cliques, made.cells, tuple(parents), tuple(order), separators)

    def home(self, columns: Columns) -> int | None:
        """The smallest clique that holds these columns together, if one does."""
        if columns not in self._homes:
            wanted = set(columns)
            holding = [each for each, clique in enumerate(self.cliques) if wanted <= set(clique)]
            self._homes[columns] = min(holding, key=lambda each: cells_of(self.cliques[each], self.sizes), default=None)
        return self._homes[columns]

    def spread(self, table: Floats, columns: Columns, clique: int) -> Floats:
        """A table over some columns of a clique, reshaped to combine with a table over all of them."""
        return table.reshape([self.sizes[each] if each in columns else 1 for each in self.cliques[clique]])

    def summed(self, table: Floats, clique: int, columns: Columns) -> Floats:
        """A table over a clique, summed to some of its columns."""
        axes = tuple(place for place, each in enumerate(self.cliques[clique]) if each not in columns)
        summed: Floats = table.sum(axis=axes)
        return summed

    def calibrate(self, factors: Mapping[Columns, Floats]) -> tuple[Calibrated, float]:
        """The distribution that is proportional to the product of e^factor, and the logarithm of its sum.

        A factor may hold −∞: such cells have probability zero.
        """
        beliefs: list[Floats] = [np.zeros([self.sizes[each] for each in clique]) for clique in self.cliques]
        for columns, factor in factors.items():
            home = self.home(columns)
            assert home is not None  # noqa: S101 (the tree was made for these factors)
            beliefs[home] += self.spread(factor, columns, home)
        logarithm = 0.0
        messages: dict[int, Floats] = {}
        for each in reversed(self.order):
            belief = beliefs[each]
            top = float(belief.max())
            if top == -math.inf:
                return Calibrated(self, beliefs), -math.inf
            logarithm += top
            np.exp(np.subtract(belief, top, out=belief), out=belief)
            for child in [other for other in messages if self.parents[other] == each]:
                belief *= self.spread(messages[child], self.separators[child], each)
            if self.parents[each] >= 0:
                message = self.summed(belief, each, self.separators[each])
                scale = float(message.max())
                if scale <= 0:
                    return Calibrated(self, beliefs), -math.inf
                logarithm += math.log(scale)
                belief /= scale
                messages[each] = message / scale
        root = self.order[0]
        total = float(beliefs[root].sum())
        if total <= 0:
            return Calibrated(self, beliefs), -math.inf
        beliefs[root] /= total
        for each in self.order[1:]:
            above = self.summed(beliefs[self.parents[each]], self.parents[each], self.separators[each])
            below = np.asarray(messages[each])
            ratio = np.divide(above, below, out=np.zeros_like(below), where=below > 0)
            beliefs[each] *= self.spread(ratio, self.separators[each], each)
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

        Of every clique between them it needs the columns that are wanted and those shared with the next clique; a
        product of a clique's conditional probabilities with what was found further out is summed at once.
        """
        if self.tree.home(columns) is not None:
            return self.inside(columns)
        needed = self._cliques_between(columns)
        root = next(each for each in self.tree.order if each in needed)
        table, order = self._found_below(root, (), set(columns), needed)
        return np.ascontiguousarray(np.transpose(table, [order.index(each) for each in columns]))

    def _cliques_between(self, columns: Columns) -> set[int]:
        """The smallest connected part of the tree that has all these columns."""
        tree = self.tree
        needed = set(range(len(tree.cliques)))
        degree = dict.fromkeys(needed, 0)
        for each in tree.order[1:]:
            degree[each] += 1
            degree[tree.parents[each]] += 1
        leaves = [each for each, count in degree.items() if count <= 1]
        wanted = set(columns)
        while leaves:
            leaf = leaves.pop()
            own = set(tree.cliques[leaf]) & wanted
            beside = [
                each for each in needed if each != leaf and (tree.parents[each] == leaf or tree.parents[leaf] == each)
            ]
            if leaf not in needed or len(beside) != 1 or not own <= set(tree.cliques[beside[0]]):
                continue
            needed.discard(leaf)
            if sum(tree.parents[each] == beside[0] or tree.parents[beside[0]] == each for each in needed) <= 1:
                leaves.append(beside[0])
        return needed

    def _found_below(self, clique: int, above: Columns, wanted: set[int], needed: set[int]) -> tuple[Floats, Columns]:
        """The table of the columns wanted at or below a clique, given the columns `above`; and its columns."""
        tree = self.tree
        children = [each for each in needed if tree.parents[each] == clique]
        own = set(tree.cliques[clique])
        leading = set(above) | (own & wanted) | {each for child in children for each in tree.separators[child]}
        kept = tuple(each for each in tree.cliques[clique] if each in leading)
        table, order = self._given(clique, kept, above), kept
        for place, child in enumerate(children):
            found, further = self._found_below(child, tree.separators[child], wanted, needed)
            later = {each for other in children[place + 1 :] for each in tree.separators[other]}
            left = tuple(dict.fromkeys(each for each in (*order, *further) if each in wanted | later | set(above)))
            table, order = _summed_product([(table, order), (found, further)], left), left
        left = tuple(each for each in order if each in wanted or each in above)
        return _summed_product([(table, order)], left), left

    def _given(self, clique: int, kept: Columns, above: Columns) -> Floats:
        """The probability of some columns of a clique, given those above it."""
        if (clique, kept) not in self._reduced:
            self._reduced[clique, kept] = self.tree.summed(self.beliefs[clique], clique, kept)
        joint = self._reduced[clique, kept]
        if not above:
            return joint
        axes = tuple(place for place, each in enumerate(kept) if each not in above)
        under = joint.sum(axis=axes, keepdims=True)
        given: Floats = np.divide(joint, under, out=np.zeros_like(joint), where=under > 0)
        return given


def _summed_product(tables: list[tuple[Floats, Columns]], left: Columns) -> Floats:
    """A product of tables over named columns, summed over those that are not in `left`."""
    labels = {each: label for label, each in enumerate(dict.fromkeys(each for _, order in tables for each in order))}
    operands: list[Any] = []
    for table, order in tables:
        operands += [table, [labels[each] for each in order]]
    product: Floats = np.einsum(*operands, [labels[each] for each in left])
    return product
