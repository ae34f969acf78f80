"""Prefix sums and running counts: their strategy matrices, and their noise.

`ConsistentTree` sums bins in a tree with many branches, estimated by least squares [HRMS10; QYL13]: the strategy for
Laplace noise. `SquareRoot` is the square root of the matrix of running totals, on whole numbers [HUU23; FHU23]: the
strategy for Gaussian noise. `RunningCount` releases one row of it at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from operator import mul
from typing import TYPE_CHECKING, ClassVar, TypeAlias, final

import numpy as np

from giveortake import exact
from giveortake.caching import cached
from giveortake.codec import stored
from giveortake.errors import LedgerMismatch
from giveortake.exact import sqrt_up
from giveortake.mechanisms import lattice
from giveortake.mechanisms.additive import Gaussian
from giveortake.mechanisms.mechanism import Mechanism, PrefixStrategy, Sensitive, opened
from giveortake.privacy import events

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.mechanisms.mechanism import BoundedIntegers
    from giveortake.privacy.guarantee import Neighbours
    from giveortake.randomness import Entropy, IntArray

    Integers: TypeAlias = npt.NDArray[np.int64]
    Floats: TypeAlias = npt.NDArray[np.float64]
    IntegerValues: TypeAlias = BoundedIntegers | IntArray


TREE_FINENESS = 2**6  # steps that one value counts, so that rounding the noise to steps hardly adds to it
_FEW, _MANY = 40, 450  # bins: a tree has one level up to the first number, two up to the second, else three


@final
@stored("tree")
@dataclass(frozen=True, slots=True)
class ConsistentTree(PrefixStrategy):
    """Sums over bins, level by level, the widest first: `branches` is into how many each splits; `size` bins are used.

    A bin is in one sum of each level: `FINENESS` in L1 and L2 for every section. Running totals come from the bins
    that fit all sums best by least squares, which is the best linear estimate: every level has the same noise.

    >>> ConsistentTree((2, 2), 3).transform(np.array([[1, 0, 2]])).tolist()
    [[64, 128, 64, 0, 128, 0]]
    >>> ConsistentTree((2, 2), 3).running_totals(np.array([[64.0, 128, 64, 0, 128, 0]])).tolist()
    [[0.0, 1.0, 1.0, 3.0]]
    """

    branches: tuple[int, ...]
    size: int

    @classmethod
    def over(cls, size: int) -> ConsistentTree:
        """The tree with the least noise in ranks for `size` bins: one, two or three levels of equal branching."""
        levels = 1 if size <= _FEW else 2 if size <= _MANY else 3
        branches, left = [], size
        for level in range(levels, 0, -1):
            branches.append(_root_up(left, level))
            left = -(-left // branches[-1])
        return cls(tuple(branches), size)

    @property
    def fineness(self) -> int:
        return TREE_FINENESS

    @property
    def sections(self) -> tuple[int, ...]:
        return tuple(accumulate(self.branches, mul))

    @property
    def l1(self) -> Fraction:
        return Fraction(TREE_FINENESS)

    @property
    def l2(self) -> Fraction:
        return Fraction(TREE_FINENESS)

    @property
    def growth(self) -> int:
        return TREE_FINENESS * math.prod(self.branches[1:])  # the bins below a node of the first level

    def transform(self, bins: Integers) -> Integers:
        level = np.zeros((len(bins), math.prod(self.branches)), dtype=bins.dtype)
        level[:, : self.size] = bins * TREE_FINENESS
        levels = [level]
        for width, branching in zip(reversed(self.sections[:-1]), reversed(self.branches[1:]), strict=True):
            levels.insert(0, levels[0].reshape(len(bins), width, branching).sum(axis=2))
        return np.concatenate(levels, axis=1)

    def running_totals(self, released: Floats) -> Floats:
        """Upwards, each node is averaged with the sum of its parts; downwards, differences are shared out equally."""
        keys = len(released)
        ends = [0, *accumulate(self.sections)]
        levels = [released[:, start:end] / TREE_FINENESS for start, end in pairwise(ends)]
        best = levels[-1]
        from_below = [best]
        variance = 1.0
        for level, branching in zip(reversed(levels[:-1]), reversed(self.branches[1:]), strict=True):
            of_parts = branching * variance
            parts = best.reshape(keys, level.shape[1], branching).sum(axis=2)
            best = (of_parts * level + parts) / (1 + of_parts)
            variance = of_parts / (1 + of_parts)
            from_below.insert(0, best)
        for level, branching in zip(from_below[1:], self.branches[1:], strict=True):
            parts = level.reshape(keys, best.shape[1], branching)
            best = (parts + ((best - parts.sum(axis=2)) / branching)[:, :, np.newaxis]).reshape(keys, level.shape[1])
        totals = np.cumsum(best[:, : self.size], axis=1)
        return np.concatenate([np.zeros((keys, 1)), totals], axis=1)


def _root_up(number: int, order: int) -> int:
    """The least whole number whose power of that order is at least `number`."""
    root = 1
    while math.prod([root] * order) < number:
        root += 1
    return root


SQUARE_ROOT_FINENESS = 2**10  # L: the first entry of every column


@final
@stored("square root")
@dataclass(frozen=True, slots=True)
class SquareRoot(PrefixStrategy):
    """B = ⌊L·R⌉ where R·R is the lower triangle of ones: Rᵢⱼ = C(2k, k) / 4ᵏ at k = i − j ≥ 0.

    The columns of R have about the same length as its rows, ln(n)/π to leading order when squared, so that no running
    total is much worse than another. B is lower triangular: every released integer depends on the bins up to its own,
    and they may be released one after the other.

    >>> SquareRoot(4).column
    (1024, 512, 384, 320)
    >>> SquareRoot(4).transform(np.array([[1, 0, 2, 0]])).tolist()
    [[1024, 512, 2432, 1344]]
    """

    size: int

    @property
    def column(self) -> tuple[int, ...]:
        """The first column of B, which is the longest: every other column is its beginning, moved down."""
        return _column(self.size)

    @property
    def fineness(self) -> int:
        return SQUARE_ROOT_FINENESS

    @property
    def sections(self) -> tuple[int, ...]:
        return (self.size,)

    @property
    def l1(self) -> Fraction:
        return Fraction(sum(self.column))

    @property
    def l2(self) -> Fraction:
        return sqrt_up(Fraction(sum(entry * entry for entry in self.column)))

    @property
    def growth(self) -> int:
        return sum(self.column)  # the last row is the first column, turned round

    def transform(self, bins: Integers) -> Integers:
        return (bins.astype(np.float64) @ _matrix(self.size).T).astype(np.int64)

    def running_totals(self, released: Floats) -> Floats:
        length = 2 * self.size  # a product of two series, of which the beginning is wanted
        series = np.fft.rfft(released, length) * np.fft.rfft(_decoder(self.size), length)
        totals = np.fft.irfft(series, length)[:, : self.size]
        return np.concatenate([np.zeros((len(released), 1)), totals], axis=1)

    def weights(self) -> Floats:
        return np.concatenate([np.zeros((1, self.size)), _triangle(_decoder(self.size))])

    def last_weights(self) -> Floats:
        """How much every released integer counts in the last running total."""
        return _decoder(self.size)[::-1].copy()


@cached(64)
def _column(size: int) -> tuple[int, ...]:
    entries, chosen = [], 1
    for index in range(size):
        entries.append((2 * SQUARE_ROOT_FINENESS * chosen + 4**index) >> (2 * index + 1))  # ⌊L·chosen / 4ᵏ + ½⌋
        chosen = chosen * 2 * (2 * index + 1) // (index + 1)  # C(2k + 2, k + 1) from C(2k, k)
    return tuple(entries)


@cached(1)
def _matrix(size: int) -> Floats:
    return _triangle(np.array(_column(size), dtype=np.float64))


@cached(1)
def _decoder(size: int) -> Floats:
    """The first column of the lower triangle of ones times the inverse of B, which is constant along diagonals too."""
    column = np.array(_column(size), dtype=np.float64)
    inverse = np.zeros(size)
    inverse[0] = 1 / column[0]
    for index in range(1, size):
        inverse[index] = -(column[1 : index + 1] @ inverse[index - 1 :: -1][:index]) / column[0]
    return np.cumsum(inverse)


def _triangle(column: Floats) -> Floats:
    """The lower triangular matrix that is constant along diagonals and has that first column."""
    size = len(column)
    padded = np.concatenate([np.zeros(size - 1), column])
    rows = np.arange(size)[:, np.newaxis] - np.arange(size)[np.newaxis, :] + size - 1
    triangle: Floats = padded[rows]
    return triangle


_PADS = 1 << 256
_MOST = 1 << 64  # rows


@final
@dataclass(frozen=True, slots=True)
class RunningCount(Mechanism["Integers", int]):
    """Row t of B·x + z for the counts x of the periods so far, B = `SquareRoot(horizon)`, z normal of scale `sigma`.

    Guarantee: let a unit put at most m rows into the periods of the horizon. All steps together move by B·u, which is a
    sum of m columns of B: by at most m times the length of the first one, which is the longest, and is reached where
    all m rows lie in the first period. Columns are not negative, so that √m would be false. B is lower triangular:
    step t depends on the periods up to t alone, and later rows may depend on what was released [DMRST22]. So all steps
    of the horizon together are one Gaussian release, under one charge.
    """

    horizon: int
    sigma: Fraction

    citation: ClassVar[str] = (
        "Henzinger, Upadhyay, Upadhyay: Almost tight error bounds on differentially private continual counting, "
        "SODA 2023"
    )

    @classmethod
    def calibrated(cls, horizon: int, mu: Fraction, rows: int, neighbours: Neighbours) -> RunningCount:
        """The least noise, up to a part in 2⁴⁰, for which all steps are μ-GDP, where a unit has at most `rows` rows.

        It is rounded up to few digits, so that its price is never a little above the budget that it was made for.
        """
        least = running_count_sensitivity(horizon, rows, neighbours) / mu
        grain = exact.power_of_two_at_least(least) / 2**41
        return cls(horizon, (least // grain + 2) * grain)

    def event(self, sensitivity: Number = 1) -> events.Gaussian:
        """The event of all steps together, when one unit moves B·x by at most `sensitivity` in L2."""
        return events.Gaussian(self.sigma / exact.at_least("sensitivity", sensitivity))

    def release(self, value: IntegerValues | Sensitive[IntegerValues], entropy: Entropy | None = None) -> int:
        """The integer of the last of the periods given: exact sums, and noise drawn once."""
        return self._noisy(lattice.bounded("value", opened(value, self)).tolist(), entropy)

    def next(
        self,
        now: IntegerValues | Sensitive[IntegerValues],
        past: Sequence[int],
        pads: Sequence[int | Sensitive[int]],
        entropy: Entropy | None = None,
    ) -> tuple[int, int]:
        """The integer of the next period, and its exact count under a pad. `past` are earlier counts under theirs.

        There is a pad of 256 random bits for each period, this one included, and each is used once: a count under its
        pad tells nothing to whoever does not have the pad. So earlier counts never change: rows that come late do not
        count, and no answer depends on them.
        """
        (count,) = lattice.bounded("now", opened(now, self)).tolist()
        *earlier, last = (int(opened(pad, self)) for pad in pads)
        before = [(padded - pad) % _PADS for padded, pad in zip(past, earlier, strict=True)]
        if any(earlier_count >= _MOST for earlier_count in before):
            raise LedgerMismatch(
                "the counts of earlier periods cannot be read: the secret beside the ledger's mark is another one",
                hint="put the mark's folder back, or begin a new counter",
            )
        return self._noisy([*before, count], entropy), (count + last) % _PADS

    def _noisy(self, counts: list[int], entropy: Entropy | None) -> int:
        column = SquareRoot(self.horizon).column
        exactly = sum(count * column[len(counts) - 1 - index] for index, count in enumerate(counts))
        return int(Gaussian(self.sigma).release(exactly, entropy))


def running_count_sensitivity(horizon: int, rows: int, neighbours: Neighbours) -> Fraction:
    """How far a unit of `rows` rows moves all steps together, in L2, rounded up."""
    once = rows * SquareRoot(horizon).l2
    return once if neighbours == "add-remove" else once * exact.sqrt_up(Fraction(2))
