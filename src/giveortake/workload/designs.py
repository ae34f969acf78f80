"""Designs: what is measured for a workload, with how much noise, and how its tables are computed from that."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np

from giveortake.errors import Unprovable
from giveortake.mechanisms import Gaussian, Laplace
from giveortake.mechanisms.prefix_sums import ConsistentTree, SquareRoot
from giveortake.mechanisms.tails import LaplaceTail, NormalTail, quantile, quantiles

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.mechanisms import Sensitive
    from giveortake.mechanisms.bounded_integers import BoundedIntegers, PrefixStrategy
    from giveortake.privacy.events import Event
    from giveortake.randomness import Entropy, IntArray
    from giveortake.workload.asked_workload import AskedWorkload, RangeTable

    Floats: TypeAlias = npt.NDArray[np.float64]

BITS = 30  # precision to which scales are rounded up


class Design(ABC):
    """Independent parts, each an array of noisy integers, from which all tables are computed.

    The parts of the layers come first, in the order of the layers, then one for each range.
    """

    asked: AskedWorkload
    runs: tuple[RangeNoise, ...]

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the strategy, for people and for the ledger."""

    @property
    @abstractmethod
    def measured(self) -> list[list[tuple[int, ...]]]:
        """For each layer, the attributes of the tables that are measured."""

    @property
    @abstractmethod
    def scales(self) -> list[list[Fraction]]:
        """For each layer, the noise scale of each measured table; in rows, or steps of the sum."""

    @property
    @abstractmethod
    def event(self) -> Event:
        """The event of the whole release."""

    @abstractmethod
    def released(self, layer: int, part: int) -> int:
        """The number of integers of a part."""

    @abstractmethod
    def release(self, layer: int, part: int, table: Sensitive[BoundedIntegers], entropy: Entropy | None) -> IntArray:
        """Draw the noisy integers of a part, once, from the exact table of its attributes."""

    @abstractmethod
    def estimate(self, layer: int, places: tuple[int, ...], parts: list[IntArray]) -> Floats:
        """An unbiased table of some attributes from the integers of all parts of a layer, flat, in steps."""

    @abstractmethod
    def variance(self, layer: int, places: tuple[int, ...]) -> float:
        """The variance of each cell of an estimated table, in steps."""

    @abstractmethod
    def margin(self, layer: int, places: tuple[int, ...], miss: float) -> float:
        """The margin of a cell, in steps, which is exceeded with probability `miss` at most."""

    @property
    @abstractmethod
    def citations(self) -> tuple[str, ...]:
        """The citations of its theorems."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class RangeNoise:
    """The matrix of running totals of a range, and the noise on it."""

    table: RangeTable
    strategy: PrefixStrategy
    noise: Gaussian | Laplace

    def release(self, bins: Sensitive[BoundedIntegers], entropy: Entropy | None) -> IntArray:
        """Draw the noisy integers: keys × integers of a key, flat."""
        found: IntArray = np.asarray(self.noise.release(bins.through(self.strategy), entropy)).reshape(-1)
        return found

    def totals(self, released: IntArray) -> Floats:
        """Unbiased running totals: keys × (bins + 1); the first is zero."""
        shaped = np.asarray(released, dtype=np.float64).reshape(-1, sum(self.strategy.sections))
        return self.strategy.running_totals(shaped)

    def margins(self, weights: Floats, miss: float) -> Floats:
        """The margins of weighted sums of the released integers, one for each row of weights."""
        scale = float(self.noise.scale_in_steps)
        if isinstance(self.noise, Laplace):
            noise: Floats = scale * quantiles(weights, miss)
        else:
            noise = quantile([NormalTail(1.0)], miss) * np.sqrt((scale**2 + 1 / 12) * (weights**2).sum(axis=1))
        return noise

    def deviations(self) -> Floats:
        """The standard deviation of every running total but the first."""
        variance = self.noise.tail.variance + 1 / 12
        found: Floats = np.sqrt(variance * (self.strategy.weights()[1:] ** 2).sum(axis=1))
        return found


def strategy_of(bins: int, *, pure: bool) -> PrefixStrategy:
    """The best known matrix of running totals for a number of bins."""
    return ConsistentTree.over(bins) if pure else SquareRoot(bins)


def range_squares(strategy: PrefixStrategy, rows: int) -> tuple[Fraction, Fraction]:
    """The squared L2 sensitivity of a range: if a unit is added, and if it is changed."""
    square = (rows * strategy.l2) ** 2
    return square, 2 * square


def rounded_up(scale: float) -> Fraction:
    """A scale rounded up to a short fraction, by at least 2⁻³⁰ of it."""
    if not math.isfinite(scale) or scale <= 0:
        raise Unprovable("the noise of the workload has no bound; nothing was charged", hint="spend more")
    mantissa, exponent = math.frexp(scale)
    return Fraction(math.ceil(mantissa * 2**BITS) + 1) * Fraction(2) ** (exponent - BITS)


def normal_margin(deviation: float, miss: float) -> float:
    """The margin of normal noise, which is exceeded with probability `miss`."""
    return quantile([NormalTail(deviation)], miss)


def laplace_margin(scale: float, terms: int, miss: float) -> float:
    """The margin of a sum of `terms` Laplace noises, each rounded to whole steps.

    The effect of rounding is bounded by half a step for each of them, or by Hoeffding's inequality with a thousandth of
    `miss`.
    """
    rounding = min(terms / 2, math.sqrt(terms / 2 * math.log(2000 / miss)))
    if terms == 1:
        return quantile([LaplaceTail(scale)], miss) + rounding
    return scale * float(quantiles(np.ones((1, terms)), 0.999 * miss)[0]) + rounding
