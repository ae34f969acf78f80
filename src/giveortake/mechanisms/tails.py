"""Tails of noise and of weighted sums of noises, behind every margin.

Noise is Laplace or normal, rounded to steps; rounding is left to the caller, who adds half a step for each. There are
bounds for single sums, for a whole table of sums of very many Laplace noises at once, and for one side of a sum.
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
    tail = np.array([math.erfc(distance) for distance in far.ravel().tolist()]).reshape(far.shape)
    return np.where(deviation > 0, tail, np.where(t > 0, 0.0, 1.0))


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
            for other_index, other_scale in enumerate(apart):
                if other_index != index:
                    weight = weight / (1 - (other_scale / scale) ** 2)
            part = weight * _exponential(t, scale, deviation)
            tail = tail + part
            if deviation is not None:  # parts are large and of either sign, and each is off by its rounding
                doubt = doubt + np.abs(part) * _ROUNDING
    return np.where(greatest > 0, np.minimum(np.maximum(tail + doubt, 0.0), 1.0), nothing)


def _ordered(scales: list[Floats]) -> list[Floats]:
    """Sort several numbers in every place, the least first. They are few: neighbours are exchanged."""
    ordered = list(scales)
    for end in range(len(ordered) - 1, 0, -1):
        for index in range(end):
            left, right = ordered[index : index + 2]
            ordered[index : index + 2] = np.minimum(left, right), np.maximum(left, right)
    return ordered


def _exponential(t: Floats, scale: Floats, deviation: Floats | None = None) -> Floats:
    """P[|Z| > t] of one Laplace noise Z; with a deviation, of Z and a normal noise."""
    if deviation is not None:
        return _with_normal(t, scale, deviation)
    positive = scale > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        tail: Floats = np.exp(-t / (scale if np.all(positive) else np.where(positive, scale, 1.0)))
    return tail if np.all(positive) else np.where(positive, tail, np.where(t > 0, 0.0, 1.0))


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
    probability: Floats = np.where(some, np.clip(np.where(some, tail, 0.0), 0.0, 1.0), np.minimum(one, 1.0))
    return probability


def _scaled_erfc(x: Floats) -> Floats:
    """e^(x²) erfc(x) for x ≥ 0: t · e^(P(t)) with t = 2 / (2 + x) and a polynomial P, to about 1e-13."""
    t = 2 / (2 + np.asarray(x, dtype=np.float64))
    erfc: Floats = t * np.exp(np.polynomial.chebyshev.chebval(2 * t - 1, _logarithms()))
    return erfc


@lru_cache(maxsize=1)
def _logarithms() -> Floats:
    """The coefficients of P: it is ln(e^(x²) erfc(x) / t) at Chebyshev's points."""

    def at(point: Any) -> Any:
        t = (point + 1) / 2
        x = 2 / t - 2
        if x < _FAR:
            return x * x + math.log(math.erfc(x) / t)
        y = 1 / (2 * x * x)  # the asymptotic series
        return math.log((1 - y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y)))) / (x * math.sqrt(math.pi) * t))

    coefficients: Floats = np.polynomial.chebyshev.chebinterpolate(np.vectorize(at), _DEGREE)
    return coefficients


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


_SPACING_OF_SUMS = 1.01  # weights are moved up to a grid with this ratio
_LEAST = 1e-3  # of the standard deviation: smaller weights count as that
_PERIOD = 16.0  # standard deviations after which the Fourier series repeats
_TERMS = 256
_ERROR = 1e-5  # bounds what the series leaves out, as a probability
_STEPS_OF_SUMS = 20  # of halving
_RARE = 1e-3  # a chance that no sum has beyond …
_FARTHEST = 5.5  # … standard deviations: one noise alone has e^(−5.5·√2)


def quantiles(weights: Floats, miss: float) -> Floats:
    """For every row w of weights, the t with P[|Σ wᵢ·Zᵢ| > t] ≤ miss, where the Zᵢ are Laplace noises of scale 1.

    Guarantee: the characteristic function of the sum is Π 1/(1 + wᵢ²u²), and P[|Σ| ≤ t] = 2/π ∫ sin(ut)/u of it.
    Weights are moved up first, by at most 1 %, which only lengthens the tail: a symmetric unimodal noise that is scaled
    up leaves every interval around zero more often, whatever such noise is added to it [Bir48]. The integral is a
    series whose error is less than `_ERROR`, which is taken off the miss. Where that is not far below the miss,
    Chernoff's bound is taken: P[|Σ| > t] ≤ 2 e^(−st) Π 1/(1 − wᵢ²s²) for every s below 1 / max wᵢ.
    """
    if miss < _RARE:
        return _moment_quantiles(np.abs(weights), miss)
    deviation = np.sqrt(2 * (weights**2).sum(axis=1))
    some = deviation > 0
    bounds = np.zeros(len(weights))
    if some.any():
        relative = np.abs(weights[some]) / deviation[some, np.newaxis]
        bounds[some] = deviation[some] * _standard_quantiles(relative, miss - _ERROR)
    return bounds


def _moment_quantiles(weights: Floats, miss: float) -> Floats:
    """The least t that Chernoff's bound allows, over a grid of s."""
    greatest = weights.max(axis=1)
    relative = weights / np.where(greatest > 0, greatest, 1.0)[:, np.newaxis]
    best = np.full(len(weights), np.inf)
    for s in np.linspace(0.02, 0.98, 49).tolist():
        best = np.minimum(best, (np.log(2 / miss) - np.log1p(-((s * relative) ** 2)).sum(axis=1)) / s)
    quantiles: Floats = np.where(greatest > 0, best * greatest, 0.0)
    return quantiles


def _standard_quantiles(relative: Floats, miss: float) -> Floats:
    """The quantiles for weights that are stated in standard deviations of the sum."""
    grid, logs = _grid()
    indexes = np.ceil(np.log(np.maximum(relative, _LEAST) / _LEAST) / np.log(_SPACING_OF_SUMS) - 1e-9).astype(np.int64)
    indexes = np.where(relative > 0, np.minimum(indexes, len(grid) - 1), -1)
    size = len(grid) + 1
    flat = (indexes + 1 + np.arange(len(indexes))[:, np.newaxis] * size).ravel()
    counts = np.bincount(flat, minlength=size * len(indexes)).reshape(len(indexes), size)[:, 1:].astype(np.float64)
    quantiles = np.zeros(len(relative))
    left = np.arange(len(relative))
    for terms in (_TERMS // 8, _TERMS):  # sums of many noises are smooth, and need few terms
        characteristic = np.exp(-(counts[left] @ logs[:, :terms]))
        settled = characteristic[:, -1] < _NOTHING if terms < _TERMS else np.full(len(left), True)
        quantiles[left[settled]] = _crossing(characteristic[settled], miss)
        left = left[~settled]
    return quantiles


def _crossing(characteristic: Floats, miss: float) -> Floats:
    """Where P[|Σ| ≤ t] reaches 1 − miss, by halving."""
    terms = characteristic.shape[1]
    frequencies = _frequencies()[:terms]
    amplitudes = 2 * characteristic / np.arange(1, terms + 1)
    below, above = np.zeros(len(characteristic)), np.full(len(characteristic), _FARTHEST)
    for _ in range(_STEPS_OF_SUMS):
        middle = (below + above) / 2
        inside = frequencies[0] * middle + (amplitudes * np.sin(np.outer(middle, frequencies))).sum(axis=1)
        enough = inside >= np.pi * (1 - miss)
        below, above = np.where(enough, below, middle), np.where(enough, middle, above)
    return above


@lru_cache(maxsize=1)
def _grid() -> tuple[Floats, Floats]:
    """The weights that others are moved up to, and ln(1 + w²u²) of each at every frequency."""
    count = int(np.ceil(np.log(1 / _LEAST) / np.log(_SPACING_OF_SUMS))) + 1
    grid: Floats = _LEAST * _SPACING_OF_SUMS ** np.arange(count, dtype=np.float64)
    logs: Floats = np.log1p((grid[:, np.newaxis] * _frequencies()) ** 2)
    return grid, logs


def _frequencies() -> Floats:
    frequencies: Floats = 2 * np.pi / _PERIOD * np.arange(1, _TERMS + 1, dtype=np.float64)
    return frequencies


_TILTS = np.concatenate([np.geomspace(1e-3, 0.4, 12, endpoint=False), np.linspace(0.4, 0.99, 28)])
_SAFE = 1 + 1e-9  # more than what doubles lose on the way


def reach(weights: Floats, scale: float, miss: float) -> Floats:
    """For each row of weights w a t with P[Σ wᵢ·round(Zᵢ) > t] ≤ `miss`; the Zᵢ are Laplace noises of one scale.

    Guarantee (Chernoff): P[S > t] ≤ e^(−st)·E[e^(sS)] for every s > 0 where the mean exists, so that
    t = (ln(1/miss) + Σ ln E[e^(s·wᵢ·round(Z))]) / s is such a t, and so is the least of those over a grid of s. With
    u = e^(−1/(2b)), round(Z) is k with probability 1 − u at zero and sinh(1/(2b))·e^(−|k|/b) elsewhere, hence
    E[e^(x·round(Z))] = 1 − u + sinh(1/(2b))·(1/(e^(1/b − x) − 1) + 1/(e^(1/b + x) − 1)) for |x| < 1/b. Nothing is
    left to a normal approximation, and the rounding is part of the law.
    """
    rows = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    greatest = np.abs(rows).max(axis=1)
    reaches = np.zeros(len(rows))
    for index, (row, most) in enumerate(zip(rows, greatest, strict=True)):
        if most > 0:
            tilts = _TILTS / (scale * most)
            grown = _log_mean(tilts[:, np.newaxis] * np.abs(row[row != 0])[np.newaxis, :], scale).sum(axis=1)
            reaches[index] = ((np.log(1 / miss) + grown) / tilts).min() * _SAFE
    return reaches


def _log_mean(x: Floats, scale: float) -> Floats:
    """The logarithm of E[e^(x·round(Z))] for 0 ≤ x < 1/scale."""
    half, whole = 1 / (2 * scale), 1 / scale
    sinh = half + np.log(-np.expm1(-2 * half) / 2)
    below = sinh - (whole - x) - np.log(-np.expm1(x - whole))
    above = sinh - (whole + x) - np.log(-np.expm1(-x - whole))
    mean: Floats = np.logaddexp(np.log(-np.expm1(-half)), np.logaddexp(below, above))
    return np.maximum(mean, 0.0)
