"""How far sums of independent noises stray: the law that stands behind every margin.

Noise is Laplace or normal, rounded to steps; rounding is left to the caller, who adds half a step for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, TypeAlias, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]

Family: TypeAlias = Literal["laplace", "normal"]

_APART = 1.02  # scales closer than this are treated as this far apart, upwards, so that sums stay stable
_PARTS = np.arange(1, 64) / 64  # of a stretch that is searched at once
_STEPS = 10  # each of which finds six bits
_MOST = 8  # more Laplace terms than this are bounded by the moment method


@final
@dataclass(frozen=True, slots=True)
class Term:
    """A noise of that family and scale (the standard deviation of a normal one)."""

    family: Family
    scale: float


def quantile(terms: Sequence[Term], miss: float) -> float:
    """The t with P[|Σ noise| > t] ≤ miss, the least up to rounding."""
    return _quantile(tuple(sorted((term.family, term.scale) for term in terms)), miss)


@lru_cache(maxsize=256)
def _quantile(terms: tuple[tuple[Family, float], ...], miss: float) -> float:
    scales = [(family, np.array([scale])) for family, scale in terms if scale > 0]
    if not scales:
        return 0.0
    high = sum(scale for _, scale in terms) or 1.0
    while plausible(np.array([high]), scales, miss)[0]:
        high *= 2
    low = 0.0
    for _ in range(_STEPS):
        between = low + (high - low) * _PARTS
        ends = np.concatenate(([low], between, [high]))
        last = int(np.flatnonzero(np.append(True, plausible(between, scales, miss)))[-1])
        low, high = float(ends[last]), float(ends[last + 1])
    return high


def plausible(away: Floats, scales: Sequence[tuple[str, Floats]], miss: float) -> npt.NDArray[np.bool_]:
    """Whether a sum of noises of these scales may be as far as `away` from zero: P[|Σ| > away] ≥ miss, elementwise.

    Guarantee: what is called implausible has at most that probability. Normal noises add to a normal one, and of
    Laplace noises with different scales bᵢ the tail is Σᵢ wᵢ e^(−t/bᵢ), wᵢ = Πⱼ bᵢ² / (bᵢ² − bⱼ²), by partial fractions
    of the characteristic function; equal scales are moved apart, upwards, which only lengthens the tail. Where both
    families occur, each gets half of `miss` (union bound).
    """
    near = away <= 0
    laplace = [scale for family, scale in scales if family == "laplace"]
    normal = [scale for family, scale in scales if family == "normal"]
    if not laplace:
        return near | (away <= _normal_quantile(miss) * _deviation(normal, away))
    if normal:
        reach = _normal_quantile(miss / 2) * _deviation(normal, away)
        return near | (_laplace_tail(away - reach, laplace) >= miss / 2)
    return near | (_laplace_tail(away, laplace) >= miss)


def _normal_quantile(miss: float) -> float:
    return -NormalDist().inv_cdf(miss / 2)


def _deviation(scales: Sequence[Floats], like: Floats) -> Floats:
    total = np.zeros_like(like)
    for scale in scales:
        total = total + scale * scale
    return np.sqrt(total)


def _laplace_tail(away: Floats, scales: Sequence[Floats]) -> Floats:
    """P[|Σ| > t], or an upper bound."""
    t = np.maximum(away, 0.0)
    if len(scales) == 1:
        return _exponential(t, scales[0])
    if len(scales) > _MOST:
        return _moment_bound(t, scales)
    ordered = np.sort(np.array([np.broadcast_to(scale, t.shape) for scale in scales]), axis=0)
    greatest = ordered[-1]
    apart = np.maximum(ordered, greatest * 1e-6)
    for index in range(1, len(apart)):
        apart[index] = np.maximum(apart[index], apart[index - 1] * _APART)
    tail = np.zeros_like(t)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for index, scale in enumerate(apart):
            weight = np.ones_like(t)
            for other, its in enumerate(apart):
                if other != index:
                    weight = weight / (1 - (its / scale) ** 2)
            tail = tail + weight * _exponential(t, scale)
    return np.where(greatest > 0, np.clip(tail, 0.0, 1.0), np.where(t > 0, 0.0, 1.0))


def _exponential(t: Floats, scale: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        within: Floats = np.exp(-t / np.where(scale > 0, scale, 1.0))
        tail: Floats = np.where(scale > 0, within, np.where(t > 0, 0.0, 1.0))
        return tail


def _moment_bound(t: Floats, scales: Sequence[Floats]) -> Floats:
    """2 min over s of e^(−st) Π 1/(1 − s²bᵢ²), Chernoff's bound, over a grid of s."""
    stacked = np.array([np.broadcast_to(scale, t.shape) for scale in scales])
    greatest = np.maximum(stacked.max(axis=0), 1e-300)
    s = np.linspace(0.02, 0.98, 49).reshape(-1, *[1] * t.ndim) / greatest
    best = (-s * t - np.log1p(-((s[:, np.newaxis] * stacked) ** 2)).sum(axis=1)).min(axis=0)
    tail: Floats = np.minimum(1.0, 2 * np.exp(np.minimum(best, 0.0)))
    return tail
