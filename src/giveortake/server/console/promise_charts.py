"""What a promise means, drawn: how far beliefs move, how well attackers guess, how groups fare.

The lines are those of `giveortake.privacy`: `posterior` by way of `beliefs`, and `membership_inference`. A
belief that is bounded only but for rare outputs is drawn as bounded, and the caption says for which probability not.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from giveortake.errors import Unprovable
from giveortake.plot.svg.plane import Plane
from giveortake.plot.svg.scales import Scale
from giveortake.privacy.explaining import beliefs

if TYPE_CHECKING:
    from giveortake.plot.svg.markup import Markup
    from giveortake.privacy import Guarantee

_SHARES = sorted({*(Fraction(k, 40) for k in range(41)), *(Fraction(k, 200) for k in (1, 2, 3, 197, 198, 199))})
_WHOLE = Scale(0.0, 1.0)
_PERCENTS = [(0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %")]
_GROUPS = range(1, 11)
_HEIGHT = 226


@lru_cache(maxsize=64)
def belief_chart(promise: Guarantee) -> Markup:
    """Belief before against belief after: whatever is published, it stays within the band."""
    plane = Plane(_WHOLE, _WHOLE, _HEIGHT, left=0.18)
    rows = []
    for prior in _SHARES:
        found = beliefs(promise, prior) or (Fraction(0), Fraction(1), None)
        rows.append((float(prior), float(found[0]), float(found[1])))
    low, high = (round(100 * float(each)) for each in rows[len(rows) // 2][1:])
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


@lru_cache(maxsize=64)
def attacker_chart(promise: Guarantee) -> Markup:
    """The best that anybody can do who guesses who is in the data: right guesses against wrong ones."""
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


@lru_cache(maxsize=64)
def group_chart(promise: Guarantee) -> Markup:
    """How a belief of one half about a group may end, by the size of the group."""
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
    """Between what a belief of one half about a group ends; 0 and 1 where nothing bounds it."""
    try:
        found = beliefs(promise.group(size), Fraction(1, 2))
    except Unprovable:
        found = None
    return (0.0, 1.0) if found is None else (float(found[0]), float(found[1]))
