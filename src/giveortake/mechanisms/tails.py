"""How far noise strays, and sums of independent noises: the law that stands behind every margin.

Noise is Laplace or normal, rounded to steps; rounding is left to the caller, who adds half a step for each.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never, final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]

_APART = 1.02  # scales closer than this are treated as this far apart, upwards, so that sums stay stable
_PARTS = np.arange(1, 64) / 64  # of a stretch that is searched at once
_STEPS = 10  # each of which finds six bits
_LEAST_SQUARE = 1e-280
_GRID = 2**40
_UPWARDS = 1 + 2**-50  # more than the roundings of a formula in doubles
_MOST = 8  # more Laplace terms than this are bounded by the moment method


@dataclass(frozen=True, slots=True)
class _Tail(ABC):
    """One noise, symmetric around zero. Where many sums are judged at once, `scale` holds one number for each."""

    scale: Any

    def times(self, factor: float | Floats) -> Self:
        """The tail of a multiple of the noise; the factor is not negative."""
        return replace(self, scale=self.scale * factor)

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of the noise."""


@final
@dataclass(frozen=True, slots=True)
class LaplaceTail(_Tail):
    """P[|Z| > t] = e^(−t/scale)."""

    @property
    def variance(self) -> float:
        return float(2 * self.scale**2)


@final
@dataclass(frozen=True, slots=True)
class NormalTail(_Tail):
    """P[|Z| > t] = 2Φ(−t/scale): the scale is the standard deviation."""

    @property
    def variance(self) -> float:
        return float(self.scale**2)


Tail: TypeAlias = LaplaceTail | NormalTail


def quantile(tails: Iterable[Tail], miss: float) -> float:
    """The t with P[|Σ noise| > t] ≤ miss, the least up to rounding, which is upwards.

    A sum of normal noises is normal, and one Laplace noise has a formula. Other sums are searched once for each shape:
    t grows with the greatest scale, and the others are taken as parts of it, rounded up to 2^-40.
    """
    found = _scales(tails)
    laplace, normal = (sorted(float(scale) for scale in scales if scale > 0) for scales in found)
    if not laplace:
        return math.hypot(*normal) * _normal_quantile(miss) * _UPWARDS if normal else 0.0
    if len(laplace) == 1 and not normal:
        return -math.log(miss) * laplace[0] * _UPWARDS
    greatest = max(*laplace, *normal)
    return greatest * _quantile(_parts(laplace, greatest), _parts(normal, greatest), miss) * _UPWARDS


def _parts(scales: Iterable[float], greatest: float) -> tuple[float, ...]:
    return tuple(math.ceil(scale / greatest * _GRID) / _GRID for scale in scales)


@lru_cache(maxsize=1024)
def _quantile(laplace: tuple[float, ...], normal: tuple[float, ...], miss: float) -> float:
    present: list[Tail] = [LaplaceTail(np.array([scale])) for scale in laplace]
    present += [NormalTail(np.array([scale])) for scale in normal]
    high = sum((*laplace, *normal))
    while plausible(np.array([high]), present, miss)[0]:
        high *= 2
    low = 0.0
    for _ in range(_STEPS):
        between = low + (high - low) * _PARTS
        ends = np.concatenate(([low], between, [high]))
        last = int(np.flatnonzero(np.append(True, plausible(between, present, miss)))[-1])
        low, high = float(ends[last]), float(ends[last + 1])
    return high


def chance(away: Floats, tails: Iterable[Tail]) -> Floats:
    """P[|Σ noise| > away], elementwise, or an upper bound: where both families occur, each may go half of the way."""
    laplace, normal = _scales(tails)
    if not laplace:
        return _normal_tail(away, normal)
    if normal:
        return np.minimum(_laplace_tail(away / 2, laplace) + _normal_tail(away / 2, normal), 1.0)
    return _laplace_tail(away, laplace)


def plausible(away: Floats, tails: Iterable[Tail], miss: float | Floats) -> npt.NDArray[np.bool_]:
    """Whether a sum of these noises may be as far as `away` from zero: P[|Σ| > away] ≥ miss, elementwise.

    Guarantee: what is called implausible has at most that probability. Normal noises add to a normal one, and of
    Laplace noises with different scales bᵢ the tail is Σᵢ wᵢ e^(−t/bᵢ), wᵢ = Πⱼ bᵢ² / (bᵢ² − bⱼ²), by partial fractions
    of the characteristic function; equal scales are moved apart, upwards, which only lengthens the tail. Where both
    families occur, each gets half of `miss` (union bound).
    """
    near = away <= 0
    laplace, normal = _scales(tails)
    if not laplace:
        far: Floats = _normal_quantile(miss) * _deviation(normal, away)
        return near | (away <= far)
    if normal:
        reach = _normal_quantile(miss / 2) * _deviation(normal, away)
        return near | (_laplace_tail(away - reach, laplace) >= miss / 2)
    return near | (_laplace_tail(away, laplace) >= miss)


def _scales(tails: Iterable[Tail]) -> tuple[list[Any], list[Any]]:
    """The scales of the Laplace noises, and of the normal ones. A law that is neither is never left out of a sum."""
    laplace, normal = [], []
    for tail in tails:
        match tail:
            case LaplaceTail():
                laplace.append(tail.scale)
            case NormalTail():
                normal.append(tail.scale)
            case _:
                assert_never(tail)
    return laplace, normal


def _normal_quantile(miss: float | Floats) -> Any:
    from statistics import NormalDist  # noqa: PLC0415 (`import giveortake` does not wait for it)

    if isinstance(miss, float):
        return -NormalDist().inv_cdf(miss / 2)
    levels, places = np.unique(miss, return_inverse=True)
    return np.array([-NormalDist().inv_cdf(level / 2) for level in levels.tolist()])[places]


def _normal_tail(away: Floats, scales: Sequence[Floats]) -> Floats:
    """P[|Σ| > t] of normal noises."""
    t, deviation = np.maximum(away, 0.0), _deviation(scales, away)
    far = t / np.where(deviation > 0, deviation * math.sqrt(2), 1.0)
    within = np.array([math.erfc(each) for each in far.ravel().tolist()]).reshape(far.shape)
    return np.where(deviation > 0, within, np.where(t > 0, 0.0, 1.0))


def _deviation(scales: Sequence[Floats], like: Floats) -> Floats:
    total = np.zeros_like(like)
    with np.errstate(over="ignore", under="ignore"):
        for scale in scales:
            total = total + scale * scale
    deviation: Floats = np.sqrt(total)
    beyond = (total < _LEAST_SQUARE) | (total > 1 / _LEAST_SQUARE)
    if beyond.any():  # squares that no double holds
        longer = np.zeros_like(like)
        for scale in scales:
            longer = np.hypot(longer, scale)
        deviation = np.where(beyond, longer, deviation)
    return deviation


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
