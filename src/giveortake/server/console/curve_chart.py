"""The curve of a question: how wide an interval would be against what is spent, with what is too dear shaded."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

from giveortake.plot.svg.markup import Markup, joined, percent, tag
from giveortake.plot.svg.plane import Plane
from giveortake.plot.svg.scales import Scale, brief

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SYMBOLS = {"epsilon": "ε", "rho": "ρ", "mu": "μ", "share": "share"}


def coefficient(margin: object) -> float | None:
    """A margin as a number; of a mean, whose margin is `m / n`, the m. None where it depends on more than that.

    >>> coefficient(48.0), coefficient("8952.5 / n"), coefficient("at most 3"), coefficient(None)
    (48.0, 8952.5, None, None)
    """
    if isinstance(margin, bool) or not isinstance(margin, int | float | str):
        return None
    try:
        found = float(margin.removesuffix(" / n").replace(",", "")) if isinstance(margin, str) else float(margin)
    except ValueError:
        return None
    return found if 0 < found < 1e300 else None


def curve_chart(curve: Mapping[str, Any], spend: str | None = None, column: str | None = None) -> Markup | None:
    """The margin of one column at nine spends, both logarithmic, and a mark at a spend; None without such a column.

    `data-points` holds the same numbers, so that a slider can move the mark without asking again.
    """
    named = curve_column(curve) if column is None else column
    points = curve_points(curve, named)
    if named is None or len(points) < 2:
        return None
    x = Scale(points[0][0], points[-1][0], "log")
    least, greatest = min(margin for _, margin in points), max(margin for _, margin in points)
    y = Scale(least / 1.15, greatest * 1.15, "log")
    plane = Plane(x, y, height=206, left=0.22)
    parts = [*_too_dear(curve, x), plane.line(points, class_="line")]
    place = float(spend) if spend is not None else None
    if place is not None:
        parts.append(
            _mark(x.at(place), 1 - y.at(margin_at(points, place)), hidden=not points[0][0] <= place <= points[-1][0])
        )
    symbol = SYMBOLS[curve["currency"]]
    unit = ", n rows" if isinstance(curve["points"][0]["margins"].get(named), str) else ""
    return plane.chart(
        *parts,
        label=_in_words(points, named, symbol),
        title=f"margin of {named}{unit}",
        x_title=f"{symbol} to spend →",
        x_ticks=[(value, f"{said}") for value, said in x.ticks(5)],
        y_ticks=[(value, f"± {said}") for value, said in y.ticks(4)],
        data_points=json.dumps(points),
        id="curve",
    )


def curve_column(curve: Mapping[str, Any]) -> str | None:
    """The first column whose margin is a number at every spend."""
    points = curve["points"]
    for name in points[0]["margins"] if points else ():
        if all(coefficient(point["margins"].get(name)) is not None for point in points):
            return str(name)
    return None


def curve_points(curve: Mapping[str, Any], column: str | None) -> list[tuple[float, float]]:
    """Spends and margins of a column."""
    found = [(float(point["spend"]), coefficient(point["margins"].get(column))) for point in curve["points"]]
    return [(spend, margin) for spend, margin in found if margin is not None]


def margin_at(points: Sequence[tuple[float, float]], spend: float) -> float:
    """The margin at a spend between two of a curve, along a straight line between the logarithms."""
    if spend <= points[0][0]:
        return points[0][1]
    for (left, above), (right, below) in itertools.pairwise(points):
        if spend <= right:
            share = Scale(left, right, "log").at(spend)
            return float(above ** (1 - share) * below**share)
    return points[-1][1]


def _too_dear(curve: Mapping[str, Any], x: Scale) -> list[Markup]:
    """A shade over the spends that are not admitted; it begins at the first of them, since prices only grow."""
    points = curve["points"]
    refused = [float(point["spend"]) for point in points if not point["admitted"]]
    if not refused:
        return []
    admitted = [float(point["spend"]) for point in points if point["admitted"]]
    left = x.at(max(admitted, default=x.low))
    if curve.get("affordable") is not None and curve["currency"] == "epsilon":
        left = max(left, min(x.at(float(curve["affordable"])), x.at(refused[0])))
    words = tag("text", "too dear", x=percent((left + 1) / 2), y=14, class_="tick middle") if left < 0.8 else Markup("")
    return [tag("rect", x=percent(left), y=0, width=percent(1 - left), height="100%", class_="dear"), words]


def _mark(x: float, y: float, *, hidden: bool) -> Markup:
    """The mark at a spend; hidden at one that is not on the curve, until a slider moves it there."""
    across, up = percent(x), percent(y)
    return tag(
        "g",
        tag("line", x1=across, x2=across, y1=up, y2="100%", class_="guide"),
        tag("line", x1="0", x2=across, y1=up, y2=up, class_="guide"),
        tag("circle", cx=across, cy=up, r=6, class_="dot"),
        id="curve-mark",
        **({"hidden": "hidden"} if hidden else {}),
    )


def _in_words(points: Sequence[tuple[float, float]], column: str, symbol: str) -> str:
    (first, wide), (last, narrow) = points[0], points[-1]
    return (
        f"The margin of {column} falls from plus or minus {brief(wide)} at {symbol} = {brief(first)} "
        f"to plus or minus {brief(narrow)} at {symbol} = {brief(last)}."
    )


def curve_table(curve: Mapping[str, Any]) -> Markup:
    """The same numbers as a table."""
    names = list(curve["points"][0]["margins"]) if curve["points"] else []
    symbol = SYMBOLS[curve["currency"]]
    head = tag("tr", *(tag("th", each, scope="col") for each in (symbol, *(f"± {name}" for name in names), "")))
    rows = [
        tag(
            "tr",
            tag("th", point["spend"], scope="row"),
            *(tag("td", _margin(point["margins"].get(name)), class_="n") for name in names),
            tag("td", "" if point["admitted"] else "too dear"),
        )
        for point in curve["points"]
    ]
    return tag("table", tag("thead", head), tag("tbody", joined(*rows)))


def _margin(margin: object) -> str:
    if isinstance(margin, int | float):
        return brief(float(margin))
    return "by the data" if margin is None else str(margin)
