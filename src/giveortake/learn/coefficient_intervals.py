"""Intervals of the coefficients of a linear regression whose products were released with noise.

Guarantee [AR49, GKMC12]: let G = Σ xxᵀ and b = Σ xy be of the rows, and E, e the noise that was added to them. At the
coefficients β of the population the released b̃ − G̃β = Σ x(y − xᵀβ) + e − Eβ has mean 0 and the covariance
V(β) = M + σ²/2·((1 + βᵀβ)·I + ββᵀ). There M = Σ (y − xᵀβ)²xxᵀ, whatever the variance of errors depends on; the rest is
the law of the noise, of deviation σ on the diagonal and σ/√2 beside it. No error in G̃ is neglected: where noise
decides, the interval is wide or without end. A value of a coefficient is in the interval if some β with that value has
(b̃ − G̃β)ᵀ V(β)⁻¹ (b̃ − G̃β) ≤ χ²₁. This holds as Σ x(y − xᵀβ) becomes normal, with many rows; M is released, too, at the
predicted errors. Each interval holds by itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Reals: TypeAlias = npt.NDArray[np.float64]

_DOUBLINGS = 10  # of the delta method's margin, beyond which an interval is taken to have no end
_HALVINGS = 24
_STEPS = 60


@final
@dataclass(frozen=True, eq=False)
class Evidence:
    """What was released of a regression in standardised columns: G̃, b̃, the meat M̃, and the deviation of G̃'s noise.

    The coefficients in the columns' own units, the intercept first, are shift + transform·θ for θ in standard ones.
    `shortened` is about which part of the rows was too far out to count whole.
    """

    gram: Reals
    products: Reals
    meat: Reals
    noise: float
    shift: Reals
    transform: Reals
    shortened: float

    def estimate(self) -> Reals:
        """The coefficients that solve G̃θ = b̃, without any shrinking, in standard units."""
        return np.asarray(np.linalg.lstsq(self.gram, self.products, rcond=None)[0])

    def intervals(self, confidence: float) -> list[tuple[float, float, float]]:
        """The intercept and each coefficient in own units: estimate and ends of the interval, each by itself."""
        found = [self._interval(direction, confidence) for direction in self.transform]
        pairs = zip(found, self.shift.tolist(), strict=True)
        return [(middle + shift, low + shift, high + shift) for (middle, low, high), shift in pairs]

    def _interval(self, direction: Reals, confidence: float) -> tuple[float, float, float]:
        """The estimate of direction·θ, and the two ends of its interval; infinite where nothing bounds it."""
        most = NormalDist().inv_cdf((1 + confidence) / 2) ** 2
        least = LeastDistance(self, direction)
        middle = float(direction @ least.start)
        margin = least.delta_margin() * math.sqrt(most)
        ends = [least.end(middle, sign * margin, most) for sign in (-1, 1)]
        if not all(map(math.isfinite, ends)):  # a set that is unbounded on one side says nothing
            return middle, -math.inf, math.inf
        return middle, ends[0], ends[1]

    def to_dict(self) -> dict[str, Any]:
        """All fields as lists and numbers."""
        return {
            "gram": self.gram.tolist(),
            "products": self.products.tolist(),
            "meat": self.meat.tolist(),
            "noise": self.noise,
            "shift": self.shift.tolist(),
            "transform": self.transform.tolist(),
            "shortened": self.shortened,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Evidence:
        """Read what `to_dict` wrote."""
        arrays = {
            name: np.asarray(content[name], dtype=np.float64)
            for name in ("gram", "products", "meat", "shift", "transform")
        }
        return cls(**arrays, noise=content["noise"], shortened=content["shortened"])


@final
class LeastDistance:
    """The least distance of all β with a given value of direction·β."""

    def __init__(self, evidence: Evidence, direction: Reals) -> None:
        self.evidence = evidence
        self.start = evidence.estimate()
        self._direction = direction
        self._along = direction / (direction @ direction)
        size = len(direction)
        self._beside = np.linalg.qr(np.column_stack([direction, np.eye(size)]))[0][:, 1:size]

    def delta_margin(self) -> float:
        """One deviation of the estimate by the delta method: where the search begins."""
        across = np.linalg.lstsq(self.evidence.gram.T, self._direction, rcond=None)[0]
        return math.sqrt(float(across @ self._covariance(self.start) @ across))

    def end(self, middle: float, margin: float, most: float) -> float:
        """Where the distance becomes more than allowed, going from the middle in the direction of the margin."""
        inside, outside = 0.0, margin
        for _ in range(_DOUBLINGS):
            if self.distance(middle + outside) > most:
                break
            inside, outside = outside, 2 * outside
        else:
            return math.copysign(math.inf, margin)
        for _ in range(_HALVINGS):
            between = (inside + outside) / 2
            if self.distance(middle + between) > most:
                outside = between
            else:
                inside = between
        return middle + outside

    def distance(self, value: float) -> float:
        """The least (b̃ − G̃β)ᵀ V(β)⁻¹ (b̃ − G̃β) where direction·β is a value, by steps of Gauss and Newton.

        Half the slope is −D̂ᵀu with u = V⁻¹(b̃ − G̃β) and D̂ = G̃ + σ²/2·(uβᵀ + (u·β)·I): V depends on β as well.
        """
        noise = self.evidence.noise**2 / 2
        beta = self.start + self._along * (value - float(self._direction @ self.start))
        least, solved, covariance = self._at(beta)
        for _ in range(_STEPS):
            slopes = self.evidence.gram + noise * (np.outer(solved, beta) + (solved @ beta) * np.eye(len(beta)))
            across = slopes @ self._beside
            curvature = across.T @ np.linalg.solve(covariance, across)
            step = np.linalg.lstsq(curvature, across.T @ solved, rcond=None)[0]
            gain, share = float(across.T @ solved @ step), 1.0
            if gain < 1e-9 * (1 + least):
                break
            while share > 1e-5:
                tried = beta + share * (self._beside @ step)
                found = self._at(tried)
                if found[0] < least - 1e-4 * share * gain:
                    beta, (least, solved, covariance) = tried, found
                    break
                share /= 2
            else:
                break
        return least

    def _at(self, beta: Reals) -> tuple[float, Reals, Reals]:
        covariance = self._covariance(beta)
        left = self.evidence.products - self.evidence.gram @ beta
        solved = np.linalg.solve(covariance, left)
        return float(left @ solved), np.asarray(solved, dtype=np.float64), covariance

    def _covariance(self, beta: Reals) -> Reals:
        noise = self.evidence.noise**2 / 2
        return np.asarray(self.evidence.meat + noise * ((1 + beta @ beta) * np.eye(len(beta)) + np.outer(beta, beta)))
