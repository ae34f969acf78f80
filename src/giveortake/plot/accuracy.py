"""Charts of accuracy: tables of workloads and syntheses, and errors by contribution bound.

- How exact many tables are: those of a workload, and those of a synthetic table.
- The error of a count against the cap on a person's rows: what the noise adds, and what is left out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

from giveortake import exact
from giveortake.answers.terms import least_error
from giveortake.exact import counted
from giveortake.plot.theme import COLOURS, DASHES, altair, finished

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from giveortake.exact import Number


_MOST = 40  # tables; of more some are shown, in equal steps


def workloads(lines: Sequence[Mapping[str, Any]], *, title: str | None = None) -> Any:
    """A chart of the standard deviation of a cell of every table, the least first; of many tables, of some of them.

    >>> from importlib.resources import files
    >>> visits = files("giveortake") / "data" / "visits.csv"
    >>> known = {"region": ["north", "east"], "reason": ["pain", "cough"]}
    >>> s = gt.protect(visits, unit="person_id", budget=gt.ZCDP(1), domains=known, rows_per_person=4)
    >>> quote = s.workload(gt.workload.marginals(["region", "reason"])).quote(rho="1/10")
    >>> type(gt.plot.workloads(quote.lines)).__name__
    'Chart'
    """
    ordered = sorted((line for line in lines if line["of"] == "n"), key=lambda line: line["sd"])
    ways = {"sd": "planned together", "equal_sd": "an equal split"}
    dots = [
        (" × ".join(line["table"]) or "total", way, line[column])
        for line in _some(ordered)
        for column, way in ways.items()
    ]
    rms = [math.sqrt(sum(line[column] ** 2 for line in ordered) / len(ordered)) for column in ways]
    tables = counted(len(ordered), "table")
    default_title = f"Noise in a cell of {tables}: deviation {rms[0]:,.4g} rows, {rms[1]:,.4g} by an equal split"
    return _dots(
        dots,
        dict(zip(ways.values(), ("circle", "diamond"), strict=True)),
        "standard deviation of a cell, in rows",
        title or default_title,
    )


def predicted_errors(tables: Sequence[tuple[str, bool, float]], *, title: str | None = None) -> Any:
    """A chart of predicted total variation distances (name, whether measured, distance), measured tables first.

    >>> type(gt.plot.predicted_errors([("age × sex", True, 0.01), ("age × town", False, 0.04)])).__name__
    'Chart'
    """
    ordered = sorted(tables, key=lambda table: (not table[1], table[2]))
    dots = [(name, "measured" if measured else "not measured (≥)", error) for name, measured, error in _some(ordered)]
    count, were = sum(is_measured for _, is_measured, _ in ordered), "was" if len(ordered) == 1 else "were"
    default_title = f"Predicted errors: {count} of {counted(len(ordered), 'table')} {were} measured"
    ways = {"measured": "circle", "not measured (≥)": "triangle-right"}
    return _dots(dots, ways, "predicted total variation distance", title or default_title)


def _some(ordered: list[Any]) -> list[Any]:
    return ordered[:: max(1, math.ceil(len(ordered) / _MOST))]


def _dots(dots: list[tuple[str, str, float]], shapes: dict[str, str], measure: str, title: str) -> Any:
    """A row for each table, and a dot for each way; ways that do not occur are not in the legend."""
    alt = altair()
    names = list(dict.fromkeys(name for name, _, _ in dots))
    ways = {
        way: (shape, colour)
        for (way, shape), colour in zip(shapes.items(), COLOURS[2:0:-1], strict=True)
        if way in {used_way for _, used_way, _ in dots}
    }
    shape, colour = (alt.Scale(domain=list(ways), range=[style[index] for style in ways.values()]) for index in (0, 1))
    chart = (
        alt.Chart(alt.Data(values=[{"table": name, "way": way, "much": amount} for name, way, amount in dots]))
        .mark_point(filled=True, size=60, opacity=1)
        .encode(
            x=alt.X("much:Q", title=measure, scale=alt.Scale(zero=True)),
            y=alt.Y("table:N", title=None, sort=names, axis=alt.Axis(labelLimit=260, grid=True)),
            color=alt.Color("way:N", title=None, sort=list(ways), scale=colour),
            shape=alt.Shape("way:N", title=None, sort=list(ways), scale=shape),
        )
    )
    return finished(chart, title).properties(height=max(120, 18 * len(names)))


_TICKS = [0, *(10**power for power in range(13))]
_BAND = "rows cut, at least and at most"
_PARTS = {"noise": "margin of the noise", "bias": "rows cut, about", "error": "both together"}


class Sizes(Protocol):
    """What a chart needs of a profile."""

    @property
    def table(self) -> str:
        """The table that the profile describes."""

    @property
    def epsilon(self) -> Fraction:
        """The ε that the profile cost."""

    def lines(self, epsilon: Number | None = None) -> list[dict[str, float]]:
        """Noise and bias for every cap on rows."""


def caps(profile: Sizes, *, epsilon: Number | None = None, title: str | None = None) -> Any:
    """A chart of noise and bias of COUNT(*) for every cap on rows, at `epsilon` or at the profile's ε."""
    alt = altair()
    lines = profile.lines(epsilon)
    rows = [{"cap": line["cap"], "rows": line[part], "part": name} for part, name in _PARTS.items() for line in lines]
    names = list(_PARTS.values())
    legend = alt.Legend(title=None, symbolStrokeWidth=2, symbolSize=400, labelLimit=260)
    colours = alt.Scale(domain=names, range=[COLOURS[i % len(COLOURS)] for i in range(len(names))])
    dashes = alt.Scale(domain=names, range=[list(DASHES[i % len(DASHES)]) for i in range(len(names))])
    axis = alt.Axis(values=[line["cap"] for line in lines], labelOverlap=True)  # whole rows, not what lies between
    cap = alt.X("cap:Q", title="rows of a person that count", scale=alt.Scale(type="log", base=2), axis=axis)
    drawn = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=2)
        .encode(
            x=cap,
            y=alt.Y("rows:Q", title="rows", scale=alt.Scale(type="symlog"), axis=alt.Axis(values=_TICKS)),
            color=alt.Color("part:N", scale=colours, legend=legend, sort=names),
            strokeDash=alt.StrokeDash("part:N", scale=dashes, legend=legend, sort=names),
        )
    )
    most = max(line["error"] for line in lines)
    band = [{"part": _BAND, "cap": line["cap"], "low": line["low"], "high": min(line["high"], most)} for line in lines]
    band_chart = (
        alt.Chart(alt.Data(values=band))
        .mark_area(opacity=0.15)
        .encode(x=cap, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), fill=_band(alt))
    )
    best, is_open = least_error(lines)
    spent = exact.decimal(profile.epsilon if epsilon is None else exact.spendable("epsilon", epsilon))
    default_title = f"COUNT(*) of {profile.table} at ε = {spent}: the least error is at {best['cap']:,.0f} rows"
    default_title += ", the last cap tried: a larger one may be better" * is_open
    return finished(band_chart + drawn, title or default_title)


def _band(alt: Any) -> Any:
    """The colour of the band, with a legend of its own below that of the lines."""
    legend = alt.Legend(title=None, symbolType="square", symbolOpacity=0.15, symbolSize=200, labelLimit=260)
    return alt.Fill("part:N", scale=alt.Scale(domain=[_BAND], range=[COLOURS[1]]), legend=legend)
