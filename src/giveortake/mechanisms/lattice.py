"""Real numbers on a public lattice: rounding to steps, and input of any shape.

Noise added to a floating-point number leaves traces of that number in the low bits of the sum [Mir12]. A value that
was first moved to the nearest multiple of a public granularity g leaves none: the release is a multiple of g
whatever the value was. Moving costs sensitivity, which is derived here and never assumed.

Python numbers, numpy arrays, and columns of Polars, pandas or Arrow are read through numpy's array protocol. What comes
back has the shape of what went in, and its type follows from the released numbers alone: int64 when every one of them
fits, Python integers otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

from giveortake.errors import HIDDEN, InvalidParameter
from giveortake.exact import ceiling, positive, sqrt_up
from giveortake.mechanisms.mechanism import BoundedIntegers
from giveortake.randomness import IntArray, integers, narrowed

if TYPE_CHECKING:
    from giveortake.exact import Number


Numeric: TypeAlias = Any  # int | Fraction | Decimal | float | a sequence of these | an array or column of these

_GREATEST_FLOAT: float = np.finfo(np.float64).max.item()
_MOST_DIGITS = 400  # of a Decimal before or behind its point
_FEW = 8  # up to here a Python loop is faster than looking for the extremes of an array


@final
@dataclass(frozen=True, slots=True)
class ShapedNumbers:
    """Numbers as a flat array: int64, float64, or exact Python numbers; with the shape they came in."""

    flat: npt.NDArray[Any]
    shape: tuple[int, ...] | None  # None: one Python number
    is_float: bool

    @property
    def is_whole(self) -> bool:
        """Whether every number is an integer by its type, not by chance of its value."""
        return self.flat.dtype == np.int64 or (
            self.flat.dtype == object and all(isinstance(number, int) for number in self.flat)
        )

    def shaped(self, released: npt.NDArray[Any]) -> Any:
        """Released numbers in the shape the values came in."""
        if self.shape is None:
            return released[0].item() if isinstance(released[0], np.generic) else released[0]
        return released.reshape(self.shape)


def read(name: str, value: Numeric) -> ShapedNumbers:
    """The numbers in `value`; anything missing, infinite, or not a number is refused.

    A value is exactly the number that it is: nothing is converted on the way in, so that neither what is released nor
    its type depends on how numpy would have rounded its neighbours.
    """
    if isinstance(value, bool | np.bool_ | np.timedelta64 | np.longdouble | str | bytes) or value is None:
        raise InvalidParameter(name, HIDDEN, f"is a {type(value).__name__}, not a number or an array of numbers")
    if isinstance(value, int | np.integer):
        return ShapedNumbers(integers([int(value)]), None, is_float=False)
    if isinstance(value, Rational | Decimal):
        return ShapedNumbers(_objects([_exact_element(name, value)]), None, is_float=False)
    if isinstance(value, float | np.floating):
        if not math.isfinite(value):
            raise _not_finite(name)
        return ShapedNumbers(np.array([value], dtype=np.float64), None, is_float=True)
    if isinstance(value, np.ma.MaskedArray):
        raise InvalidParameter(name, HIDDEN, "is a masked array", hint="fill or drop what is masked")
    if hasattr(value, "__array__"):
        return _read_array(name, np.asarray(value))
    return _read_array(name, _as_objects(name, value))


def whole_numbers(name: str, value: Numeric) -> ShapedNumbers:
    """The numbers in `value`, which must be integers."""
    numbers = read(name, value)
    if not numbers.is_whole:
        raise InvalidParameter(
            name, HIDDEN, "is not an integer", hint="put it on a lattice first: gt.mechanisms.Lattice, or gt.laplace"
        )
    return numbers


def added(values: IntArray, noise: IntArray) -> IntArray:
    """Exact sums of a caller's own numbers."""
    if values.size <= _FEW:
        return integers([value + change for value, change in zip(values.tolist(), noise.tolist(), strict=True)])
    return BoundedIntegers.public(values).plus(noise).released()


def bounded(name: str, value: Numeric | BoundedIntegers) -> BoundedIntegers:
    """Integers with the bound that a question proves; a caller's own numbers, flat, with the bound that they have."""
    return value if isinstance(value, BoundedIntegers) else BoundedIntegers.public(whole_numbers(name, value).flat)


def as_floats(numbers: npt.NDArray[Any], unit: Fraction) -> npt.NDArray[np.float64]:
    """The doubles nearest to numbers × unit, kept within the finite range."""
    if (
        numbers.size > _FEW
        and numbers.dtype == np.int64
        and unit.numerator == 1
        and unit.denominator & (unit.denominator - 1) == 0
    ):
        return numbers.astype(np.float64) * float(unit)
    return np.array([_nearest_float(number * unit) for number in numbers.tolist()], dtype=np.float64)


def _read_array(name: str, array: npt.NDArray[Any]) -> ShapedNumbers:
    flat = array.reshape(-1)
    if flat.dtype.kind == "i" or (flat.dtype.kind == "u" and flat.dtype.itemsize < 8):
        return ShapedNumbers(flat.astype(np.int64, copy=False), array.shape, is_float=False)
    if flat.dtype.kind == "u":
        return ShapedNumbers(integers(flat.tolist()), array.shape, is_float=False)
    if flat.dtype.kind == "f" and flat.dtype.itemsize <= 8:
        _require_finite(name, flat)
        return ShapedNumbers(flat.astype(np.float64, copy=False), array.shape, is_float=True)
    if flat.dtype == object:
        return _read_objects(name, flat, array.shape)
    raise InvalidParameter(name, HIDDEN, "is not an array of integers or doubles")


def _read_objects(name: str, flat: npt.NDArray[Any], shape: tuple[int, ...]) -> ShapedNumbers:
    kinds = {type(number) for number in flat}
    if kinds == {float}:
        doubles = flat.astype(np.float64)
        _require_finite(name, doubles)
        return ShapedNumbers(doubles, shape, is_float=True)
    numbers = [_exact_element(name, number) for number in flat]
    whole = [number for number in numbers if isinstance(number, int)]
    exactly = integers(whole) if len(whole) == len(numbers) else _objects(numbers)
    return ShapedNumbers(
        exactly, shape, is_float=not kinds or any(issubclass(kind, float | np.floating) for kind in kinds)
    )


def _as_objects(name: str, value: Any) -> npt.NDArray[Any]:
    """A list, or a list of lists of equal length, with every element as it is."""
    try:
        return np.array(value, dtype=object)
    except ValueError:
        raise InvalidParameter(name, HIDDEN, "is not a rectangular list of numbers") from None


def _exact_element(name: str, number: object) -> int | Fraction:
    if isinstance(number, bool | np.bool_ | np.timedelta64 | np.longdouble):
        raise InvalidParameter(name, HIDDEN, "holds something that is not a number")
    if isinstance(number, float | np.floating):
        if not math.isfinite(number):
            raise _not_finite(name)
        return Fraction(float(number))  # a value is the double it is; only parameters mean their shortest decimal
    if isinstance(number, int | np.integer):
        return int(number)
    if isinstance(number, Rational):
        return Fraction(int(number.numerator), int(number.denominator))
    if isinstance(number, Decimal) and number.is_finite() and abs(number.adjusted()) <= _MOST_DIGITS:
        return Fraction(number)
    raise InvalidParameter(name, HIDDEN, "holds something that is not a number of usual size")


def _nearest_float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return _GREATEST_FLOAT if number > 0 else -_GREATEST_FLOAT


def _require_finite(name: str, numbers: npt.NDArray[Any]) -> None:
    if not np.isfinite(numbers).all():
        raise _not_finite(name)


def _not_finite(name: str) -> InvalidParameter:
    return InvalidParameter(name, HIDDEN, "is not a finite number", hint="drop or clamp such values before the sum")


def _objects(numbers: list[Any]) -> npt.NDArray[Any]:
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array


_FINE = 1 << 20  # steps that a default lattice has in one sensitivity …
_FINE_EACH = 1 << 7  # … or for every coordinate, so that rounding adds less than 1 % to the noise
_FINE_NOISE = 1 << 10  # steps it has at least in one scale of the noise
_SAFE = 2.0**62


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
        numbers = value if isinstance(value, ShapedNumbers) else read("value", value)
        if self.contains(whole=numbers.is_whole):
            unit = self.granularity.denominator
            return numbers.flat if unit == 1 else narrowed(numbers.flat.astype(object) * unit)
        if (
            numbers.flat.size > _FEW
            and numbers.flat.dtype == np.float64
            and (float_steps := self._float_steps(numbers.flat)) is not None
        ):
            return float_steps
        return integers([self._nearest(Fraction(number)) for number in numbers.flat.tolist()])

    def values(self, steps: IntArray, numbers: ShapedNumbers) -> Any:
        """Released lattice points as numbers of the kind that came in, in their shape."""
        if numbers.is_float:
            return numbers.shaped(as_floats(steps, self.granularity))
        if numbers.is_whole and self.granularity.denominator == 1:
            unit = self.granularity.numerator
            return numbers.shaped(steps if unit == 1 else narrowed(steps.astype(object) * unit))
        exactly = np.empty(steps.size, dtype=object)
        exactly[:] = [int(step) * self.granularity for step in steps]
        return numbers.shaped(exactly)

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
