"""Attributes: columns whose values are declared, and the rows that have a declared value in each of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake.advice import Advice, declaring
from giveortake.engines import KeyColumn, Keys
from giveortake.errors import QueryRefused
from giveortake.plan import (
    Aggregate,
    AggregateKind,
    Call,
    ColumnReference,
    Filter,
    Kind,
    Literal,
    Measured,
    Question,
)
from giveortake.plan.domains import stored_type
from giveortake.plan.moments import moment_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from giveortake.plan import Domain, Expression, Relation, Value


@final
@dataclass(frozen=True, slots=True)
class Attributes:
    """Columns of a relation and all their declared values, in order; NULL is one of them if it was declared."""

    names: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]
    labels: tuple[str, ...]  # their names in answers

    @classmethod
    def of(cls, relation: Relation, names: Sequence[str], called: Mapping[str, str] | None = None) -> Attributes:
        """The columns with their declared values. No row is read."""
        schema = relation.schema
        found = [_values(name, ColumnReference(name).domain(schema)) for name in names]
        return cls(tuple(names), tuple(found), tuple((called or {}).get(name, name) for name in names))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each attribute."""
        return tuple(map(len, self.values))

    def keys(self, places: Sequence[int]) -> Keys:
        """All combinations of the values of some attributes."""
        return Keys(
            tuple(KeyColumn(self.names[each], ColumnReference(self.names[each]), self.values[each]) for each in places)
        )

    def places(self, names: Sequence[str]) -> tuple[int, ...]:
        """The places of some attributes, in rising order."""
        return tuple(sorted(self.names.index(each) for each in names))

    def question(self, relation: Relation, sums: Sequence[str]) -> Question:
        """The workload as one question about the rows with declared values, so that it passes the usual checks."""
        rows = declared_rows(relation, self)
        asked = [("number of rows", Measured(Aggregate(AggregateKind.COUNT_ROWS)))]
        asked += [(f"sum of {each}", Measured(Aggregate(AggregateKind.SUM, ColumnReference(each)))) for each in sums]
        return Question(rows, tuple((name, ColumnReference(name)) for name in self.names), tuple(asked))

    def to_json(self) -> list[Any]:
        """The columns and their values, in the order in which cells are stored."""
        return [
            [name, [_written(each) for each in values]] for name, values in zip(self.names, self.values, strict=True)
        ]


def declared_rows(relation: Relation, attributes: Attributes) -> Relation:
    """The rows with a declared value in every column: all marginals count the same rows, so that sums agree."""
    schema = relation.schema
    conditions = [
        condition
        for name, values in zip(attributes.names, attributes.values, strict=True)
        if (condition := _is_declared(ColumnReference(name), schema[name], values)) is not None
    ]
    return Filter(relation, _all_of(conditions)) if conditions else relation


def _values(name: str, domain: Domain) -> tuple[Value, ...]:
    listed = domain.keys()
    if listed is None:
        ways = declaring(name, '["…", "…"]', "A,B")
        if domain.kind in {Kind.REAL, Kind.DECIMAL}:
            counts = "counts numbers below borders"
            ways = Advice.spoken(
                {
                    "python": f'gt.workload.ranges("{name}") {counts}',
                    "command": None,
                    "console": None,
                    "service": f'"ranges": [{{"column": "{name}"}}] {counts}',
                }
            )
        raise QueryRefused(f"the values of `{name}` are not declared, and its cells cannot be listed", hint=ways)
    if len(listed) < 2:
        raise QueryRefused(f"`{name}` has only one value, and so splits nothing", hint="leave it out of the workload")
    return listed


def _is_declared(column: ColumnReference, domain: Domain, values: tuple[Value, ...]) -> Expression | None:
    """The condition that a row has one of the values; None if all rows have."""
    present = [each for each in values if each is not None]
    if domain.kind is Kind.BOOLEAN and len(present) == 2:
        condition = None
    elif domain.categories is None and domain.low is not None and domain.high is not None:
        low, high = _ends(domain)
        condition = _all_of([Call("ge", (column, Literal(low))), Call("le", (column, Literal(high)))])
    else:
        condition = Call("in", (column, *map(Literal, present)))
    missing = Call("is_null", (column,))
    if condition is None:
        return None if None in values else Call("not", (missing,))
    return Call("or", (condition, missing)) if None in values else condition


def _ends(domain: Domain) -> tuple[Value, Value]:
    low, high = Fraction(domain.low or 0), Fraction(domain.high or 0)
    if domain.kind is Kind.DATE:
        return moment_of(low, timed=False), moment_of(high, timed=False)
    return -(-low.numerator // low.denominator), high.numerator // high.denominator


def _all_of(conditions: Sequence[Expression]) -> Expression:
    """The conjunction of conditions, nested as a balanced tree so that it is not deep."""
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    return Call("and", (_all_of(conditions[:middle]), _all_of(conditions[middle:])))


def _written(value: Value) -> list[str]:
    return [stored_type(value), str(value)]
