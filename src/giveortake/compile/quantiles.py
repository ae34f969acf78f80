"""Quantiles from noisy counts in bins, each with an interval of all values that may be the quantile."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeAlias, assert_never, final

import numpy as np

from giveortake.caching import cached
from giveortake.mechanisms import laplace_sums, tails

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt

    from giveortake.mechanisms.prefix_sums import PrefixStrategy
    from giveortake.mechanisms.tails import Tail

    Floats: TypeAlias = npt.NDArray[np.float64]

_MANY = 2048  # keys whose running totals are in memory at once


class Distribution(ABC):
    """Released counts of the values of every key, from which quantiles are computed."""

    __slots__ = ()

    @abstractmethod
    def band(self, quantile: Fraction, miss: float) -> tuple[Floats, Floats, Floats]:
        """Low, value and high of a quantile, for every key; the interval misses with probability at most `miss`."""

    @abstractmethod
    def rank_margin(self, quantile: Fraction, miss: float) -> float:
        """By how many values the count at a border may be off; it does not depend on rows."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class RunningTotals(Distribution):
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
        """The hull of all bins that may hold the quantile.

        Guarantee: let D(v) = (1−q)·#(values below v) − q·#(values not below v). A bin from a to b holds the quantile if
        D(a) ≤ 0 ≤ D(b). It is left out only if the estimate of D(a) is above zero, or that of D(b) below, by more than
        its own noise is with probability miss/2 on that side. So the bin of the true quantile is left out with
        probability at most `miss`, whatever the values are. D is not above zero at the lowest border and not below at
        the highest one, whatever the noise says.
        """
        q = float(quantile)
        reach = self._reach(quantile, miss)
        parts = [self._band(start, q, reach) for start in range(0, max(len(self.released), 1), _MANY)]
        first, place, last = (np.concatenate(each) for each in zip(*parts, strict=True))
        low, value = self.low + first * self.width, self.low + place * self.width
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
    place = sums.argmin(axis=1)
    before, after = np.minimum(difference[rows, place], 0.0), np.maximum(difference[rows, place + 1], 0.0)
    apart = after - before
    part = np.where(apart > 0, -before / np.where(apart > 0, apart, 1.0), 0.5)
    crossing: Floats = place + np.minimum(part, math.nextafter(1.0, 0.0))
    return crossing


@cached(4)
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
    return laplace_sums.quantiles(weights, miss), np.abs(weights).sum(axis=1) / 2


@final
@dataclass(frozen=True, slots=True, eq=False)
class BinaryTree(Distribution):
    """The levels of a binary tree over bins, as the first rules released them."""

    levels: list[Floats]
    tails: tuple[Tail, ...]
    slack: float
    low: float
    width: float

    def band(self, quantile: Fraction, miss: float) -> tuple[Floats, Floats, Floats]:
        """Descend the tree, once for the value and once for each end.

        Guarantee: a true quantile x has (1−q)·#(values left of the border above x) ≥ q·#(values right of it), and the
        other way round for the border below. At each node, compare the noisy difference D = (1−q)·left − q·right at the
        border in its middle with zero, give or take a margin m. As long as the descent is on the path to x, it can
        leave it to the wrong side only if the noise of D exceeds m, which the union bound over the levels of that one
        path allows with probability at most miss/2 for each end.
        """
        q = float(quantile)
        margin = self.rank_margin(quantile, miss)
        ends = [_descend(self.levels, q, shift) for shift in (margin, 0.0, -margin)]
        low = self.low + ends[0] * self.width
        high = self.low + (ends[2] + 1) * self.width
        value = self.low + (ends[1] + 0.5) * self.width
        if self.width == 1:  # whole numbers: a bin is one of them
            value, high = self.low + ends[1], self.low + ends[2]
        return np.minimum(low, value), value, np.maximum(high, value)

    def rank_margin(self, quantile: Fraction, miss: float) -> float:
        """At every border, one node of each level and one more count, each with a weight of at most one."""
        depth = len(self.levels)
        strays = [tail for tail in self.tails for _ in range(depth + 1)]
        return tails.quantile(strays, miss / depth) + self.slack * 2 * depth


def _descend(levels: list[Floats], q: float, shift: float) -> Floats:
    """The leaf reached when going right wherever D + shift < 0."""
    keys = levels[0].shape[0]
    rows = np.arange(keys)
    total = levels[0].sum(axis=1)
    below = np.zeros(keys)
    position = np.zeros(keys, dtype=np.int64)
    for level in levels:
        left = level[rows, 2 * position]
        at_border = below + left
        difference = (1 - q) * at_border - q * (total - at_border)
        right = difference + shift < 0
        below = np.where(right, at_border, below)
        position = 2 * position + right
    return position.astype(np.float64)
