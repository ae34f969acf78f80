"""`filter(budget)`: the guard that belongs to a budget, new or restored from a snapshot.

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

from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake.accounting.balances import (
    Account,
    Snapshot,
    budget_as_json,
    currency_named,
    exact_number,
    written_totals,
)
from giveortake.accounting.guards import Filter
from giveortake.accounting.race import Race
from giveortake.accounting.sums import GaussianDPFilter, PureDPFilter, RenyiDPFilter, ZCDPFilter
from giveortake.errors import InvalidParameter, MismatchedPromises, Unprovable
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP

if TYPE_CHECKING:
    from giveortake.exact import Number

__all__ = [
    "Account",
    "Filter",
    "GaussianDPFilter",
    "PureDPFilter",
    "Race",
    "RenyiDPFilter",
    "Snapshot",
    "ZCDPFilter",
    "filter",
]


def filter(budget: Guarantee, *, snapshot: Snapshot | None = None, keys: Number | None = None) -> Filter:  # noqa: A001 (the noun of the theory; the builtin is not needed here)
    """The filter that guards a budget against adaptively chosen charges.

    PureDP, ZCDP, GaussianDP and RenyiDP budgets are guarded by sums in their own currency, ApproxDP budgets by a race
    of filters. `keys` is the δ of an ApproxDP budget that is set aside for events that spend δ themselves, a tenth
    unless stated. With `snapshot` the filter continues where it was taken: same orders, same δs, same totals.

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
    match budget:
        case PureDP():
            return PureDPFilter(budget)
        case ApproxDP():
            return Race(budget, keys=keys)
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
        contestants = [(currency_named(each), exact_number(each.get("delta"))) for each in written_totals(snapshot)]
        keys = sum((exact_number(pot.get("delta")) for pot in written_totals(snapshot, "pots")), Fraction(0))
        restored: Filter = Race(budget, keys=keys, contestants=contestants)
    else:
        restored = filter(budget)
    restored.resume(snapshot)
    return restored
