"""Privacy-loss laws: how the loss ln(P/Q) of a pair of output laws is distributed when P is the real one.

Theorem [ZDW22, Thm 10]: if (P, Q) dominates a mechanism, that is, δ_{P,Q}(ε) is at least the mechanism's δ(ε) at every
real ε, then products of dominating pairs dominate adaptive compositions, so losses add as independent variables.

Each law states P- and Q-probabilities of intervals of losses as floats with a bound on their error.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from giveortake.accounting.pld.floating_point import (
    FUNCTION_ERROR,
    NARROW,
    TAIL_ERROR,
    TINY,
    UNIT,
    Floats,
    NotResolved,
    exp_error,
    narrow,
    spaced,
    tail,
)
from giveortake.errors import Unprovable

_GREATEST_MU = 1e150  # of a normal law: its square is still a double
_STEEPEST = 700.0  # of a loss before sampling: e^700 is still a double


@final
@dataclass(frozen=True, slots=True)
class Cells:
    """P- and Q-probabilities of intervals of losses, each within its error."""

    p: Floats
    q: Floats
    p_error: Floats
    q_error: Floats


@final
@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """Single losses of positive probability: `losses` in increasing order, `masses` within `error` relative.

    On a lattice, `start + i·step` for i = 0, 1, …, they are known exactly.
    """

    losses: Floats
    masses: Floats
    error: float
    start: Fraction | None = None
    step: Fraction | None = None


class Law(ABC):
    """The law of one privacy loss under P."""

    @property
    def infinite(self) -> Fraction:
        """The probability of an infinite loss."""
        return Fraction(0)

    @property
    @abstractmethod
    def largest(self) -> Fraction:
        """The largest finite loss; refused if there is none."""

    @property
    def attained(self) -> bool:
        """Whether one pair has this whole curve; if not, products of the law are bounds from above only."""
        return True

    @property
    def atoms(self) -> Atoms | None:
        """The losses that have a positive probability each."""
        return None

    @property
    def loss_error(self) -> float:
        """How far, beyond a few roundings of the loss itself, the losses of a cell may lie outside its bounds."""
        return 0.0

    @abstractmethod
    def span(self, tail_mass: float) -> tuple[float, float] | None:
        """An interval outside which the continuous part has P-probability of at most about `tail_mass` on each side."""

    @abstractmethod
    def between(self, bounds: Floats) -> Cells:
        """The continuous part in (b₀, b₁], (b₁, b₂], …; the first and last bound may be infinite."""


@final
@dataclass(frozen=True, slots=True)
class Lattice(Law):
    """Losses `start`, `start + step`, … and with probability `leak` an infinite one; `masses` sum to 1 − leak."""

    start: Fraction
    step: Fraction
    masses: tuple[float, ...]
    leak: Fraction = Fraction(0)

    @property
    def infinite(self) -> Fraction:
        return self.leak

    @property
    def largest(self) -> Fraction:
        return self.start + (len(self.masses) - 1) * self.step

    @property
    def atoms(self) -> Atoms:
        losses = spaced(float(self.start), float(self.step), len(self.masses))
        return Atoms(losses, np.array(self.masses), 2.0**-46, self.start, self.step)

    def span(self, tail_mass: float) -> None:
        return None

    def between(self, bounds: Floats) -> Cells:
        nothing = np.zeros(len(bounds) - 1)
        return Cells(nothing, nothing, nothing, nothing)


def two_points(epsilon: Fraction, delta: Fraction = Fraction(0)) -> Lattice:
    """The pair that dominates (ε, δ)-DP: with probability δ all is lost, otherwise randomized response [KOV15]."""
    unleaked = float(1 - delta)
    if epsilon == 0:
        return Lattice(Fraction(0), Fraction(1), (unleaked,), delta)
    odds = math.exp(-min(float(epsilon), 700.0))
    return Lattice(-epsilon, 2 * epsilon, (unleaked * odds / (1 + odds), unleaked / (1 + odds)), delta)


def categorical(epsilon: Fraction, categories: int) -> Lattice:
    """Randomized response among m answers: losses −ε, 0, ε with weights 1, m − 2, e^ε."""
    if categories == 2:
        return two_points(epsilon)
    odds = math.exp(-min(float(epsilon), 700.0))
    total = 1 + (categories - 1) * odds
    return Lattice(-epsilon, epsilon, (odds / total, (categories - 2) * odds / total, 1 / total))


def geometric(scale: Fraction, steps: int) -> Lattice:
    """Discrete Laplace noise moved by `steps`: losses (s − 2k)/scale for the noise k, cut to 0 ≤ k ≤ s.

    Moving one coordinate by s steps dominates moving several by s steps in all: for laws with monotone likelihood
    ratio the trade-off of s steps is the s-fold group trade-off [DRS22, Thm 2.14], which bounds every such path.
    """
    ratio = math.exp(-min(float(1 / scale), 700.0))
    inner = -math.expm1(-float(1 / scale)) / (1 + ratio) * np.exp(-np.arange(steps - 1, 0, -1) * float(1 / scale))
    masses = (math.exp(-min(float(steps / scale), 700.0)) / (1 + ratio), *inner.tolist(), 1 / (1 + ratio))
    return Lattice(-steps / scale, 2 / scale, masses)


@final
@dataclass(frozen=True, slots=True)
class Ramp(Law):
    """A density proportional to e^(t/2) on [−ε, ε], and what is left at the two ends.

    Laplace noise of scale 1/ε moved by 1 has loss ε(1 − 2x) for noise x, cut to 0 ≤ x ≤ 1: half of P lies at ε, e^−ε/2
    at −ε (`ends`). One coordinate moved by 1 dominates several moved by 1 in all, as in `geometric`.

    Bounded range ε [DR19], [DDR20]: the worst pair has losses t and t − ε for some t in [0, ε]; the largest of
    their curves is δ(x) = (e^(ε/2) − e^(x/2))²/(e^ε − 1), attained at t = (ε + x)/2; it is convex in e^x, and its loss
    law is the density alone. As t depends on x, no single mechanism has this curve: it is exact for one release, and
    products of it bound the composition of several from above only.
    """

    epsilon: Fraction
    ends: bool

    @property
    def attained(self) -> bool:
        return self.ends

    @property
    def largest(self) -> Fraction:
        return self.epsilon

    @property
    def atoms(self) -> Atoms | None:
        if not self.ends:
            return None
        size = float(self.epsilon)
        masses = np.array([math.exp(-size) / 2, 0.5])
        return Atoms(np.array([-size, size]), masses, exp_error(size), -self.epsilon, 2 * self.epsilon)

    def span(self, tail_mass: float) -> tuple[float, float]:
        return -float(self.epsilon), float(self.epsilon)

    def between(self, bounds: Floats) -> Cells:
        size = float(self.epsilon)
        cut = np.clip(bounds, -size, size)
        weight = (0.5 if self.ends else -1 / math.expm1(-size)) * -np.expm1((cut[:-1] - cut[1:]) / 2)
        p, q = weight * np.exp((cut[1:] - size) / 2), weight * np.exp((-size - cut[:-1]) / 2)
        error = 3 * exp_error(size)
        return Cells(p, q, error * p, error * q)


@final
@dataclass(frozen=True, slots=True)
class Normal(Law):
    """N(μ²/2, μ²) under P, N(−μ²/2, μ²) under Q: Gaussian noise, μ-GDP [DRS22]."""

    mu: float

    @property
    def largest(self) -> Fraction:
        raise Unprovable("normal losses have no bound")

    def span(self, tail_mass: float) -> tuple[float, float]:
        if self.mu > _GREATEST_MU:
            raise NotResolved
        reach = self.mu * min(37.0, math.sqrt(-2 * math.log(min(0.5, max(tail_mass, 1e-297)))))
        return self.mu**2 / 2 - reach, self.mu**2 / 2 + reach

    def between(self, bounds: Floats) -> Cells:
        """P and Q of the same outcomes: those between the rounded points x = b/μ."""
        ends = bounds / self.mu
        p, p_error = _normal_masses(ends, -self.mu / 2)
        q, q_error = _normal_masses(ends, self.mu / 2)
        return Cells(p, q, p_error, q_error)


def _normal_masses(ends: Floats, shift: float) -> tuple[Floats, Floats]:
    """P[xᵢ < N − shift ≤ xᵢ₊₁] and its error; wide intervals by the difference of the smaller tails."""
    with np.errstate(invalid="ignore"):
        half, middle = (ends[1:] - ends[:-1]) / 2, (ends[:-1] + ends[1:]) / 2 + shift
    is_narrow = half * (np.abs(middle) + 1) <= NARROW
    size = np.where(is_narrow, np.abs(middle), 0.0) + abs(shift)
    mass = narrow(np.where(is_narrow, middle, 0.0), np.where(is_narrow, half, 0.0))
    error = mass * (TAIL_ERROR + 16 * UNIT * (1 + size) ** 2) + TINY
    wide = np.flatnonzero(~is_narrow)
    if len(wide):
        left, right = ends[wide] + shift, ends[wide + 1] + shift
        sign = np.where(np.nan_to_num(middle[wide]) > 0, 1.0, -1.0)
        first, second = tail(sign * left), tail(sign * right)
        moved = 8 * UNIT * (40 + abs(shift)) ** 2  # a rounding of x moves its tail by a factor e^(4u|x|(|x| + 1))
        mass[wide] = np.abs(first - second)
        error[wide] = (first + second) * (TAIL_ERROR + moved) + TINY
    return mass, error


@final
@dataclass(frozen=True, slots=True)
class Sampled(Law):
    """A symmetric pair (P, Q) after Poisson sampling at `rate`: one direction of add-remove neighbours.

    Theorem [ZDW22, Thm 11]: removing a unit is dominated by ((1 − q)Q + qP, Q), adding one by (P, (1 − q)P + qQ). With
    t = ln(P/Q) their losses are ln(1 − q + qe^t) and −ln(1 − q + qe^−t), both increasing in t.
    """

    base: Law
    rate: Fraction
    removing: bool

    @property
    def largest(self) -> Fraction:
        return self.base.largest

    @property
    def atoms(self) -> Atoms | None:
        atoms = self.base.atoms
        if atoms is None:
            return None
        rate, unsampled = float(self.rate), float(1 - self.rate)
        if float(np.max(np.abs(atoms.losses))) > _STEEPEST:
            raise NotResolved
        if self.removing:
            masses = atoms.masses * (rate + unsampled * np.exp(-atoms.losses))
            grown = rate * np.expm1(atoms.losses)
        else:
            masses, grown = atoms.masses, rate * np.expm1(-atoms.losses)
        if float(np.min(grown)) <= -1:
            raise NotResolved
        losses = np.log1p(grown) if self.removing else -np.log1p(grown)
        return Atoms(losses, masses, atoms.error + 2 * exp_error(float(np.max(np.abs(atoms.losses)))))

    @property
    def loss_error(self) -> float:
        """The relative error of 1 − q + qe^±t, which is at least 1 − q, computed by way of expm1 and log1p."""
        unsampled = float(1 - self.rate)
        if unsampled == 0:
            raise NotResolved
        return self.base.loss_error + 16 * FUNCTION_ERROR / unsampled

    def span(self, tail_mass: float) -> tuple[float, float] | None:
        inner = self.base.span(tail_mass)
        return None if inner is None else (self._loss(inner[0]), self._loss(inner[1]))

    def between(self, bounds: Floats) -> Cells:
        rate, unsampled = float(self.rate), float(1 - self.rate)
        cells = self.base.between(self._inner(bounds))
        extra = 4 * FUNCTION_ERROR
        if self.removing:
            p = unsampled * cells.q + rate * cells.p
            return Cells(p, cells.q, unsampled * cells.q_error + rate * cells.p_error + extra * p, cells.q_error)
        q = unsampled * cells.p + rate * cells.q
        return Cells(cells.p, q, cells.p_error, unsampled * cells.p_error + rate * cells.q_error + extra * q)

    def _loss(self, inner: float) -> float:
        """The loss after sampling; not resolved if e^±t is beyond doubles, or if 1 − q + qe^±t rounds to nothing."""
        sign = 1 if self.removing else -1
        if sign * inner > _STEEPEST:
            raise NotResolved
        grown = float(self.rate) * math.expm1(sign * inner)
        if grown <= -1:
            raise NotResolved
        return sign * math.log1p(grown)

    def _inner(self, bounds: Floats) -> Floats:
        """The loss t before sampling; ∓∞ where no t gives the bound."""
        sign = 1.0 if self.removing else -1.0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            grown = np.expm1(sign * bounds) / np.float64(float(self.rate))
            if np.any(np.isinf(grown) & np.isfinite(bounds)):
                raise NotResolved
            inner = sign * np.where(grown > -1, np.log1p(np.maximum(grown, -1.0)), -np.inf)
        return np.asarray(inner, dtype=np.float64)
