"""Several tables as one, as SQL stacks GROUPING SETS: a column that a table lacks is missing there."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from giveortake.answers.column import Column, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.answers import Answer
    from giveortake.answers.column import Kind, Listed, Value, Values

GROUPING = "grouping"


def stacked_columns(tables: Sequence[tuple[str, Answer]], order: Sequence[str]) -> list[Column]:
    """The columns of all tables, one table below the other, in the given order; the first column names the table."""
    names: chain[str] = chain.from_iterable([name] * len(table) for name, table in tables)
    lengths = [len(table) for _, table in tables]
    found = [{column.name: column for column in table.columns} for _, table in tables]
    stacked = [Column(GROUPING, list(names), kind="text")]
    for name in order:
        columns = [each.get(name) for each in found]
        there = [column for column in columns if column is not None]
        if not there:
            continue
        values = _below(lengths, [None if column is None else column.values for column in columns])
        if not there[0].has_interval:
            stacked.append(Column(name, values, kind=_kind(there)))
            continue
        low = _below(lengths, [None if column is None else column.low for column in columns])
        high = _below(lengths, [None if column is None else column.high for column in columns])
        stacked.append(Column(name, values, low, high, kind=_kind(there)))
    return stacked


def _kind(columns: Sequence[Column]) -> Kind:
    return next((column.kind for column in columns if column.kind != "nothing"), "nothing")


def _below(lengths: Sequence[int], parts: Sequence[Values | None]) -> Listed:
    """Concatenate values: an array if all of them are numbers, else a list, with None for missing ones."""
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if len(arrays) == len(parts):
        return np.concatenate(arrays)
    listed: list[Value] = []
    for length, part in zip(lengths, parts, strict=True):
        listed.extend([None] * length if part is None else plain(part))
    return listed
