"""Charts as files: SVG, PNG or HTML, without a browser and without a network."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake.errors import InvalidParameter
from giveortake.plot.theme import configured

if TYPE_CHECKING:
    from collections.abc import Callable

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
    place = Path(path)
    if place.suffix not in SUFFIXES:
        raise InvalidParameter("path", str(place), "has no suffix of a chart", hint=f"use {', '.join(SUFFIXES)}")
    place.parent.mkdir(parents=True, exist_ok=True)
    finished = configured(chart)
    match place.suffix:
        case ".png":
            finished.save(str(place), scale_factor=2)
        case ".html":
            finished.save(str(place), inline=True, json_kwds={"cls": _InScript})
        case _:
            finished.save(str(place))
    return place


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
