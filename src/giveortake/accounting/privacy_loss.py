"""Privacy-loss distributions: how ln(P/Q) is distributed under P, in floats with proved errors, and on a grid.

Theorem [ZDW22, Thm 10]: if (P, Q) dominates a mechanism, that is, δ_{P,Q}(ε) is at least the mechanism's δ(ε) at every
real ε, then products of dominating pairs dominate adaptive compositions, so losses add as independent variables.

Each law states P- and Q-probabilities of intervals of losses as floats with a bound on their error.

On a grid, from above [DGKKM22, connect the dots]: the outcomes whose loss lies in (g, g + d] are replaced by two
outcomes of losses g and g + d with the same P- and Q-probability together. That is the reverse of a post-processing, so
the curve δ(ε) can only rise; it keeps its value at every grid point, so it rises by the square of d only.

From below: the outcomes whose loss lies within d/2 of g are merged, a post-processing, so the curve can only fall.
The merged loss ln(P/Q) differs from g by the square of d where the distribution is smooth; `excess` is g − ln(P/Q).

Addition, multiplication, division and square roots are rounded correctly (IEEE 754). Of `exp`, `expm1`, `log` and
`log1p` a relative error of 2^-48 is assumed, sixteen units in the last place; numpy tests its own to four, and
`tests/accounting/test_privacy_loss.py` compares them with certified enclosures. Every margin below is larger than
what follows from these.

`tail` and `narrow` are probabilities of a standard normal N for many points or narrow intervals at once.
Around the nearest node t = i/32 the tail is a Taylor series in d = x − t, |d| ≤ 1/64,

    P[N > t + d] = P[N > t] − φ(t) · Σ (−1)^n He_n(t) d^(n+1) / (n+1)!,

whose first term is a certified enclosure. Error: |He_n(t)| |d|^n / n! is at most the coefficient of z^n in
e^(t|d|z + d²z²/2) (generating function of the Hermite polynomials), t|d| ≤ 0.58, and φ(t)/P[N > t] ≤ t + 1, so at
t ≤ 37 the terms after n = 14 are below 2^-55 of the tail at t; all terms together are at most 2.1 times it and
the tail falls by less than e^0.6 between node and x, so the 15 steps of Horner's scheme lose below 2^-46.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np
import numpy.typing as npt

from giveortake.caching import cached
from giveortake.errors import Unprovable
from giveortake.exact import enclosure, midpoint, normal_cdf, precision

if TYPE_CHECKING:
    from giveortake.privacy import ZCDP, RenyiDP


Floats: TypeAlias = npt.NDArray[np.float64]
Complexes: TypeAlias = npt.NDArray[np.complex128]
Indices: TypeAlias = npt.NDArray[np.int64]

UNIT = 2.0**-53
FUNCTION_ERROR = 2.0**-48
TINY = 1e-290  # an absolute error that covers everything lost to underflow
WIDEST = 600.0  # a single loss beyond ±WIDEST is not put on a grid: e^600 is still a double


class NotResolved(Exception):
    """Floating-point numbers cannot tell; the caller falls back on cruder bounds."""


def exp_error(largest: float) -> float:
    """The relative error of e^x where x was computed with a few roundings from numbers of at most this size."""
    return 2 * FUNCTION_ERROR + 8 * UNIT * largest


def spaced(start: float, step: float, count: int) -> Floats:
    """The points start, start + step, and so on, each with two roundings."""
    return start + step * np.arange(count, dtype=np.float64)


def total(values: Floats) -> float:
    """The sum, in numpy's pairwise order. A dot product would start all threads of the linear algebra library."""
    return float(np.sum(values))


def norm(values: Floats) -> float:
    """The Euclidean norm."""
    return float(np.sqrt(np.sum(values * values)))


FARTHEST = 37.0  # beyond it the tail is below 1e-299 and given as 0
TAIL_ERROR = 2.0**-45  # relative
NARROW = 0.125  # `narrow` is for intervals with half-width · (|middle| + 1) up to this
_PER_UNIT = 32
_TERMS = 15


def tail(x: Floats) -> Floats:
    """P[N > x], within a factor 1 ± TAIL_ERROR; 0 beyond FARTHEST."""
    size = np.minimum(np.abs(x), FARTHEST)
    nearest = np.rint(size * _PER_UNIT).astype(np.int64)
    distance = size - nearest / _PER_UNIT
    table = _table()
    result = table[_TERMS][nearest]
    for coefficients in table[_TERMS - 1 :: -1]:
        result *= distance
        result += coefficients[nearest]
    result[np.abs(x) > FARTHEST] = 0.0
    tails: Floats = np.where(x < 0, 1.0 - result, result)
    return tails


def narrow(middle: Floats, half: Floats) -> Floats:
    """P[|N − middle| ≤ half] for narrow intervals, within a factor 1 ± (TAIL_ERROR + 2^-49·middle²).

    It is 2φ(m)h·(1 + Σ He_2n(m) h^2n / (2n+1)!). |He_k(m)| h^k / k! is at most the coefficient of z^k in
    e^(|m|hz + h²z²/2); with h ≤ 1/8 and |m|h ≤ 1/8 those from z^12 on, divided by k + 1, are below 2^-54 together, and
    those kept lose a few roundings.
    """
    before, hermite = np.ones_like(middle), middle
    square, power, series = half * half, np.ones_like(half), np.ones_like(half)
    for n in range(1, 11):
        before, hermite = hermite, middle * hermite - n * before
        if n % 2:
            power = power * square / ((n + 1) * (n + 2))
            series += hermite * power
    result: Floats = np.exp(-0.5 * middle * middle) * (half * series * np.sqrt(2 / np.pi))
    return result


@lru_cache(maxsize=1)
def _table() -> list[Floats]:
    """The coefficients of 1, d, d² and so on for every node."""
    nodes = np.arange(int(FARTHEST) * _PER_UNIT + 1) / _PER_UNIT
    with precision(80):
        tails = [float(midpoint(normal_cdf(-enclosure(i) / _PER_UNIT))) for i in range(len(nodes))]
    density = np.exp(-nodes * nodes / 2) / np.sqrt(2 * np.pi)
    table = [np.array(tails)]
    before, hermite = np.zeros_like(nodes), np.ones_like(nodes)
    for n in range(_TERMS):
        table.append((-1.0) ** (n + 1) * density * hermite / (n + 1))
        before, hermite = hermite, (nodes * hermite - before) / (n + 1)
    return table


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

    @property
    def lattice(self) -> Fraction | None:
        """The step of the lattice that its atoms lie on; None without atoms or without such a lattice."""
        return None if self.atoms is None else self.atoms.step

    @property
    def smooth(self) -> bool:
        """Whether it has a continuous part."""
        return self.span(_NEGLIGIBLE_MASS) is not None

    @property
    def reach(self) -> float:
        """Twice the greatest loss, apart from negligible tails."""
        return 2 * max(1e-300, *map(abs, _ends(self, _NEGLIGIBLE_MASS)))

    def on(self, step: Fraction, stride: int, tail_mass: float) -> GridLaw:
        """This law on a grid; up to `tail_mass` of its probability may be moved to an infinite loss."""
        return on_grid(self, step, stride=stride, tail_mass=tail_mass)


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


MOST_POINTS = 1 << 21
LEAST_MASS = 1e-250  # lighter bins are left out of lower bounds: their losses could not be computed


@final
@dataclass(frozen=True, slots=True, eq=False)
class GridLaw:
    """Losses offset + (first + stride·i)·step: masses at least (`upper`) and at most (`lower`) those of the law.

    `infinite` bounds the probability of an infinite loss from below and from above. Each true loss is at most its
    grid loss plus `slack` from above, and at least grid loss − excess − slack from below.
    """

    offset: Fraction
    first: int
    stride: int
    upper: Floats
    lower: Floats
    excess: Floats
    infinite: tuple[float, float]
    slack: float

    def indices(self) -> Indices:
        """The place of every point on the common grid."""
        return self.first + self.stride * np.arange(len(self.upper), dtype=np.int64)


def on_grid(law: Law, step: Fraction, *, stride: int = 1, tail_mass: float) -> GridLaw:
    """The law on a grid of this step; `tail_mass` is the probability that may be moved to infinity."""
    atoms, wide = law.atoms, step * stride
    offset = atoms.start if atoms is not None and atoms.start is not None else Fraction(0)
    low, high = _ends(law, tail_mass)
    first = math.floor((Fraction(low) - offset) / wide - Fraction(1, 2**20))
    last = max(first + 1, math.ceil((Fraction(high) - offset) / wide + Fraction(1, 2**20)))
    if atoms is not None and atoms.start is not None and low >= float(atoms.start):
        first = 0  # the grid begins at the lowest atom, exactly
    if last - first > MOST_POINTS:
        raise NotResolved
    points = spaced(float(offset + first * wide), float(wide), last - first + 1)
    slack = law.loss_error + 16 * UNIT * float(np.max(np.abs(points)))
    grid = _Filling(points, float(wide), slack)
    if law.span(tail_mass) is not None:
        grid.add_continuous(law)
    if atoms is not None:
        grid.add_atoms(atoms, offset + first * wide, wide)
    leak = float(law.infinite)
    infinite = (leak * (1 - 4 * UNIT), leak * (1 + 4 * UNIT) + grid.beyond)
    excess = grid.excess()
    return GridLaw(offset, first * stride, stride, grid.upper, grid.p_mass, excess, infinite, slack)


def _ends(law: Law, tail_mass: float) -> tuple[float, float]:
    ends = list(law.span(tail_mass) or ())
    if law.atoms is not None:
        ends += [float(law.atoms.losses[0]), float(law.atoms.losses[-1])]
    return min(ends), max(ends)


class _Filling:
    """The masses at the grid points, to which the parts of a law are added."""

    def __init__(self, points: Floats, wide: float, slack: float) -> None:
        self.points, self.wide = points, wide
        self.upper, self.p_mass, self.q_mass = (np.zeros_like(points) for _ in range(3))
        self.beyond = 0.0
        self.shrink = -math.expm1(-wide)
        self.scale = exp_error(float(np.max(np.abs(points)))) + 2 * slack

    def add_continuous(self, law: Law) -> None:
        """Add the continuous part in cells half a step wide: two make an interval between points, or a bin at one."""
        halves = np.empty(2 * len(self.points) - 1)
        halves[::2] = self.points
        halves[1::2] = self.points[:-1] + self.wide / 2
        cells = law.between(np.concatenate([[-np.inf], halves, [np.inf]]))
        top = cells.p + cells.p_error
        self.upper[0] += top[0]
        self.beyond += float(top[-1])
        p, q, p_error, q_error = (_halves_joined(part) for part in (cells.p, cells.q, cells.p_error, cells.q_error))
        self._split(Cells(p, q, p_error, q_error))
        least, most = np.maximum(cells.p - cells.p_error, 0.0), cells.q + cells.q_error
        for target, part in ((self.p_mass, least), (self.q_mass, most)):
            target[:-1] += part[1:-1:2]
            target[1:] += part[2:-1:2]
            target[-1] += part[-1]

    def _split(self, cells: Cells) -> None:
        """Replace every cell between neighbouring points by two atoms there, with the same P and Q together."""
        growth = np.exp(self.points[:-1])
        shifted = cells.q * growth
        error = cells.q_error * growth + cells.p_error + self.scale * (cells.p + 2 * shifted) + FUNCTION_ERROR * cells.p
        error = 1.0001 * error / self.shrink
        rising = np.clip((cells.p - shifted) / self.shrink, 0.0, cells.p)
        most = cells.p + cells.p_error
        self.upper[:-1] += np.minimum(cells.p - rising + error, most)
        self.upper[1:] += np.minimum(rising + error, most)

    def add_atoms(self, atoms: Atoms, origin: Fraction, wide: Fraction) -> None:
        """Add atoms: exactly if they lie on the grid; otherwise split for upper and rounded for lower masses."""
        most, least = atoms.masses * (1 + atoms.error), atoms.masses * (1 - atoms.error)
        indices = _exact_indices(atoms, origin, wide)
        if indices is not None:
            np.add.at(self.upper, indices, most)
            nearest = indices
        else:
            spot = (atoms.losses - self.points[0]) / self.wide
            left = np.clip(np.floor(spot), 0, len(self.points) - 2).astype(np.int64)
            inside = np.clip(atoms.losses - self.points[left], 0.0, self.wide)
            rising = np.clip(-np.expm1(-inside) / self.shrink, 0.0, 1.0)
            margin = 4 * self.scale / self.shrink
            np.add.at(self.upper, left, most * np.minimum(1 - rising + margin, 1.0))
            np.add.at(self.upper, left + 1, most * np.minimum(rising + margin, 1.0))
            nearest = np.clip(np.rint(spot), 0, len(self.points) - 1).astype(np.int64)
        np.add.at(self.p_mass, nearest, least)
        np.add.at(self.q_mass, nearest, most * np.exp(-atoms.losses) * (1 + self.scale))

    def excess(self) -> Floats:
        """The excess g − ln(P/Q) of every bin, rounded up; bins that are too light to tell are emptied."""
        unknown = ~((self.p_mass > LEAST_MASS) & (self.q_mass > LEAST_MASS))
        self.p_mass[unknown] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = self.points + np.log(self.q_mass / self.p_mass)
        excess += self.scale + FUNCTION_ERROR * np.abs(self.points)
        excess[unknown] = 0.0
        return excess


def _halves_joined(halves: Floats) -> Floats:
    inner: Floats = halves[1:-1:2] + halves[2:-1:2]
    return inner


def _exact_indices(atoms: Atoms, origin: Fraction, wide: Fraction) -> Indices | None:
    if atoms.start is None or atoms.step is None:
        return None
    begin, jump = (atoms.start - origin) / wide, atoms.step / wide
    if begin.denominator != 1 or jump.denominator != 1:
        return None
    return begin.numerator + jump.numerator * np.arange(len(atoms.losses), dtype=np.int64)


_NEGLIGIBLE_MASS = 1e-14  # of a law, when its width is judged
_CURVE_POINTS = 192


@final
@dataclass(frozen=True, slots=True)
class GriddedCurve:
    """A promise that bounds δ(ε) for every ε, both ways: the pair whose curve connects its values on a grid.

    Theorem: let h(e^ε) be the true curve, v its bounds at some points. A line through bounds that is convex in e^ε is
    the curve of a pair [ZDW22, Prop. 9], and it lies above h, which is convex and at most v at the points. Below ε = 0,
    δ(−ε) = 1 − e^−ε(1 − δ′(ε)) with δ′ the curve of the other direction, which the promise bounds too.
    """

    promise: ZCDP | RenyiDP

    lattice = None
    smooth = True

    @property
    def reach(self) -> float:
        return 2 * self._end(Fraction(1, 10**14))

    def _end(self, tail_mass: Fraction) -> float:
        return float(self.promise.epsilon_at(tail_mass)) + 1e-9

    def on(self, step: Fraction, stride: int, tail_mass: float) -> GridLaw:
        end = self._end(Fraction(max(tail_mass, 1e-290)))
        apart = max(1, math.ceil(2 * end / (_CURVE_POINTS * float(step))))
        half = math.ceil(end / (apart * float(step)))
        values = _values(self.promise, step * apart, half)
        masses = _connected(values, float(step * apart))
        nothing = np.zeros_like(masses)
        slack = 16 * UNIT * half * float(step * apart)
        return GridLaw(Fraction(0), -half * apart, apart, masses, nothing, nothing, (0.0, float(values[-1])), slack)


@cached(64)
def _values(promise: ZCDP | RenyiDP, apart: Fraction, half: int) -> Floats:
    """Bounds of δ at −half·apart, …, half·apart, rounded up."""
    positive = np.array([float(promise.delta_at(apart * i)) for i in range(half + 1)]) * (1 + 4 * UNIT)
    points = float(apart) * np.arange(half, 0, -1)
    negative = -np.expm1(-points) + np.exp(-points) * positive[:0:-1]
    values: Floats = np.minimum(np.concatenate([negative * (1 + 8 * FUNCTION_ERROR), positive]), 1.0)
    return values


def _connected(values: Floats, apart: float) -> Floats:
    """The P-probabilities at the points, at least those of the convex line through some of the values.

    Between neighbours a and b of a point c, at distances l and r, its probability is the change of slope,
    (v_b − v_c)/(e^r − 1) − (v_c − v_a)/(1 − e^−l); before the first point the line starts from (0, 1).
    """
    chosen: list[int] = []
    for index in range(len(values)):
        while chosen and _change(values, apart, [*chosen[-2:-1], chosen[-1], index], len(chosen) > 1) < 0:
            chosen.pop()
        chosen.append(index)
    masses = np.zeros_like(values)
    for rank, index in enumerate(chosen):
        rising = falling = 0.0
        if rank + 1 < len(chosen):
            after = chosen[rank + 1]
            rising = (values[after] - values[index]) / math.expm1(apart * (after - index))
        if rank:
            before = chosen[rank - 1]
            falling = (values[index] - values[before]) / -math.expm1(-apart * (index - before))
        else:
            falling = values[index] - 1
        masses[index] = max(rising - falling, 0.0) + 16 * FUNCTION_ERROR * (
            abs(rising) + abs(falling) + 1e-3 * values[index]
        )
    return masses


def _change(values: Floats, apart: float, triple: list[int], inner: bool) -> float:
    """The change of slope at the middle of three points, or at the first point."""
    *before, middle, after = triple
    rising = (values[after] - values[middle]) / math.expm1(apart * (after - middle))
    if not inner:
        return float(rising - (values[middle] - 1))
    return float(rising - (values[middle] - values[before[0]]) / -math.expm1(-apart * (middle - before[0])))
