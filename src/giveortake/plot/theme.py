"""One look for all charts, and charts as files.

- Colours that colour-blind people can tell apart, dashes that remain in grey.
- Files: SVG, PNG or HTML, without a browser and without a network.
"""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake.errors import InvalidParameter, NotFound, extra

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# Okabe and Ito's colours in an order in which neighbours also differ in lightness.
COLOURS = ("#000000", "#D55E00", "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#666666")
DASHES = ([1, 0], [8, 3], [2, 2], [8, 3, 2, 3], [16, 3, 2, 3, 2, 3], [4, 6], [1, 4], [6, 2, 1, 2, 1, 2])
WIDTH, HEIGHT = 420, 300
_TAG = re.compile(r"<(?=/|!--|script)", re.IGNORECASE)
_FONT = "DejaVu Sans, Helvetica, Arial, sans-serif"


def altair() -> Any:
    """The library that draws; it comes with the extra `[plot]` and is loaded by the first chart."""
    try:
        import altair  # noqa: PLC0415 (heavy, and optional)
    except ImportError:
        raise NotFound("charts need altair and vl-convert", hint=extra("plot")) from None
    return altair


def lines(
    rows: Sequence[dict[str, Any]],
    *,
    x: Any,
    y: Any,
    by: str,
    order: Sequence[str],
    title: str,
    subtitle: str | None = None,
    **mark: Any,
) -> Any:
    """Lines by name, each with a colour and a dash of its own; the legend is in the order of `order`."""
    alt = altair()
    legend = alt.Legend(title=None, symbolStrokeWidth=2, symbolSize=400, labelLimit=260)

    def scale(styles: Sequence[Any]) -> Any:
        return alt.Scale(domain=list(order), range=[styles[index % len(styles)] for index in range(len(order))])

    drawn = alt.Chart(alt.Data(values=list(rows))).mark_line(strokeWidth=2, **mark)
    encoded = drawn.encode(
        x=x,
        y=y,
        color=alt.Color(f"{by}:N", scale=scale(COLOURS), legend=legend, sort=list(order)),
        strokeDash=alt.StrokeDash(f"{by}:N", scale=scale(DASHES), legend=legend, sort=list(order)),
        detail="side:N",
    )
    return finished(encoded, title, subtitle)


def finished(chart: Any, title: str, subtitle: str | None = None) -> Any:
    """A chart with its title, in the common size."""
    words = altair().TitleParams(title, subtitle=subtitle or [], anchor="start")
    return shown_as_svg(chart.properties(width=WIDTH, height=HEIGHT, title=words))


class _ShownAsSVG:
    """A chart that a notebook shows as a picture: no script runs, and nothing is loaded from anywhere.

    Another renderer that is enabled in altair is left to do its work.
    """

    def _repr_mimebundle_(self, *arguments: Any, **options: Any) -> Any:
        if altair().renderers.active != "default":
            return super()._repr_mimebundle_(*arguments, **options)  # type: ignore[misc]  # (a mixin of charts)
        picture = io.StringIO()
        configured(self).save(picture, format="svg")
        return {"image/svg+xml": picture.getvalue()}

    def __add__(self, other: Any) -> Any:
        return shown_as_svg(super().__add__(other))  # type: ignore[misc]  # (as above)

    def __or__(self, other: Any) -> Any:
        return shown_as_svg(super().__or__(other))  # type: ignore[misc]  # (as above)

    def __and__(self, other: Any) -> Any:
        return shown_as_svg(super().__and__(other))  # type: ignore[misc]  # (as above)


def shown_as_svg(chart: Any) -> Any:
    """The same chart, which notebooks show as a picture; altair's own loads its scripts from the internet there."""
    if isinstance(chart, _ShownAsSVG):
        return chart
    kind: Any = type(type(chart).__name__, (_ShownAsSVG, type(chart)), {})
    return kind(**chart._kwds)  # noqa: SLF001 (as altair itself makes copies)


def configured(chart: Any) -> Any:
    """Apply the common look to a chart: once, when it is shown or saved."""
    return (
        chart.configure(font=_FONT, background="white")
        .configure_view(stroke=None)
        .configure_axis(
            labelFlush=False,
            gridColor="#dddddd",
            domainColor="#333333",
            tickColor="#333333",
            labelFontSize=12,
            titleFontSize=13,
        )
        .configure_legend(labelFontSize=12, orient="right")
        .configure_title(fontSize=15, subtitleFontSize=12, subtitleColor="#333333", offset=12)
    )


def without_tags(part: Any) -> Any:
    """A chart whose texts cannot begin or end a script in a notebook's page: keys come from rows."""
    if isinstance(part, str):
        return _TAG.sub("＜", part)
    if isinstance(part, dict):
        return {key: without_tags(element) for key, element in part.items()}
    if isinstance(part, list | tuple):
        return [without_tags(element) for element in part]
    keywords = getattr(part, "_kwds", None)
    if isinstance(keywords, dict):
        keywords.update({key: without_tags(element) for key, element in keywords.items()})
    return part


_PICTURES = (".svg", ".png", ".html", ".pdf", ".jpg", ".jpeg", ".gif", ".webp")
SUFFIXES = (".svg", ".png", ".html")


class _InScript(json.JSONEncoder):
    """JSON for a script in a page: no text in it ends the script."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c")


def save(chart: Any, path: str | os.PathLike[str]) -> Path:
    """Write a chart; the suffix says how. An HTML file holds all that it needs and opens without a network."""
    if isinstance(chart, str | os.PathLike):
        raise InvalidParameter(
            "chart", chart, "is no chart", hint=f"the chart comes first: save(chart, {str(chart)!r})"
        )
    target = Path(path)
    if target.suffix not in SUFFIXES:
        raise InvalidParameter("path", str(target), "has no suffix of a chart", hint=f"use {', '.join(SUFFIXES)}")
    target.parent.mkdir(parents=True, exist_ok=True)
    finished = configured(chart)
    match target.suffix:
        case ".png":
            finished.save(str(target), scale_factor=2)
        case ".html":
            finished.save(str(target), inline=True, json_kwds={"cls": _InScript})
        case _:
            finished.save(str(target))
    return target


def titled_or_saved(draw: Callable[[str | None], Any], title: str | os.PathLike[str] | None) -> Any:
    """Draw a chart with a title; where a path is given instead, draw it without a title and save it there.

    A text that ends like a picture, such as "visits.svg", is a path. A kind of picture that cannot be written is
    refused before anything is drawn.

    >>> gt.plot.titled_or_saved(lambda title: f"a chart of {title}", "visits")
    'a chart of visits'
    """
    if title is None or (isinstance(title, str) and Path(title).suffix.lower() not in _PICTURES):
        return draw(title)
    if Path(title).suffix not in SUFFIXES:
        raise InvalidParameter(
            "path",
            os.fspath(title),
            "ends like no picture that is written here",
            hint=f"end it with {', '.join(SUFFIXES)}",
        )
    chart = draw(None)
    save(chart, title)
    return chart
