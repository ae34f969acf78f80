"""Aggregates, and questions: what is measured over groups, and what is computed from the measurements for free."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, final

from giveortake.errors import QueryRefused
from giveortake.plan.costs import require_few_kept, require_short_texts
from giveortake.plan.domains import Domain, Kind
from giveortake.plan.expressions import Call, Column, Expression, Literal, require_shallow

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.plan.relations import Relation
    from giveortake.plan.tables import Schema


class AggregateKind(StrEnum):
    """What is computed of the rows of a group."""

    COUNT_ROWS = "count rows"
    COUNT_VALUES = "count values"
    COUNT_PERSONS = "count persons"
    COUNT_DISTINCT = "count distinct"
    SUM = "sum"
    MEAN = "mean"
    VARIANCE = "variance"
    DEVIATION = "standard deviation"
    QUANTILE = "quantile"
    MINIMUM = "minimum"  # of a person's own rows: a feature, never released
    MAXIMUM = "maximum"


_COUNTS = {  # which need no bounds
    AggregateKind.COUNT_ROWS,
    AggregateKind.COUNT_VALUES,
    AggregateKind.COUNT_PERSONS,
    AggregateKind.COUNT_DISTINCT,
}
_EXTREMES = {AggregateKind.MINIMUM: Fraction(0), AggregateKind.MAXIMUM: Fraction(1)}
_FEATURES = {
    AggregateKind.COUNT_ROWS,
    AggregateKind.COUNT_VALUES,
    AggregateKind.COUNT_DISTINCT,
    AggregateKind.SUM,
    AggregateKind.MEAN,
    AggregateKind.MINIMUM,
    AggregateKind.MAXIMUM,
}


@final
@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of an expression; `quantile` is its fraction where it is one."""

    kind: AggregateKind
    of: Expression | None = None
    quantile: Fraction | None = None

    def __post_init__(self) -> None:
        if self.of is not None:
            require_shallow(self.of)
        if self.quantile is not None and not 0 <= self.quantile <= 1:
            raise QueryRefused("a quantile is a fraction from 0 to 1")

    @property
    def is_distinct(self) -> bool:
        """Whether every value has to be kept, to be told from the others."""
        return self.kind is AggregateKind.COUNT_DISTINCT

    def require_releasable(self, schema: Schema) -> None:
        """Refuse what cannot be released with a finite amount of noise, before any data is touched."""
        if self.kind in _EXTREMES:
            raise QueryRefused("the least and the greatest value are single persons' values", hint="take a quantile")
        self._require_bounds(schema)

    def require_feature(self, schema: Schema) -> None:
        """Refuse what is not computed within one person's rows."""
        if self.kind not in _FEATURES:
            raise QueryRefused(
                f"the {self.kind} is not available within one person's rows",
                hint="COUNT, SUM, AVG, MIN, MAX and COUNT(DISTINCT …) are",
            )
        self._require_bounds(schema)

    def _require_bounds(self, schema: Schema) -> None:
        if self.of is None:
            return
        domain = self.of.domain(schema)
        if self.kind not in _COUNTS:
            _require_bounded(self.kind, self.of, domain)

    def feature_domain(self, schema: Schema, most_rows: int | None) -> Domain:
        """What one person's value may be, of rows with that schema of which a person has at most so many."""
        rows = None if most_rows is None else Fraction(most_rows)
        if self.kind in _COUNTS:
            return Domain(Kind.INTEGER, Fraction(0), rows, nullable=False)
        assert self.of is not None  # noqa: S101 (the others are of something)
        least, greatest = self.of.domain(schema).ends()
        if self.kind is AggregateKind.SUM:
            low = None if rows is None else min(Fraction(0), rows * least)
            high = None if rows is None else max(Fraction(0), rows * greatest)
            return Domain(Kind.REAL, low, high, nullable=True)
        return Domain(Kind.REAL, least, greatest, nullable=True)

    def released(self, person: str | None) -> Aggregate:
        """As it is released: extremes are quantiles, and distinct values of the person's column are persons."""
        if self.kind in _EXTREMES:
            return Aggregate(AggregateKind.QUANTILE, self.of, _EXTREMES[self.kind])
        if self.kind is AggregateKind.COUNT_DISTINCT and person is not None and self.of == Column(person):
            return Aggregate(AggregateKind.COUNT_PERSONS)
        return self

    def where(self, condition: Expression) -> Aggregate:
        """The same of the rows for which a condition is true."""
        match self.kind:
            case AggregateKind.COUNT_PERSONS:
                raise QueryRefused(
                    "COUNT(DISTINCT person) with FILTER is not answered", hint="put the condition into WHERE"
                )
            case AggregateKind.COUNT_ROWS:
                return count_if(condition)
            case _:
                assert self.of is not None  # noqa: S101 (the others are of something)
                return Aggregate(self.kind, _when(condition, self.of), self.quantile)

    def to_json(self) -> Any:
        """Nothing but lists, numbers and text."""
        of = None if self.of is None else self.of.to_json()
        return [str(self.kind), of, None if self.quantile is None else str(self.quantile)]


def count_if(condition: Expression) -> Aggregate:
    """The number of rows for which a condition is true."""
    return Aggregate(AggregateKind.COUNT_VALUES, _when(condition, Literal(1)))


def _when(condition: Expression, value: Expression) -> Expression:
    return Call("case", (condition, value, Literal(None)))


@final
@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """An aggregate of one expression, as both languages know it."""

    sql: tuple[str, ...]  # how SQL spells it
    label: str  # what a column is called to which the question gives no name
    of: Callable[[Expression], Aggregate]


AGGREGATES = {  # by the names that frames give them; counts of rows and distinct values and quantiles have own forms
    "sum": AggregateFunction(("SUM",), "sum", partial(Aggregate, AggregateKind.SUM)),
    "mean": AggregateFunction(("AVG", "MEAN"), "avg", partial(Aggregate, AggregateKind.MEAN)),
    "variance": AggregateFunction(
        ("VARIANCE", "VAR_POP", "VAR_SAMP"), "variance", partial(Aggregate, AggregateKind.VARIANCE)
    ),
    "stddev": AggregateFunction(
        ("STDDEV", "STDDEV_POP", "STDDEV_SAMP"), "stddev", partial(Aggregate, AggregateKind.DEVIATION)
    ),
    "minimum": AggregateFunction(("MIN",), "min", partial(Aggregate, AggregateKind.MINIMUM)),
    "maximum": AggregateFunction(("MAX",), "max", partial(Aggregate, AggregateKind.MAXIMUM)),
    "median": AggregateFunction(
        ("MEDIAN",), "median", partial(Aggregate, AggregateKind.QUANTILE, quantile=Fraction(1, 2))
    ),
    "count_if": AggregateFunction(("COUNT_IF", "COUNTIF"), "count_if", count_if),
}


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """An aggregate's noisy answer, inside an expression over answers."""

    aggregate: Aggregate


@final
@dataclass(frozen=True, slots=True)
class Quotient:
    """Arithmetic over answers, free as post-processing; `operation` is add, subtract, multiply or divide."""

    operation: str
    left: Output
    right: Output


Output: TypeAlias = "Measured | Quotient | Fraction"


@final
@dataclass(frozen=True, slots=True)
class Condition:
    """HAVING: keep rows of the answer for which this holds. Comparisons of outputs, joined by and, or, not."""

    operation: str
    parts: tuple[Condition | Output | Column | object, ...]


@final
@dataclass(frozen=True, slots=True)
class Order:
    """ORDER BY one output column."""

    column: str
    descending: bool = False
    missing_first: bool = False


@final
@dataclass(frozen=True, slots=True)
class Question:
    """A relation, the keys to group it by, and the columns of the answer."""

    relation: Relation
    keys: tuple[tuple[str, Expression], ...]
    outputs: tuple[tuple[str, Output], ...]
    having: Condition | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    shown: tuple[str, ...] = ()  # names of keys and outputs in the order of the answer

    def __post_init__(self) -> None:
        if not self.outputs:
            raise QueryRefused(
                "the question asks for rows, not for aggregates", hint="SELECT COUNT(*), SUM(x), AVG(x), …"
            )
        names = [*(name for name, _ in self.keys), *(name for name, _ in self.outputs)]
        taken = {*names, *(f"{n}_{end}" for n, _ in self.outputs for end in ("low", "high"))}
        if len(taken) < len(names) + 2 * len(self.outputs):
            raise QueryRefused("two columns of the answer have one name", hint="name them apart with AS")
        schema = self.relation.schema
        for _, key in self.keys:
            require_shallow(key)
            domain = key.domain(schema)
            if domain.kind in {Kind.REAL, Kind.TIMESTAMP}:
                raise QueryRefused(
                    f"groups are not made of {domain.kind} values", hint="BUCKET(x, width), or DATE_TRUNC('day', t)"
                )
            if self.relation.person is not None and self.relation.person in set(key.columns()):
                raise QueryRefused(
                    f"`{self.relation.person}` names persons, and answers are never about one",
                    hint="group by person inside a subquery and aggregate outside",
                )
        aggregates = self.aggregates()
        for aggregate in aggregates:
            aggregate.require_releasable(schema)
        measured = (aggregate.of for aggregate in aggregates if aggregate.of is not None)
        keys = [key for _, key in self.keys]
        require_short_texts(self.relation, [*keys, *measured])
        distinct = (aggregate.of for aggregate in aggregates if aggregate.is_distinct and aggregate.of is not None)
        require_few_kept(self.relation, [*keys, *distinct])

    @property
    def finds_keys(self) -> bool:
        """Whether some keys are not known beforehand."""
        return None in [domain.keys() for domain in self.key_domains()]

    def key_domains(self) -> list[Domain]:
        """What each key may be."""
        schema = self.relation.schema
        return [key.domain(schema) for _, key in self.keys]

    def aggregates(self) -> list[Aggregate]:
        """Every aggregate that the answer is computed from, once each, in the order in which they are named."""
        found: dict[Aggregate, None] = {}
        for _, output in self.outputs:
            for aggregate in aggregates_in(output):
                found[aggregate] = None
        if self.having is not None:
            for aggregate in aggregates_in(self.having):
                found[aggregate] = None
        return list(found)


def aggregates_in(node: object) -> list[Aggregate]:
    """The aggregates below an output or a condition."""
    match node:
        case Measured():
            return [node.aggregate]
        case Quotient():
            return [*aggregates_in(node.left), *aggregates_in(node.right)]
        case Condition():
            return [aggregate for part in node.parts for aggregate in aggregates_in(part)]
        case _:
            return []


def _require_bounded(kind: AggregateKind, of: Expression, domain: Domain) -> None:
    if not domain.kind.is_number:
        raise QueryRefused(
            f"the {kind} needs numbers, and got {domain.kind} values",
            hint="a column of a CSV file is text until the custodian declares its domain",
        )
    if not domain.is_bounded:
        named = f"`{of.name}`" if isinstance(of, Column) else "the expression"
        raise QueryRefused(
            f"the {kind} of {named} needs bounds, or no amount of noise would hide one row",
            hint="narrow it: CLAMP(x, lower, upper), or let the custodian declare its domain",
        )
