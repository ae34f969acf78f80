"""Replace a budget by another one, which everything charged so far has to fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.errors import BudgetExceeded, LedgerMismatch
from giveortake.ledger.allotments import charged_for, filter_of_rest, require_addable
from giveortake.ledger.drafts import new_filter
from giveortake.ledger.entries import plain
from giveortake.ledger.events import event_from_dict
from giveortake.ledger.grants import own_history, require_ungranted, take
from giveortake.ledger.promises import promise_to_json, protecting
from giveortake.ledger.registration import named
from giveortake.privacy import ApproxDP

if TYPE_CHECKING:
    from giveortake.accounting.filters import Filter
    from giveortake.ledger.drafts import Draft
    from giveortake.ledger.entries import Json
    from giveortake.ledger.levels import Level
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event


def change_budget(draft: Draft, level: Level, budget: Guarantee, reason: str) -> None:
    """Replace the promise of a level: its whole history is run again under the new filter.

    Guarantee: nothing is admitted anew unless everything admitted before fits the new budget, so a cap is never
    lowered under what is spent. The old promise is void, which is why this is an entry in the chain. What a population
    has granted stays granted: it is set aside from an (ε, δ) promise and charged to any other. A larger allotment is
    taken from the levels above.
    """
    promise = protecting("budget", budget, level.unit)
    if promise.neighbours != level.neighbours:
        raise LedgerMismatch(
            f"{level.name!r} counts neighbours as {level.neighbours}, and a new budget cannot change that"
        )
    require_ungranted(draft.book, level)
    set_aside = bool(level.allotments) and isinstance(promise, ApproxDP)
    for each in level.allotments.values():
        require_addable(promise, each)
    guard = filter_of_rest(promise, level.allotments.values()) if set_aside else new_filter(promise)  # type: ignore[arg-type]  # (approximate)
    content: dict[str, Json] = {
        "level": level.number,
        "budget": promise_to_json(promise),
        "reason": named("reason", reason),
        "filter": plain("filter", guard.snapshot()),
    }
    if set_aside:
        content["rest"] = promise_to_json(guard.budget)
    granted = () if set_aside else map(event_from_dict, charged_for(level).values())
    for event in (*granted, *own_history(draft, level)):
        _rerun(guard, level, event)
    filters = {level.number: guard}
    grant = draft.book.grant_of(level)
    if grant is not None and draft.book.populations[draft.book.datasets[grant.datasets[0]].population].allotted:
        content["above"], taken = take(draft, level.number, promise, draft.book.capped_above(grant.datasets))
        filters |= taken
    draft.add("budget", content, filters)


def _rerun(guard: Filter, level: Level, event: Event) -> None:
    try:
        guard.charge(event)
    except BudgetExceeded as refusal:
        told = refusal.message.replace("this charge", "a charge of the past", 1)
        raise BudgetExceeded(
            f"the {level.kind} {level.name!r} has spent or given more than the new budget allows: {told}",
            cost=refusal.cost,
            remaining=refusal.remaining,
            hint="a budget can be raised, or lowered to what was spent and given",
        ) from None
