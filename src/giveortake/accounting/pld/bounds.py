"""ε from δ, and δ from ε, of a sum of privacy losses: intervals that contain the truth.

From above: the `TiltedSum` of the upper masses. From below: that of the lower masses, whose true losses may fall
short of the grid's by E = Σ excess. For every number E₀, by (1) of `convolution` and Chernoff's inequality for E,

    δ(ε) ≥ δ_grid(ε + E₀) − e^(Λ(θ) − θ(ε + E₀)) · c(θ) · P̃[E > E₀],    P̃[E > E₀] ≤ e^(−λE₀) Π Ẽ[e^(λ·excess)]^k.

Tilt, window and step only decide how wide the interval is; they are chosen by floats without proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from giveortake.accounting.pld.convolution import TiltedLaw, TiltedSum, log_expectation, log_worst_weight, tilted
from giveortake.accounting.pld.floating_point import TINY, UNIT, WIDEST, NotResolved, total
from giveortake.accounting.pld.grid import MOST_POINTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from giveortake.accounting.pld.grid import GridLaw


TOLERANCE = 1e-3  # of ε: the width that is aimed at
_AIM = 0.1 * TOLERANCE
_COARSE = 2048
_STRAY = math.log(1e-4)  # ln P̃[E > E₀]
_ROUNDS = 5
_NUDGE = 1e-10
_FINEST = 1e-300  # a common lattice finer than this is as good as none
_FAR = 100.0  # a factor of e^100 before the expectation: the tilt suits another ε, and there is no bound


class Gridded(Protocol):
    """A law or a curve that can be put on a grid."""

    @property
    def lattice(self) -> Fraction | None:
        """The step of the lattice that its atoms lie on; None without atoms or without such a lattice."""
        ...

    @property
    def smooth(self) -> bool:
        """Whether it has a continuous part."""
        ...

    @property
    def reach(self) -> float:
        """Twice the greatest loss, apart from negligible tails."""
        ...

    def on(self, step: Fraction, stride: int, tail_mass: float) -> GridLaw:
        """This law on a grid; up to `tail_mass` of its probability may be moved to an infinite loss."""
        ...


@final
@dataclass(frozen=True, slots=True)
class RepeatedLaw:
    """A law and how often it occurs; `known` if it is exact, so that it counts in lower bounds too."""

    law: Gridded
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
    if not lattices:
        return None
    common = lattices[0]
    for lattice in lattices[1:]:
        denominator = math.lcm(common.denominator, lattice.denominator)
        common = Fraction(
            math.gcd(
                common.numerator * (denominator // common.denominator),
                lattice.numerator * (denominator // lattice.denominator),
            ),
            denominator,
        )
    return common
