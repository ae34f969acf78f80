"""What one analyst may read of a ledger: their own entries, numbered among themselves, and nothing about others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

from giveortake.errors import LedgerDamaged
from giveortake.ledger.book import OF_RESERVATIONS
from giveortake.ledger.digests import entries_of
from giveortake.ledger.entries import INDEX, RESTORE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from giveortake.ledger.entries import Entry
    from giveortake.ledger.hashes import Hashes
    from giveortake.ledger.store import Transaction

_SHOWN = {
    "alias": ("key", "release"),
    "analyst": ("datasets", "budget", "approval_above", "failures", "questions"),
    "reserved": ("id", "dataset", "version", "event", "key", "request", "question", "asked", "record"),
    "drawn": ("place", "drawn"),
    "settled": ("answer",),
    "defect": (),
    "failed": (),
    "repeated": (),
    "forgiven": ("reason",),
    "budget": ("budget", "reason"),
    "revoked": ("reason",),
    "readmitted": ("reason",),
    "approved": ("reason", "expires"),
    "denied": ("reason",),
    "requested": ("id", "dataset", "version", "event", "key", "request", "question", "asked", "record"),
}

PAGE = 1000  # entries that are read at once


@final
@dataclass(frozen=True, slots=True)
class View:
    """A ledger up to an entry that the mark vouches for, as it is read without blocking writers.

    Guarantee: every entry that it gives out is checked against the chain; an analyst is given entries of their own
    alone, whatever the index says.
    """

    hashes: Hashes
    head: int
    levels: frozenset[int] = frozenset()  # of the analyst
    owned: int = 0  # entries of the analyst

    def entries(self, reader: Transaction, after: int, limit: int) -> list[Entry]:
        """At most `limit` entries, at most a page of them, with numbers greater than `after`."""
        stop = min(after + min(limit, PAGE), self.head)
        return self.hashes.page(after + 1, stop, reader) if after < stop else []

    def of_analyst(self, reader: Transaction, analyst: str, after: int, limit: int) -> list[Entry]:
        """The entries of one analyst. Numbers, hashes and levels of the chain would reveal how busy others are."""
        stop = min(after + min(limit, PAGE), self.owned)
        rows = reader.listed(entries_of(analyst), after, stop) if after < stop else []
        if [place for place, _ in rows] != list(range(after + 1, stop + 1)):
            raise LedgerDamaged(INDEX, hint=RESTORE)
        return list(self._shown(rows, analyst, reader))

    def _shown(self, rows: list[tuple[int, int]], analyst: str, reader: Transaction) -> Iterator[Entry]:
        for place, number in rows:
            if not 0 < number <= self.head:
                raise LedgerDamaged(INDEX, hint=RESTORE)
            entry = self.hashes.entry(number, reader)
            about = entry
            if entry.kind in OF_RESERVATIONS:
                about = self.hashes.entry(entry.content["reservation"], reader)
            if not self._is_of(analyst, entry, about):
                raise LedgerDamaged(INDEX, hint=RESTORE)
            content: dict[str, Any] = {
                name: entry.content[name] for name in _SHOWN[entry.kind] if name in entry.content
            }
            if about.kind == "reserved":
                content["id"] = about.content["id"]
            yield replace(entry, number=place, content=content, previous="", body="", hash="")

    def _is_of(self, analyst: str, entry: Entry, about: Entry) -> bool:
        if entry.kind not in _SHOWN:
            return False
        if entry.kind in {"budget", "forgiven"}:
            return entry.content["level"] in self.levels
        return bool(about.content.get("name" if entry.kind == "analyst" else "analyst") == analyst)
