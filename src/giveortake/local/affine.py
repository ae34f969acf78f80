"""Hash functions x ↦ ((a·x + b) mod P) mod g: pairwise independent, exactly, over a prime P [CW79].

With a and b uniform mod P, the places (a·x + b) mod P of two different x are independent and uniform. A bucket holds
⌈P/g⌉ or ⌊P/g⌋ places, so two different x meet with probability c = Σ (places of bucket y / P)², a known fraction.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from giveortake.randomness import IntArray

_DIRECT = 1 << 22  # comparisons at a time
_TABLE = 1 << 24  # cells of a table of counts


def prime_from(least: int) -> int:
    """The least prime that is at least `least`."""
    number = max(2, least)
    while any(number % divisor == 0 for divisor in range(2, int(number**0.5) + 1)):
        number += 1
    return number


def meeting(prime: int, buckets: int) -> Fraction:
    """The probability that two different values fall into the same bucket."""
    full, larger = divmod(prime, buckets)
    return Fraction(larger * (full + 1) ** 2 + (buckets - larger) * full**2, prime**2)


def bucket(values: Any, a: Any, b: Any, prime: int, buckets: int) -> Any:
    """The bucket of every value under its own hash function."""
    return (a * values + b) % prime % buckets


def supports(functions: tuple[IntArray, IntArray, IntArray], values: IntArray, prime: int, buckets: int) -> IntArray:
    """For every value, how many of the functions (a, b) send it to their y."""
    a, b, y = functions
    if prime * prime <= max(_TABLE, 64 * len(a)):
        return _by_table(functions, values, prime, buckets)
    totals = np.zeros(values.size, dtype=np.int64)
    step = max(1, _DIRECT // max(1, values.size))
    for start in range(0, a.size, step):
        part = slice(start, start + step)
        hit = bucket(values[None, :], a[part, None], b[part, None], prime, buckets) == y[part, None]
        totals += hit.sum(axis=0)
    return totals


def _by_table(functions: tuple[IntArray, IntArray, IntArray], values: IntArray, prime: int, buckets: int) -> IntArray:
    """The same by counting, for every a and t, the reports that support every value with a·value = t.

    A report supports t if (t + b) mod P is one of y, y + g, y + 2g, …, below P: a run with step g, cut in two where it
    passes P. Each piece is entered at its first t and left after its last one; sums with step g do the rest.
    """
    a, b, y = functions
    width = prime + buckets
    last = y + (prime - 1 - y) // buckets * buckets  # the greatest place below P in the bucket
    cut = np.maximum(0, -((y - b) // buckets) * buckets) + y  # the first place of the bucket that is at least b
    rows = a * width
    cells = np.zeros(prime * width, dtype=np.int64)
    after = cut <= last  # places from b on: t = place − b
    _enter(cells, (rows + cut - b)[after])
    _leave(cells, (rows + last - b + buckets)[after])
    before = cut > y  # places below b: t = place − b + P
    _enter(cells, (rows + y - b + prime)[before])
    _leave(cells, (rows + np.minimum(cut - buckets, last) - b + prime + buckets)[before])
    table = cells.reshape(prime, width)
    for offset in range(buckets):
        np.cumsum(table[:, offset::buckets], axis=1, out=table[:, offset::buckets])
    totals = np.zeros(values.size, dtype=np.int64)
    multipliers = np.arange(prime)
    for index, value in enumerate(values):
        totals[index] = table[multipliers, multipliers * value % prime].sum()
    return totals


def _enter(cells: np.ndarray[Any, np.dtype[np.int64]], places: Any) -> None:
    cells += np.bincount(places, minlength=cells.size)


def _leave(cells: np.ndarray[Any, np.dtype[np.int64]], places: Any) -> None:
    cells -= np.bincount(places, minlength=cells.size)
