"""Aggregates, and what is computed from the noisy answer and free: windows and conditions, in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, final

from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.exact import Number, rational
from giveortake.frame.expressions import SIGNS, Expr, Operand, column_or_expression, node_of
from giveortake.plan import Aggregate, AggregateKind, Computed, Measured, Quotient, Relation, Window
from giveortake.plan.question import WINDOWS, Condition, Frame, Order, ordered_by, with_aggregates
from giveortake.plan.relations import AGGREGATES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal
    from fractions import Fraction

    from giveortake.plan.question import Operation, Output

    Ordering: TypeAlias = "str | Agg | Sequence[str | Agg]"

__all__: list[str] = [
    "corr",
    "count",
    "count_distinct",
    "count_if",
    "covar_pop",
    "covar_samp",
    "maximum",
    "mean",
    "median",
    "minimum",
    "over",
    "quantile",
    "regr_intercept",
    "regr_slope",
    "sample_stddev",
    "sample_variance",
    "stddev",
    "sum",
    "variance",
]


Term: TypeAlias = "Agg | int | float | Fraction | Decimal"


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Agg:
    """An aggregate, or arithmetic of aggregates and numbers, which is free.

    >>> gt.sum("fee") / gt.count()
    <sum of fee / count rows>
    """

    output: Output

    def __repr__(self) -> str:
        return f"<{_in_words(self.output)}>"

    __hash__ = None  # type: ignore[assignment]  # (`==` makes a condition)

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

    def abs(self) -> Agg:
        """The absolute value."""
        return _computed("abs", self)

    def sign(self) -> Agg:
        """The sign: −1, 0 or 1."""
        return _computed("sign", self)

    def floor(self) -> Agg:
        """The greatest whole number that is not above the answer."""
        return _computed("floor", self)

    def ceil(self) -> Agg:
        """The least whole number that is not below the answer."""
        return _computed("ceil", self)

    def round(self, digits: int = 0) -> Agg:
        """The answer rounded to digits after the point; the interval is rounded outwards."""
        return _computed("round", self, constant=digits)

    def to_integer(self) -> Agg:
        """The nearest whole number, as an integer."""
        return _computed("to_integer", self)

    def sqrt(self) -> Agg:
        """The square root."""
        return _computed("sqrt", self)

    def ln(self) -> Agg:
        """The natural logarithm."""
        return _computed("ln", self)

    def exp(self) -> Agg:
        """The exponential."""
        return _computed("exp", self)

    def power(self, exponent: Number) -> Agg:
        """The answer raised to a power."""
        return _computed("power", self, constant=exponent)

    def coalesce(self, *others: Term) -> Agg:
        """The first answer that is not missing."""
        return _computed("coalesce", self, *others)

    def nullif(self, other: Term) -> Agg:
        """The answer, but missing where it equals another."""
        return _computed("nullif", self, other)

    def greatest(self, *others: Term) -> Agg:
        """The greatest of several."""
        return _computed("greatest", self, *others)

    def least(self, *others: Term) -> Agg:
        """The least of several."""
        return _computed("least", self, *others)

    def clamp(self, low: Term, high: Term) -> Agg:
        """The answer, clamped between two others."""
        return self.greatest(low).least(high)

    def __eq__(self, other: Term) -> Check:  # type: ignore[override]  # (a condition, not a truth)
        return _check("eq", self, other)

    def __ne__(self, other: Term) -> Check:  # type: ignore[override]  # (a condition, not a truth)
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
        raise QueryRefused(
            "a condition is neither true nor false before it is answered", hint="write & | ~ instead of and, or, not"
        )

    def __and__(self, other: Check) -> Check:
        return Check(Condition("and", (self.condition, other.condition)))

    def __or__(self, other: Check) -> Check:
        return Check(Condition("or", (self.condition, other.condition)))

    def __invert__(self) -> Check:
        return Check(Condition("not", (self.condition,)))


def count(of: str | Expr | None = None) -> Agg:
    """The number of rows, or of values that are not missing."""
    if isinstance(of, str) and of == "*":
        raise QueryRefused("there is no column `*`", hint="gt.count() counts rows")
    return _measure(AggregateKind.COUNT_ROWS) if of is None else _measure(AggregateKind.COUNT_VALUES, of)


def count_distinct(of: str | Expr) -> Agg:
    """The number of different values; of the person's column, the number of persons."""
    return _measure(AggregateKind.COUNT_DISTINCT, of)


def count_if(condition: Operand) -> Agg:
    """The number of rows for which a condition is true."""
    return _aggregate("count_if", Expr(node_of(condition)))


def sum(of: str | Expr) -> Agg:  # noqa: A001 (read as gt.sum)
    """The sum of values."""
    return _aggregate("sum", of)


def mean(of: str | Expr) -> Agg:
    """The mean of values."""
    return _aggregate("mean", of)


def variance(of: str | Expr) -> Agg:
    """The variance of all values: divided by n."""
    return _aggregate("variance", of)


def stddev(of: str | Expr) -> Agg:
    """The standard deviation of all values: the root of `variance`."""
    return _aggregate("stddev", of)


def sample_variance(of: str | Expr) -> Agg:
    """The variance of a sample: divided by n − 1, where `variance` divides by n."""
    return _aggregate("sample_variance", of)


def sample_stddev(of: str | Expr) -> Agg:
    """The standard deviation of a sample: the root of `sample_variance`."""
    return _aggregate("sample_stddev", of)


def median(of: str | Expr) -> Agg:
    """The median."""
    return _aggregate("median", of)


def quantile(of: str | Expr, fraction: Number) -> Agg:
    """The value that a fraction of all values lies below."""
    try:
        exact = rational("fraction", fraction)
    except InvalidParameter as error:
        raise QueryRefused(error.message, hint="quantile(x, 0.9)") from None
    return Agg(Measured(Aggregate(AggregateKind.QUANTILE, column_or_expression(of), exact)))


def corr(y: str | Expr, x: str | Expr) -> Agg:
    """The correlation of two columns, over the rows that have both."""
    return _aggregate("corr", y, x)


def covar_pop(y: str | Expr, x: str | Expr) -> Agg:
    """The population covariance: divided by n."""
    return _aggregate("covar_pop", y, x)


def covar_samp(y: str | Expr, x: str | Expr) -> Agg:
    """The sample covariance: divided by n − 1."""
    return _aggregate("covar_samp", y, x)


def regr_slope(y: str | Expr, x: str | Expr) -> Agg:
    """The slope of the line of least squares through y over x."""
    return _aggregate("regr_slope", y, x)


def regr_intercept(y: str | Expr, x: str | Expr) -> Agg:
    """The intercept of the line of least squares through y over x."""
    return _aggregate("regr_intercept", y, x)


def minimum(of: str | Expr) -> Agg:
    """The least value: of a person's own rows exactly, of everybody's as the quantile 0.

    >>> from importlib.resources import files
    >>> visits = files("giveortake") / "data" / "visits.csv"
    >>> s = gt.protect(visits, unit="person_id", budget=gt.PureDP(1), domains={"amount": (0, 500)}, rows_per_person=4)
    >>> s.table().agg(least=gt.frame.minimum("amount"))
    <Query of visits: least>
    """
    return _aggregate("minimum", of)


def maximum(of: str | Expr) -> Agg:
    """The greatest value: of a person's own rows exactly, of everybody's as the quantile 1."""
    return _aggregate("maximum", of)


def _measure(kind: AggregateKind, argument: str | Expr | None = None) -> Agg:
    return Agg(Measured(Aggregate(kind, None if argument is None else column_or_expression(argument))))


def _aggregate(name: str, *arguments: str | Expr) -> Agg:
    """The aggregate of a given name, from the plan's table `AGGREGATES`."""
    return Agg(Measured(AGGREGATES[name].build(*map(column_or_expression, arguments))))


def term(value: Term) -> Output:
    """An aggregate or a number as an output of the plan."""
    if isinstance(value, Agg):
        return value.output
    try:
        return rational("number", value)
    except InvalidParameter as error:
        raise QueryRefused(
            error.message, hint="an aggregate can only be combined with aggregates and numbers"
        ) from None


def _arithmetic(operation: Operation, left: Term, right: Term) -> Agg:
    return Agg(Quotient(operation, term(left), term(right)))


def _computed(function: str, *parts: Term, constant: Number = 0) -> Agg:
    try:
        return Agg(Computed(function, tuple(map(term, parts)), rational("digits", constant)))
    except InvalidParameter as error:
        raise QueryRefused(error.message, hint="round(2), power(2)") from None


def _in_words(output: Output) -> str:
    match output:
        case Measured():
            arguments = ", ".join(repr(Expr(expression)) for expression in output.aggregate.expressions)
            return f"{output.aggregate.kind.value}{' of ' if arguments else ''}{arguments}"
        case Quotient():
            return f"{_in_words(output.left)} {SIGNS[output.operation]} {_in_words(output.right)}"
        case Computed():
            return f"{output.function}({', '.join(map(_in_words, output.parts))})"
        case Window():
            return f"{output.function} over rows of the answer"
    return str(output)


def _check(operation: str, left: Term, right: Term) -> Check:
    return Check(Condition(operation, (term(left), term(right))))


# -- within a question ------------------------------------------------------------------------------------------------


def released(node: Output, relation: Relation) -> Output:
    """An output with its aggregates as they are released: extremes as quantiles, distinct persons as persons."""
    return with_aggregates(node, lambda aggregate: aggregate.released(relation.person))


def released_order(order: Order, relation: Relation) -> Order:
    """An order with its aggregates as they are released."""
    return ordered_by(order, lambda aggregate: aggregate.released(relation.person))


def released_condition(condition: Condition, relation: Relation) -> Condition:
    """A condition with its aggregates as they are released."""
    parts = tuple(
        released_condition(part, relation)
        if isinstance(part, Condition)
        else released(part, relation)
        if isinstance(part, Measured | Quotient | Computed | Window)
        else part
        for part in condition.parts
    )
    return Condition(condition.operation, parts)


def over(
    function: str,
    of: Term | None = None,
    *,
    by: str | Sequence[str] = (),
    order_by: Ordering = (),
    descending: bool = False,
    rows: tuple[int | None, int | None] | None = None,
    places: int = 1,
) -> Agg:
    """A function of rows of the answer: `over("sum", count())` is the total, `over("rank", order_by=count())` the rank.

    `by` are keys to partition by; `order_by` are keys by name, or aggregates. With an order, a sum runs up to the row
    itself; `rows=(2, 0)` takes two rows before it and none after, and None means all. `places` is the offset of "lag"
    and "lead", and the number of parts of "ntile".
    """
    if function not in WINDOWS:
        raise QueryRefused(
            f"{function!r} is not a function of rows of an answer", hint=f"there are {', '.join(WINDOWS)}"
        )
    keys = (by,) if isinstance(by, str) else tuple(by)
    ordered = [order_by] if isinstance(order_by, str | Agg) else list(order_by)
    order = tuple(order_of(ordering, descending=descending) for ordering in ordered)
    frame = None if rows is None else Frame(*rows, peers=False)
    return Agg(Window(function, None if of is None else term(of), keys, order, frame, places))


def order_of(column: str | Agg, *, descending: bool, missing_first: bool = False) -> Order:
    """An order by a column of the answer, or by an aggregate."""
    if isinstance(column, Agg):
        return Order("", descending, missing_first, by=column.output)
    return Order(column, descending, missing_first)
