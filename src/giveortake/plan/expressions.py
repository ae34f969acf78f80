"""Expressions over the columns of a row, and domains: what a column or an expression may hold.

Domains are declared by the custodian for columns, and derived for every expression. Dates and times count the days
since the year 1.
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from numbers import Number
from typing import TYPE_CHECKING, Any, TypeAlias, final
from typing import Literal as OneOf

from giveortake.codec import stored
from giveortake.errors import InvalidParameter, QueryRefused, did_you_mean
from giveortake.exact import rational, whole

if TYPE_CHECKING:
    from collections.abc import Iterator


_MICROSECOND = dt.timedelta(microseconds=1)


def is_pair_of_dates(bounds: object) -> bool:
    """Whether a value is a pair of dates or times, or of ISO dates as texts.

    >>> is_pair_of_dates(("2024-01-01", "2024-12-31")), is_pair_of_dates(("north", "south"))
    (True, False)
    """
    return (
        isinstance(bounds, Sequence) and not isinstance(bounds, str) and len(bounds) == 2 and all(map(_is_date, bounds))
    )


def _is_date(value: object) -> bool:
    return isinstance(value, dt.date) or (isinstance(value, str) and written_day(value) is not None)


def written_day(text: str) -> dt.date | None:
    """The date that an ISO text such as 2024-01-31 writes; None if it is not one."""
    try:
        return dt.date.fromisoformat(text) if len(text) == len("2024-01-31") else None
    except ValueError:
        return None


def in_days(moment: dt.date) -> Fraction:
    """A date or time as days since the year 1, with the time of day as a fraction."""
    if not isinstance(moment, dt.datetime):
        return Fraction(moment.toordinal())
    of_day = moment - dt.datetime.combine(moment.date(), dt.time.min)
    return moment.toordinal() + Fraction(of_day // _MICROSECOND, dt.timedelta(1) // _MICROSECOND)


def moment_of(days: Fraction, *, timed: bool) -> dt.date:
    """The time, or only the date, for a number of days since the year 1.

    >>> moment_of(in_days(dt.datetime(2024, 1, 31, 12)), timed=True)
    datetime.datetime(2024, 1, 31, 12, 0)
    """
    day = dt.date.fromordinal(int(days))
    if not timed:
        return day
    of_day = (days - int(days)) * (dt.timedelta(1) // _MICROSECOND)
    return dt.datetime.combine(day, dt.time.min) + int(of_day) * _MICROSECOND


Value: TypeAlias = int | Fraction | str | bool | dt.date | dt.datetime | None

Period: TypeAlias = OneOf["year", "quarter", "month", "week", "day"]

MOST_CHARACTERS = 1_000_000  # greatest position in a text: beyond 32 bits, engines fail while reading rows
USUAL_CHARACTERS = 4_096  # read of a text whose domain states no maximum
MOST_KEYS = 1_000_000  # keys of one answer
_MOST_ENUMERATED = 5_000  # whole numbers or days: more than these are not listed as keys from bounds alone
_INT64 = 1 << 63
_DATES = 'such as domains={"day": ("2024-01-01", "2024-12-31")}'


class Kind(StrEnum):
    """The kinds of values that a column may hold."""

    INTEGER = "integer"
    DECIMAL = "decimal"
    REAL = "real"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"

    @property
    def is_number(self) -> bool:
        """Whether values of this kind are numbers."""
        return self in {Kind.INTEGER, Kind.DECIMAL, Kind.REAL}


def comparable(one: Kind, other: Kind) -> bool:
    """Whether values of two kinds may be compared."""
    moments = {Kind.DATE, Kind.TIMESTAMP}
    return one is other or (one.is_number and other.is_number) or {one, other} <= moments


_FITTING = {Kind.DATE: "date", Kind.TIMESTAMP: "date or a time without a zone"}


@final
@dataclass(frozen=True, slots=True)
class Domain:
    """The values that a column may hold. Numbers outside are clamped, other keys left out: rows are never trusted.

    `low` and `high` bound numbers, and dates and times as days since the year 1; `categories` lists keys; `step` is
    the lattice that a decimal lies on. `longest` is the declared maximum length of a stored text, `longest_computed`
    that of a computed one. `span` says that dates are first days of a period, and between which days the original
    dates lie.
    """

    kind: Kind
    low: Fraction | None = None
    high: Fraction | None = None
    categories: tuple[Value, ...] | None = None
    nullable: bool = True
    step: Fraction | None = None
    longest: int | None = None
    longest_computed: int | None = None
    span: tuple[Period, int, int] | None = None

    @property
    def width(self) -> int:
        """The most characters that a text can have. Longer stored texts are cut when they are read.

        A stored text that is longer than every category is still longer after the cut, so it equals none of them.
        """
        if self.longest_computed is not None:
            return self.longest_computed
        if self.longest is not None:
            return self.longest
        listed = (len(category) + 1 for category in self.categories or () if isinstance(category, str))
        return max(USUAL_CHARACTERS, *listed) if self.categories else USUAL_CHARACTERS

    @property
    def is_bounded(self) -> bool:
        """Whether values are numbers with two bounds."""
        return self.kind.is_number and self.low is not None and self.high is not None

    def ends(self) -> tuple[Fraction, Fraction]:
        """Both bounds of a number that has them."""
        assert self.low is not None and self.high is not None  # noqa: S101, PT018 (checked when the plan was made)
        return self.low, self.high

    def keys(self) -> tuple[Value, ...] | None:
        """Every value, if they are known beforehand and few enough to be listed; a missing value comes last.

        A column whose categories were declared has the key NULL only if that was listed among them.
        """
        if self.categories is not None:
            return self.categories
        listed = self._enumerated()
        return (*listed, None) if listed is not None and self.nullable else listed

    def _enumerated(self) -> tuple[Value, ...] | None:
        if self.kind is Kind.BOOLEAN:
            return (False, True)
        if self.kind is Kind.INTEGER and self.low is not None and self.high is not None:
            first, last = -(-self.low.numerator // self.low.denominator), self.high.numerator // self.high.denominator
            return tuple(range(first, last + 1)) if last - first < _MOST_ENUMERATED else None
        if self.span is not None:
            return _first_days(*self.span)
        if self.kind is Kind.DATE and self.low is not None and self.high is not None:
            days = range(int(self.low), int(self.high) + 1)
            return tuple(map(dt.date.fromordinal, days)) if len(days) <= _MOST_ENUMERATED else None
        return None

    def complete(self) -> Domain:
        """This domain without missing values."""
        return replace(self, nullable=False)

    def maybe_missing(self) -> Domain:
        """This domain with missing values, which are a key of their own."""
        listed = self.categories
        if listed is not None and None not in listed:
            listed = (*listed, None)
        return replace(self, nullable=True, categories=listed)

    def to_dict(self) -> dict[str, Any]:
        """The domain as the ledger stores it."""
        content: dict[str, Any] = {"kind": str(self.kind), "nullable": self.nullable}
        for name in ("low", "high", "step"):
            number = getattr(self, name)
            if number is not None:
                content[name] = str(number)
        if self.categories is not None:
            content["categories"] = [None if category is None else str(category) for category in self.categories]
        if self.longest is not None:
            content["longest"] = self.longest
        return content


Schema: TypeAlias = Mapping[str, Domain]


def first_day(day: dt.date, period: Period) -> dt.date:
    """The first day of the period that a day lies in; weeks begin on Monday."""
    match period:
        case "year":
            return day.replace(month=1, day=1)
        case "quarter":
            return day.replace(month=day.month - (day.month - 1) % 3, day=1)
        case "month":
            return day.replace(day=1)
        case "week":
            return day - dt.timedelta(days=day.weekday())
        case "day":
            return day


def _first_days(period: Period, low: int, high: int) -> tuple[Value, ...] | None:
    """The first days of all periods between two days, if they are few enough to be listed."""
    if high - low > 366 * _MOST_ENUMERATED:
        return None
    days = {first_day(dt.date.fromordinal(day), period) for day in range(low, high + 1)}
    return tuple(sorted(days)) if len(days) <= _MOST_ENUMERATED else None


def declared(name: str, declaration: object, physical: Domain) -> Domain:
    """The domain that a custodian states: bounds `(0, 500)`, categories `["north", …]`, or a dictionary.

    A dictionary may hold `bounds`, `categories`, `nullable`, `max_length` and `integer`. `physical` is what the
    column's type says.

    >>> declared("age", (0, 120), Domain(Kind.INTEGER)).high
    Fraction(120, 1)
    """
    match declaration:
        case Domain():
            _require_kind(name, declaration.kind, physical)
            return _checked(name, declaration, physical)
        case Mapping():
            return _spelled_out(name, declaration, physical)
        case tuple() if is_pair_of_dates(declaration) or (len(declaration) == 2 and all(map(is_number, declaration))):
            return _bounded(name, declaration, physical)
        case (None, end) | (end, None) if isinstance(declaration, tuple) and is_number(end):
            raise _refused(
                name,
                declaration,
                "lacks a bound: None is none",
                hint=f'domains={{"{name}": (0, 500)}} states both; a list is keys',
            )
        case str() | bytes():
            pass
        case Sequence() | frozenset() | set() | range():
            return _categorical(name, declaration, physical)
    raise _refused(
        name,
        declaration,
        "is not a domain",
        hint="a list means categories: list(…)"
        if hasattr(declaration, "tolist") or hasattr(declaration, "to_list")
        else f'domains={{"{name}": (0, 500)}}, or domains={{"{name}": ["north", "south"]}}',
    )


def _refused(name: str, value: object, problem: str, *, hint: str | None = None) -> InvalidParameter:
    return InvalidParameter(f"domains[{name!r}]", value, problem, hint=hint)


def _spelled_out(name: str, declaration: Mapping[Any, Any], physical: Domain) -> Domain:
    known = {"bounds", "categories", "nullable", "max_length", "integer"}
    if not set(declaration) <= known:
        raise _refused(
            name,
            sorted(map(str, set(declaration) - known)),
            "are unknown",
            hint=f"known: {sorted(known)}",
        )
    domain = physical
    if declaration.get("integer"):
        _require_kind(name, Kind.INTEGER, physical)
    if "bounds" in declaration and "categories" in declaration:
        raise _refused(name, declaration, "has both bounds and categories: declare one of them")
    if "bounds" in declaration:
        bounds = declaration["bounds"]
        if not isinstance(bounds, Sequence) or isinstance(bounds, str) or len(bounds) != 2:
            raise InvalidParameter(f"domains[{name!r}].bounds", bounds, "is not a pair of numbers")
        domain = _bounded(name, bounds, domain)
    if "categories" in declaration:
        domain = _categorical(name, declaration["categories"], domain)
    if "nullable" in declaration:
        if not isinstance(declaration["nullable"], bool):
            raise InvalidParameter(f"domains[{name!r}].nullable", declaration["nullable"], "is neither true nor false")
        domain = replace(domain, nullable=declaration["nullable"])
        if not domain.nullable and domain.categories is not None:
            domain = replace(
                domain, categories=tuple(category for category in domain.categories if category is not None)
            )
    if "max_length" in declaration:
        if domain.kind is not Kind.TEXT:
            raise InvalidParameter(f"domains[{name!r}].max_length", declaration["max_length"], "is only for text")
        longest = whole(f"domains[{name!r}].max_length", declaration["max_length"])
        if longest > MOST_CHARACTERS:
            raise InvalidParameter(f"domains[{name!r}].max_length", longest, f"is above {MOST_CHARACTERS:,}")
        domain = replace(domain, longest=longest)
    return domain


def _checked(name: str, declaration: Domain, physical: Domain) -> Domain:
    """Check a `Domain` object by the rules for declared domains."""
    domain = replace(physical, nullable=declaration.nullable)
    if declaration.categories is not None:
        domain = replace(_categorical(name, declaration.categories, physical), nullable=declaration.nullable)
    elif declaration.low is not None and declaration.high is not None:
        if declaration.kind in {Kind.DATE, Kind.TIMESTAMP}:
            ends: list[Any] = [
                moment_of(end, timed=declaration.kind is Kind.TIMESTAMP) for end in (declaration.low, declaration.high)
            ]
        else:
            ends = [declaration.low, declaration.high]
        domain = replace(_bounded(name, ends, physical), nullable=declaration.nullable)
    if declaration.longest is not None:
        domain = _spelled_out(name, {"max_length": declaration.longest, "nullable": declaration.nullable}, domain)
    return domain


def _require_kind(name: str, kind: Kind, physical: Domain) -> None:
    """Refuse a kind other than the stored one: a cell that cannot be converted could make a question fail."""
    if kind is not physical.kind:
        raise _refused(
            name,
            str(kind),
            f"is not what the column holds: {physical.kind} values",
            hint="store the column as that type, or convert it in the question: CAST(x AS DOUBLE), ROUND(x)",
        )


def _bounded(name: str, bounds: Sequence[Any], physical: Domain) -> Domain:
    if is_pair_of_dates(bounds) or physical.kind is Kind.DATE:
        low, high = _first_and_last(name, bounds, physical.kind)
    elif physical.kind.is_number:
        low, high = (rational(f"domains[{name!r}]", bound) for bound in bounds)
        if max(abs(low), abs(high)) >= _INT64:
            raise _refused(name, bounds, "does not fit into 64 bits")
    else:
        raise _refused(
            name,
            bounds,
            f"bounds numbers, and the column holds {physical.kind} values",
            hint=_DATES if physical.kind is Kind.TIMESTAMP else "list categories, or leave the column out",
        )
    if low > high:
        raise _refused(
            name,
            bounds,
            "has its lower bound above its upper one",
            hint=f"the lower one comes first: domains={{{name!r}: {_as_stated(bounds[1], bounds[0])}}}",
        )
    return replace(physical, low=low, high=high)


def _categorical(name: str, categories: Any, physical: Domain) -> Domain:
    listed = tuple(
        _plain(name, category)
        for category in (sorted(categories) if isinstance(categories, set | frozenset) else categories)
    )
    present: tuple[Value, ...] = tuple(category for category in listed if category is not None)
    if not present or len({(type(value), value) for value in present}) < len(present):
        raise _refused(name, categories, "is empty, or lists a value twice", hint="list every key once")
    if len(listed) > MOST_KEYS:
        raise _refused(name, f"{len(listed)} keys", f"are more than {MOST_KEYS:,}")
    kinds = {_kind_of(category) for category in present}
    if len(kinds) > 1 and not all(kind.is_number for kind in kinds):
        raise _refused(name, categories, "mixes kinds of values")
    kind = kinds.pop()
    if kind is not physical.kind and not (kind.is_number and physical.kind.is_number):
        raise _refused(
            name,
            categories,
            f"lists {kind} values, and the column holds {physical.kind} values",
            hint=_DATES if kind is Kind.TEXT and physical.kind in {Kind.DATE, Kind.TIMESTAMP} else None,
        )
    if physical.kind is Kind.REAL:
        hint = "give bounds, and group by BUCKET(x, width)"
        if len(present) == 2:
            ends = sorted(category for category in categories if category is not None)
            hint = f"a list means keys; bounds stand in parentheses: ({', '.join(map(repr, ends))})"
        raise _refused(name, categories, "lists real numbers as keys", hint=hint)
    low = high = None
    if kind.is_number:
        numbers = [Fraction(category) for category in present]  # type: ignore[arg-type]  # (numbers, by their kind)
        low, high = min(numbers), max(numbers)
        _require_storable(name, numbers, physical)
    if len(present) < len(listed):
        present = (*present, None)
    return Domain(physical.kind, low, high, present, step=physical.step)


def _require_storable(name: str, numbers: list[Fraction], physical: Domain) -> None:
    """Refuse categories that the column's type cannot hold: they could be compared only inexactly."""
    step = physical.step or Fraction(1)
    most = _INT64 if physical.kind is Kind.INTEGER else step * 10**38
    for number in numbers:
        if (number / step).denominator != 1 or abs(number) >= most:
            raise _refused(name, str(number), f"is not a value of a column of {physical.kind} numbers of its type")


def compared(value: Value, kind: Kind) -> Any:
    """A value in the form in which engines compare it with a column: numbers that are not whole as doubles."""
    is_double = kind.is_number and kind is not Kind.INTEGER and value is not None
    return float(value) if is_double else value  # type: ignore[arg-type]  # (the values of numbers are numbers)


def plain_text_or_time(name: str, value: str | dt.date) -> str | dt.date:
    """A text, day or time in a form that every engine can write: of Python's own type, to the microsecond."""
    match value:
        case str():
            return str.__str__(value)
        case dt.datetime(tzinfo=None):
            days = (value.year, value.month, value.day)
            return dt.datetime(*days, value.hour, value.minute, value.second, value.microsecond)
        case dt.datetime():
            raise InvalidParameter(name, value, "has a zone, and columns have none", hint="write it without a zone")
        case _:
            return dt.date(value.year, value.month, value.day)


def _plain(name: str, value: object) -> Value:
    """A key in a form that every engine can write: two keys that differ only in Python would be one part for engines.

    Texts, dates and times of other libraries become Python's own, to the microsecond. No column has a time zone.
    """
    match value:
        case None | bool():
            return value
        case str() | dt.date():
            return plain_text_or_time(f"domains[{name!r}]", value)
        case int():
            return int(value)
        case float() if value != value:  # noqa: PLR0124 (not a number)
            raise _refused(name, value, "is not a key", hint="write None for a missing value")
        case float() | Decimal() | Fraction():
            number = rational(f"domains[{name!r}]", value)
            return number.numerator if number.denominator == 1 else number
    item = getattr(value, "item", None)
    if callable(item):
        return _plain(name, item())
    raise _refused(name, value, f"holds a {type(value).__name__}, which cannot be a key")


def _kind_of(value: Value) -> Kind:
    match value:
        case bool():
            return Kind.BOOLEAN
        case str():
            return Kind.TEXT
        case dt.datetime():
            return Kind.TIMESTAMP
        case dt.date():
            return Kind.DATE
        case int():
            return Kind.INTEGER
        case _:
            return Kind.DECIMAL


def _as_stated(*bounds: object) -> tuple[object, ...]:
    """Bounds as a literal: dates as texts."""
    return tuple(bound if isinstance(bound, int | float) else str(bound) for bound in bounds)


def _first_and_last(name: str, bounds: Sequence[Any], kind: Kind) -> tuple[Fraction, Fraction]:
    """Both bounds of dates or times in days; a date that ends times ends with its last microsecond."""
    if kind not in {Kind.DATE, Kind.TIMESTAMP}:
        raise _refused(
            name,
            bounds,
            f"bounds dates, and the column holds {kind} values",
            hint="store it as dates (in pandas, parse_dates), or declare nothing and ask for CAST(… AS DATE); "
            'categories are a list: ["a", "b"]'
            if kind is Kind.TEXT
            else f'numbers have numbers as bounds: domains={{"{name}": (0, 500)}}',
        )
    first, last = (_moment(name, bound, kind) for bound in bounds)
    if kind is Kind.TIMESTAMP and not isinstance(last, dt.datetime):
        last = dt.datetime.combine(last, dt.time.max)
    return in_days(first), in_days(last)


def _moment(name: str, value: object, kind: Kind) -> dt.date:
    moment = written_day(value) if isinstance(value, str) else value
    if isinstance(moment, dt.datetime):
        if kind is Kind.TIMESTAMP and moment.tzinfo is None:
            return moment
    elif isinstance(moment, dt.date):
        return moment
    raise _refused(name, value, f"is not a {_FITTING[kind]}", hint=_DATES)


def is_number(value: object) -> bool:
    """Whether it is a number of Python or of another library, and no truth value."""
    return isinstance(value, Number) and not isinstance(value, bool)


def any_nullable(domains: list[Domain]) -> bool:
    """Whether a function's value may be missing because one of its arguments may be."""
    return any(domain.nullable for domain in domains)


COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
DEEPEST = 100  # expressions nest no deeper than this


@dataclass(frozen=True, slots=True)
class Expression(ABC):
    """A column, a literal, or a function of expressions."""

    @abstractmethod
    def domain(self, schema: Schema) -> Domain:
        """The domain of its values on rows of a schema; raises a refusal if types do not fit."""

    @abstractmethod
    def columns(self) -> Iterator[str]:
        """The columns that it reads."""


@final
@stored("column")
@dataclass(frozen=True, slots=True)
class ColumnReference(Expression):
    """The value of a column, by name, as in `gt.col("x")`."""

    name: str

    def domain(self, schema: Schema) -> Domain:
        try:
            return schema[self.name]
        except KeyError:
            columns = f"the columns are {', '.join(schema) or 'none'}"
            raise QueryRefused(
                f"there is no column `{self.name}` here", hint=f"{did_you_mean(self.name, schema)}{columns}"
            ) from None

    def columns(self) -> Iterator[str]:
        yield self.name


@final
@stored("literal")
@dataclass(frozen=True, slots=True, eq=False)
class Literal(Expression):
    """A value written in the question itself. Literals are equal if type and value are: 1 is not TRUE."""

    value: Value

    def __post_init__(self) -> None:
        if isinstance(self.value, str) and any("\ud800" <= character <= "\udfff" for character in self.value):
            raise QueryRefused("a text contains half a character (a lone surrogate)", hint="write the whole character")
        if isinstance(self.value, dt.datetime) and self.value.tzinfo is not None:
            raise QueryRefused("a time has a zone, and columns have none", hint="write it without one")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and (type(self.value), self.value) == (type(other.value), other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    def domain(self, schema: Schema) -> Domain:
        match self.value:
            case None:
                return Domain(Kind.BOOLEAN, nullable=True)
            case bool():
                return Domain(Kind.BOOLEAN, categories=(self.value,), nullable=False)
            case int():
                number = Fraction(self.value)
                return Domain(Kind.INTEGER, number, number, nullable=False)
            case Fraction():
                return Domain(Kind.REAL, self.value, self.value, nullable=False)
            case str():
                return Domain(Kind.TEXT, categories=(self.value,), nullable=False, longest_computed=len(self.value))
            case dt.datetime():
                return Domain(Kind.TIMESTAMP, categories=(self.value,), nullable=False)
            case dt.date():
                return Domain(Kind.DATE, categories=(self.value,), nullable=False)

    def columns(self) -> Iterator[str]:
        return iter(())


@final
@stored("call")
@dataclass(frozen=True, slots=True)
class Call(Expression):
    """A function from the allow-list (see `functions`) of other expressions."""

    name: str
    arguments: tuple[Expression, ...]
    _last: list[tuple[Schema, Domain]] = field(default_factory=list, init=False, repr=False, compare=False)

    def domain(self, schema: Schema) -> Domain:
        """The domain of the call. The last one is cached: printers ask for the domains of all nested parts."""
        from giveortake.plan.functions import domain_of_call  # noqa: PLC0415 (functions need expressions)

        for before, domain in self._last:
            if before is schema:
                return domain
        domain = domain_of_call(self, schema)
        self._last[:] = [(schema, domain)]
        return domain

    def columns(self) -> Iterator[str]:
        for argument in self.arguments:
            yield from argument.columns()


def is_missing(expression: Expression) -> bool:
    """Whether an expression is the literal NULL, which has no kind of its own."""
    return isinstance(expression, Literal) and expression.value is None


def require_shallow(expression: Expression, depth: int = 0) -> None:
    """Refuse expressions that nest too deeply."""
    if depth > DEEPEST:
        raise QueryRefused(f"an expression nests deeper than {DEEPEST} levels", hint="split it over subqueries")
    if isinstance(expression, Call):
        for argument in expression.arguments:
            require_shallow(argument, depth + 1)


Bound: TypeAlias = "Fraction | None"

SAFE_INTEGER = Fraction(2**53)  # whole numbers up to here are exact in arithmetic, which is done in doubles
CSV_HINT = "CAST(x AS DATE) or CAST(x AS DOUBLE) convert a text; in a CSV file a declared domain does"


def number_arguments(call: Call, domains: list[Domain]) -> list[Domain]:
    """Check that all arguments are numbers; return their domains."""
    for argument, domain in zip(call.arguments, domains, strict=True):
        if not domain.kind.is_number and not is_missing(argument):
            raise QueryRefused(
                f"{call.name.upper()} needs numbers, and got a {domain.kind} value",
                hint="DATE_TRUNC('week', x), or DATE_DIFF('day', DATE '2024-01-01', x)"
                if domain.kind in {Kind.DATE, Kind.TIMESTAMP}
                else "convert it: CAST(x AS DOUBLE), or CASE WHEN x THEN 1 ELSE 0 END",
            )
    return domains


def kinds_only(call: Call, domains: list[Domain], *kinds: Kind) -> list[Domain]:
    """Check that all arguments are of the given kinds; return their domains."""
    for argument, domain in zip(call.arguments, domains, strict=True):
        if domain.kind not in kinds and not is_missing(argument):
            raise QueryRefused(
                f"{call.name.upper()} needs {' or '.join(kinds)} values, and got {domain.kind} values",
                hint=CSV_HINT if domain.kind is Kind.TEXT else None,
            )
    return domains


def require_written(call: Call) -> None:
    """Refuse the literal NULL as an argument, for which engines cannot tell which of several functions is meant."""
    if any(map(is_missing, call.arguments)):
        raise QueryRefused(f"{call.name.upper()}(NULL) is always missing", hint="write NULL")


def literal_number(call: Call, position: int) -> Fraction:
    """The argument at a position, which must be a literal number."""
    argument = call.arguments[position]
    value = argument.value if isinstance(argument, Literal) else None
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return Fraction(value)
    raise QueryRefused(f"{call.name.upper()} needs a number as its argument {position + 1}, written out")


def literal_text(call: Call, position: int) -> str:
    """The argument at a position, which must be a literal text."""
    argument = call.arguments[position]
    if isinstance(argument, Literal) and isinstance(argument.value, str):
        return argument.value
    raise QueryRefused(f"{call.name.upper()} needs a text as its argument {position + 1}, written out")


def require_true_or_false(condition: Expression, schema: Schema) -> None:
    """Refuse a condition of WHERE that nests too deeply, or that is neither true nor false."""
    require_shallow(condition)
    domain = condition.domain(schema)
    if domain.kind is not Kind.BOOLEAN:
        raise QueryRefused(
            "WHERE needs a condition, something that is true or false", hint=condition_hint(condition, domain)
        )


def condition_hint(expression: Expression, domain: Domain) -> str:
    """What to write instead of something that is no condition.

    >>> condition_hint(ColumnReference("amount"), Domain(Kind.REAL))
    'compare it: amount > 0'
    """
    name = column_in_sql(expression)
    if domain.kind in {Kind.DATE, Kind.TIMESTAMP}:
        return f"compare it: {name} > DATE '2024-01-31'"
    if domain.kind is not Kind.TEXT:
        return f"compare it: {name} > 0"
    example = next(
        (category for category in domain.categories or () if isinstance(category, str) and "'" not in category), "…"
    )
    compared = f"compare it with a text: {name} = '{example}'"
    if not isinstance(expression, ColumnReference):
        return compared
    return f'{compared}, or declare it: domains={{"{expression.name}": [True, False]}}'


def column_in_sql(expression: Expression) -> str:
    """A column as SQL writes it, or x for whatever is none, for a hint."""
    name = expression.name if isinstance(expression, ColumnReference) else "x"
    return name if name.isidentifier() else f'"{name}"'


def is_int(domain: Domain) -> bool:
    """Whether a domain holds bounded whole numbers, which double arithmetic keeps whole."""
    return domain.kind is Kind.INTEGER and domain.is_bounded


def number_between(low: Bound, high: Bound, *, nullable: bool, integer: bool = False) -> Domain:
    """A number between two bounds: whole if doubles keep it so, otherwise real, with bounds rounded outwards."""
    if integer and low is not None and high is not None and max(abs(low), abs(high)) <= SAFE_INTEGER:
        return Domain(Kind.INTEGER, low, high, nullable=nullable)
    return Domain(Kind.REAL, _outwards(low, up=False), _outwards(high, up=True), nullable=nullable)


def _outwards(bound: Bound, *, up: bool) -> Bound:
    """A bound moved by more than the rounding of one operation on doubles."""
    if bound is None or bound == 0:
        return bound
    slack = abs(bound) / 2**50
    return bound + slack if up else bound - slack
