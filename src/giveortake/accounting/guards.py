"""The base of all filters: it adds up what events cost and says, before a release, whether one more fits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from threading import Lock
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from giveortake.accounting import partitions, prices, refusals
from giveortake.accounting.balances import Account, Snapshot, Total, budget_as_json, written_totals
from giveortake.accounting.currencies import Epsilon
from giveortake.errors import InvalidParameter
from giveortake.exact import GREATEST, LEAST
from giveortake.privacy import events
from giveortake.privacy.wording import bound

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from giveortake.accounting.currencies import Currency
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event, InPart

Amounts: TypeAlias = "Fraction | Mapping[str, Fraction] | Mapping[Fraction, Fraction]"

_LEAST_SOUGHT, _STEPS = Fraction(1, 2**180), 48  # of the bisection in `affordable`


class Filter(ABC):
    """Guards a budget: every event is offered to it before the release, and what it admits keeps the promise.

    Guarantee: an adversary may choose every event, and when to stop, after seeing all earlier answers; whatever they
    choose, all admitted releases together keep `budget`. Each filter says by which theorem. Mechanisms that
    themselves answer many queries may run interleaved: every filter for releases that answer once is one for
    concurrent interactive mechanisms too, in the currencies used here, (ε, δ), f-DP and Rényi divergence of a fixed
    order [HSTVVXZ23]; for single currencies also [VW21], [VZ23], [Lyu22].

    A refused charge changes nothing, so a smaller one may be admitted afterwards. `charge` is atomic under a lock.

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
                raise refusals.refusal(
                    self.budget, event, totals=self._totals, costs=costs, pots=self._pots, failure=failure
                )
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
        """How large a part of what is left an event would take; None if it does not fit.

        One over this is about how many such charges still fit if nothing else is charged. In a race the contestant that
        can pay longest counts; contestants that the event would exceed are left out.
        """
        with self._lock:
            costs, failure = self._prices(event)
            if not self._fits(costs, failure):
                return None
            fitting = zip(self._totals, costs, strict=True)
            parts = [_part(total, cost) for total, cost in fitting if cost is not None and total.fits(cost)]
            return max(self._combined_share(parts), *(_part(pot, failure) for pot in self._pots), Fraction(0))

    def cost(self, event: Event, currency: Currency) -> Fraction | None:
        """What an event by itself costs in a currency; None if it has no price there."""
        grains = prices.price(event, currency, self.budget.neighbours)
        return None if grains is None else prices.amount(grains)

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
    def spent(self) -> Amounts:
        """How much of the filter is used. Only an odometer states a guarantee about the releases so far."""

    @property
    @abstractmethod
    def remaining(self) -> Amounts:
        """How much of the filter is left."""

    @property
    def share(self) -> Fraction:
        """How much of the budget is used, from 0 to 1, in the account that has most left; for plots and warnings."""
        return self._combined_share([a.spent / a.limit if a.limit else Fraction(1) for a in self.accounts if a.alive])

    # -- keeping ----------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """The exact state, as JSON, as long after a million charges as before the first."""
        with self._lock:
            return self._written(self._totals, self._pots)

    def resume(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot of such a filter; refused if anything was charged to this one.

        Whoever keeps snapshots is responsible: an older one forgets what was spent since. A ledger chains them.
        """
        if any(total.spent for total in (*self._totals, *self._pots)):
            raise InvalidParameter("snapshot", "…", "may not replace what this filter has already counted")
        written, pots = written_totals(snapshot), written_totals(snapshot, "pots")
        if (len(written), len(pots)) != (len(self._totals), len(self._pots)):
            raise InvalidParameter("snapshot", snapshot, "has another number of totals than the filter")
        resumed = [total.resumed(content) for total, content in zip(self._totals, written, strict=True)]
        resumed_pots = [pot.resumed(content) for pot, content in zip(self._pots, pots, strict=True)]
        if self._written(resumed, resumed_pots) != snapshot or not any(total.alive for total in resumed):
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
            f"{a.currency.symbol} {bound(a.spent)} of {bound(a.limit)}{'' if a.alive else ' (closed)'}"
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
    def _combined_share(self, shares: list[Fraction]) -> Fraction:
        """The share of the whole filter, from the shares of its live accounts."""

    # -- helpers ----------------------------------------------------------------------------------------------

    def _prices(self, event: Event) -> tuple[list[int | None], int]:
        if not isinstance(event, events.Event):
            raise InvalidParameter(
                "event", event, "is not an event", hint='charge what ran, such as events.Pure("0.1")'
            )
        neighbours = self.budget.neighbours
        if isinstance(event, events.InPart):
            return self._prices_in_part(event)
        costs = [prices.price(event, total.currency, neighbours) if total.alive else None for total in self._totals]
        return costs, prices.failure(event, neighbours)

    def _prices_in_part(self, event: InPart) -> tuple[list[int | None], int]:
        """How much each total and the pot grow: all parts of a partition are charged together."""
        neighbours = self.budget.neighbours
        costs: list[int | None] = []
        for total in self._totals:
            pair = partitions.prices_of(event, total.currency, neighbours) if total.alive else None
            costs.append(None if pair is None else partitions.increase(total.parts, event, pair, neighbours))
        failures = partitions.failures_of(event, neighbours)
        for pot in self._pots:
            return costs, partitions.increase(pot.parts, event, failures, neighbours)
        return costs, max(failures)

    def _enter(self, event: InPart) -> None:
        for total in self._totals:
            pair = partitions.prices_of(event, total.currency, self.budget.neighbours) if total.alive else None
            if pair is not None:
                total.enter(event, pair)
            elif not total.alive:
                total.parts = {}
        for pot in self._pots:
            pot.enter(event, partitions.failures_of(event, self.budget.neighbours))

    def _written(self, totals: list[Total], pots: list[Total]) -> Snapshot:
        return {
            "filter": self.stored_name,
            "version": 1,
            "budget": budget_as_json(self.budget),
            "totals": [total.written() for total in totals],
            "pots": [pot.written() for pot in pots],
        }

    def _state(self) -> list[tuple[object, ...]]:
        return [total.state() for total in (*self._totals, *self._pots)]


def _part(total: Total, cost: int) -> Fraction:
    return Fraction(cost, total.limit - total.spent) if cost else Fraction(0)
