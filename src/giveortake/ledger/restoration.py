"""Restoring a lost ledger: the custodian records the loss in the chain, and pays for what may be forgotten."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, final

from giveortake.errors import LedgerDamaged, LedgerMismatch, LedgerMissing, LedgerRolledBack
from giveortake.ledger.drafts import Draft, Filters, clock, snapshot_of
from giveortake.ledger.entries import NOTHING, Json, Point, canonical, plain, read_entry
from giveortake.ledger.indexes import indexed_anew
from giveortake.ledger.opening import home_of, mark_at, store_at
from giveortake.ledger.promises import for_group
from giveortake.ledger.registration import named
from giveortake.ledger.verification import Replay

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from giveortake.ledger.book import Book
    from giveortake.ledger.home import Home
    from giveortake.ledger.levels import Level
    from giveortake.ledger.marks import Mark
    from giveortake.ledger.store import Store
    from giveortake.privacy.events import Event


def restore(
    where: str | os.PathLike[str],
    *,
    reason: str,
    mark: str | os.PathLike[str] | None = None,
    charge: Event | None = None,
    export: Iterable[str] | None = None,
) -> Point:
    """Accept a ledger that is behind its mark, or has none, as the truth from now on. Only the custodian can do that.

    Guarantee: what the ledger has forgotten is never given out again as budget by default. Without `charge` every level
    that has a budget, and every one that is registered later, is closed until the custodian sets its budget anew; with
    `charge`, an event at least as large as all that was lost, it is charged to every level, as a group of rows where
    the level counts people. Reservations without an answer are void: their answers may have been released. The
    acknowledgement, the old mark and the reason are in the chain.

    `export` holds the lines that `giveortake ledger export` wrote, from which a lost ledger is written anew. If they
    reach as far as the mark remembers, nothing is lost, and nothing is closed or charged.
    """
    named("reason", reason)
    store = store_at(where)
    keeper: Home | _Kept | None = None
    try:
        keeper = home_of(store, mark) or _Kept(mark_at(where, mark))
        if export is not None:
            _write_anew(store, export)
        if not store.exists():
            raise LedgerMissing(f"there is no ledger at {store.name}", hint="put the backup there first")
        with store.writing() as transaction:
            transaction.require_schema()
            book = indexed_anew(transaction)
            if not book.ledger:
                raise LedgerDamaged(f"{store.name} holds no entries", hint="put a backup there first")
            remembered = keeper.remembered(book.ledger)
            if _has_forgotten_nothing(book, remembered):
                if export is None:
                    raise LedgerMismatch(
                        f"{store.name} holds everything that its mark remembers: there is nothing to restore",
                        hint="open it",
                    )
                return book.head
            draft = Draft(book, transaction, Filters(), clock, writable=True)
            for level in book.levels.values():
                draft.filter_of(level)  # refuses what does not match the chain
            _acknowledge(draft, reason, remembered, charge)
            for each in draft.entries:
                book.apply(each)
            draft.keep_rows()
        keeper.accept(book.head)
        return book.head
    finally:
        store.close()
        if isinstance(keeper, _Kept):
            keeper.mark.close()


@final
class _Kept:
    """A mark at a given place, or in the ledger's own database."""

    def __init__(self, mark: Mark) -> None:
        self.mark = mark

    def remembered(self, _ledger: str) -> Point | str | None:
        try:
            return self.mark.read()
        except LedgerDamaged:
            return "damaged"

    def accept(self, head: Point) -> None:
        self.mark.replace(head)


def _has_forgotten_nothing(book: Book, remembered: Point | str | None) -> bool:
    """Whether a ledger reaches as far as its mark remembers, so that there is nothing to acknowledge."""
    if not isinstance(remembered, Point) or remembered.ledger != book.ledger:
        return False
    try:
        book.agrees_with(remembered)
    except LedgerRolledBack:
        return False
    return True


def _write_anew(store: Store, export: Iterable[str]) -> None:
    """Write a ledger from exported lines, each checked and every filter decision derived again."""
    if store.exists():
        raise LedgerMismatch(f"{store.name} already exists", hint="move it away first")
    entries, replay, previous = [], Replay(), NOTHING
    for number, line in enumerate(filter(str.strip, export), start=1):
        try:
            kept = json.loads(line)
            found = read_entry(number, canonical(kept["entry"]), kept["hash"], previous)
        except (LookupError, TypeError, ValueError) as error:
            raise LedgerDamaged(f"line {number} of the export is not an entry") from error
        replay.take(found)
        entries.append(found)
        previous = found.hash
    with store.create() as transaction:
        for each in entries:
            transaction.append(each)
        transaction.keep(replay.book.take_rows())
        for level, guard in replay.guards.items():
            transaction.keep_snapshot(level, snapshot_of(guard))


def _as_seen_by(level: Level, charge: Event, book: Book) -> Event:
    """The charge in a level's unit: for as many rows of a person as any data set below it allows."""
    granted = {name for grant in book.grants.values() if grant.level is level for name in grant.datasets}
    rows = [
        held.rows_per_person
        for name, held in book.datasets.items()
        if held.rows_per_person is not None
        and (name in granted or (level.kind == "population" and held.population == level.name))
    ]
    return for_group(charge, max(rows), level.neighbours) if rows else charge


def _acknowledge(draft: Draft, reason: str, remembered: Point | str | None, charge: Event | None) -> None:
    charged: dict[str, Json] = {}
    filters = {}
    if charge is not None:
        for level in draft.book.levels.values():
            seen = _as_seen_by(level, charge, draft.book)
            charged[str(level.number)] = None if seen == charge else plain("event", seen.to_dict())
            guard = draft.filter_of(level)
            if guard is not None:
                guard = guard.copy()
                guard.charge(seen)
                filters[level.number] = guard
    capped: list[Json] = [level.number for level in draft.book.levels.values() if level.budget is not None]
    closed = [] if charge is not None else capped
    content: dict[str, Json] = {
        "reason": reason,
        "mark": plain("mark", asdict(remembered) if isinstance(remembered, Point) else remembered),
        "event": None if charge is None else plain("event", charge.to_dict()),
        "levels": charged,
        "closed": closed,
    }
    draft.add("restored", content, filters)
