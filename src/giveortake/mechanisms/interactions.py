"""What a table of counts tells beyond its single columns, with Gaussian noise [XWZK23]."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from giveortake import exact
from giveortake.errors import InvalidParameter
from giveortake.mechanisms import shaped_numbers
from giveortake.mechanisms.mechanism import Mechanism, Sensitive, opened, source
from giveortake.privacy import events
from giveortake.randomness import rounded_normal

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.mechanisms.bounded_integers import BoundedIntegers
    from giveortake.privacy.units import Neighbours
    from giveortake.randomness import Entropy

    Integers: TypeAlias = BoundedIntegers | npt.NDArray[Any]


@final
@dataclass(frozen=True, slots=True)
class Interactions(Mechanism["Integers", "npt.NDArray[Any]"]):
    """A table of counts, of which the total and all sums of one column are taken out, with normal noise.

    Let Π be the number of cells and H the projection that takes out constants and what one column alone explains. The
    release is Π·H(Π·x + z), which is a table of integers, with z normal of deviation σ·Π, rounded to integers. Divided
    by Π² it estimates H·x with noise of deviation σ per cell, itself projected.

    Guarantee: for a row that is added or removed it is (s/σ)-GDP, s² = 1 − Π(1/nᵢ) − Σᵢ(1 − 1/nᵢ)·Πⱼ≠ᵢ(1/nⱼ), which is
    less than 1. Proof: a row adds e, one cell, to x. Since H·H = H, the release is a function of H(Π·x + z) and
    H(Π·x + Π·e + z) = H(Π·x + v + z) with v = Π·H·e: integers, because Π times every sum over all cells of all columns
    but one, divided by their number, is whole. On integers the rounded noise is post-processing of the continuous one,
    and Π·x + v + z differs from Π·x + z by a shift of length ‖v‖ = Π·s. ∎ Where a row is changed, v = Π·H(e − e′), and
    s² is the greatest ‖H(e − e′)‖² over all ways in which two cells can agree on some columns. m rows move it by at
    most m times as much.

    >>> Interactions((2, 2), 1).moved("add-remove")
    Fraction(1, 2)
    """

    shape: tuple[int, ...]
    sigma: Fraction

    citation: ClassVar[str] = "Xiao, Wang, Zhang, Kifer: An optimal and scalable matrix mechanism for marginals, 2023"

    def __init__(self, shape: tuple[int, ...], sigma: Number) -> None:
        if len(shape) < 2 or min(shape) < 2:
            raise InvalidParameter("shape", shape, "has no interactions: two columns of two values have some")
        object.__setattr__(self, "shape", tuple(shape))
        object.__setattr__(self, "sigma", exact.positive("sigma", sigma))

    @property
    def cells(self) -> int:
        """How many cells the table has."""
        return math.prod(self.shape)

    def moved(self, neighbours: Neighbours) -> Fraction:
        """How far one row moves H·x in L2, rounded up."""
        return moved_by_row(self.shape, neighbours)

    def event(self, sensitivity: Number = 1) -> events.Gaussian:
        """A release that one unit moves by at most `sensitivity`: `moved`, times the rows that a unit may have."""
        return events.Gaussian(self.sigma / exact.positive("sensitivity", sensitivity))

    def release(self, value: Integers | Sensitive[Integers], entropy: Entropy | None = None) -> npt.NDArray[Any]:
        """Π·H(Π·x + z), as integers."""
        counts = shaped_numbers.bounded("value", opened(value, self))
        noise = rounded_normal(self.sigma * self.cells, self.cells, source(entropy))
        noisy = counts.mapped(np.ravel, 1).times(self.cells).plus(noise)
        growth = self.cells * 2 * (1 + len(self.shape))
        return noisy.mapped(lambda limb: projected(limb.reshape(self.shape)), growth).released()


def projected(table: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Π·H of a table, in whole numbers: its own cells and their total take 2·Π of these, and every axis as many."""
    total = table.sum()
    rest: npt.NDArray[Any] = table * table.size - total
    for axis, size in enumerate(table.shape):
        others = tuple(each for each in range(table.ndim) if each != axis)
        rest = rest - (table.sum(axis=others, keepdims=True) * size - total)
    return rest


def moved_by_row(shape: tuple[int, ...], neighbours: Neighbours) -> Fraction:
    """How far one row moves H·x for a table of that shape, in L2, rounded up."""
    length = _product(shape, (True,) * len(shape))
    if neighbours == "change-one":
        agreeing = itertools.product((True, False), repeat=len(shape))
        moved = [2 * length - 2 * _product(shape, each) for each in agreeing if not all(each)]
        length = max(length, *moved)  # one of the two rows may be in no cell
    return exact.sqrt_up(length)


def _product(shape: tuple[int, ...], agree: tuple[bool, ...]) -> Fraction:
    """⟨H·e, H·e′⟩ for two cells that agree on some columns: of all parts, those of two columns and more."""
    shares = [Fraction(1, size) for size in shape]
    own = [(1 - share) if same else -share for share, same in zip(shares, agree, strict=True)]
    everything = math.prod((one + share for one, share in zip(own, shares, strict=True)), start=Fraction(1))
    constant = math.prod(shares, start=Fraction(1))
    single = sum((one * constant / share for one, share in zip(own, shares, strict=True)), Fraction(0))
    return everything - constant - single
