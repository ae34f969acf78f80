"""Additive noise: Laplace [DMNS06], Gaussian [BW18], geometric and discrete Gaussian [CKS20], and its tails.

The mechanisms add independent integer noise to an integer or to every integer of an array. Real numbers are put on a
lattice, prepared once for equal parameters, without looking at values.

The tails, behind every margin, are of Laplace or normal noise that is rounded to steps; rounding is left to the caller,
who adds half a step for each noise. There are bounds for single sums, for one side of a sum, and for a whole table of
sums of very many Laplace noises at once.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, assert_never, final

import numpy as np

from giveortake import exact
from giveortake.caching import cached
from giveortake.errors import InvalidParameter
from giveortake.exact import at_least, ceiling, exp_down, log_up, open_probability, positive, whole
from giveortake.mechanisms import lattice
from giveortake.mechanisms.lattice import Lattice
from giveortake.mechanisms.mechanism import BoundedIntegers, Mechanism, Sensitive, opened, scale_for, source
from giveortake.privacy import events, gaussian_mu
from giveortake.randomness import discrete_gaussian, rounded_laplace, rounded_normal, two_sided_geometric

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]
    from collections.abc import Iterator

    from giveortake.exact import Number
    from giveortake.mechanisms.lattice import Numeric, ShapedNumbers
    from giveortake.privacy.events import Event
    from giveortake.randomness import Entropy, IntArray


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
    apart = list(np.sort([np.broadcast_to(scale, t.shape) for scale in scales], axis=0))
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


class AdditiveNoise(Mechanism["Numeric", "Numeric"]):
    """value + noise on the integers, the noise independent of the value and of every other coordinate."""

    __slots__ = ()

    @abstractmethod
    def noise(self, size: int, entropy: Entropy | None = None) -> IntArray:
        """Independent draws of the noise alone."""

    @abstractmethod
    def margin(self, confidence: Number = Fraction(95, 100)) -> int:
        """The least m for which |noise| ≤ m holds with at least that probability, for one coordinate."""

    def release(self, value: Numeric | Sensitive[Numeric], entropy: Entropy | None = None) -> Any:
        """The integers plus noise: an int for an int, an array for an array or a column."""
        exactly = opened(value, self)
        if isinstance(exactly, BoundedIntegers):
            return exactly.plus(self.noise(exactly.size, source(entropy)).reshape(exactly.shape)).released()
        integers = lattice.whole_numbers("value", exactly)
        return integers.shaped(lattice.added(integers.flat, self.noise(integers.flat.size, source(entropy))))

    def stream(self, chunks: Iterable[Numeric], entropy: Entropy | None = None) -> Iterator[Any]:
        """Release one chunk after another, so that the whole never has to fit into memory."""
        for chunk in chunks:
            yield self.release(chunk, entropy)


class RoundedNoise(AdditiveNoise):
    """Noise of a continuous law, rounded to whole steps, and what quotes and margins say about it.

    On integers, value + round(Z) is round(value + Z): post-processing of the continuous mechanism.
    """

    __slots__ = ()

    label: ClassVar[str]  # the law's name in texts

    @property
    @abstractmethod
    def scale_in_steps(self) -> Fraction:
        """The scale of the law; the standard deviation of a normal one."""

    @property
    @abstractmethod
    def tail(self) -> Tail:
        """The tail of the continuous law, in steps."""

    @abstractmethod
    def event_within(self, l1: Fraction, l2: Fraction) -> Event:
        """The event of a release, when one unit moves the integers by at most `l1` in L1 and `l2` in L2."""

    def description(self, step: Fraction) -> str:
        """The noise in words; `step` is what one step is worth.

        >>> gt.mechanisms.Laplace(10).description(Fraction(1, 2))
        'Laplace noise of scale 5'
        """
        return f"{self.label} noise of scale {float(self.scale_in_steps * step):.6g}"


def miss_probability(confidence: Number) -> Fraction:
    """One minus the confidence, which must lie strictly between 0 and 1."""
    return 1 - open_probability("confidence", confidence)


@final
@dataclass(frozen=True, slots=True)
class Laplace(RoundedNoise):
    """Add Laplace noise, rounded to whole steps, to an integer or an integer vector.

    Guarantee [DMNS06]: for L1 sensitivity d, a release is (d / scale)-DP. On integers, value + round(Z) is
    round(value + Z): post-processing of the continuous mechanism, so its privacy-loss distribution holds too.
    Rounding of numbers: none; the sampler is exact.

    >>> Laplace(scale=10).event(sensitivity=1).guarantee()
    PureDP('0.1')
    >>> Laplace(scale=10).margin("0.95")
    30
    """

    scale: Fraction

    label: ClassVar[str] = "Laplace"
    citation: ClassVar[str] = "Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity, TCC 2006"

    def __init__(self, scale: Number) -> None:
        object.__setattr__(self, "scale", positive("scale", scale))

    @classmethod
    def calibrated(cls, *, epsilon: Number, sensitivity: Number = 1) -> Laplace:
        """The noise for integers of that L1 sensitivity that is ε-DP."""
        return cls(scale_for(sensitivity, epsilon))

    def event(self, sensitivity: Number = 1) -> events.Laplace:
        """A Laplace release of that L1 sensitivity."""
        return events.Laplace(self.scale / at_least("sensitivity", sensitivity))

    def event_within(self, l1: Fraction, l2: Fraction) -> events.Laplace:
        return self.event(l1)

    @property
    def scale_in_steps(self) -> Fraction:
        return self.scale

    @property
    def tail(self) -> LaplaceTail:
        return LaplaceTail(float(self.scale))

    def noise(self, size: int, entropy: Entropy | None = None) -> IntArray:
        """Independent draws of the noise alone: P[k] = F((k+½)/scale) − F((k−½)/scale)."""
        return rounded_laplace(self.scale, size, source(entropy))

    def margin(self, confidence: Number = Fraction(95, 100)) -> int:
        """The least m with that confidence, from P[|noise| ≤ m] = 1 − exp(−(m + ½) / scale)."""
        miss = miss_probability(confidence)
        return max(0, ceiling(self.scale * log_up(1 / miss) - Fraction(1, 2)))


@final
@dataclass(frozen=True, slots=True)
class Gaussian(RoundedNoise):
    """Add normal noise, rounded to whole steps, to an integer or an integer vector.

    Guarantee [DRS22]: for L2 sensitivity d, a release is (d / sigma)-GDP, exactly: rounding on the integers is
    post-processing of the continuous mechanism. The (ε, δ) curve follows [BW18]; so does d²/2σ²-zCDP [BS16].
    Rounding of numbers: none; the sampler is exact.

    >>> Gaussian(sigma=2).event(sensitivity=1).guarantee()
    GaussianDP('0.5')
    """

    sigma: Fraction

    label: ClassVar[str] = "Gaussian"
    citation: ClassVar[str] = "Balle, Wang: Improving the Gaussian mechanism for differential privacy, ICML 2018"

    def __init__(self, sigma: Number) -> None:
        object.__setattr__(self, "sigma", exact.positive("sigma", sigma))

    @classmethod
    def calibrated(
        cls,
        *,
        sensitivity: Number = 1,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        mu: Number | None = None,
    ) -> Gaussian:
        """The least noise for integers of that L2 sensitivity that is (ε, δ)-DP, ρ-zCDP or μ-GDP.

        >>> round(float(Gaussian.calibrated(epsilon=1, delta="1e-5").sigma), 6)
        3.730632
        """
        return cls(exact.at_least("sensitivity", sensitivity) / mu_of(epsilon, delta, rho, mu))

    def event(self, sensitivity: Number = 1) -> events.Gaussian:
        """A Gaussian release of that L2 sensitivity."""
        return events.Gaussian(self.sigma / exact.at_least("sensitivity", sensitivity))

    def event_within(self, l1: Fraction, l2: Fraction) -> events.Gaussian:
        return self.event(l2)

    @property
    def scale_in_steps(self) -> Fraction:
        return self.sigma

    @property
    def tail(self) -> NormalTail:
        return NormalTail(float(self.sigma))

    def noise(self, size: int, entropy: Entropy | None = None) -> IntArray:
        """Independent draws of the noise alone: P[k] = Φ((k+½)/σ) − Φ((k−½)/σ)."""
        return rounded_normal(self.sigma, size, source(entropy))

    def margin(self, confidence: Number = Fraction(95, 100)) -> int:
        """The least m with that confidence, from P[|noise| ≤ m] = 2Φ((m + ½) / σ) − 1."""
        return max(0, exact.ceiling(self.sigma * two_sided_quantile_up(confidence) - Fraction(1, 2)))


def two_sided_quantile_up(confidence: Number) -> Fraction:
    """An upper bound of the z for which a standard normal variable stays within ±z with that probability."""
    miss = miss_probability(confidence)
    with exact.precision():
        return exact.upper(-exact.normal_quantile(exact.enclosure(miss / 2)))


def mu_of(epsilon: Number | None, delta: Number | None, rho: Number | None, mu: Number | None) -> Fraction:
    """The greatest μ, rounded down, that keeps the promise asked for: exactly one of (ε, δ), ρ and μ."""
    promises = [name for name, value in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if value is not None]
    if len(promises) != 1:
        raise InvalidParameter(
            "epsilon, rho, mu",
            promises,
            "does not name exactly one promise",
            hint="pass epsilon and delta, or rho, or mu",
        )
    if epsilon is not None:
        if delta is None:
            raise InvalidParameter(
                "delta",
                delta,
                "is missing: Gaussian noise needs a δ",
                hint='pass delta="1e-6", or use gt.laplace',
            )
        return gaussian_mu(exact.spendable("epsilon", epsilon), delta)
    if delta is not None:
        raise InvalidParameter("delta", delta, "goes with epsilon only")
    if mu is not None:
        return exact.spendable("mu", mu)
    return _mu_of_rho(exact.spendable("rho", 0 if rho is None else rho))


@cached(1024)
def _mu_of_rho(rho: Fraction) -> Fraction:
    return exact.sqrt_down(2 * rho)


@final
@dataclass(frozen=True, slots=True)
class Geometric(AdditiveNoise):
    """Add two-sided geometric noise, P[k] ∝ exp(−|k| / scale), to an integer or an integer vector.

    Guarantee [GRS12]: for L1 sensitivity d, a whole number of steps, a release is (d / scale)-DP. It is priced as
    what it is: at one step its privacy loss has two values only, like randomized response, and composes worse than
    the loss of `Laplace`. Rounding of numbers: none; the sampler is exact.

    >>> Geometric("2").event(1)
    Geometric(scale=Fraction(2, 1), sensitivity=1)
    """

    scale: Fraction

    citation: ClassVar[str] = "Ghosh, Roughgarden, Sundararajan: Universally utility-maximizing privacy, SICOMP 2012"

    def __init__(self, scale: Number) -> None:
        object.__setattr__(self, "scale", positive("scale", scale))

    def event(self, sensitivity: Number = 1) -> events.Geometric:
        """A geometric release of that L1 sensitivity, in steps."""
        return events.Geometric(self.scale, whole("sensitivity", sensitivity))

    def noise(self, size: int, entropy: Entropy | None = None) -> IntArray:
        """Independent draws of the noise alone."""
        return two_sided_geometric(self.scale, size, source(entropy))

    def margin(self, confidence: Number = Fraction(95, 100)) -> int:
        """The least m with that confidence, from P[|noise| ≤ m] = 1 − 2q^(m+1) / (1 + q) with q = exp(−1 / scale)."""
        miss = miss_probability(confidence)
        outside = 2 / (miss * (1 + exp_down(max(-1 / self.scale, _NEGLIGIBLE))))
        return max(0, ceiling(self.scale * log_up(outside)) - 1)


_NEGLIGIBLE = Fraction(-1000)  # below it q is taken as exp(−1000): the margin is 0 either way


@final
@dataclass(frozen=True, slots=True)
class DiscreteGaussian(AdditiveNoise):
    """Add discrete Gaussian noise, P[k] ∝ exp(−k² / 2σ²), to an integer or an integer vector.

    Guarantee [CKS20, theorem 4]: for L2 sensitivity d, a release is d²/2σ²-zCDP, and nothing better is claimed: the
    curve of the continuous Gaussian does not bound it. Rounding of numbers: none; the sampler is exact.

    >>> DiscreteGaussian("2").event(1)
    DiscreteGaussian(sigma=Fraction(2, 1), sensitivity=Fraction(1, 1))
    """

    sigma: Fraction

    citation: ClassVar[str] = "Canonne, Kamath, Steinke: The discrete Gaussian for differential privacy, NeurIPS 2020"

    def __init__(self, sigma: Number) -> None:
        object.__setattr__(self, "sigma", positive("sigma", sigma))

    def event(self, sensitivity: Number = 1) -> events.DiscreteGaussian:
        """A discrete Gaussian release of that L2 sensitivity, in steps."""
        return events.DiscreteGaussian(self.sigma, at_least("sensitivity", sensitivity))

    def noise(self, size: int, entropy: Entropy | None = None) -> IntArray:
        """Independent draws of the noise alone."""
        return discrete_gaussian(self.sigma, size, source(entropy))

    def margin(self, confidence: Number = Fraction(95, 100)) -> int:
        """An m at most one above the least: P[noise ≥ m + 1] ≤ P[N(0, σ²) ≥ m] [CKS20, proposition 23]."""
        return ceiling(self.sigma * two_sided_quantile_up(confidence))


_FAINTEST_LAPLACE = Fraction(1, 1400)  # below these scales, in steps, noise is nothing but zeros:
_FAINTEST_NORMAL = Fraction(1, 74)  # P[noise ≠ 0] < 1e-300
_GREATEST_DOUBLE = Fraction(sys.float_info.max)


@final
@dataclass(frozen=True, slots=True)
class LatticeNoise:
    """A lattice, and the noise to be added there; for numbers that are whole, or are floats, or neither."""

    lattice: Lattice
    noise: Laplace | Gaussian
    whole: bool
    is_float: bool

    def release(self, numbers: ShapedNumbers) -> Any:
        """The numbers on the lattice, with noise, as numbers of their own kind."""
        noise = self.noise.noise(numbers.flat.size)
        return self.lattice.values(lattice.added(self.lattice.steps(numbers), noise), numbers)

    def margin(self, confidence: Number) -> int | float | Fraction:
        """The margin of one number, noise and rounding together; a float is rounded up."""
        unit = self.lattice.granularity
        moved = Fraction(0) if self.lattice.contains(whole=self.whole) else unit / 2
        total = self.noise.margin(confidence) * unit + moved
        if self.is_float:
            if total > _GREATEST_DOUBLE:
                raise InvalidParameter(
                    "noise", exact.decimal(total), "has no bound that a double holds", hint="ask for more epsilon"
                )
            nearest = float(total)
            return nearest if nearest >= total else math.nextafter(nearest, math.inf)
        return total.numerator if total.denominator == 1 else total


def laplace_on_lattice(
    numbers: ShapedNumbers, sensitivity: Number, epsilon: Number, granularity: Number | None
) -> LatticeNoise:
    """Laplace noise that is ε-DP for that L1 sensitivity."""
    spread, promise = exact.at_least("sensitivity", sensitivity), exact.spendable("epsilon", epsilon)
    return _laplace_on_lattice(_Kind.of_numbers(numbers), spread, promise, _unit(granularity))


def gaussian_on_lattice(
    numbers: ShapedNumbers, sensitivity: Number, mu: Fraction, granularity: Number | None
) -> LatticeNoise:
    """Gaussian noise that is μ-GDP for that L2 sensitivity."""
    return _gaussian_on_lattice(
        _Kind.of_numbers(numbers), exact.at_least("sensitivity", sensitivity), mu, _unit(granularity)
    )


class _Kind(NamedTuple):
    """All that the noise may depend on: whether values are whole or floats, and how many there are."""

    whole: bool
    is_float: bool
    size: int

    @classmethod
    def of_numbers(cls, numbers: ShapedNumbers) -> _Kind:
        return cls(numbers.is_whole, numbers.is_float, numbers.flat.size)


@cached(1024)
def _laplace_on_lattice(
    kind: _Kind, sensitivity: Fraction, epsilon: Fraction, granularity: Fraction | None
) -> LatticeNoise:
    lattice = _lattice(granularity, kind.whole, sensitivity, sensitivity / epsilon, Fraction(max(kind.size, 1)))
    steps = lattice.l1_steps(sensitivity, whole=kind.whole, size=kind.size)
    scale = steps / epsilon
    _require_usual(scale, steps, _FAINTEST_LAPLACE)
    return LatticeNoise(lattice, Laplace(scale), kind.whole, kind.is_float)


@cached(1024)
def _gaussian_on_lattice(
    kind: _Kind, sensitivity: Fraction, mu: Fraction, granularity: Fraction | None
) -> LatticeNoise:
    root = exact.sqrt_up(Fraction(kind.size)) if kind.size > 1 else Fraction(1)
    lattice = _lattice(granularity, kind.whole, sensitivity, sensitivity / mu, root)
    steps = lattice.l2_steps(sensitivity, whole=kind.whole, size=kind.size)
    sigma = steps / mu
    _require_usual(sigma, steps, _FAINTEST_NORMAL)
    return LatticeNoise(lattice, Gaussian(sigma), kind.whole, kind.is_float)


def _lattice(
    granularity: Fraction | None, whole: bool, sensitivity: Fraction, scale: Fraction, coordinates: Fraction
) -> Lattice:
    if granularity is not None:
        return Lattice(granularity)
    return Lattice.for_noise(whole=whole, sensitivity=sensitivity, scale=scale, coordinates=coordinates)


def _unit(granularity: Number | None) -> Fraction | None:
    return None if granularity is None else exact.positive("granularity", granularity)


def _require_usual(scale: Fraction, steps: Fraction, faintest: Fraction) -> None:
    """Refuse noise that rounds to zero because the sensitivity is below one step, or that is too large.

    A promise that is so weak that its noise rounds to zero is kept as it was asked for; see `exact.spendable`.
    """
    noise_text = f"{exact.decimal(scale)} steps of the lattice"
    if scale < faintest and steps < 1:
        raise InvalidParameter(
            "noise",
            noise_text,
            "leaves no noise: it rounds to zero",
            hint="whole numbers change by 1 or more; ask for a finer granularity, or state the sensitivity in full",
        )
    if scale > exact.GREATEST:
        raise InvalidParameter(
            "noise", noise_text, "is beyond the supported range", hint="ask for more epsilon, or a coarser granularity"
        )
