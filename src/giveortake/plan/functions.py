"""The functions of a row that a question may use, in SQL and in frames, each with the domain of its result.

Guarantee: the domain of a call contains its value on every row whose columns keep their domains, so bounds that are
derived here may be used as sensitivities; what they are used for is clamped to them once more all the same. Every
function is total: where mathematics has no answer (division by zero, the logarithm of nothing, a text that is no
date) the value is missing. Rules of conditions, choices, texts and conversions are here; those of numbers and of dates
have files of their own.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, final, get_args

from giveortake.errors import QueryRefused
from giveortake.plan import numbers, times
from giveortake.plan.expressions import (
    CSV_HINT,
    MOST_CHARACTERS,
    Call,
    ColumnReference,
    Domain,
    Kind,
    Literal,
    Period,
    Value,
    any_nullable,
    column_in_sql,
    comparable,
    condition_hint,
    is_missing,
    kinds_only,
    literal_number,
    literal_text,
    require_written,
)
from giveortake.plan.numbers import Rule, half_up, rounded

if TYPE_CHECKING:
    from giveortake.plan.expressions import Expression, Schema


def _truth(domains: list[Domain]) -> Domain:
    return Domain(Kind.BOOLEAN, nullable=any_nullable(domains))


def compare(call: Call, domains: list[Domain]) -> Domain:
    """A comparison of values of one kind."""
    present = [domain for argument, domain in zip(call.arguments, domains, strict=True) if not is_missing(argument)]
    for domain in present[1:]:
        if not comparable(present[0].kind, domain.kind):
            kinds = {present[0].kind, domain.kind}
            moments = kinds & {Kind.DATE, Kind.TIMESTAMP}
            dated = moments and (any(map(_is_written_text, call.arguments)) or any(kind.is_number for kind in kinds))
            raise QueryRefused(
                f"{present[0].kind} values cannot be compared with {domain.kind} values",
                hint=_truth_hint(call)
                if Kind.BOOLEAN in kinds
                else _DATE_HINT
                if dated
                else CSV_HINT
                if Kind.TEXT in kinds
                else None,
            )
    return _truth(domains)


_DATE_HINT = "write a date: DATE '2024-01-31', or in Python datetime.date(2024, 1, 31)"


def _truth_hint(call: Call) -> str:
    column = next((argument for argument in call.arguments if isinstance(argument, ColumnReference)), call.arguments[0])
    return f"a truth value is compared with TRUE or FALSE: {column_in_sql(column)} = TRUE"


def _is_written_text(argument: Expression) -> bool:
    return isinstance(argument, Literal) and isinstance(argument.value, str)


def logic(call: Call, domains: list[Domain]) -> Domain:
    """AND, OR, NOT."""
    return _truth(kinds_only(call, domains, Kind.BOOLEAN))


def is_null(_call: Call, _domains: list[Domain]) -> Domain:
    """Whether a value is missing."""
    return Domain(Kind.BOOLEAN, nullable=False)


def like(call: Call, domains: list[Domain]) -> Domain:
    """Whether a text matches a literal pattern."""
    literal_text(call, 1)
    return _truth(kinds_only(call, domains, Kind.TEXT))


def case_of(call: Call, domains: list[Domain]) -> Domain:
    """The domain of CASE; its arguments are condition, value, condition, value, …, otherwise."""
    conditions, values = domains[:-1:2], [*domains[1:-1:2], domains[-1]]
    if len(call.arguments) % 2 == 0 or any(condition.kind is not Kind.BOOLEAN for condition in conditions):
        pairs = zip(call.arguments[:-1:2], conditions, strict=True)
        mismatch = next((pair for pair in pairs if pair[1].kind is not Kind.BOOLEAN), None)
        if mismatch is None:
            raise QueryRefused("CASE needs conditions and values")
        raise QueryRefused(
            f"a condition is true or false, and this one is a {mismatch[1].kind} value", hint=condition_hint(*mismatch)
        )
    parts = [*call.arguments[1:-1:2], call.arguments[-1]]
    return _hull(call, parts, values)


def _hull(call: Call, parts: list[Expression] | tuple[Expression, ...], values: list[Domain]) -> Domain:
    present = [domain for part, domain in zip(parts, values, strict=True) if not is_missing(part)]
    if not present:
        raise QueryRefused(f"{call.name.upper()} has no value that is not NULL")
    nullable = any_nullable(values)
    kinds = {domain.kind for domain in present}
    if len(kinds) > 1 and not all(kind.is_number for kind in kinds):
        raise QueryRefused(f"{call.name.upper()} mixes {' and '.join(sorted(kinds))} values")
    if not all(kind.is_number for kind in kinds):
        listed = _union(present, missing=len(present) < len(values))
        return Domain(present[0].kind, categories=listed, nullable=nullable, longest_computed=_longest(present))
    low = None if any(domain.low is None for domain in present) else min(domain.low for domain in present)  # type: ignore[type-var]  # (none of them is None)
    high = None if any(domain.high is None for domain in present) else max(domain.high for domain in present)  # type: ignore[type-var]  # (none of them is None)
    whole = kinds == {Kind.INTEGER}
    return Domain(Kind.INTEGER if whole else Kind.REAL, low, high, nullable=nullable)


def _longest(domains: list[Domain]) -> int | None:
    """The greatest width, if the domains are texts."""
    return max(domain.width for domain in domains) if domains[0].kind is Kind.TEXT else None


def _union(domains: list[Domain], *, missing: bool) -> tuple[Value, ...] | None:
    categories: dict[Value, None] = {}
    for domain in domains:
        if domain.categories is None:
            return None
        categories.update(dict.fromkeys(domain.categories))
    if missing:
        categories[None] = None
    return tuple(categories)


def coalesce(call: Call, domains: list[Domain]) -> Domain:
    """The first value that is not missing."""
    hull = _hull(call, call.arguments, domains)
    return replace(hull, nullable=all(domain.nullable for domain in domains))


def null_if(call: Call, domains: list[Domain]) -> Domain:
    """A value, missing where it equals another."""
    compare(call, domains)
    return domains[0].maybe_missing()


_FIRST_WEEK = 7  # days since the year 1: before that, a week may begin where there are no dates
_CHARACTERS = {Kind.INTEGER: 40, Kind.BOOLEAN: 5, Kind.DATE: 10, Kind.TIMESTAMP: 26}  # of values as text


def text_of(call: Call, domains: list[Domain]) -> Domain:
    """A text made of texts, at most as long as all of them together."""
    kinds_only(call, domains, Kind.TEXT)
    together = sum(_width(domain) for domain in domains)
    return Domain(Kind.TEXT, nullable=any_nullable(domains), longest_computed=together)


def _width(domain: Domain) -> int:
    return domain.width if domain.kind is Kind.TEXT else 0  # NULL, which has no kind of its own, makes no text


def length(call: Call, domains: list[Domain]) -> Domain:
    """The number of characters of a text."""
    (a,) = kinds_only(call, domains, Kind.TEXT)
    high = None if a.longest is None else Fraction(a.longest)
    return Domain(Kind.INTEGER, Fraction(0), high, nullable=a.nullable)


def substring(call: Call, domains: list[Domain]) -> Domain:
    """A part of a text, with literal positions."""
    kinds_only(Call(call.name, call.arguments[:1]), domains[:1], Kind.TEXT)
    most = _width(domains[0])
    for position in range(1, len(call.arguments)):
        number = literal_number(call, position)
        if number.denominator != 1 or not 2 - position <= number <= MOST_CHARACTERS:
            raise QueryRefused(f"SUBSTRING starts at 1 and takes whole numbers up to {MOST_CHARACTERS:,}")
        most = min(most, int(number)) if position == 2 else most
    return Domain(Kind.TEXT, nullable=domains[0].nullable, longest_computed=most)


def year(call: Call, domains: list[Domain]) -> Domain:
    """The year of a date, between those of its bounds."""
    require_written(call)
    (a,) = kinds_only(call, domains, Kind.DATE, Kind.TIMESTAMP)
    first = dt.MINYEAR if a.low is None else dt.date.fromordinal(int(a.low)).year
    last = dt.MAXYEAR if a.high is None else dt.date.fromordinal(int(a.high)).year
    return Domain(Kind.INTEGER, Fraction(first), Fraction(last), nullable=True)


def part(low: int, high: int, *, of_time: bool = False) -> Rule:
    """A part of a date, or of a time of day."""

    def rule(call: Call, domains: list[Domain]) -> Domain:
        require_written(call)
        (a,) = kinds_only(call, domains, *((Kind.TIMESTAMP,) if of_time else (Kind.DATE, Kind.TIMESTAMP)))
        return Domain(Kind.INTEGER, Fraction(low), Fraction(high), nullable=a.nullable)

    return rule


TRUNCATIONS: tuple[Period, ...] = get_args(Period)


def truncate(call: Call, domains: list[Domain]) -> Domain:
    """The first day of the year, month or week of a date; those of bounded dates are known."""
    period = next((truncation for truncation in TRUNCATIONS if truncation == literal_text(call, 0)), None)
    if period is None:
        raise QueryRefused("DATE_TRUNC knows no such part", hint=f"it knows {', '.join(TRUNCATIONS)}")
    if domains[1].kind not in {Kind.DATE, Kind.TIMESTAMP}:
        raise QueryRefused("DATE_TRUNC needs a date", hint=CSV_HINT if domains[1].kind is Kind.TEXT else None)
    days = domains[1]
    if days.low is not None and days.high is not None and days.low > _FIRST_WEEK:
        return Domain(Kind.DATE, nullable=days.nullable, span=(period, int(days.low), int(days.high)))
    return Domain(Kind.DATE, nullable=True)


def to_real(_call: Call, domains: list[Domain]) -> Domain:
    """A value as a real number."""
    (a,) = domains
    if a.kind.is_number:
        return Domain(Kind.REAL, a.low, a.high, nullable=a.nullable)
    if a.kind is Kind.BOOLEAN:
        return Domain(Kind.REAL, Fraction(0), Fraction(1), nullable=a.nullable)
    if a.kind is not Kind.TEXT:
        raise QueryRefused(f"a {a.kind} value is not a number", hint="take a part of it: YEAR(x), MONTH(x)")
    return Domain(Kind.REAL, nullable=True)


def to_integer(call: Call, domains: list[Domain]) -> Domain:
    """A value as a whole number."""
    (a,) = domains
    if a.kind is Kind.INTEGER:
        return a
    if a.kind is Kind.BOOLEAN:
        return Domain(Kind.INTEGER, Fraction(0), Fraction(1), nullable=a.nullable)
    if not a.kind.is_number:
        raise QueryRefused(
            f"a {a.kind} value is not converted to a whole number", hint="FLOOR(CLAMP(CAST(x AS DOUBLE), lower, upper))"
        )
    return rounded(half_up)(call, domains)


def to_text(_call: Call, domains: list[Domain]) -> Domain:
    """A value as a text."""
    (a,) = domains
    if a.kind in {Kind.REAL, Kind.DECIMAL}:
        raise QueryRefused(
            "numbers with decimals cannot be cast to text: engines write them differently", hint="ROUND(x) first"
        )
    return a if a.kind is Kind.TEXT else Domain(Kind.TEXT, nullable=a.nullable, longest_computed=_CHARACTERS[a.kind])


def to_date(_call: Call, domains: list[Domain]) -> Domain:
    """A value as a date."""
    (a,) = domains
    if a.kind is Kind.DATE:
        return a
    if a.kind not in {Kind.TIMESTAMP, Kind.TEXT}:
        raise QueryRefused(f"a {a.kind} value is not a date")
    if a.kind is Kind.TIMESTAMP and a.low is not None and a.high is not None:
        return Domain(Kind.DATE, Fraction(int(a.low)), Fraction(int(a.high)), nullable=a.nullable)
    return Domain(Kind.DATE, nullable=True)


@final
@dataclass(frozen=True, slots=True)
class Function:
    """How many arguments a function takes, the domain of its value, and its names in SQL.

    Operators, and functions with a syntax of their own, have no name here.
    """

    least: int
    most: int | None
    rule: Rule
    sql: tuple[str, ...] = ()


def domain_of_call(call: Call, schema: Schema) -> Domain:
    """The domain of a function's value, or a refusal."""
    function = FUNCTIONS.get(call.name)
    if function is None:
        raise QueryRefused(f"the function {call.name.upper()} is not available", hint=available())
    count = len(call.arguments)
    if count < function.least or (function.most is not None and count > function.most):
        raise QueryRefused(f"{call.name.upper()} does not take {count} argument{'s' if count != 1 else ''}")
    return function.rule(call, [argument.domain(schema) for argument in call.arguments])


def available() -> str:
    """A list of the available functions, for hints."""
    return "available: " + ", ".join(sorted(name.upper() for name in FUNCTIONS if name not in _WRITTEN_OTHERWISE))


_SIGNS = "add subtract multiply divide modulo negate eq ne lt le gt ge in and or not is_null case"
_CASTS = "to_real to_integer to_text to_date"
_WRITTEN_OTHERWISE = frozenset(f"{_SIGNS} {_CASTS}".split())

_ANY = None
FUNCTIONS: dict[str, Function] = {
    "add": Function(2, 2, numbers.add),
    "subtract": Function(2, 2, numbers.subtract),
    "multiply": Function(2, 2, numbers.multiply),
    "divide": Function(2, 2, numbers.divide),
    "modulo": Function(2, 2, numbers.modulo),
    "negate": Function(1, 1, numbers.negate),
    "abs": Function(1, 1, numbers.absolute, ("ABS",)),
    "floor": Function(1, 1, numbers.rounded(math.floor), ("FLOOR",)),
    "ceil": Function(1, 1, numbers.rounded(math.ceil), ("CEIL", "CEILING")),
    "round": Function(1, 2, numbers.rounded_to_digits),
    "power": Function(2, 2, numbers.power, ("POWER", "POW")),
    "sign": Function(1, 1, numbers.sign, ("SIGN",)),
    "sqrt": Function(1, 1, numbers.square_root, ("SQRT",)),
    "ln": Function(1, 1, numbers.logarithm, ("LN",)),
    "exp": Function(1, 1, numbers.exponential, ("EXP",)),
    "clamp": Function(3, 3, numbers.clamp, ("CLAMP",)),
    "greatest": Function(2, _ANY, numbers.extreme(max), ("GREATEST",)),
    "least": Function(2, _ANY, numbers.extreme(min), ("LEAST",)),
    "bucket": Function(2, 2, numbers.bucket, ("BUCKET",)),
    "eq": Function(2, 2, compare),
    "ne": Function(2, 2, compare),
    "lt": Function(2, 2, compare),
    "le": Function(2, 2, compare),
    "gt": Function(2, 2, compare),
    "ge": Function(2, 2, compare),
    "in": Function(2, _ANY, compare),
    "and": Function(2, 2, logic),
    "or": Function(2, 2, logic),
    "not": Function(1, 1, logic),
    "is_null": Function(1, 1, is_null),
    "like": Function(2, 2, like),
    "ilike": Function(2, 2, like),
    "case": Function(3, _ANY, case_of),
    "coalesce": Function(1, _ANY, coalesce, ("COALESCE",)),
    "nullif": Function(2, 2, null_if, ("NULLIF",)),
    "lower": Function(1, 1, text_of, ("LOWER", "LCASE")),
    "upper": Function(1, 1, text_of, ("UPPER", "UCASE")),
    "trim": Function(1, 1, text_of, ("TRIM",)),
    "concat": Function(2, _ANY, text_of, ("CONCAT",)),
    "substring": Function(2, 3, substring, ("SUBSTR", "SUBSTRING")),
    "length": Function(1, 1, length, ("LENGTH", "LEN", "CHAR_LENGTH", "CHARACTER_LENGTH")),
    "year": Function(1, 1, year, ("YEAR",)),
    "quarter": Function(1, 1, part(1, 4), ("QUARTER",)),
    "month": Function(1, 1, part(1, 12), ("MONTH",)),
    "week": Function(1, 1, part(1, 53), ("WEEK", "WEEKOFYEAR")),
    "day": Function(1, 1, part(1, 31), ("DAY", "DAYOFMONTH")),
    "dayofweek": Function(1, 1, part(1, 7), ("DAYOFWEEK", "ISODOW")),
    "dayofyear": Function(1, 1, part(1, 366), ("DAYOFYEAR",)),
    "hour": Function(1, 1, part(0, 23, of_time=True), ("HOUR",)),
    "minute": Function(1, 1, part(0, 59, of_time=True), ("MINUTE",)),
    "date_trunc": Function(2, 2, truncate),
    "dayname": Function(1, 1, times.name_of(times.DAYS), ("DAYNAME",)),
    "monthname": Function(1, 1, times.name_of(times.MONTHS), ("MONTHNAME",)),
    "add_days": Function(2, 2, times.moved, ("ADD_DAYS",)),
    "add_months": Function(2, 2, times.moved, ("ADD_MONTHS",)),
    "add_seconds": Function(2, 2, times.moved, ("ADD_SECONDS",)),
    "date_diff": Function(3, 3, times.difference),
    "to_real": Function(1, 1, to_real),
    "to_integer": Function(1, 1, to_integer),
    "to_text": Function(1, 1, to_text),
    "to_date": Function(1, 1, to_date),
}

CASTS = {  # names of types in SQL and frames, and the functions that convert to them
    "double": "to_real",
    "float": "to_real",
    "bigint": "to_integer",
    "integer": "to_integer",
    "int": "to_integer",
    "varchar": "to_text",
    "text": "to_text",
    "date": "to_date",
}
