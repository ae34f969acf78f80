"""The shapes of an additive model: what each bin of each feature adds, with a band."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from giveortake.plot.theme import COLOURS, altair

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_LEVELS = 24  # categories of one feature; of more, those that add most or least are shown
_COLUMNS = 3
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
            alt, name, bins, axis if place % _COLUMNS == 0 else None, scale
        )
        for place, (name, bins) in enumerate(features)
    ]
    rows = [alt.hconcat(*charts[start : start + _COLUMNS]) for start in range(0, len(charts), _COLUMNS)]
    bands = "bands of two deviations: noise, sampling and shrinking"
    words = alt.TitleParams(title or what, subtitle=[what, bands] if title else bands, anchor="start")
    return alt.vconcat(*rows).properties(title=words)


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
        ordered = sorted(bins, key=lambda each: each[1])
        half = _MOST_LEVELS // 2
        bins = ordered[:half] + ordered[-half:]
        name = f"{name} (the lowest and highest {half})"
    rows = [{"x": label, "y": effect, "low": effect - reach, "high": effect + reach} for label, effect, reach in bins]
    short = sum(len(each["x"]) + 1 for each in rows) < _LETTERS
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("x:N", title=name, sort=[each["x"] for each in rows], axis=alt.Axis(labelAngle=0 if short else -60))
    )
    rule = base.mark_rule(color=COLOURS[2], opacity=0.45, strokeWidth=4).encode(
        y=alt.Y("low:Q", title=axis, scale=scale), y2="high:Q"
    )
    point = base.mark_point(color=COLOURS[2], filled=True, size=30, opacity=1).encode(
        y=alt.Y("y:Q", title=axis, scale=scale)
    )
    return (rule + point).properties(width=200, height=140)
