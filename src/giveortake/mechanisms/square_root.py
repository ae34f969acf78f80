"""The square root of the matrix of running totals, on whole numbers [HUU23; FHU23]: the strategy for Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake.caching import cached
from giveortake.exact import sqrt_up
from giveortake.mechanisms.prefix_sums import PrefixStrategy

if TYPE_CHECKING:
    import numpy.typing as npt

    Integers: TypeAlias = npt.NDArray[np.int64]
    Floats: TypeAlias = npt.NDArray[np.float64]

FINENESS = 2**10  # L: the first entry of every column


@final
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

    kind: ClassVar[str] = "square root"

    @property
    def column(self) -> tuple[int, ...]:
        """The first column of B, which is the longest: every other column is its beginning, moved down."""
        return _column(self.size)

    @property
    def fineness(self) -> int:
        return FINENESS

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

    def to_json(self) -> list[Any]:
        return [self.kind, self.size, FINENESS]


@cached(64)
def _column(size: int) -> tuple[int, ...]:
    entries, chosen = [], 1
    for place in range(size):
        entries.append((2 * FINENESS * chosen + 4**place) >> (2 * place + 1))  # ⌊L·chosen / 4ᵏ + ½⌋
        chosen = chosen * 2 * (2 * place + 1) // (place + 1)  # C(2k + 2, k + 1) from C(2k, k)
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
    for place in range(1, size):
        inverse[place] = -(column[1 : place + 1] @ inverse[place - 1 :: -1][:place]) / column[0]
    return np.cumsum(inverse)


def _triangle(column: Floats) -> Floats:
    """The lower triangular matrix that is constant along diagonals and has that first column."""
    size = len(column)
    padded = np.concatenate([np.zeros(size - 1), column])
    rows = np.arange(size)[:, np.newaxis] - np.arange(size)[np.newaxis, :] + size - 1
    triangle: Floats = padded[rows]
    return triangle
