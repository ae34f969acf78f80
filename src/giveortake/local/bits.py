"""Counting columns of packed bits, sixty-four at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

_BLOCK = 1 << 14  # rows at a time
_MASKS = np.array([1 << bit for bit in range(8)], dtype=np.uint8)


def column_sums(rows: np.ndarray[Any, np.dtype[np.uint8]], columns: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """How many rows have each bit set.

    Rows are added up like numbers written below each other, all columns at once: a full adder turns three rows into
    one row of sums and one of carries, which weigh twice as much.
    """
    totals = np.zeros(columns, dtype=np.int64)
    missing = -rows.shape[1] % 8
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        if missing:
            block = np.pad(block, ((0, 0), (0, missing)))
        totals += _block_sums(np.ascontiguousarray(block).view(np.uint64), columns)
    return totals


def grouped_sums(
    groups: np.ndarray[Any, np.dtype[Any]], rows: np.ndarray[Any, np.dtype[np.uint8]], count: int, columns: int
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The column sums of the rows of every group 0 … count − 1, one line for each group."""
    order = np.argsort(groups, kind="stable")
    edges = np.searchsorted(groups[order], np.arange(count + 1))
    together = rows[order]
    return np.stack([column_sums(together[edges[one] : edges[one + 1]], columns) for one in range(count)])


def _block_sums(addends: np.ndarray[Any, np.dtype[np.uint64]], columns: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    totals, weight = np.zeros(columns, dtype=np.int64), 1
    while len(addends):
        carries = []
        while len(addends) >= 3:
            third = len(addends) // 3
            first, second, last = addends[:third], addends[third : 2 * third], addends[2 * third : 3 * third]
            odd = first ^ second
            carries.append((first & second) | (last & odd))
            addends = np.concatenate([odd ^ last, addends[3 * third :]])
        flags = np.unpackbits(addends.view(np.uint8), axis=1, bitorder="little", count=columns)
        totals += weight * flags.sum(axis=0, dtype=np.int64)
        addends = np.concatenate(carries) if carries else addends[:0]
        weight *= 2
    return totals


def set_bits(
    rows: np.ndarray[Any, np.dtype[np.uint8]],
    columns: np.ndarray[Any, np.dtype[np.int64]],
    values: np.ndarray[Any, np.dtype[np.bool_]],
) -> None:
    """Set one bit of every row, in place."""
    flat = rows.reshape(-1)  # a view: the rows are contiguous
    places = np.arange(0, flat.size, max(1, rows.shape[1]))
    places += columns >> 3
    masks = _MASKS.take(columns & 7)
    found = flat.take(places)
    flat[places] = np.where(values, found | masks, found & ~masks)
