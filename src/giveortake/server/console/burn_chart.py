"""A budget as it burns down, charge by charge, and the meter of what is spent, asked for and left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.plot.svg.markup import Markup, percent, tag
from giveortake.plot.svg.plane import Plane
from giveortake.plot.svg.scales import Scale

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST = 400  # steps that are drawn; of more, every so-manieth


def burn_chart(used: Sequence[float], whose: str, *, height: int = 136) -> Markup | None:
    """What was left after each charge, as shares of the budget; `used` grows from the first charge on."""
    if not used:
        return None
    left = [1.0, *(max(0.0, 1.0 - share) for share in used)]
    x, y = Scale(0.0, len(used) + max(1.0, 0.05 * len(used))), Scale(0.0, 1.0)
    every = -(-len(left) // _MOST)
    places = [*range(0, len(left), every), len(left) - 1]
    steps: list[tuple[float, float]] = []
    for place in places:
        if steps:
            steps.append((float(place), steps[-1][1]))
        steps.append((float(place), left[place]))
    steps.append((x.high, left[-1]))  # what is left stays left
    plane = Plane(x, y, height=height, left=0.2)
    area = plane.band([(place, 0.0, share) for place, share in steps], class_="area")
    return plane.chart(
        area,
        plane.line(steps, class_="line"),
        label=f"What is left of {whose}: {percent(left[-1])} after {len(used)} charges",
        title="left",
        x_title=f"{len(used):,} charge{'s' * (len(used) != 1)}",
        x_ticks=[],
        y_ticks=[(0.0, "0"), (0.5, "50 %"), (1.0, "100 %")],
    )


def meter(spent: float, asked: float = 0.0, given: float = 0.0) -> Markup:
    """A bar of a whole budget: what is spent, given to analysts, asked for now, and what would be left, as shares."""
    spent = min(1.0, max(0.0, spent))
    given = min(1.0 - spent, max(0.0, given))
    asked = min(1.0 - spent - given, max(0.0, asked))
    left = 1.0 - spent - given - asked
    words = [f"{percent(spent)} spent", f"{percent(asked)} for this question", f"{percent(left)} left"]
    if given:
        words.insert(1, f"{percent(given)} given to analysts")
    now = percent(spent + given)
    return tag(
        "svg",
        tag("rect", x="0", y="0", width="100%", height="100%", rx=5, class_="whole"),
        tag("rect", x="0", y="0", width=percent(spent), height="100%", class_="spent"),
        tag("rect", x=percent(spent), y="0", width=percent(given), height="100%", class_="given"),
        tag("rect", x=now, y="0", width=percent(asked), height="100%", class_="asked", id="meter-asked"),
        class_="meter",
        width="100%",
        height=12,
        role="img",
        aria_label=", ".join(words),
        data_spent=f"{spent + given:.6f}",
    )
