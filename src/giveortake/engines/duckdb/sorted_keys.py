"""Keys by sorting: for every key the number of persons that have it, or the sum of the weights that they give it.

The integers are those of the statement, several times faster; rows are packed and sorted as in `sorted_tallies`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

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
    from collections.abc import Callable

    import numpy.typing as npt

    from giveortake.engines.duckdb.sorted_tallies import Integers
    from giveortake.engines.questions import Persons


def key_totals(
    asked: Persons,
    persons: Integers,
    codes: Integers,
    hashes: Integers,
    product: int,
    *,
    threads: int | None = None,
    check: Callable[[], None] = unlimited,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """The codes that occur among each person's first `groups` by hash and code, and the total of each."""
    found_order = packed(persons, codes, product)
    check()
    if found_order is None:
        return None
    order, shift = found_order
    steps = 1 if asked.weights is None else asked.groups  # what a code is multiplied by, to make room for a weight
    if product * steps >= 1 << 63:
        return None
    blocks = person_blocks(order, shift, product, BLOCK // 2)
    work = partial(_kept_of_block, hashes, shift, product, groups=asked.groups, steps=steps)
    kept = np.concatenate(list(of_each(blocks, work, threads, check)))
    kept.sort()
    if asked.weights is None:
        starts = starts_of(kept)
        return kept[starts], lengths_of(starts, kept.size)
    code, place = np.divmod(kept, steps)
    starts = starts_of(code)
    return code[starts], np.add.reduceat(np.array(asked.weights, dtype=np.int64)[place], starts)


def _kept_of_block(
    hashes: Integers, shift: int, product: int, block: npt.NDArray[np.int64], *, groups: int, steps: int
) -> npt.NDArray[np.int64]:
    """The code of every key that counts, times `steps`, plus the place of its weight where there are several.

    Only persons of more keys than count have theirs ordered by hash.
    """
    key = block >> shift
    starts = starts_of(key)
    person, code = np.divmod(key[starts], product)
    lengths = lengths_of(starts_of(person), person.size)
    place = np.repeat(np.minimum(lengths, steps) - 1, lengths)
    marked: npt.NDArray[np.int64] = code * steps + place
    if int(lengths.max()) <= groups:
        return marked
    many = np.repeat(lengths > groups, lengths)
    lines = block[starts[many]] & ((1 << shift) - 1)
    chosen = _first(groups, lengths[lengths > groups], hashes[lines])
    return np.concatenate([marked[~many], marked[many][chosen]])


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
