"""Split a promise among measurements, in closed form, for the least variance of the requested tables [XWZK23]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.workload.layout import Incidence

    Floats: TypeAlias = npt.NDArray[np.float64]

Goal: TypeAlias = Literal["rms", "maximum"]

_ROUNDS = 300
_CLOSE = 1.005  # the greatest variance of what is found, against a lower bound of every plan


def least_noise(coefficients: Floats, prices: Floats, square: float) -> Floats:
    """The variances v that minimise Σ c·v, where Σ q/v is `square`: the μ² that may be spent.

    By Cauchy and Schwarz, Σ c·v · Σ q/v ≥ (Σ √(c·q))², and v = √(q/c) · Σ √(c·q) / μ² reaches it. Parts of price 0 get
    no noise here.

    >>> least_noise(np.array([1.0, 4.0]), np.array([1.0, 1.0]), 1.0)
    array([3. , 1.5])
    """
    together = np.sqrt(coefficients * prices).sum()
    variances: Floats = np.sqrt(prices / coefficients) * together / square
    return variances


def goal_weights(incidence: Incidence, prices: Floats, weights: Floats, goal: Goal) -> Floats:
    """The weights with which `least_noise` reaches the goal; for "rms", the stated ones.

    For the maximum, of weight times variance, they are found in rounds. Whatever weights w ≥ 0 of sum one minimise
    Σ w·s·Var, its minimum is below the greatest s·Var of any plan; weights grow where that is large until the two meet.
    """
    if goal == "rms":
        return weights
    shares = np.full(len(weights), 1 / len(weights))
    best, least = weights, np.inf
    for _ in range(_ROUNDS):
        coefficients = incidence.coefficients(shares * weights)
        losses = weights * incidence.variances(least_noise(coefficients, prices, 1.0))
        greatest = losses.max()
        if greatest < least:
            best, least = shares * weights, greatest
        if least <= _CLOSE * float(shares @ losses):
            break
        shares = shares * np.sqrt(losses)
        shares /= shares.sum()
    return best
