"""Tails of noise, and of sums of independent noises: the laws behind every margin.

Noise is Laplace or normal, rounded to steps; rounding is left to the caller, who adds half a step for each.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never, final

import numpy as np

from giveortake.caching import cached

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
_NOTHING = 1e-9  # of another scale: a noise so small does not matter
_ROUNDING = 1e-12  # of a formula with e^(x²) erfc(x)
_FAR = 25.0  # from where on erfc is known by its asymptotic series
_DEGREE = 32
_MOST = 8  # more Laplace terms than this are bounded by the moment method


@dataclass(frozen=True, slots=True)
class _Tail(ABC):
    """One noise, symmetric around zero. Where many sums are computed at once, `scale` holds one number for each."""

    scale: Any

    def times(self, factor: float | Floats) -> Self:
        """The tail of a multiple of the noise; the factor is not negative."""
        return type(self)(self.scale * factor)

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
    laplace, normal = _scales(tails)
    laplace, normal = (sorted(float(scale) for scale in scales if scale > 0) for scales in (laplace, normal))
    if not laplace:
        return math.hypot(*normal) * _normal_quantile(miss) * _UPWARDS if normal else 0.0
    if len(laplace) == 1 and not normal:
        return -math.log(miss) * laplace[0] * _UPWARDS
    greatest = max(*laplace, *normal)
    return greatest * _quantile(_parts(laplace, greatest), _parts(normal, greatest), miss) * _UPWARDS


def _parts(scales: Iterable[float], greatest: float) -> tuple[float, ...]:
    return tuple(math.ceil(scale / greatest * _GRID) / _GRID for scale in scales)


@cached(1024)
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
    """P[|Σ noise| > away], elementwise, or an upper bound."""
    laplace, normal = _scales(tails)
    if not laplace:
        return _normal_tail(away, normal)
    return _laplace_tail(away, laplace, _deviation(normal, away) if normal else None)


def plausible(away: Floats, tails: Iterable[Tail], miss: float | Floats) -> npt.NDArray[np.bool_]:
    """Whether a sum of these noises may be as far as `away` from zero: P[|Σ| > away] ≥ miss, elementwise.

    Guarantee: what is called implausible has at most that probability. Normal noises add to a normal one, and of
    Laplace noises with different scales bᵢ the tail is Σᵢ wᵢ e^(−t/bᵢ), wᵢ = Πⱼ bᵢ² / (bᵢ² − bⱼ²), by partial fractions
    of the characteristic function; equal scales are moved apart, upwards, which only lengthens the tail [Bir48]. So the
    sum is a mixture, with weights wᵢ that may be negative, of single Laplace noises, and that with a normal noise added
    is a mixture, with the same weights, of sums of one Laplace and one normal noise, whose law has a formula.
    """
    near = away <= 0
    laplace, normal = _scales(tails)
    if not laplace:
        far: Floats = _normal_quantile(miss) * _deviation(normal, away)
        return near | (away <= far)
    return near | (_laplace_tail(away, laplace, _deviation(normal, away) if normal else None) >= miss)


def _scales(tails: Iterable[Tail]) -> tuple[list[Any], list[Any]]:
    """The scales of the Laplace noises, and of the normal ones.

    A law that is neither is an error, so that no noise is left out of a sum.
    """
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


def _laplace_tail(away: Floats, scales: Sequence[Floats], deviation: Floats | None) -> Floats:
    """P[|Σ| > t], or an upper bound; with a deviation, of the Laplace noises and a normal one."""
    t = np.maximum(away, 0.0)
    if len(scales) == 1:
        return _exponential(t, scales[0], deviation)
    if len(scales) > _MOST:
        return _moment_bound(t, scales, np.zeros_like(t) if deviation is None else deviation)
    apart = _ordered([np.broadcast_to(scale, t.shape) for scale in scales])
    greatest = apart[-1]
    least = greatest * 1e-6
    nothing = np.where(t > 0, 0.0, 1.0) if deviation is None else _normal_tail(t, [deviation])
    if deviation is not None:  # raising tiny noises only lengthens the tail, and no place is treated differently
        least = np.maximum(least, deviation * 2 * _NOTHING)
        deviation = np.maximum(deviation, greatest * 2 * _NOTHING)
    apart = [np.maximum(scale, least) for scale in apart]
    for index in range(1, len(apart)):
        apart[index] = np.maximum(apart[index], apart[index - 1] * _APART)
    tail, doubt = np.zeros_like(t), np.zeros_like(t)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for index, scale in enumerate(apart):
            weight: Any = 1.0
            for other, its in enumerate(apart):
                if other != index:
                    weight = weight / (1 - (its / scale) ** 2)
            part = weight * _exponential(t, scale, deviation)
            tail = tail + part
            if deviation is not None:  # parts are large and of either sign, and each is off by its rounding
                doubt = doubt + np.abs(part) * _ROUNDING
    return np.where(greatest > 0, np.minimum(np.maximum(tail + doubt, 0.0), 1.0), nothing)


def _ordered(scales: list[Floats]) -> list[Floats]:
    """Sort several numbers in every place, the least first. They are few: neighbours are exchanged."""
    found = list(scales)
    for end in range(len(found) - 1, 0, -1):
        for index in range(end):
            one, other = found[index : index + 2]
            found[index : index + 2] = np.minimum(one, other), np.maximum(one, other)
    return found


def _exponential(t: Floats, scale: Floats, deviation: Floats | None = None) -> Floats:
    """P[|Z| > t] of one Laplace noise Z; with a deviation, of Z and a normal noise."""
    if deviation is not None:
        return _with_normal(t, scale, deviation)
    there = scale > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        within: Floats = np.exp(-t / (scale if np.all(there) else np.where(there, scale, 1.0)))
    return within if np.all(there) else np.where(there, within, np.where(t > 0, 0.0, 1.0))


def _with_normal(t: Floats, scale: Floats, deviation: Floats) -> Floats:
    """P[|Z + N| > t] for a Laplace noise Z of scale b and a normal one of deviation σ, by integrating over N.

    With u = σ/b and v = t/σ it is 2Φ(−v) + e^(u²/2 − uv) Φ(v − u) − e^(u²/2 + uv) Φ(−v − u). Every term is written with
    x ↦ e^(x²) erfc(x), so that none overflows.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        u, v = deviation / scale, t / deviation
        bell = np.exp(-(v**2) / 2)
        beyond = bell * _scaled_erfc(np.abs(v - u) / math.sqrt(2)) / 2  # e^(u²/2 − uv) Φ(−|v − u|)
        middle = np.where(v > u, np.exp(u * (u / 2 - v)) - beyond, beyond)
        tail = bell * (_scaled_erfc(v / math.sqrt(2)) - _scaled_erfc((v + u) / math.sqrt(2)) / 2) + middle
        alone = _normal_tail(t, [deviation]), _exponential(t, scale)
    some = (scale > deviation * _NOTHING) & (deviation > scale * _NOTHING)
    one = np.where(scale > deviation, alone[1] * (1 + 2 * _NOTHING), alone[0] * (1 + 2 * _NOTHING))
    found: Floats = np.where(some, np.clip(np.where(some, tail, 0.0), 0.0, 1.0), np.minimum(one, 1.0))
    return found


def _scaled_erfc(x: Floats) -> Floats:
    """e^(x²) erfc(x) for x ≥ 0: t · e^(P(t)) with t = 2 / (2 + x) and a polynomial P, to about 1e-13."""
    t = 2 / (2 + np.asarray(x, dtype=np.float64))
    found: Floats = t * np.exp(np.polynomial.chebyshev.chebval(2 * t - 1, _logarithms()))
    return found


@lru_cache(maxsize=1)
def _logarithms() -> Floats:
    """The coefficients of P: it is ln(e^(x²) erfc(x) / t) at Chebyshev's points."""

    def at(place: Any) -> Any:
        t = (place + 1) / 2
        x = 2 / t - 2
        if x < _FAR:
            return x * x + math.log(math.erfc(x) / t)
        y = 1 / (2 * x * x)  # the asymptotic series
        return math.log((1 - y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y)))) / (x * math.sqrt(math.pi) * t))

    found: Floats = np.polynomial.chebyshev.chebinterpolate(np.vectorize(at), _DEGREE)
    return found


def _moment_bound(t: Floats, scales: Sequence[Floats], deviation: Floats) -> Floats:
    """2 min over s of e^(−st + s²σ²/2) Π 1/(1 − s²bᵢ²), Chernoff's bound, over a grid of s."""
    stacked = np.array([np.broadcast_to(scale, t.shape) for scale in scales])
    greatest = np.maximum(stacked.max(axis=0), 1e-300)
    s = np.linspace(0.02, 0.98, 49).reshape(-1, *[1] * t.ndim) / greatest
    with np.errstate(over="ignore"):
        normal = (s * deviation) ** 2 / 2
    best = (normal - s * t - np.log1p(-((s[:, np.newaxis] * stacked) ** 2)).sum(axis=1)).min(axis=0)
    tail: Floats = np.minimum(1.0, 2 * np.exp(np.minimum(best, 0.0)))
    return tail
