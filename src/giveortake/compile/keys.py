"""Keys that were found in the data: their form for engines, and their order in answers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from giveortake.engines import Found, Keys
from giveortake.engines.questions import WIDEST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.compile.measurement import Measurement
    from giveortake.plan import Value


def with_keys(made: Measurement, found: Iterable[tuple[Value, ...]]) -> Keys:
    """Found keys, as positions among all combinations of their values if these fit into 64 bits."""
    listed = in_order(found)
    values = [_ordered({row[i] for row in listed}) for i in range(len(made.columns))]
    if math.prod(len(each) for each in values) >= WIDEST:
        return listed_keys(made, Found(len(listed), lambda: iter([listed])))
    places = [{value: place for place, value in enumerate(each)} for each in values]
    codes = set()
    for row in listed:
        code = 0
        for i, value in enumerate(row):
            code = code * len(values[i]) + places[i][value]
        codes.add(code)
    columns = tuple(replace(column, values=tuple(each)) for column, each in zip(made.columns, values, strict=True))
    return Keys(columns, tuple(sorted(codes)))


def in_order(rows: Iterable[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
    """Keys ordered by their values; missing values come last."""
    return sorted(rows, key=lambda row: [(value is None, value) for value in row])


def listed_keys(made: Measurement, found: Found) -> Keys:
    """Found keys, as a list."""
    return Keys(made.columns, found=found)


def _ordered(values: set[Value]) -> list[Value]:
    present: list[Any] = sorted((value for value in values if value is not None), key=lambda v: (type(v).__name__, v))
    return [*present, None] if None in values else present
