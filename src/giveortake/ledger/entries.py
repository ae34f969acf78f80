"""Entries of the chain: each holds the hash of the one before, so that none can be changed, dropped or moved."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from giveortake.errors import LedgerDamaged
from giveortake.ledger.canonical import canonical, digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from giveortake.ledger.canonical import Json

FORMAT = "giveortake ledger 1"
NOTHING = "0" * 64  # what the first entry follows
_FIELDS = {"at", "content", "kind", "number", "previous"}


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened. `number` orders entries; `at` is what the clock said, and decides nothing.

    Guarantee: `hash` is the SHA-256 of `body`, the canonical JSON of all other fields, among them the hash of the entry
    before. Whoever knows the last hash can check every entry.
    """

    number: int
    kind: str
    at: str
    previous: str
    content: Mapping[str, Any]
    body: str
    hash: str


@final
@dataclass(frozen=True, slots=True)
class Point:
    """A place in the chain of one ledger: how far it reached, and the hash there."""

    ledger: str
    number: int
    hash: str


def entry(number: int, kind: str, at: str, previous: str, content: dict[str, Json]) -> Entry:
    """A new entry after the one whose hash is `previous`."""
    body = canonical({"number": number, "kind": kind, "at": at, "previous": previous, "content": content})
    return Entry(number, kind, at, previous, json.loads(body)["content"], body, digest(body))  # as it will be read


def read_entry(number: object, body: object, stored: object, previous: str | None = None) -> Entry:
    """An entry as it was stored; refused unless it matches its hash, its number and the entry before."""
    if not (isinstance(number, int) and isinstance(body, bytes | str) and isinstance(stored, bytes | str)):
        raise LedgerDamaged(f"entry {number} is not stored as an entry is", hint=RESTORE)
    written = body.encode() if isinstance(body, str) else body
    found = digest(written)
    if found != (stored if isinstance(stored, str) else stored.decode("ascii", "replace")):
        raise LedgerDamaged(f"entry {number} does not match its hash", hint=RESTORE)
    content = json.loads(written)
    if not isinstance(content, dict) or set(content) != _FIELDS or content["number"] != number:
        raise LedgerDamaged(f"entry {number} is not where it belongs", hint=RESTORE)
    if previous is not None and content["previous"] != previous:
        raise LedgerDamaged(f"entry {number} does not follow the entry before it", hint=RESTORE)
    text = written.decode("ascii")
    return Entry(number, content["kind"], content["at"], content["previous"], content["content"], text, found)


UPGRADE = "upgrade giveortake"
RESTORE = "docs/how-to-restore-a-ledger.md says how the owner brings a ledger back"
