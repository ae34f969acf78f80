"""The sum of many independent privacy losses, near the place where a δ or an ε is asked for.

Each law is tilted by e^(θL) (Esscher, Cramér), so that the sum is centred where it matters and all errors of the
discrete Fourier transform are relative to what is computed, however small δ is. With Λ(θ) = Σ k ln E[e^(θL)],

    δ(ε) = P[∞] + e^(Λ(θ) − θε) · Ẽ[ e^(−θ(S−ε)) (1 − e^(−(S−ε)))₊ ]                                            (1)

where Ẽ is over the tilted sum S; the weight in the bracket is at most c(θ) = θ^θ/(1+θ)^(1+θ), which alone gives the
bound δ(ε) ≤ P[∞] + c(θ) e^(Λ(θ) − θε) of [CKS20, Prop. 12] for every θ > 0.

Only a window of the sum is computed, on a circle. What wraps around can only add to (1), so it is harmless from above;
from below, and for what lies above the window, it is bounded by Chernoff's inequality for the tilted sum.

Rounding. With u = 2^-53 and η = 16u·log2 n, a transform of length n has relative error at most η in the Euclidean norm
([Hig02, Thm 24.2] gives about 7u·log2 n for radix 2; larger radices do fewer roundings). A product of k factors of
modulus at most 1 + e, each within e, is within k·e·(1+e)^(k−1), and a complex multiplication errs by at most √5·u
relatively [BPZ07]. Hence the error of the sum's probabilities, in the Euclidean norm, is at most

    (Σ kη‖x‖ + (3Ku + η)‖c‖ + e^−60) · e^(Σ kη√n‖x‖),                                                          (2)

and the error of (1) is at most that times the norm of the weights (Cauchy–Schwarz).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from giveortake.accounting.pld.floating_point import (
    FUNCTION_ERROR,
    UNIT,
    Complexes,
    Floats,
    NotResolved,
    norm,
    spaced,
    total,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.accounting.pld.grid import GridLaw


_NEGLIGIBLE = -60.0  # e^−60: frequencies below it are left out
_ESCAPE = math.log(1e-11)  # of the tilted sum, outside the window on each side
_FEW = np.array([0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0])  # multiples of the normal approximation tried by Chernoff


@final
@dataclass(frozen=True, slots=True, eq=False)
class TiltedLaw:
    """One law, tilted and of total mass 1: `mass` at `grid.indices()`; `log_total` is ln of what was divided out."""

    grid: GridLaw
    count: int
    mass: Floats
    logs: Floats  # of the masses
    losses: Floats  # relative to `centre`, which lies on the grid
    centre: int
    log_total: float


def log_worst_weight(theta: float) -> float:
    """The logarithm of c(θ) = max over x > 0 of e^(−θx)(1 − e^−x)."""
    return theta * math.log(theta) - (1 + theta) * math.log1p(theta) if theta > 0 else 0.0


def tilted(grid: GridLaw, count: int, step: float, theta: float, *, above: bool) -> TiltedLaw:
    """The upper or the lower masses of a law, tilted; losses are counted from the tilted mean."""
    masses = grid.upper if above else grid.lower
    places = spaced(0.0, grid.stride * step, len(masses))
    exponents = theta * places
    with np.errstate(divide="ignore"):
        logs = exponents + np.log(masses)
    top = float(np.max(logs))
    if not math.isfinite(top):
        raise NotResolved
    mass = np.exp(logs - top)
    whole = total(mass)
    mass /= whole
    logs -= top + math.log(whole)
    nearest = round(total(mass * places) / (grid.stride * step))
    shift = nearest * grid.stride * step
    log_total = top + math.log(whole) - theta * shift
    return TiltedLaw(grid, count, mass, logs, places - shift, grid.first + grid.stride * nearest, log_total)


def log_expectation(law: TiltedLaw, exponents: Floats) -> float:
    """About ln of the expectation of e^x under a tilted law, given x at every point."""
    logs = law.logs + exponents
    top = float(np.max(logs))
    return top + math.log(total(np.exp(logs - top)))


@final
class TiltedSum:
    """The tilted sum of some laws, from above or from below.

    `losses[i]` has tilted probability `mass[i]`, up to `error` in the Euclidean norm and `escaped` in total.
    """

    def __init__(
        self, grids: Sequence[tuple[GridLaw, int]], step: Fraction, theta: float, *, above: bool, most: int
    ) -> None:
        self.theta, self.above, self.step = theta, above, float(step)
        self.laws = [tilted(grid, count, self.step, theta, above=above) for grid, count in grids]
        self.terms = sum(law.count for law in self.laws)
        offset = sum((law.count * law.grid.offset for law in self.laws), Fraction(0))
        self._base = offset + step * sum(law.count * law.centre for law in self.laws)
        self._exact_step = step
        self.log_mass = math.fsum(law.count * law.log_total for law in self.laws)
        self.infinite = _leak(self.laws, above=above)
        points = max(len(law.mass) for law in self.laws)
        self._rounding = 4 * UNIT * self.terms * (points + 1000) + 1e-9  # of sums over a law, as a logarithm
        self._choose_window(most)
        self._sum()

    def _choose_window(self, most: int) -> None:
        """Choose the window, counted from the base, outside which the sum has probability e^_ESCAPE on each side."""
        moments = [(law.count, total(law.mass * law.losses), total(law.mass * law.losses**2)) for law in self.laws]
        variance = math.fsum(count * max(square - mean * mean, 0.0) for count, mean, square in moments)
        tried = _FEW * math.sqrt(-2 * _ESCAPE / max(variance, self.step**2))
        ends = []
        for sign in (1.0, -1.0):
            farthest = math.fsum(law.count * float(np.max(sign * law.losses)) for law in self.laws)
            reached = min((self.log_moment(sign * rate) - _ESCAPE) / rate for rate in tried)
            ends.append((min(farthest, reached), farthest))
        above, below = ends
        self.low = math.floor(-below[0] / self.step) - 2
        needed = math.ceil(above[0] / self.step) + 2 - self.low + 1
        self.size = 1 << max(6, (needed - 1).bit_length())
        if self.size > most:
            raise NotResolved
        self.low -= (self.size - needed) // 2
        self.escaped_above = self._escaped(1.0, (self.low + self.size - 1) * self.step, above[1], tried)
        self.escaped_below = self._escaped(-1.0, -self.low * self.step, below[1], tried)

    def _escaped(self, sign: float, end: float, farthest: float, tried: Floats) -> float:
        """An upper bound of the probability that the tilted sum lies beyond `end`, Chernoff."""
        if farthest < end - self.step / 2:
            return 0.0
        exponent = min(self.log_moment(sign * float(rate)) - float(rate) * end for rate in tried)
        return math.exp(min(0.0, exponent + self._rounding))

    def log_moment(self, rate: float) -> float:
        """About the logarithm of Ẽ[e^(rate·S)], S counted from the base."""
        return math.fsum(law.count * log_expectation(law, rate * law.losses) for law in self.laws)

    def _sum(self) -> None:
        """Compute the probabilities of the sum on the circle, by the discrete Fourier transform."""
        size, terms = self.size, self.terms
        transform_error = 16 * UNIT * size.bit_length()
        spectra, error = [], 0.0
        logs = np.zeros(size // 2 + 1)
        for law in self.laws:
            indices = (law.grid.indices() - law.centre) % size
            circle = np.bincount(indices, weights=law.mass, minlength=size).astype(np.float64)
            spectrum = np.fft.rfft(circle)
            with np.errstate(divide="ignore"):
                logs += law.count * np.log(np.abs(spectrum))
            spectra.append(spectrum)
            error += law.count * transform_error * norm(circle)
        growth = error * math.sqrt(size) + self._rounding
        if not growth < 1 or terms > 2**50:
            raise NotResolved
        heard = np.flatnonzero(logs > _NEGLIGIBLE)
        product = np.zeros(size // 2 + 1, dtype=np.complex128)
        product[heard] = _product(
            [(spectrum[heard], law.count) for spectrum, law in zip(spectra, self.laws, strict=True)]
        )
        circle = np.fft.irfft(product, size)
        length = norm(circle)
        self.error = (
            (error + (3 * terms * UNIT + transform_error) * length + math.exp(_NEGLIGIBLE)) * math.exp(growth) * 1.001
        )
        self.mass = np.roll(circle, -(self.low % size))
        self.start = float(self._base + self._exact_step * self.low)
        self.losses = spaced(self.start, self.step, size)
        reach = max(abs(self.start), abs(float(self.losses[-1])))
        slack = math.fsum(law.count * law.grid.slack for law in self.laws)
        self.slack = 1.01 * slack + 8 * UNIT * reach
        self.relative = math.expm1(self._relative_slack(reach))

    def _relative_slack(self, reach: float) -> float:
        """How far tilting and its reversal may be off, as a logarithm."""
        widest = max(float(np.max(np.abs(law.losses))) for law in self.laws)
        largest = max(abs(law.log_total) for law in self.laws)
        per_term = (8 + 750) * FUNCTION_ERROR + 16 * UNIT * (self.theta * widest + largest + 1)
        return self.terms * per_term + 32 * UNIT * (self.theta * reach + abs(self.log_mass) + 1) + 4 * FUNCTION_ERROR

    def expectation(self, epsilon: float) -> tuple[float, float, float]:
        """The expectation in (1) over the window, the norm of its weights, and ln of the factor before it."""
        begin = max(0, math.ceil((epsilon - self.start) / self.step))
        gap = self.losses[begin:] - epsilon
        gap = gap[gap > 0]
        weights = np.exp(-self.theta * gap) * -np.expm1(-gap)
        mass = self.mass[self.size - len(gap) :]
        factor = self.log_mass - self.theta * (epsilon - float(self._base))
        return total(weights * mass), norm(weights), factor


def _product(factors: list[tuple[Complexes, int]]) -> Complexes:
    """Π z^k by repeated squaring."""
    result = np.ones_like(factors[0][0])
    with np.errstate(under="ignore"):
        for base, count in factors:
            power, left = base, count
            while left:
                if left & 1:
                    result = result * power
                left >>= 1
                if left:
                    power = power * power
    return result


def _leak(laws: Sequence[TiltedLaw], *, above: bool) -> float:
    """1 − Π (1 − P[∞])^k, rounded outwards."""
    if above and any(law.grid.infinite[1] >= 1 for law in laws):
        return 1.0
    log_unleaked = math.fsum(law.count * math.log1p(-min(law.grid.infinite[above], 1 - UNIT)) for law in laws)
    leak = -math.expm1(log_unleaked)
    return leak * (1 + 2.0**-44) if above else leak * (1 - 2.0**-44)
