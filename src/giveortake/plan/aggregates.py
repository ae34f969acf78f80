"""Aggregates: measured over the rows of a group, or computed exactly from one person's rows.

SQL and frames both use the table of functions here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, final

from giveortake.errors import QueryRefused
from giveortake.plan.domains import Domain, Kind
from giveortake.plan.expressions import Call, ColumnReference, Expression, Literal, require_shallow

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.plan.domains import Schema


class AggregateKind(StrEnum):
    """The kinds of aggregates."""

    COUNT_ROWS = "count rows"
    COUNT_VALUES = "count values"
    COUNT_PERSONS = "count persons"
    COUNT_DISTINCT = "count distinct"
    SUM = "sum"
    MEAN = "mean"
    VARIANCE = "variance"
    DEVIATION = "standard deviation"
    SAMPLE_VARIANCE = "sample variance"
    SAMPLE_DEVIATION = "sample standard deviation"
    QUANTILE = "quantile"
    MINIMUM = "minimum"  # exact only as a feature of one person's rows, never released
    MAXIMUM = "maximum"
    COVARIANCE = "covariance"
    SAMPLE_COVARIANCE = "sample covariance"
    CORRELATION = "correlation"
    SLOPE = "slope"
    INTERCEPT = "intercept"


_COUNTS = {  # these need no bounds
    AggregateKind.COUNT_ROWS,
    AggregateKind.COUNT_VALUES,
    AggregateKind.COUNT_PERSONS,
    AggregateKind.COUNT_DISTINCT,
}
_GREATEST = 2**500  # the greatest value: doubles can hold its square
_LONGEST = 6_000  # bits of a bound: Python refuses to print its square beyond 4,300 digits
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
_OF_PAIRS = (True, False, True)
_SHAPES = {  # whether an aggregate has an expression, a fraction, and a second expression
    AggregateKind.COUNT_ROWS: (False, False, False),
    AggregateKind.COUNT_PERSONS: (False, False, False),
    AggregateKind.QUANTILE: (True, True, False),
    AggregateKind.COVARIANCE: _OF_PAIRS,
    AggregateKind.SAMPLE_COVARIANCE: _OF_PAIRS,
    AggregateKind.CORRELATION: _OF_PAIRS,
    AggregateKind.SLOPE: _OF_PAIRS,
    AggregateKind.INTERCEPT: _OF_PAIRS,
}


@final
@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of an expression; or of pairs (y, x), where `expression` is y and `beside` is x, as in SQL.

    `quantile` is the fraction of a quantile.
    """

    kind: AggregateKind
    expression: Expression | None = None
    quantile: Fraction | None = None
    beside: Expression | None = None

    def __post_init__(self) -> None:
        shape = (self.expression is not None, self.quantile is not None, self.beside is not None)
        if shape != _SHAPES.get(self.kind, (True, False, False)):
            raise QueryRefused(f"a {self.kind} is not of that", hint="SELECT SUM(amount), CORR(amount, age) FROM trips")
        for expression in self.expressions:
            require_shallow(expression)
        if self.quantile is not None and not 0 <= self.quantile <= 1:
            part = self.quantile / 100
            hint = f"write {float(part):g} for {float(self.quantile):g} percent" if 0 <= part <= 1 else "write 0.9"
            raise QueryRefused("a quantile is a fraction from 0 to 1", hint=hint)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The expressions that it aggregates."""
        return tuple(expression for expression in (self.expression, self.beside) if expression is not None)

    @property
    def is_distinct(self) -> bool:
        """Whether it counts distinct values, so that all of them have to be kept."""
        return self.kind is AggregateKind.COUNT_DISTINCT

    @property
    def is_clamped(self) -> bool:
        """Whether values beyond their bounds count as these."""
        return self.kind not in _COUNTS

    def require_releasable(self, schema: Schema) -> None:
        """Refuse an aggregate that cannot be released with a finite amount of noise."""
        if self.kind in _EXTREMES:
            raise QueryRefused("the least and the greatest value are single persons' values", hint="take a quantile")
        self._require_bounds(schema)

    def require_feature(self, schema: Schema) -> None:
        """Refuse an aggregate that is not available within one person's rows."""
        if self.kind not in _FEATURES:
            raise QueryRefused(
                f"the {self.kind} is not available within one person's rows",
                hint="COUNT, SUM, AVG, MIN, MAX and COUNT(DISTINCT …) are",
            )
        self._require_bounds(schema)

    def _require_bounds(self, schema: Schema) -> None:
        for expression in self.expressions:
            domain = expression.domain(schema)
            if self.is_clamped:
                _require_bounded(_ENDS.get(self.quantile, self.kind), expression, domain)

    def feature_domain(self, schema: Schema, most_rows: int | None) -> Domain:
        """The domain of one person's value, given the schema and the most rows a person can have."""
        rows = None if most_rows is None else Fraction(most_rows)
        if self.kind in _COUNTS:
            return Domain(Kind.INTEGER, Fraction(0), rows, nullable=False)
        assert self.expression is not None  # noqa: S101 (the others are of something)
        least, greatest = self.expression.domain(schema).ends()
        if self.kind is AggregateKind.SUM:
            low = None if rows is None else min(Fraction(0), rows * least)
            high = None if rows is None else max(Fraction(0), rows * greatest)
            return Domain(Kind.REAL, low, high, nullable=True)
        return Domain(Kind.REAL, least, greatest, nullable=True)

    def released(self, person: str | None) -> Aggregate:
        """The aggregate to release: extremes become quantiles, distinct values of the person's column persons."""
        if self.kind in _EXTREMES:
            return Aggregate(AggregateKind.QUANTILE, self.expression, _EXTREMES[self.kind])
        if (
            self.kind is AggregateKind.COUNT_DISTINCT
            and person is not None
            and self.expression == ColumnReference(person)
        ):
            return Aggregate(AggregateKind.COUNT_PERSONS)
        return self

    def where(self, condition: Expression) -> Aggregate:
        """The same aggregate over the rows for which a condition is true."""
        match self.kind:
            case AggregateKind.COUNT_PERSONS:
                raise QueryRefused(
                    "COUNT(DISTINCT person) with FILTER is not answered", hint="put the condition into WHERE"
                )
            case AggregateKind.COUNT_ROWS:
                return count_if(condition)
            case _:
                assert self.expression is not None  # noqa: S101 (the others are of something)
                return replace(self, expression=_when(condition, self.expression))


def count_if(condition: Expression) -> Aggregate:
    """The number of rows for which a condition is true."""
    return Aggregate(AggregateKind.COUNT_VALUES, _when(condition, Literal(1)))


def _when(condition: Expression, value: Expression) -> Expression:
    return Call("case", (condition, value, Literal(None)))


@final
@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """An aggregate function of one or two expressions, for SQL and frames."""

    sql: tuple[str, ...]  # how SQL spells it
    label: str  # the name of a column without a stated one
    build: Callable[..., Aggregate]
    arguments: int = 1


def _of_pairs(kind: AggregateKind, sql: str) -> AggregateFunction:
    def build(y: Expression, x: Expression) -> Aggregate:
        return Aggregate(kind, y, beside=x)

    return AggregateFunction((sql,), sql.lower(), build, arguments=2)


AGGREGATES = {  # by their names in frames; COUNT(*), COUNT(DISTINCT …) and quantiles have forms of their own
    "sum": AggregateFunction(("SUM",), "sum", partial(Aggregate, AggregateKind.SUM)),
    "mean": AggregateFunction(("AVG", "MEAN"), "avg", partial(Aggregate, AggregateKind.MEAN)),
    "variance": AggregateFunction(("VARIANCE", "VAR_POP"), "variance", partial(Aggregate, AggregateKind.VARIANCE)),
    "stddev": AggregateFunction(("STDDEV", "STDDEV_POP"), "stddev", partial(Aggregate, AggregateKind.DEVIATION)),
    "sample_variance": AggregateFunction(("VAR_SAMP",), "var_samp", partial(Aggregate, AggregateKind.SAMPLE_VARIANCE)),
    "sample_stddev": AggregateFunction(
        ("STDDEV_SAMP",), "stddev_samp", partial(Aggregate, AggregateKind.SAMPLE_DEVIATION)
    ),
    "minimum": AggregateFunction(("MIN",), "min", partial(Aggregate, AggregateKind.MINIMUM)),
    "maximum": AggregateFunction(("MAX",), "max", partial(Aggregate, AggregateKind.MAXIMUM)),
    "median": AggregateFunction(
        ("MEDIAN",), "median", partial(Aggregate, AggregateKind.QUANTILE, quantile=Fraction(1, 2))
    ),
    "corr": _of_pairs(AggregateKind.CORRELATION, "CORR"),
    "covar_pop": _of_pairs(AggregateKind.COVARIANCE, "COVAR_POP"),
    "covar_samp": _of_pairs(AggregateKind.SAMPLE_COVARIANCE, "COVAR_SAMP"),
    "regr_slope": _of_pairs(AggregateKind.SLOPE, "REGR_SLOPE"),
    "regr_intercept": _of_pairs(AggregateKind.INTERCEPT, "REGR_INTERCEPT"),
    "count_if": AggregateFunction(("COUNT_IF", "COUNTIF"), "count_if", count_if),
}


_ENDS: dict[Fraction | None, AggregateKind] = {Fraction(0): AggregateKind.MINIMUM, Fraction(1): AggregateKind.MAXIMUM}


def _require_bounded(kind: AggregateKind, expression: Expression, domain: Domain) -> None:
    named = f"`{expression.name}`" if isinstance(expression, ColumnReference) else "the expression"
    name = expression.name if isinstance(expression, ColumnReference) else "x"
    declared = f'the custodian can declare it: domains={{"{name}": (0, 500)}}'
    if not domain.kind.is_number:
        converted = f"CAST({name} AS DOUBLE) converts a text; or {declared}"
        raise QueryRefused(
            f"the {kind} of {named} needs numbers, and its values are {domain.kind}",
            hint=_as_bounds(expression, domain) or _NUMBERS_INSTEAD.get(domain.kind, converted),
        )
    if not domain.is_bounded:
        raise QueryRefused(
            f"the {kind} of {named} needs bounds, or no amount of noise would hide one row",
            hint=f"narrow it: CLAMP({name}, 0, 500), or {declared}",
        )
    ends = domain.ends()
    if max(map(abs, ends)) > _GREATEST or any(
        part.bit_length() > _LONGEST for end in ends for part in end.as_integer_ratio()
    ):
        raise QueryRefused(
            f"the {kind} is of numbers beyond 2^500, or their bounds have more than 1,800 digits",
            hint="narrow them: CLAMP(x, lower, upper)",
        )


_NUMBERS_INSTEAD = {
    Kind.BOOLEAN: "COUNTIF(x) counts, AVG(CASE WHEN x THEN 1 ELSE 0 END) is the share",
    **dict.fromkeys((Kind.DATE, Kind.TIMESTAMP), "ask for the days since one: DATE_DIFF('day', DATE '2024-01-01', x)"),
}


def _as_bounds(expression: Expression, domain: Domain) -> str | None:
    """The hint for a column whose one declared category was probably meant as bounds, such as `0-5000`."""
    if not isinstance(expression, ColumnReference) or domain.categories is None:
        return None
    texts = [category for category in domain.categories if isinstance(category, str)]
    ends = span_of(texts[0]) if len(texts) == 1 else None
    if ends is None:
        return None
    declared = f'domains={{"{expression.name}": ({ends[0]}, {ends[1]})}}'
    return f"its one category, {texts[0]!r}, looks like bounds: {declared}"


def span_of(text: str) -> tuple[str, str] | None:
    """The ends of a text that looks like bounds, the lower one first; None if it does not.

    >>> span_of("0-5000"), span_of("9-1"), span_of("north-west")
    (('0', '5000'), None, None)
    """
    match = _SPAN.fullmatch(text)
    return None if match is None or Fraction(match[1]) >= Fraction(match[2]) else (match[1], match[2])


_SPAN = re.compile(r" *(-?[0-9]{1,30}(?:\.[0-9]{1,30})?) *(?:-|–|\.\.|to) *(-?[0-9]{1,30}(?:\.[0-9]{1,30})?) *")
