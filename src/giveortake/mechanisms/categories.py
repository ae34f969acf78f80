"""Categories, and counting values by them."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Hashable, Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    import numpy.typing as npt

_SHOWN_AS_THEY_ARE = (str, bytes, bool, int)  # equal values of one of these types look the same
_SHOWN_BY_REPR = (float, Decimal, datetime.date, datetime.datetime, datetime.time, datetime.timedelta)


def checked_categories(categories: Iterable[Hashable], *, least: int = 1) -> tuple[Hashable, ...]:
    """Distinct categories in the order given."""
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
    index = {category: position for position, category in enumerate(categories)}
    try:
        return np.array([index[answer] for answer in elements(answers)], dtype=np.int64)
    except (KeyError, TypeError):
        known = ", ".join(repr(category) for category in categories[:10])
        raise InvalidParameter("answer", "<given>", f"is not one of the categories {known}") from None


def counts_of(values: Iterable[Any], categories: tuple[Hashable, ...]) -> npt.NDArray[np.int64]:
    """How many values fall into each category; missing values and values outside the categories count nowhere."""
    index = {category: position for position, category in enumerate(categories)}
    found = Counter(index.get(value, -1) for value in elements(values) if isinstance(value, Hashable))
    return np.array([found[position] for position in range(len(categories))], dtype=np.int64)


def discovered_counts(values: Iterable[Any]) -> list[tuple[Hashable, int]]:
    """Every value that occurs and how often, in an order that does not depend on the order of the values.

    Two values are the same key only if nobody could tell them apart: 1, 1.0 and True are three keys. Otherwise the
    first row of a group would choose how the group is shown. Text, numbers, dates and tuples of these are counted;
    missing values, and values of other types, count nowhere.
    """
    shown: dict[Hashable, Any] = {}
    counts: Counter[Hashable] = Counter()
    for value in elements(values):
        identity = _identity(value)
        if identity is not None:
            shown.setdefault(identity, value)
            counts[identity] += 1
    pairs = [(shown[identity], count) for identity, count in counts.items()]
    return sorted(pairs, key=lambda pair: (type(pair[0]).__name__, repr(pair[0])))


def elements(values: Iterable[Any]) -> Iterable[Any]:
    """The elements of a sequence or of a numpy, Polars, pandas or Arrow column, as plain Python values."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidParameter("values", type(values).__name__, "is not a list or a column of values")
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(values, method):
            found: Iterable[Any] = getattr(values, method)()
            return found
    return [_plain(value) for value in values]


def _identity(value: Any) -> Hashable | None:
    """What a reader can see of a value; None if it is missing or of a type that is not counted."""
    if type(value) in _SHOWN_AS_THEY_ARE:
        return type(value), value
    if type(value) in _SHOWN_BY_REPR:
        return None if _is_missing(value) else (type(value), repr(value))
    if type(value) is tuple:
        parts = tuple(_identity(part) for part in value)
        return None if None in parts else (tuple, parts)
    return None


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_missing(value: Any) -> bool:
    """None and not-a-number (which differs from itself) stand for a value that is not there."""
    return value is None or bool(value != value)  # noqa: PLR0124
