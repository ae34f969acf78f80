"""What an owner does when a ledger was lost: say so, in the chain, and pay for what may be forgotten."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

from giveortake.errors import LedgerDamaged, LedgerMismatch, LedgerMissing, LedgerRolledBack
from giveortake.ledger.book import Book
from giveortake.ledger.canonical import Json, plain
from giveortake.ledger.draft import Draft, Filters, clock
from giveortake.ledger.entries import Point
from giveortake.ledger.opening import places
from giveortake.ledger.registering import named

if TYPE_CHECKING:
    import os

    from giveortake.ledger.marks import Mark
    from giveortake.privacy.events import Event


def restore(
    where: str | os.PathLike[str],
    *,
    reason: str,
    mark: str | os.PathLike[str] | None = None,
    charge: Event | None = None,
) -> Point:
    """Accept a ledger that is behind its mark, or has none, as the truth from now on. Only the owner can decide that.

    Guarantee: what the ledger has forgotten is never given out again as budget by default. Without `charge` every
    population is closed until the owner sets its budget anew; with `charge`, an event at least as large as all that
    was lost, it is charged to every level. The acknowledgement, the old mark and the reason are in the chain.
    """
    named("reason", reason)
    store, keeper = places(where, mark)
    try:
        if not store.exists():
            raise LedgerMissing(f"there is no ledger at {store.name}", hint="put the backup there first")
        remembered = _remembered(keeper)
        with store.writing() as transaction:
            if transaction.outdated():
                transaction.migrate()
            book = Book()
            for each in transaction.entries(1, None):
                book.apply(each)
            _check_need(book, remembered, store.name)
            draft = Draft(book, transaction, Filters(), clock, writable=True)
            for level in book.levels.values():
                draft.filter_of(level)  # refuses what does not match the chain
            _acknowledge(draft, reason, remembered, charge)
        for each in draft.entries:
            book.apply(each)
        keeper.replace(book.head)
        return book.head
    finally:
        store.close()
        keeper.close()


def _remembered(keeper: Mark) -> Point | str | None:
    try:
        found = keeper.read()
    except LedgerDamaged:
        return "damaged"
    return found


def _check_need(book: Book, remembered: Point | str | None, name: str) -> None:
    """A ledger that is whole and agrees with its mark has nothing to acknowledge."""
    if not book.ledger:
        raise LedgerDamaged(f"{name} holds no entries", hint="put a backup there first")
    if isinstance(remembered, Point) and remembered.ledger == book.ledger:
        with suppress(LedgerRolledBack):
            book.agrees_with(remembered)
            raise LedgerMismatch(f"{name} has forgotten nothing that its mark remembers", hint="just open it")


def _acknowledge(draft: Draft, reason: str, remembered: Point | str | None, charge: Event | None) -> None:
    charged: dict[str, Json] = {}
    filters = {}
    if charge is not None:
        for level in draft.book.levels.values():
            charged[str(level.number)] = None
            guard = draft.filter_of(level)
            if guard is not None:
                guard = guard.copy()
                guard.charge(charge)
                filters[level.number] = guard
    closed: list[Json] = [] if charge is not None else [level.number for level in draft.book.populations.values()]
    content: dict[str, Json] = {
        "reason": reason,
        "mark": plain("mark", asdict(remembered) if isinstance(remembered, Point) else remembered),
        "event": None if charge is None else plain("event", charge.to_dict()),
        "levels": charged,
        "closed": closed,
    }
    draft.add("restored", content, filters)
