"""Bounded tallies by sorting: the same integers as the statement of `statements`, several times faster.

Rows come out of the engine as a person, a code and the steps of each summand. Person, code and the number of the row
are packed into one integer of 64 bits; sorted, a person's rows of a group lie side by side, and a person's groups too.
What follows works on blocks of whole persons that stay in the processor's cache.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from giveortake.engines.sql.statements import LESS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    from giveortake.engines.questions import Bounding, Summand, Tally

    Integers: TypeAlias = npt.NDArray[np.integer[Any]]

Made = TypeVar("Made")
FEWEST_ROWS, MOST_ROWS = 1 << 17, 1 << 24  # fewer are not worth it; more would take too much memory
MOST_BYTES = 1 << 29
BLOCK = 1 << 16
_EXACT = 1 << 53


def suits(tally: Tally, rows: int) -> bool:
    """Whether so many rows can be tallied here: neither too few nor too many, and no sum leaves 62 bits."""
    if tally.bounding is None or not FEWEST_ROWS <= rows <= MOST_ROWS:
        return False
    if rows * (12 + 8 * len(tally.summands)) > MOST_BYTES:
        return False
    return all(
        rows * _reach(each) * each.fineness < 1 << 62 and rows**2 * each.fineness < 1 << 63 for each in tally.summands
    )


def unlimited() -> None:
    """Never raise: the `check` of work without a time limit."""


def bounded_sums(
    tally: Tally,
    persons: Integers,
    codes: Integers,
    steps: dict[int, Integers],
    *,
    threads: int | None = None,
    check: Callable[[], None] = unlimited,
) -> list[npt.NDArray[Any]] | None:
    """For each summand an array with a sum for each key; None if persons are spread too widely to be packed.

    `steps` has for each sum the steps of every row, and for each number of values whether a row has one. `check` is
    called between steps, and raises once the time is over.
    """
    assert tally.bounding is not None  # noqa: S101 (asked only then)
    found_order = packed(persons, codes, tally.keys.product)
    check()
    if found_order is None:
        return None
    order, shift = found_order
    found = [np.zeros(tally.keys.size, dtype=np.int64) for _ in tally.summands]
    wanted = None if tally.keys.wanted is None else np.array(tally.keys.wanted, dtype=np.int64)
    blocks = person_blocks(order, shift, tally.keys.product, max(BLOCK, tally.keys.size))
    work = partial(_block_sums, tally=tally, bounding=tally.bounding, shift=shift, steps=steps, wanted=wanted)
    for sums in of_each(blocks, work, threads, check):
        for index, each in enumerate(sums):
            found[index] += each
    return found


def of_each(
    blocks: Iterator[npt.NDArray[np.int64]],
    work: Callable[[npt.NDArray[np.int64]], Made],
    threads: int | None,
    check: Callable[[], None],
) -> Iterator[Made]:
    """Yield the result of each block, in order; work that has not begun when the time is over never begins."""
    with ThreadPoolExecutor(threads) as pool:  # numpy lets other threads run while it computes
        try:
            for made in pool.map(work, blocks):
                check()
                yield made
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _block_sums(
    block: npt.NDArray[np.int64],
    *,
    tally: Tally,
    bounding: Bounding,
    shift: int,
    steps: dict[int, Integers],
    wanted: npt.NDArray[np.int64] | None,
) -> list[npt.NDArray[np.int64]]:
    key = block >> shift
    starts = starts_of(key)
    pairs = key[starts]
    person = pairs // tally.keys.product
    code = pairs - person * tally.keys.product
    c = lengths_of(starts, key.size)
    few = tally.keys.size <= bounding.groups
    m = np.ones_like(c) if few else _repeated(lengths_of(starts_of(person), person.size))
    places = code if wanted is None else np.searchsorted(wanted, code)
    lines = block & ((1 << shift) - 1)
    found = []
    for index, summand in enumerate(tally.summands):
        a = np.add.reduceat(steps[index][lines], starts, dtype=np.int64) if index in steps else None
        found.append(_summed(places, _part(summand, a, c, m, bounding), tally.keys.size))
    return found


def packed(persons: Integers, codes: Integers, product: int) -> tuple[npt.NDArray[np.int64], int] | None:
    """Person, code and row number packed into one integer each, sorted, and the bits of the row number."""
    shift = max(persons.size - 1, 1).bit_length()
    least, most = int(persons.min()), int(persons.max())
    if (most - least + 1) * product >= 1 << (63 - shift) or most >= 1 << 63:
        return None
    order = persons.astype(np.int64)
    order -= least
    order *= product
    order += codes
    order <<= shift
    for start in range(0, order.size, BLOCK):
        part = order[start : start + BLOCK]
        part += np.arange(start, start + part.size)
    order.sort()
    return order, shift


def person_blocks(order: npt.NDArray[np.int64], shift: int, product: int, rows: int) -> Iterator[npt.NDArray[np.int64]]:
    """Yield stretches of about `rows` rows; no person is in two of them."""
    firsts = ((order[::rows] >> shift) // product * product) << shift
    borders = np.unique(np.append(np.searchsorted(order, firsts), order.size))
    for start, end in itertools.pairwise(borders):
        yield order[start:end]


def starts_of(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Where stretches of equal values begin."""
    changed = np.empty(values.size, dtype=np.bool_)
    changed[0] = True
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    return np.flatnonzero(changed)


def lengths_of(starts: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """The lengths of the stretches that begin there."""
    return np.diff(starts, append=size)


def _repeated(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.repeat(lengths, lengths)


def _part(
    summand: Summand,
    a: npt.NDArray[np.int64] | None,
    c: npt.NDArray[np.int64],
    m: npt.NDArray[np.int64],
    bounding: Bounding,
) -> npt.NDArray[np.int64]:
    """Each person's bounded contribution, by the same operations in the same order as in the statement."""
    fine, rows, groups = summand.fineness, bounding.rows, bounding.groups
    within = m <= groups
    if a is None:
        whole: npt.NDArray[np.int64] = np.full_like(c, fine) if summand.counts_persons else np.minimum(c, rows) * fine
        if within.all():
            return whole
        part: npt.NDArray[np.float64] = whole * LESS * np.minimum(m, groups) / m
    else:
        within &= c <= rows
        whole = a * fine
        part = a.astype(np.float64) * (np.minimum(c, rows) * fine * LESS * np.minimum(m, groups) / c / m)
    return np.where(within, whole, np.trunc(part).astype(np.int64))


def _summed(places: npt.NDArray[np.int64], parts: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """Sums of parts by place; doubles add integers exactly below 2^53."""
    if int(np.abs(parts).max()) * parts.size < _EXACT:
        return np.bincount(places, weights=parts, minlength=size).astype(np.int64)
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, places, parts)
    return total


def _reach(summand: Summand) -> int:
    return 1 if summand.quantum is None else max(summand.quantum.reach, 1)


def counted(summands: Sequence[Summand]) -> list[int]:
    """The indexes of summands that need a number from every row."""
    return [index for index, each in enumerate(summands) if each.reads_values]
