"""Where the mark of a ledger in a file is found: in the state folder, by the ledger's id and by its path.

| the path was | the file is | and then |
|---|---|---|
| never seen | not there | the mark of a new id begins at 0, the id claims the path, then the ledger is created |
| never seen | a ledger | the mark of its id decides |
| never seen | a copy of a ledger that is where it was seen | it is foreign to whoever would write to it |
| seen | the ledger that was seen | its mark decides |
| seen | not there | it is missing, unless its mark is still at 0 |
| seen | another ledger | it is foreign |

A `mark=` elsewhere is refused if the path was seen and its mark is in the state folder.
"""

from __future__ import annotations

import os
import secrets
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, final

from giveortake.advice import Advice
from giveortake.errors import (
    LedgerDamaged,
    LedgerError,
    LedgerForeign,
    LedgerMismatch,
    LedgerMissing,
    LedgerUnavailable,
    NotFound,
)
from giveortake.ledger.entries import BEGIN, NOTHING, RESTORE, Point
from giveortake.ledger.files import VARIABLE
from giveortake.ledger.sqlite import SQLiteStore, is_ledger
from giveortake.ledger.state import Seen, State, state_folder
from giveortake.ledger.store import silent

if TYPE_CHECKING:
    from giveortake.ledger.marks import FileMark
    from giveortake.ledger.store import Notice, Store

ELSEWHERE = Advice("leave {mark} out; `giveortake ledger move` with `--new-mark` keeps it elsewhere from then on")
UNMARKED = Advice(RESTORE, f"if its mark is kept elsewhere, pass {{mark}} or set {VARIABLE}", between="; ")

USUAL = ".ledger"  # how the name of a ledger ends, unless somebody chose another


@final
class Home:
    """What the state folder knows about the ledger at one path."""

    def __init__(self, path: Path, at: Notice) -> None:
        self.path = Path(os.path.realpath(path))  # however it was spelled
        self.state = State(state_folder(), at)

    def find(self, store: Store, *, create: bool, read_only: bool) -> tuple[FileMark, Point]:
        """The mark of the ledger at this path, begun now if there never was a ledger."""
        seen = self.state.seen(self.path)
        there = store.exists()
        if seen is None and there:
            seen = self.state.seen(self.path)  # a path is claimed before its ledger is created
        if seen is None and there:
            return self._by_id(store, read_only=read_only)
        if seen is None:
            seen = self._claim(store, create=create)
        return self._by_path(store, seen, there)

    def remembered(self, ledger: str) -> Point | str | None:
        """The mark of the ledger seen at this path, else of the one there; "damaged" if it cannot be read."""
        seen = self.state.seen(self.path)
        marks = [self.state.mark(each) for each in ([] if seen is None else [seen.ledger]) + [ledger]]
        for mark in marks:
            try:
                found = mark.read()
            except LedgerDamaged:
                return "damaged"
            if found is not None:
                return found
        return None

    def accept(self, head: Point) -> None:
        """Accept this ledger up to `head` as the one at this path from now on, on the custodian's word."""
        self.state.mark(head.ledger).replace(head)
        self.state.replace(self.path, head.ledger)

    # -- inside ------------------------------------------------------------------------------------------------

    def _claim(self, store: Store, *, create: bool) -> Seen:
        if not create:
            raise NotFound(f"there is no ledger at {store.name}", hint=BEGIN)
        first = Point(secrets.token_hex(16), 0, NOTHING)
        mark = self.state.mark(first.ledger)
        mark.begin(first)  # before the path is claimed: a path without a mark has lost it
        seen = self.state.claim(self.path, first.ledger)
        if seen.ledger != first.ledger:  # another process was faster
            mark.remove()
        return seen

    def _by_path(self, store: Store, seen: Seen, there: bool) -> tuple[FileMark, Point]:
        mark = self.state.mark(seen.ledger)
        found = mark.read()
        if found is None:
            if there:
                raise unmarked(store)
            raise LedgerMissing(f"the ledger {store.name} is gone, and its mark as well", hint=RESTORE)
        if found.number and not there and not store.exists():
            if seen.moved_to is not None:
                raise LedgerMissing(f"the ledger {store.name} was moved to {seen.moved_to}", hint="open it there")
            raise _missing(store, found)
        return mark, found

    def _by_id(self, store: Store, *, read_only: bool) -> tuple[FileMark, Point]:
        """Find the mark of a ledger at a path where none was seen before: it was moved here."""
        ledger = self._id(store)
        mark = self.state.mark(ledger)
        found = mark.read()
        if found is None:
            raise unmarked(store)
        if not read_only:
            other = self._other(found)
            if other is not None:
                raise LedgerForeign(
                    f"{store.name} is a copy of the ledger {other}, which would be out of date after a charge here",
                    hint=Advice("use {other}", "{trial} to try what nobody else will see", other=other),
                )
            self.state.claim(self.path, ledger)
        return mark, found

    def _other(self, mark: Point) -> Path | None:
        """Another file that holds what the mark remembers, where the state folder last saw it, if this one does too.

        Writing here would make that one an old copy. Whatever cannot be read decides nothing: the mark still does.
        """
        for place in self.state.places() if _holds(self.path, mark) else ():
            with suppress(LedgerDamaged, OSError):
                seen = self.state.read(place)
                if seen is not None and seen.ledger == mark.ledger and seen.moved_to is None:
                    there = Path(seen.path)
                    if not there.samefile(self.path) and _holds(there, mark):
                        return there
        return None

    def _id(self, store: Store) -> str:
        if not is_ledger(self.path):
            raise unmarked(store)
        try:
            with store.reading() as transaction:
                transaction.require_schema()
                first = next(transaction.entries(1, NOTHING), None)
        except LedgerDamaged as error:
            raise LedgerForeign(f"{store.name} is not a ledger, or its beginning is damaged", hint=RESTORE) from error
        if first is None:
            raise unmarked(store)
        return str(first.content.get("ledger"))


def require_unremembered(path: Path, mark: str | os.PathLike[str]) -> None:
    """Refuse a mark elsewhere for a path whose mark is in the state folder: that one may remember more.

    Guarantee: of a path that this state folder has a mark for, no other mark is believed, neither by whoever opens the
    ledger nor by whoever restores it. A folder that this user cannot read, or does not have, remembers nothing.
    """
    with suppress(LedgerUnavailable):
        home = Home(path, silent)
        seen = home.state.seen(home.path)
        kept = None if seen is None or seen.moved_to is not None else home.state.mark(seen.ledger)
        found = None if kept is None else kept.read()
        if kept is None or found is None or found.hash == NOTHING or _is_same(kept.path, mark):  # begun, or moved away
            return
        raise LedgerMismatch(
            f"the mark of {path} is in the state folder {home.state.folder} and remembers {found.number} entries; "
            "another one is not believed",
            hint=ELSEWHERE,
        )


def _holds(path: Path, mark: Point) -> bool:
    """Whether the ledger in a file has the entry that a mark remembers."""
    with suppress(LedgerError, OSError):
        if is_ledger(path):
            with closing(SQLiteStore(path, read_only=True)) as store, store.reading() as transaction:
                return transaction.entry(mark.number).hash == mark.hash
    return False


def _is_same(path: Path, mark: str | os.PathLike[str]) -> bool:
    return os.path.realpath(path) == os.path.realpath(mark)


def _missing(store: Store, mark: Point) -> LedgerMissing:
    return LedgerMissing(f"the ledger {store.name} is gone; its mark remembers {mark.number} entries", hint=RESTORE)


def unmarked(store: Store, hint: str = UNMARKED) -> LedgerForeign:
    """The error about a file that nobody here remembers as a ledger: the table itself, say, or a copy."""
    path = store.path if isinstance(store, SQLiteStore) else None
    if path is not None and path.suffix != USUAL and not is_ledger(path):
        usual = path.with_name(f"{path.name}{USUAL}")
        meant = f"did you mean {usual.name}?" if usual.exists() else f"there is none at {usual.name} either: {BEGIN}"
        return LedgerForeign(f"{store.name} is not a ledger", hint=meant)
    return LedgerForeign(
        f"{store.name} has no mark here: it is not a ledger, or a copy, or its mark is lost", hint=hint
    )
