"""The dimensions of a profile: how many rows and groups people have, how large their numbers are, in logarithmic bins.

Guarantee (theory of histograms, [Har25]): in each dimension a person falls into one bin, whatever their rows, so that
nothing has to be bounded first. A person who is added or removed moves D histograms by 1 in L1 and √D in L2 together
for D dimensions; one who is changed leaves a bin and enters another in each: 2D and √(2D).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake.errors import InvalidParameter, QueryRefused, did_you_mean
from giveortake.plan import (
    Aggregate,
    AggregateKind,
    Call,
    ColumnReference,
    Derive,
    Literal,
    Measured,
    PerPerson,
    Question,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.plan import Expression, Relation


_DOUBLINGS = 20  # of sizes: whoever has more than 2^20 rows is in the last bin, which is open
_POWERS = range(-40, 41)  # of two, that are tried as bounds of a column
_SIZE, _LEAST, _BIN = "size", "least", "bin"


def size_edges(most: int | None) -> tuple[int, ...]:
    """The last size of each bin: every size up to 8, then four bins to each doubling, up to a public maximum.

    >>> size_edges(20)
    (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20)
    """
    edges = list(range(1, 8))
    for doubling in range(3, _DOUBLINGS):
        edges += [2**doubling // 4 * quarter for quarter in (4, 5, 6, 7)]
    edges.append(2**_DOUBLINGS)
    if most is None:
        return tuple(edges)
    return (*edges[: bisect_left(edges, most)], most)


@dataclass(frozen=True, slots=True)
class Dimension(ABC):
    """One property of persons that a profile describes: it puts each person into one bin."""

    relation: Relation

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the property."""

    @abstractmethod
    def question(self) -> Question:
        """A question for the number of persons in each bin, from the first bin to the last."""

    @abstractmethod
    def ranges(self) -> dict[str, list[Any]]:
        """The range of each bin, as columns to show instead of the bin's number; None is an open end."""


@dataclass(frozen=True, slots=True)
class SizeDimension(Dimension):
    """How many of something a person has, in bins up to the public maximum `most`; without it the last is open."""

    by: tuple[str, ...] = ()
    most: int | None = None

    @property
    def edges(self) -> tuple[int, ...]:
        """The last size of each bin; the last bin holds everything beyond as well."""
        return size_edges(self.most)

    def ranges(self) -> dict[str, list[Any]]:
        prefix, edges = self.name.replace(" ", "_"), self.edges
        open_end = None if self.most is None else self.most
        return {f"{prefix}_from": [1, *(edge + 1 for edge in edges[:-1])], f"{prefix}_to": [*edges[:-1], open_end]}


@final
@dataclass(frozen=True, slots=True)
class RowsOfPerson(SizeDimension):
    """How many rows a person has; with `by`, how many in their largest group."""

    @property
    def name(self) -> str:
        return "rows in the largest group" if self.by else "rows"

    def question(self) -> Question:
        sizes: Relation = PerPerson(self.relation, self.by, ((_SIZE, Aggregate(AggregateKind.COUNT_ROWS)),))
        if self.by:
            greatest = Aggregate(AggregateKind.MAXIMUM, _clamped(ColumnReference(_SIZE)))
            sizes = PerPerson(sizes, (), ((_SIZE, greatest),))
        return _histogram(sizes, _bin_of(ColumnReference(_SIZE), self.edges))


@final
@dataclass(frozen=True, slots=True)
class GroupsOfPerson(SizeDimension):
    """How many groups a person has rows in."""

    @property
    def name(self) -> str:
        return "groups"

    def question(self) -> Question:
        pairs = PerPerson(self.relation, self.by, ((_SIZE, Aggregate(AggregateKind.COUNT_ROWS)),))
        groups = PerPerson(pairs, (), ((_SIZE, Aggregate(AggregateKind.COUNT_ROWS)),))
        return _histogram(groups, _bin_of(ColumnReference(_SIZE), self.edges))


@final
@dataclass(frozen=True, slots=True)
class Magnitude(Dimension):
    """The greatest absolute value of a unit in a column, as a power of two, and whether any value is below zero.

    Bins: one for units without a value, then one for each power: first for units without negative values, then with.
    """

    column: str

    def __post_init__(self) -> None:
        schema = self.relation.schema
        if self.column not in schema or not schema[self.column].kind.is_number:
            numbers = [
                name for name, domain in schema.items() if domain.kind.is_number and name != self.relation.person
            ]
            listed = ", ".join(numbers) or "none"
            hint = f"{did_you_mean(self.column, numbers)}columns of numbers are {listed}; name each by itself"
            raise InvalidParameter("columns", self.column, "is not a column of numbers", hint=hint)

    @property
    def name(self) -> str:
        return f"column {self.column}"

    def question(self) -> Question:
        real = Call("to_real", (ColumnReference(self.column),))
        away = Call("clamp", (Call("abs", (real,)), Literal(0), Literal(2 ** _POWERS[-1])))
        below = Call("clamp", (real, Literal(-1), Literal(0)))
        units: Relation = Derive(self.relation, ((_SIZE, away), (_LEAST, below)))
        if self.relation.person is not None:
            features = (
                (_SIZE, Aggregate(AggregateKind.MAXIMUM, ColumnReference(_SIZE))),
                (_LEAST, Aggregate(AggregateKind.MINIMUM, ColumnReference(_LEAST))),
            )
            units = PerPerson(units, (), features)
        edges = [Fraction(2) ** power for power in _POWERS]
        count, negative = len(edges), Call("lt", (ColumnReference(_LEAST), Literal(0)))
        arguments: list[Expression] = [Call("is_null", (ColumnReference(_SIZE),)), Literal(0)]
        for index, edge in enumerate(edges[:-1]):
            within = Call("le", (ColumnReference(_SIZE), Literal(edge.numerator if edge.denominator == 1 else edge)))
            arguments += [Call("and", (negative, within)), Literal(1 + count + index), within, Literal(1 + index)]
        key = Call("case", (*arguments, negative, Literal(2 * count), Literal(count)))
        return _histogram(units, key)

    def ranges(self) -> dict[str, list[Any]]:
        powers = [2.0**power for power in _POWERS]
        least, most = [0.0, *powers[:-1]], [*powers[:-1], None]
        signs = ["no value", *["none below zero"] * len(powers), *["some below zero"] * len(powers)]
        return {"size_above": [None, *least, *least], "size_up_to": [None, *most, *most], "sign": signs}

    def bounds(self, counts: Sequence[int], share: Fraction) -> tuple[int | float, int | float] | None:
        """The least power of two within which the given share of people lies, on both sides of zero if need be.

        None if that is the least power of all: only zeros were seen, or nobody, and noise hides all other numbers.
        """
        count = len(_POWERS)
        positive, negative = counts[1 : 1 + count], counts[1 + count :]
        totals = [one + other for one, other in zip(positive, negative, strict=True)]
        index = _share_bin(totals, share)
        if index == 0:
            return None
        power = _POWERS[index]
        reach = 2**power if power >= 0 else 2.0**power
        return (-reach if sum(negative) > 0 else 0, reach)

    def mean(self, counts: Sequence[int]) -> float | None:
        """An estimate of the mean magnitude, each taken at the middle of its bin; None if nobody was seen."""
        count = len(_POWERS)
        totals = [one + other for one, other in zip(counts[1 : 1 + count], counts[1 + count :], strict=True)]
        middles = (0.75 * 2.0**power for power in _POWERS)
        return (
            sum(times * middle for times, middle in zip(totals, middles, strict=True)) / sum(totals)
            if any(totals)
            else None
        )


def dimensions_of(
    relation: Relation, by: Sequence[str], columns: Sequence[str], most_rows: int | None
) -> tuple[Dimension, ...]:
    """The dimensions of a profile: rows of persons, their groups if `by` names columns, and magnitudes of columns."""
    dimensions: list[Dimension] = []
    if relation.person is not None:
        dimensions.append(RowsOfPerson(relation, most=most_rows))
        if by:
            _require_groups(relation, by)
            dimensions += [
                GroupsOfPerson(relation, tuple(by), _most_groups(relation, by, most_rows)),
                RowsOfPerson(relation, tuple(by), most_rows),
            ]
    elif by or most_rows is not None:
        raise InvalidParameter("by", list(by), "are groups of a person, and here every row is protected by itself")
    dimensions += [Magnitude(relation, column) for column in columns]
    if not dimensions:
        raise InvalidParameter(
            "columns",
            list(columns),
            "is empty, and where every row is protected by itself there are no caps",
            hint="name a column",
        )
    return tuple(dimensions)


def least_edge(edges: Sequence[int], counts: Sequence[int], share: Fraction) -> int:
    """The least size that at least the given share of people does not exceed."""
    return edges[_share_bin(counts, share)]


def _share_bin(counts: Sequence[int], share: Fraction) -> int:
    """The first bin that is not empty and up to which the given share of the total lies."""
    needed, reached = share * sum(counts), 0
    for index, count in enumerate(counts):
        reached += count
        if reached >= needed and count:
            return index
    return 0


def _most_groups(relation: Relation, by: Sequence[str], most_rows: int | None) -> int | None:
    """How many groups a person can have: at most as many as there are known keys, and at most as many as rows."""
    listed = [relation.schema[name].keys() for name in by]
    known = None if None in listed else math.prod(len(keys or ()) for keys in listed)
    if known is None or known > 2**_DOUBLINGS:
        return most_rows
    return max(1, known if most_rows is None else min(known, most_rows))


def _require_groups(relation: Relation, by: Sequence[str]) -> None:
    schema = relation.schema
    if len(set(by)) < len(by):
        raise InvalidParameter("by", list(by), "names a column twice")
    for name in by:
        if name == relation.person:
            raise InvalidParameter("by", name, "is the column that names people", hint="name what questions group by")
        try:
            ColumnReference(name).domain(schema)
        except QueryRefused as refusal:
            raise InvalidParameter("by", name, "is not a column here", hint=refusal.hint) from None


def _clamped(expression: Expression) -> Expression:
    return Call("clamp", (expression, Literal(0), Literal(2 ** (_DOUBLINGS + 1))))


def _bin_of(size: Expression, edges: Sequence[int]) -> Expression:
    arguments: list[Any] = []
    for index, edge in enumerate(edges[:-1]):
        arguments += [Call("le", (size, Literal(edge))), Literal(index)]
    return Call("case", (*arguments, Literal(len(edges) - 1))) if arguments else Literal(0)


def _histogram(units: Relation, key: Expression) -> Question:
    return Question(units, ((_BIN, key),), (("people", Measured(Aggregate(AggregateKind.COUNT_ROWS))),))
