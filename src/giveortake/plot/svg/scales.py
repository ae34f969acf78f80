"""Scales of charts: where a value stands between the two ends of an axis, and which values are written at it."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from giveortake.answers.column import Kind, Value

_FARTHEST = 1e300
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAY = 86_400.0
_EPOCH = dt.datetime(1970, 1, 1)
_SECONDS = (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600)
_DAYS = (1, 2, 7, 14)
_MONTH_STEPS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400)


@final
@dataclass(frozen=True, slots=True)
class Scale:
    """An axis from `low` to `high`: of numbers, of logarithms, or of seconds since 1970 that are written as dates."""

    low: float
    high: float
    kind: Literal["number", "log", "date"] = "number"

    @classmethod
    def over(cls, values: Iterable[Value], kind: Kind, *, zero: bool | None = None) -> Scale:
        """The scale that holds all finite values, with zero if `zero`, or if zero is near and `zero` is None."""
        places = [place for value in values if (place := finite(value)) is not None]
        if kind in {"date", "time"}:
            low, high = min(places, default=0.0), max(places, default=_DAY)
            return cls(low, high if high > low else low + _DAY, "date")
        low, high = min(places, default=0.0), max(places, default=1.0)
        if zero is None:
            zero = min(abs(low), abs(high)) <= high - low
        low, high = (min(0.0, low), max(0.0, high)) if zero else (low, high)
        if not high > low:
            half = abs(low) / 2 or 1.0
            low, high = low - half, high + half
        return cls(low, high)

    def at(self, place: float) -> float:
        """The position of a place, from 0 to 1; places beyond an end are put at it."""
        if self.kind == "log":
            share = math.log(max(place, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = place / (self.high - self.low) - self.low / (self.high - self.low)
        return min(1.0, max(0.0, share))

    def written(self, place: float) -> str:
        """A place as text: a number or a date."""
        if self.kind != "date":
            return brief(place)
        moment = _moment(place)
        return _day(moment) if self.high - self.low >= _DAY else f"{moment:%H:%M:%S}"

    def ticks(self, most: int = 5) -> list[tuple[float, str]]:
        """Round values on the scale, about `most` of them, each with its label."""
        if self.kind == "date":
            return _date_ticks(self.low, self.high, most)
        if self.kind == "log":
            return _log_ticks(self.low, self.high, most)
        found: list[tuple[float, str]] = []
        for parts in (max(1, most - 1), 2 * most):  # finer if there would be only one
            step = _step((self.high - self.low) / parts)
            ends = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            found = [(each * step, brief(each * step, step)) for each in range(ends[0], ends[1] + 1)]
            if len(found) > 1:
                break
        return found


def finite(value: Value) -> float | None:
    """A value as a place on a scale; None if it has none. Dates are seconds since 1970."""
    if isinstance(value, dt.datetime):
        naive = value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
        return (naive - _EPOCH).total_seconds()
    if isinstance(value, dt.date):
        return (value.toordinal() - _EPOCH.toordinal()) * _DAY
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or math.isnan(value):
        return None
    return float(value) if -_FARTHEST < value < _FARTHEST else None


def brief(value: float, step: float | None = None) -> str:
    """A number at an axis: short, with as many places as the step to its neighbour has.

    >>> brief(1500000, 500000), brief(0.25, 0.05), brief(-1200, 400), brief(0.0, 1)
    ('1.5M', '0.25', '−1,200', '0')
    """
    size = abs(value)
    sign = "−" if value < 0 else ""
    if size >= 1e15 or 0 < size < 1e-4:
        return f"{sign}{size:.2g}"
    for bound, least, unit in ((1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e3, 1e5, "k")):
        if size >= least:
            return f"{sign}{size / bound:.4g}{unit}"
    if step is None:
        return f"{sign}{size:.3g}" if size < 100 else f"{sign}{size:,.0f}"
    return f"{sign}{size:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"


def _step(least: float) -> float:
    """The least of 1, 2 and 5 times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))


def _log_ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    inside: list[float] = []
    for factors in ((1, 2, 5), (1, 3), (1,)):
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        found = [factor * 10.0**power for power in powers for factor in factors]
        inside = [value for value in found if low * 0.999 <= value <= high * 1.001]
        if len(inside) <= most:
            break
    while len(inside) > most:
        inside = inside[::2]
    return [(value, brief(value)) for value in inside or [low, high]]


def _date_ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    start, end = _moment(low), _moment(high)
    found: list[dt.datetime] = []
    label: Callable[[dt.datetime], str] = _day
    for seconds in _SECONDS if high - low < _DAY else ():
        if (high - low) / seconds < most:
            first = dt.datetime(start.year, start.month, start.day)
            found = _every(first, start, end, dt.timedelta(seconds=seconds))
            return [
                ((each - _EPOCH).total_seconds(), f"{each:%H:%M}" + f":{each:%S}" * (seconds < 60)) for each in found
            ]
    for days in _DAYS:
        if (high - low) / _DAY / days < most:
            first = dt.datetime.combine(start.date(), dt.time())
            found = _every(first, start, end, dt.timedelta(days=days))
            break
    else:
        for months in _MONTH_STEPS:
            found = list(_every_month(start, end, months))
            label = _year if months >= 12 else _month
            if len(found) <= most:
                break
    return [((each - _EPOCH).total_seconds(), label(each)) for each in found[:most]]


def _every(first: dt.datetime, start: dt.datetime, end: dt.datetime, step: dt.timedelta) -> list[dt.datetime]:
    moment = first
    found = []
    while moment <= end:
        if moment >= start:
            found.append(moment)
        moment += step
    return found


def _every_month(start: dt.datetime, end: dt.datetime, step: int) -> Iterator[dt.datetime]:
    month = 12 * start.year + start.month - 1
    month -= month % step
    while month < 12 * 9999:
        if month >= 12:
            moment = dt.datetime(month // 12, month % 12 + 1, 1)
            if moment > end:
                return
            if moment >= start:
                yield moment
        month += step


def _moment(place: float) -> dt.datetime:
    return _EPOCH + dt.timedelta(seconds=place)


def _day(moment: dt.datetime) -> str:
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def _month(moment: dt.datetime) -> str:
    return f"{_MONTHS[moment.month - 1]} {moment.year}"


def _year(moment: dt.datetime) -> str:
    return str(moment.year)
