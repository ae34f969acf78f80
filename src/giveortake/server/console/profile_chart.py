"""The error of a count against the cap on a person's rows: what the noise adds, and what the cap leaves out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from giveortake.plot.svg.markup import Markup, percent, tag
from giveortake.plot.svg.plane import Plane
from giveortake.plot.svg.scales import Scale, brief

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def profile_chart(lines: Sequence[Mapping[str, Any]]) -> Markup | None:
    """Noise, rows left out, and both together, for every cap, on logarithmic scales; the least error has a mark."""
    if len(lines) < 2:
        return None
    caps = [float(line["cap"]) for line in lines]
    most = max(line["error"] for line in lines)
    least = max(1.0, min(line["noise"] for line in lines) / 2)
    x, y = Scale(caps[0], caps[-1], "log"), Scale(least, max(most, 2 * least) * 1.2, "log")
    plane = Plane(x, y, height=256)
    best = min(lines, key=lambda line: line["error"])
    at = percent(x.at(best["cap"]))
    highs = [most if line["high"] is None else min(most, max(least, line["high"])) for line in lines]
    band = [(cap, max(least, line["low"]), high) for cap, line, high in zip(caps, lines, highs, strict=True)]
    return plane.chart(
        plane.band(band, class_="area"),
        plane.line([(float(line["cap"]), line["noise"]) for line in lines], class_="line other"),
        plane.line([(float(line["cap"]), max(least, line["bias"])) for line in lines], class_="line dotted"),
        plane.line([(float(line["cap"]), line["error"]) for line in lines], class_="line"),
        tag("line", x1=at, x2=at, y1=percent(1 - y.at(best["error"])), y2="100%", class_="guide"),
        tag("circle", cx=at, cy=percent(1 - y.at(best["error"])), r=6, class_="dot"),
        label=f"The error of a count is least, about {brief(best['error'])} rows, at a cap of {best['cap']:,.0f} rows",
        title="rows",
        x_title="rows of a person that count →",
        x_ticks=_caps(caps),
    )


def _caps(caps: Sequence[float]) -> list[tuple[float, str]]:
    every = math.ceil(len(caps) / 6)
    return [(cap, f"{cap:,.0f}") for cap in caps[::every]]
