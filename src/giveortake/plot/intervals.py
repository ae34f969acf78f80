"""Charts of estimates with intervals, and of the shapes of additive models.

- The rows of a chart: finite numbers and texts, with a mark on intervals without an end.
- Its three forms: along a time axis, along numbers, and one line for each category; the keys of an answer decide.
- The shapes of an additive model: what each bin of each feature adds, with a band.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from itertools import pairwise, takewhile
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal, final

from giveortake.answers.answer import Released
from giveortake.answers.render import (
    caps_of,
    facts,
    is_interval,
    legend,
    notes,
    number_text,
    printable,
    shown_cells,
    with_beyond,
)
from giveortake.errors import HIDDEN, InvalidParameter
from giveortake.exact import counted
from giveortake.plot.theme import COLOURS, DASHES, altair, shown_as_svg, without_tags

if TYPE_CHECKING:
    from collections.abc import Sequence


@final
@dataclass(frozen=True, slots=True)
class Rows:
    """One estimate by its keys. `order` and `series` are the labels of places and lines in the order of the chart."""

    name: str
    key: str
    values: list[dict[str, Any]]
    order: list[str]
    series: list[str]
    whole: bool = False
    open_sides: tuple[bool, bool] = (False, False)

    @classmethod
    def from_column(cls, form: Form, keys: Sequence[Any], column: Any, first: Any) -> Rows:
        """The rows of a column. The first estimate of an answer orders all of them, so that charts can be compared."""
        labels, series = form.labels(keys, len(column))
        sizes = [_number(value) for value in first]
        values = []
        texts = [f"{text} {with_beyond(*margins)}".rstrip() for text, *margins in shown_cells(column, len(column))]
        for row, ((value, *whole), noise) in enumerate(zip(column.triples(), column.noise_ends(), strict=True)):
            ends = dict(zip(("low", "high", "noise_low", "noise_high"), map(_number, (*whole, *noise)), strict=True))
            values.append(
                {
                    "place": form.position(keys, row, labels[row]),
                    "series": series[row],
                    "key": " · ".join(filter(None, (labels[row], series[row]))),
                    "value": _number(value),
                    **ends,
                    "open": _open(*noise),
                    "truncated": "none" if whole == list(noise) else _open(*whole),
                    "arrow": row % (-(-len(column) // _MOST_ARROWS)) == 0 or not form.is_line,
                    "shown": texts[row],
                }
            )
        return cls(
            column.name,
            form.heading(keys),
            values,
            _ordered(labels, sizes),
            list(dict.fromkeys(series)),
            whole=column.kind == "integer",
            open_sides=column.open_sides,
        )

    @property
    def has_zero(self) -> bool:
        """Whether the axis includes zero: for counts, and where zero is near; one interval alone fills the axis."""
        return len(self.values) > 1 and (self.whole or self.is_near_zero)

    def beside_each_other(self) -> list[dict[str, Any]]:
        """The values, with points of different lines at one number moved apart by less than the least distance."""
        places = sorted({row["place"] for row in self.values if row["place"] is not None})
        least = min((after - before for before, after in pairwise(places)), default=1.0)
        step = 0.5 * least / len(self.series)
        middle = (len(self.series) - 1) / 2
        moved = {name: (number - middle) * step for number, name in enumerate(self.series)}
        return [
            row if row["place"] is None else row | {"place": row["place"] + moved[row["series"]]} for row in self.values
        ]

    @property
    def is_near_zero(self) -> bool:
        """Whether an axis that includes zero is at most twice as long as one that does not."""
        drawn = [row for row in self.values if row["place"] is not None]
        ends = [row[end] for row in drawn for end in ("value", "low", "high") if row[end] is not None]
        return not ends or min(map(abs, (min(ends), max(ends)))) <= max(ends) - min(ends)

    def apart(self) -> list[str]:
        """The rows that have no place on an axis, in words."""
        return [
            f"without {self.key}{', ' * bool(row['series'])}{row['series']}: {printable(self.name)} {row['shown']}"
            for row in self.values
            if row["place"] is None
        ]


def keys_of(columns: Sequence[Any]) -> list[Any]:
    """The key columns, without columns that are computed from estimates, such as ranks and `n_consistent`."""
    before = list(takewhile(lambda column: not column.has_interval, columns))
    computed = {f"{column.name}_consistent" for column in columns if column.has_interval}
    return before or [column for column in columns if not column.has_interval and column.name not in computed]


def distinct(labels: Sequence[str], keys: Sequence[object]) -> list[str]:
    """Labels in which different keys never look the same, since rows of one label would be drawn as one.

    >>> distinct(["–", "–", "a"], [None, "–", "a"])
    ['–', '– (2)', 'a']
    """
    labels_by_key: dict[object, str] = {}
    taken: set[str] = set()
    for label, key in zip(labels, keys, strict=True):
        if key not in labels_by_key:
            candidate, number = label, 1
            while candidate in taken:
                number += 1
                candidate = f"{label} ({number})"
            labels_by_key[key] = candidate
            taken.add(candidate)
    return [labels_by_key[key] for key in keys]


def joined(values: Sequence[Any]) -> str:
    """Keys as one label."""
    return " · ".join(_label(value) for value in values)


def _label(value: Any) -> str:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else number_text(value)


def _ordered(labels: Sequence[str], sizes: Sequence[float | None]) -> list[str]:
    """Places by the greatest value at each, the greatest first; places without a value come last."""
    greatest: dict[str, float] = {}
    for label, size in zip(labels, sizes, strict=True):
        greatest[label] = max(greatest.get(label, -math.inf), -math.inf if size is None else size)
    return sorted(greatest, key=lambda label: -greatest[label])


def _number(value: Any) -> float | None:
    if value is None or isinstance(value, str | dt.date):
        return None
    return float(value) if math.isfinite(value) else None


def _open(low: Any, high: Any) -> str:
    """Which ends of an interval are missing; "none" if there is no interval."""
    if not is_interval(low, high):
        return "none"
    below, above = _number(low) is None, _number(high) is None
    return "both" if below and above else "low" if below else "high" if above else ""


_INTERVAL, _VALUE, _BAND = "#888888", "#222222", "#bbbbbb"  # they differ in grey
_HATCHED = [1.5, 2]  # pixels that are drawn, and left out, of a bar for truncation
_WIDTH = 460
_HEIGHT, TALLEST, _LINE = 260, 560, 22  # a screen has room for the tallest and its title
_FEW, _MANY = 12, 60
_NAMED = 40  # labels of categories
_THIN = 4  # pixels of a line
_MOST_APART, _APART = 6, 8  # lines whose bars are moved apart, and by how many pixels
_ARROW = 4  # pixels from the edge to the middle of an arrow
_MOST_ARROWS = 30  # open ones along a line
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


@final
@dataclass(frozen=True, slots=True)
class Form:
    """How the rows of an answer become marks: along times, along numbers, or one line for each category.

    Times are a line with a band, numbers points, or such a line where there are many; other keys are lines of their
    own. Days and times without a zone mean the same day wherever they are read. Categories come the greatest first; the
    lines come closer together where there are many.
    """

    kind: Literal["time", "number", "category"]
    rows: int
    key_index: int = 0  # of the key along the axis

    @property
    def axis(self) -> _Axis:
        """The axis of the estimate."""
        return _ACROSS if self.kind == "category" else _UP

    @property
    def is_line(self) -> bool:
        """Whether a line joins neighbours."""
        return self.kind == "time" or (self.kind == "number" and self.rows > _MANY)

    def labels(self, keys: Sequence[Any], rows: int) -> tuple[list[str], list[str]]:
        """For every row, the label of its place along the axis of keys, and of the line that it belongs to."""
        if self.kind == "category":
            key_rows = [tuple(key[row] for key in keys) for row in range(rows)]
            texts = [joined(key_row) if keys else str(row + 1) for row, key_row in enumerate(key_rows)]
            return distinct(texts, list(key_rows) if keys else list(range(rows))), [""] * rows
        other_keys = [key for number, key in enumerate(keys) if number != self.key_index]
        lines = [tuple(key[row] for key in other_keys) for row in range(rows)]
        own = [keys[self.key_index][row] for row in range(rows)]
        return distinct([joined([value]) for value in own], own), distinct([joined(line) for line in lines], lines)

    def position(self, keys: Sequence[Any], row: int, label: str) -> Any:
        """Where a row is along the axis of keys; None if it has no place there."""
        if self.kind == "category":
            return label
        value = keys[self.key_index][row]
        if value is None or self.kind == "number":
            return None if value is None else float(value)
        return f"{value.isoformat()}Z" if keys[self.key_index].kind == "time" else f"{value.isoformat()}T00:00:00Z"

    def heading(self, keys: Sequence[Any]) -> str:
        """The title of the axis of keys."""
        if self.kind == "category":
            return " · ".join(printable(key.name) for key in keys)
        return printable(keys[self.key_index].name)

    def chart(self, rows: Rows) -> Any:
        """The chart of these rows."""
        return self._across(rows) if self.kind == "category" else self._along(rows)

    def _across(self, rows: Rows) -> Any:
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
        closed, unbounded, points = self._layers(base, rows, width=width, size=max(4.0, min(60.0, 3 * step)))
        drawn = alt.layer(*closed, *unbounded, points)
        return drawn.properties(width=_WIDTH, height=max(40, step * len(rows.order)))

    def _along(self, rows: Rows) -> Any:
        alt = altair()
        several, many = len(rows.series) > 1, len(rows.series) > len(COLOURS)
        listed = rows.beside_each_other() if several and not many and not self.is_line else rows.values
        values = [row | _band(row) for row in listed if row["place"] is not None]
        across = _times(rows) if self.kind == "time" else _numbers(rows)
        base = alt.Chart(alt.Data(values=values)).encode(x=across, tooltip=_tooltip(alt, rows))
        width, size = 2 if self.rows <= _MANY else 1, 36 if self.is_line else 60
        closed, unbounded, point = self._layers(base, rows, width=width, size=size)
        drawn = [*closed, *unbounded, point]
        if self.is_line:
            area = base.mark_area(opacity=0.25 if several else 0.45, color=_BAND)
            bands = [area.encode(y=self._quantity(rows, "band_low"), y2="band_high:Q")]
            if any(row["truncated"] != "none" for row in values):
                pale = base.mark_area(opacity=1, fillOpacity=0.2, color=_BAND, stroke=_INTERVAL, strokeDash=[3, 3])
                bands.insert(0, pale.encode(y=self._quantity(rows, "whole_low"), y2="whole_high:Q"))
            line = base.mark_line(color=_VALUE, strokeWidth=1.5).encode(y=self._quantity(rows, "value"))
            alone = len({row["place"] for row in values}) == 1
            bars = closed if self.rows <= _FEW and (alone or not several) else []  # else they hide each other
            points = [point] if self.rows <= _MANY else []
            beside = _apart([*bars, *unbounded, *(points if alone else [])], rows.series)
            drawn = [*bands, line, *beside, *([] if alone else points)]
        if many:
            return _facets(alt, alt.layer(*drawn), rows.series)
        if several:
            drawn = [_coloured(alt, layer, rows.series) for layer in drawn]
        return alt.layer(*drawn).properties(width=_WIDTH, height=_HEIGHT)

    def _layers(self, base: Any, rows: Rows, *, width: float, size: float) -> tuple[list[Any], list[Any], Any]:
        """Intervals with both ends, what is drawn only where an end is missing or open, and points.

        What noise covers is solid, what truncation adds is hatched.
        """
        alt, axis = altair(), self.axis
        edges = {"low": alt.value(axis.low_edge), "high": alt.value(axis.high_edge)}
        value = self._quantity(rows, "value")
        rule = base.mark_rule(strokeWidth=width, color=_INTERVAL)
        bars = self._bars(rule, rows, ("noise_low", "noise_high"), "open")
        closed, more = bars[:1], bars[1:]
        if any(row["truncated"] != "none" for row in rows.values):
            hatched = base.mark_rule(strokeWidth=width, color=_INTERVAL, strokeDash=_HATCHED)
            bars = self._bars(hatched, rows, ("low", "high"), "truncated")
            closed, more = [bars[0], *closed], [*bars[1:], *more]
        missing = {row[part] for row in rows.values for part in ("open", "truncated")}
        sides = (("low", axis.low_arrow, _ARROW), ("high", axis.high_arrow, -_ARROW))
        for is_open, (end, arrow, inside) in zip(rows.open_sides, sides, strict=True):
            offset = {f"{axis.own}Offset": inside if axis is _ACROSS else -inside}
            if missing & {end, "both"}:
                head = base.mark_point(filled=True, shape=arrow, size=70, color=_INTERVAL, opacity=1, **offset)
                lacking = (f"datum.{part} === '{kind}'" for part in ("open", "truncated") for kind in (end, "both"))
                more.append(head.transform_filter(" || ".join(lacking)).encode(**{axis.own: edges[end]}))
            if is_open:
                head = base.mark_point(filled=False, shape=arrow, size=70, color=_INTERVAL, opacity=1)
                more.append(head.transform_filter("datum.arrow").encode(**{axis.own: self._quantity(rows, end)}))
        dot = {"filled": True} if self.is_line else {"filled": False, "shape": axis.stroke, "strokeWidth": 2}
        point = base.mark_point(size=size, color=_VALUE, opacity=1, **dot).encode(**{axis.own: value})
        return closed, more, point

    def _bars(self, rule: Any, rows: Rows, ends: tuple[str, str], part: str) -> list[Any]:
        """Bars from one end to the other, and then those of the rows where `part` says that an end is missing."""
        alt, axis = altair(), self.axis
        low, high = (self._quantity(rows, end) for end in ends)
        edges = alt.value(axis.low_edge), alt.value(axis.high_edge)
        bounds = {
            "": {axis.own: low, axis.other: f"{ends[1]}:Q"},
            "low": {axis.own: high, axis.other: edges[0]},
            "high": {axis.own: low, axis.other: edges[1]},
            "both": {axis.own: edges[0], axis.other: edges[1]},
        }
        kinds = ["", *(kind for kind in ("low", "high", "both") if kind in {row[part] for row in rows.values})]
        return [rule.transform_filter(f"datum.{part} === '{kind}'").encode(**bounds[kind]) for kind in kinds]

    def _quantity(self, rows: Rows, field: str) -> Any:
        """The axis of the estimate. It includes zero for counts, and for other numbers if zero is near."""
        alt = altair()
        axis = alt.Axis(tickCount=6, labelOverlap=True)
        channel = getattr(alt, self.axis.own.upper())
        return channel(f"{field}:Q", title=printable(rows.name), scale=alt.Scale(zero=rows.has_zero), axis=axis)


def _times(rows: Rows) -> Any:
    """The axis of times. Its labels are those of other outputs, and as fine as the axis needs."""
    alt = altair()
    times = [dt.datetime.fromisoformat(row["place"]) for row in rows.values if row["place"] is not None]
    span = max(times) - min(times) if times else dt.timedelta(0)
    whole_days = all(time.time() == dt.time(0) for time in times)
    few = whole_days and dt.timedelta(0) < span <= _WEEK  # ticks between days would repeat their labels
    ticks: Any = alt.TimeIntervalStep("day", 1) if few else 6
    form = "%Y" if span > _YEARS else "%Y-%m" if span > _MONTHS else "%Y-%m-%d"
    if span <= _DAYS and not whole_days:
        form = "%m-%d %H:%M"
    axis = alt.Axis(labelOverlap=True, labelFlush=False, tickCount=ticks, format=form)
    return alt.X("place:T", title=rows.key, scale=alt.Scale(type="utc"), axis=axis)


def _numbers(rows: Rows) -> Any:
    """The axis of numbers."""
    alt = altair()
    whole = all(row["place"] is None or row["place"] == int(row["place"]) for row in rows.values)
    years = "abs(datum.value) < 10000 ? '' + datum.value : datum.label"  # and other short numbers: no comma
    axis = alt.Axis(labelOverlap=True, labelExpr=years, **({"tickMinStep": 1} if whole else {}))
    return alt.X("place:Q", title=rows.key, scale=alt.Scale(zero=False, nice=False, padding=12), axis=axis)


def _facets(alt: Any, chart: Any, series: list[str]) -> Any:
    """A small chart for each line, on the same axes: there are too few colours for all."""
    own = alt.Facet("series:N", sort=series, title=None, header=alt.Header(labelLimit=_SMALL, labelAnchor="start"))
    return chart.properties(width=_SMALL, height=_SMALL // 2).facet(facet=own, columns=_COLUMNS)


def _apart(layers: list[Any], series: list[str]) -> list[Any]:
    """Draw the lines of each layer some pixels apart, where a few would hide each other at one place."""
    if not 1 < len(series) <= _MOST_APART:
        return layers
    shifted = []
    for layer in layers:
        for number, name in enumerate(series):
            own = layer.transform_filter(altair().datum.series == name)
            own.mark = own.mark.copy()
            own.mark.xOffset = _APART * (number - (len(series) - 1) / 2)
            shifted.append(own)
    return shifted


def _band(row: dict[str, Any]) -> dict[str, Any]:
    """The ends between which bands are drawn: none where one is missing, so that the band has a gap there."""
    ends = {"band": ("noise_low", "noise_high", "open"), "whole": ("low", "high", "truncated")}
    return {
        f"{band}_{side}": row[end] if row[part] == "" else None
        for band, (low, high, part) in ends.items()
        for side, end in (("low", low), ("high", high))
    }


def _tooltip(alt: Any, rows: Rows) -> list[Any]:
    return [
        alt.Tooltip("key:N", title=rows.key or "row"),
        alt.Tooltip("shown:N", title=printable(rows.name)),
    ]


def _coloured(alt: Any, layer: Any, series: list[str]) -> Any:
    """The same layer with a colour and a dash for each line; the legend has the order of the answer."""
    colours = [COLOURS[index % len(COLOURS)] for index in range(len(series))]
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
    dashes = [list(DASHES[(index // len(COLOURS) + index) % len(DASHES)]) for index in range(len(series))]
    dash = alt.StrokeDash("series:N", scale=alt.Scale(domain=series, range=dashes), sort=series, legend=legend)
    return layer.encode(color=colour, strokeDash=dash)


_CHARACTERS = 74  # of a line of the caption, which is then about as wide as a chart
_SIDE_BY_SIDE = 2
_MOST_KEYS_APART = 3  # rows without a key that are listed in the caption
_FEWER = "group by fewer columns, or draw a part of answer.to_pandas()"
_MOST_LINES = 30  # each in a small chart of its own


def intervals(answer: Any, *, title: str | None = None) -> Any:
    """An altair chart of every estimate in an answer, with its interval, by key.

    Dates and times become a line with a band on a time axis, numbers points in their order, all else one line each,
    the greatest first. More lines than there are colours get a small chart each; more than 30, and more than 560
    categories, are refused. An interval without an end reaches to the edge and has an arrow there; the axis is that of
    the finite ends. Every row is drawn, or listed in the caption. One estimate is a chart that others can be laid upon
    (`answer.plot() + other`), several are charts side by side.
    """
    if not isinstance(answer, Released):
        hint = "gt.plot.intervals(query.answer(epsilon=0.1))"
        raise InvalidParameter("answer", HIDDEN, f"is not an answer: its type is {type(answer).__name__}", hint=hint)
    charts, undrawn = _charts(answer)
    estimates = [column.name for column in answer.columns if column.has_interval]
    words = title if title is not None else _title(estimates, [key.name for key in keys_of(answer.columns)])
    return _headed(charts, words, [*_caption(answer), *undrawn])


def panels(answers: Sequence[tuple[str, Any]], *, more: int = 0, title: str | None = None) -> Any:
    """Tables of one release in one picture, each named and drawn as `intervals` draws it; `more` are not drawn.

    >>> ages = gt.answers.Column("age", [20, 30]), gt.answers.Column("n", [50, 40], [45, 35], [55, 45])
    >>> type(gt.plot.panels([("age", gt.answers.Answer(ages))])).__name__
    'LayerChart'
    """
    charts, undrawn = [], []
    for name, answer in answers:
        own_charts, without = _charts(answer)
        charts += [
            chart.properties(title=altair().TitleParams(printable(name), anchor="start")) for chart in own_charts
        ]
        undrawn += without
    words = answers[0][0] if len(charts) == 1 else counted(len(answers) + more, "table")
    remaining = [f"{counted(more, 'table')} more: answer[…].plot() draws one"] if more else []
    return _headed(
        charts, words if title is None else title, [*_caption(answers[0][1], rows=False), *undrawn, *remaining]
    )


def _charts(answer: Any) -> tuple[list[Any], list[str]]:
    """A chart for each estimate, and in words the rows that have no place in them."""
    estimates = [column for column in answer.columns if column.has_interval]
    keys = keys_of(answer.columns)
    form = _form(keys, len(answer))
    row_sets = [Rows.from_column(form, keys, column, estimates[0]) for column in estimates]
    lines = len(row_sets[0].series) if row_sets else 0
    if lines > _MOST_LINES:
        raise InvalidParameter(
            "answer",
            HIDDEN,
            f"has {lines:,} lines along `{row_sets[0].key}`, and a picture tells {_MOST_LINES} apart",
            hint=_FEWER,
        )
    if form.kind == "category" and len(answer) > TALLEST:
        problem = f"has {len(answer):,} rows, and a picture has room for {TALLEST}"
        raise InvalidParameter("answer", HIDDEN, problem, hint=_FEWER)
    return [form.chart(rows) for rows in row_sets], [line for rows in row_sets for line in rows.apart()]


def _headed(charts: list[Any], words: str, caption: list[str]) -> Any:
    """One chart, or several side by side, with a title and a caption that is about as wide."""
    alt = altair()
    wide = min(len(charts), _SIDE_BY_SIDE) * _CHARACTERS
    lines = [part for line in caption for part in wrap(line, wide)]
    heading = alt.TitleParams(words, subtitle=lines, anchor="start", frame="group" if len(charts) == 1 else "bounds")
    if len(charts) == 1:
        return shown_as_svg(without_tags(charts[0].properties(title=heading)))
    joined = alt.hconcat(*charts) if len(charts) <= _SIDE_BY_SIDE else alt.concat(*charts, columns=_SIDE_BY_SIDE)
    own = joined.resolve_scale(color="independent", strokeDash="independent")  # each chart names its own lines
    return shown_as_svg(without_tags(own.properties(title=heading)))


def _form(keys: Sequence[Any], rows: int) -> Form:
    """The form that suits the keys: along the first key with an order of its own; the others make lines."""
    for index, key in enumerate(keys):
        if sum(value is None for value in key) > _MOST_KEYS_APART:
            continue
        if key.kind in {"date", "time"}:
            return Form("time", rows, index)
        if key.kind in {"integer", "decimal", "float"} and _finite(key):
            return Form("number", rows, index)
    return Form("category", rows)


def _finite(key: Any) -> bool:
    return all(value is None or math.isfinite(value) for value in key)


def _title(estimates: Sequence[str], keys: Sequence[str]) -> str:
    by = f" by {', '.join(map(printable, keys))}" if keys else ""
    return f"{', '.join(map(printable, estimates))}{by}"


def _caption(answer: Any, *, rows: bool = True) -> list[str]:
    """How many rows there are, how sure they are, and how much of a person counts."""
    caps = caps_of(answer)
    caption_notes = [note for note in notes(answer) if "nothing was charged" not in note]  # which is about one call
    sure = facts(answer)[not rows :]
    return [
        " · ".join(sure),
        *legend(answer.columns),
        *([] if caps is None or any(caps in note for note in caption_notes) else [caps]),
        *caption_notes,
    ]


_MOST_LEVELS = 24  # categories of one feature; of more, those that add most or least are shown
_SHAPES_IN_ROW = 3
_BEYOND = 0.06  # of the bands' range, which is left free above and below them
_LETTERS = 30  # that fit beside one another below a chart


def shapes(
    features: Sequence[tuple[str, list[tuple[Any, float, float]]]], axis: str, what: str, *, title: str | None = None
) -> Any:
    """A small chart for each feature: bins as (from, to) or names, what they add, and how far the band reaches."""
    alt = altair()
    low = min(effect - reach for _, bins in features for _, effect, reach in bins)
    high = max(effect + reach for _, bins in features for _, effect, reach in bins)
    beyond = (high - low) * _BEYOND
    scale = alt.Scale(domain=[low - beyond, high + beyond], nice=False)
    charts = [
        (_steps if isinstance(bins[0][0], tuple) else _levels)(
            alt, name, bins, axis if index % _SHAPES_IN_ROW == 0 else None, scale
        )
        for index, (name, bins) in enumerate(features)
    ]
    rows = [alt.hconcat(*charts[start : start + _SHAPES_IN_ROW]) for start in range(0, len(charts), _SHAPES_IN_ROW)]
    bands = "bands of two deviations: noise, sampling and shrinking"
    words = alt.TitleParams(title or what, subtitle=[what, bands] if title else bands, anchor="start")
    return shown_as_svg(alt.vconcat(*rows).properties(title=words))


def _steps(alt: Any, name: str, bins: list[tuple[Any, float, float]], axis: str | None, scale: Any) -> Any:
    """A line in steps over the bins of a number."""
    rows = []
    for (start, end), effect, reach in bins:
        rows += [{"x": at, "y": effect, "low": effect - reach, "high": effect + reach} for at in (start, end)]
    base = alt.Chart(alt.Data(values=rows)).encode(x=alt.X("x:Q", title=name, scale=alt.Scale(zero=False, nice=False)))
    y = alt.Y("low:Q", title=axis, scale=scale)
    band = base.mark_area(color=COLOURS[2], opacity=0.25).encode(y=y, y2="high:Q")
    line = base.mark_line(color=COLOURS[2]).encode(y=alt.Y("y:Q", scale=scale, title=axis), order="x:Q")
    return (band + line).properties(width=200, height=140)


def _levels(alt: Any, name: str, bins: list[tuple[Any, float, float]], axis: str | None, scale: Any) -> Any:
    """A point with its band for each category, in their order; of many, only the lowest and the highest."""
    if len(bins) > _MOST_LEVELS:
        ordered = sorted(bins, key=lambda level: level[1])
        half = _MOST_LEVELS // 2
        bins = ordered[:half] + ordered[-half:]
        name = f"{name} (the lowest and highest {half})"
    rows = [{"x": label, "y": effect, "low": effect - reach, "high": effect + reach} for label, effect, reach in bins]
    short = sum(len(row["x"]) + 1 for row in rows) < _LETTERS
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("x:N", title=name, sort=[row["x"] for row in rows], axis=alt.Axis(labelAngle=0 if short else -60))
    )
    rule = base.mark_rule(color=COLOURS[2], opacity=0.45, strokeWidth=4).encode(
        y=alt.Y("low:Q", title=axis, scale=scale), y2="high:Q"
    )
    point = base.mark_point(color=COLOURS[2], filled=True, size=30, opacity=1).encode(
        y=alt.Y("y:Q", title=axis, scale=scale)
    )
    return (rule + point).properties(width=200, height=140)
