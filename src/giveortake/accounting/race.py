"""The race of filters: an (ε, δ) budget that serves few large charges and many small ones near their optimum.

Race lemma. Let filter j prove (ε, δⱼ)-DP on its own, j = 1…K. The race admits a query while at least one filter that
is still alive admits it; filters that it exceeds die for good; a refusal, whatever level it comes from, changes
nothing and kills no filter. Then the race is (ε, Σδⱼ)-DP.

Proof. Liveness is a function of the transcript. Split an outcome set S by the first filter alive at the end,
S = ⊎ Sⱼ. (One is alive: the filter that admitted the last query.) Let Mⱼ be the race that additionally refuses
whatever exceeds filter j; it is (ε, δⱼ)-DP. On transcripts in Sⱼ it answers and refuses exactly as the race does: no
admitted query exceeded filter j, or it would be dead; and what the race refused, filter j, alive, refused too, or
another level did. Hence

    P[M(x)∈S] = Σⱼ P[Mⱼ(x)∈Sⱼ] ≤ Σⱼ (e^ε·P[Mⱼ(x′)∈Sⱼ] + δⱼ) = e^ε·P[M(x′)∈S] + Σδⱼ. ∎

In other words, a history is admitted, in whatever order, if and only if it fits at least one of the filters as a
whole; which one it will be need not be said beforehand. If refusals killed, a transcript could end with no filter
alive, outside every Sⱼ; and one analyst's refused query would take admissible ones away from all others.

Pot lemma. Let queries that are (εᵢ, δᵢ)-DP be priced by εᵢ as if they were pure, and keys that are found by Gaussian
noise by μᵢ² as if they were that noise alone; let them be refused once their δᵢ would add up to more than δ_keys. If
the filters prove (ε, δ̂)-DP for queries without failures, all together are (ε, δ̂ + δ_keys)-DP.

Proof. Fix two neighbours. By the decomposition in `prices.failure`, round i draws from P′ᵢ with probability 1−δᵢ
and from P″ᵢ otherwise, or Q′ᵢ and Q″ᵢ, with P′ᵢ and Q′ᵢ εᵢ-close, or both post-processing of two normal laws whose
means are μᵢ deviations apart (`mechanisms.WeightedKeys`), δᵢ a function of the transcript so far. Of a round each
contestant's proof needs only what its currency bounds of the pair P′ᵢ, Q′ᵢ: the largest loss, a Rényi divergence, the
trade-off curve. Normal laws have no largest loss: such a query ends the sum of ε, as Gaussian noise does. Let p̂ and
q̂ be the laws of the transcript when every round draws from P′ᵢ, or Q′ᵢ; by assumption Σ_t (p̂(t) − e^ε·q̂(t))₊ ≤ δ̂.
Let w(t) = Π(1−δᵢ) ≥ 1 − Σδᵢ ≥ 1 − δ_keys. The transcript is t without any failure with probability w(t)·p̂(t), or
w(t)·q̂(t), and some failure happens with probability 1 − E_p̂[w] ≤ δ_keys. So for every set S

    P[S] − e^ε·Q[S] ≤ Σ_{t∈S} w(t)·(p̂(t) − e^ε·q̂(t)) + 1 − E_p̂[w] ≤ δ̂ + δ_keys. ∎

Together: δ = δ_keys + Σδⱼ, all fixed at creation and shown.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeAlias, final

from giveortake.accounting.amounts import Amounts, told_as_left, told_as_used
from giveortake.accounting.balances import Account, Total
from giveortake.accounting.currencies import Currency, Delta, Divergence, Epsilon, Rho, SquaredMu, short_down
from giveortake.accounting.guards import Filter
from giveortake.caching import cached
from giveortake.errors import InvalidParameter
from giveortake.exact import LEAST, rational
from giveortake.privacy import ApproxDP, gaussian_mu
from giveortake.privacy.renyi import epsilon_from_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from giveortake.exact import Number

Contestant: TypeAlias = "tuple[Currency, Fraction]"  # what it adds up, and the δ its proof costs

_KEYS = Fraction(1, 10)  # of δ, unless said otherwise
_BEST_ORDER, _GAUSSIAN, _LARGER_ORDERS = Fraction(22, 36), Fraction(8, 36), Fraction(3, 36)  # of the rest of δ
_FACTORS = (2, 5)  # how much larger the larger orders are
_SIXTEENTHS = range(16, 32)


@final
class Race(Filter):
    """Guards an (ε, δ) budget by several filters at once, of which one must stay alive.

    Guarantee: (ε, δ)-DP, by the race lemma and the pot lemma above. The contestants and their proofs:

    - the sum of ε, (ε, 0)-DP [RRUV16]: best for few large charges;
    - the sum of Rényi divergences at one order α, up to the limit from which (ε, δⱼ)-DP follows ([FZ21],
      [Lec21], then [CKS20, Prop. 12]); α is the best order for zCDP charges up to a sixteenth of an octave, so this
      filter admits what the zCDP filter with the same δⱼ admits, less one part in two thousand at most. It has most
      of δ: best for many small charges;
    - the same at twice and five times that order: best for a few large and many small charges together;
    - the sum of μ² ([ST22], [KTH23], proof in `GaussianDPFilter`; then [BW18, Thm 8]): best for Gaussian noise.

    >>> guard = Race(gt.ApproxDP(1, "1e-6"))
    >>> while guard.admits(gt.privacy.events.Pure("0.1")):
    ...     guard.charge(gt.privacy.events.Pure("0.1"))
    >>> guard.accounts[0].spent, guard.pot.limit
    (Fraction(1, 1), Fraction(1, 10000000))
    """

    stored_name: ClassVar[str] = "Race"
    __slots__ = ()

    def __init__(
        self, budget: ApproxDP, *, keys: Number | None = None, contestants: Iterable[Contestant] | None = None
    ) -> None:
        pot = _KEYS * budget.delta if keys is None else rational("keys", keys)
        if not 0 <= pot <= budget.delta:
            raise InvalidParameter("keys", keys, "is not between 0 and the δ of the budget")
        chosen = lineup(budget.epsilon, budget.delta - pot) if contestants is None else tuple(contestants)
        if any(delta < 0 for _, delta in chosen):
            raise InvalidParameter("contestants", chosen, "need a δ that is not negative")
        if not chosen or pot + sum(delta for _, delta in chosen) > budget.delta:
            raise InvalidParameter(
                "contestants", chosen, f"with δ = {pot} for keys need more than the budget's δ = {budget.delta}"
            )
        totals = [Total(currency, limit(currency, budget.epsilon, delta), delta) for currency, delta in chosen]
        super().__init__(budget, totals, [Total(Delta(), pot, pot)])

    @property
    def spent(self) -> Mapping[str, Fraction]:
        """What every contestant has spent, by its symbol (its limit once it is dead), and what the pot has, as δ."""
        *accounts, pot = self._all_accounts()
        amounts = {account.currency.symbol: account.spent for account in (*accounts, pot)}
        return Amounts(amounts, partial(told_as_used, accounts, pot))

    @property
    def remaining(self) -> Mapping[str, Fraction]:
        """What every contestant has left, by its symbol (0 once it is dead), and what the pot has left, as δ."""
        *accounts, pot = self._all_accounts()
        amounts = {account.currency.symbol: account.remaining for account in (*accounts, pot)}
        assert isinstance(self.budget, ApproxDP)  # noqa: S101 (a race guards no other)
        return Amounts(amounts, partial(told_as_left, self.budget, accounts, pot))

    def _all_accounts(self) -> tuple[Account, ...]:
        return tuple(total.account() for total in (*self._totals, *self._pots))

    def _fits(self, costs: list[int | None], failure: int) -> bool:
        return all(pot.fits(failure) for pot in self._pots) and any(
            total.fits(cost) for total, cost in zip(self._totals, costs, strict=True)
        )

    def _spend(self, costs: list[int | None]) -> None:
        for total, cost in zip(self._totals, costs, strict=True):
            if cost is not None and total.fits(cost):
                total.spent += cost
            else:  # for good, and with nothing left, so that only which events were charged matters, not their order
                total.alive, total.spent = False, total.limit

    def _combined_share(self, shares: list[Fraction]) -> Fraction:
        return min(shares)


@cached(256)
def lineup(epsilon: Fraction, delta: Fraction) -> tuple[Contestant, ...]:
    """The contestants of an (ε, δ) budget, after the pot is taken out; a function of the two numbers alone."""
    best = best_order(epsilon, _BEST_ORDER * delta)
    return (
        (Epsilon(), Fraction(0)),
        (Divergence(best), _BEST_ORDER * delta),
        *((Divergence(factor * best), _LARGER_ORDERS * delta) for factor in _FACTORS),
        (SquaredMu(), _GAUSSIAN * delta),
    )


def admitted_rho(budget: ApproxDP) -> Fraction:
    """The greatest ρ of which one charge `ZCDP(ρ)` fits a fresh race for this budget, rounded down.

    It is less than the ρ that implies (ε, δ) by itself, because the race gives each contestant a part of δ alone.

    >>> round(float(admitted_rho(gt.ApproxDP(1, "1e-9"))), 5)
    0.01447
    """
    totals = ((each, limit(each, budget.epsilon, delta)) for each, delta in lineup(budget.epsilon, _after_pot(budget)))
    greatest = max(most / each.order for each, most in totals if isinstance(each, Divergence))
    if greatest <= 0:
        raise InvalidParameter("delta", str(budget.delta), "is too small: the race admits no ρ", hint="raise δ or ε")
    grain = Fraction(2) ** (greatest.numerator.bit_length() - greatest.denominator.bit_length() - 40)
    return greatest // grain * grain


def _after_pot(budget: ApproxDP) -> Fraction:
    return budget.delta - _KEYS * budget.delta


@cached(4096)
def limit(currency: Currency, epsilon: Fraction, delta: Fraction) -> Fraction:
    """How much of a currency implies (ε, δ)-DP, rounded down.

    ε: itself. Rényi: ε − (ln((α−1)/α) − (ln δ + ln α)/(α−1)) [CKS20, Prop. 12]. ρ: that limit at the best order,
    divided by the order. μ²: the square of the μ whose curve passes through (ε, δ) [BW18, Thm 8]. A limit of 0
    belongs to a contestant that cannot start.
    """
    match currency:
        case Epsilon():
            return epsilon
        case Divergence() | Rho() | SquaredMu() if delta < LEAST:
            return Fraction(0)
        case Divergence():
            return short_down(max(Fraction(0), epsilon - epsilon_from_order(currency.order, Fraction(0), delta)))
        case Rho():
            order = best_order(epsilon, delta, fineness=4096)
            return limit(Divergence(order), epsilon, delta) / order
        case SquaredMu():
            return short_down(gaussian_mu(epsilon, delta) ** 2) if epsilon else Fraction(0)
    raise InvalidParameter("currency", currency, "has no limit from which (ε, δ) follows")


@cached(256)
def best_order(epsilon: Fraction, delta: Fraction, fineness: int = 16) -> Fraction:
    """The order α = 1 + m·2^k/fineness at which the limit is worth most ρ, that is, limit/α is greatest.

    It is chosen in floats, because any order is sound.
    """
    if delta < LEAST:
        return Fraction(2)

    def worth(excess: Fraction) -> float:
        x, log_delta = float(excess), math.log(delta)
        needed = -math.log1p(1 / x) - (log_delta + math.log1p(x)) / x
        return (float(epsilon) - needed) / (1 + x)

    octave = max((Fraction(2) ** k for k in range(-60, 1020)), key=worth)
    near = {octave * half * m / fineness for m in range(fineness, 2 * fineness) for half in (1, Fraction(1, 2))}
    return 1 + max(sorted(near), key=worth)
