"""Replace a budget by another one, which everything charged so far has to fit."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, isqrt
from typing import TYPE_CHECKING, Literal, TypeAlias

from giveortake.errors import BudgetExceeded, LedgerMismatch
from giveortake.exact import shorter_up
from giveortake.ledger.chain.chain import new_filter
from giveortake.ledger.chain.entries import event_from_dict, plain
from giveortake.ledger.rules.budgets import (
    charged_for,
    filter_of_rest,
    own_history,
    protecting,
    require_addable,
    require_ungranted,
    take,
)
from giveortake.ledger.rules.registration import named
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from giveortake.privacy.documents import promise_to_json

if TYPE_CHECKING:
    from giveortake.accounting.filters import Filter
    from giveortake.ledger.chain.chain import Transaction
    from giveortake.ledger.chain.entries import Json
    from giveortake.ledger.state.state import Level
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event


Spent: TypeAlias = Literal["spent"]

_PRECISE = Fraction(1, 1024)  # of a budget that is lowered
_SQUARE = 10**12


def change_budget(transaction: Transaction, level: Level, budget: Guarantee | Spent, reason: str) -> None:
    """Replace the promise of a level: its whole history is run again under the new filter.

    "spent" is the least promise of the same kind, up to a thousandth of it, that everything so far fits; δ stays.

    Guarantee: nothing is admitted anew unless everything admitted before fits the new budget, so a cap is never
    lowered under what is spent. The old promise is void, which is why this is an entry in the chain. What a population
    has granted stays granted: it is set aside from an (ε, δ) promise and charged to any other. A larger allotment is
    taken from the levels above.
    """
    own = list(own_history(transaction, level))
    promise = _least(level, own) if budget == "spent" else protecting("budget", budget, level.unit)
    if promise.neighbours != level.neighbours:
        raise LedgerMismatch(
            f"{level.name!r} counts neighbours as {level.neighbours}, and a new budget cannot change that"
        )
    require_ungranted(transaction.state, level)
    for allotment in level.allotments.values():
        require_addable(promise, allotment)
    guard, set_aside = _unspent(level, promise)
    content: dict[str, Json] = {
        "level": level.number,
        "budget": promise_to_json(promise),
        "reason": named("reason", reason),
        "filter": plain("filter", guard.snapshot()),
    }
    if set_aside:
        content["rest"] = promise_to_json(guard.budget)
    _rerun(guard, level, own, set_aside=set_aside)
    filters = {level.number: guard}
    grant = transaction.state.grant_of(level)
    if (
        grant is not None
        and transaction.state.populations[transaction.state.datasets[grant.datasets[0]].population].allotted
    ):
        content["above"], above_filters = take(
            transaction, level.number, promise, transaction.state.capped_above(grant.datasets)
        )
        filters |= above_filters
    transaction.add("budget", content, filters)


def _unspent(level: Level, promise: Guarantee) -> tuple[Filter, bool]:
    """A filter for a promise, with nothing charged yet, and whether what was granted is set aside from it."""
    set_aside = bool(level.allotments) and isinstance(promise, ApproxDP)
    return filter_of_rest(promise, level.allotments.values()) if set_aside else new_filter(promise), set_aside  # type: ignore[arg-type]  # (approximate)


def _least(level: Level, own: list[Event]) -> Guarantee:
    """The least part of a level's promise, up to a thousandth, that everything charged so far fits."""
    if level.budget is None or level.closed is not None:
        raise LedgerMismatch(f"what {level.name!r} has spent is not known, or has no cap", hint="state a budget")

    def guard_of(part: Fraction) -> Filter | None:
        try:
            guard, set_aside = _unspent(level, _part(level.budget, part))
            _rerun(guard, level, own, set_aside=set_aside)
        except BudgetExceeded:
            return None
        return guard

    whole = guard_of(Fraction(1))
    share = Fraction(1) if whole is None else whole.share
    for first in (share, shorter_up(Fraction(isqrt(ceil(share * _SQUARE)) + 1, isqrt(_SQUARE)))):  # μ adds by squares
        if 0 < first < 1 and guard_of(first) is not None:
            return _part(level.budget, first)
    low, high = Fraction(0), Fraction(1)
    while high - low > _PRECISE:
        middle = (low + high) / 2
        low, high = (low, middle) if guard_of(middle) is not None else (middle, high)
    return _part(level.budget, high)


def _part(promise: Guarantee | None, part: Fraction) -> Guarantee:
    """A part of a promise, in its own currency: of ε, ρ, μ, or of each order."""
    match promise:
        case RenyiDP():
            return replace(promise, curve=tuple((order, shorter_up(limit * part)) for order, limit in promise.curve))
        case ZCDP():
            return replace(promise, rho=shorter_up(promise.rho * part))
        case GaussianDP():
            return replace(promise, mu=shorter_up(promise.mu * part))
        case PureDP() | ApproxDP():
            return replace(promise, epsilon=shorter_up(promise.epsilon * part))
    raise LedgerMismatch(f"{promise!r} cannot be lowered by a part", hint="state a budget")


def _rerun(guard: Filter, level: Level, own: list[Event], *, set_aside: bool) -> None:
    granted = () if set_aside else map(event_from_dict, charged_for(level).values())
    try:
        for event in (*granted, *own):
            guard.charge(event)
    except BudgetExceeded as refusal:
        message = refusal.message.replace("this charge", "a charge of the past", 1)
        raise BudgetExceeded(
            f"the {level.kind} {level.name!r} has spent or given more than the new budget allows: {message}",
            cost=refusal.cost,
            remaining=refusal.remaining,
            hint="a budget can be raised, or lowered to what was spent and given",
        ) from None
