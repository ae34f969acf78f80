"""Drafts: the entries and filter states that a transaction adds to a ledger until it is committed."""

from __future__ import annotations

import hmac
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, final

from giveortake.accounting.filters import filter as filter_of
from giveortake.errors import LedgerDamaged, LedgerMismatch, LedgerUnavailable
from giveortake.exact import shorter_up
from giveortake.ledger.entries import NOTHING, RESTORE, canonical, digest, entry, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from fractions import Fraction

    from giveortake.accounting.filters import Filter
    from giveortake.ledger.book import Book
    from giveortake.ledger.entries import Entry, Json
    from giveortake.ledger.levels import Level
    from giveortake.ledger.store import Transaction
    from giveortake.privacy import Guarantee

KEYED = "hmac-sha256:"  # how a fingerprint begins that was made with the secret beside the mark


def clock() -> str:
    """The time of day. It is written down for people and decides nothing."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def new_filter(budget: Guarantee) -> Filter:
    """A filter that has admitted nothing yet."""
    return filter_of(budget)


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
        self._kept: dict[int, tuple[str, Filter]] = {}
        self._affordable: dict[int, tuple[str, Fraction]] = {}

    def of(self, level: Level, transaction: Transaction) -> Filter | None:
        """The filter of a level as the chain left it; None if the level has no cap of its own."""
        if level.budget is None or level.snapshot is None:
            return None
        kept = self._kept.get(level.number)
        if kept is not None and kept[0] == level.snapshot:
            return kept[1]
        text = transaction.snapshot(level.number)
        if text is None or not text.isascii() or digest(text) != level.snapshot:
            raise LedgerDamaged(
                f"what is stored as spent by the {level.kind} {level.name!r} is not what the chain says", hint=RESTORE
            )
        assert level.guarded is not None  # noqa: S101 (it has a budget)
        guard = filter_of(level.guarded, snapshot=json.loads(text))
        self._kept[level.number] = level.snapshot, guard
        return guard

    def affordable(self, level: Level, transaction: Transaction) -> Fraction | None:
        """The greatest ε, up to rounding, that a level's filter admits; searched once for each of its states."""
        guard = self.of(level, transaction)
        if guard is None or level.snapshot is None:
            return None
        known = self._affordable.get(level.number)
        if known is None or known[0] != level.snapshot:
            known = self._affordable[level.number] = level.snapshot, guard.affordable()
        return known[1]

    def keep(self, level: int, snapshot: str, guard: Filter) -> None:
        """Remember a filter whose state has been committed."""
        self._kept[level] = snapshot, guard


@final
class Draft:
    """Entries that are written and not yet committed."""

    def __init__(
        self,
        book: Book,
        transaction: Transaction,
        filters: Filters,
        now: Callable[[], str],
        *,
        writable: bool,
        secret: Callable[[bool], bytes | None] = lambda _create: None,
    ) -> None:
        self.book = book
        self.entries: list[Entry] = []
        self.charged: list[tuple[int, str, Filter]] = []
        self._transaction = transaction
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
        return self._filters.of(level, self._transaction)

    def affordable(self, level: Level) -> Fraction | None:
        """The greatest ε, up to rounding, that a level's filter admits; None if it has no cap."""
        return self._filters.affordable(level, self._transaction)

    def state_of(self, level: Level) -> str | None:
        """What the database holds as the state of a level's filter, unchecked."""
        return self._transaction.snapshot(level.number)

    def stored(self, number: int) -> Entry:
        """An entry of the chain, checked against the hash that the book remembers."""
        return self.book.hashes.entry(number, self._transaction)

    def history(self) -> Iterator[Entry]:
        """All entries of the chain."""
        return self._transaction.entries(1, NOTHING)

    def listed(self, name: str, after: int, stop: int) -> list[tuple[int, int]]:
        """The places and numbers of entries in a list, unchecked."""
        return self._transaction.listed(name, after, stop)

    def keep_rows(self) -> None:
        """Store the index rows of the entries that the book has applied."""
        self._transaction.keep(self.book.take_rows())

    def next_number(self) -> int:
        """The number of the entry that is added next."""
        return self.book.head.number + len(self.entries) + 1

    def add(self, kind: str, content: dict[str, Json], filters: Mapping[int, Filter] | None = None) -> Entry:
        """Write one more entry, and the states in which it leaves the filters of some levels."""
        if not self.writable:
            raise LedgerUnavailable("the ledger was opened for reading only")
        if self.by is not None:
            content = content | {"by": self.by}
        previous = self.entries[-1].hash if self.entries else self.book.head.hash
        states = {level: snapshot_of(guard) for level, guard in (filters or {}).items()}
        if states:
            content = content | {
                "snapshots": {str(level): digest(state) for level, state in states.items()},
                "used": {str(level): used(guard) for level, guard in (filters or {}).items()},
            }
        new = entry(self.next_number(), kind, self._now(), previous, content)
        self._transaction.append(new)
        for level, state in states.items():
            self._transaction.keep_snapshot(level, state)
        self.entries.append(new)
        self.charged += [(level, digest(state), (filters or {})[level]) for level, state in states.items()]
        return new
