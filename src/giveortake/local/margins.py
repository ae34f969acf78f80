"""Intervals for a probability, from the number of successes in a number of trials.

Theorem [ZS13]: let X be binomial (n, θ), H(x, θ) = x ln(x/θ) + (1−x) ln((1−x)/(1−θ)), and C(k) = Φ(±√(2n·H(k/n, θ)))
with the sign of k/n − θ for 0 < k < n, C(0) = (1−θ)^n, C(n) = 1 − θ^n. Then C(k) ≤ P[X ≤ k] ≤ C(k+1). So the θ for
which neither tail is below α/2 lie in an interval that needs no limit theorem and is at most one success wider on
either side than Clopper and Pearson's.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from giveortake import exact
from giveortake.errors import InvalidParameter

FloatArray: TypeAlias = "npt.NDArray[np.float64]"
Interval: TypeAlias = Literal["guaranteed", "normal"]

USUAL = Fraction(95, 100)
_MOST_RESPONDENTS = 10**15  # counts up to here are exact in doubles
_STEPS = 48  # halvings of an interval that is at most 1 wide
_TINY = 1e-300  # replaces zero in logarithms that are multiplied by zero
_WIDER = 1e-12  # for what doubles have rounded away


def checked_interval(interval: Interval) -> Interval:
    """Check the kind of interval, and return it."""
    if interval not in get_args(Interval):
        raise InvalidParameter("interval", interval, "is unknown", hint='write "guaranteed" or "normal"')
    return interval


def require_possible(respondents: float, margin: exact.Number) -> None:
    """Refuse a margin that needs more respondents than there are people, or than doubles count exactly."""
    if not respondents <= _MOST_RESPONDENTS:
        raise InvalidParameter("margin", margin, "needs more than 10¹⁵ respondents", hint="ask for a wider margin")


def quantile(confidence: exact.Number) -> float:
    """Φ⁻¹(1 − α/2), rounded up: how many standard deviations a two-sided normal interval reaches."""
    return _quantile(exact.open_probability("confidence", confidence))


@lru_cache(maxsize=256)
def _quantile(confidence: Fraction) -> float:
    missed = 1 - confidence
    with exact.precision():
        return math.nextafter(float(exact.upper(exact.normal_quantile(exact.enclosure(1 - missed / 2)))), math.inf)


def binomial_interval(successes: Any, trials: int, confidence: exact.Number) -> tuple[FloatArray, FloatArray]:
    """For each number of successes, an interval that holds the probability of success with that confidence.

    Guarantee [ZS13]: whatever the probability is, the interval misses it with probability at most 1 − confidence, for
    every number of trials. Rounding of numbers: outwards.
    """
    counts, z = np.asarray(successes, dtype=np.float64), quantile(confidence)
    tail = float(1 - exact.rational("confidence", confidence)) / 2
    reach = z * z / (2 * trials)
    high = _solved((counts + 1) / trials, reach, upwards=True)
    low = _solved((counts - 1) / trials, reach, upwards=False)
    edge = -math.expm1(math.log1p(-tail) / trials)  # 1 − (1 − α/2)^(1/n)
    high = np.where(counts >= trials - 1, np.where(counts == trials, 1.0, 1 - edge), high)
    low = np.where(counts <= 1, np.where(counts == 0, 0.0, edge), low)
    return np.clip(low - _WIDER, 0, 1), np.clip(high + _WIDER, 0, 1)


def normal_interval(successes: Any, trials: int, confidence: exact.Number) -> tuple[FloatArray, FloatArray]:
    """Such intervals by the central limit theorem [Lal20, eq. 15]: right in the limit of many trials."""
    share = np.asarray(successes, dtype=np.float64) / trials
    reach = quantile(confidence) * np.sqrt(share * (1 - share) / trials)
    return share - reach, share + reach


def interval_of(
    successes: Any, trials: int, confidence: exact.Number, interval: Interval
) -> tuple[FloatArray, FloatArray]:
    """The intervals of the kind asked for: guaranteed or normal."""
    chosen = binomial_interval if checked_interval(interval) == "guaranteed" else normal_interval
    return chosen(successes, trials, confidence)


def _solved(share: FloatArray, reach: float, *, upwards: bool) -> FloatArray:
    """The θ beyond each share, on one side, at which H(share, θ) = reach; bisected so that the result is beyond it."""
    hit = np.clip(share, 0.0, 1.0)
    miss = 1 - hit
    bar = hit * np.log(np.maximum(hit, _TINY)) + miss * np.log(np.maximum(miss, _TINY)) - reach
    near, far = hit.copy(), np.full_like(hit, 1.0 if upwards else 0.0)
    for _ in range(_STEPS):
        middle = (near + far) / 2
        within = bar < hit * np.log(np.maximum(middle, _TINY)) + miss * np.log(np.maximum(1 - middle, _TINY))
        near = np.where(within, middle, near)
        far = np.where(within, far, middle)
    return far
