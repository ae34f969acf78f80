"""Dates and times as numbers of days since the year 1, and as ISO texts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from fractions import Fraction

_MICROSECOND = dt.timedelta(microseconds=1)


def is_pair_of_dates(said: object) -> bool:
    """Whether a value is a pair of dates or times, or of ISO dates as texts.

    >>> is_pair_of_dates(("2024-01-01", "2024-12-31")), is_pair_of_dates(("north", "south"))
    (True, False)
    """
    return isinstance(said, Sequence) and not isinstance(said, str) and len(said) == 2 and all(map(_is_date, said))


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
