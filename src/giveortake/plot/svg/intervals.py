"""Intervals of an answer as SVG: a thin baseline, a pale bar for the interval, a dark tick for the value.

All rows of a column stand on one scale. Places are shares of the width, so that a chart is as wide as its page and its
letters keep their size. No number stands in a chart alone: a table with the same numbers is beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, pairwise, takewhile
from typing import TYPE_CHECKING, Any, final

from giveortake.answers.column import Column
from giveortake.answers.text import number_text
from giveortake.exact import counted
from giveortake.plot.svg.markup import Markup, joined, number, percent, tag
from giveortake.plot.svg.plane import Plane
from giveortake.plot.svg.scales import Scale, finite

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from giveortake.answers.answer import Released
    from giveortake.answers.column import Value

MOST_ROWS = 200  # of a table with bars
MOST_POINTS = 2000  # of a chart by date or number
MOST_PANELS = 4
_MOST_APART = 60  # places in time that are drawn each by itself; more become a line and a band
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
    drawn = [_bar(row, scale) for row in islice(column.triples(), most)]
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
    others = [key for key in keys if key is not along]
    panels = _panels(along, others, estimate)
    x = Scale.over(along, along.kind, zero=False)
    inside = [row for key, row in zip(along, estimate.triples(), strict=True) if key is not None]
    y = scale_of(
        Column(estimate.name, *map(list, zip(*inside, strict=True)), kind=estimate.kind) if inside else estimate
    )
    drawn = [
        _panel(name, rows, Plane(x, y, height=150 if others else 210), (estimate.name, along.name))
        for name, rows in islice(panels.items(), MOST_PANELS)
    ]
    left = len(panels) - len(drawn)
    without = sum(value is None for value in along)
    points = max(len(rows) for rows in panels.values())
    notes = [f"{left:,} more are in the table"] * (left > 0)
    notes += [f"not drawn: {counted(without, 'group')} without {along.name}"] * (without > 0)
    notes += [f"the first {MOST_POINTS:,} of {points:,} are drawn"] * (points > MOST_POINTS)
    return joined(*drawn, *(tag("p", note, class_="note") for note in notes))


def _bar(row: tuple[Value, Value, Value], scale: Scale) -> Markup:
    value, low, high = row
    base = tag("line", class_="base", x1="0", x2="100%", y1=_HEIGHT / 2, y2=_HEIGHT / 2)
    parts = [base, *_interval(value, low, high, scale)]
    return tag("svg", *parts, class_="interval", width="100%", height=_HEIGHT, aria_hidden="true", focusable="false")


def _interval(value: Value, low: Value, high: Value, scale: Scale) -> Iterator[Markup]:
    if low is not None and high is not None and not _is_nan(low) and not _is_nan(high):
        below, above = finite(low), finite(high)
        left = 0.0 if below is None else scale.at(below)
        right = 1.0 if above is None else scale.at(above)
        yield tag(
            "rect", class_="range", x=percent(left), y=_HEIGHT / 2 - 4, width=percent(right - left), height=8, rx=2
        )
        if below is None:
            yield _arrow("0", f"M0 {_HEIGHT // 2}l7-5v10z")
        if above is None:
            yield _arrow("100%", f"M0 {_HEIGHT // 2}l-7-5v10z")
    if (place := finite(value)) is not None:
        at = percent(scale.at(place))
        yield tag("line", class_="value", x1=at, x2=at, y1=2, y2=_HEIGHT - 2)


def _arrow(x: str, path: str) -> Markup:
    return tag("svg", tag("path", d=path, class_="arrow"), x=x, overflow="visible")


def _is_nan(value: Value) -> bool:
    return value != value  # noqa: PLR0124 (what only such a number does)


def _end(scale: Scale, place: float) -> str:
    """The label at an end of a scale of bars."""
    if scale.kind == "date":
        return scale.written(place)
    return number_text(int(place)) if place == int(place) and abs(place) < 1e15 else number_text(float(f"{place:.4g}"))


def _panels(along: Column, others: Sequence[Column], estimate: Column) -> dict[str, list[tuple[Any, ...]]]:
    """The rows by their other keys, in the order of the answer; each row begins with its place."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    names = list(zip(*others, strict=True)) if others else [()] * len(estimate)
    for name, key, row in zip(names, along, estimate.triples(), strict=True):
        found.setdefault(" · ".join(map(number_text, name)), []).append((finite(key), *row))
    return found


def _panel(name: str, rows: Sequence[tuple[Any, ...]], plane: Plane, names: tuple[str, str]) -> Markup:
    """One chart: a pale bar from end to end at each place, and a dark tick at the value; a line of many days."""
    drawn = sorted((row for row in rows[:MOST_POINTS] if row[0] is not None), key=lambda row: row[0])
    estimate, along = names
    is_line = plane.x.kind == "date" and len(drawn) > _MOST_APART
    runs = _runs(drawn) if is_line else [[row] for row in drawn]
    lines: list[list[tuple[Any, ...]]] = [[tuple(map(finite, row)) for row in run] for run in runs if len(run) > 1]
    inside = [
        *(plane.band([(place, low, high) for place, _, low, high in run], class_="band") for run in lines),
        *(plane.line([(place, value) for place, value, _, _ in run], class_="line thin") for run in lines),
        *_apart([run[0] for run in runs if len(run) == 1], plane, len(drawn)),
    ]
    said = f"{estimate} by {along}{f', {name}' if name else ''}; the table has the numbers"
    whole = [(place, str(int(place))) for place, _ in plane.x.ticks(5) if place == int(place)]
    ticks_along = None if plane.x.kind == "date" or len(whole) < 2 else whole  # keys: years, numbers of something
    return plane.chart(*inside, label=said, x_ticks=ticks_along, title=f"{estimate}{f' · {name}' if name else ''}")


def _runs(rows: Sequence[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
    """Rows that a line may join: neighbours in time, none missing between them, each with a value and both ends."""
    step = min((after[0] - before[0] for before, after in pairwise(rows)), default=0.0)
    found: list[list[tuple[Any, ...]]] = []
    for row in rows:
        near = bool(found) and row[0] - found[-1][-1][0] <= 1.5 * step  # months are of 28 to 31 days
        if near and all(finite(each) is not None for each in (*found[-1][-1], *row)):
            found[-1].append(row)
        else:
            found.append([row])
    return found


def _apart(rows: Sequence[tuple[Any, ...]], plane: Plane, places: int) -> list[Markup]:
    """Draw each row by itself, narrow enough for so many places."""
    half = min(6.0, 380 / max(1, places))  # of a tick, in thousandths of the width
    ranges, ticks, arrows = [], [], []
    for place, value, low, high in rows:
        at = 1000 * plane.x.at(place)
        middle = finite(value)
        if low is not None and high is not None and not _is_nan(low) and not _is_nan(high):
            below, above = finite(low), finite(high)
            bottom = 1000.0 if below is None else 1000 * (1 - plane.y.at(below))
            top = 0.0 if above is None else 1000 * (1 - plane.y.at(above))
            ranges.append(f"M{number(at)} {number(bottom)}V{number(top)}")
            arrows += [plane.mark(at / 1000, 0.0, "M0 0l-4 6h8z")] * (above is None)
            arrows += [plane.mark(at / 1000, 1.0, "M0 0l-4-6h8z")] * (below is None)
        if middle is not None:
            ticks.append(f"M{number(at - half)} {number(1000 * (1 - plane.y.at(middle)))}h{number(2 * half)}")
    wide = max(1.5, min(8.0, 300 / max(1, places)))
    return [
        plane.path("".join(ranges), class_="range", stroke_width=wide),
        plane.path("".join(ticks), class_="value"),
        *arrows[:MOST_ROWS],
    ]
