"""The lattice for numbers and the noise they get: prepared once for equal parameters, without looking at values."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, final

from giveortake import exact
from giveortake.caching import cached
from giveortake.errors import InvalidParameter
from giveortake.mechanisms import shaped_numbers
from giveortake.mechanisms.gaussian import Gaussian
from giveortake.mechanisms.laplace import Laplace
from giveortake.mechanisms.lattice import Lattice

if TYPE_CHECKING:
    from giveortake.exact import Number
    from giveortake.mechanisms.shaped_numbers import ShapedNumbers

_FAINTEST_LAPLACE = Fraction(1, 1400)  # below these scales, in steps, noise is nothing but zeros:
_FAINTEST_NORMAL = Fraction(1, 74)  # P[noise ≠ 0] < 1e-300
_GREATEST_DOUBLE = Fraction(sys.float_info.max)


@final
@dataclass(frozen=True, slots=True)
class LatticeNoise:
    """A lattice, and the noise to be added there; for numbers that are whole, or are floats, or neither."""

    lattice: Lattice
    noise: Laplace | Gaussian
    whole: bool
    is_float: bool

    def release(self, given: ShapedNumbers) -> Any:
        """The numbers on the lattice, with noise, as numbers of their own kind."""
        noise = self.noise.noise(given.flat.size)
        return self.lattice.values(shaped_numbers.added(self.lattice.steps(given), noise), given)

    def margin(self, confidence: Number) -> int | float | Fraction:
        """The margin of one number, noise and rounding together; a float is rounded up."""
        unit = self.lattice.granularity
        moved = Fraction(0) if self.lattice.contains(whole=self.whole) else unit / 2
        total = self.noise.margin(confidence) * unit + moved
        if self.is_float:
            if total > _GREATEST_DOUBLE:
                raise InvalidParameter(
                    "noise", exact.shown(total), "has no bound that a double holds", hint="ask for more epsilon"
                )
            nearest = float(total)
            return nearest if nearest >= total else math.nextafter(nearest, math.inf)
        return total.numerator if total.denominator == 1 else total


def laplace_on_lattice(
    given: ShapedNumbers, sensitivity: Number, epsilon: Number, granularity: Number | None
) -> LatticeNoise:
    """Laplace noise that is ε-DP for that L1 sensitivity."""
    spread, promise = exact.at_least("sensitivity", sensitivity), exact.spendable("epsilon", epsilon)
    return _laplace_on_lattice(_Kind.of(given), spread, promise, _unit(granularity))


def gaussian_on_lattice(
    given: ShapedNumbers, sensitivity: Number, mu: Fraction, granularity: Number | None
) -> LatticeNoise:
    """Gaussian noise that is μ-GDP for that L2 sensitivity."""
    return _gaussian_on_lattice(_Kind.of(given), exact.at_least("sensitivity", sensitivity), mu, _unit(granularity))


class _Kind(NamedTuple):
    """All that the noise may depend on: whether values are whole or floats, and how many there are."""

    whole: bool
    is_float: bool
    size: int

    @classmethod
    def of(cls, given: ShapedNumbers) -> _Kind:
        return cls(given.is_whole, given.is_float, given.flat.size)


@cached(1024)
def _laplace_on_lattice(
    kind: _Kind, sensitivity: Fraction, epsilon: Fraction, granularity: Fraction | None
) -> LatticeNoise:
    lattice = _lattice(granularity, kind.whole, sensitivity, sensitivity / epsilon, Fraction(max(kind.size, 1)))
    steps = lattice.l1_steps(sensitivity, whole=kind.whole, size=kind.size)
    scale = steps / epsilon
    _require_usual(scale, steps, _FAINTEST_LAPLACE)
    return LatticeNoise(lattice, Laplace(scale), kind.whole, kind.is_float)


@cached(1024)
def _gaussian_on_lattice(
    kind: _Kind, sensitivity: Fraction, mu: Fraction, granularity: Fraction | None
) -> LatticeNoise:
    root = exact.sqrt_up(Fraction(kind.size)) if kind.size > 1 else Fraction(1)
    lattice = _lattice(granularity, kind.whole, sensitivity, sensitivity / mu, root)
    steps = lattice.l2_steps(sensitivity, whole=kind.whole, size=kind.size)
    sigma = steps / mu
    _require_usual(sigma, steps, _FAINTEST_NORMAL)
    return LatticeNoise(lattice, Gaussian(sigma), kind.whole, kind.is_float)


def _lattice(
    granularity: Fraction | None, whole: bool, sensitivity: Fraction, scale: Fraction, coordinates: Fraction
) -> Lattice:
    if granularity is not None:
        return Lattice(granularity)
    return Lattice.for_noise(whole=whole, sensitivity=sensitivity, scale=scale, coordinates=coordinates)


def _unit(granularity: Number | None) -> Fraction | None:
    return None if granularity is None else exact.positive("granularity", granularity)


def _require_usual(scale: Fraction, steps: Fraction, faintest: Fraction) -> None:
    """Refuse noise that rounds to zero because the sensitivity is below one step, or that is too large.

    A promise that is so weak that its noise rounds to zero is kept as it was asked for; see `exact.spendable`.
    """
    told = f"{exact.shown(scale)} steps of the lattice"
    if scale < faintest and steps < 1:
        raise InvalidParameter(
            "noise",
            told,
            "leaves no noise: it rounds to zero",
            hint="whole numbers change by 1 or more; ask for a finer granularity, or state the sensitivity in full",
        )
    if scale > exact.GREATEST:
        raise InvalidParameter(
            "noise", told, "is beyond the supported range", hint="ask for more epsilon, or a coarser granularity"
        )
