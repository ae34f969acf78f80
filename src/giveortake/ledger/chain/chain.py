"""The chain of entries: what others wrote is read and compared with the mark; then commit, mark and release.

A transaction adds entries, and the states in which they leave filters. The state in memory takes them in before the
commit: what does not follow from the entries before it is never written. An interruption leaves a state that cannot be
trusted, and it is read anew. No process forks inside a transaction, and no child uses its parent's connection.
"""

from __future__ import annotations

import hmac
import json
import os
import time
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from threading import RLock
from typing import TYPE_CHECKING, Protocol, final
from weakref import WeakSet

from giveortake.accounting.filters import filter as filter_of
from giveortake.errors import (
    LedgerBusy,
    LedgerDamaged,
    LedgerForeign,
    LedgerMismatch,
    LedgerMissing,
    LedgerRolledBack,
    LedgerUnavailable,
)
from giveortake.exact import shorter_up
from giveortake.ledger.chain.checkpoints import (
    EVERY,
    advance,
    checkpoint_of,
    content_of,
    is_known,
    require_derived,
    state_at,
)
from giveortake.ledger.chain.entries import RESTORE, Entry, canonical, digest, entry, plain
from giveortake.ledger.chain.state import State
from giveortake.ledger.chain.store import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from fractions import Fraction

    from giveortake.accounting.filters import Filter
    from giveortake.ledger.chain.entries import Json, Point
    from giveortake.ledger.chain.state import Level
    from giveortake.ledger.chain.store import Notice, Store, Tables
    from giveortake.ledger.chain.watermark import Mark


class Forkable(Protocol):
    """Something with a lock that a child process must not share."""

    lock: RLock

    def after_fork(self) -> None:
        """Drop everything that belongs to the parent process."""


_watched: WeakSet[Forkable] = WeakSet()
_locked: list[Forkable] = []
_registered: list[bool] = []


def watch(thing: Forkable) -> None:
    """From now on, a fork waits for the thing's lock, and the child starts with a new one."""
    _watched.add(thing)
    if not _registered and hasattr(os, "register_at_fork"):
        _registered.append(True)
        os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)


def _before() -> None:
    for forkable in list(_watched):
        forkable.lock.acquire()
        _locked.append(forkable)


def _in_parent() -> None:
    while _locked:
        _locked.pop().lock.release()


def _in_child() -> None:
    while _locked:
        _locked.pop().after_fork()


KEYED = "hmac-sha256:"  # how a fingerprint begins that was made with the secret beside the mark


def clock() -> str:
    """The time of day. It is written down for people and decides nothing."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def snapshot_of(guard: Filter) -> str:
    """The exact state of a filter as canonical JSON, so that equal states have equal hashes."""
    return canonical(plain("snapshot", guard.snapshot()))


def used(guard: Filter) -> str:
    """The used share of a filter's budget, from 0 to 1, as entries state it for burn-down charts.

    It is exact, or if that were long, rounded up.
    """
    return str(shorter_up(guard.share))


@final
class Filters:
    """The filters of a ledger's levels, each trusted only while the chain vouches for its state."""

    def __init__(self) -> None:
        self._by_level: dict[int, tuple[str, Filter]] = {}
        self._affordable: dict[int, tuple[str, Fraction]] = {}

    def of_level(self, level: Level, tables: Tables) -> Filter | None:
        """The filter of a level as the chain left it; None if the level has no cap of its own."""
        if level.budget is None or level.snapshot is None:
            return None
        cached = self._by_level.get(level.number)
        if cached is not None and cached[0] == level.snapshot:
            return cached[1]
        text = tables.snapshot(level.number)
        if text is None or not text.isascii() or digest(text) != level.snapshot:
            raise LedgerDamaged(
                f"what is stored as spent by the {level.kind} {level.name!r} is not what the chain says", hint=RESTORE
            )
        assert level.guarded is not None  # noqa: S101 (it has a budget)
        guard = filter_of(level.guarded, snapshot=json.loads(text))
        self._by_level[level.number] = level.snapshot, guard
        return guard

    def affordable(self, level: Level, tables: Tables) -> Fraction | None:
        """The greatest ε, up to rounding, that a level's filter admits; searched once for each of its states."""
        guard = self.of_level(level, tables)
        if guard is None or level.snapshot is None:
            return None
        cached = self._affordable.get(level.number)
        if cached is None or cached[0] != level.snapshot:
            cached = self._affordable[level.number] = level.snapshot, guard.affordable()
        return cached[1]

    def keep(self, level: int, snapshot: str, guard: Filter) -> None:
        """Remember a filter whose state has been committed."""
        self._by_level[level] = snapshot, guard


@final
class Transaction:
    """Entries that are written and not yet committed."""

    def __init__(
        self,
        state: State,
        tables: Tables,
        filters: Filters,
        now: Callable[[], str],
        *,
        writable: bool,
        secret: Callable[[bool], bytes | None] = lambda _create: None,
    ) -> None:
        self.state = state
        self.entries: list[Entry] = []
        self.charged: list[tuple[int, str, Filter]] = []
        self.tables = tables
        self._filters = filters
        self._now = now
        self.writable = writable
        self.is_marked = False  # whether the mark that was read before the entries remembers them all
        self.by: str | None = None  # who decides, if this is a custodian's decision
        self._secret = secret

    def moment(self) -> datetime:
        """What the clock says. It decides when tokens and approvals end, and nothing else."""
        return datetime.fromisoformat(self._now())

    def keyed(self, fingerprint: str) -> str | None:
        """A fingerprint keyed with the secret: readers of the ledger cannot test guesses about the table.

        None if there is no secret, and this ledger may only be read.
        """
        secret = self._secret(self.writable)
        if secret is None:
            return None
        return KEYED + hmac.new(secret, fingerprint.encode(), "sha256").hexdigest()

    def pad(self, name: str) -> bytes:
        """Bytes that are always the same for a name, and unknown to anybody without the secret beside the mark."""
        secret = self._secret(self.writable)
        if secret is None:
            raise LedgerMismatch("the secret beside the mark is not there, and this ledger may only be read")
        return hmac.new(secret, f"pad {name}".encode(), "sha256").digest()

    def filter_of(self, level: Level) -> Filter | None:
        """The filter of a level. It is shared: copy it before charging it."""
        return self._filters.of_level(level, self.tables)

    def affordable(self, level: Level) -> Fraction | None:
        """The greatest ε, up to rounding, that a level's filter admits; None if it has no cap."""
        return self._filters.affordable(level, self.tables)

    def stored(self, number: int) -> Entry:
        """An entry of the chain, checked against the hash that the state remembers."""
        return self.state.hashes.entry(number, self.tables)

    def keep_rows(self) -> None:
        """Store the index rows of the entries that the state has applied."""
        self.tables.keep(self.state.take_rows())

    def next_number(self) -> int:
        """The number of the entry that is added next."""
        return self.state.head.number + len(self.entries) + 1

    def add(self, kind: str, content: dict[str, Json], filters: Mapping[int, Filter] | None = None) -> Entry:
        """Write one more entry, and the states in which it leaves the filters of some levels."""
        if not self.writable:
            raise LedgerUnavailable("the ledger was opened for reading only")
        if self.by is not None:
            content = content | {"by": self.by}
        previous = self.entries[-1].hash if self.entries else self.state.head.hash
        snapshots = {level: snapshot_of(guard) for level, guard in (filters or {}).items()}
        if snapshots:
            content = content | {
                "snapshots": {str(level): digest(snapshot) for level, snapshot in snapshots.items()},
                "used": {str(level): used(guard) for level, guard in (filters or {}).items()},
            }
        new = entry(self.next_number(), kind, self._now(), previous, content)
        self.tables.append(new)
        for level, snapshot in snapshots.items():
            self.tables.keep_snapshot(level, snapshot)
        self.entries.append(new)
        self.charged += [(level, digest(snapshot), (filters or {})[level]) for level, snapshot in snapshots.items()]
        return new


_PAGE = 64  # entries that are read at once: each takes up to 1 ms, and those who write wait for all of them
_PATIENCE = 2.0  # seconds that a reader waits for a writer that has committed and is about to mark


@final
class Chain:
    """A database, its mark, and the state that the entries read so far add up to."""

    def __init__(
        self,
        store: Store,
        mark: Mark,
        *,
        read_only: bool = False,
        at: Notice = silent,
        now: Callable[[], str] = clock,
        every: int = EVERY,
    ) -> None:
        self.lock = RLock()
        self.read_only = read_only
        self.store = store
        self.mark = mark
        self._at = at
        self._now = now
        self._every = every
        self._state = State()
        self._filters = Filters()
        self._is_unsure = False  # whether the state may hold what the database does not, or half of an entry
        self._vouched: Point | None = None  # the head as it was last compared with the mark
        self._secret: bytes | None = None
        self._process = os.getpid()
        self._closed = False
        self._inside = False  # changed by whoever holds the lock
        watch(self)

    @property
    def name(self) -> str:
        """Where the ledger is."""
        return self.store.name

    @property
    def ledger(self) -> str:
        """The ledger's id."""
        return self._state.ledger if self._vouched is None else self._vouched.ledger

    @property
    def head(self) -> Point:
        """The last entry that was read so far."""
        return self._state.head

    @property
    def length(self) -> int:
        """How many entries have been read so far."""
        return self._state.head.number

    def close(self) -> None:
        """Close the database. Everything is already stored."""
        with self.lock:
            self._refuse_reentry()
            self._closed = True
            self.store.close()
            self.mark.close()

    def after_fork(self) -> None:
        """In a child process: begin anew with a lock and a connection of its own."""
        self.lock = RLock()
        self._process = os.getpid()
        self._inside = False
        self.store.abandon()
        self.mark.abandon()

    @contextmanager
    def changing(self) -> Iterator[Transaction]:
        """Write: commit, then move the mark. Once the block ends without an error, answers may be released."""
        if self.read_only:
            with self.looking() as transaction:
                yield transaction
            return
        with self._exclusive():
            self._approach()
            with self.store.writing() as tables:
                self._at("begun")
                transaction = self._caught_up(tables, writable=True)
                yield transaction
                if transaction.entries:
                    self._at("written")
                    self._take(transaction)
            if transaction.entries:
                self._is_unsure = False
                self._at("committed")
                self._move_mark()
                self._at("marked")
                self._write_checkpoint()

    @contextmanager
    def glancing(self) -> Iterator[Tables]:
        """Read entries and indexes without blocking writers."""
        glance = self.store.glancing()
        if glance is not None:
            with glance as tables:
                yield tables
        else:
            with self._exclusive(), self.store.reading() as tables:
                yield tables

    @contextmanager
    def looking(self) -> Iterator[Transaction]:
        """Look at one state that the mark vouches for, without adding anything to it.

        Guarantee: nothing is shown that a mark does not remember durably. What a writer has committed and not marked
        is marked here first, in its place in the queue of writers; a ledger that is only read waits, then refuses.
        """
        with self._exclusive(), ExitStack() as stack:
            self._approach()
            transaction = self._look(stack) or self._look(
                stack
            )  # a second time, if a writer was between commit and mark
            if transaction is None and self.read_only:
                transaction = self._wait_for_mark(stack)
            elif transaction is None:
                transaction = self._caught_up(stack.enter_context(self.store.writing()), writable=True)
                transaction.writable = False
            yield transaction

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        if self._process != os.getpid():  # a fork that Python did not see
            self.after_fork()
        with self.lock:
            self._refuse_reentry()
            if self._closed:
                raise LedgerUnavailable(
                    f"the ledger {self.name} is closed, and so are its sessions",
                    hint="open it again",
                )
            self._inside = True
            try:
                yield
            finally:
                self._forget_if_unsure()
                self._inside = False

    def _refuse_reentry(self) -> None:
        """Refuse a call from inside a transaction of the same thread: it would end that transaction."""
        if self._inside:
            raise LedgerBusy(
                f"the ledger {self.name} was called from inside one of its own transactions; nothing was written",
                hint="call it after the first call has returned, not from an argument's methods or a signal handler",
            )

    def _approach(self) -> None:
        """Read new entries page by page before the transaction that reads the rest: no writer waits for all.

        Pages that are read at different moments make one history, since every entry holds the hash of the one before
        it; the mark vouches for all of them, in that transaction.
        """
        while (mark := self.mark.read()) is not None and mark.number - self.length > _PAGE:
            with self.store.reading() as tables:
                tables.require_schema()
                if not self._read(tables, mark, _PAGE):
                    return  # entries are missing, which that transaction reports

    def _caught_up(self, tables: Tables, *, writable: bool) -> Transaction:
        """Take in what other processes have written, and compare with the mark.

        The mark is read before the entries: a ledger that is only being read may then be ahead of it, never behind.
        """
        self._forget_if_unsure()
        mark = self.mark.read()
        if mark is None:
            raise LedgerMissing(f"the mark of {self.name} is gone", hint=RESTORE)
        tables.require_schema()  # a later version may have written meanwhile
        self._read(tables, mark)
        self._is_unsure = True  # unless the mark vouches for what was read
        if self._state.ledger != mark.ledger:
            raise LedgerForeign(f"{self.name} is not the ledger that its mark belongs to", hint=RESTORE)
        is_marked = self._state.agrees_with(mark)
        self._is_unsure = False
        if not is_marked and writable:
            if not self.mark.move(mark, self._state.head):  # a copy of this ledger has moved it meanwhile
                return self._caught_up(tables, writable=writable)
            self._at("mark moved")
        self._vouched = self._state.head
        transaction = Transaction(
            self._state, tables, self._filters, self._now, writable=writable, secret=self._secret_of
        )
        transaction.is_marked = is_marked
        return transaction

    def _secret_of(self, create: bool) -> bytes | None:
        if self._secret is None:
            self._secret = self.mark.secret(create=create and not self.read_only)
        return self._secret

    def _look(self, stack: ExitStack) -> Transaction | None:
        """Read one state; None, and the transaction ends, if the mark does not vouch for all of it.

        The mark is read once more after the entries, and has to be their very end. A mark that is further on may be
        that of a copy of this ledger: only the entries up to it could tell.
        """
        transaction = self._caught_up(stack.enter_context(self.store.reading()), writable=False)
        if transaction.is_marked or self.mark.read() == self._state.head:
            return transaction
        stack.close()
        return None

    def _wait_for_mark(self, stack: ExitStack) -> Transaction:
        deadline = time.monotonic() + _PATIENCE
        while (transaction := self._look(stack)) is None:
            if time.monotonic() > deadline:
                raise LedgerUnavailable(
                    f"the ledger {self.name} is ahead of its mark: a writer stopped right after a commit, and "
                    "entries that are not marked yet are not shown",
                    hint="open the ledger for writing once; that moves the mark",
                )
            time.sleep(0.01)
        return transaction

    def _read(self, tables: Tables, mark: Point, most: int | None = None) -> int:
        """Apply the new entries, at most `most` of them, and return how many there were."""
        self._begin_at_checkpoint(tables, mark)
        self._state.reader = tables
        head = self._state.head
        stop = () if most is None else (head.number + most,)
        entries = tables.entries(max(head.number, 1), None, *stop)
        if head.number:
            last = next(entries, None)
            if last is None or last.hash != head.hash:
                raise LedgerRolledBack(
                    f"entry {head.number} of {self.name} was there a moment ago and is not any more", hint=RESTORE
                )
        self._apply(self._derived(entries, mark))
        self._state.take_rows()  # whoever wrote these entries stored them
        vouched = self._vouched
        if most is not None and vouched is not None and vouched.number > self._state.head.number:
            vouched = None  # the entry is on a later page
        if vouched is not None and self._state.hash_of(vouched.number) != vouched.hash:
            raise LedgerRolledBack(
                f"entry {vouched.number} of {self.name} is not the one it was a moment ago", hint=RESTORE
            )
        self._is_unsure = False
        return self._state.head.number - head.number

    def _begin_at_checkpoint(self, tables: Tables, mark: Point) -> None:
        """Restart at the last checkpoint that the mark remembers, unless this state begins there or later.

        The mark is compared after the entries from there on were read: it vouches for the checkpoint through them.
        """
        start = self._state.hashes.base + 1  # which the mark does not remember yet if it was written here
        checkpoint = tables.last_checkpoint(max(mark.number, start))
        if start > 1 and (checkpoint is None or checkpoint < start):
            self._state, start = State(), 1  # indexes were derived anew meanwhile
        if checkpoint is not None and checkpoint > start and is_known(tables.entry(checkpoint)):
            self._state = state_at(tables, checkpoint, tables.checkpoint(checkpoint))

    def _derived(self, entries: Iterable[Entry], mark: Point) -> Iterator[Entry]:
        """Yield the entries; a checkpoint that the mark does not remember yet has to follow from those before it."""
        for new_entry in entries:
            if new_entry.number > mark.number and is_known(new_entry):
                require_derived(self._state, new_entry)
            yield new_entry

    def _write_checkpoint(self) -> None:
        """Write a checkpoint if one is due. If the ledger is busy or unavailable, a later writer does it.

        It is derived from this state, which then continues from it. The mark is moved afterwards, as after a commit.
        """
        if self._state.head.number - self._state.hashes.base < self._every:
            return
        with suppress(LedgerBusy, LedgerUnavailable):
            with self.store.writing() as tables:
                transaction = self._caught_up(tables, writable=True)
                if self._state.head.number - self._state.hashes.base < self._every:
                    return  # somebody else was faster
                checkpoint = checkpoint_of(self._state)
                self._at("checkpoint derived")
                tables.keep_checkpoint(transaction.next_number(), checkpoint.text, checkpoint.chunks)
                transaction.add("checkpoint", content_of(checkpoint.text))
                self._at("checkpoint written")
                self._is_unsure = True
                advance(self._state, checkpoint, forget=True)
                self._take(transaction)
            self._is_unsure = False
            self._at("checkpoint committed")
            self._move_mark()
            self._at("checkpoint marked")

    def _take(self, transaction: Transaction) -> None:
        """Apply what a transaction adds before it is committed; until the commit returns, the state is not trusted."""
        self._apply(transaction.entries)
        transaction.keep_rows()
        for level, snapshot, guard in transaction.charged:
            self._filters.keep(level, snapshot, guard)

    def _apply(self, entries: Iterable[Entry]) -> None:
        self._is_unsure = True
        for new_entry in entries:
            self._state.apply(new_entry)

    def _forget_if_unsure(self) -> None:
        """Drop a state that may not match the database, as something failed between applying and committing."""
        if self._is_unsure:
            self._state, self._filters, self._is_unsure = State(), Filters(), False

    def _move_mark(self) -> None:
        """Move the mark to the ledger's end unless another writer already did; the ledger's own lock orders marks.

        Guarantee: what another copy of the ledger has marked is not taken for this one's end, however far it is: of two
        copies that share a mark, one is refused before it releases anything.
        """
        mark, head = self.mark.read(), self._state.head
        if mark is None or mark.number < head.number:
            with self.store.writing() as tables:
                last = [entry.hash for entry in tables.entries(head.number, None, head.number + 1)]
                vouched = self._vouched
                if last == [head.hash] and vouched is not None and self.mark.move(vouched, head):  # nobody was faster
                    self._vouched = head
                    self._at("mark moved")
                else:
                    self._caught_up(tables, writable=True)
        elif mark != head:
            with self.store.reading() as tables:
                self._caught_up(tables, writable=False)
