"""Quantiles from noisy counts in bins, each with an interval of all values that may be the quantile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeAlias, assert_never, final

import numpy as np

from giveortake.caching import cached
from giveortake.mechanisms import tails

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt

    from giveortake.mechanisms.mechanism import PrefixStrategy
    from giveortake.mechanisms.tails import Tail

    Floats: TypeAlias = npt.NDArray[np.float64]

_MANY = 2048  # keys whose running totals are in memory at once


@final
@dataclass(frozen=True, slots=True, eq=False)
class RunningTotals:
    """Released integers of a strategy for running totals; `unit` is the count that one step stands for.

    `whole` says that values are whole numbers, of which every bin holds `width`; none is above `high`.
    """

    strategy: PrefixStrategy
    released: Floats
    tail: Tail
    unit: float
    low: float
    width: float
    high: float
    whole: bool

    def band(self, quantile: Fraction, miss: float) -> tuple[Floats, Floats, Floats]:
        """Low, value and high of a quantile, for every key: the hull of all bins that may hold it.

        Guarantee: let D(v) = (1−q)·#(values below v) − q·#(values not below v). A bin from a to b holds the quantile if
        D(a) ≤ 0 ≤ D(b). It is left out only if the estimate of D(a) is above zero, or that of D(b) below, by more than
        its own noise is with probability miss/2 on that side. So the bin of the true quantile is left out with
        probability at most `miss`, whatever the values are. D is not above zero at the lowest border and not below at
        the highest one, whatever the noise says.
        """
        q = float(quantile)
        reach = self._reach(quantile, miss)
        parts = [self._band(start, q, reach) for start in range(0, max(len(self.released), 1), _MANY)]
        first, crossing, last = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        low, value = self.low + first * self.width, self.low + crossing * self.width
        high = self.low + (last + 1) * self.width
        if self.whole:
            value, high = np.floor(value), np.minimum(high - 1, self.high)
        return low, np.clip(value, low, high), high

    def _band(self, start: int, q: float, reach: Floats) -> tuple[Floats, Floats, Floats]:
        """The first bin that may hold the quantile, the place where the estimate crosses zero, and the last bin."""
        totals = self.strategy.running_totals(self.released[start : start + _MANY]) * self.unit
        difference = totals - q * totals[:, -1:]
        not_above, not_below = difference <= reach, difference >= -reach
        not_above[:, 0], not_below[:, -1] = True, True
        possible = not_above[:, :-1] & not_below[:, 1:]
        size = possible.shape[1]
        first = possible.argmax(axis=1)
        last = size - 1 - possible[:, ::-1].argmax(axis=1)
        return first.astype(np.float64), _crossing(difference), last.astype(np.float64)

    def rank_margin(self, quantile: Fraction, miss: float) -> float:
        """By how many values the count at a border may be off; it does not depend on rows."""
        return float(self._reach(quantile, miss).max())

    def _reach(self, quantile: Fraction, miss: float) -> Floats:
        """The margin of D at every border, rounding included."""
        match self.tail:
            case tails.NormalTail():
                noise, slack = _normal_reach(self.strategy, quantile)
                far = -NormalDist().inv_cdf(miss / 2)
                reach: Floats = (noise * (far * self.tail.scale) + slack) * self.unit
            case tails.LaplaceTail():
                noise, slack = _laplace_reach(self.strategy, quantile, miss)
                reach = (noise * self.tail.scale + slack) * self.unit
            case _:
                assert_never(self.tail)
        return reach


def _crossing(difference: Floats) -> Floats:
    """Where an increasing function that is known up to noise crosses zero, in bins.

    The sum of all values up to a border is least there: that is where the closest increasing function crosses. Within
    the bin, the crossing is interpolated linearly.
    """
    rows = np.arange(len(difference))
    sums = np.zeros((len(difference), difference.shape[1] - 1))
    np.cumsum(difference[:, 1:-1], axis=1, out=sums[:, 1:])
    bin_index = sums.argmin(axis=1)
    before, after = np.minimum(difference[rows, bin_index], 0.0), np.maximum(difference[rows, bin_index + 1], 0.0)
    apart = after - before
    part = np.where(apart > 0, -before / np.where(apart > 0, apart, 1.0), 0.5)
    crossing: Floats = bin_index + np.minimum(part, math.nextafter(1.0, 0.0))
    return crossing


@cached(1)
def _weights(strategy: PrefixStrategy) -> Floats:
    return strategy.weights()


def _difference_weights(strategy: PrefixStrategy, quantile: Fraction) -> Floats:
    """The weight of every released integer in D, at every border."""
    weights = _weights(strategy)
    difference: Floats = weights - float(quantile) * weights[-1:]
    return difference


@cached(64)
def _normal_reach(strategy: PrefixStrategy, quantile: Fraction) -> tuple[Floats, Floats]:
    """The standard deviation of D for noise of deviation one, and how far rounding to steps may move it."""
    weights = _difference_weights(strategy, quantile)
    return np.sqrt((weights**2).sum(axis=1)), np.abs(weights).sum(axis=1) / 2


@cached(64)
def _laplace_reach(strategy: PrefixStrategy, quantile: Fraction, miss: float) -> tuple[Floats, Floats]:
    """The margin of D for noise of scale one, which is exceeded with probability `miss`, and that of rounding."""
    weights = _difference_weights(strategy, quantile)
    return tails.quantiles(weights, miss), np.abs(weights).sum(axis=1) / 2
