"""Privacy filters and odometers: whether one more adaptively chosen charge fits a budget, and what all so far promise.

`Filter` adds up what events cost and says, before a release, whether one more fits. The filters of pure, concentrated,
Gaussian and Rényi budgets add up one kind of price; `ApproxDPFilter`, of (ε, δ) budgets, is a race of several.
`filter(budget)` is the one that belongs to a budget, new or restored from a snapshot. An `Odometer` has no budget.

In all of them an adversary chooses the mechanism of every round, its parameters and when to stop after seeing all
earlier outputs. Fix two neighbours and write L for the privacy loss ln(P/Q) of the whole transcript: the sum of the
losses lᵢ of the rounds given what came before. Let cᵢ be the price of round i, a function of the earlier outputs.

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

Proof. Fix two neighbours. By the decomposition in `pricing.failure`, round i draws from P′ᵢ with probability 1−δᵢ
and from P″ᵢ otherwise, or Q′ᵢ and Q″ᵢ, with P′ᵢ and Q′ᵢ εᵢ-close, or both post-processing of two normal laws whose
means are μᵢ deviations apart (`mechanisms.WeightedKeys`), δᵢ a function of the transcript so far. Of a round each
contestant's proof needs only what its currency bounds of the pair P′ᵢ, Q′ᵢ: the largest loss, a Rényi divergence, the
trade-off curve. Normal laws have no largest loss: such a query ends the sum of ε, as Gaussian noise does. Let p̂ and
q̂ be the laws of the transcript when every round draws from P′ᵢ, or Q′ᵢ; by assumption Σ_t (p̂(t) − e^ε·q̂(t))₊ ≤ δ̂.
Let w(t) = Π(1−δᵢ) ≥ 1 − Σδᵢ ≥ 1 − δ_keys. The transcript is t without any failure with probability w(t)·p̂(t), or
w(t)·q̂(t), and some failure happens with probability 1 − E_p̂[w] ≤ δ_keys. So for every set S

    P[S] − e^ε·Q[S] ≤ Σ_{t∈S} w(t)·(p̂(t) − e^ε·q̂(t)) + 1 − E_p̂[w] ≤ δ̂ + δ_keys. ∎

Together: δ = δ_keys + Σδⱼ, all fixed at creation and shown.

>>> from giveortake.privacy import events
>>> guard = filter(gt.PureDP("0.3"))
>>> guard.charge(events.Laplace(noise_multiplier=5))
>>> guard.charge(events.Laplace(noise_multiplier=5))
Traceback (most recent call last):
giveortake.errors.BudgetExceeded: this charge costs ε = 0.2, but only ε = 0.1 is left (one row)
<BLANKLINE>
  hint: a smaller charge may fit: `.affordable()` says which ε does
>>> filter(guard.budget, snapshot=guard.snapshot()) == guard
True
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, final

from giveortake.accounting import pricing
from giveortake.accounting.pricing import (
    Account,
    Currency,
    Delta,
    Divergence,
    Epsilon,
    Rho,
    Snapshot,
    SquaredMu,
    Total,
    budget_as_json,
    currency_named,
    exact_number,
    short_down,
    stored_totals,
)
from giveortake.caching import cached
from giveortake.errors import BudgetExceeded, InvalidParameter, MismatchedPromises, Unpriced, Unprovable
from giveortake.exact import GREATEST, LEAST, decimal, exact_or_down, exact_or_up, open_probability, percent, rational
from giveortake.privacy import ROW, ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP, events, gaussian_mu
from giveortake.privacy.definitions import epsilon_from_order
from giveortake.privacy.guarantee import checked_neighbours, checked_unit, raised, raised_delta

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Self

    from giveortake.exact import Number
    from giveortake.privacy import Neighbours, Unit
    from giveortake.privacy.events import Event, InPart


@final
class Amounts(dict[str, Fraction]):
    """Exact amounts by their symbols, which print as a sentence; `dict(amounts)` prints them one by one."""

    __slots__ = ("_describe",)

    def __init__(self, amounts: Mapping[str, Fraction], describe: Callable[[], str] | None = None) -> None:
        super().__init__(amounts)
        self._describe = describe

    def __repr__(self) -> str:
        return super().__repr__() if self._describe is None else self._describe()

    __str__ = __repr__


def remaining_text(left: Fraction, pot: Account) -> str:
    """Say how much of the budget is left in its meter, and the δ left for finding keys.

    >>> gt.accounting.filter(gt.ApproxDP(1, "1e-6")).remaining
    100 % of the budget, and δ = 1e-7 for finding keys
    """
    return f"{percent(left, 3)} of the budget, and δ = {decimal(pot.remaining)} for finding keys"


def used_text(used: Fraction, pot: Account) -> str:
    """Say how much of the budget is used in its meter, and how much δ for finding keys.

    >>> gt.accounting.filter(gt.ApproxDP(1, "1e-6")).spent
    0 % of the budget, and δ = 0 of 1e-7 for finding keys
    """
    return f"{percent(used, 3)} of the budget, and δ = {decimal(pot.spent)} of {decimal(pot.limit)} for finding keys"


def refusal(
    budget: Guarantee,
    event: Event,
    *,
    totals: Sequence[Total],
    costs: Sequence[int | None],
    pots: Sequence[Total],
    failure: int,
) -> BudgetExceeded:
    """The error that says which limit an event would exceed, or that it has no price."""
    if failure and not pots:
        return Unpriced(
            f"a `{event.kind}` event spends δ, and {budget!r} allows none",
            hint="guard what spends δ by an ApproxDP budget",
        )
    overdrawn = [(pot, failure) for pot in pots if not pot.fits(failure)]
    if overdrawn:
        return _exceeded(budget, overdrawn, "declare the keys, or publish them, and nothing is spent on finding them")
    exceeded = [
        (total, cost)
        for total, cost in zip(totals, costs, strict=True)
        if total.alive and cost is not None and not total.fits(cost)
    ]
    if not exceeded:
        return _unpriced(budget, event, [total for total in totals if total.alive])
    if any(total.spent < total.limit for total, _ in exceeded):
        return _exceeded(budget, exceeded, "a smaller charge may fit: `.affordable()` says which ε does")
    return _exceeded(budget, exceeded, "this budget is used up; stored answers may be asked for again at no cost")


def _exceeded(budget: Guarantee, exceeded: list[tuple[Total, int]], hint: str) -> BudgetExceeded:
    left = {total.currency.symbol: pricing.amount(total.limit - total.spent) for total, _ in exceeded}
    needed = {total.currency.symbol: pricing.amount(cost) for total, cost in exceeded}
    clauses = [f"{symbol} = {exact_or_up(cost)}, but {_left(symbol, left[symbol])}" for symbol, cost in needed.items()]
    return BudgetExceeded(
        f"this charge costs {'; or '.join(clauses)} ({budget.unit})",
        cost=_only(needed),
        remaining=_only(left),
        hint=hint,
    )


def _unpriced(budget: Guarantee, event: Event, totals: list[Total]) -> Unpriced:
    if budget.neighbours == "change-one" and _has_parallel(event):
        return Unpriced(
            "a changed row may leave one part and enter another, so parts priced under change-one do not combine",
            hint='guard parallel releases by a budget with neighbours="add-remove"',
        )
    names = " or ".join(total.currency.symbol for total in totals)
    return Unpriced(
        f"a `{event.kind}` event has no price in {names}, the currency of what is left of this budget",
        hint=None if isinstance(budget, ApproxDP) else "guard events of many kinds by an ApproxDP budget",
    )


def _has_parallel(event: Event) -> bool:
    match event:
        case events.Parallel():
            return True
        case events.Composed():
            return any(_has_parallel(part) for part in event.events)
        case events.Repeated():
            return _has_parallel(event.event)
        case _:
            return False


def _left(symbol: str, left: Fraction) -> str:
    return f"only {symbol} = {exact_or_down(left)} is left" if left else "nothing is left"


def _only(amounts: dict[str, Fraction]) -> Fraction | dict[str, Fraction]:
    """The amount itself if there is one, otherwise all of them by symbol."""
    return amounts if len(amounts) > 1 else next(iter(amounts.values()))


FilterAmounts: TypeAlias = "Fraction | Mapping[str, Fraction] | Mapping[Fraction, Fraction]"

_LEAST_SOUGHT, _STEPS = Fraction(1, 2**180), 48  # of the bisection in `affordable`


class Filter(ABC):
    """Guards a budget: every event is offered to it before the release, and what it admits keeps the promise.

    Guarantee: an adversary may choose every event, and when to stop, after seeing all earlier answers; whatever they
    choose, all admitted releases together keep `budget`. Each filter says by which theorem. Mechanisms that
    themselves answer many queries may run interleaved: every filter for releases that answer once is one for
    concurrent interactive mechanisms too, in the currencies used here, (ε, δ), f-DP and Rényi divergence of a fixed
    order [HSTVVXZ23]; for single currencies also [VW21], [VZ23], [Lyu22].

    A refused charge changes nothing, so a smaller one may be admitted afterwards. `charge` is atomic under a lock.

    The *meter* is the account in which shares of the budget are measured: `share` is the part of it that is used,
    `share_of(event)` the part that an event takes. A sum has one; all accounts of a Rényi budget count, at their
    greatest part. It decides nothing about what is admitted, and is not compared.

    >>> import giveortake as gt
    >>> from giveortake.privacy import events
    >>> guard = gt.accounting.filter(gt.PureDP("1"))
    >>> guard.charge(events.Pure("1/4"))
    >>> guard.spent, guard.remaining
    (Fraction(1, 4), Fraction(3, 4))
    """

    stored_name: ClassVar[str]  # in ledgers
    __slots__ = ("_budget", "_lock", "_pots", "_totals")
    __hash__ = None  # type: ignore[assignment]  # (it changes)

    def __init__(self, budget: Guarantee, totals: Iterable[Total], pots: Iterable[Total] = ()) -> None:
        self._budget = budget
        self._totals = list(totals)
        self._pots = list(pots)
        self._lock = Lock()

    @property
    def budget(self) -> Guarantee:
        """The promise that is guarded; fixed at creation."""
        return self._budget

    # -- asking and spending ----------------------------------------------------------------------------------

    def admits(self, event: Event) -> bool:
        """Whether `charge` would accept this event now."""
        with self._lock:
            return self._fits(*self._prices(event))

    def charge(self, event: Event) -> None:
        """Count an event as spent; if it does not fit, raise BudgetExceeded and change nothing."""
        with self._lock:
            costs, failure = self._prices(event)
            if not self._fits(costs, failure):
                raise refusal(self.budget, event, totals=self._totals, costs=costs, pots=self._pots, failure=failure)
            self._spend(costs)
            for pot in self._pots:
                pot.spent += failure
            if isinstance(event, events.InPart):
                self._enter(event)

    def affordable(self) -> Fraction:
        """An ε for which `Pure(ε)` would be admitted now, the greatest up to 2^-48 of it; 0 if there is none."""
        low = max(
            (account.remaining for account in self.accounts if account.currency == Epsilon()), default=Fraction(0)
        )
        if not LEAST <= low <= GREATEST or not self.admits(events.Pure(low)):
            low = Fraction(0)
        high = min(GREATEST, max(2 * low, _LEAST_SOUGHT))
        while high < GREATEST and self.admits(events.Pure(high)):
            low, high = high, min(GREATEST, 2 * high)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.admits(events.Pure(middle)) else (low, middle)
        return low

    def part_of_rest(self, event: Event) -> Fraction | None:
        """How large a part of what is left of the meter, and of the δ for keys, an event would take.

        One over this is how many such charges still fit if nothing else is charged. None if the event does not fit, or
        has no price in the meter.
        """
        with self._lock:
            costs, failure = self._prices(event)
            if not self._fits(costs, failure):
                return None
            part = self._measured([_part(total, cost) for total, cost in zip(self._totals, costs, strict=True)])
            pots = (_part(pot, failure) or Fraction(0) for pot in self._pots)
            return None if part is None else max(part, *pots, Fraction(0))

    def cost(self, event: Event, currency: Currency) -> Fraction | None:
        """What an event by itself costs in a currency; None if it has no price there."""
        grains = pricing.price(event, currency, self.budget.neighbours)
        return None if grains is None else pricing.amount(grains)

    def share_of(self, event: Event, meter: Currency | None = None) -> Fraction | None:
        """How much of the whole budget an event takes by itself, in the meter; None if it has no price there.

        Of a race whose meter is not fixed yet, that is the contestant in which it takes least, or the stated one.
        """
        del meter  # of a sum there is no other
        return self._measured(self._shares_of(event))

    def _shares_of(self, event: Event) -> list[Fraction | None]:
        """How much of each account an event takes by itself; None where it has no price, or there is nothing."""
        prices = (pricing.price(event, total.currency, self.budget.neighbours) for total in self._totals)
        return [
            None if price is None or not total.limit else Fraction(price, total.limit)
            for price, total in zip(prices, self._totals, strict=True)
        ]

    # -- reading ----------------------------------------------------------------------------------------------

    @property
    def accounts(self) -> tuple[Account, ...]:
        """Every running total with its limit, in the order fixed at creation."""
        return tuple(total.account() for total in self._totals)

    @property
    def pot(self) -> Account | None:
        """The δ set aside for events that spend δ themselves, if the budget has any."""
        return next((pot.account() for pot in self._pots), None)

    @property
    @abstractmethod
    def spent(self) -> FilterAmounts:
        """How much of the filter is used. Only an odometer states a guarantee about the releases so far."""

    @property
    @abstractmethod
    def remaining(self) -> FilterAmounts:
        """How much of the filter is left."""

    @property
    def meter(self) -> Currency | None:
        """The currency in which shares of the budget are measured; None while a race has no charge to fix it."""
        accounts = [account for account in self.accounts if account.limit]
        return max(accounts, key=_used_part).currency if accounts else None

    @property
    def meters(self) -> tuple[Currency, ...]:
        """The meter; of a race that has none yet, the currencies of which the first charge fixes one."""
        return () if self.meter is None else (self.meter,)

    @property
    def share(self) -> Fraction:
        """How much of the budget is used, from 0 to 1, in the meter."""
        return self._measured([_used_part(account) for account in self.accounts]) or Fraction(0)

    # -- keeping ----------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The exact state, as JSON, as long after a million charges as before the first."""
        with self._lock:
            return self._as_json(self._totals, self._pots)

    def resume(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot of such a filter; refused if anything was charged to this one.

        Whoever keeps snapshots is responsible: an older one forgets what was spent since. A ledger chains them.
        """
        if any(total.spent for total in (*self._totals, *self._pots)):
            raise InvalidParameter("snapshot", "…", "may not replace what this filter has already counted")
        totals, pots = stored_totals(snapshot), stored_totals(snapshot, "pots")
        if (len(totals), len(pots)) != (len(self._totals), len(self._pots)):
            raise InvalidParameter("snapshot", snapshot, "has another number of totals than the filter")
        resumed = [total.resumed(content) for total, content in zip(self._totals, totals, strict=True)]
        resumed_pots = [pot.resumed(content) for pot, content in zip(self._pots, pots, strict=True)]
        if self._as_json(resumed, resumed_pots) != snapshot or not any(total.alive for total in resumed):
            raise InvalidParameter("snapshot", snapshot, "is not a state of this filter")
        with self._lock:
            self._totals, self._pots = resumed, resumed_pots

    def copy(self) -> Self:
        """An independent filter in the same state."""
        twin = object.__new__(type(self))
        with self._lock:
            totals, pots = [total.copy() for total in self._totals], [pot.copy() for pot in self._pots]
        Filter.__init__(twin, self.budget, totals, pots)
        return twin

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Filter) or type(self) is not type(other):
            return NotImplemented
        return self.budget == other.budget and self._state() == other._state()

    def __repr__(self) -> str:
        used = ", ".join(
            f"{a.currency.symbol} {exact_or_up(a.spent)} of {exact_or_up(a.limit)}{'' if a.alive else ' (closed)'}"
            for a in self.accounts
        )
        return f"<{type(self).__name__} for {self.budget!r}: {used}>"

    # -- what the kinds of filter decide ----------------------------------------------------------------------

    @abstractmethod
    def _fits(self, costs: list[int | None], failure: int) -> bool:
        """Whether the costs, one for each total, and the δ fit."""

    @abstractmethod
    def _spend(self, costs: list[int | None]) -> None:
        """Add the costs, which the caller has found to fit."""

    @abstractmethod
    def _measured(self, parts: Sequence[Fraction | None]) -> Fraction | None:
        """The part in the meter, of the parts in all accounts; None if it has none there."""

    # -- helpers ----------------------------------------------------------------------------------------------

    def _prices(self, event: Event) -> tuple[list[int | None], int]:
        if not isinstance(event, events.Event):
            raise InvalidParameter(
                "event", event, "is not an event", hint='charge what ran, such as events.Pure("0.1")'
            )
        neighbours = self.budget.neighbours
        if isinstance(event, events.InPart):
            return self._prices_in_part(event)
        costs = [pricing.price(event, total.currency, neighbours) if total.alive else None for total in self._totals]
        return costs, pricing.failure(event, neighbours)

    def _prices_in_part(self, event: InPart) -> tuple[list[int | None], int]:
        """How much each total and the pot grow: all parts of a partition are charged together."""
        neighbours = self.budget.neighbours
        costs: list[int | None] = []
        for total in self._totals:
            pair = pricing.prices_of(event, total.currency, neighbours) if total.alive else None
            costs.append(None if pair is None else pricing.increase(total.parts, event, pair, neighbours))
        failures = pricing.failures_of(event, neighbours)
        for pot in self._pots:
            return costs, pricing.increase(pot.parts, event, failures, neighbours)
        return costs, max(failures)

    def _enter(self, event: InPart) -> None:
        for total in self._totals:
            pair = pricing.prices_of(event, total.currency, self.budget.neighbours) if total.alive else None
            if pair is not None:
                total.enter(event, pair)
            elif not total.alive:
                total.parts = {}
        for pot in self._pots:
            pot.enter(event, pricing.failures_of(event, self.budget.neighbours))

    def _as_json(self, totals: list[Total], pots: list[Total]) -> Snapshot:
        return {
            "filter": self.stored_name,
            "version": 1,
            "budget": budget_as_json(self.budget),
            "totals": [total.as_json() for total in totals],
            "pots": [pot.as_json() for pot in pots],
        }

    def _state(self) -> list[tuple[object, ...]]:
        return [total.state() for total in (*self._totals, *self._pots)]


def _part(total: Total, cost: int | None) -> Fraction | None:
    """The part of what is left of a total that a cost takes; None if it does not fit, or is no price."""
    if cost is None or not total.fits(cost):
        return None
    return Fraction(cost, total.limit - total.spent) if cost else Fraction(0)


def _used_part(account: Account) -> Fraction:
    return account.spent / account.limit if account.limit else Fraction(1)


class SumFilter(Filter):
    """Admits an event while every total stays within its limit. It promises no δ, so what spends δ is refused."""

    __slots__ = ()

    def _fits(self, costs: list[int | None], failure: int) -> bool:
        return not failure and all(total.fits(cost) for total, cost in zip(self._totals, costs, strict=True))

    def _spend(self, costs: list[int | None]) -> None:
        for total, cost in zip(self._totals, costs, strict=True):
            total.spent += cost or 0

    def _measured(self, parts: Sequence[Fraction | None]) -> Fraction | None:
        return None if None in parts else max(part for part in parts if part is not None)


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


Contestant: TypeAlias = "tuple[Currency, Fraction]"  # what it adds up, and the δ its proof costs
Meter: TypeAlias = Literal["epsilon", "renyi", "mu"]

METERS: dict[Meter, type[Currency]] = {"epsilon": Epsilon, "renyi": Divergence, "mu": SquaredMu}


def _index_of(meter: Meter, totals: Sequence[Total]) -> int:
    """The first contestant of a kind; one that has nothing, or is not there, is refused."""
    kind = METERS.get(meter)
    for index, total in enumerate(totals):
        if kind is not None and isinstance(total.currency, kind) and total.limit:
            return index
    raise InvalidParameter("meter", meter, "measures nothing of this budget", hint=f"one of {', '.join(METERS)}")


def meter_fixed_by(snapshot: Snapshot | None) -> Meter | None:
    """The meter that the snapshot of a new race fixes; None if its first charge will, or if it is no race's."""
    index = None if snapshot is None else snapshot.get("meter")
    if snapshot is None or not isinstance(index, int):
        return None
    currency = currency_named(stored_totals(snapshot)[index])
    return next(name for name, kind in METERS.items() if isinstance(currency, kind))


_KEYS = Fraction(1, 10)  # of δ, unless said otherwise
_BEST_ORDER, _GAUSSIAN, _LARGER_ORDERS = Fraction(22, 36), Fraction(8, 36), Fraction(3, 36)  # of the rest of δ
_FACTORS = (2, 5)  # how much larger the larger orders are


@final
class ApproxDPFilter(Filter):
    """Guards an (ε, δ) budget by several filters at once, of which one must stay alive.

    Guarantee: (ε, δ)-DP, by the race lemma and the pot lemma above. The contestants and their proofs:

    - the sum of ε, (ε, 0)-DP [RRUV16]: best for few large charges;
    - the sum of Rényi divergences at one order α, up to the limit from which (ε, δⱼ)-DP follows ([FZ21],
      [Lec21], then [CKS20, Prop. 12]); α is the best order for zCDP charges up to a sixteenth of an octave, so this
      filter admits what the zCDP filter with the same δⱼ admits, less one part in two thousand at most. It has most
      of δ: best for many small charges;
    - the same at twice and five times that order: best for a few large and many small charges together;
    - the sum of μ² ([ST22], [KTH23], proof in `GaussianDPFilter`; then [BW18, Thm 8]): best for Gaussian noise.

    Shares of different noise do not add up in a race: after two pure charges of 20 % there is room for one Gaussian
    answer of 20 %, not for three. So they are measured in one contestant, the *meter*: the stated one, or that in which
    the first charge takes least. Once a charge exceeds it, it is the contestant that has most left then.

    Theorem. Charges that take shares s₁, s₂, … of the meter of a new race, with Σsᵢ ≤ 1, are all admitted, in any order
    and whatever they take of the others, if the pots admit their δ; and then Σsᵢ is used. Proof: a share is a price
    over the limit; prices add up, so that the meter admits each, stays alive, and stays the meter. ∎

    >>> guard = ApproxDPFilter(gt.ApproxDP(1, "1e-6"))
    >>> while guard.admits(gt.privacy.events.Pure("0.1")):
    ...     guard.charge(gt.privacy.events.Pure("0.1"))
    >>> guard.accounts[0].spent, guard.pot.limit
    (Fraction(1, 1), Fraction(1, 10000000))
    """

    stored_name: ClassVar[str] = "Race"
    __slots__ = ("_meter",)

    def __init__(
        self,
        budget: ApproxDP,
        *,
        keys: Number | None = None,
        contestants: Iterable[Contestant] | None = None,
        meter: Meter | None = None,
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
        self._meter = None if meter is None else _index_of(meter, totals)

    @property
    def spent(self) -> Mapping[str, Fraction]:
        """What every contestant has spent, by its symbol (its limit once it is dead), and what the pot has, as δ."""
        *accounts, pot = self._all_accounts()
        amounts = {account.currency.symbol: account.spent for account in (*accounts, pot)}
        return Amounts(amounts, partial(used_text, self.share, pot))

    @property
    def remaining(self) -> Mapping[str, Fraction]:
        """What every contestant has left, by its symbol (0 once it is dead), and what the pot has left, as δ."""
        *accounts, pot = self._all_accounts()
        amounts = {account.currency.symbol: account.remaining for account in (*accounts, pot)}
        return Amounts(amounts, partial(remaining_text, 1 - self.share, pot))

    def _all_accounts(self) -> tuple[Account, ...]:
        return tuple(total.account() for total in (*self._totals, *self._pots))

    @property
    def meter(self) -> Currency | None:
        return None if self._meter is None else self._totals[self._meter].currency

    @property
    def meters(self) -> tuple[Currency, ...]:
        if self._meter is not None:
            return (self._totals[self._meter].currency,)
        return tuple(total.currency for total in self._totals if total.alive and total.limit)

    def share_of(self, event: Event, meter: Currency | None = None) -> Fraction | None:
        shares = self._shares_of(event)
        if meter is None:
            return self._measured(shares)
        return shares[[total.currency for total in self._totals].index(meter)]

    def copy(self) -> Self:
        twin = super().copy()
        twin._meter = self._meter  # noqa: SLF001 (of the same class)
        return twin

    def resume(self, snapshot: Snapshot) -> None:
        meter, totals, before = snapshot.get("meter"), stored_totals(snapshot), self._meter
        if type(meter) is not int or not (0 <= meter < len(totals) and totals[meter].get("alive") is True):
            meter = None
        self._meter = meter
        try:
            super().resume(snapshot)
        except InvalidParameter:
            self._meter = before
            raise

    def _as_json(self, totals: list[Total], pots: list[Total]) -> Snapshot:
        return super()._as_json(totals, pots) | {"meter": self._meter}

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
        if any(costs) if self._meter is None else not self._totals[self._meter].alive:
            parts = [_used_part(total.account()) if total.alive else Fraction(2) for total in self._totals]
            self._meter = parts.index(min(parts))

    def _measured(self, parts: Sequence[Fraction | None]) -> Fraction | None:
        if self._meter is not None:
            return parts[self._meter]
        return min((part for part in parts if part is not None), default=None)


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
    totals = (
        (currency, limit(currency, budget.epsilon, delta))
        for currency, delta in lineup(budget.epsilon, budget.delta - _KEYS * budget.delta)
    )
    greatest = max(most / currency.order for currency, most in totals if isinstance(currency, Divergence))
    if greatest <= 0:
        raise InvalidParameter("delta", str(budget.delta), "is too small: the race admits no ρ", hint="raise δ or ε")
    grain = Fraction(2) ** (greatest.numerator.bit_length() - greatest.denominator.bit_length() - 40)
    return greatest // grain * grain


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

    log_delta, most = math.log(delta), float(epsilon)

    def worth(excess: float) -> float:
        needed = -math.log1p(1 / excess) - (log_delta + math.log1p(excess)) / excess
        return (most - needed) / (1 + excess)

    octave = max((2.0**k for k in range(-60, 1020)), key=worth)
    near = {octave * half * m / fineness for m in range(fineness, 2 * fineness) for half in (1.0, 0.5)}
    return 1 + Fraction(max(sorted(near), key=worth))  # exact: so few digits fit a double


def filter(  # noqa: A001 (the noun of the theory; the builtin is not needed here)
    budget: Guarantee,
    *,
    snapshot: Snapshot | None = None,
    keys: Number | None = None,
    meter: Meter | None = None,
) -> Filter:
    """The filter that guards a budget against adaptively chosen charges.

    PureDP, ZCDP, GaussianDP and RenyiDP budgets are guarded by sums in their own currency, ApproxDP budgets by a race
    of filters. `keys` is the δ of an ApproxDP budget that is set aside for events that spend δ themselves, a tenth
    unless stated, and `meter` the contestant in which its shares are measured, which otherwise the first charge fixes.
    With `snapshot` the filter continues where it was taken: same orders, same δs, same totals, same meter.

    >>> import giveortake as gt
    >>> from giveortake.privacy import events
    >>> guard = filter(gt.ZCDP("1"))
    >>> guard
    <ZCDPFilter for ZCDP('1'): ρ 0 of 1>
    >>> guard.charge(events.Gaussian("1"))
    >>> guard.admits(events.Gaussian("1/2"))
    False
    """
    if snapshot is not None:
        return _restored(budget, snapshot, keys)
    if keys is not None and not isinstance(budget, ApproxDP):
        raise InvalidParameter("keys", keys, f"has no δ to come from in {budget!r}")
    if meter is not None and not isinstance(budget, ApproxDP):
        raise InvalidParameter("meter", meter, f"is not to be chosen: {budget!r} has one sum alone")
    match budget:
        case PureDP():
            return PureDPFilter(budget)
        case ApproxDP():
            return ApproxDPFilter(budget, keys=keys, meter=meter)
        case ZCDP():
            return ZCDPFilter(budget)
        case GaussianDP():
            return GaussianDPFilter(budget)
        case RenyiDP():
            return RenyiDPFilter(budget)
        case Guarantee():
            raise Unprovable(
                f"no filter guards a {type(budget).__name__} budget against adaptively chosen charges",
                hint="guard an ApproxDP budget, which is the stronger promise",
            )
    raise InvalidParameter("budget", budget, "is not a promise", hint='write, for example, PureDP("1")')


def _restored(budget: Guarantee, snapshot: object, keys: Number | None) -> Filter:
    """The filter of a snapshot. The orders and the δs are those written there, not those of today's default."""
    if not isinstance(snapshot, dict) or snapshot.get("version") != 1:
        raise InvalidParameter("snapshot", snapshot, "is not a snapshot of a filter")
    if keys is not None:
        raise InvalidParameter("keys", keys, "is fixed by the snapshot")
    if snapshot.get("budget") != budget_as_json(budget):
        raise MismatchedPromises(
            f"the snapshot was taken of a filter for another budget than {budget!r}",
            hint="a filter keeps the budget it was made for; raising it is a new promise",
        )
    if isinstance(budget, ApproxDP):
        contestants = [(currency_named(total), exact_number(total.get("delta"))) for total in stored_totals(snapshot)]
        keys = sum((exact_number(pot.get("delta")) for pot in stored_totals(snapshot, "pots")), Fraction(0))
        restored: Filter = ApproxDPFilter(budget, keys=keys, contestants=contestants)
    else:
        restored = filter(budget)
    restored.resume(snapshot)
    return restored


_ORDERS = tuple(1 + Fraction(2) ** k for k in range(-1, 11))  # from 3/2 to 1025


class Odometer(ABC):
    """Adds up what has been released; `spent` is the promise that all of it keeps together.

    A filter is given a budget and says when to stop. An odometer is given none; it is read. As an adversary may look at
    the reading and stop just then, the reading ε(T) at the end T of a transcript is a function of it, and the promise
    is

        P[S] ≤ E_Q[e^ε(T); T ∈ S] + δ    for all neighbours, all adversaries and all sets S of transcripts;

    for a reading that cannot vary this is (ε, δ)-DP. It implies that the privacy loss exceeds ε(T) + t with probability
    at most δ/(1 − e^−t), the odometer of [RRUV16] up to t.

    Theorem (one order). Let D(T) be the sum of the Rényi divergences, of one order α fixed beforehand, of the rounds.
    Then ε(T) = D(T) + c with c = ln((α−1)/α) − (ln δ + ln α)/(α−1) is a valid reading. Proof: as in `RenyiDPFilter`,
    E_P[e^((α−1)(L−D))] ≤ 1 at the end, L being the privacy loss; and (1 − e^(D+c−L))₊ ≤ δ·e^((α−1)(L−D)) for every L,
    as c is where the two curves touch [CKS20, Prop. 12]. So P[S] − E_Q[e^ε(T); S] ≤ E_P[(1 − e^(ε(T)−L))₊] ≤ δ. ∎ No
    union over moments is needed, unlike for readings whose order is chosen afterwards [Lec21], [WRRW23].

    Theorem (least of several). If ε_j is valid with δⱼ, then min_j ε_j is valid with Σδⱼ. Proof: split S by which
    reading is the least (the first of them), S = ⊎ Sⱼ, and add P[Sⱼ] ≤ E_Q[e^ε_j; Sⱼ] + δⱼ. ∎ The sum of ε joins with δ
    = 0, as L never exceeds it.

    Events that spend δ themselves are priced by their ε, and their δs add to the reading's. For every d the promise
    holds with δ + d for sets S of transcripts on which these δs sum to at most d: those are transcripts of the
    interaction that refuses what would exceed d, and the pot lemma of this file applies, e^ε(t) in the place of e^ε.

    >>> from giveortake import accounting
    >>> isinstance(accounting.odometer("1e-6"), Odometer)
    True
    """

    __slots__ = ("_lock", "neighbours", "unit")

    def __init__(self, unit: Unit, neighbours: Neighbours) -> None:
        self.unit, self.neighbours = checked_unit(unit), checked_neighbours(neighbours)
        self._lock = Lock()

    def add(self, event: Event) -> None:
        """Count a release; one whose price no theorem gives is refused, and nothing changes."""
        if not isinstance(event, events.Event):
            raise InvalidParameter("event", event, "is not an event", hint='add what ran, such as events.Pure("0.1")')
        with self._lock:
            self._add(event)

    @property
    @abstractmethod
    def spent(self) -> PureDP | ApproxDP | None:
        """The promise that holds now; None while nothing has been released."""

    @abstractmethod
    def _add(self, event: Event) -> None:
        """Count an event under the lock."""


@final
class PureOdometer(Odometer):
    """The sum of ε so far.

    Guarantee: P[S] ≤ E_Q[e^ε(T); T ∈ S]. Proof: the privacy loss never exceeds the sum [RRUV16]. ∎

    >>> import giveortake as gt
    >>> from giveortake.privacy import events
    >>> so_far = PureOdometer()
    >>> so_far.add(events.Pure("1/4"))
    >>> so_far.spent
    PureDP('0.25')
    """

    __slots__ = ("_sum",)

    def __init__(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> None:
        super().__init__(unit, neighbours)
        self._sum = 0

    @property
    def spent(self) -> PureDP | None:
        """The sum as a promise."""
        if not self._sum:
            return None
        return PureDP(raised("ε", pricing.amount(self._sum)), unit=self.unit, neighbours=self.neighbours)

    def _add(self, event: Event) -> None:
        cost = pricing.price(event, Epsilon(), self.neighbours)
        if cost is None or pricing.failure(event, self.neighbours):
            raise Unpriced(f"a `{event.kind}` event is not ε-DP for any ε", hint="read an odometer with a δ")
        self._sum += cost


@final
class ApproxOdometer(Odometer):
    """The least of the sum of ε and of the readings at twelve Rényi orders, which share δ equally.

    Guarantee: by the two theorems in `Odometer`. The orders, 1 + 2^k, are fixed, so that readings made at
    different times, and by different programs, mean the same.

    >>> meter = ApproxOdometer("1e-6")
    >>> meter.add(gt.privacy.events.Laplace(10))
    >>> meter.spent
    ApproxDP('0.1', '1e-6')
    """

    __slots__ = ("_failures", "_offsets", "_started", "_sum", "_sums", "delta")

    def __init__(self, delta: Number, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> None:
        super().__init__(unit, neighbours)
        self.delta = open_probability("delta", delta)
        share = self.delta / len(_ORDERS)
        self._offsets = [epsilon_from_order(order, Fraction(0), share) for order in _ORDERS]
        self._sum: int | None = 0
        self._sums: list[int | None] = [0] * len(_ORDERS)
        self._failures = 0
        self._started = False

    @property
    def spent(self) -> ApproxDP | None:
        """The reading as a promise; its δ is the odometer's plus what events spent themselves."""
        if not self._started:
            return None
        with self._lock:
            readings = [] if self._sum is None else [pricing.amount(self._sum)]
            readings += [
                pricing.amount(total) + offset
                for total, offset in zip(self._sums, self._offsets, strict=True)
                if total is not None
            ]
            delta = self.delta + pricing.amount(self._failures)
        return ApproxDP(raised("ε", min(readings)), raised_delta(delta), unit=self.unit, neighbours=self.neighbours)

    def _add(self, event: Event) -> None:
        cost = pricing.price(event, Epsilon(), self.neighbours)
        costs = [pricing.price(event, Divergence(order), self.neighbours) for order in _ORDERS]
        sums = [_plus(total, price) for total, price in zip(self._sums, costs, strict=True)]
        total = _plus(self._sum, cost)
        if total is None and all(subtotal is None for subtotal in sums):
            raise Unpriced(f"a `{event.kind}` event has no price that a proof would support")
        self._sum, self._sums, self._started = total, sums, True
        self._failures += pricing.failure(event, self.neighbours)


def odometer(
    delta: Number | None = None, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove"
) -> PureOdometer | ApproxOdometer:
    """An odometer for pure promises, or with `delta` one for (ε, δ) promises with that δ.

    >>> import giveortake as gt
    >>> from giveortake.privacy import events
    >>> so_far = odometer()
    >>> so_far.add(events.Pure("1/4"))
    >>> so_far.add(events.Pure("1/2"))
    >>> so_far.spent
    PureDP('0.75')
    """
    if delta is None:
        return PureOdometer(unit=unit, neighbours=neighbours)
    return ApproxOdometer(delta, unit=unit, neighbours=neighbours)


def _plus(total: int | None, cost: int | None) -> int | None:
    """The sum; None from the first unknown cost on."""
    return None if total is None or cost is None else total + cost
