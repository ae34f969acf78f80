"""Gaussian differential privacy: as hard to tell apart as two normal laws whose means differ by μ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from heapq import nlargest
from math import isqrt
from typing import TYPE_CHECKING, final

from giveortake import codec
from giveortake.caching import cached
from giveortake.exact import (
    LEAST,
    Number,
    closed_probability,
    enclosure,
    exact_or_about,
    exact_or_up,
    lower,
    non_negative,
    normal_cdf,
    normal_quantile,
    open_probability,
    positive,
    precision,
    probability_down,
    probability_up,
    sqrt_up,
    whole,
)
from giveortake.privacy.approximate import ApproxDP
from giveortake.privacy.concentrated import ZCDP
from giveortake.privacy.guarantee import ROW, Guarantee, Neighbours, Unit, raised, store
from giveortake.privacy.renyi import RenyiDP, statements_on_a_grid

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    from giveortake.exact import Ball

_FAR = 40  # Φ(−40) < 1e-300: beyond this many standard deviations the curve is 0 or 1 for all purposes
_STEPS = 72  # of bisection: to 2^-65 of a standard deviation, or 2^-72 of μ
_SPARE_BITS = 256
_FINE = 2**200  # guesses are multiples of 1/_FINE


@codec.complete
@codec.stored("gaussian")
@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class GaussianDP(Guarantee):
    """μ-Gaussian differential privacy.

    Guarantee [DRS22]: telling P from Q is at least as hard as telling N(0, 1) from N(μ, 1); the trade-off between
    false alarms and misses is at least G_μ. Gaussian noise of standard deviation σ on a value of L2 sensitivity Δ
    keeps it with μ = Δ/σ, and nothing better.

    >>> GaussianDP(3).compose(GaussianDP(4))
    GaussianDP('5')
    """

    mu: Fraction

    def __init__(self, mu: Number, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> None:
        store(self, (unit, neighbours), mu=positive("mu", mu))

    def repeat(self, times: int) -> GaussianDP:
        """Theorem [DRS22, Cor. 3.3]: k mechanisms together are √k·μ; rounded up."""
        return GaussianDP(raised("μ", _root_up(whole("times", times) * self.mu**2)), **self.terms)

    def group(self, size: int) -> GaussianDP:
        """Theorem [DRS22, Thm 2.14]: k units cost kμ."""
        return GaussianDP(raised("μ", whole("size", size) * self.mu), **self.terms)

    def compose_largest(self, parts: Sequence[Guarantee], count: int) -> GaussianDP:
        """Theorem [DRS22, Cor. 3.3]: the squares of μ add; the root is exact, or rounded up."""
        largest = nlargest(count, (part.mu for part in parts if isinstance(part, GaussianDP)))
        return GaussianDP(raised("μ", _root_up(sum((mu**2 for mu in largest), Fraction(0)))), **self.terms)

    def in_currency_of(self, other: Guarantee) -> Guarantee | None:
        match other:
            case GaussianDP():
                return self
            case ZCDP():
                return self.concentrated()
            case RenyiDP():
                return self.renyi(other.orders)
            case _:
                return None

    def concentrated(self) -> ZCDP:
        """Theorem [DRS22, Cor. B.6], [BS16, Prop. 1.6]: ρ = μ²/2."""
        return ZCDP(raised("ρ", self.mu**2 / 2), **self.terms)

    def renyi(self, orders: Iterable[Number]) -> RenyiDP:
        """Theorem [Mir17, Prop. 7], [DRS22, Cor. B.6]: order α is bounded by αμ²/2."""
        exact = [positive("order", order) for order in orders]
        return RenyiDP(((order, raised("ε", order * self.mu**2 / 2)) for order in exact), **self.terms)

    def delta_at(self, epsilon: Number) -> Fraction:
        """Theorem [BW18, Thm 8], [DRS22, Cor. 2.13]: Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ), rounded up."""
        return gaussian_delta(self.mu, non_negative("epsilon", epsilon))

    def epsilon_at(self, delta: Number) -> Fraction:
        """The least ε with `delta_at(ε)` ≤ δ, rounded up."""
        raised("ε", self.mu * (self.mu / 2 - _FAR))  # refuse at once what can only end above 1e300
        return raised("ε", _gaussian_epsilon(self.mu, open_probability("delta", delta)))

    def approximate(self, delta: Number) -> ApproxDP:
        """Theorem [DRS22, Cor. 2.13]: (ε, δ)-DP with the ε of `epsilon_at`."""
        return ApproxDP(self.epsilon_at(delta), delta, **self.terms)

    def tradeoff(self, fpr: Number) -> Fraction:
        """Theorem [DRS22, Def. 2.6]: G_μ(fpr) = Φ(Φ⁻¹(1 − fpr) − μ), rounded down."""
        rate = closed_probability("fpr", fpr)
        if rate in {0, 1}:
            return 1 - rate
        with precision():
            tail = normal_quantile(enclosure(min(rate, 1 - rate)))
            point = -tail if rate < Fraction(1, 2) else tail
            return probability_down(normal_cdf(point - enclosure(self.mu)))

    def statements(self) -> tuple[tuple[Fraction, Fraction], ...]:
        return statements_on_a_grid(self)

    def arguments(self) -> str:
        return f"'{exact_or_about(self.mu)}'"

    def __str__(self) -> str:
        return (
            f"μ = {exact_or_up(self.mu)} (Gaussian): {self.step} is at least as hard to notice as a shift by "
            f"{exact_or_up(self.mu)} of one draw from a standard normal law."
        )


def gaussian_delta(mu: Fraction, epsilon: Fraction) -> Fraction:
    """δ_μ(ε) = Φ(−a) − e^ε·Φ(−a − μ) with a = ε/μ − μ/2, rounded up [BW18, Thm 8].

    The first term alone is an upper bound, and all that is left where the second is too small to be computed.

    >>> round(float(gaussian_delta(Fraction(1), Fraction(1))), 4)
    0.1269
    """
    distance = epsilon / mu - mu / 2
    if distance > _FAR:
        return LEAST
    if distance < -_FAR:
        return Fraction(1)
    with _enough_bits(mu):
        first, whole_curve = _enclosed(mu, epsilon, distance)
        return max(LEAST, min(probability_up(first), probability_up(whole_curve)))


def gaussian_mu(epsilon: Number, delta: Number) -> Fraction:
    """The greatest μ, rounded down, for which μ-GDP implies (ε, δ)-DP.

    Theorem [BW18, Thm 9]: δ_μ(ε) increases with μ, so noise of standard deviation Δ/μ is the least Gaussian noise
    that is (ε, δ)-DP for L2 sensitivity Δ.

    >>> print(f"{float(1 / gaussian_mu(1, '1e-5')):.9f}")
    3.730631635
    """
    return _gaussian_mu(positive("epsilon", epsilon), open_probability("delta", delta))


@cached(4096)
def _gaussian_mu(epsilon: Fraction, allowed: Fraction) -> Fraction:
    """`gaussian_mu`, near a guess if the curve certainly crosses there, else by bisection: the result is the same."""
    mu = _near_guess(epsilon, allowed)
    return _bisected_mu(epsilon, allowed) if mu is None else mu


def _bisected_mu(epsilon: Fraction, allowed: Fraction) -> Fraction:
    """`gaussian_mu` by bisection: the power of two below it first, then the bits after that."""
    low, high = -2048, 2048
    while high - low > 1:
        middle = (low + high) // 2
        if _certainly_implies(Fraction(2) ** middle, epsilon, allowed):
            low = middle
        else:
            high = middle
    scale, least, most = Fraction(2) ** low, 2**_STEPS, 2 ** (_STEPS + 1)
    while most - least > 1:
        middle = (least + most) // 2
        if _certainly_implies(scale * Fraction(middle, 2**_STEPS), epsilon, allowed):
            least = middle
        else:
            most = middle
    return scale * Fraction(least, 2**_STEPS)


def _near_guess(epsilon: Fraction, allowed: Fraction) -> Fraction | None:
    """`gaussian_mu` if it lies at a guess or one step beside it, and one step more is certainly too much; else None.

    The curve increases with μ, so there is one such place: what is found is what bisection finds, in a tenth of the
    time. No promise depends on the guess.
    """
    try:
        guess = _guessed_mu(epsilon, allowed)
        scale = Fraction(2) ** (math.frexp(guess)[1] - 1)
        first = int(guess / scale * 2**_STEPS)
    except (ArithmeticError, ValueError):
        return None

    def holds(step: int) -> bool:
        return _certainly_implies(scale * Fraction(step, 2**_STEPS), epsilon, allowed)

    for step in (first, first - 1, first + 1):
        if 2**_STEPS <= step < 2 ** (_STEPS + 1) and holds(step) and not holds(step + 1):
            return scale * Fraction(step, 2**_STEPS)
    return None


def rough_mu(epsilon: float, delta: float) -> float:
    """`gaussian_mu` in doubles, for choices on which no promise depends: bisection, then two of Newton's steps.

    δ grows by the normal density at a for each unit of μ. From μ = 1/10000 on the error is below one part in a billion.
    """
    low, high = -200.0, 60.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if _rough_delta(2**middle, epsilon) <= delta else (low, middle)
    mu = 2**low
    for _ in range(2):
        slope = math.exp(-((epsilon / mu - mu / 2) ** 2) / 2) / math.sqrt(2 * math.pi)
        mu -= (_rough_delta(mu, epsilon) - delta) / slope
    return mu


def _rough_delta(mu: float, epsilon: float) -> float:
    away = epsilon / mu - mu / 2
    return (math.erfc(away / math.sqrt(2)) - math.exp(epsilon) * math.erfc((away + mu) / math.sqrt(2))) / 2


def _guessed_mu(epsilon: Fraction, allowed: Fraction) -> Fraction:
    """A guess of `gaussian_mu`: what is found in doubles, then two more of Newton's steps."""
    mu = Fraction(rough_mu(float(epsilon), float(allowed)))
    for _ in range(2):
        distance = epsilon / mu - mu / 2
        with _enough_bits(mu):
            too_much = lower(_enclosed(mu, epsilon, distance)[1]) - allowed
        slope = Fraction(math.exp(-(float(distance) ** 2) / 2) / math.sqrt(2 * math.pi))
        mu = Fraction(round((mu - too_much / slope) * _FINE), _FINE)
    return mu


@cached(4096)
def _gaussian_epsilon(mu: Fraction, delta: Fraction) -> Fraction:
    """μ(a + μ/2) for the least a between −40 and 40 at which the curve, falling in a, is certainly at most δ."""
    if _certainly_implies(mu, Fraction(0), delta):
        return Fraction(0)
    start = max(-mu / 2, Fraction(-_FAR))
    step = _near_guessed_step(mu, start, delta)
    return _epsilon_at_distance(mu, start, _bisected_step(mu, start, delta) if step is None else step)


def _bisected_step(mu: Fraction, start: Fraction, delta: Fraction) -> int:
    low, high = 0, 1 << _STEPS
    while high - low > 1:
        middle = (low + high) // 2
        if _certainly_implies(mu, _epsilon_at_distance(mu, start, middle), delta):
            high = middle
        else:
            low = middle
    return high


def _near_guessed_step(mu: Fraction, start: Fraction, delta: Fraction) -> int | None:
    """The step that `_bisected_step` finds, if it lies at a guess or one step beside it; else None."""
    try:
        first = _guessed_step(mu, start, delta)
    except (ArithmeticError, ValueError):
        return None

    def holds(step: int) -> bool:
        return _certainly_implies(mu, _epsilon_at_distance(mu, start, step), delta)

    for step in (first, first + 1, first - 1):
        if step - 1 > 0 and step < 2**_STEPS and holds(step) and not holds(step - 1):
            return step
    return None


def _guessed_step(mu: Fraction, start: Fraction, delta: Fraction) -> int:
    """A guess of that step: bisection in doubles, then Newton's steps: δ falls by μ e^ε Φ(−a − μ) per unit of a."""
    rough, allowed, low, high = float(mu), float(delta), float(start), float(_FAR)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if _rough_delta(rough, rough * (middle + rough / 2)) <= allowed else (middle, high)
    away = Fraction(high)
    for _ in range(3):
        epsilon = mu * (away + mu / 2)
        with _enough_bits(mu):
            first, whole_curve = _enclosed(mu, epsilon, away)
            too_much, slope = lower(whole_curve) - delta, lower(first - whole_curve) * mu
        away = Fraction(round((away + too_much / slope) * _FINE), _FINE)
    return math.ceil((away - start) / (_FAR - start) * (1 << _STEPS))


def _certainly_implies(mu: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether `gaussian_delta` is at most δ; False also when that cannot be decided."""
    distance = epsilon / mu - mu / 2
    if abs(distance) > _FAR:
        return distance > 0
    with _enough_bits(mu):
        limit = enclosure(delta)
        return any(bound <= limit for bound in _enclosed(mu, epsilon, distance))


def _enclosed(mu: Fraction, epsilon: Fraction, distance: Fraction) -> tuple[Ball, Ball]:
    """Φ(−a), and Φ(−a) − e^ε·Φ(−a − μ)."""
    first = normal_cdf(enclosure(-distance))
    return first, first - enclosure(epsilon).exp() * normal_cdf(enclosure(-distance - mu))


def _enough_bits(mu: Fraction) -> AbstractContextManager[object]:
    """Work with enough bits for μ: if it is tiny, the curve's two terms nearly cancel and lose about −log2 μ bits."""
    return precision(_SPARE_BITS + max(0, mu.denominator.bit_length() - mu.numerator.bit_length()))


def _epsilon_at_distance(mu: Fraction, start: Fraction, step: int) -> Fraction:
    """The ε at the given step of the way from a = `start` to a = 40."""
    return mu * (start + (_FAR - start) * Fraction(step, 2**_STEPS) + mu / 2)


def _root_up(square: Fraction) -> Fraction:
    """√square, exactly if it is rational."""
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return root if root**2 == square else sqrt_up(square)
