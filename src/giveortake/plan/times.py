"""Dates and times: moved by a constant, subtracted, named, and written as ISO texts such as 2024-01-31 12:00."""

from __future__ import annotations

import datetime as dt
from calendar import monthrange
from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake.errors import QueryRefused
from giveortake.plan.expressions import (
    COMPARISONS,
    CSV_HINT,
    Call,
    Domain,
    Kind,
    Literal,
    Value,
    any_nullable,
    kinds_only,
    literal_number,
    literal_text,
    require_written,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.plan.expressions import Expression, Schema
    from giveortake.plan.numbers import Rule


MOMENTS = frozenset({Kind.DATE, Kind.TIMESTAMP})
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
UNITS = {  # the function that moves by a unit, and by how much
    "day": ("add_days", 1),
    "week": ("add_days", 7),
    "month": ("add_months", 1),
    "quarter": ("add_months", 3),
    "year": ("add_months", 12),
    "hour": ("add_seconds", 3600),
    "minute": ("add_seconds", 60),
    "second": ("add_seconds", 1),
}
IN_A_DAY = {"hour": 24, "minute": 1_440}  # units of a clock
DIFFERENCES = ("day", "week", "month", "quarter", "year", *IN_A_DAY)
_FIRST, _LAST = dt.date.min.toordinal(), dt.date.max.toordinal()
_MOST = {  # the greatest moves within the years 1 to 9999
    "add_days": _LAST - _FIRST,
    "add_months": 12 * (dt.MAXYEAR - dt.MINYEAR + 1) - 1,
    "add_seconds": (_LAST - _FIRST + 1) * 86_400 - 1,
}


def name_of(names: tuple[str, ...]) -> Rule:
    """The rule for the name of a day or a month: one of few texts, so that all keys are known."""

    def rule(call: Call, domains: list[Domain]) -> Domain:
        require_written(call)
        (a,) = kinds_only(call, domains, *MOMENTS)
        listed: tuple[Value, ...] = (*names, None) if a.nullable else names
        return Domain(Kind.TEXT, categories=listed, nullable=a.nullable, longest_computed=max(map(len, names)))

    return rule


def moved(call: Call, domains: list[Domain]) -> Domain:
    """A date or time moved by a constant; missing outside the years 1 to 9999."""
    require_written(call)
    step, a = literal_number(call, 1), domains[0]
    kinds = (Kind.TIMESTAMP,) if call.name == "add_seconds" else (Kind.DATE, Kind.TIMESTAMP)
    if a.kind not in kinds:
        raise QueryRefused(
            f"{call.name.upper()} needs {' or '.join(kinds)} values, and got {a.kind} values",
            hint=CSV_HINT if a.kind is Kind.TEXT else "days, weeks, months and years are added to dates",
        )
    if step.denominator != 1 or abs(step) > _MOST[call.name]:
        raise QueryRefused(f"{call.name.upper()} needs a whole number that stays between the years 1 and 9999")
    if a.kind is Kind.TIMESTAMP:
        return Domain(Kind.TIMESTAMP, nullable=True)
    by = int(step)
    if a.categories is not None:
        known = [None if day is None else _moved(call.name, day, by) for day in a.categories]  # type: ignore[arg-type]  # (days, by their kind)
        return Domain(Kind.DATE, categories=tuple(dict.fromkeys(known)), nullable=a.nullable or None in known)
    if a.low is None or a.high is None:
        return Domain(Kind.DATE, nullable=True)
    ends = [_moved(call.name, dt.date.fromordinal(int(end)), by) for end in (a.low, a.high)]
    low, high = (_FIRST if end is None and by < 0 else _LAST if end is None else end.toordinal() for end in ends)
    return Domain(Kind.DATE, Fraction(low), Fraction(high), nullable=a.nullable or None in ends)


def _moved(name: str, day: dt.date, by: int) -> dt.date | None:
    """The moved day, or None outside the years 1 to 9999; if the month is too short, its last day."""
    if name == "add_days":
        ordinal = day.toordinal() + by
        return dt.date.fromordinal(ordinal) if _FIRST <= ordinal <= _LAST else None
    year, month = divmod(day.year * 12 + day.month - 1 + by, 12)
    if not dt.MINYEAR <= year <= dt.MAXYEAR:
        return None
    return dt.date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def before_moving(name: str, by: int, kind: Kind) -> tuple[dt.date, dt.date]:
    """The first and last date or time that stays within the years 1 to 9999 when it is moved."""
    if name == "add_months":
        first, last = max(12, 12 - by), min(12 * (dt.MAXYEAR + 1), 12 * (dt.MAXYEAR + 1) - by) - 1
        low = dt.date(first // 12, first % 12 + 1, 1)
        high = dt.date(last // 12, last % 12 + 1, monthrange(last // 12, last % 12 + 1)[1])
    elif name == "add_days":
        low, high = (dt.date.fromordinal(end) for end in (max(_FIRST, _FIRST - by), min(_LAST, _LAST - by)))
    else:
        step = dt.timedelta(seconds=abs(by))
        earliest, latest = dt.datetime.min, dt.datetime.max
        return (earliest, latest - step) if by >= 0 else (earliest + step, latest)
    if kind is Kind.DATE:
        return low, high
    return dt.datetime.combine(low, dt.time.min), dt.datetime.combine(high, dt.time.max)


def difference(call: Call, domains: list[Domain]) -> Domain:
    """The number of units of the calendar or clock that begin between two times; bounded if both times are."""
    require_written(call)
    unit = literal_text(call, 0)
    if unit not in DIFFERENCES:
        raise QueryRefused(f"DATE_DIFF does not count {unit[:40].upper()}S", hint=f"it counts {', '.join(DIFFERENCES)}")
    for domain in domains[1:]:
        if domain.kind not in MOMENTS:
            raise QueryRefused("DATE_DIFF needs dates", hint=CSV_HINT if domain.kind is Kind.TEXT else None)
    ends = [_ends(domain) for domain in domains[1:]]
    nullable = any_nullable(domains)
    if ends[0] is None or ends[1] is None:
        return Domain(Kind.INTEGER, nullable=nullable)
    (first, last), (least, greatest) = (
        tuple(_unit_number(unit, end) + extra for end, extra in zip(pair, (0, _later(unit, domain)), strict=True))
        for pair, domain in zip((ends[0], ends[1]), domains[1:], strict=True)
    )
    return Domain(Kind.INTEGER, Fraction(least - last), Fraction(greatest - first), nullable=nullable)


def _ends(domain: Domain) -> tuple[dt.date, dt.date] | None:
    if domain.categories is not None:
        days = [dt.date(day.year, day.month, day.day) for day in domain.categories if isinstance(day, dt.date)]
        return (min(days), max(days)) if days else None
    if domain.low is None or domain.high is None:
        return None
    return dt.date.fromordinal(int(domain.low)), dt.date.fromordinal(int(domain.high))


def _later(unit: str, domain: Domain) -> int:
    """How many units of the clock may begin after the first moment of the last day."""
    return IN_A_DAY.get(unit, 1) - 1 if domain.kind is Kind.TIMESTAMP else 0


def _unit_number(unit: str, day: dt.date) -> int:
    """The running number of the unit that a day is in; for units of the clock, that of the day's first one."""
    match unit:
        case "hour" | "minute":
            return IN_A_DAY[unit] * day.toordinal()
        case "day":
            return day.toordinal()
        case "week":
            return (day.toordinal() - 1) // 7  # the first day of the year 1 was a Monday
        case "month":
            return 12 * day.year + day.month
        case "quarter":
            return 4 * day.year + (day.month - 1) // 3
        case _:
            return day.year


def in_days(call: Call, domains: list[Domain]) -> Call | None:
    """The call that + or - of dates means: days added, or days between two dates; None if there are no dates."""
    kinds = [domain.kind for domain in domains]
    if not MOMENTS & set(kinds) or len(kinds) != 2:
        return None
    one, other = call.arguments
    if call.name == "subtract" and kinds == [Kind.DATE, Kind.DATE]:
        return Call("date_diff", (Literal("day"), other, one))
    if call.name == "add" and kinds[1] is Kind.DATE:
        one, other, kinds = other, one, kinds[::-1]
    if kinds[0] is not Kind.DATE or not isinstance(other, Literal) or not _is_whole(other.value):
        raise QueryRefused(
            "a date is shifted by a whole number of days, written out",
            hint="day + 7, day - INTERVAL 1 MONTH, DATE_DIFF('day', a, b)",
        )
    by = int(Fraction(other.value))  # type: ignore[arg-type]  # (a whole number, as was asked)
    return Call("add_days", (one, Literal(by if call.name == "add" else -by)))


def _is_whole(value: Value) -> bool:
    return isinstance(value, int | Fraction) and not isinstance(value, bool) and Fraction(value).denominator == 1


_CONVERTING = COMPARISONS | {"in", "nullif"}
_DAY = len("2024-01-31")


def moment(text: str) -> dt.date:
    """The date or time that an ISO text writes.

    >>> moment("2024-01-31"), moment("2024-01-31 12:00")
    (datetime.date(2024, 1, 31), datetime.datetime(2024, 1, 31, 12, 0))
    """
    try:
        day = dt.date.fromisoformat(text) if len(text) == _DAY else dt.datetime.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or (isinstance(day, dt.datetime) and day.tzinfo is not None):
        raise QueryRefused(
            "a date is compared with a text that is not a date",
            hint="write dates as '2024-01-31', times as '2024-01-31 12:00'",
        )
    return day


def as_moment(argument: Expression) -> Expression:
    """A literal text converted to the date or time that it writes; any other expression unchanged."""
    if isinstance(argument, Literal) and isinstance(argument.value, str):
        return Literal(moment(argument.value))
    return argument


def compared(name: str, arguments: Sequence[Expression], schema: Schema) -> tuple[Expression, ...]:
    """The arguments of a function; if it compares dates or times with literal texts, those are converted."""
    if name in _CONVERTING and any(
        isinstance(argument, Literal) and isinstance(argument.value, str) for argument in arguments
    ):
        kinds = {argument.domain(schema).kind for argument in arguments}
        if kinds & MOMENTS:
            return tuple(map(as_moment, arguments))
    return tuple(arguments)


def with_moments(expression: Expression, schema: Schema) -> Expression:
    """An expression in which literal texts compared with dates or times are converted."""
    if not isinstance(expression, Call):
        return expression
    parts = compared(expression.name, [with_moments(argument, schema) for argument in expression.arguments], schema)
    return expression if parts == expression.arguments else Call(expression.name, parts)
