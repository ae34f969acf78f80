"""What one analyst may read of a ledger: their own entries, numbered among themselves, without a word on others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from giveortake.ledger.book import Book
    from giveortake.ledger.entries import Entry

_SHOWN = {
    "analyst": ("datasets", "budget", "approval_above", "failures", "questions"),
    "reserved": ("id", "dataset", "version", "event", "key", "request", "question", "asked", "record"),
    "drawn": ("place", "drawn"),
    "settled": ("answer",),
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

_OF_ANALYSTS = frozenset({"reserved", "requested", "approved", "denied", "revoked", "readmitted"})
_OF_RESERVATIONS = frozenset({"drawn", "settled", "failed", "repeated"})


def of_analyst(entries: Iterable[Entry], book: Book, analyst: str) -> Iterator[Entry]:
    """The entries of an analyst. Numbers, hashes and levels of the whole chain would tell how busy others are."""
    levels = {grant.level.number for grant in book.grants_of(analyst)}
    mine = {number for number, reserved in book.reservations.items() if reserved.analyst == analyst}
    count = 0
    for entry in entries:
        content = entry.content
        if (
            (entry.kind == "analyst" and content["name"] == analyst)
            or (entry.kind in _OF_ANALYSTS and content.get("analyst") == analyst)
            or (entry.kind in _OF_RESERVATIONS and content["reservation"] in mine)
            or (entry.kind in {"budget", "forgiven"} and content["level"] in levels)
        ):
            count += 1
            yield replace(entry, number=count, content=_shown(entry, book), previous="", body="", hash="")


def _shown(entry: Entry, book: Book) -> dict[str, Any]:
    content = {name: entry.content[name] for name in _SHOWN[entry.kind] if name in entry.content}
    if entry.kind == "reserved":
        content["id"] = book.reservations[entry.number].id
    if entry.kind in _OF_RESERVATIONS:
        content["id"] = book.reservations[entry.content["reservation"]].id
    return content
