"""Verification: everything that a ledger says is derived again, and whether it can be written now."""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, final

from giveortake.accounting.filters import filter as filter_of
from giveortake.errors import BudgetExceeded, GiveOrTakeError, LedgerDamaged, LedgerTooNew, LedgerUnavailable
from giveortake.ledger.budgets import (
    charged_for,
    larger,
    require_addable,
    require_same_kind,
    require_sound,
    require_ungranted,
    restated,
    unallotted,
)
from giveortake.ledger.chain.chain import snapshot_of, used
from giveortake.ledger.chain.checkpoints import EVERY, advance, checkpoint_of, is_known, require_derived
from giveortake.ledger.chain.entries import (
    INDEX,
    NOTHING,
    RESTORE,
    EntryIndex,
    Point,
    Sieve,
    charges,
    digest,
    event_from_dict,
    folded,
    measurement_digest,
    promise_from_json,
)
from giveortake.ledger.chain.state import State
from giveortake.ledger.chain.store import SQLiteStore, sync
from giveortake.ledger.chain.watermark import FileMark
from giveortake.ledger.reservations import level_event, levels_of
from giveortake.privacy import ApproxDP

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from pathlib import Path

    from giveortake.accounting.filters import Filter
    from giveortake.ledger.chain.entries import Entry
    from giveortake.ledger.chain.state import Level
    from giveortake.ledger.chain.store import Tables
    from giveortake.ledger.ledger import Ledger
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event


_PAGE = 1000  # rows that are read at once
_STEP = 100  # entries between two reports
_LONG = 4 * EVERY  # entries without a checkpoint, after which they are dropped from memory
_NAMES = 3  # names of an entry, about: a question has three or four, its answer two


@final
@dataclass(frozen=True, slots=True)
class Verification:
    """What a verified ledger holds. `head` is the hash of its last entry, worth keeping elsewhere."""

    ledger: str
    entries: int
    reservations: int
    answers: int
    levels: int
    head: str


def verifying(
    reader: Tables, snapshots: Mapping[int, str | None], head: Point
) -> Generator[tuple[int, int], None, Verification]:
    """Check the chain, every decision of every filter, every stored snapshot; LedgerDamaged if anything is wrong.

    It yields now and then how many entries it has checked, and of how many.

    Guarantee: if this returns, then each charge was admissible at each of its levels when it was made, in the order of
    the chain, what is stored as spent is what these charges add up to, and every entry that is a checkpoint, and every
    index up to the last entry, says what the entries say. The stored copies that checkpoints are opened from are not
    read: whoever opens one compares it with its entry. Nobody who writes meanwhile waits for it.
    """
    replay = Replay(reader, head.number)
    answers = 0
    for entry in entries_of(reader, head.number):
        replay.take(entry)
        replay.state.take_rows()
        answers += entry.kind == "settled"
        if not entry.number % _STEP:
            yield entry.number, head.number
    state = replay.state
    if state.head != head:
        raise LedgerDamaged("the chain does not end where this ledger does", hint=RESTORE)
    for level in state.levels.values():
        guard = replay.guards.get(level.number)
        if guard is not None and snapshots.get(level.number) != snapshot_of(guard):
            raise LedgerDamaged(f"what is stored as spent by {level.name!r} does not follow from history", hint=RESTORE)
    for _ in _require_indexes(reader, state):
        yield head.number, head.number
    return Verification(state.ledger, state.head.number, state.asked, answers, len(state.levels), state.head.hash)


def entries_of(reader: Tables, head: int) -> Iterator[Entry]:
    """The entries up to one, a page at a time, each checked against the one before it."""
    previous = NOTHING
    for start in range(1, head + 1, _PAGE):
        for entry in reader.entries(start, previous, min(start + _PAGE - 1, head)):
            yield entry
            previous = entry.hash


def used_of(reader: Tables, level: int, head: int, hashed: str) -> list[tuple[int, Fraction]]:
    """The used shares of a level's budget by entry; LedgerDamaged unless the index holds all of them."""
    return [(number, _share(share)) for number, share in _used(reader, level, head, hashed)]


def _used(reader: Tables, level: int, head: int, hashed: str) -> Iterator[tuple[int, str]]:
    """Yield the same shares as text; whether all of them match is known at the end."""
    running, after = NOTHING, 0
    while rows := reader.used(level, after, head, _PAGE):
        for number, share in rows:
            if not share.isascii():
                raise LedgerDamaged(INDEX, hint=RESTORE)
            running = digest(f"{running} {number} {share}")
            yield number, share
        after = rows[-1][0]
    if running != hashed:
        raise LedgerDamaged(INDEX, hint=RESTORE)


def _share(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise LedgerDamaged(INDEX, hint=RESTORE) from None


def _require_indexes(reader: Tables, state: State) -> Iterator[None]:
    """Check that every index holds exactly what the entries say, up to the last entry; yield now and then."""
    head, bucket_hashes = state.head.number, {}
    for rows in reader.all_finds(head, 4 * state.asked):
        for bucket, pairs in groupby(rows, key=itemgetter(0)):
            bucket_hashes[bucket] = folded((number, name) for _, number, name in pairs)[0]
        yield
    if bucket_hashes != dict(state.entry_index.sealed(None).items()):
        raise LedgerDamaged(INDEX, hint=RESTORE)
    for level in state.levels.values():
        deque(_used(reader, level.number, head, level.used), maxlen=0)  # none of them is kept
        yield
    for name, listed in state.lists.items():
        running, index = NOTHING, 0
        while own := reader.listed(name, index, min(index + _PAGE, listed.count)):
            for _, number in own:
                running = digest(f"{running} {number}")
            index = own[-1][0]
            yield
        if (running, index) != (listed.numbers, listed.count):
            raise LedgerDamaged(INDEX, hint=RESTORE)


@final
class Replay:
    """The state that the entries taken so far lead to, every filter decision made again."""

    def __init__(self, reader: Tables | None = None, entries: int = 0) -> None:
        """With a `reader`, lookups are read there and checked, not kept in memory; `entries` is how many to expect."""
        self.state = State(reader=reader)
        if reader is not None:
            self.state.entry_index = EntryIndex(sieve=Sieve(_NAMES * entries))
        self.guards: dict[int, Filter] = {}
        self._charged: dict[int, list[Event]] = {}

    def take(self, entry: Entry) -> None:
        """Take one more entry; LedgerDamaged unless it follows from those before."""
        try:
            self._check(entry)
        except BudgetExceeded as error:
            raise LedgerDamaged(f"entry {entry.number} exceeds a budget: {error.message}", hint=RESTORE) from error
        except (LedgerDamaged, LedgerTooNew):
            raise
        except (GiveOrTakeError, LookupError, TypeError, ValueError) as error:
            raise LedgerDamaged(f"entry {entry.number} cannot be derived again: {error}", hint=RESTORE) from error
        self._forget(entry)
        self.state.apply(entry)
        stated = entry.content.get("snapshots", {})
        touched = {level for level, _ in charges(entry)} | {int(level) for level in stated}
        touched |= {int(level) for level in entry.content.get("above", {})}
        derived = {str(level): digest(snapshot_of(self.guards[level])) for level in touched if level in self.guards}
        shares = {level: used(self.guards[int(level)]) for level in derived}
        if stated != derived or entry.content.get("used", {}) != shares:
            raise LedgerDamaged(f"entry {entry.number} misstates what was spent", hint=RESTORE)

    def _forget(self, entry: Entry) -> None:
        """Check a checkpoint and continue from it; if none comes for long, continue as from an unwritten one."""
        is_read = self.state.reader is not None
        if is_known(entry):
            advance(self.state, require_derived(self.state, entry), forget=is_read)
        elif is_read and self.state.hashes.head - self.state.hashes.base >= _LONG:
            advance(self.state, checkpoint_of(self.state), forget=True)

    def _check(self, entry: Entry) -> None:
        content = entry.content
        if entry.kind == "budget":
            require_ungranted(self.state, self.state.levels[content["level"]])
        if "filter" in content:
            self._check_filter(content.get("level", entry.number), content, entry.number)
        if entry.kind in {"analyst", "budget"}:
            self._check_above(entry)
        if entry.kind == "reserved":
            self._check_levels(entry)
        if entry.kind == "alias":
            self._check_alias(entry)
        for level, event in charges(entry):
            ran = event_from_dict(event)
            self._charged.setdefault(level, []).append(ran)
            if level in self.guards:
                self.guards[level].charge(ran)

    def _check_filter(self, number: int, content: Mapping[str, Any], entry: int) -> None:
        """Check that a new filter has spent nothing, promises no more than there is, and admits history."""
        budget = promise_from_json(content["budget"])
        guard = filter_of(promise_from_json(content.get("rest", content["budget"])), snapshot=content["filter"])
        level = self.state.levels.get(number)
        events = [] if level is None or "rest" in content else [*map(event_from_dict, charged_for(level).values())]
        if "rest" in content:
            require_sound(budget, () if level is None else level.allotments.values(), guard)
        elif guard.share:
            raise LedgerDamaged(f"entry {entry} begins with a filter that has already spent", hint=RESTORE)
        for event in (*events, *self._charged.get(number, ())):
            guard.charge(event)
        self.guards[number] = guard

    def _check_above(self, entry: Entry) -> None:
        """Check that a grant took what it had to take from the levels above it."""
        content, state = entry.content, self.state
        number = content.get("level", entry.number)
        grant = None if entry.kind == "analyst" else state.grant_of(state.levels[number])
        datasets = content["datasets"] if entry.kind == "analyst" else () if grant is None else grant.datasets
        above = state.capped_above(datasets) if datasets else []
        stated = content.get("above", {})
        if not above or not above[0].allotted:
            above = []
        promise = None if content["budget"] is None else promise_from_json(content["budget"])
        for level in above:
            if promise is None or level.budget is None:
                raise LedgerDamaged(f"entry {entry.number} grants without a promise", hint=RESTORE)
            require_addable(level.budget, promise)
            require_same_kind(level.allotments.get(number), promise)
            counted = larger(level.allotments.get(number), promise)
            deduction = stated.get(str(level.number))
            if (deduction is None) != (counted == level.allotments.get(number)):
                raise LedgerDamaged(f"entry {entry.number} grants what it does not take", hint=RESTORE)
            if deduction is not None:
                self._take(level, number, counted, deduction)
        if set(stated) - {str(level.number) for level in above}:
            raise LedgerDamaged(f"entry {entry.number} takes from levels that are not above it", hint=RESTORE)

    def _take(self, level: Level, number: int, counted: Guarantee, deduction: Mapping[str, Any]) -> None:
        allotments = (level.allotments | {number: counted}).values()
        if isinstance(level.budget, ApproxDP):
            unallotted(level.budget, allotments)
        if "rest" in deduction:
            if level.charged:
                raise LedgerDamaged("a race was begun anew after something was charged to it", hint=RESTORE)
            guard = filter_of(promise_from_json(deduction["rest"]), snapshot=deduction["filter"])
            require_sound(level.budget, allotments, guard)  # type: ignore[arg-type]  # (it has a budget)
            self.guards[level.number] = guard
            return
        event = event_from_dict(deduction["event"])
        if event != restated(counted):
            raise LedgerDamaged("an allotment was charged as something else", hint=RESTORE)
        if number not in level.granted:
            self.guards[level.number].charge(event)
            return
        granted = {grant: event_from_dict(text) for grant, text in level.granted.items()} | {number: event}
        guard = filter_of(level.guarded, snapshot=level.initial)  # type: ignore[arg-type]  # (it has a budget)
        for charge in (*granted.values(), *self._charged.get(level.number, ())):  # as the ledger did: the first counts
            guard.charge(charge)
        self.guards[level.number] = guard

    def _check_alias(self, entry: Entry) -> None:
        """Check that whoever asked under a further key had paid for the answer at every level."""
        state, content = self.state, entry.content
        reserved = state.reservation(state.first("id", content["release"]))
        table = state.dataset(reserved.dataset)
        release = state.release(content["analyst"], reserved.dataset, reserved.measurement)
        owed = {level.number for level in levels_of(state, table, content["analyst"])}
        if release is None or not owed <= release.levels:
            raise LedgerDamaged(f"entry {entry.number} gives out an answer of somebody else", hint=RESTORE)

    def _check_levels(self, entry: Entry) -> None:
        """Check that exactly the levels that had to pay were charged, each for the event in its own unit."""
        state, content = self.state, entry.content
        table = state.dataset(content["dataset"])
        event = event_from_dict(content["event"])
        owed = {level.number: level for level in levels_of(state, table, content["analyst"])}
        if content["answered_by"] is not None:
            release = state.release(content["analyst"], content["dataset"], measurement_digest(content))
            if release is None or release.answer != content["answered_by"]:
                raise LedgerDamaged(f"entry {entry.number} gives out an answer of somebody else", hint=RESTORE)
            owed = {number: level for number, level in owed.items() if number not in release.levels}
        charged = {level: event_from_dict(part) for level, part in charges(entry)}
        if charged != {number: level_event(event, level, table) for number, level in owed.items()}:
            raise LedgerDamaged(f"entry {entry.number} did not charge the levels that had to pay", hint=RESTORE)


_SIZE = 1 << 16  # bytes: about what an entry with its indexes takes
_NO_LEVEL = -1
_NOWHERE = Point("", -1, "")  # a point that no mark remembers


class _Undone(Exception):
    """The transaction is to be rolled back."""


def probe(ledger: Ledger) -> None:
    """Write beside the ledger and its mark, durably, and into both of them, and take all of it back.

    It raises `LedgerUnavailable`, which names the folder, if a disk is full, or something is read-only or out of reach.
    """
    store, mark = ledger.chain.store, ledger.chain.mark
    if isinstance(store, SQLiteStore) and store.path is not None:
        _write_in(store.path.parent)
    if isinstance(mark, FileMark):
        _write_in(mark.path.parent)
    with suppress(_Undone), store.writing() as tables:
        tables.keep_snapshot(_NO_LEVEL, "")
        raise _Undone
    mark.move(_NOWHERE, _NOWHERE)  # which is refused, and has to be able to write


def _write_in(folder: Path) -> None:
    path = folder / f".{os.getpid()}.probe"
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(bytes(_SIZE))
            file.flush()
            sync(file.fileno())
    except OSError as error:
        raise LedgerUnavailable(
            f"nothing can be written in the folder {folder}: {error.strerror}",
            hint="it needs a disk with room, to which this user may write",
        ) from error
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)
