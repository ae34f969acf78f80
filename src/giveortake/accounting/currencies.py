"""The currencies in which adaptive spending may be added up, and what one release costs in each of them.

Guarantee: a price is an upper bound, proved in the docstring that gives it, on the privacy loss of *one* release in
one currency, whichever outputs came before it. Which sums of such prices make a valid filter is the subject of
`giveortake.accounting.sums`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from giveortake.exact import ceiling, enclosure, precision, upper
from giveortake.privacy import PureDP
from giveortake.privacy.wording import bound

if TYPE_CHECKING:
    from collections.abc import Sequence

_STEPS = 1 << 100


def short_up(irrational: Fraction) -> Fraction:
    """Round a number up to a multiple of 2^-100, so that sums of irrational prices stay short."""
    return Fraction(ceiling(irrational * _STEPS), _STEPS)


def short_down(irrational: Fraction) -> Fraction:
    """Round a number, such as a limit, down to a multiple of 2^-100."""
    return Fraction((irrational * _STEPS).__floor__(), _STEPS)


@dataclass(frozen=True, slots=True)
class Currency(ABC):
    """A measure of privacy loss that adds up. Methods price kinds of releases: None if one has no price here."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The total in words."""

    @property
    @abstractmethod
    def symbol(self) -> str:
        """The symbol that is written in front of an amount."""

    @abstractmethod
    def pure(self, epsilon: Fraction) -> Fraction:
        """The price of some ε-DP release."""

    def laplace(self, epsilon: Fraction) -> Fraction:
        """The price of continuous Laplace noise of scale Δ/ε; by default that of any ε-DP release."""
        return self.pure(epsilon)

    def bounded_range(self, epsilon: Fraction) -> Fraction:
        """The price of the exponential mechanism; by default that of any ε-DP release."""
        return self.pure(epsilon)

    def concentrated(self, rho: Fraction) -> Fraction | None:
        """The price of some ρ-zCDP release."""
        return None

    def gaussian(self, squared_mu: Fraction) -> Fraction | None:
        """The price of continuous Gaussian noise of standard deviation Δ/μ, which is ½μ²-zCDP [BS16, Prop. 1.6]."""
        return self.concentrated(squared_mu / 2)

    def renyi(self, curve: Sequence[tuple[Fraction, Fraction]]) -> Fraction | None:
        """The price of a release of which Rényi divergences are known at some orders."""
        return None


@final
@dataclass(frozen=True, slots=True)
class Epsilon(Currency):
    """ε of pure differential privacy: the largest privacy loss."""

    @property
    def name(self) -> str:
        return "sum of ε"

    @property
    def symbol(self) -> str:
        return "ε"

    def pure(self, epsilon: Fraction) -> Fraction:
        """ε itself, by definition."""
        return epsilon


@final
@dataclass(frozen=True, slots=True)
class Rho(Currency):
    """ρ of zero-concentrated differential privacy: D_α ≤ αρ at every order."""

    @property
    def name(self) -> str:
        return "sum of ρ"

    @property
    def symbol(self) -> str:
        return "ρ"

    def pure(self, epsilon: Fraction) -> Fraction:
        """ε²/2 [BS16, Prop. 1.4]; and ε, because D_α ≤ D_∞ ≤ ε ≤ αε, which is less when ε exceeds 2."""
        return min(epsilon, epsilon**2 / 2)

    def bounded_range(self, epsilon: Fraction) -> Fraction:
        """ε²/8 [CR21], as the range of the exponential mechanism is bounded by ε [DR19]."""
        return min(epsilon, epsilon**2 / 8)

    def concentrated(self, rho: Fraction) -> Fraction:
        """ρ itself, by definition."""
        return rho


@final
@dataclass(frozen=True, slots=True)
class SquaredMu(Currency):
    """μ² of Gaussian differential privacy."""

    @property
    def name(self) -> str:
        return "sum of μ²"

    @property
    def symbol(self) -> str:
        return "μ²"

    def pure(self, epsilon: Fraction) -> Fraction:
        """The square of μ = 2Φ⁻¹(e^ε/(1 + e^ε)), rounded up; proof in `PureDP.gaussian`."""
        return short_up(PureDP(epsilon).gaussian().mu ** 2)

    def gaussian(self, squared_mu: Fraction) -> Fraction:
        """μ² itself, by definition [DRS22]."""
        return squared_mu


@final
@dataclass(frozen=True, slots=True)
class Divergence(Currency):
    """The Rényi divergence of one order α > 1, fixed before anything is released."""

    order: Fraction

    @property
    def name(self) -> str:
        return f"Rényi divergences of order {bound(self.order)}"

    @property
    def symbol(self) -> str:
        return f"D({bound(self.order)})"

    def pure(self, epsilon: Fraction) -> Fraction:
        """The divergence of randomized response, which dominates every ε-DP release [KOV15]; rounded up."""
        ((_, divergence),) = PureDP(epsilon).renyi([self.order]).curve
        return min(epsilon, self.order * epsilon**2 / 2, short_up(divergence))

    def laplace(self, epsilon: Fraction) -> Fraction:
        """ln(α/(2α−1)·e^((α−1)ε) + (α−1)/(2α−1)·e^(−αε)) / (α−1), rounded up [Mir17, Prop. 6].

        For a vector whose coordinates move by d₁, d₂, … scales, Σdᵢ ≤ ε, the divergences f(dᵢ) add. (α−1)f is the
        logarithm of a sum of exponentials of d, hence convex; f(0) = 0 and f′(0) = 0. So f increases, and
        f(d₁) + f(d₂) ≤ f(d₁ + d₂) ≤ f(ε): one coordinate that moves by everything is the worst case.
        """
        order = self.order
        with precision():
            slope = enclosure(order / (2 * order - 1))
            rest = enclosure((order - 1) / (2 * order - 1)) * enclosure(-(2 * order - 1) * epsilon).exp()
            exact = upper(enclosure(epsilon) + (slope + rest).log() / enclosure(order - 1))
        return min(self.pure(epsilon), short_up(max(Fraction(0), exact)))

    def bounded_range(self, epsilon: Fraction) -> Fraction:
        """At most αε²/8 [CR21], and at most that of any ε-DP release."""
        return min(self.pure(epsilon), self.order * epsilon**2 / 8)

    def concentrated(self, rho: Fraction) -> Fraction:
        """αρ, by the definition of zCDP."""
        return self.order * rho

    def renyi(self, curve: Sequence[tuple[Fraction, Fraction]]) -> Fraction | None:
        """The bound at the least order known that is at least α: D_α increases with α [EH14]."""
        return min((divergence for order, divergence in curve if order >= self.order), default=None)


@final
@dataclass(frozen=True, slots=True)
class Delta(Currency):
    """δ that events spend themselves. A release that is ε-DP spends none; see `prices.failure`."""

    @property
    def name(self) -> str:
        return "δ for discovered keys"

    @property
    def symbol(self) -> str:
        return "δ"

    def pure(self, epsilon: Fraction) -> Fraction:
        """Zero: an ε-DP release spends no δ."""
        return Fraction(0)
