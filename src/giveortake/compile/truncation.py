"""Intervals of numbers that were shown because they reached a threshold: their law is truncated there."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, assert_never

import numpy as np

from giveortake.accounting.pld import floating_point
from giveortake.mechanisms.tails import LaplaceTail, NormalTail

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from giveortake.compile.releases import Decided
    from giveortake.mechanisms.tails import Tail

    Floats: TypeAlias = npt.NDArray[np.float64]
    Whole: TypeAlias = npt.NDArray[np.int64]

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
    numbers, places = np.unique(decided.numbers, return_inverse=True)
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
    return low[places].reshape(decided.numbers.shape), high[places].reshape(decided.numbers.shape)


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
                found = np.log(np.maximum(floating_point.tail(x), 1e-300))
            case LaplaceTail():
                found = np.where(x > 0, -x - np.log(2), np.log1p(-0.5 * np.exp(np.minimum(x, 0.0))))
            case _:
                assert_never(tail)
    logarithms: Floats = found
    return logarithms
