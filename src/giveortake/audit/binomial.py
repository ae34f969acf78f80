"""Exact binomial confidence bounds [CP34], with nothing but floating-point arithmetic.

Bounds of an audit are statements about samples, not promises, so doubles do; they are rounded outwards by 1e-9 of
themselves, which is far more than the error of the series.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

_SLACK = 1e-9
_TINY = 1e-300
_MOST_TERMS = 200_000


def least_probability(hits: int, trials: int, alpha: float) -> float:
    """The p for which `hits` or more have probability `alpha`: a lower bound that fails with that probability.

    >>> least_probability(0, 100, 0.05), round(least_probability(50, 100, 0.05), 4)
    (0.0, 0.4136)
    """
    _check(hits, trials, alpha)
    if hits == 0:
        return 0.0
    found = _solved(lambda p: beta_cdf(p, hits, trials - hits + 1) >= alpha)
    return max(0.0, found * (1 - _SLACK))


def greatest_probability(hits: int, trials: int, alpha: float) -> float:
    """The p for which `hits` or fewer have probability `alpha`: an upper bound that fails with that probability.

    >>> round(greatest_probability(0, 100, 0.05), 4), greatest_probability(100, 100, 0.05)
    (0.0295, 1.0)
    """
    return 1.0 if hits == trials else 1 - least_probability(trials - hits, trials, alpha)


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_cdf(1 - x, b, a)
    front = a * math.log(x) + b * math.log1p(-x) - math.log(a)
    return math.exp(front + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)) * _continued(x, a, b)


def _continued(x: float, a: float, b: float) -> float:
    """Lentz's evaluation of the continued fraction."""
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even, odd):
            d, c = 1 + step * d, 1 + step / c
            d = 1 / (d if abs(d) > _TINY else _TINY)
            c = c if abs(c) > _TINY else _TINY
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _solved(reached: Callable[[float], bool]) -> float:
    """The least p at which an increasing statement holds, rounded down."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return low


def _check(hits: int, trials: int, alpha: float) -> None:
    if not 0 <= hits <= trials or trials < 1:
        raise InvalidParameter("hits", hits, f"is not between 0 and {trials}")
    if not 0 < alpha < 1:
        raise InvalidParameter("alpha", alpha, "is not strictly between 0 and 1")
