"""Keys by sorting: for every key the number of persons that have it, or the sum of the weights that they give it.

The integers are those of the statement, several times faster. Person and code are packed into one integer, and sorted
as in `sorted_tallies`. Hashes are computed here, because only persons of more keys than count need them.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from giveortake.engines.duckdb.sorted_tallies import (
    BLOCK,
    lengths_of,
    of_each,
    person_blocks,
    starts_of,
    unlimited,
)
from giveortake.engines.sql.hashes import hashes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy.typing as npt

    from giveortake.engines.duckdb.sorted_tallies import Integers
    from giveortake.engines.questions import Persons

    Totals: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
    Weights: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]

_DENSE = 1 << 22  # codes that are added up as an array of all of them


def key_totals(
    asked: Persons,
    persons: Integers,
    codes: Integers,
    marks: Sequence[npt.NDArray[np.int64]],
    *,
    threads: int | None = None,
    check: Callable[[], None] = unlimited,
) -> Totals | None:
    """The codes that occur among each person's first `groups` by hash and code, and the total of each.

    `marks` has the mark of every value of each key column. None if persons are spread too widely to be packed.
    """
    product, least = _product(marks), int(persons.min())
    pairs = _sorted_pairs(persons, codes, least, product)
    check()
    if pairs is None:
        return None
    given = np.array(asked.weights or [1], dtype=np.float64)  # doubles add integers exactly below 2^53
    keep = partial(_weights_of_block, groups=asked.groups, given=given, least=least, marks=marks)
    if product > _DENSE:
        blocks = person_blocks(pairs, 0, product, BLOCK // 2)
        return _sparse_total(list(of_each(blocks, keep, threads, check)))
    blocks = person_blocks(pairs, 0, product, max(BLOCK // 2, product))
    return _dense_total(of_each(blocks, partial(_dense_of_block, keep, product), threads, check), product)


def _sorted_pairs(persons: Integers, codes: Integers, least: int, product: int) -> npt.NDArray[np.int64] | None:
    """Person and code packed into one integer each, sorted; None if they do not fit."""
    most = int(persons.max())
    if (most - least + 1) * product >= 1 << 63 or most >= 1 << 63:
        return None
    pairs = persons.astype(np.int64)
    pairs -= least
    pairs *= product
    pairs += codes
    pairs.sort()
    return pairs


def _dense_of_block(
    keep: Callable[[npt.NDArray[np.int64]], Weights], product: int, block: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The sum of weights of each code up to `product`."""
    parts = [keep(part) for part in person_blocks(block, 0, product, BLOCK // 2)]
    code, weights = (np.concatenate([part[place] for part in parts]) for place in range(2))
    return np.bincount(code, weights=weights, minlength=product).astype(np.int64)


def _dense_total(sums: Iterable[npt.NDArray[np.int64]], product: int) -> Totals:
    total = np.zeros(product, dtype=np.int64)
    for part in sums:
        total += part
    codes = np.flatnonzero(total)
    return codes, total[codes]


def _sparse_total(parts: Sequence[Weights]) -> Totals:
    code, weights = (np.concatenate([part[place] for part in parts]) for place in range(2))
    order = np.argsort(code, kind="stable")
    starts = starts_of(code[order])
    totals = np.add.reduceat(weights[order], starts).astype(np.int64)
    return code[order][starts][totals > 0], totals[totals > 0]


def _weights_of_block(
    block: npt.NDArray[np.int64],
    *,
    groups: int,
    given: npt.NDArray[np.float64],
    least: int,
    marks: Sequence[npt.NDArray[np.int64]],
) -> Weights:
    """The code of every key of each person, and its weight: 0 if it does not count.

    Only the keys of persons with more than count are ordered by hash.
    """
    pairs, product = block[starts_of(block)], _product(marks)
    person = pairs // product
    code = pairs - person * product
    lengths = lengths_of(starts_of(person), person.size)
    weights = np.repeat(given[np.minimum(lengths, given.size) - 1], lengths)
    if int(lengths.max()) > groups:
        many = np.flatnonzero(np.repeat(lengths > groups, lengths))
        hashes = hashes_of(person[many] + least, _marks_of(code[many], marks))
        weights[np.delete(many, _first(groups, lengths[lengths > groups], hashes))] = 0
    return code, weights


def _product(marks: Sequence[npt.NDArray[np.int64]]) -> int:
    """How many codes there are."""
    return math.prod(each.size for each in marks)


def _marks_of(code: npt.NDArray[np.int64], marks: Sequence[npt.NDArray[np.int64]]) -> list[npt.NDArray[np.int64]]:
    """The marks of the values behind codes, column by column; the last column's place varies fastest."""
    found: list[npt.NDArray[np.int64]] = []
    for each in reversed(marks):
        rest = code // each.size
        found.append(each[code - rest * each.size])
        code = rest
    return found[::-1]


def _first(groups: int, lengths: npt.NDArray[np.int64], hashes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The places of each person's first `groups` keys, by hash and then by code."""
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
