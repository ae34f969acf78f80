"""Real numbers put on a public lattice before anything is added to them.

Noise added to a floating-point number leaves traces of that number in the low bits of the sum [Mir12]. A value that
was first moved to the nearest multiple of a public granularity g leaves none: the release is a multiple of g
whatever the value was. Moving costs sensitivity, which is derived here and never assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from giveortake.exact import ceiling, positive, sqrt_up
from giveortake.mechanisms import shaped_numbers
from giveortake.randomness import IntArray, integers, narrowed

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.exact import Number
    from giveortake.mechanisms.shaped_numbers import Numeric, ShapedNumbers

_FINE = 1 << 20  # steps that a default lattice has in one sensitivity …
_FINE_EACH = 1 << 7  # … or for every coordinate, so that rounding adds less than 1 % to the noise
_FINE_NOISE = 1 << 10  # steps it has at least in one scale of the noise
_SAFE = 2.0**62
_FEW = 8  # up to here exact fractions are faster than starting the array machinery


@final
@dataclass(frozen=True, slots=True)
class Lattice:
    """The multiples of a public granularity g.

    Guarantee: `steps` moves every number to a nearest multiple, halves upwards: ⌊x/g + ½⌋. That rounding commutes
    with whole steps, so a number that changes by Δ changes by at most ⌈Δ/g⌉ steps; d numbers that change by Δ
    together change by at most ⌈Δ/g⌉ + d − 1 steps in L1 and by Δ/g + √d in L2. (Rounding halves to even would break
    this: ½ and 3⁄2 are one apart and would become 0 and 2.) Integers that lie on the lattice already do not move, and
    keep Δ/g.
    """

    granularity: Fraction

    def __init__(self, granularity: Number) -> None:
        object.__setattr__(self, "granularity", positive("granularity", granularity))

    @classmethod
    def for_noise(cls, *, whole: bool, sensitivity: Fraction, scale: Fraction, coordinates: Fraction) -> Lattice:
        """The default lattice: the integers for integers; else a power of two far below sensitivity and noise."""
        if whole:
            return cls(1)
        steps = max(Fraction(_FINE), _FINE_EACH * coordinates)
        return cls(_power_of_two_below(min(sensitivity / steps, scale / _FINE_NOISE)))

    def contains(self, *, whole: bool) -> bool:
        """Whether numbers lie on the lattice by their type: whole ones do if 1 is a multiple of the granularity."""
        return whole and self.granularity.numerator == 1

    def l1_steps(self, sensitivity: Fraction, *, whole: bool, size: int) -> Fraction:
        """How many steps `size` numbers move in total when they change by `sensitivity` in total."""
        ratio = sensitivity / self.granularity
        return ratio if self.contains(whole=whole) else Fraction(ceiling(ratio) + max(size, 1) - 1)

    def l2_steps(self, sensitivity: Fraction, *, whole: bool, size: int) -> Fraction:
        """How far `size` numbers move on the lattice when they change by `sensitivity` in Euclidean distance."""
        ratio = sensitivity / self.granularity
        if self.contains(whole=whole):
            return ratio
        return Fraction(ceiling(ratio)) if size <= 1 else ratio + sqrt_up(Fraction(size))

    def steps(self, value: ShapedNumbers | Numeric) -> IntArray:
        """The nearest lattice points, counted in steps from zero.

        >>> Lattice("0.01").steps([3.14159, -0.004])
        array([314,   0])
        """
        given = value if isinstance(value, shaped_numbers.ShapedNumbers) else shaped_numbers.read("value", value)
        if self.contains(whole=given.is_whole):
            unit = self.granularity.denominator
            return given.flat if unit == 1 else narrowed(given.flat.astype(object) * unit)
        if (
            given.flat.size > _FEW
            and given.flat.dtype == np.float64
            and (found := self._float_steps(given.flat)) is not None
        ):
            return found
        return integers([self._nearest(Fraction(number)) for number in given.flat.tolist()])

    def values(self, steps: IntArray, given: ShapedNumbers) -> Any:
        """Released lattice points as numbers of the kind that came in, in their shape."""
        if given.is_float:
            return given.shaped(shaped_numbers.as_floats(steps, self.granularity))
        if given.is_whole and self.granularity.denominator == 1:
            unit = self.granularity.numerator
            return given.shaped(steps if unit == 1 else narrowed(steps.astype(object) * unit))
        exactly = np.empty(steps.size, dtype=object)
        exactly[:] = [int(step) * self.granularity for step in steps]
        return given.shaped(exactly)

    def _float_steps(self, numbers: npt.NDArray[np.float64]) -> IntArray | None:
        """⌊x/g + ½⌋ in doubles where that is exact: g a power of two and results well inside int64."""
        if not _is_power_of_two(self.granularity):
            return None
        with np.errstate(over="ignore", under="ignore"):
            ratio = numbers / float(self.granularity)
        if not (np.abs(ratio) < _SAFE).all():
            return None
        below = np.floor(ratio)
        ratio -= below
        below += ratio >= 0.5
        return below.astype(np.int64)

    def _nearest(self, number: Fraction) -> int:
        ratio = number / self.granularity
        return (2 * ratio.numerator + ratio.denominator) // (2 * ratio.denominator)


def _power_of_two_below(number: Fraction) -> Fraction:
    power = Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length())
    return power if power <= number else power / 2


def _is_power_of_two(number: Fraction) -> bool:
    return all(part & (part - 1) == 0 for part in (number.numerator, number.denominator))
