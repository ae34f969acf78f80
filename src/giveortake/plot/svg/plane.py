"""A chart with two axes, as SVG that is as wide as its page: letters and lines keep their size, places are shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from giveortake.plot.svg.markup import Attribute, Markup, number, percent, tag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.plot.svg.scales import Scale

_TOP, _BOTTOM = 22, 26  # what titles and ticks take, in pixels
_RIGHT = 0.03  # what is free at the right, as a share of the width


@final
@dataclass(frozen=True, slots=True)
class Plane:
    """Two scales, and how high the chart is in pixels. Paths are drawn in thousandths of the plane."""

    x: Scale
    y: Scale
    height: int = 200
    left: float = 0.15  # what ticks take at the left, as a share of the width

    def path(self, d: str, **attributes: Attribute) -> Markup:
        """A path in thousandths: its strokes keep their width."""
        line = tag("path", d=d, vector_effect="non-scaling-stroke", **attributes)
        return tag("svg", line, viewBox="0 0 1000 1000", preserveAspectRatio="none", overflow="visible")

    def line(self, points: Iterable[tuple[float, float]], **attributes: Attribute) -> Markup:
        """Straight lines from place to place."""
        found = [f"{number(1000 * self.x.at(x))} {number(1000 * (1 - self.y.at(y)))}" for x, y in points]
        return self.path("M" + "L".join(found), **attributes)

    def band(self, points: Iterable[tuple[float, float, float]], **attributes: Attribute) -> Markup:
        """What lies between two lines over the same places: place, low, high."""
        rows = list(points)
        there = [(x, low) for x, low, _ in rows]
        back = [(x, high) for x, _, high in reversed(rows)]
        found = [f"{number(1000 * self.x.at(x))} {number(1000 * (1 - self.y.at(y)))}" for x, y in there + back]
        return self.path("M" + "L".join(found) + "Z", **attributes)

    def mark(self, x: float, y: float, d: str, class_: str = "arrow") -> Markup:
        """A small shape at shares of the plane, from the left and from the top; it is not stretched."""
        return tag("svg", tag("path", d=d, class_=class_), x=percent(x), y=percent(y), overflow="visible")

    def chart(
        self,
        *content: Markup,
        label: str,
        title: str,
        x_title: str = "",
        x_ticks: Iterable[tuple[float, str]] | None = None,
        y_ticks: Iterable[tuple[float, str]] | None = None,
        **attributes: Attribute,
    ) -> Markup:
        """The whole chart: axes with their ticks, the content, and a label for screen readers."""
        inner = self.height - _TOP - _BOTTOM - (16 if x_title else 0)
        across = [
            tag("text", said, x=percent(self.x.at(place)), y=inner + 17, class_=_anchor(self.x.at(place)))
            for place, said in (self.x.ticks(5) if x_ticks is None else x_ticks)
        ]
        up = []
        for place, said in self.y.ticks(4) if y_ticks is None else y_ticks:
            at = percent(1 - self.y.at(place))
            up.append(tag("line", x1="0", x2="100%", y1=at, y2=at, class_="grid"))
            up.append(tag("text", said, x=-7, y=at, dy="0.35em", class_="tick end"))
        frame = tag("line", x1="0", x2="100%", y1="100%", y2="100%", class_="axis")
        plane = tag(
            "svg",
            *up,
            frame,
            *content,
            *across,
            class_="plane",
            x=percent(self.left),
            y=_TOP,
            width=percent(1 - self.left - _RIGHT),
            height=inner,
            overflow="visible",
        )
        named = tag("text", title, x=percent(self.left), y=12, class_="tick")
        below = [tag("text", x_title, x=percent(1 - _RIGHT), y=self.height - 6, class_="tick end")] if x_title else []
        return tag(
            "svg",
            named,
            *below,
            plane,
            class_="chart",
            width="100%",
            height=self.height,
            role="img",
            aria_label=label,
            **attributes,
        )


def _anchor(share: float) -> str:
    """The class of a tick's text, by which a text at the right end stays inside."""
    return "tick end" if share > 0.97 else "tick middle"
