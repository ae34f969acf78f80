"""Hash functions x ↦ ((a·x + b) mod P) mod g: pairwise independent, exactly, over a prime P [CW79].

With a and b uniform mod P, the places (a·x + b) mod P of two different x are independent and uniform. A bucket holds
⌈P/g⌉ or ⌊P/g⌋ places, so two different x meet with probability c = Σ (places of bucket y / P)², a known fraction.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from giveortake.randomness import IntArray

_CELLS = 1 << 22  # comparisons, or cells of a table of counts, at a time


def prime_from(least: int) -> int:
    """The least prime that is at least `least`."""
    number = max(2, least)
    while any(number % divisor == 0 for divisor in range(2, int(number**0.5) + 1)):
        number += 1
    return number


@lru_cache(maxsize=64)
def is_prime(number: int) -> bool:
    """Whether a number below 2^32 is a prime."""
    return number > 1 and all(number % divisor for divisor in range(2, isqrt(number) + 1))


def meeting(prime: int, buckets: int) -> Fraction:
    """The probability that two different values fall into the same bucket."""
    full, larger = divmod(prime, buckets)
    return Fraction(larger * (full + 1) ** 2 + (buckets - larger) * full**2, prime**2)


def bucket(values: Any, a: Any, b: Any, prime: int, buckets: int) -> Any:
    """The bucket of every value under its own hash function."""
    return (a * values + b) % prime % buckets


def supports(functions: tuple[IntArray, IntArray, IntArray], values: IntArray, prime: int, buckets: int) -> IntArray:
    """For every value, how many of the functions (a, b) send it to their y."""
    return (_by_runs if prime * (prime + values.size) <= len(functions[0]) * values.size else _one_by_one)(
        functions, values, prime, buckets
    )


def _one_by_one(functions: tuple[IntArray, IntArray, IntArray], values: IntArray, prime: int, buckets: int) -> IntArray:
    a, b, y = functions
    totals = np.zeros(values.size, dtype=np.int64)
    step = max(1, _CELLS // max(1, values.size))
    for start in range(0, a.size, step):
        part = slice(start, start + step)
        hit = bucket(values[None, :], a[part, None], b[part, None], prime, buckets) == y[part, None]
        totals += hit.sum(axis=0)
    return totals


def _by_runs(functions: tuple[IntArray, IntArray, IntArray], values: IntArray, prime: int, buckets: int) -> IntArray:
    """`supports` by counting, for every a and t, the reports that support every value with a·value = t.

    A report supports t if (t + b) mod P is one of y, y + g, y + 2g, …, below P: a run with step g, cut in two where it
    passes P. Each piece is entered at its first t and left after its last one; sums with step g do the rest. The table
    has P rows; as many of them are made at a time as fit in memory.
    """
    width = prime + buckets
    height = max(1, _CELLS // width)
    order = np.argsort(functions[0], kind="stable") if height < prime else None
    a, b, y = functions if order is None else (part[order] for part in functions)
    totals = np.zeros(values.size, dtype=np.int64)
    for first in range(0, prime, height):
        rows = np.arange(first, min(prime, first + height))
        part = slice(*np.searchsorted(a, [first, first + height])) if order is not None else slice(None)
        table = _runs(((a[part] - first) * width, b[part], y[part]), rows.size, prime, buckets)
        flat = np.arange(rows.size) * width
        for index, value in enumerate(values):
            totals[index] += table.take(flat + rows * value % prime).sum()
    return totals


def _runs(entries: tuple[IntArray, IntArray, IntArray], height: int, prime: int, buckets: int) -> IntArray:
    """How many reports support each t, for a few rows a: the rows' offsets, the b and the y of reports are given."""
    rows, b, y = entries
    width = prime + buckets
    last = y + (prime - 1 - y) // buckets * buckets  # the greatest place below P in the bucket
    cut = np.maximum(0, -((y - b) // buckets) * buckets) + y  # the first place of the bucket that is at least b
    after, before = cut <= last, cut > y
    cells = _tally((rows + cut - b)[after], height * width)  # places from b on: t = place − b
    cells -= _tally((rows + last - b + buckets)[after], height * width)
    cells += _tally((rows + y - b + prime)[before], height * width)  # places below b: t = place − b + P
    cells -= _tally((rows + np.minimum(cut - buckets, last) - b + prime + buckets)[before], height * width)
    table = cells.reshape(height, width)
    for offset in range(buckets):
        np.cumsum(table[:, offset::buckets], axis=1, out=table[:, offset::buckets])
    return cells


def _tally(places: IntArray, size: int) -> IntArray:
    return np.bincount(places, minlength=size)
