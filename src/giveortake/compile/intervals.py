"""Confidence intervals of what follows from noisy numbers: quotients, numbers above a threshold, sums, quantiles.

- `Acceptance`: a quotient of two noisy numbers; all r that may be the true one, within its known bounds.
- `truncated_interval`: a number that was shown because it reached a threshold; its law is truncated there.
- `sum_margins`: sums of a linear formula over several keys.
- `RunningTotals`: quantiles, from noisy counts in bins; all values that may be the quantile.

A quotient r is judged by how likely noise is to move over − r·under as far from zero as it is. Without bounds this is
Fieller's theorem [Fie54]. If noise took the quotient out of its bounds, perhaps no r within them looks likely; then
each r is compared with the likeliest one, as in the ordering of Feldman and Cousins [FC98].

Guarantee: the noise of k keys is k independent copies of one. In standard deviations, the sum S of Laplace noises of
scales bᵢ and a normal one of deviation σ has the characteristic function φ(u) = e^(−kσ²u²/2) Π (1 + bᵢ²u²)^(−k), and
P[|S| ≤ t] = 2t/T + Σ 2/(πj)·φ(uⱼ)·sin(uⱼt) over uⱼ = 2πj/T, j = 1, 2, …, but for the chance that |S| exceeds T − t,
which is nothing at T = 64. Where u is large, φ falls to less than 0.4 of itself whenever u doubles, so that the terms
after the J-th are together less than φ(u_J); they are taken off the miss. Where they matter beside it, `tails` has the
law of few noises, and of many Chernoff's bound is taken: with the logarithm K(s) of a noise's moment-generating
function P[|Σ| > t] ≤ 2·e^(k·K(s) − s·t) for every s > 0, and K(s) = −ln(1 − s²b²) below s = 1/b for Laplace noise.
More noise only lengthens the tail [Bir48], so that a large k may be rounded up, by at most 1 %. Rounding moves each key
by at most `slack`, symmetrically and independently: by Hoeffding's inequality [Hoe63] the sum of it exceeds
slack·√(2k·ln(2/miss)) with probability at most `miss`, and k·slack never.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeAlias, assert_never, final

import numpy as np

from giveortake.accounting import privacy_loss
from giveortake.caching import cached
from giveortake.mechanisms import additive as tails
from giveortake.mechanisms.additive import LaplaceTail, NormalTail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    import numpy.typing as npt

    from giveortake.compile.formulas import Linear
    from giveortake.compile.measures import Combined, Decided
    from giveortake.mechanisms.additive import Tail
    from giveortake.mechanisms.mechanism import PrefixStrategy

    Floats: TypeAlias = npt.NDArray[np.float64]
    Whole: TypeAlias = npt.NDArray[np.int64]


_HALVINGS = 44  # of the interval in which an end is searched for
_DOUBLINGS = 80
_LEAST = 1e-280  # smaller probabilities underflow
_KEYS_AT_ONCE = 2048  # whose running totals are in memory at once


@final
class Acceptance:
    """Tests of over − r·under = 0, for every key; `parts` are the measures with their weights in `over` and `under`.

    Guarantee: let p(r) be the chance that noise moves over − r·under from zero as far as it is. An r is accepted if
    p(r) ≥ miss · p(r*), where r* is the quotient of what was released or the bound next to it. The true quotient has
    p(r) < miss with probability at most `miss`, and p(r*) ≤ 1, so that it is left out no oftener. r* itself is
    accepted: no interval is empty, or one point because it was cut off at a bound.
    """

    def __init__(self, over: Floats, under: Floats, parts: list[tuple[Combined, float, float]], miss: float) -> None:
        self._over, self._under, self._parts, self._miss = over, under, parts, miss

    def interval(self, low: float, high: float, slack: float) -> tuple[Floats, Floats, Floats]:
        """The quotient, and the ends of what is accepted between `low` and `high`; rounding may add `slack`.

        If the released `under` is not above zero, only the bounds are known. The same holds if noise took the quotient
        out of them and everything between them is accepted: then the value is their middle, because a bound would look
        like an estimate.
        """
        known = self._under > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            quotient = np.where(known, self._over / np.where(known, self._under, 1), np.nan)
        middle = (low + high) / 2 if np.isfinite(low) and np.isfinite(high) else np.nan
        value = np.clip(np.where(known, quotient, middle), low, high)
        start = np.where(known, value, 0.0)
        outside = known & (quotient != value)
        ends = self._ends(start, self._levels(start, outside=outside), low, high)
        below, above = np.clip(ends[0] - slack, low, high), np.clip(ends[1] + slack, low, high)
        nothing = outside & (below <= low) & (above >= high) & np.isfinite(middle)
        return np.where(nothing, middle, value), np.where(known, below, low), np.where(known, above, high)

    def _levels(self, start: Floats, *, outside: npt.NDArray[np.bool_]) -> Floats:
        """The level of every key's tests: less than `miss` where the quotient lies outside its bounds."""
        levels = np.full(len(start), self._miss)
        if outside.any():
            away, strays = self._noise(start, self._over, self._under)
            levels[outside] *= np.maximum(tails.chance(away, strays)[outside], _LEAST)
        return levels

    def _noise(self, r: Floats, over: Floats, under: Floats) -> tuple[Floats, list[tails.Tail]]:
        """How far over − r·under is from zero, less what rounding explains, and the noise in it."""
        away = np.abs(over - r * under)
        strays: list[tails.Tail] = []
        for combined, above, below in self._parts:
            weight = np.abs(above - r * below)
            strays += [tail.times(weight) for tail in combined.tails]
            away = away - combined.slack * weight
        return away, strays

    def _ends(self, start: Floats, levels: Floats, low: float, high: float) -> tuple[Floats, Floats]:
        """The least and greatest accepted r around `start`, which is accepted; or the limits, if all are accepted.

        |over − r·under| is linear on each side and the bound on the noise is convex in r, so that the rejected r on a
        side are one interval, and halving finds its edge. Both edges are searched for at once.
        """
        size = start.size
        over, under, level = (np.concatenate([array, array]) for array in (self._over, self._under, levels))

        def accepted(r: Floats) -> npt.NDArray[np.bool_]:
            return tails.plausible(*self._noise(r, over, under), level)

        near = np.concatenate([start, start])
        limits = np.repeat([low, high], size)
        beyond = limits if np.isfinite(limits).all() else _far_enough(accepted, near, limits)
        open_ended = accepted(beyond)
        for _ in range(_HALVINGS):
            middle = near + (beyond - near) / 2
            inside = accepted(middle)
            near, beyond = np.where(inside, middle, near), np.where(inside, beyond, middle)
        edges = np.where(open_ended, limits, beyond)
        return edges[:size], edges[size:]


def _far_enough(accepted: Callable[[Floats], npt.NDArray[np.bool_]], start: Floats, limits: Floats) -> Floats:
    """The limits, with infinite ones replaced by a number beyond the edge, if there is an edge."""
    finite = np.isfinite(limits)
    step = np.where(limits > 0, 1.0, -1.0) * np.maximum(np.abs(start), 1.0)
    far: Floats = np.where(finite, limits, start + step)
    for _ in range(_DOUBLINGS):
        inside = accepted(far) & ~finite
        if not inside.any():
            break
        step = step * 2
        far = np.where(inside, start + step, far)
    return far


_FAR = 40  # scales beyond which no noise is plausible
_SLACK = 1e-9  # for the error of doubles: makes the interval wider


def truncated_interval(decided: Decided, miss: float) -> tuple[Whole, Whole]:
    """Ends of intervals, never below one, that miss with probability at most `miss`, given that the number was shown.

    Guarantee: let Y = n + noise, shown if Y ≥ T. The interval holds every n ≥ 1 at which neither P[Y ≥ y | Y ≥ T] nor
    P[Y ≤ y | Y ≥ T] is below miss / 2: the inversion of a test that is exact for every n, so that the true n is left
    out with probability at most `miss`, given that Y is shown. Both noises have a monotone likelihood ratio, also
    truncated: the first probability grows with n, the second falls, and halving finds the ends. Where nothing is left,
    which happens with that probability at most, the interval ends at the number itself.
    """
    numbers, indices = np.unique(decided.numbers, return_inverse=True)
    if not numbers.size:
        return numbers, numbers
    threshold, enough = decided.threshold, miss / 2 * (1 - _SLACK)
    below = np.ones_like(numbers)
    above = numbers + np.int64(np.ceil(_FAR * decided.tail.scale)) + 1

    def at_least(n: Whole) -> npt.NDArray[np.bool_]:
        return np.exp(_log_tail(decided.tail, numbers - n) - _log_tail(decided.tail, threshold - n)) >= enough

    def at_most(n: Whole) -> npt.NDArray[np.bool_]:
        return -np.expm1(_log_tail(decided.tail, numbers + 1 - n) - _log_tail(decided.tail, threshold - n)) >= enough

    low = _first(at_least, below, np.maximum(numbers, 1))
    high = _first(lambda n: ~at_most(n), below, above) - 1
    nothing = high < low
    low, high = np.where(nothing, 1, low), np.where(nothing, np.maximum(numbers, 1), high)
    return low[indices].reshape(decided.numbers.shape), high[indices].reshape(decided.numbers.shape)


def _first(holds: Callable[[Whole], npt.NDArray[np.bool_]], low: Whole, high: Whole) -> Whole:
    """The least n between two ends from which on a condition holds; it holds at the upper end."""
    while (low < high).any():
        middle = low + (high - low) // 2
        inside = holds(middle)
        low, high = np.where(inside, low, middle + 1), np.where(inside, middle, high)
    return high


def _log_tail(tail: Tail, steps: Whole) -> Floats:
    """The logarithm of P[rounded noise ≥ steps] = P[noise ≥ steps − ½]."""
    x = (steps - 0.5) / tail.scale
    with np.errstate(divide="ignore"):
        match tail:
            case NormalTail():
                log_probabilities = np.log(np.maximum(privacy_loss.tail(x), 1e-300))
            case LaplaceTail():
                log_probabilities = np.where(x > 0, -x - np.log(2), np.log1p(-0.5 * np.exp(np.minimum(x, 0.0))))
            case _:
                assert_never(tail)
    logarithms: Floats = log_probabilities
    return logarithms


_ROUNDING = 1 / 64  # of the probability to miss, for what rounding adds
_FEW = 8  # noises whose law is added up in `tails`
_GRID = np.linspace(0.002, 0.998, 400)
_PERIOD = 64.0  # standard deviations after which the series repeats
_FREQUENCIES = 2 * np.pi / _PERIOD * np.arange(1, 1025)
_FARTHEST = 16.0  # standard deviations, beyond which a sum lies less often than …
_RAREST = 1e-8
_DOUBLES = 1e-12  # what a sum of so many doubles may be off
_BESIDE = 100  # times what the series leaves out, if that matters little beside the miss
_STEPS = 40  # of halving
_EACH = 200  # keys up to which every number of them is judged by itself
_APART = 1.01  # the ratio of others


def noise_of(formula: Linear, measures: Mapping[int, Combined]) -> tuple[list[Tail], float]:
    """The noise terms of a linear formula, and how far rounding may move it."""
    strays: list[Tail] = []
    slack = 0.0
    for index, weight in formula.weights.items():
        size = abs(float(weight))
        strays += [tail.times(size) for tail in measures[index].tails]
        slack += measures[index].slack * size
    return strays, slack


def sum_margins(formula: Linear, measures: Mapping[int, Combined], counts: Floats, miss: float) -> Floats:
    """For each number of keys, the margin of the sum of the formula over that many keys; 0 for none."""
    strays, slack = noise_of(formula, measures)
    known, indices = np.unique(np.nan_to_num(counts), return_inverse=True)
    noise = _noise_margins([tail for tail in strays if tail.scale > 0], known, miss * (1 - _ROUNDING))
    rounding = np.minimum(known * slack, slack * np.sqrt(2 * known * math.log(2 / (miss * _ROUNDING))))
    margins: Floats = (noise + rounding)[indices]
    return margins


def _noise_margins(strays: list[Tail], counts: Floats, miss: float) -> Floats:
    if not strays:
        return np.zeros(len(counts))
    laplace = [float(tail.scale) for tail in strays if isinstance(tail, LaplaceTail)]
    normal = math.hypot(*(float(tail.scale) for tail in strays if isinstance(tail, NormalTail)))
    if not laplace:
        return np.sqrt(counts) * normal * -NormalDist().inv_cdf(miss / 2)
    powers = np.ceil(np.log(np.maximum(counts, _EACH) / _EACH) / math.log(_APART) - 1e-9)
    rounded = np.where(counts > _EACH, np.ceil(_EACH * _APART**powers), counts)
    judged, indices = np.unique(rounded, return_inverse=True)
    margins = _by_series(laplace, normal, judged, miss)
    for index in np.flatnonzero(np.isnan(margins)).tolist():
        count = int(judged[index])
        few = count * len(strays) <= _FEW
        margins[index] = tails.quantile(strays * count, miss) if few else _by_moments(laplace, normal, count, miss)
    return margins[indices]


def _by_series(laplace: list[float], normal: float, counts: Floats, miss: float) -> Floats:
    """What the series says of sums over so many keys; not a number where it says too little."""
    deviation = math.sqrt(2 * sum(scale**2 for scale in laplace) + normal**2)
    margins = np.where(counts > 0, np.nan, 0.0)
    copies = counts[:, np.newaxis]
    u = _FREQUENCIES / np.sqrt(np.maximum(copies, 1.0)) / deviation
    characteristic = np.exp(-copies * (sum(np.log1p((u * scale) ** 2) for scale in laplace) + (u * normal) ** 2 / 2))
    left_out = 2 * characteristic[:, -1] + _DOUBLES
    several = (counts * len(laplace) > 1) | (normal > 0)  # of one noise there is a formula
    is_resolved = (counts > 0) & several & (left_out * _BESIDE <= miss) & (miss >= _RAREST)
    amplitudes = 2 * characteristic[is_resolved] / np.arange(1, len(_FREQUENCIES) + 1)
    wanted = np.pi * (1 - miss + left_out[is_resolved])
    below, above = np.zeros(len(wanted)), np.full(len(wanted), _FARTHEST)
    for _ in range(_STEPS):
        middle = (below + above) / 2
        waves = np.sin(np.outer(middle, _FREQUENCIES))
        enough = _FREQUENCIES[0] * middle + (amplitudes * waves).sum(axis=1) >= wanted
        below, above = np.where(enough, below, middle), np.where(enough, middle, above)
    margins[is_resolved] = above * deviation * np.sqrt(counts[is_resolved])
    return margins


def _by_moments(laplace: list[float], normal: float, count: int, miss: float) -> float:
    """Chernoff's bound for Laplace noises, and beside it, by the union bound, the law of the normal one."""
    tail_miss = miss / 2 if normal else miss
    s = _GRID / max(laplace)
    cumulant = sum(-np.log1p(-((s * scale) ** 2)) for scale in laplace)
    laplace_margin = float(((math.log(2 / tail_miss) + count * cumulant) / s).min())
    return laplace_margin + math.sqrt(count) * normal * -NormalDist().inv_cdf(tail_miss / 2)


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
    truncated_rows: float = 0  # at most; the interval holds the quantile of all rows

    def band(self, quantile: Fraction, miss: float) -> tuple[Floats, Floats, Floats]:
        """Low, value and high of a quantile, for every key: the hull of all bins that may hold it.

        Guarantee: let D(v) = (1−q)·#(values below v) − q·#(values not below v). A bin from a to b holds the quantile if
        D(a) ≤ 0 ≤ D(b). It is left out only if the estimate of D(a) is above zero, or that of D(b) below, by more than
        its own noise is with probability miss/2 on that side. So the bin of the true quantile is left out with
        probability at most `miss`, whatever the values are. D is not above zero at the lowest border and not below at
        the highest one, whatever the noise says. Of at most U values that contribution bounds left out, u lie below v
        and t in all: they add u − q·t to D, which is between −q·U and (1−q)·U, and so much farther the tests reach.
        """
        q = float(quantile)
        reach = self._reach(quantile, miss)
        parts = [self._band(start, q, reach) for start in range(0, max(len(self.released), 1), _KEYS_AT_ONCE)]
        first, crossing, last = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        low, value = self.low + first * self.width, self.low + crossing * self.width
        high = self.low + (last + 1) * self.width
        if self.whole:
            value, high = np.floor(value), np.minimum(high - 1, self.high)
        return low, np.clip(value, low, high), high

    def _band(self, start: int, q: float, reach: Floats) -> tuple[Floats, Floats, Floats]:
        """The first bin that may hold the quantile, the place where the estimate crosses zero, and the last bin."""
        totals = self.strategy.running_totals(self.released[start : start + _KEYS_AT_ONCE]) * self.unit
        difference = totals - q * totals[:, -1:]
        above, below = q * self.truncated_rows, (1 - q) * self.truncated_rows
        not_above, not_below = difference <= reach + above, difference >= -reach - below
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
