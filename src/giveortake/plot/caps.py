"""The error of a count against the cap on a person's rows: what the noise adds, and what is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from giveortake import exact
from giveortake.answers.terms import least_error
from giveortake.plot.theme import COLOURS, DASHES, altair, finished

if TYPE_CHECKING:
    from fractions import Fraction

    from giveortake.exact import Number

_TICKS = [0, *(10**power for power in range(13))]
_BAND = "rows left out, at least and at most"
_PARTS = {"noise": "margin of the noise", "bias": "rows left out, about", "error": "both together"}


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
    held = (
        alt.Chart(alt.Data(values=band))
        .mark_area(opacity=0.15)
        .encode(x=cap, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), fill=_band(alt))
    )
    best, is_open = least_error(lines)
    spent = exact.shown(profile.epsilon if epsilon is None else exact.spendable("epsilon", epsilon))
    said = f"COUNT(*) of {profile.table} at ε = {spent}: the least error is at {best['cap']:,.0f} rows"
    said += ", the last cap tried: a larger one may be better" * is_open
    return finished(held + drawn, title or said)


def _band(alt: Any) -> Any:
    """The colour of the band, with a legend of its own below that of the lines."""
    legend = alt.Legend(title=None, symbolType="square", symbolOpacity=0.15, symbolSize=200, labelLimit=260)
    return alt.Fill("part:N", scale=alt.Scale(domain=[_BAND], range=[COLOURS[1]]), legend=legend)
