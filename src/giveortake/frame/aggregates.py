"""Aggregates, arithmetic over their answers, and conditions on those."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, final

from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.exact import Number, rational
from giveortake.frame.expressions import Expr, Operand, column_or_expression, node_of
from giveortake.plan import Aggregate, AggregateKind, Measured, Quotient, Relation
from giveortake.plan.aggregates import AGGREGATES, Condition

if TYPE_CHECKING:
    from decimal import Decimal
    from fractions import Fraction

    from giveortake.plan.aggregates import Output

Term: TypeAlias = "Agg | int | float | Fraction | Decimal"

__all__ = [
    "Agg",
    "Check",
    "count",
    "count_distinct",
    "count_if",
    "maximum",
    "mean",
    "median",
    "minimum",
    "quantile",
    "sample_stddev",
    "sample_variance",
    "stddev",
    "sum",
    "variance",
]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Agg:
    """An aggregate, or arithmetic of aggregates and numbers, which is free."""

    output: Output

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise QueryRefused("an aggregate has no value before it is answered", hint="having(…) filters the answer")

    def __add__(self, other: Term) -> Agg:
        return _arithmetic("add", self, other)

    def __radd__(self, other: Term) -> Agg:
        return _arithmetic("add", other, self)

    def __sub__(self, other: Term) -> Agg:
        return _arithmetic("subtract", self, other)

    def __rsub__(self, other: Term) -> Agg:
        return _arithmetic("subtract", other, self)

    def __mul__(self, other: Term) -> Agg:
        return _arithmetic("multiply", self, other)

    def __rmul__(self, other: Term) -> Agg:
        return _arithmetic("multiply", other, self)

    def __truediv__(self, other: Term) -> Agg:
        return _arithmetic("divide", self, other)

    def __rtruediv__(self, other: Term) -> Agg:
        return _arithmetic("divide", other, self)

    def __neg__(self) -> Agg:
        return _arithmetic("multiply", -1, self)

    def __eq__(self, other: Term) -> Check:  # type: ignore[override]
        return _check("eq", self, other)

    def __ne__(self, other: Term) -> Check:  # type: ignore[override]
        return _check("ne", self, other)

    def __lt__(self, other: Term) -> Check:
        return _check("lt", self, other)

    def __le__(self, other: Term) -> Check:
        return _check("le", self, other)

    def __gt__(self, other: Term) -> Check:
        return _check("gt", self, other)

    def __ge__(self, other: Term) -> Check:
        return _check("ge", self, other)


@final
@dataclass(frozen=True, slots=True)
class Check:
    """A condition on aggregates, for `having`."""

    condition: Condition

    def __bool__(self) -> bool:
        raise QueryRefused("a condition has no truth before it is answered", hint="write & | ~ instead of and, or, not")

    def __and__(self, other: Check) -> Check:
        return Check(Condition("and", (self.condition, other.condition)))

    def __or__(self, other: Check) -> Check:
        return Check(Condition("or", (self.condition, other.condition)))

    def __invert__(self) -> Check:
        return Check(Condition("not", (self.condition,)))


def count(of: str | Expr | None = None) -> Agg:
    """The number of rows, or of values that are not missing."""
    return _of(AggregateKind.COUNT_ROWS) if of is None else _of(AggregateKind.COUNT_VALUES, of)


def count_distinct(of: str | Expr) -> Agg:
    """The number of different values; of the person's column, the number of persons."""
    return _of(AggregateKind.COUNT_DISTINCT, of)


def count_if(condition: Operand) -> Agg:
    """The number of rows for which a condition is true."""
    return _aggregate("count_if", Expr(node_of(condition)))


def sum(of: str | Expr) -> Agg:  # noqa: A001 (read as gt.sum)
    """The sum."""
    return _aggregate("sum", of)


def mean(of: str | Expr) -> Agg:
    """The mean."""
    return _aggregate("mean", of)


def variance(of: str | Expr) -> Agg:
    """The variance of all values: divided by n."""
    return _aggregate("variance", of)


def stddev(of: str | Expr) -> Agg:
    """The standard deviation."""
    return _aggregate("stddev", of)


def sample_variance(of: str | Expr) -> Agg:
    """The variance of a sample: divided by n − 1, where `variance` divides by n."""
    return _aggregate("sample_variance", of)


def sample_stddev(of: str | Expr) -> Agg:
    """The standard deviation of a sample."""
    return _aggregate("sample_stddev", of)


def median(of: str | Expr) -> Agg:
    """The value in the middle."""
    return _aggregate("median", of)


def quantile(of: str | Expr, fraction: Number) -> Agg:
    """The value that a fraction of all values lies below."""
    try:
        exact = rational("fraction", fraction)
    except InvalidParameter as error:
        raise QueryRefused(error.message, hint="quantile(x, 0.9)") from None
    return Agg(Measured(Aggregate(AggregateKind.QUANTILE, column_or_expression(of), exact)))


def minimum(of: str | Expr) -> Agg:
    """The least value: of a person's own rows exactly, of everybody's as the quantile 0."""
    return _aggregate("minimum", of)


def maximum(of: str | Expr) -> Agg:
    """The greatest value: of a person's own rows exactly, of everybody's as the quantile 1."""
    return _aggregate("maximum", of)


def _of(kind: AggregateKind, of: str | Expr | None = None) -> Agg:
    return Agg(Measured(Aggregate(kind, None if of is None else column_or_expression(of))))


def _aggregate(name: str, of: str | Expr) -> Agg:
    """What the plan's table of aggregates knows by that name."""
    return Agg(Measured(AGGREGATES[name].of(column_or_expression(of))))


def _term(value: Term) -> Output:
    if isinstance(value, Agg):
        return value.output
    try:
        return rational("number", value)
    except InvalidParameter as error:
        raise QueryRefused(error.message, hint="aggregates meet aggregates and numbers alone") from None


def _arithmetic(operation: str, left: Term, right: Term) -> Agg:
    return Agg(Quotient(operation, _term(left), _term(right)))


def _check(operation: str, left: Term, right: Term) -> Check:
    return Check(Condition(operation, (_term(left), _term(right))))


# -- within a question ------------------------------------------------------------------------------------------------


def released(node: Output, relation: Relation) -> Output:
    """Aggregates as they are released: extremes are quantiles, distinct persons are persons."""
    match node:
        case Measured():
            return Measured(node.aggregate.released(relation.person))
        case Quotient():
            return Quotient(node.operation, released(node.left, relation), released(node.right, relation))
        case _:
            return node


def released_condition(condition: Condition, relation: Relation) -> Condition:
    """The same of a condition."""
    parts = tuple(
        released_condition(part, relation)
        if isinstance(part, Condition)
        else released(part, relation)
        if isinstance(part, Measured | Quotient)
        else part
        for part in condition.parts
    )
    return Condition(condition.operation, parts)
