"""The sum of many independent privacy losses: intervals that contain δ(ε), or ε(δ).

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

From above: the `TiltedSum` of the upper masses. From below: that of the lower masses, whose true losses may fall
short of the grid's by E = Σ excess. For every number E₀, by (1) and Chernoff's inequality for E,

    δ(ε) ≥ δ_grid(ε + E₀) − e^(Λ(θ) − θ(ε + E₀)) · c(θ) · P̃[E > E₀],    P̃[E > E₀] ≤ e^(−λE₀) Π Ẽ[e^(λ·excess)]^k.

Tilt, window and step only decide how wide the interval is; they are chosen by floats without proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np

from giveortake.accounting.privacy_loss import (
    FUNCTION_ERROR,
    MOST_POINTS,
    TINY,
    UNIT,
    WIDEST,
    Complexes,
    Floats,
    NotResolved,
    norm,
    spaced,
    total,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from giveortake.accounting.privacy_loss import GriddedCurve, GridLaw, Law


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
        self.infinite = _infinite_mass(self.laws, above=above)
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


def _infinite_mass(laws: Sequence[TiltedLaw], *, above: bool) -> float:
    """1 − Π (1 − P[∞])^k, rounded outwards."""
    if above and any(law.grid.infinite[1] >= 1 for law in laws):
        return 1.0
    log_unleaked = math.fsum(law.count * math.log1p(-min(law.grid.infinite[above], 1 - UNIT)) for law in laws)
    leak = -math.expm1(log_unleaked)
    return leak * (1 + 2.0**-44) if above else leak * (1 - 2.0**-44)


TOLERANCE = 1e-3  # of ε: the width that is aimed at
_AIM = 0.1 * TOLERANCE
_COARSE = 2048
_STRAY = math.log(1e-4)  # ln P̃[E > E₀]
_ROUNDS = 5
_NUDGE = 1e-10
_FINEST = 1e-300  # a common lattice finer than this is as good as none
_FAR = 100.0  # a factor of e^100 before the expectation: the tilt suits another ε, and there is no bound


@final
@dataclass(frozen=True, slots=True)
class RepeatedLaw:
    """A law and how often it occurs; `known` if it is exact, so that it counts in lower bounds too."""

    law: Law | GriddedCurve
    count: int
    known: bool = True


@final
class LossSum:
    """The sum of the losses of some laws, tilted for one δ or one ε; see `epsilon_bounds` and `delta_bounds`."""

    def __init__(
        self, laws: Sequence[RepeatedLaw], *, delta: float | None = None, epsilon: float | None = None
    ) -> None:
        self.laws = laws
        self.count = sum(repeated.count for repeated in laws)
        if max(repeated.law.reach for repeated in laws) > WIDEST or self.count > 2**50:
            raise NotResolved
        self.tail_mass = 1e-6 * (1e-6 if delta is None else delta) / self.count
        self._coarse = [self._coarsely(repeated) for repeated in laws]
        if any(grid.infinite[1] >= 1 for grid, _, _ in self._coarse):
            raise NotResolved
        log_unleaked = math.fsum(count * math.log1p(-grid.infinite[1]) for grid, count, _ in self._coarse)
        self.leak = -math.expm1(log_unleaked) * (1 + 2.0**-44)
        self._aim = delta if delta is not None else None
        self._epsilon = epsilon
        if delta is not None and not delta > self.leak:
            raise NotResolved
        self.theta = self._best_tilt()

    def _coarsely(self, repeated: RepeatedLaw) -> tuple[GridLaw, int, float]:
        law = repeated.law
        step = law.lattice if not law.smooth and law.lattice else Fraction(law.reach / _COARSE)
        if law.lattice and law.smooth:
            step = law.lattice / _COARSE
        return law.on(step, 1, self.tail_mass), repeated.count, float(step)

    def _log_moment(self, theta: float) -> float:
        """Λ(θ) of the upper masses on the coarse grids; losses are not centred."""
        moment = 0.0
        for grid, count, step in self._coarse:
            law = tilted(grid, count, step, theta, above=True)
            moment += count * (law.log_total + theta * (float(grid.offset) + law.centre * step))
        return moment

    def _exponent(self, theta: float) -> float:
        """Chernoff's bound at θ: an ε for the δ asked for, or ln δ for the ε asked for."""
        moment = self._log_moment(theta) + log_worst_weight(theta)
        if self._aim is not None:
            return (moment - math.log(self._aim - self.leak)) / theta
        return moment - theta * (self._epsilon or 0.0)

    def _best_tilt(self) -> float:
        """A θ close to the minimum of `_exponent`, which is unimodal, by golden-section search on ln θ."""
        low, high = math.log(1e-4), math.log(500 / max(repeated.law.reach for repeated in self.laws))
        ratio = (math.sqrt(5) - 1) / 2
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        at_left, at_right = self._exponent(math.exp(left)), self._exponent(math.exp(right))
        while high - low > 0.03:
            if at_left < at_right:
                high, right, at_right = right, left, at_left
                left = high - ratio * (high - low)
                at_left = self._exponent(math.exp(left))
            else:
                low, left, at_left = left, right, at_right
                right = low + ratio * (high - low)
                at_right = self._exponent(math.exp(right))
        return math.exp((low + high) / 2)

    def chernoff(self) -> float:
        """`_exponent` at the tilt chosen, rounded up: a bound that needs no transform."""
        slack = math.fsum(count * grid.slack for grid, count, _ in self._coarse)
        widest = max(float(step * len(grid.upper)) for grid, _, step in self._coarse)
        rounding = self.count * (2.0**-36 + 64 * UNIT * self.theta * widest)
        exponent = self._exponent(self.theta)
        if self._aim is not None:
            return (exponent + (rounding + 2.0**-40) / self.theta + slack) * (1 + 2.0**-40)
        return exponent + rounding + self.theta * slack + 2.0**-40 * (1 + abs(exponent))

    # -- on a fine grid ---------------------------------------------------------------------------------------

    def first_step(self, epsilon: float) -> Fraction:
        """A step that should make the interval narrow enough, and that divides the lattices' steps where it can."""
        smooth = [repeated for repeated in self.laws if repeated.law.smooth]
        lattices = [repeated.law.lattice for repeated in self.laws if repeated.law.lattice is not None]
        common = _common_step(lattices)
        if common is not None and float(common) < _FINEST:
            common = None
        count = max((repeated.count for repeated in smooth), default=1)
        wanted = math.sqrt(8 * _AIM * max(epsilon, 1e-3) / (count * max(1, len(smooth)) * (self.theta + 1)))
        wanted = min([wanted, *(repeated.law.reach / 16 for repeated in smooth if repeated.count == count)])
        spread = math.sqrt(math.fsum(repeated.count * repeated.law.reach**2 for repeated in self.laws))
        if not smooth and common is not None and spread / float(common) < MOST_POINTS / 64:
            return common
        if not smooth:
            wanted = min(wanted, _AIM * max(epsilon, 1e-3) / math.sqrt(self.count))
        if common is not None and float(common) > wanted / 256:
            return common / math.ceil(float(common) / wanted)
        latticed = (repeated for repeated in self.laws if repeated.law.lattice)
        heaviest = max(latticed, key=lambda repeated: repeated.count * repeated.law.reach, default=None)
        if heaviest is not None and heaviest.law.lattice is not None:
            return heaviest.law.lattice / math.ceil(float(heaviest.law.lattice) / wanted)
        return Fraction(wanted)

    def totals(self, step: Fraction) -> tuple[TiltedSum, TiltedSum | None, Shortfall]:
        """The sum from above, the sum from below (None unless all laws are `known`), and the shortfall E₀."""
        count = max((repeated.count for repeated in self.laws if repeated.law.smooth), default=1)
        grids = [
            (repeated.law.on(step, self._stride(repeated, count, step), self.tail_mass), repeated.count)
            for repeated in self.laws
        ]
        upper = TiltedSum(grids, step, self.theta, above=True, most=MOST_POINTS)
        if not all(repeated.known for repeated in self.laws):
            return upper, None, Shortfall(0.0, 0.0)
        lower = TiltedSum(grids, step, self.theta, above=False, most=MOST_POINTS)
        return upper, lower, _shortfall(lower.laws)

    @staticmethod
    def _stride(repeated: RepeatedLaw, count: int, step: Fraction) -> int:
        """How many steps apart a law's grid points are: more than one for smooth laws that occur rarely."""
        if not repeated.law.smooth or repeated.law.lattice is not None:
            return 1
        return max(1, min(math.isqrt(count // repeated.count), math.floor(repeated.law.reach / 64 / float(step))))


def delta_above(summed: TiltedSum, epsilon: float) -> float:
    """An upper bound of δ(ε)."""
    at = epsilon - summed.slack
    inside, norm, factor = summed.expectation(at)
    worst = math.exp(log_worst_weight(summed.theta))
    escaped = summed.escaped_above + (summed.escaped_below if at < summed.start else 0.0)
    bracket = (inside + summed.error * norm + worst * escaped + TINY * summed.size) * (1 + summed.relative)
    return float(summed.infinite + math.exp(factor) * bracket * (1 + 1e-9)) if factor < _FAR else 1.0


def delta_below(summed: TiltedSum, shortfall: Shortfall, epsilon: float) -> float:
    """A lower bound of δ(ε), possibly negative; nan where there is none, because the tilt is made for larger ε."""
    at = epsilon + shortfall.amount + summed.slack
    inside, norm, factor = summed.expectation(at)
    worst = math.exp(log_worst_weight(summed.theta))
    lost = summed.error * norm + worst * (summed.escaped_above + summed.escaped_below + shortfall.stray)
    bracket = inside * (1 - 1e-9) * (1 - summed.relative) - lost * (1 + summed.relative)
    return float(summed.infinite + math.exp(factor) * bracket) if factor < _FAR else math.nan


def epsilon_bounds(laws: Sequence[RepeatedLaw], delta: float, delta_up: float) -> tuple[float, float]:
    """ε_low ≤ the least ε with δ(ε) ≤ δ ≤ ε_high; the interval is narrowed until it is good or the grid too long.

    δ is given as two floats, one not above it and one not below it.
    """
    losses = LossSum(laws, delta=delta)
    low, high = 0.0, max(0.0, losses.chernoff())
    step = losses.first_step(high)
    for _ in range(_ROUNDS):
        try:
            upper, lower, shortfall = losses.totals(step)
        except NotResolved:
            break
        high = min(high, _crossing(partial(delta_above, upper), delta, high, losses.theta, up=True))
        if lower is None:
            break
        low = max(low, _crossing(partial(delta_below, lower, shortfall), delta_up, high, losses.theta, up=False))
        if high - low <= 0.9 * TOLERANCE * high or not math.isfinite(high):
            break
        step /= 2
    return max(0.0, min(low, high)), high


def delta_bounds(laws: Sequence[RepeatedLaw], epsilon: float, epsilon_up: float) -> tuple[float, float]:
    """δ_low ≤ δ(ε) ≤ δ_high; ε is given as two floats, one not above it and one not below it."""
    losses = LossSum(laws, epsilon=epsilon)
    low, high = 0.0, min(1.0, losses.leak + math.exp(min(0.0, losses.chernoff())))
    step = losses.first_step(max(epsilon, 0.1))
    for _ in range(_ROUNDS):
        try:
            upper, lower, shortfall = losses.totals(step)
        except NotResolved:
            break
        high = min(high, delta_above(upper, epsilon))
        if lower is None:
            break
        low = max(low, np.nan_to_num(delta_below(lower, shortfall, epsilon_up)))
        if high - low <= 10 * TOLERANCE * high:
            break
        step /= 2
    return max(0.0, min(low, high)), high


def _crossing(curve: Callable[[float], float], delta: float, top: float, theta: float, *, up: bool) -> float:
    """Where a falling curve passes δ between 0 and `top`: a point where it is certainly at most δ (`up`), or above δ.

    Secants of the logarithm lead there, and bisection where they do not. The point returned was checked, except that
    nothing is known at the ends: `top` when going up, 0 when going down. Where the curve is not a number, ε is too low.
    """
    if up and curve(0.0) <= delta:
        return 0.0
    low, high, goal, checked = 0.0, top, math.log(delta), 0.0
    nudge = _NUDGE * max(top, 1e-9)
    point, slope = top, -theta
    before: tuple[float, float] | None = None
    for _ in range(80):
        value = curve(point)
        fits = value <= delta
        low, high = (low, min(high, point)) if fits else (max(low, point), high)
        checked = max(checked, point) if value > delta else checked
        if high - low <= 4 * nudge:
            break
        height = math.log(value) - goal if value > 0 else None
        if height is not None and before is not None and point != before[0] and height < before[1] != point < before[0]:
            slope = (height - before[1]) / (point - before[0])
        target = high
        if height is not None:
            before = (point, height)
            target = point - height / slope + (nudge if up else -nudge)
        point = target if low < target < high else (low + high) / 2
        if fits == up and height is not None and abs(height / slope) <= 4 * nudge:
            break
    if up:
        return high
    gap = nudge
    while checked == 0 and gap < top:  # the bound may be good in a narrow range only
        checked = top - gap if curve(top - gap) > delta else 0.0
        gap *= 3
    return checked


@final
@dataclass(frozen=True, slots=True)
class Shortfall:
    """E₀, and the tilted probability that the sum of the excesses is above it."""

    amount: float
    stray: float


def _shortfall(laws: Sequence[TiltedLaw]) -> Shortfall:
    """E₀ by Chernoff's inequality, or the sum of the largest excesses if that is no more, or negligible."""
    moments = [(total(law.mass * law.grid.excess), total(law.mass * law.grid.excess**2), law.count) for law in laws]
    variance = math.fsum(count * max(square - mean * mean, 0.0) for mean, square, count in moments)
    best = math.sqrt(-2 * _STRAY / max(variance, 1e-40))
    rounding = sum(law.count for law in laws) * 4 * UNIT * (1000 + max(len(law.mass) for law in laws))
    certain = math.fsum(law.count * float(np.max(law.grid.excess)) for law in laws) * (1 + 2.0**-40) + 1e-300
    likely = math.inf
    for rate in (best / 64, best / 16, best / 4, best / 2, best, 2 * best, 8 * best):
        logs = math.fsum(law.count * log_expectation(law, rate * law.grid.excess) for law in laws)
        likely = min(likely, (logs + rounding - _STRAY) / rate)
    if certain <= max(likely, _NUDGE):
        return Shortfall(max(certain, 0.0), 0.0)
    return Shortfall(likely, math.exp(_STRAY))


def _common_step(lattices: list[Fraction]) -> Fraction | None:
    """The widest step that divides all of them."""
    if not lattices:
        return None
    denominator = math.lcm(*(lattice.denominator for lattice in lattices))
    return Fraction(math.gcd(*(int(lattice * denominator) for lattice in lattices)), denominator)
