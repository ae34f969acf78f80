"""The three forms of a chart of intervals: along a time axis, along numbers, and one line for each category."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from giveortake.answers.text import printable
from giveortake.plot.rows import distinct, joined
from giveortake.plot.theme import COLOURS, DASHES, altair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.plot.rows import Rows

_INTERVAL, _VALUE, _BAND = "#888888", "#222222", "#bbbbbb"  # they differ in grey
_WIDTH = 460
_HEIGHT, TALLEST, _LINE = 260, 560, 22  # a screen has room for the tallest and its title
_FEW, _MANY = 12, 60
_NAMED = 40  # labels of categories
_THIN = 4  # pixels of a line
_MOST_APART, _APART = 6, 8  # lines whose bars are moved apart, and by how many pixels
_ARROW = 4  # pixels from the edge to the middle of an arrow
_WEEK = dt.timedelta(days=7)
_DAYS, _MONTHS, _YEARS = dt.timedelta(days=3), dt.timedelta(days=150), dt.timedelta(days=5 * 366)
_SMALL, _COLUMNS = 180, 3  # pixels of the width of a small chart, and how many are side by side
_LABELS = 220  # pixels of the longest label


@final
@dataclass(frozen=True, slots=True)
class _Axis:
    """The axis of the estimate: its channel, its edges in pixels, and the arrows there."""

    own: str
    low_edge: Any
    high_edge: Any
    low_arrow: str
    high_arrow: str
    stroke: str  # of a value, across its interval: it hides little of one, and no label beside it

    @property
    def other(self) -> str:
        return f"{self.own}2"


_ACROSS = _Axis("x", 0, "width", "triangle-left", "triangle-right", "M0,-1L0,1")
_UP = _Axis("y", "height", 0, "triangle-down", "triangle-up", "stroke")


class Form(ABC):
    """How the rows of an answer become marks."""

    axis: ClassVar[_Axis]
    rows: int

    @property
    def is_line(self) -> bool:
        """Whether a line joins neighbours."""
        return False

    @abstractmethod
    def labels(self, keys: Sequence[Any], rows: int) -> tuple[list[str], list[str]]:
        """For every row, the label of its place along the axis of keys, and of the line that it belongs to."""

    @abstractmethod
    def position(self, keys: Sequence[Any], row: int, label: str) -> Any:
        """Where a row is along the axis of keys; None if it has no place there."""

    @abstractmethod
    def heading(self, keys: Sequence[Any]) -> str:
        """The title of the axis of keys."""

    @abstractmethod
    def chart(self, rows: Rows) -> Any:
        """The chart of these rows."""

    def layers(self, base: Any, rows: Rows, *, width: float, size: float) -> Layers:
        """Intervals with both ends, points, and what is drawn only where an end is missing."""
        alt, axis = altair(), self.axis
        edges = {"low": alt.value(axis.low_edge), "high": alt.value(axis.high_edge)}
        low, high, value = (self.quantity(rows, end) for end in ("low", "high", "value"))
        ends = {
            "": {axis.own: low, axis.other: "high:Q"},
            "low": {axis.own: high, axis.other: edges["low"]},
            "high": {axis.own: low, axis.other: edges["high"]},
            "both": {axis.own: edges["low"], axis.other: edges["high"]},
        }
        rule = base.mark_rule(strokeWidth=width, color=_INTERVAL)
        bars = {kind: rule.transform_filter(f"datum.open === '{kind}'").encode(**both) for kind, both in ends.items()}
        kinds = {row["open"] for row in rows.values}
        arrows = []
        for end, arrow, inside in (("low", axis.low_arrow, _ARROW), ("high", axis.high_arrow, -_ARROW)):
            if kinds & {end, "both"}:
                offset = {f"{axis.own}Offset": inside if axis is _ACROSS else -inside}
                head = base.mark_point(filled=True, shape=arrow, size=70, color=_INTERVAL, opacity=1, **offset)
                with_one = head.transform_filter(f"datum.open === '{end}' || datum.open === 'both'")
                arrows.append(with_one.encode(**{axis.own: edges[end]}))
        dot = {"filled": True} if self.is_line else {"filled": False, "shape": axis.stroke, "strokeWidth": 2}
        point = base.mark_point(size=size, color=_VALUE, opacity=1, **dot)
        return Layers(
            bars[""],
            [bars[kind] for kind in ("low", "high", "both") if kind in kinds] + arrows,
            point.encode(**{axis.own: value}),
        )

    def quantity(self, rows: Rows, field: str) -> Any:
        """The axis of the estimate. It includes zero for counts, and for other numbers if zero is near."""
        alt = altair()
        channel = getattr(alt, self.axis.own.upper())
        scale = alt.Scale(zero=rows.has_zero)
        axis = alt.Axis(tickCount=6, labelOverlap=True)
        return channel(f"{field}:Q", title=printable(rows.name), scale=scale, axis=axis)


@final
@dataclass(frozen=True, slots=True)
class Layers:
    """What is drawn of the rows: intervals, those without an end with their arrows, and points."""

    closed: Any
    open: list[Any]
    points: Any


class _Along(Form):
    """Keys with an order and distances, along the horizontal axis; other keys are lines of their own."""

    axis = _UP
    place: int

    def labels(self, keys: Sequence[Any], rows: int) -> tuple[list[str], list[str]]:
        others = [key for number, key in enumerate(keys) if number != self.place]
        lines = [tuple(key[row] for key in others) for row in range(rows)]
        own = [keys[self.place][row] for row in range(rows)]
        return distinct([joined([each]) for each in own], own), distinct([joined(line) for line in lines], lines)

    def heading(self, keys: Sequence[Any]) -> str:
        return printable(keys[self.place].name)

    @abstractmethod
    def encoded(self, rows: Rows) -> Any:
        """The axis of keys."""

    def chart(self, rows: Rows) -> Any:
        alt = altair()
        several, many = len(rows.series) > 1, len(rows.series) > len(COLOURS)
        listed = rows.beside_each_other() if several and not many and not self.is_line else rows.values
        values = [row | _band(row) for row in listed if row["place"] is not None]
        base = alt.Chart(alt.Data(values=values)).encode(x=self.encoded(rows), tooltip=_tooltip(alt, rows))
        layers = self.layers(base, rows, width=2 if self.rows <= _MANY else 1, size=36 if self.is_line else 60)
        drawn = [layers.closed, *layers.open, layers.points]
        if self.is_line:
            area = base.mark_area(opacity=0.25 if several else 0.45, color=_BAND)
            band = area.encode(y=self.quantity(rows, "band_low"), y2="band_high:Q")
            line = base.mark_line(color=_VALUE, strokeWidth=1.5).encode(y=self.quantity(rows, "value"))
            alone = len({row["place"] for row in values}) == 1
            bars = self.rows <= _FEW and (alone or not several)  # else bars hide each other, and a band shows all
            points = [layers.points] if self.rows <= _MANY else []
            drawn = [
                band,
                line,
                *_apart([*([layers.closed] if bars else []), *layers.open, *(points if alone else [])], rows.series),
                *([] if alone else points),
            ]
        if many:
            return _facets(alt, alt.layer(*drawn), rows.series)
        if several:
            drawn = [_coloured(alt, layer, rows.series) for layer in drawn]
        return alt.layer(*drawn).properties(width=_WIDTH, height=_HEIGHT)


@final
@dataclass(frozen=True, slots=True)
class Times(_Along):
    """A line with a band on a time axis. Days and times without a zone mean the same day wherever they are read."""

    place: int
    rows: int

    def position(self, keys: Sequence[Any], row: int, label: str) -> Any:
        value = keys[self.place][row]
        if value is None:
            return None
        return f"{value.isoformat()}Z" if keys[self.place].kind == "time" else f"{value.isoformat()}T00:00:00Z"

    @property
    def is_line(self) -> bool:
        return True

    def encoded(self, rows: Rows) -> Any:
        alt = altair()
        span, whole_days = _span(rows)
        few = whole_days and dt.timedelta(0) < span <= _WEEK  # ticks between days would repeat their labels
        ticks: Any = alt.TimeIntervalStep("day", 1) if few else 6
        written = _written(span, whole_days=whole_days)
        axis = alt.Axis(labelOverlap=True, labelFlush=False, tickCount=ticks, format=written)
        return alt.X("place:T", title=rows.key, scale=alt.Scale(type="utc"), axis=axis)


def _span(rows: Rows) -> tuple[dt.timedelta, bool]:
    """How long a time axis is, and whether all its times are whole days."""
    found = [dt.datetime.fromisoformat(row["place"]) for row in rows.values if row["place"] is not None]
    span = max(found) - min(found) if found else dt.timedelta(0)
    return span, all(each.time() == dt.time(0) for each in found)


def _written(span: dt.timedelta, *, whole_days: bool) -> str:
    """The format of dates on an axis, as in other outputs, and as fine as the axis needs."""
    if span <= _DAYS and not whole_days:
        return "%m-%d %H:%M"
    return "%Y" if span > _YEARS else "%Y-%m" if span > _MONTHS else "%Y-%m-%d"


@final
@dataclass(frozen=True, slots=True)
class Numbers(_Along):
    """Points along numbers in their order; a line with a band where there are many."""

    place: int
    rows: int

    def position(self, keys: Sequence[Any], row: int, label: str) -> Any:
        value = keys[self.place][row]
        return None if value is None else float(value)

    @property
    def is_line(self) -> bool:
        return self.rows > _MANY

    def encoded(self, rows: Rows) -> Any:
        alt = altair()
        whole = all(row["place"] is None or row["place"] == int(row["place"]) for row in rows.values)
        years = "abs(datum.value) < 10000 ? '' + datum.value : datum.label"  # and other short numbers: no comma
        axis = alt.Axis(labelOverlap=True, labelExpr=years, **({"tickMinStep": 1} if whole else {}))
        return alt.X("place:Q", title=rows.key, scale=alt.Scale(zero=False, nice=False, padding=12), axis=axis)


@final
@dataclass(frozen=True, slots=True)
class Categories(Form):
    """One line for each category, the greatest value first; the lines come closer together where there are many."""

    axis = _ACROSS
    rows: int

    def labels(self, keys: Sequence[Any], rows: int) -> tuple[list[str], list[str]]:
        found = [tuple(key[row] for key in keys) for row in range(rows)]
        texts = [joined(each) for each in found]
        listed: list[object] = list(found) if keys else list(range(rows))
        return distinct(texts if keys else [str(row + 1) for row in range(rows)], listed), [""] * rows

    def position(self, keys: Sequence[Any], row: int, label: str) -> Any:
        return label

    def heading(self, keys: Sequence[Any]) -> str:
        return " · ".join(printable(key.name) for key in keys)

    def chart(self, rows: Rows) -> Any:
        alt = altair()
        step = min(_LINE, TALLEST / max(1, len(rows.order)))
        above = {"titleAngle": 0, "titleAlign": "right", "titleX": -4, "titleY": -8}
        named = rows.order[:: -(-len(rows.order) // _NAMED) or 1]
        axis = alt.Axis(values=named, labelLimit=_LABELS, labelPadding=6, ticks=False, **above) if rows.key else None
        base = alt.Chart(alt.Data(values=rows.values)).encode(
            y=alt.Y("place:N", scale=alt.Scale(domain=rows.order), title=rows.key or None, axis=axis),
            tooltip=_tooltip(alt, rows),
        )
        width = step if step < _THIN else min(4.0, step / 4)  # many intervals are one surface
        layers = self.layers(base, rows, width=width, size=max(4.0, min(60.0, 3 * step)))
        drawn = alt.layer(layers.closed, *layers.open, layers.points)
        return drawn.properties(width=_WIDTH, height=max(40, step * len(rows.order)))


def _facets(alt: Any, chart: Any, series: list[str]) -> Any:
    """A small chart for each line, on the same axes: there are too few colours for all."""
    own = alt.Facet("series:N", sort=series, title=None, header=alt.Header(labelLimit=_SMALL, labelAnchor="start"))
    return chart.properties(width=_SMALL, height=_SMALL // 2).facet(facet=own, columns=_COLUMNS)


def _apart(layers: list[Any], series: list[str]) -> list[Any]:
    """Draw the lines of each layer some pixels apart, where a few would hide each other at one place."""
    if not 1 < len(series) <= _MOST_APART:
        return layers
    found = []
    for layer in layers:
        for number, name in enumerate(series):
            own = layer.transform_filter(altair().datum.series == name)
            own.mark = own.mark.copy()
            own.mark.xOffset = _APART * (number - (len(series) - 1) / 2)
            found.append(own)
    return found


def _band(row: dict[str, Any]) -> dict[str, Any]:
    """The ends between which a band is drawn: none where one is missing, so that the band has a gap there."""
    whole = row["open"] == ""
    return {"band_low": row["low"] if whole else None, "band_high": row["high"] if whole else None}


def _tooltip(alt: Any, rows: Rows) -> list[Any]:
    return [
        alt.Tooltip("key:N", title=rows.key or "row"),
        alt.Tooltip("shown:N", title=printable(rows.name)),
    ]


def _coloured(alt: Any, layer: Any, series: list[str]) -> Any:
    """The same layer with a colour and a dash for each line; the legend has the order of the answer."""
    colours = [COLOURS[place % len(COLOURS)] for place in range(len(series))]
    legend = alt.Legend(
        title=None,
        symbolLimit=40,
        labelLimit=_LABELS,
        symbolType="stroke",
        symbolSize=400,
        symbolStrokeWidth=2,
        symbolOpacity=1,
    )
    colour = alt.Color("series:N", scale=alt.Scale(domain=series, range=colours), sort=series, legend=legend)
    if layer.mark.type != "line":
        return layer.encode(color=colour)
    dashes = [list(DASHES[(place // len(COLOURS) + place) % len(DASHES)]) for place in range(len(series))]
    dash = alt.StrokeDash("series:N", scale=alt.Scale(domain=series, range=dashes), sort=series, legend=legend)
    return layer.encode(color=colour, strokeDash=dash)
