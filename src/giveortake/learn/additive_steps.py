"""Steps of an additive fit, by what was released: rows in bins and in pairs of bins. All of it is post-processing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np

from giveortake.learn.logistic_curvature import chances, followed_along, log_odds, steepness_about
from giveortake.learn.noise_aware import Curvature, shrunk

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Reals: TypeAlias = npt.NDArray[np.float64]

_PRIOR = 0.1  # how large the square of a bin's number is thought to be
_PRIOR_OF_ALL = 4.0  # the same of what all bins have in common
_FEWEST = 20.0
_BARELY = 1e-6


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Others:
    """Numbers of bins less their feature's mean, what rows of a bin have more of each other feature, and the rest.

    That is the mean of all log-odds, the variance of each feature's numbers, and how steep the loss is in each bin.
    """

    own: Reals
    more: Reals
    middle: float
    spreads: Reals
    steep: Reals


@final
class AdditiveSteps:
    """Where a fit gets to by sums of misfits.

    `pairs` are rows in both of two bins, and `rows` those in each, by feature.

    `noise` is that of the pairs. Bins of classes are as steep as the logistic function is for their rows, those of
    numbers 1 everywhere.
    """

    def __init__(self, pairs: Reals, rows: Sequence[Reals], noise: float, *, of_classes: bool) -> None:
        self._pairs, self._rows, self._noise, self._of_classes = pairs, rows, noise, of_classes
        self._ends = np.cumsum([0, *(len(each) for each in rows)])
        self._parts = [slice(*ends) for ends in pairwise(self._ends.tolist())]
        self._of_feature = np.repeat(np.eye(len(rows)), np.diff(self._ends), axis=0)
        self.n = max(float(sum(each.sum() for each in rows)) / len(rows), _FEWEST)

    @property
    def size(self) -> int:
        """How many bins there are."""
        return int(self._ends[-1])

    def from_rate(self, sums: Reals, noise: float) -> tuple[Reals, Reals]:
        """The fit that has the rate of all rows everywhere, and the misfits there, of those at even odds."""
        features = len(self._rows)
        doubt = noise * math.sqrt(self.size) / features / self.n
        start = log_odds(0.5 + float(sums.sum()) / features / self.n, doubt)
        return np.full(self.size, start / features), sums - (chances(np.array(start)) - 0.5) * self._counts()

    def after(self, total: Reals, sums: Reals, noise: float, variance: float) -> Reals:
        """Where a fit gets to from where its misfits have these sums."""
        weights = self._weights(total)
        curvature = self._curvature(weights)
        inverse = self._inverse(curvature, weights, noise, variance)
        height = float(np.diag(weights) @ self._counts()) / len(self._rows)
        common = self._common(sums, noise, height, variance)
        left = sums - common * curvature.positive().sum(axis=1)
        if not self._of_classes:
            return np.asarray(total + common + inverse @ left)
        before = self._others(total).steep

        def direction(place: Reals) -> Reals:
            """With bins that become steeper on the way, as those do in which a rare class is frequent."""
            steeper = np.sqrt(np.maximum(self._others(place).steep / before, 1.0))
            return np.asarray(common + (inverse @ (left / steeper)) / steeper)

        return followed_along(total, direction)

    def covariance(
        self, total: Reals, noise: float, variance: float, gains: Sequence[float]
    ) -> tuple[Reals, list[str]]:
        """Of the numbers of bins: by noise, which the last steps average, by sampling, and by shrinking; and notes."""
        steps = sum(gain < 1 for gain in gains) + 1  # the last that is taken in full, and those after it
        weights = self._weights(total)
        curvature = self._curvature(weights)
        inverse, seen = self._inverse(curvature, weights, noise, variance), curvature.positive()
        spread = noise**2 / steps * np.eye(self.size) + variance * seen
        unseen = np.eye(self.size) - inverse @ seen  # by how much bins are drawn to what is common
        squares = np.maximum(self._of_feature @ self._others(total).spreads, _PRIOR)  # of what is shrunk
        directions = self.size - len(self._parts) + 1
        notes = shrunk(inverse @ seen, gains, directions, "shapes") if self._of_classes else []
        return np.asarray(inverse @ spread @ inverse + (unseen * squares) @ unseen.T), notes

    def _counts(self) -> Reals:
        return np.maximum(np.concatenate(self._rows), 0)

    def _others(self, total: Reals) -> _Others:
        """What rows of each bin have of the numbers of other features.

        Pairs tell of it; those of a bin with few rows are believed less.
        """
        means, spreads = np.zeros(len(self._parts)), np.zeros(len(self._parts))
        for place, (part, rows) in enumerate(zip(self._parts, self._rows, strict=True)):
            kept = np.maximum(rows, 1.0)
            means[place] = np.average(total[part], weights=kept)
            spreads[place] = np.average((total[part] - means[place]) ** 2, weights=kept)
        own, counts = total - np.repeat(means, np.diff(self._ends)), self._counts()
        more = (self._pairs * own) @ self._of_feature
        more *= (counts / (counts**2 + self._noise**2 * self.size + 1))[:, None]
        more[self._of_feature > 0] = 0  # a bin's own number is no other's
        beside = spreads.sum() - self._of_feature @ spreads
        middle = own + more.sum(axis=1) + means.sum()
        return _Others(own, more, float(means.sum()), spreads, steepness_about(middle, beside))

    def _weights(self, total: Reals) -> Reals:
        """How steep the loss is for rows in both of two bins, and on the diagonal for rows in one.

        Their log-odds have the numbers of these bins, and of other features' numbers a mean and a variance.
        """
        if not self._of_classes:
            return np.ones_like(self._pairs)
        others = self._others(total)
        if len(self._parts) == 1:
            return np.diag(others.steep)
        found, alone = np.zeros_like(self._pairs), np.zeros((self.size, len(self._parts)))
        there, told = np.maximum(self._pairs, 0) + _BARELY, others.own + others.more.sum(axis=1)
        for one, other in combinations(range(len(self._parts)), 2):
            first, second = self._parts[one], self._parts[other]
            of_first, of_second = told[first] - others.more[first, other], told[second] - others.more[second, one]
            beside = others.spreads.sum() - others.spreads[one] - others.spreads[other]
            block = steepness_about(of_first[:, None] + of_second + others.middle, beside)
            found[first, second], found[second, first] = block, block.T
            alone[first, other] = np.average(block, weights=there[first, second], axis=1)
            alone[second, one] = np.average(block, weights=there[first, second], axis=0)
        np.fill_diagonal(found, alone.sum(axis=1) / (len(self._parts) - 1))
        return found

    def _curvature(self, weights: Reals) -> Curvature:
        """Of all bins, without what moves those of one feature up and of another down: that changes no row."""
        return Curvature.of(self._told(self._told(self._pairs * weights).T))

    def _told(self, columns: Reals) -> Reals:
        """Columns without what moves features against each other."""
        means = (self._of_feature.T @ columns) / np.diff(self._ends)[:, None]
        return np.asarray(columns - self._of_feature @ means + columns.mean(axis=0))

    def _inverse(self, curvature: Curvature, weights: Reals, noise: float, variance: float) -> Reals:
        """What takes sums to numbers of bins."""
        steep = float(np.average(np.diag(weights), weights=np.maximum(self._counts(), 1.0)))
        floor = steep * self._noise * math.sqrt(self.size)
        found = curvature.inverse(noise**2 / variance, _PRIOR / variance, floor)
        return self._told(self._told(found).T)

    def _common(self, sums: Reals, noise: float, height: float, variance: float) -> float:
        """What all bins of all features move by together: a row has one bin of each, so all have the same misfits.

        Bins are drawn to this, and not to even odds: those of few rows would stay there.
        """
        features = len(self._rows)
        misfits, doubt = float(sums.sum()) / features, noise**2 * self.size / features**2
        return height / (height**2 + (doubt + height * variance) / _PRIOR_OF_ALL) * misfits / features
