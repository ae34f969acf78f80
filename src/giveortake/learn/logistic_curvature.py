"""How steep the logistic function is where rows are: the curvature of a logistic fit, made of what was released.

The misfits of a fit θ have the curvature Σ p(1 − p)·xxᵀ, where p depends on the row. To measure it anew at each fit
would cost as much as the products of the columns again. What is released of them tells about as much: the log-odds θ·x
have a known mean and variance, and what follows from these for normal columns is their mean steepness, and how it
changes with each column. An error in it makes a step too short or too long, and no fit wrong: where the sum of misfits
is zero, no step is taken. All of it is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np

from giveortake.learn.noise_aware import Curvature
from giveortake.learn.scores import STEEPEST

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Reals: TypeAlias = npt.NDArray[np.float64]

_NODES = np.linspace(-4, 4, 65)
_WEIGHTS = np.exp(-(_NODES**2) / 2) / np.exp(-(_NODES**2) / 2).sum()
_WIDE = 4.0  # a deviation of log-odds: of larger ones too few nodes lie where the logistic function is steep
_GAP = 0.5
_LOG_ODDS = np.arange(-STEEPEST, STEEPEST + _GAP, _GAP)
_LEAST = 1e-9
_TINY = float(np.finfo(np.float64).tiny)
_PRIOR = 0.3  # how large the square of a coefficient of a standardised column is thought to be
_PARTS = 8  # of a step, each with the curvature of where it begins


def steepness(mean: Reals, variance: Reals | float) -> Reals:
    """E[w], E[w′] and E[w″] of w = σ(1 − σ), where log-odds are normal with a mean and a variance.

    >>> [round(float(each), 4) for each in steepness(np.array(0.0), 0.0)]
    [0.25, 0.0, -0.125]
    """
    mean, spread = np.broadcast_arrays(mean, np.sqrt(np.maximum(variance, 0)))
    narrow = _over_deviations(mean[..., None], np.minimum(spread, _WIDE)[..., None])
    return np.where(spread > _WIDE, _over_log_odds(mean[..., None], np.maximum(spread, _WIDE)[..., None]), narrow)


def _over_deviations(mean: Reals, spread: Reals) -> Reals:
    """`steepness` by nodes up to four deviations from the mean."""
    chance = chances(mean + spread * _NODES)
    slope = chance * (1 - chance)
    tilt = 1 - 2 * chance
    return np.stack([slope @ _WEIGHTS, (slope * tilt) @ _WEIGHTS, (slope * (tilt**2 - 2 * slope)) @ _WEIGHTS])


def _over_log_odds(mean: Reals, spread: Reals) -> Reals:
    """`steepness` by nodes wherever w is not nearly 0, however wide the normal law is.

    The derivatives are Stein's: E[w′] = E[w·z]/s and E[w″] = E[w·(z² − 1)]/s², for log-odds z deviations s from the
    mean. Sums at gaps of ½ are integrals up to about e^(−4π²), because w has no pole nearer to the real line than π.
    """
    away = (_LOG_ODDS - mean) / spread
    chance = chances(_LOG_ODDS)
    part = chance * (1 - chance) * np.exp(-(away**2) / 2) * _GAP / (spread * np.sqrt(2 * np.pi))
    means = [part, part * away / spread, part * (away**2 - 1) / spread**2]
    return np.stack([each.sum(axis=-1) for each in means])


def steepness_about(mean: Reals, variance: Reals | float) -> Reals:
    """E[w] nearly, at once: a normal variable makes the logistic function flatter by κ = 1/√(1 + π·variance/8)."""
    flatter = 1 / np.sqrt(1 + np.pi / 8 * np.maximum(variance, 0.0))
    chance = chances(flatter * mean)
    return np.asarray(flatter * chance * (1 - chance))


def chances(log_odds: Reals) -> Reals:
    """1/(1 + e^(−log-odds)), as rows are given it."""
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -STEEPEST, STEEPEST))))


@final
@dataclass(frozen=True, slots=True, eq=False)
class LineCurvature:
    """The curvature of a line: of columns x, the first of which is 1, by the released sums of their products, Σ xxᵀ.

    `ends` has two lines: what a column is for rows of a category and for others, or nothing for numbers, and `shares`
    the part of the rows that are of it.
    """

    moments: Reals
    ends: Reals
    shares: Reals

    def at(self, theta: Reals) -> Reals:
        """Σ w·xxᵀ at log-odds θ·x.

        With E[x] = m and Cov(x)·θ = v, a normal x has E[w·xxᵀ] = E[w]·E[xxᵀ] + E[w′]·(m·vᵀ + v·mᵀ) + E[w″]·v·vᵀ. A
        column of two values is not normal: where rows of a rare category are steeper than this, that much is added to
        its own square. Nothing is scaled or taken away: columns that nearly add up to another would become a direction
        in which steps have no end.

        E[w″] is at least E[w′]²/E[w] − E[w]/variance, as of every normal law: so no direction has a negative curvature.
        """
        n, moments = self.moments[0, 0], self.moments
        means = moments[0] / n
        along = moments @ theta / n - means * (means @ theta)
        middle, variance = float(means @ theta), float(theta @ along)
        level, tilt, bend = steepness(np.array(middle), variance)
        bend = max(bend, tilt * (tilt / max(level, _TINY)) - level / max(variance, _LEAST))
        both = np.outer(means, along)
        found = level * moments + n * (tilt * (both + both.T) + bend * np.outer(along, along))
        squares = np.maximum(np.diag(moments), 0)
        spreads = np.maximum(squares / n - means**2, _LEAST)
        log_odds = middle + along / spreads * (self.ends - means)
        slopes = steepness(log_odds, np.maximum(variance - along**2 / spreads, 0))[0]
        parts = np.array([self.shares, 1 - self.shares]) * self.ends**2
        steep = (slopes * parts).sum(axis=0) / np.maximum(parts.sum(axis=0), _LEAST)
        more = np.where(self.shares > 0, np.maximum(steep * squares - np.diag(found), 0), 0)
        return np.asarray(found + np.diag(more))

    def inverse(self, curvature: Reals, noise: float, doubt: float) -> Reals:
        """What takes a gradient with noise to a step; `doubt` is the size of the noise of the moments."""
        floor = float(np.trace(curvature) / np.trace(self.moments)) * doubt
        return Curvature.of(curvature).inverse(noise**2, _PRIOR, floor)


def followed_along(start: Reals, direction: Callable[[Reals], Reals]) -> Reals:
    """Where one gets from a start in one step if its direction is asked for again on the way.

    A Newton step in one piece goes much too far where chances are small and rise: the curvature rises with them.
    """
    place = start
    for _ in range(_PARTS):
        middle = place + direction(place) / (2 * _PARTS)
        place = place + direction(middle) / _PARTS
    return place


def log_odds(rate: float, doubt: float) -> float:
    """The log-odds of a rate, taken to be no nearer to 0 or 1 than a doubt."""
    least = min(max(doubt, 1e-6), 0.5)
    kept = min(max(rate, least), 1 - least)
    return float(np.log(kept / (1 - kept)))
