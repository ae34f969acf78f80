"""Categories, and counting values by them."""

from __future__ import annotations

import datetime
import enum
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from giveortake.errors import HIDDEN, InvalidParameter

if TYPE_CHECKING:
    import numpy.typing as npt

_SHOWN_AS_THEY_ARE = (str, bytes, bool, int)  # equal values of one of these types look the same
_SHOWN_BY_REPR = (float, Decimal, datetime.date, datetime.datetime, datetime.time, datetime.timedelta, UUID)
_DEEPEST = 8  # levels of tuples within tuples


def checked_categories(categories: Iterable[Hashable], *, least: int = 1) -> tuple[Hashable, ...]:
    """Check that there are enough categories, all distinct, and return them in the order given."""
    if isinstance(categories, str | bytes) or not isinstance(categories, Iterable):
        raise InvalidParameter("categories", categories, "is not a list of categories")
    found = tuple(_plain(category) for category in categories)
    if len(found) < least:
        raise InvalidParameter("categories", list(found), f"has fewer than {least} categories")
    seen: set[Hashable] = set()
    for category in found:
        if not isinstance(category, Hashable) or _is_missing(category):
            raise InvalidParameter("categories", category, "cannot be a category")
        if category in seen:
            raise InvalidParameter("categories", category, "occurs twice", hint="list every category once")
        seen.add(category)
    return found


def positions(answers: Iterable[Any], categories: tuple[Hashable, ...]) -> npt.NDArray[np.int64]:
    """The index of every answer's category; an answer outside them is refused."""
    index = _index(categories)
    found = [_position(answer, index) for answer in elements(answers)]
    if None in found:
        known = ", ".join(repr(category) for category in categories[:10])
        raise InvalidParameter("answer", HIDDEN, f"is not one of the categories {known}")
    return np.array(found, dtype=np.int64)


def counts_of(values: Iterable[Any], categories: tuple[Hashable, ...]) -> npt.NDArray[np.int64]:
    """How many values fall into each category; missing values and values outside the categories count nowhere."""
    index = _index(categories)
    found = Counter(_position(value, index) for value in elements(values))
    return np.array([found[position] for position in range(len(categories))], dtype=np.int64)


def discovered_counts(values: Iterable[Any]) -> list[tuple[Hashable, int]]:
    """Every value that occurs and how often, in an order that does not depend on the order of the values.

    How a key is shown depends on the value alone, not on who came first: 1.0 is shown as 1, whether or not a missing
    value elsewhere made a library turn integers into floats, and True stays apart from 1. Text, numbers, dates, UUIDs,
    enumerations and tuples of these are counted; missing values, and values of other types, count nowhere. No row can
    make this fail.
    """
    shown: dict[Hashable, Any] = {}
    counts: Counter[Hashable] = Counter()
    for value in elements(values):
        identity = _identity(value)
        if identity is not None:
            key = _key(value)
            identity = _identity(key)
            shown.setdefault(identity, key)
            counts[identity] += 1
    return [(shown[identity], count) for identity, count in sorted(counts.items())]


def elements(values: Iterable[Any]) -> list[Any]:
    """The elements of a sequence or of a numpy, Polars, pandas or Arrow column, as plain Python values."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidParameter("values", HIDDEN, "is not a list or a column of values", hint="pass one value per row")
    if hasattr(values, "columns") or getattr(values, "ndim", 1) != 1:
        raise InvalidParameter("values", HIDDEN, "is a table, not a column", hint="pass one of its columns")
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(values, method):
            return [_plain(value) for value in getattr(values, method)()]
    return [_plain(value) for value in values]


def _index(categories: tuple[Hashable, ...]) -> dict[Hashable, int]:
    return {category: position for position, category in enumerate(categories)}


def _position(value: Any, index: dict[Hashable, int]) -> int | None:
    try:
        return index.get(value)
    except TypeError:  # what cannot be hashed is no category
        return None


def _identity(value: Any, depth: int = 0) -> tuple[str, Any] | None:
    """What a reader can see of a key, in a form that sorts; None if it is missing or of a type that is not counted."""
    kind = type(value)
    if kind in _SHOWN_AS_THEY_ARE:
        return kind.__name__, value
    if kind in _SHOWN_BY_REPR:
        return None if _is_missing(value) or not _has_known_zone(value) else (kind.__name__, repr(value))
    if isinstance(value, enum.Enum):
        return f"{kind.__module__}.{kind.__qualname__}", value.name
    if kind is tuple and depth < _DEEPEST:
        parts = tuple(_identity(part, depth + 1) for part in value)
        return None if None in parts else ("tuple", parts)
    return None


def _key(value: Any) -> Any:
    """The one form in which a value is shown as a key: whole floats as integers, also inside tuples."""
    if type(value) is float and value.is_integer():
        return int(value)
    return tuple(_key(part) for part in value) if type(value) is tuple else value


def _has_known_zone(value: Any) -> bool:
    """Whether a time has no zone, or one that its printed form describes fully."""
    zone = getattr(value, "tzinfo", None)
    return zone is None or type(zone) is datetime.timezone


def _plain(value: Any) -> Any:
    """A numpy or pandas scalar as a plain Python value; an interval or a period as its text."""
    if isinstance(value, np.generic):
        return value.item()
    if type(value).__module__.partition(".")[0] != "pandas":
        return value
    if hasattr(value, "to_pydatetime"):
        return None if value.year != value.year else value.to_pydatetime(warn=False)
    return str(value) if hasattr(value, "left") or hasattr(value, "freqstr") else None


def _is_missing(value: Any) -> bool:
    """Whether a value is missing: None or not-a-number."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (isinstance(value, Decimal) and value.is_nan())
