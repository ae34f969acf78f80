"""Expressions over columns, written with Python's operators."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, final

from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.exact import rational
from giveortake.plan import Call, ColumnReference, Expression, Literal, Value
from giveortake.plan.describe import with_article
from giveortake.plan.expressions import COMPARISONS, is_missing, plain_text_or_time
from giveortake.plan.functions import CASTS

if TYPE_CHECKING:
    from collections.abc import Iterable

Plain: TypeAlias = "int | float | Fraction | Decimal | str | bool | dt.date | dt.datetime | None"
Operand: TypeAlias = "Expr | Plain"

SIGNS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "modulo": "%",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "&",
    "or": "|",
}
_MISSING = 'gt.col("x").is_null(), or ~gt.col("x").is_null()'
_INT64 = 1 << 63


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Expr:
    """A value of each row. Operators make new expressions; a comparison is one too, and cannot be used as a bool.

    >>> (col("amount") / 2 >= 10) & ~col("region").isin(["north"])
    (((amount / 2) >= 10) & not(in(region, 'north')))
    """

    node: Expression

    def __repr__(self) -> str:
        return _text_of(self.node)

    def __bool__(self) -> bool:
        raise QueryRefused(
            "an expression is neither true nor false: it has a value in each row",
            hint="write & | ~ instead of and, or, not, with parentheses: (gt.col('a') > 1) & (gt.col('b') < 2); "
            "between two values lies gt.col('a').between(1, 3)",
        )

    __hash__ = None  # type: ignore[assignment]  # (`==` makes an expression)

    def __add__(self, other: Operand | dt.timedelta) -> Expr:
        return self._later(other) if isinstance(other, dt.timedelta) else _call("add", self, other)

    def __radd__(self, other: Operand) -> Expr:
        return _call("add", other, self)

    def __sub__(self, other: Operand | dt.timedelta) -> Expr:
        return self._later(-other) if isinstance(other, dt.timedelta) else _call("subtract", self, other)

    def _later(self, by: dt.timedelta) -> Expr:
        if by.microseconds:
            raise QueryRefused("times are shifted by whole seconds", hint="timedelta(seconds=1)")
        return self.add_seconds(by.days * 86_400 + by.seconds) if by.seconds else self.add_days(by.days)

    def __rsub__(self, other: Operand) -> Expr:
        return _call("subtract", other, self)

    def __mul__(self, other: Operand) -> Expr:
        return _call("multiply", self, other)

    def __rmul__(self, other: Operand) -> Expr:
        return _call("multiply", other, self)

    def __truediv__(self, other: Operand) -> Expr:
        return _call("divide", self, other)

    def __rtruediv__(self, other: Operand) -> Expr:
        return _call("divide", other, self)

    def __pow__(self, other: Plain) -> Expr:
        return self.power(other)

    def __mod__(self, other: Operand) -> Expr:
        return _call("modulo", self, other)

    def __neg__(self) -> Expr:
        return _call("negate", self)

    def __eq__(self, other: Operand) -> Expr:  # type: ignore[override]  # (an expression, not a truth)
        return _call("eq", self, other)

    def __ne__(self, other: Operand) -> Expr:  # type: ignore[override]  # (an expression, not a truth)
        return _call("ne", self, other)

    def __lt__(self, other: Operand) -> Expr:
        return _call("lt", self, other)

    def __le__(self, other: Operand) -> Expr:
        return _call("le", self, other)

    def __gt__(self, other: Operand) -> Expr:
        return _call("gt", self, other)

    def __ge__(self, other: Operand) -> Expr:
        return _call("ge", self, other)

    def __and__(self, other: Operand) -> Expr:
        return _call("and", self, other)

    def __rand__(self, other: Operand) -> Expr:
        return _call("and", other, self)

    def __or__(self, other: Operand) -> Expr:
        return _call("or", self, other)

    def __ror__(self, other: Operand) -> Expr:
        return _call("or", other, self)

    def __invert__(self) -> Expr:
        return _call("not", self)

    def is_null(self) -> Expr:
        """Whether the value is missing."""
        return _call("is_null", self)

    def isin(self, values: Iterable[Plain]) -> Expr:
        """Whether the value is in a list."""
        listed = list(values)
        if isinstance(values, str) or not listed:
            raise QueryRefused("isin needs a list of values", hint='isin(["north", "south"])')
        return _call("in", self, *listed)

    def between(self, low: Operand, high: Operand) -> Expr:
        """Whether the value lies between two others, ends included."""
        return (self >= low) & (self <= high)

    def like(self, pattern: str) -> Expr:
        """Whether a text matches: % stands for any text, _ for one character."""
        return _call("like", self, pattern)

    def ilike(self, pattern: str) -> Expr:
        """As `like`, ignoring the case of letters."""
        return _call("ilike", self, pattern)

    def clamp(self, low: Plain, high: Plain) -> Expr:
        """The nearest value between two numbers; the domain is narrowed to them."""
        return _call("clamp", self, low, high)

    def bucket(self, width: Plain) -> Expr:
        """The lower edge of the value's bucket, for histograms."""
        return _call("bucket", self, width)

    def coalesce(self, *others: Operand) -> Expr:
        """The first value that is not missing."""
        return _call("coalesce", self, *others)

    def nullif(self, other: Operand) -> Expr:
        """The value, but missing where it equals another."""
        return _call("nullif", self, other)

    def greatest(self, *others: Operand) -> Expr:
        """The greatest of the values in a row."""
        return _call("greatest", self, *others)

    def least(self, *others: Operand) -> Expr:
        """The least of the values in a row."""
        return _call("least", self, *others)

    def abs(self) -> Expr:
        """The absolute value."""
        return _call("abs", self)

    def floor(self) -> Expr:
        """The greatest whole number that is not above the value."""
        return _call("floor", self)

    def ceil(self) -> Expr:
        """The least whole number that is not below the value."""
        return _call("ceil", self)

    def round(self, digits: int = 0) -> Expr:
        """The value rounded to digits after the point."""
        return _call("round", self) if digits == 0 else _call("round", self, digits)

    def power(self, exponent: Plain) -> Expr:
        """The value raised to a power."""
        return _call("power", self, exponent)

    def sign(self) -> Expr:
        """The sign: −1, 0 or 1."""
        return _call("sign", self)

    def sqrt(self) -> Expr:
        """The square root."""
        return _call("sqrt", self)

    def ln(self) -> Expr:
        """The natural logarithm."""
        return _call("ln", self)

    def exp(self) -> Expr:
        """The exponential."""
        return _call("exp", self)

    def lower(self) -> Expr:
        """The text in lower case."""
        return _call("lower", self)

    def upper(self) -> Expr:
        """The text in upper case."""
        return _call("upper", self)

    def trim(self) -> Expr:
        """The text without blanks around it."""
        return _call("trim", self)

    def concat(self, *others: Operand) -> Expr:
        """The text followed by others."""
        return _call("concat", self, *others)

    def substring(self, start: int, length: int | None = None) -> Expr:
        """A part of the text; `start` is counted from 1."""
        return _call("substring", self, start) if length is None else _call("substring", self, start, length)

    def length(self) -> Expr:
        """The number of characters."""
        return _call("length", self)

    def year(self) -> Expr:
        """The year of a date."""
        return _call("year", self)

    def quarter(self) -> Expr:
        """The quarter of a date, from 1 to 4."""
        return _call("quarter", self)

    def month(self) -> Expr:
        """The month of a date, from 1 to 12."""
        return _call("month", self)

    def week(self) -> Expr:
        """The week of a date, as ISO counts them."""
        return _call("week", self)

    def day(self) -> Expr:
        """The day of the month."""
        return _call("day", self)

    def dayofweek(self) -> Expr:
        """The day of the week; Monday is 1."""
        return _call("dayofweek", self)

    def dayofyear(self) -> Expr:
        """The day of the year."""
        return _call("dayofyear", self)

    def hour(self) -> Expr:
        """The hour of a time."""
        return _call("hour", self)

    def minute(self) -> Expr:
        """The minute of a time."""
        return _call("minute", self)

    def dayname(self) -> Expr:
        """The English name of the day."""
        return _call("dayname", self)

    def monthname(self) -> Expr:
        """The English name of the month."""
        return _call("monthname", self)

    def add_days(self, days: int) -> Expr:
        """The date moved by a number of days; negative is earlier."""
        return _call("add_days", self, days)

    def add_months(self, months: int) -> Expr:
        """The date moved by a number of months; the last day of the month if it is too short."""
        return _call("add_months", self, months)

    def add_seconds(self, seconds: int) -> Expr:
        """The time moved by a number of seconds; negative is earlier."""
        return _call("add_seconds", self, seconds)

    def date_diff(self, later: Operand, unit: str = "day") -> Expr:
        """How many days, weeks, months, quarters, years, hours or minutes begin between this time and a later one."""
        return _call("date_diff", unit, self, later)

    def date_trunc(self, part: str) -> Expr:
        """The first day of the value's year, quarter, month or week, or its day."""
        return _call("date_trunc", part, self)

    def cast(self, to: str) -> Expr:
        """The value as a "double", "bigint", "varchar" or "date"."""
        if to not in CASTS:
            raise QueryRefused(f"cast to {to!r} is not available", hint=f"one of: {', '.join(CASTS)}")
        return _call(CASTS[to], self)


@final
@dataclass(frozen=True, slots=True)
class When:
    """A CASE under construction: `when(a).then(x).when(b).then(y).otherwise(z)`."""

    branches: tuple[Expression, ...] = ()
    condition: Expression | None = None

    def when(self, condition: Operand) -> When:
        """Add the next condition."""
        if self.condition is not None:
            raise QueryRefused("when(…) is followed by then(…)")
        return When(self.branches, node_of(condition))

    def then(self, value: Operand) -> When:
        """Set the value where the condition is true."""
        if self.condition is None:
            raise QueryRefused("then(…) follows when(…)")
        return When((*self.branches, self.condition, node_of(value)))

    def otherwise(self, value: Operand) -> Expr:
        """Finish the CASE, with the value where no condition is true."""
        if self.condition is not None or not self.branches:
            raise QueryRefused("otherwise(…) follows then(…)")
        return Expr(Call("case", (*self.branches, node_of(value))))

    def end(self) -> Expr:
        """Finish the CASE; the value is missing where no condition is true."""
        return self.otherwise(None)


def col(name: str) -> Expr:
    """The value of a column.

    >>> col("amount") > 3
    (amount > 3)
    """
    if not isinstance(name, str):
        raise QueryRefused(f"a column is named by text, not by a {type(name).__name__}", hint='gt.col("amount")')
    return Expr(ColumnReference(name))


def lit(value: Plain) -> Expr:
    """A literal value.

    >>> lit(3)
    3
    """
    return Expr(Literal(_value(value)))


def when(condition: Operand) -> When:
    """Begin a CASE: `when(col("paid")).then(1).otherwise(0)`.

    >>> from giveortake.frame import col
    >>> when(col("age") > 65).then(1).otherwise(0)
    case((age > 65), 1, 0)
    """
    return When().when(condition)


def node_of(operand: Operand) -> Expression:
    """The plan's expression for an operand; plain values become literals."""
    return operand.node if isinstance(operand, Expr) else Literal(_value(operand))


def column_or_expression(argument: str | Expr) -> Expression:
    """The plan's expression for a column name or an expression."""
    return argument.node if isinstance(argument, Expr) else col(argument).node


def _call(name: str, *operands: Operand) -> Expr:
    nodes = tuple(node_of(operand) for operand in operands)
    if name in COMPARISONS and any(map(is_missing, nodes)):
        raise QueryRefused("a comparison with None is never true", hint=_MISSING)
    return Expr(Call(name, nodes))


def _value(value: object) -> Value:
    """A plain value as the plan stores it; numbers are exact, and a float means its shortest decimal."""
    match value:
        case None | bool():
            return value
        case str() | dt.date():
            try:
                return plain_text_or_time("value", value)
            except InvalidParameter as error:
                raise QueryRefused(error.message, hint=error.hint) from None
        case int():
            return _small(int(value))
        case float() | Fraction() | Decimal():
            try:
                return _small(rational("value", value))
            except InvalidParameter as error:
                raise QueryRefused(error.message, hint=_MISSING if value != value else None) from None  # noqa: PLR0124 (not a number)
    item = getattr(value, "item", None)
    inside = item() if callable(item) and not isinstance(value, Expr) else None
    if isinstance(inside, int | float | str | dt.date):
        return _value(inside)
    library = type(value).__module__.partition(".")[0]
    if library in {"polars", "pandas", "pyspark", "ibis", "narwhals"}:
        raise QueryRefused(f"that is an expression of {library}", hint='write gt.col("name"), which is ours')
    raise QueryRefused(
        f"{with_article(type(value).__name__)} is not a value of a column", hint='gt.col("name") names a column'
    )


def _small(number: int | Fraction) -> int | Fraction:
    if not -_INT64 < number < _INT64:
        raise QueryRefused("a number does not fit into 64 bits")
    return number


def _text_of(node: Expression) -> str:
    match node:
        case ColumnReference():
            return node.name
        case Literal():
            return str(node.value) if isinstance(node.value, Fraction) else repr(node.value)
        case Call() if node.name in SIGNS and len(node.arguments) == 2:
            left, right = map(_text_of, node.arguments)
            return f"({left} {SIGNS[node.name]} {right})"
        case Call():
            return f"{node.name}({', '.join(map(_text_of, node.arguments))})"
    return repr(node)
