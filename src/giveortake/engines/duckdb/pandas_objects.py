"""Columns of pandas that hold objects of any kind: read as texts, unless the custodian declares what they are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from giveortake.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

_HALVES = re.compile("[\ud800-\udfff]")


def without_objects(frame: Any, kinds: Mapping[str, Kind] | None) -> tuple[Any, dict[str, Kind]]:
    """The table with texts in place of objects, and the kinds that are declared for those columns.

    Guarantee: what a cell holds decides about that cell alone. DuckDB would look at all of them and choose the type of
    the column, so that one row could change which rows of everybody count. Of a public table it may: `kinds` is None.
    """
    if kinds is None or not hasattr(frame, "isetitem"):  # it is public, or no table
        return frame, {}
    objects = [place for place, dtype in enumerate(frame.dtypes) if str(dtype) == "object"]
    texts = frame.copy(deep=False)
    for place in objects:
        texts.isetitem(place, frame.iloc[:, place].map(_text).astype("string"))
    names = [str(frame.columns[place]) for place in objects]
    return texts, {name: kinds[name] for name in names if kinds.get(name, Kind.TEXT) is not Kind.TEXT}


def _text(cell: Any) -> str | None:
    """A cell as text; None if it is missing, or cannot be converted.

    1.0 is 1, because pandas writes it so beside 2.5. Halves of letters, which no file holds, are U+FFFD.
    """
    if isinstance(cell, float):
        if cell != cell:  # noqa: PLR0124 (not a number)
            return None
        return str(int(cell)) if cell.is_integer() else repr(float(cell))
    if cell is None or type(cell).__name__ in {"NAType", "NaTType"}:
        return None
    try:
        text = str.__str__(cell) if isinstance(cell, str) else str(cell)
    except Exception:  # noqa: BLE001 (objects raise what they please, and one of them must not decide about the others)
        return None
    return _HALVES.sub("\N{REPLACEMENT CHARACTER}", text)
