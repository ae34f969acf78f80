"""Odometers: what all releases so far promise, valid at every moment of adaptive use.

A filter is given a budget and says when to stop. An odometer is given none; it is read. As an adversary may look at
the reading and stop just then, the reading ε(T) at the end T of a transcript is a function of it, and the promise is

    P[S] ≤ E_Q[e^ε(T); T ∈ S] + δ    for all neighbours, all adversaries and all sets S of transcripts;

for a reading that cannot vary this is (ε, δ)-DP. It implies that the privacy loss exceeds ε(T) + t with probability
at most δ/(1 − e^−t), the odometer of [RRUV16] up to t.

Theorem (one order). Let D(T) be the sum of the Rényi divergences, of one order α fixed beforehand, of the rounds.
Then ε(T) = D(T) + c with c = ln((α−1)/α) − (ln δ + ln α)/(α−1) is a valid reading. Proof: as in `RenyiDPFilter`,
E_P[e^((α−1)(L−D))] ≤ 1 at the end, L being the privacy loss; and (1 − e^(D+c−L))₊ ≤ δ·e^((α−1)(L−D)) for every L,
as c is where the two curves touch [CKS20, Prop. 12]. So P[S] − E_Q[e^ε(T); S] ≤ E_P[(1 − e^(ε(T)−L))₊] ≤ δ. ∎ No
union over moments is needed, unlike for readings whose order is chosen afterwards [Lec21], [WRRW23].

Theorem (least of several). If ε_j is valid with δⱼ, then min_j ε_j is valid with Σδⱼ. Proof: split S by which reading
is the least (the first of them), S = ⊎ Sⱼ, and add P[Sⱼ] ≤ E_Q[e^ε_j; Sⱼ] + δⱼ. ∎ The sum of ε joins with δ = 0, as L
never exceeds it.

Events that spend δ themselves are priced by their ε, and their δs add to the reading's. For every d the promise holds
with δ + d for sets S of transcripts on which these δs sum to at most d: those are transcripts of the interaction that
refuses what would exceed d, and the pot lemma of `giveortake.accounting.filters` applies, e^ε(t) in the place of e^ε.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from threading import Lock
from typing import TYPE_CHECKING, final

from giveortake.accounting import pricing
from giveortake.accounting.pricing import Divergence, Epsilon
from giveortake.errors import InvalidParameter, Unpriced
from giveortake.exact import open_probability
from giveortake.privacy import ROW, ApproxDP, PureDP, events
from giveortake.privacy.definitions import epsilon_from_order
from giveortake.privacy.guarantee import checked_neighbours, checked_unit, raised, raised_delta

if TYPE_CHECKING:
    from giveortake.exact import Number
    from giveortake.privacy import Neighbours, Unit
    from giveortake.privacy.events import Event

_ORDERS = tuple(1 + Fraction(2) ** k for k in range(-1, 11))  # from 3/2 to 1025


class Odometer(ABC):
    """Adds up what has been released; `spent` is the promise that all of it keeps together.

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

    Guarantee: by the two theorems at the top of this file. The orders, 1 + 2^k, are fixed, so that readings made at
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
