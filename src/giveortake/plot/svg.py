"""Charts as SVG, written without any library, for pages that run no script.

- Pieces of HTML and SVG, built from names and numbers. Every text is escaped here, hidden characters included.
- Scales: where a value stands between the two ends of an axis, and which values are written at it.
- A chart with two axes that is as wide as its page: letters and lines keep their size, positions are shares.
- Intervals of an answer: a thin baseline, a pale bar for noise, a hatched one for truncation, a tick for the value.

All rows of a column stand on one scale. No number stands in a chart alone: a table with the same numbers is beside it.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from html import escape
from itertools import islice, pairwise, takewhile
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

from giveortake.answers.render import number_text, printable
from giveortake.exact import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from giveortake.answers.answer import Released
    from giveortake.answers.column import Column, Kind, Value


Attribute = str | int | float | bool | None


@final
class Markup(str):
    """HTML that was made here: templates put it into a page as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def tag(name: str, *content: object, **attributes: Attribute) -> Markup:
    """An element. Content that is no `Markup` is text; attributes that are None or False are left out.

    >>> print(tag("b", "a < b", title='"x"', x1=1.25, class_="note"))
    <b title="&quot;x&quot;" x1="1.25" class="note">a &lt; b</b>
    """
    attribute_text = "".join(_attribute(key, value) for key, value in attributes.items())
    return Markup(f"<{name}{attribute_text}>{joined(*content)}</{name}>")


def joined(*content: object) -> Markup:
    """Elements and texts, one after the other."""
    return Markup("".join(str(part) if isinstance(part, Markup) else text(part) for part in content))


def text(words: object) -> Markup:
    """A text, escaped for a page."""
    return Markup(escape(printable(str(words))))


def percent(share: float) -> str:
    """A place or a length in percent of the whole."""
    return f"{number(100 * share)}%"


def number(value: float) -> str:
    """A coordinate: no more digits than a screen can show.

    >>> number(33.33333), number(20.0), number(-0.001)
    ('33.33', '20', '0')
    """
    digits = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if digits == "-0" else digits


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f' {name}=""'
    return f' {name}="{number(value) if isinstance(value, float) else text(value)}"'


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
        coordinates = [coordinate for value in values if (coordinate := finite(value)) is not None]
        if kind in {"date", "time"}:
            low, high = min(coordinates, default=0.0), max(coordinates, default=_DAY)
            return cls(low, high if high > low else low + _DAY, "date")
        low, high = min(coordinates, default=0.0), max(coordinates, default=1.0)
        if zero is None:
            zero = min(abs(low), abs(high)) <= high - low
        low, high = (min(0.0, low), max(0.0, high)) if zero else (low, high)
        if not high > low:
            half = abs(low) / 2 or 1.0
            low, high = low - half, high + half
        return cls(low, high)

    def at(self, value: float) -> float:
        """The position of a place, from 0 to 1; places beyond an end are put at it."""
        if self.kind == "log":
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = value / (self.high - self.low) - self.low / (self.high - self.low)
        return min(1.0, max(0.0, share))

    def label(self, value: float) -> str:
        """A place as text: a number or a date."""
        if self.kind != "date":
            return brief(value)
        moment = _moment(value)
        return _day(moment) if self.high - self.low >= _DAY else f"{moment:%H:%M:%S}"

    def ticks(self, most: int = 5) -> list[tuple[float, str]]:
        """Round values on the scale, about `most` of them, each with its label."""
        if self.kind == "date":
            return _date_ticks(self.low, self.high, most)
        if self.kind == "log":
            return _log_ticks(self.low, self.high, most)
        ticks: list[tuple[float, str]] = []
        for parts in (max(1, most - 1), 2 * most):  # finer if there would be only one
            step = _step((self.high - self.low) / parts)
            ends = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            ticks = [(multiple * step, brief(multiple * step, step)) for multiple in range(ends[0], ends[1] + 1)]
            if len(ticks) > 1:
                break
        return ticks


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
        candidates = [factor * 10.0**power for power in powers for factor in factors]
        inside = [value for value in candidates if low * 0.999 <= value <= high * 1.001]
        if len(inside) <= most:
            break
    while len(inside) > most:
        inside = inside[::2]
    return [(value, brief(value)) for value in inside or [low, high]]


def _date_ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    start, end = _moment(low), _moment(high)
    moments: list[dt.datetime] = []
    label: Callable[[dt.datetime], str] = _day
    for seconds in _SECONDS if high - low < _DAY else ():
        if (high - low) / seconds < most:
            first = dt.datetime(start.year, start.month, start.day)
            moments = _every(first, start, end, dt.timedelta(seconds=seconds))
            return [
                ((moment - _EPOCH).total_seconds(), f"{moment:%H:%M}" + f":{moment:%S}" * (seconds < 60))
                for moment in moments
            ]
    for days in _DAYS:
        if (high - low) / _DAY / days < most:
            first = dt.datetime.combine(start.date(), dt.time())
            moments = _every(first, start, end, dt.timedelta(days=days))
            break
    else:
        for months in _MONTH_STEPS:
            moments = list(_every_month(start, end, months))
            label = _year if months >= 12 else _month
            if len(moments) <= most:
                break
    return [((moment - _EPOCH).total_seconds(), label(moment)) for moment in moments[:most]]


def _every(first: dt.datetime, start: dt.datetime, end: dt.datetime, step: dt.timedelta) -> list[dt.datetime]:
    moment = first
    moments = []
    while moment <= end:
        if moment >= start:
            moments.append(moment)
        moment += step
    return moments


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


def _moment(seconds: float) -> dt.datetime:
    return _EPOCH + dt.timedelta(seconds=seconds)


def _day(moment: dt.datetime) -> str:
    return f"{moment.day} {_MONTHS[moment.month - 1]} {moment.year}"


def _month(moment: dt.datetime) -> str:
    return f"{_MONTHS[moment.month - 1]} {moment.year}"


def _year(moment: dt.datetime) -> str:
    return str(moment.year)


_TOP, _BOTTOM = 22, 26  # what titles and ticks take, in pixels
_RIGHT = 0.03  # what is free at the right, as a share of the width


@final
@dataclass(frozen=True, slots=True)
class Plane:
    """Two scales, and how high the chart is in pixels. Paths are drawn in thousandths of the plane."""

    x: Scale
    y: Scale
    height: int = 200
    left: float = 0.15  # what ticks take at the left, as a share of the width

    def path(self, d: str, **attributes: Attribute) -> Markup:
        """A path in thousandths: its strokes keep their width."""
        line = tag("path", d=d, vector_effect="non-scaling-stroke", **attributes)
        return tag("svg", line, viewBox="0 0 1000 1000", preserveAspectRatio="none", overflow="visible")

    def line(self, points: Iterable[tuple[float, float]], **attributes: Attribute) -> Markup:
        """Straight lines from place to place."""
        corners = [f"{number(1000 * self.x.at(x))} {number(1000 * (1 - self.y.at(y)))}" for x, y in points]
        return self.path("M" + "L".join(corners), **attributes)

    def band(self, points: Iterable[tuple[float, float, float]], **attributes: Attribute) -> Markup:
        """What lies between two lines over the same places: place, low, high."""
        rows = list(points)
        lower = [(x, low) for x, low, _ in rows]
        upper = [(x, high) for x, _, high in reversed(rows)]
        corners = [f"{number(1000 * self.x.at(x))} {number(1000 * (1 - self.y.at(y)))}" for x, y in lower + upper]
        return self.path("M" + "L".join(corners) + "Z", **attributes)

    def mark(self, x: float, y: float, d: str, class_: str = "arrow") -> Markup:
        """A small shape at shares of the plane, from the left and from the top; it is not stretched."""
        return tag("svg", tag("path", d=d, class_=class_), x=percent(x), y=percent(y), overflow="visible")

    def chart(
        self,
        *content: Markup,
        label: str,
        title: str,
        x_title: str = "",
        x_ticks: Iterable[tuple[float, str]] | None = None,
        y_ticks: Iterable[tuple[float, str]] | None = None,
        **attributes: Attribute,
    ) -> Markup:
        """The whole chart: axes with their ticks, the content, and a label for screen readers."""
        inner = self.height - _TOP - _BOTTOM - (16 if x_title else 0)
        across = [
            tag("text", tick_label, x=percent(self.x.at(value)), y=inner + 17, class_=_anchor(self.x.at(value)))
            for value, tick_label in (self.x.ticks(5) if x_ticks is None else x_ticks)
        ]
        up = []
        for value, tick_label in self.y.ticks(4) if y_ticks is None else y_ticks:
            at = percent(1 - self.y.at(value))
            up.append(tag("line", x1="0", x2="100%", y1=at, y2=at, class_="grid"))
            up.append(tag("text", tick_label, x=-7, y=at, dy="0.35em", class_="tick end"))
        frame = tag("line", x1="0", x2="100%", y1="100%", y2="100%", class_="axis")
        plane = tag(
            "svg",
            *up,
            frame,
            *content,
            *across,
            class_="plane",
            x=percent(self.left),
            y=_TOP,
            width=percent(1 - self.left - _RIGHT),
            height=inner,
            overflow="visible",
        )
        named = tag("text", title, x=percent(self.left), y=12, class_="tick")
        below = [tag("text", x_title, x=percent(1 - _RIGHT), y=self.height - 6, class_="tick end")] if x_title else []
        return tag(
            "svg",
            named,
            *below,
            plane,
            class_="chart",
            width="100%",
            height=self.height,
            role="img",
            aria_label=label,
            **attributes,
        )


def _anchor(share: float) -> str:
    """The class of a tick's text, by which a text at the right end stays inside."""
    return "tick end" if share > 0.97 else "tick middle"


MOST_ROWS = 200  # of a table with bars
MOST_POINTS = 2000  # of a chart by date or number
MOST_PANELS = 4
_MOST_APART = 60  # places in time that are drawn each by itself; more become a line and a band
_MOST_ARROWS = 30  # open ones of a chart
_HEIGHT = 18
_ORDERED = frozenset({"date", "time", "integer", "float", "decimal"})


@final
@dataclass(frozen=True, slots=True)
class Bars:
    """One estimate as a column of bars: a bar for each row, and the labels at the two ends of their scale."""

    left: str
    right: str
    rows: tuple[Markup, ...]


def bars(column: Column, most: int = MOST_ROWS) -> Bars:
    """The intervals of one estimate, row by row. Where an end is missing the bar runs to the edge, with an arrow."""
    scale = scale_of(column)
    drawn = [_bar(row, scale, column.open_sides) for row in islice(_rows(column), most)]
    return Bars(_end(scale, scale.low), _end(scale, scale.high), tuple(drawn))


def scale_of(column: Column) -> Scale:
    """The one scale of a column; counts begin at zero, other numbers where zero is near."""
    ends = [end for row in column.triples() for end in row]
    return Scale.over(ends, column.kind, zero=True if column.kind == "integer" else None)


def figure(answer: Released) -> Markup | None:
    """A chart of the first estimate by date or number, if a key has an order of its own; None if bars say it all.

    Other keys make panels. Of very many rows or panels the first are drawn, and a note says how many.
    """
    keys = list(takewhile(lambda column: not column.has_interval, answer.columns))  # columns made of estimates follow
    estimate = next((column for column in answer.columns if column.has_interval), None)
    along = next((key for key in keys if key.kind in _ORDERED), None)
    if estimate is None or along is None or sum(value is not None for value in along) < 3:
        return None
    other_keys = [key for key in keys if key is not along]
    panels = _panels(along, other_keys, estimate)
    x = Scale.over(along, along.kind, zero=False)
    inside = [index for index, key in enumerate(along) if key is not None]
    y = scale_of(estimate.selected(inside) if inside else estimate)
    drawn = [
        _panel(name, rows, Plane(x, y, height=150 if other_keys else 210), (estimate, along.name))
        for name, rows in islice(panels.items(), MOST_PANELS)
    ]
    left = len(panels) - len(drawn)
    without = sum(value is None for value in along)
    points = max(len(rows) for rows in panels.values())
    notes = [f"{left:,} more are in the table"] * (left > 0)
    notes += [f"not drawn: {counted(without, 'group')} without {along.name}"] * (without > 0)
    notes += [f"the first {MOST_POINTS:,} of {points:,} are drawn"] * (points > MOST_POINTS)
    return joined(*drawn, *(tag("p", note, class_="note") for note in notes))


Row: TypeAlias = "tuple[Value, Value, Value, Value, Value]"


def _rows(column: Column) -> Iterator[Row]:
    """Value, low and high of each row, and the ends of the part for noise."""
    for row, noise in zip(column.triples(), column.noise_ends(), strict=True):
        yield *row, *noise


def _bar(row: Row, scale: Scale, open_sides: tuple[bool, bool]) -> Markup:
    base = tag("line", class_="base", x1="0", x2="100%", y1=_HEIGHT / 2, y2=_HEIGHT / 2)
    parts = [base, *_interval(row, scale, open_sides)]
    return tag("svg", *parts, class_="interval", width="100%", height=_HEIGHT, aria_hidden="true", focusable="false")


def _interval(row: Row, scale: Scale, open_sides: tuple[bool, bool]) -> Iterator[Markup]:
    """What noise covers is solid, what truncation adds is hatched.

    An arrow at the edge means that an end is missing, and an open one at an end that truncation may go further.
    """
    value, low, high, noise_low, noise_high = row
    middle_line = _HEIGHT // 2
    if low is not None and high is not None and not _is_nan(low) and not _is_nan(high):
        left, inner_left = (_share(below, scale, 0.0) for below in (low, noise_low))
        right, inner_right = (_share(above, scale, 1.0) for above in (high, noise_high))
        for start, end in ((left, inner_left), (inner_right, right)):
            if end > start:
                across = {"x1": percent(start), "x2": percent(end)}
                yield tag("line", class_="truncation", **across, y1=middle_line, y2=middle_line)
        width = percent(inner_right - inner_left)
        yield tag("rect", class_="range", x=percent(inner_left), y=middle_line - 4, width=width, height=8, rx=2)
        if finite(low) is None:
            yield _arrow("0", f"M0 {middle_line}l7-5v10z")
        if finite(high) is None:
            yield _arrow("100%", f"M0 {middle_line}l-7-5v10z")
        if open_sides[0]:
            yield _arrow(percent(left), f"M-1 {middle_line - 5}l-5 5 5 5", "open")
        if open_sides[1]:
            yield _arrow(percent(right), f"M1 {middle_line - 5}l5 5-5 5", "open")
    if (middle := finite(value)) is not None:
        at = percent(scale.at(middle))
        yield tag("line", class_="value", x1=at, x2=at, y1=2, y2=_HEIGHT - 2)


def _share(end: Value, scale: Scale, edge: float) -> float:
    """Where an end is on a scale; a missing one is at the edge."""
    return edge if (known := finite(end)) is None else scale.at(known)


def _arrow(x: str, path: str, class_: str = "arrow") -> Markup:
    return tag("svg", tag("path", d=path, class_=class_), x=x, overflow="visible")


def _is_nan(value: Value) -> bool:
    return value != value  # noqa: PLR0124 (what only such a number does)


def _end(scale: Scale, value: float) -> str:
    """The label at an end of a scale of bars."""
    if scale.kind == "date":
        return scale.label(value)
    return number_text(int(value)) if value == int(value) and abs(value) < 1e15 else number_text(float(f"{value:.4g}"))


def _panels(along: Column, other_keys: Sequence[Column], estimate: Column) -> dict[str, list[tuple[Any, ...]]]:
    """The rows by their other keys, in the order of the answer; each row begins with its place."""
    panels: dict[str, list[tuple[Any, ...]]] = {}
    names = list(zip(*other_keys, strict=True)) if other_keys else [()] * len(estimate)
    for name, key, row in zip(names, along, _rows(estimate), strict=True):
        panels.setdefault(" · ".join(map(number_text, name)), []).append((finite(key), *row))
    return panels


def _panel(name: str, rows: Sequence[tuple[Any, ...]], plane: Plane, columns: tuple[Column, str]) -> Markup:
    """One chart: a pale bar from end to end at each place, and a dark tick at the value; a line of many days."""
    drawn = sorted((row for row in rows[:MOST_POINTS] if row[0] is not None), key=lambda row: row[0])
    estimate, along = columns
    is_line = plane.x.kind == "date" and len(drawn) > _MOST_APART
    runs = _runs(drawn) if is_line else [[row] for row in drawn]
    lines: list[list[tuple[Any, ...]]] = [[tuple(map(finite, row)) for row in run] for run in runs if len(run) > 1]
    is_truncated = estimate.noise is not None
    inside = [
        *(plane.band([(row[0], row[2], row[3]) for row in run], class_="band pale") for run in lines if is_truncated),
        *(plane.band([(row[0], row[4], row[5]) for row in run], class_="band") for run in lines),
        *(plane.line([(row[0], row[1]) for row in run], class_="line thin") for run in lines),
        *_apart([run[0] for run in runs if len(run) == 1], plane, len(drawn), estimate.open_sides),
        *(_open_ends([row for run in lines for row in run], plane, estimate.open_sides)),
    ]
    description = f"{estimate.name} by {along}{f', {name}' if name else ''}; the table has the numbers"
    whole = [(position, str(int(position))) for position, _ in plane.x.ticks(5) if position == int(position)]
    ticks_along = None if plane.x.kind == "date" or len(whole) < 2 else whole  # keys: years, numbers of something
    return plane.chart(
        *inside, label=description, x_ticks=ticks_along, title=f"{estimate.name}{f' · {name}' if name else ''}"
    )


def _runs(rows: Sequence[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
    """Rows that a line may join: neighbours in time, none missing between them, each with a value and both ends."""
    step = min((after[0] - before[0] for before, after in pairwise(rows)), default=0.0)
    runs: list[list[tuple[Any, ...]]] = []
    for row in rows:
        near = bool(runs) and row[0] - runs[-1][-1][0] <= 1.5 * step  # months are of 28 to 31 days
        if near and all(finite(value) is not None for value in (*runs[-1][-1], *row)):
            runs[-1].append(row)
        else:
            runs.append([row])
    return runs


def _apart(rows: Sequence[tuple[Any, ...]], plane: Plane, count: int, open_sides: tuple[bool, bool]) -> list[Markup]:
    """Draw each row by itself, narrow enough for so many places."""
    half = min(6.0, 380 / max(1, count))  # of a tick, in thousandths of the width
    ranges, hatched, ticks, arrows, bounded = [], [], [], [], []
    for row in rows:
        position, value, low, high, noise_low, noise_high = row
        at = 1000 * plane.x.at(position)
        middle = finite(value)
        if low is not None and high is not None and not _is_nan(low) and not _is_nan(high):
            bottom, inner_bottom = (1000 * (1 - _share(below, plane.y, 0.0)) for below in (low, noise_low))
            top, inner_top = (1000 * (1 - _share(above, plane.y, 1.0)) for above in (high, noise_high))
            ranges.append(f"M{number(at)} {number(inner_bottom)}V{number(inner_top)}")
            hatched += [f"M{number(at)} {number(inner_top)}V{number(top)}"] * (top < inner_top)
            hatched += [f"M{number(at)} {number(inner_bottom)}V{number(bottom)}"] * (bottom > inner_bottom)
            arrows += [plane.mark(at / 1000, 0.0, "M0 0l-4 6h8z")] * (finite(high) is None)
            arrows += [plane.mark(at / 1000, 1.0, "M0 0l-4-6h8z")] * (finite(low) is None)
            bounded.append(row)
        if middle is not None:
            ticks.append(f"M{number(at - half)} {number(1000 * (1 - plane.y.at(middle)))}h{number(2 * half)}")
    wide = max(1.5, min(8.0, 300 / max(1, count)))
    return [
        *([plane.path("".join(hatched), class_="truncation", stroke_width=wide)] if hatched else []),
        plane.path("".join(ranges), class_="range", stroke_width=wide),
        plane.path("".join(ticks), class_="value"),
        *arrows[:MOST_ROWS],
        *_open_ends(bounded, plane, open_sides),
    ]


def _open_ends(rows: Sequence[tuple[Any, ...]], plane: Plane, open_sides: tuple[bool, bool]) -> list[Markup]:
    """Open arrows at the finite ends of these rows beyond which truncation may go, at some of very many."""
    some = rows[:: -(-len(rows) // _MOST_ARROWS) or 1]
    marks: list[Markup] = []
    for is_open, end, path in zip(open_sides, (2, 3), ("M-4 1l4 5 4-5", "M-4-1l4-5 4 5"), strict=True):
        marks += [
            plane.mark(plane.x.at(row[0]), 1 - plane.y.at(known), path, "open")
            for row in (some if is_open else ())
            if (known := finite(row[end])) is not None
        ]
    return marks
