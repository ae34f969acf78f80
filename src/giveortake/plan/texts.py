"""Domains of texts, of parts of dates, and of conversions."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import get_args

from giveortake.errors import QueryRefused
from giveortake.plan.arguments import CSV_HINT, kinds_only, literal_number, literal_text, require_written
from giveortake.plan.arithmetic import Rule, half_up, rounded
from giveortake.plan.domains import MOST_CHARACTERS, Domain, Kind, Period, any_nullable
from giveortake.plan.expressions import Call

_FIRST_WEEK = 7  # days since the year 1: before that, a week may begin where there are no dates
_CHARACTERS = {Kind.INTEGER: 40, Kind.BOOLEAN: 5, Kind.DATE: 10, Kind.TIMESTAMP: 26}  # of values as text


def text_of(call: Call, domains: list[Domain]) -> Domain:
    """A text made of texts, at most as long as all of them together."""
    kinds_only(call, domains, Kind.TEXT)
    together = sum(_width(domain) for domain in domains)
    return Domain(Kind.TEXT, nullable=any_nullable(domains), made=together)


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
        place = literal_number(call, position)
        if place.denominator != 1 or not 2 - position <= place <= MOST_CHARACTERS:
            raise QueryRefused(f"SUBSTRING starts at 1 and takes whole numbers up to {MOST_CHARACTERS:,}")
        most = min(most, int(place)) if position == 2 else most
    return Domain(Kind.TEXT, nullable=domains[0].nullable, made=most)


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
    period = next((each for each in TRUNCATIONS if each == literal_text(call, 0)), None)
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
    return a if a.kind is Kind.TEXT else Domain(Kind.TEXT, nullable=a.nullable, made=_CHARACTERS[a.kind])


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
