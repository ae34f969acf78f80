"""Keys by sorting: for every key the number of persons that have it, or the sum of the weights that they give it.

The integers are those of the statement, several times faster; rows are packed and sorted as in `sorted_tallies`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from giveortake.engines.duckdb.sorted_tallies import (
    BLOCK,
    lengths_of,
    of_each,
    packed,
    person_blocks,
    starts_of,
    unlimited,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt

    from giveortake.engines.duckdb.sorted_tallies import Integers
    from giveortake.engines.questions import Persons

    Totals: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]

_DENSE = 1 << 22  # codes that are added up as an array of all of them


def key_totals(
    asked: Persons,
    persons: Integers,
    codes: Integers,
    hashes: Integers,
    product: int,
    *,
    threads: int | None = None,
    check: Callable[[], None] = unlimited,
) -> Totals | None:
    """The codes that occur among each person's first `groups` by hash and code, and the total of each."""
    found_order = packed(persons, codes, product)
    check()
    if found_order is None:
        return None
    order, shift = found_order
    keep = partial(_kept_of_block, hashes, shift, product, groups=asked.groups)
    if asked.weights is None:
        blocks = person_blocks(order, shift, product, BLOCK // 2)
        kept = np.concatenate([code for code, _ in of_each(blocks, keep, threads, check)])
        kept.sort()
        starts = starts_of(kept)
        return kept[starts], lengths_of(starts, kept.size)
    given = np.array(asked.weights, dtype=np.int64)
    blocks = person_blocks(order, shift, product, max(BLOCK // 2, product))
    sums = of_each(blocks, lambda block: _weights_of_block(given, product, *keep(block)), threads, check)
    return _sparse_total(sums) if product > _DENSE else _dense_total(sums, product)


def _weights_of_block(
    given: npt.NDArray[np.int64], product: int, code: npt.NDArray[np.int64], keys: npt.NDArray[np.int64]
) -> Totals:
    """The codes of a block and their weights together; all codes up to `product` if these are few."""
    weights = given[np.minimum(keys, given.size) - 1]
    if product <= _DENSE:  # doubles add integers exactly below 2^53
        return code[:0], np.bincount(code, weights=weights, minlength=product).astype(np.int64)
    order = np.argsort(code, kind="stable")
    starts = starts_of(code[order])
    return code[order][starts], np.add.reduceat(weights[order], starts)


def _dense_total(sums: Iterable[tuple[Any, npt.NDArray[np.int64]]], product: int) -> Totals:
    total = np.zeros(product, dtype=np.int64)
    for _, part in sums:
        total += part
    codes = np.flatnonzero(total)
    return codes, total[codes]


def _sparse_total(sums: Iterable[Totals]) -> Totals:
    parts = list(sums)
    code = np.concatenate([codes for codes, _ in parts])
    order = np.argsort(code, kind="stable")
    starts = starts_of(code[order])
    return code[order][starts], np.add.reduceat(np.concatenate([weights for _, weights in parts])[order], starts)


def _kept_of_block(hashes: Integers, shift: int, product: int, block: npt.NDArray[np.int64], *, groups: int) -> Totals:
    """The code of every key that counts, and how many keys its person has.

    Only persons of more keys than count have theirs ordered by hash.
    """
    key = block >> shift
    starts = starts_of(key)
    person, code = np.divmod(key[starts], product)
    lengths = lengths_of(starts_of(person), person.size)
    keys = np.repeat(lengths, lengths)
    if int(lengths.max()) <= groups:
        return code, keys
    many = keys > groups
    lines = block[starts[many]] & ((1 << shift) - 1)
    chosen = _first(groups, lengths[lengths > groups], hashes[lines])
    return np.concatenate([code[~many], code[many][chosen]]), np.concatenate([keys[~many], keys[many][chosen]])


def _first(groups: int, lengths: npt.NDArray[np.int64], hashes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The places of the first `groups` of each person by hash, then by code, in whose order they are."""
    number = np.repeat(np.arange(lengths.size), lengths)
    if hashes.size <= 1 << 16:  # person, hash and place in one number
        places = ((number << 47) + (hashes.astype(np.int64) << 16) + np.arange(hashes.size)).copy()
        places.sort()
        places &= (1 << 16) - 1
    else:
        places = np.lexsort((hashes, number))
    rank = np.arange(hashes.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    found: npt.NDArray[np.int64] = places[rank < groups]
    return found
