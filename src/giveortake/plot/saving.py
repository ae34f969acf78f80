"""Charts as files: SVG, PNG or HTML, without a browser and without a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake.errors import InvalidParameter
from giveortake.plot.theme import configured

if TYPE_CHECKING:
    import os

SUFFIXES = (".svg", ".png", ".html")


def save(chart: Any, path: str | os.PathLike[str]) -> Path:
    """Write a chart; the suffix says how. An HTML file holds all that it needs and opens without a network."""
    place = Path(path)
    if place.suffix not in SUFFIXES:
        raise InvalidParameter("path", str(place), "has no suffix of a chart", hint=f"use {', '.join(SUFFIXES)}")
    place.parent.mkdir(parents=True, exist_ok=True)
    finished = configured(chart)
    match place.suffix:
        case ".png":
            finished.save(str(place), scale_factor=2)
        case ".html":
            finished.save(str(place), inline=True)
        case _:
            finished.save(str(place))
    return place
