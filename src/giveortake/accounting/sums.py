"""Filters that add up one kind of price and compare the sum with the budget.

In all of them an adversary chooses the mechanism of every round, its parameters and when to stop after seeing all
earlier outputs. Fix two neighbours and write L for the privacy loss ln(P/Q) of the whole transcript: the sum of the
losses lᵢ of the rounds given what came before. Let cᵢ be the price of round i, a function of the earlier outputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, final

from giveortake.accounting.balances import Total
from giveortake.accounting.currencies import Currency, Divergence, Epsilon, Rho, SquaredMu
from giveortake.accounting.guards import Filter
from giveortake.privacy import RenyiDP

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from giveortake.privacy import ZCDP, GaussianDP, PureDP


class SumFilter(Filter):
    """Admits an event while every total stays within its limit. It promises no δ, so what spends δ is refused."""

    __slots__ = ()

    def _fits(self, costs: list[int | None], failure: int) -> bool:
        return not failure and all(total.fits(cost) for total, cost in zip(self._totals, costs, strict=True))

    def _spend(self, costs: list[int | None]) -> None:
        for total, cost in zip(self._totals, costs, strict=True):
            total.spent += cost or 0

    def _combined_share(self, shares: list[Fraction]) -> Fraction:
        return max(shares)


class SingleSum(SumFilter):
    """A filter with one total."""

    __slots__ = ()
    currency: ClassVar[Currency]

    @property
    def spent(self) -> Fraction:
        """The sum so far, exactly."""
        return self.accounts[0].spent

    @property
    def remaining(self) -> Fraction:
        """What is left, exactly."""
        return self.accounts[0].remaining


@final
class PureDPFilter(SingleSum):
    """ε adds up; [Har25], [RRUV16].

    Guarantee: ε-DP. Proof: each lᵢ ≤ cᵢ whatever came before, so L ≤ Σcᵢ ≤ ε on every transcript. ∎ Concurrently
    [VW21].

    >>> guard = PureDPFilter(gt.PureDP("0.3"))
    >>> for _ in range(3):
    ...     guard.charge(gt.privacy.events.Laplace(10))
    >>> guard.spent, guard.admits(gt.privacy.events.Pure("1e-300"))
    (Fraction(3, 10), False)
    """

    stored_name: ClassVar[str] = "PureDPFilter"
    __slots__ = ()
    currency: ClassVar[Currency] = Epsilon()

    def __init__(self, budget: PureDP) -> None:
        super().__init__(budget, [Total(self.currency, budget.epsilon)])


@final
class ZCDPFilter(SingleSum):
    """ρ adds up; [FZ21] at every order, [WRRW23].

    Guarantee: ρ-zCDP. Proof: for every α > 1, as in `RenyiDPFilter` with prices αcᵢ. ∎

    >>> import giveortake as gt
    >>> from giveortake.privacy import events
    >>> guard = ZCDPFilter(gt.ZCDP("1"))
    >>> guard.charge(events.Gaussian("1"))
    >>> guard.remaining
    Fraction(1, 2)
    """

    stored_name: ClassVar[str] = "ZCDPFilter"
    __slots__ = ()
    currency: ClassVar[Currency] = Rho()

    def __init__(self, budget: ZCDP) -> None:
        super().__init__(budget, [Total(self.currency, budget.rho)])


@final
class GaussianDPFilter(SingleSum):
    """μ² adds up; [ST22], [KTH23].

    Guarantee: μ-GDP. Proof: a release that is √cᵢ-GDP is post-processing of one draw from N(0, 1) or N(√cᵢ, 1)
    [DRS22], equally of N(0, cᵢ) or N(cᵢ, cᵢ): the increment, over the next cᵢ units of time, of a Brownian
    motion without drift or with drift 1. cᵢ depends on increments that are already used, so the next one is fresh.
    As Σcᵢ ≤ μ² on every transcript, all releases are post-processing of that motion up to time μ². Its likelihood
    ratio depends on the end point alone, N(0, μ²) or N(μ², μ²), and these two are as far apart as μ-GDP allows. ∎
    Other trade-off curves have no such common clock, and composing them along the path is not a filter.

    >>> import giveortake as gt
    >>> from giveortake.privacy import events
    >>> guard = GaussianDPFilter(gt.GaussianDP("1"))
    >>> guard.charge(events.Gaussian("2"))
    >>> guard.remaining
    Fraction(3, 4)
    """

    stored_name: ClassVar[str] = "GaussianDPFilter"
    __slots__ = ()
    currency: ClassVar[Currency] = SquaredMu()

    def __init__(self, budget: GaussianDP) -> None:
        super().__init__(budget, [Total(self.currency, budget.mu**2)])


@final
class RenyiDPFilter(SumFilter):
    """Divergences add up at each of the orders that the budget lists, and every one must hold; [FZ21], [Lec21].

    Guarantee: the Rényi promise at every order listed. Proof for one order: E[e^((α−1)lᵢ) | before] ≤ e^((α−1)cᵢ)
    under P, so Zᵢ = e^((α−1)·Σ(lₖ − cₖ)) is a supermartingale and E[Z] ≤ 1 at the end. As Σcᵢ ≤ ε_α on every
    transcript, E[e^((α−1)L)] ≤ e^((α−1)ε_α), which is D_α ≤ ε_α [FZ21], [Lec21]. ∎

    >>> guard = gt.accounting.RenyiDPFilter(gt.RenyiDP({2: 1}))
    >>> guard.charge(gt.accounting.events.Gaussian(2))  # D(2) = 2 / (2·2²)
    >>> guard.spent, guard.remaining
    ({Fraction(2, 1): Fraction(1, 4)}, {Fraction(2, 1): Fraction(3, 4)})
    """

    stored_name: ClassVar[str] = "RenyiDPFilter"
    __slots__ = ()

    def __init__(self, budget: RenyiDP) -> None:
        super().__init__(budget, [Total(Divergence(order), epsilon) for order, epsilon in budget.curve])

    @property
    def spent(self) -> Mapping[Fraction, Fraction]:
        """The sum at each order."""
        return {order: account.spent for (order, _), account in zip(self._curve, self.accounts, strict=True)}

    @property
    def remaining(self) -> Mapping[Fraction, Fraction]:
        """What is left at each order."""
        return {order: account.remaining for (order, _), account in zip(self._curve, self.accounts, strict=True)}

    @property
    def _curve(self) -> tuple[tuple[Fraction, Fraction], ...]:
        return self.budget.curve if isinstance(self.budget, RenyiDP) else ()
