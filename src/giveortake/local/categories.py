"""Surveys of listed categories: randomized response, unary encoding, local hashing, Hadamard response.

- Unary encoding: one bit for each category, each flipped on its own. Packed bits are counted sixty-four at a time.
- Local hashing: a random function with few values, drawn anew by every respondent, then randomized response.
- Hadamard response: a report is one number, and estimating is one fast transform.

Hash functions are x ↦ ((a·x + b) mod P) mod g: pairwise independent, exactly, over a prime P [CW79]. With a and b
uniform mod P, the places (a·x + b) mod P of two different x are independent and uniform. A bucket holds ⌈P/g⌉ or ⌊P/g⌋
places, so two different x meet with probability c = Σ (places of bucket y / P)², a known fraction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from giveortake.codec import stored
from giveortake.errors import DamagedReports, InvalidParameter
from giveortake.exact import whole
from giveortake.local.frequencies import FrequencyOracle, survey_categories
from giveortake.local.survey import (
    Reports,
    is_one,
    packed_rows,
    ratio_below,
    survey_epsilon,
    survey_name,
    whole_numbers,
)
from giveortake.mechanisms.histogram import positions
from giveortake.mechanisms.mechanism import source
from giveortake.privacy import events
from giveortake.randomness import bernoulli, packed_bernoulli, uniform_integers

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from giveortake.exact import Number
    from giveortake.randomness import Entropy, IntArray


_CELLS = 1 << 22  # comparisons, or cells of a table of counts, at a time


def prime_from(least: int) -> int:
    """The least prime that is at least `least`."""
    number = max(2, least)
    while any(number % divisor == 0 for divisor in range(2, int(number**0.5) + 1)):
        number += 1
    return number


@lru_cache(maxsize=64)
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
    offsets = np.arange(0, flat.size, max(1, rows.shape[1]))
    offsets += columns >> 3
    masks = _MASKS.take(columns & 7)
    old_bytes = flat.take(offsets)
    flat[offsets] = np.where(values, old_bytes | masks, old_bytes & ~masks)


@stored("randomized-response")
@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class RandomizedResponse(FrequencyOracle):
    """Report your own category with probability r/(r + k − 1), else one of the other k − 1 at random.

    Guarantee [War65, KOV16]: ε-DP for the person who answers; r is a fraction just below e^ε. The best survey for few
    categories or a large ε.

    >>> survey = RandomizedResponse(["never", "once", "often"], epsilon=1)
    >>> survey.support[0] / survey.support[1] == survey.ratio
    True
    """

    categories: tuple[str | int | bool, ...]
    epsilon: Fraction
    name: str = ""

    citation: ClassVar[str] = (
        "Warner: Randomized response, JASA 1965; Kairouz, Oh, Viswanath: Extremal mechanisms, 2016"
    )

    def __init__(self, categories: Iterable[Hashable], epsilon: Number, *, name: str = "") -> None:
        self._set(
            categories=survey_categories(categories),
            name=survey_name(name),
            epsilon=survey_epsilon(epsilon),
        )

    def event(self) -> events.RandomizedResponse:
        return events.RandomizedResponse(self.epsilon, len(self.categories))

    def bits(self) -> int:
        return (len(self.categories) - 1).bit_length()

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        total = self.ratio + len(self.categories) - 1
        return self.ratio / total, 1 / total

    def law(self, value: Any) -> dict[Hashable, Fraction]:
        own = self.categories[int(self.codes([value])[0])]
        true, false = self.support
        return {category: true if category == own else false for category in self.categories}

    def randomize(self, values: Any, entropy: Entropy | None = None) -> Any:
        codes = self.codes([values] if is_one(values) else values)
        reports = respond(codes, len(self.categories), self.support[1], source(entropy))
        return self.categories[int(reports[0])] if is_one(values) else self._reports(reports)

    def counts(self, data: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.bincount(data, minlength=len(self.categories))

    def checked(self, listed: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        if isinstance(listed, np.ndarray) and listed.dtype.kind in "iu" and self._are_places():
            return whole_numbers(listed, len(self.categories))
        try:
            return positions(listed, self.categories)
        except InvalidParameter:
            raise DamagedReports("a report is not one of the categories of this survey") from None

    def stored(self, data: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        return whole_numbers(data, len(self.categories))

    def from_plain(self, listed: list[Any]) -> Any:
        return whole_numbers(listed, len(self.categories))

    def _reports(self, data: np.ndarray[Any, np.dtype[Any]]) -> Reports:
        return Reports(self.fingerprint, data, self.categories)


def respond(
    codes: np.ndarray[Any, np.dtype[np.int64]], categories: int, false: Fraction, coins: Entropy
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Randomized response on places: with probability 1 − k·q the truth, else any of the k at random.

    The truth then comes with 1 − (k − 1)q, any other category with q: the same law, and one array less.
    """
    honest = bernoulli(1 - categories * false, codes.size, coins)
    reports = uniform_integers(categories, codes.size, coins)
    np.copyto(reports, codes, where=honest)
    return reports


@stored("unary-encoding")
@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class UnaryEncoding(FrequencyOracle):
    """A row of bits, one for each category: yours is set with probability p, every other one with probability q.

    Guarantee [WBLJ17]: two answers differ in two bits, so the ratio of the probabilities of any report is at most
    p(1−q)/(q(1−p)), which is at most e^ε. Optimised: p = ½ and q = 1/(r + 1), of least variance for rare categories.
    Symmetric: p = s/(s + 1) = 1 − q with s just below e^(ε/2).

    >>> UnaryEncoding(range(100), epsilon=1).support[0]
    Fraction(1, 2)
    """

    categories: tuple[str | int | bool, ...]
    epsilon: Fraction
    symmetric: bool
    support: tuple[Fraction, Fraction] = field(init=False)
    name: str = ""

    in_rows: ClassVar[bool] = True
    citation: ClassVar[str] = "Wang, Blocki, Li, Jha: Locally differentially private protocols, USENIX Security 2017"

    def __init__(
        self, categories: Iterable[Hashable], epsilon: Number, *, symmetric: bool = False, name: str = ""
    ) -> None:
        self._set(
            categories=survey_categories(categories),
            name=survey_name(name),
            epsilon=survey_epsilon(epsilon),
            symmetric=bool(symmetric),
        )
        whole_ratio, half_ratio = ratio_below(self.epsilon), ratio_below(self.epsilon / 2)
        optimised = Fraction(1, 2), 1 / (whole_ratio + 1)
        even = half_ratio / (half_ratio + 1), 1 / (half_ratio + 1)
        self._set(support=even if symmetric else optimised)

    @property
    def ratio(self) -> Fraction:
        true, false = self.support
        return true * (1 - false) / (false * (1 - true))

    def bits(self) -> int:
        return len(self.categories)

    def law(self, value: Any) -> dict[Hashable, Fraction]:
        own = int(self.codes([value])[0])
        chances = [self.support[index != own] for index in range(len(self.categories))]
        return {
            report: prod((p if bit else 1 - p for p, bit in zip(chances, report, strict=True)), start=Fraction(1))
            for report in product((0, 1), repeat=len(chances))
        }

    def randomize(self, values: Any, entropy: Entropy | None = None) -> Any:
        codes = self.codes([values] if is_one(values) else values)
        true, false = self.support
        coins = source(entropy)
        rows = packed_bernoulli(false, codes.size, len(self.categories), coins)
        set_bits(rows, codes, bernoulli(true, codes.size, coins))
        reports = self._reports(rows)
        return reports[0] if is_one(values) else reports

    def counts(self, data: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        return column_sums(data, len(self.categories))

    def checked(self, listed: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
        return packed_rows(listed, len(self.categories))


_MOST_BUCKETS = 1 << 16
_MOST_REPORTS = 1 << 63  # a report is one 64-bit number
_PLACES = 16  # for each bucket, at the least, so that buckets are of almost equal size


@stored("local-hashing")
@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class LocalHashing(FrequencyOracle):
    """Draw a function from categories to g buckets, and report it with your bucket after randomized response.

    Guarantee [WBLJ17]: the function is drawn without looking at the answer, and given it the report is randomized
    response over g buckets, so it is ε-DP for the person who answers. Optimised: g = ⌊r⌉ + 1 buckets, of the least
    variance; binary: `buckets=2`. Functions are x ↦ ((a·x + b) mod P) mod g [CW79], pairwise independent, and the
    probability that two categories meet is used exactly. A report is the number (a·P + b)·g + y.

    >>> LocalHashing(range(1000), epsilon=1).buckets
    4
    """

    categories: tuple[str | int | bool, ...]
    epsilon: Fraction
    buckets: int
    prime: int = field(init=False)
    name: str = ""

    citation: ClassVar[str] = "Wang, Blocki, Li, Jha: Locally differentially private protocols, USENIX Security 2017"

    def __init__(
        self, categories: Iterable[Hashable], epsilon: Number, *, buckets: int | None = None, name: str = ""
    ) -> None:
        self._set(
            categories=survey_categories(categories),
            name=survey_name(name),
            epsilon=survey_epsilon(epsilon),
        )
        best = round(self.ratio) + 1 if self.ratio < _MOST_BUCKETS else _MOST_BUCKETS
        chosen = best if buckets is None else whole("buckets", buckets, least=2)
        if chosen > _MOST_BUCKETS:
            raise InvalidParameter("buckets", buckets, f"is above {_MOST_BUCKETS}")
        self._set(buckets=min(chosen, max(2, len(self.categories))) if buckets is None else chosen)
        self._set(prime=prime_from(max(len(self.categories), _PLACES * self.buckets)))
        if self.prime**2 * self.buckets >= _MOST_REPORTS:
            raise InvalidParameter(
                "categories", len(self.categories), "are too many for reports of 64 bits", hint="use a CountMeanSketch"
            )

    def bits(self) -> int:
        return (self.prime**2 * self.buckets - 1).bit_length()

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        total = self.ratio + self.buckets - 1
        met = meeting(self.prime, self.buckets)
        return self.ratio / total, (met * self.ratio + (1 - met)) / total

    def law(self, value: Any) -> dict[Hashable, Fraction]:
        own = int(self.codes([value])[0])
        unit = 1 / ((self.ratio + self.buckets - 1) * self.prime**2)
        return {
            (a * self.prime + b) * self.buckets + y: unit
            * (self.ratio if bucket(own, a, b, self.prime, self.buckets) == y else 1)
            for a in range(self.prime)
            for b in range(self.prime)
            for y in range(self.buckets)
        }

    def randomize(self, values: Any, entropy: Entropy | None = None) -> Any:
        codes = self.codes([values] if is_one(values) else values)
        coins = source(entropy)
        functions = uniform_integers(self.prime**2, codes.size, coins)
        a, b = np.divmod(functions, self.prime)
        hashed = bucket(codes, a, b, self.prime, self.buckets)
        answers = respond(hashed, self.buckets, 1 / (self.ratio + self.buckets - 1), coins)
        reports = functions * self.buckets + answers
        return int(reports[0]) if is_one(values) else self._reports(reports)

    def counts(self, data: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        functions, y = np.divmod(data, self.buckets)
        a, b = np.divmod(functions, self.prime)
        places = np.arange(len(self.categories), dtype=np.int64)
        return supports((a, b, y), places, self.prime, self.buckets)

    def checked(self, listed: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        return whole_numbers(listed, self.prime**2 * self.buckets)


@stored("hadamard-response")
@final
@dataclass(frozen=True, slots=True, init=False, eq=False)
class HadamardResponse(FrequencyOracle):
    """Report a column of a Hadamard matrix in which your row is +1, with probability r/(r + 1), else one with −1.

    Guarantee [ASZ19]: ε-DP for the person who answers: half of the columns are +1 in every row, so each has probability
    2r/((r + 1)K) or 2/((r + 1)K). Category v has row v + 1; the row of ones has none. Reports of log K bits, and
    the variance of the binary local hashing; the optimised ones are better from ε ≈ ½ on.

    >>> HadamardResponse(range(5), epsilon=1).columns
    8
    """

    categories: tuple[str | int | bool, ...]
    epsilon: Fraction
    name: str = ""

    citation: ClassVar[str] = "Acharya, Sun, Zhang: Hadamard response, AISTATS 2019"

    def __init__(self, categories: Iterable[Hashable], epsilon: Number, *, name: str = "") -> None:
        self._set(
            categories=survey_categories(categories),
            name=survey_name(name),
            epsilon=survey_epsilon(epsilon),
        )

    @property
    def columns(self) -> int:
        """K: the least power of two with a row for every category beside the row of ones."""
        return 1 << len(self.categories).bit_length()

    def bits(self) -> int:
        return len(self.categories).bit_length()

    @property
    def support(self) -> tuple[Fraction, Fraction]:
        return self.ratio / (self.ratio + 1), Fraction(1, 2)

    def law(self, value: Any) -> dict[Hashable, Fraction]:
        row = int(self.codes([value])[0]) + 1
        unit = 2 / ((self.ratio + 1) * self.columns)
        return {j: unit * (1 if (row & j).bit_count() % 2 else self.ratio) for j in range(self.columns)}

    def randomize(self, values: Any, entropy: Entropy | None = None) -> Any:
        rows = self.codes([values] if is_one(values) else values) + 1
        coins = source(entropy)
        reports = uniform_integers(self.columns, rows.size, coins)
        plus = bernoulli(self.support[0], rows.size, coins)
        # Changing a column in a bit that the row has changes the sign, and pairs the columns of either sign.
        wrong = odd_ones(self.columns).take(rows & reports) == plus
        reports ^= np.where(wrong, rows & -rows, 0)
        return int(reports[0]) if is_one(values) else self._reports(reports)

    def counts(self, data: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        differences = transformed(np.bincount(data, minlength=self.columns))
        return (len(data) + differences[1 : len(self.categories) + 1]) // 2

    def checked(self, listed: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        return whole_numbers(listed, self.columns)


def odd_ones(size: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """For every number below a power of two, whether it has an odd number of ones."""
    odd = np.zeros(1, dtype=np.bool_)
    while odd.size < size:
        odd = np.concatenate([odd, ~odd])
    return odd


def transformed(numbers: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The Walsh–Hadamard transform in integers: entry i is the sum of ± number j, minus where i & j has odd ones."""
    out, half = numbers.astype(np.int64), 1
    while half < out.size:
        pairs = out.reshape(-1, 2, half)
        out = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return out
