"""Charts: the margin of a question against what it costs, what a promise means, and a budget as it burns down.

The lines of a promise are those of `giveortake.privacy`: `posterior` by way of `beliefs`, and `membership_inference`. A
belief that is bounded only but for rare outputs is drawn as bounded, and the caption says for which probability not.
"""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.errors import Unprovable
from giveortake.exact import counted
from giveortake.plot.svg import Markup, Plane, Scale, brief, joined, percent, tag
from giveortake.privacy.guarantee import beliefs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from giveortake.privacy import Guarantee

SYMBOLS = {"epsilon": "ε", "rho": "ρ", "mu": "μ", "share": "% of the budget"}


USUAL_ROWS = 1000  # of a group, for which the margin of a mean is told


def margin_number(margin: object, span: float | None = None) -> float | None:
    """A margin as a number; of a mean, whose margin is `m / n`, that of 1,000 rows, and no more than its bounds span.

    None where it depends on more than that.

    >>> margin_number(48.0), margin_number("8952.5 / n"), margin_number("3e6 / n", 500), margin_number("at most 3")
    (48.0, 8.9525, 500.0, None)
    """
    if isinstance(margin, bool) or not isinstance(margin, int | float | str):
        return None
    try:
        number = float(margin.removesuffix(" / n").replace(",", "")) if isinstance(margin, str) else float(margin)
    except ValueError:
        return None
    if isinstance(margin, str):
        number = min(number / USUAL_ROWS, float("inf") if span is None else float(span))
    return number if 0 < number < 1e300 else None


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
    marked_spend = float(spend) if spend is not None else None
    if marked_spend is not None:
        parts.append(
            _mark(
                x.at(marked_spend),
                1 - y.at(margin_at(points, marked_spend)),
                hidden=not points[0][0] <= marked_spend <= points[-1][0],
            )
        )
    symbol = SYMBOLS[curve["currency"]]
    unit = f" of {USUAL_ROWS:,} rows" if isinstance(curve["points"][0]["margins"].get(named), str) else ""
    return plane.chart(
        *parts,
        label=_in_words(points, named, symbol),
        title=f"margin of {named}{unit}",
        x_title=f"{symbol}{'' if curve['currency'] == 'share' else ' to spend'} →",
        x_ticks=[(value, f"{label}") for value, label in x.ticks(5)],
        y_ticks=[(value, f"± {label}") for value, label in y.ticks(4)],
        data_points=json.dumps(points),
        id="curve",
    )


def in_percent(curve: Mapping[str, Any]) -> dict[str, Any]:
    """A curve of shares, in percent of the budget."""
    points = [{**point, "spend": f"{100 * float(point['spend']):.3g}"} for point in curve["points"]]
    return {**curve, "points": points}


def curve_column(curve: Mapping[str, Any]) -> str | None:
    """The first column whose margin is a number at every spend."""
    points = curve["points"]
    for name in points[0]["margins"] if points else ():
        if all(margin_number(point["margins"].get(name)) is not None for point in points):
            return str(name)
    return None


def curve_points(curve: Mapping[str, Any], column: str | None) -> list[tuple[float, float]]:
    """Spends and margins of a column."""
    span = curve.get("spans", {}).get(column)
    pairs = [(float(point["spend"]), margin_number(point["margins"].get(column), span)) for point in curve["points"]]
    return [(spend, margin) for spend, margin in pairs if margin is not None]


def margin_at(points: Sequence[tuple[float, float]], spend: float) -> float:
    """The margin at a spend between two points of a curve, interpolated between logarithms."""
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
    ends = [f"{brief(end)} {symbol}" if symbol[0] == "%" else f"{symbol} = {brief(end)}" for end in (first, last)]
    return (
        f"The margin of {column} falls from plus or minus {brief(wide)} at {ends[0]} "
        f"to plus or minus {brief(narrow)} at {ends[1]}."
    )


def curve_table(curve: Mapping[str, Any]) -> Markup:
    """The points of a curve as a table."""
    names = list(curve["points"][0]["margins"]) if curve["points"] else []
    symbol, spans = SYMBOLS[curve["currency"]], curve.get("spans", {})
    head = tag("tr", *(tag("th", title, scope="col") for title in (symbol, *(f"± {name}" for name in names), "")))
    rows = [
        tag(
            "tr",
            tag("th", point["spend"], scope="row"),
            *(tag("td", _margin(point["margins"].get(name), spans.get(name)), class_="n") for name in names),
            tag("td", "" if point["admitted"] else "too dear"),
        )
        for point in curve["points"]
    ]
    return tag("table", tag("thead", head), tag("tbody", joined(*rows)))


def _margin(margin: object, span: float | None) -> str:
    number = margin_number(margin, span)
    if number is not None:
        return f"{brief(number)} of {USUAL_ROWS:,} rows" if isinstance(margin, str) else brief(number)
    return "by the data" if margin is None else str(margin)


_MOST = 400  # steps that are drawn; of more, only some


def burn_chart(used: Sequence[float], dataset: str, *, height: int = 136) -> Markup | None:
    """What was left of the budget after each charge; `used` are the shares used, in the meter of that time."""
    if not used:
        return None
    left = [1.0, *(max(0.0, 1.0 - share) for share in used)]
    x, y = Scale(0.0, len(used) + max(1.0, 0.05 * len(used))), Scale(0.0, 1.0)
    every = -(-len(left) // _MOST)
    positions = [*range(0, len(left), every), len(left) - 1]
    steps: list[tuple[float, float]] = []
    for position in positions:
        if steps:
            steps.append((float(position), steps[-1][1]))
        steps.append((float(position), left[position]))
    steps.append((x.high, left[-1]))  # what is left stays left
    plane = Plane(x, y, height=height, left=0.2)
    area = plane.band([(position, 0.0, share) for position, share in steps], class_="area")
    return plane.chart(
        area,
        plane.line(steps, class_="line"),
        label=f"What is left of {dataset}: {percent(left[-1])} after {len(used)} charges",
        title="left",
        x_title=counted(len(used), "charge"),
        x_ticks=[],
        y_ticks=[(0.0, "0"), (0.5, "50 %"), (1.0, "100 %")],
    )


def meter(spent: float, requested: float = 0.0, allotted: float = 0.0) -> Markup:
    """A bar of a whole budget: what is spent, given to analysts, asked for now, and what would be left, as shares."""
    spent = min(1.0, max(0.0, spent))
    allotted = min(1.0 - spent, max(0.0, allotted))
    requested = min(1.0 - spent - allotted, max(0.0, requested))
    left = 1.0 - spent - allotted - requested
    words = [f"{percent(spent)} spent", f"{percent(requested)} for this question", f"{percent(left)} left"]
    if allotted:
        words.insert(1, f"{percent(allotted)} given to analysts")
    now = percent(spent + allotted)
    return tag(
        "svg",
        tag("rect", x="0", y="0", width="100%", height="100%", rx=5, class_="whole"),
        tag("rect", x="0", y="0", width=percent(spent), height="100%", class_="spent"),
        tag("rect", x=percent(spent), y="0", width=percent(allotted), height="100%", class_="given"),
        tag("rect", x=now, y="0", width=percent(requested), height="100%", class_="asked", id="meter-asked"),
        class_="meter",
        width="100%",
        height=12,
        role="img",
        aria_label=", ".join(words),
        data_spent=f"{spent + allotted:.6f}",
    )


_SHARES = sorted({*(Fraction(k, 40) for k in range(41)), *(Fraction(k, 200) for k in (1, 2, 3, 197, 198, 199))})
_WHOLE = Scale(0.0, 1.0)
_PERCENTS = [(0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %")]
_GROUPS = range(1, 11)
_HEIGHT = 226


def belief_chart(promise: Guarantee) -> Markup:
    """A chart of belief after against belief before: whatever is published, it stays within the band."""
    plane = Plane(_WHOLE, _WHOLE, _HEIGHT, left=0.18)
    rows = []
    for prior in _SHARES:
        bounds = beliefs(promise, prior) or (Fraction(0), Fraction(1), None)
        rows.append((float(prior), float(bounds[0]), float(bounds[1])))
    low, high = (round(100 * float(end)) for end in rows[len(rows) // 2][1:])
    return plane.chart(
        plane.band(rows, class_="area"),
        plane.line([(x, low) for x, low, _ in rows], class_="line thin"),
        plane.line([(x, high) for x, _, high in rows], class_="line thin"),
        plane.line([(0.0, 0.0), (1.0, 1.0)], class_="line other"),
        label=f"A belief of 50 % before ends between {low} % and {high} %; the table has more",
        title="believed after",
        x_title="believed before →",
        x_ticks=_PERCENTS,
        y_ticks=_PERCENTS,
    )


def attacker_chart(promise: Guarantee) -> Markup:
    """A chart of the best that an attacker can do who guesses who is in the data: right against wrong guesses."""
    plane = Plane(_WHOLE, _WHOLE, _HEIGHT, left=0.18)
    points = [(float(rate), float(promise.membership_inference(rate))) for rate in _SHARES]
    tenth = round(100 * float(promise.membership_inference(Fraction(1, 10))))
    return plane.chart(
        plane.band([(x, x, y) for x, y in points], class_="area"),
        plane.line(points, class_="line"),
        plane.line([(0.0, 0.0), (1.0, 1.0)], class_="line other"),
        label=f"Wrong about one outsider in ten, right about an insider at most {tenth} times in 100",
        title="right about you, at most",
        x_title="wrong about outsiders →",
        x_ticks=_PERCENTS,
        y_ticks=_PERCENTS,
    )


def group_chart(promise: Guarantee) -> Markup:
    """A chart of how a belief of one half about a group may end, by the size of the group."""
    plane = Plane(Scale(1.0, float(_GROUPS[-1])), _WHOLE, _HEIGHT, left=0.18)
    rows = [(float(size), *group_belief(promise, size)) for size in _GROUPS]
    return plane.chart(
        plane.band(rows, class_="area"),
        plane.line([(x, low) for x, low, _ in rows], class_="line thin"),
        plane.line([(x, high) for x, _, high in rows], class_="line thin"),
        label="A belief of 50 % about a whole group may move farther the larger the group is",
        title="believed after, 50 % before",
        x_title="people in the group →",
        x_ticks=[(float(size), str(size)) for size in (1, 4, 7, 10)],
        y_ticks=_PERCENTS,
    )


def group_belief(promise: Guarantee, size: int) -> tuple[float, float]:
    """The bounds within which a belief of one half about a group ends; 0 and 1 where nothing bounds it."""
    try:
        bounds = beliefs(promise.group(size), Fraction(1, 2))
    except Unprovable:
        bounds = None
    return (0.0, 1.0) if bounds is None else (float(bounds[0]), float(bounds[1]))
