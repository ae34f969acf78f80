"""What a grant takes from the levels above it, worked out on a draft; the theorem is in `allotments`."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake.accounting.filters import filter as filter_of
from giveortake.errors import BudgetExceeded, LedgerMismatch
from giveortake.exact import shown, shown_down
from giveortake.ledger.allotments import filter_of_rest, larger, require_addable, require_same_kind, rest
from giveortake.ledger.digests import charges
from giveortake.ledger.entries import Json, plain
from giveortake.ledger.events import event_from_dict
from giveortake.ledger.promises import restated
from giveortake.privacy import ApproxDP, PureDP
from giveortake.privacy.documents import promise_to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from giveortake.accounting.filters import Filter
    from giveortake.ledger.book import Book
    from giveortake.ledger.drafts import Draft
    from giveortake.ledger.levels import Level
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event


def take(
    draft: Draft, number: int, promise: Guarantee, above: Iterable[Level]
) -> tuple[dict[str, Json], dict[int, Filter]]:
    """What the grant of this number takes from the levels above it: as an entry says it, and their filters afterwards.

    Guarantee: basic composition in the currency of each level above. BudgetExceeded, and nothing taken, if it does not
    fit. A grant that is changed is taken anew where that is more, and never given back where it is less.
    """
    taken: dict[str, Json] = {}
    filters: dict[int, Filter] = {}
    for level in above:
        assert level.budget is not None  # noqa: S101 (only levels with a cap are above)
        require_addable(level.budget, promise)
        require_same_kind(level.allotments.get(number), promise)
        counted = larger(level.allotments.get(number), promise)
        if counted == level.allotments.get(number):
            continue
        try:
            content, filters[level.number] = _taken(draft, level, number, counted)
        except BudgetExceeded as refusal:
            raise BudgetExceeded(
                f"the {level.kind} {level.name!r} cannot grant that: {refusal.message}",
                cost=refusal.cost,
                remaining=refusal.remaining,
                hint=_ways_out(draft, level, number, counted, refusal.remaining),
            ) from None
        taken[str(level.number)] = content
    return taken, filters


def require_ungranted(book: Book, level: Level) -> None:
    """Refuse a first cap of a data set that analysts with allotments may ask already.

    An allotment is counted by levels that have a cap when it is granted, and what analysts spend of it by their own
    levels alone: a cap that comes later knows of neither.
    """
    if level.kind != "data set" or level.budget is not None:
        return
    grants = [grant for grant in book.grants.values() if level.name in grant.datasets]
    if grants and book.populations[book.datasets[level.name].population].allotted:
        raise LedgerMismatch(
            f"the data set {level.name!r} has no cap, and {grants[0].analyst!r} was granted it without one",
            hint="cap a data set before you let analysts ask it, or lower their budget or that of the people",
        )


def _ways_out(draft: Draft, level: Level, number: int, counted: Guarantee, left: object) -> str:
    """A hint if a grant does not fit. A raise that is charged whole may fit as a second, smaller grant."""
    if number not in level.allotments and level.charged and isinstance(counted, ApproxDP):
        fitting = _fitting(draft, level, number, counted, left)
        if fitting is not None:
            return (
                "your own first question fixed how the rest of δ is used, and little of it can be granted since then: "
                f"{fitting} fits; or raise the people's promise"
            )
    is_raise = number in level.allotments and number not in level.granted
    if is_raise and level.charged and isinstance(level.budget, ApproxDP):
        with suppress(BudgetExceeded):  # with which no other name helps
            rest(level.budget, (level.allotments | {number: counted}).values())
            return (
                "after the custodian's first question a raise is charged whole, beside what was set aside: grant the "
                "difference to another name, or raise the people's promise"
            )
    return "the whole allotment is taken from what is neither spent nor granted to others"


def _fitting(draft: Draft, level: Level, number: int, counted: ApproxDP, left: object) -> str | None:
    """What could be granted at the same ε: with the δ that is left, or without one; None if its ε does not fit."""
    terms: Any = {"unit": counted.unit, "neighbours": counted.neighbours}
    if isinstance(left, Fraction) and 0 < left < counted.delta:
        with suppress(BudgetExceeded):
            least = ApproxDP(counted.epsilon, shown_down(left), **terms)
            _taken(draft, level, number, least)
            return f"ε = {shown(least.epsilon)}, δ = {shown(least.delta)}"
    with suppress(BudgetExceeded):
        _taken(draft, level, number, PureDP(counted.epsilon, **terms))
        return f"ε = {shown(counted.epsilon)} without a δ"
    return None


def _taken(draft: Draft, level: Level, number: int, counted: Guarantee) -> tuple[dict[str, Json], Filter]:
    all_counted = (level.allotments | {number: counted}).values()
    if isinstance(level.budget, ApproxDP):
        rest(level.budget, all_counted)
        if not level.charged:
            guard = filter_of_rest(level.budget, all_counted)
            unspent = plain("filter", guard.snapshot())
            return {"rest": promise_to_json(guard.budget), "filter": unspent}, guard
    event = restated(counted)
    if number in level.granted:
        guard = filter_of(level.guarded, snapshot=level.initial)  # type: ignore[arg-type]  # (it has a budget)
        for each in history(draft, level, instead={number: event}):
            guard.charge(each)
    else:
        before = draft.filter_of(level)
        assert before is not None  # noqa: S101 (it has a budget)
        guard = before.copy()
        guard.charge(event)
    return {"event": plain("event", event.to_dict())}, guard


def history(draft: Draft, level: Level, instead: dict[int, Event] | None = None) -> Iterator[Event]:
    """Everything that was charged to a level: by entries, and by the grants that are charged like questions."""
    granted: dict[int, Any] = {number: event_from_dict(event) for number, event in level.granted.items()}
    yield from (granted | (instead or {})).values()
    yield from own_history(draft, level)


def own_history(draft: Draft, level: Level) -> Iterator[Event]:
    """Everything that was charged to a level by entries."""
    for entry in draft.history():
        for charged, event in charges(entry):
            if charged == level.number:
                yield event_from_dict(event)
