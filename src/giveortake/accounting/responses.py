"""Many equal promises (ε, δ): the optimal composition in closed form, without a grid.

Theorem [KOV15, Thm 3.3]. Of k responses with losses ±ε₀, j have loss +ε₀ with P-probability p_j, which is
C(k, j)e^(jε₀)/(1 + e^ε₀)^k, and Q-probability p_(k−j). The best tests are "at least j", so δ(ε) is the greatest of
A_j − e^ε·B_j, with A_j the sum of p_i and B_j that of p_(k−i) over i ≥ j, and

    ε(δ) = max(0, max_j ln((A_j − δ)/B_j)).

If each of them leaks with probability δ₀, all of this happens with probability (1 − δ₀)^k and all is lost otherwise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from giveortake.accounting.rounding import FUNCTION_ERROR, TINY, UNIT

if TYPE_CHECKING:
    from fractions import Fraction

    from giveortake.accounting.rounding import Floats

MOST = 4096  # responses: beyond it the sums of logarithms lose digits, and the grid is as fast
_LARGEST = 600.0  # of kε₀: probabilities stay above the least double


def responses_epsilon(epsilon: Fraction, leak: Fraction, times: int, delta: Fraction) -> tuple[float, float] | None:
    """A lower and an upper bound of ε; None if doubles are not precise enough."""
    loss = float(epsilon)
    if times > MOST or not 1e-6 < loss * times < _LARGEST:
        return None
    kept = math.exp(times * math.log1p(-float(leak)))
    left = float(delta) + math.expm1(times * math.log1p(-float(leak)))
    error = _relative_error(times, loss)
    least, most = (left - error * float(delta)) / kept * (1 - error), (left + error * float(delta)) / kept * (1 + error)
    if least <= 0 or most >= 1:
        return None
    hits = np.arange(times + 1, dtype=np.float64)
    choices = np.concatenate([[0.0], np.cumsum(np.log((times - hits[:-1]) / hits[1:]))])
    common = choices - times * math.log1p(math.exp(-loss))
    ahead, behind = _from_each(np.exp(common - (times - hits) * loss)), _from_each(np.exp(common - hits * loss))
    if np.any((ahead * (1 + error) > least) & (behind < TINY)):
        return None
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        above = np.log((ahead * (1 + error) - least) / (behind * (1 - error)))
        below = np.log((ahead * (1 - error) - most) / (behind * (1 + error)))
    high, low = (float(np.max(ends[np.isfinite(ends)], initial=0.0)) for ends in (above, below))
    return low * (1 - 2 * FUNCTION_ERROR), high * (1 + 2 * FUNCTION_ERROR)


def _from_each(masses: Floats) -> Floats:
    """For every j, the sum of the masses from j to the end."""
    sums: Floats = np.cumsum(masses[::-1])[::-1]
    return sums


def _relative_error(times: int, loss: float) -> float:
    """The relative error of A_j and B_j: k logarithms, their running sum of at most k ln 2, e^x and k additions."""
    logarithms = FUNCTION_ERROR * times * (2 + math.log(times + 1)) + UNIT * times * times
    return 2 * (logarithms + 16 * UNIT * times * (loss + 1) + 8 * FUNCTION_ERROR + 4 * UNIT * times)
