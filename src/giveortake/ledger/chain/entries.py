"""Entries of the chain, and the digests and names that follow from them.

- Entries of the chain: each holds the hash of the one before, so that none can be changed, dropped or moved.
- What they hold is written down in one way, so that equal values have equal hashes on every machine and in every year.
- Events as entries hold them.
- Digests and names that follow from an entry: of its measurement, request and approval, and of the lists it is in.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias, final

from giveortake import codec
from giveortake.errors import InvalidParameter, LedgerDamaged, LedgerTooNew
from giveortake.exact import fraction_text
from giveortake.privacy import Guarantee
from giveortake.privacy.events import Event

if TYPE_CHECKING:
    from collections.abc import Iterator


Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_DEEPEST = 64
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
_MOST_DIGITS = 4000  # Python refuses to read integers of more than 4,300 digits


def canonical(value: Json) -> str:
    """JSON with sorted keys, no spaces and nothing but ASCII.

    >>> canonical({"b": 1, "a": [True, None]})
    '{"a":[true,null],"b":1}'
    """
    return _CANONICAL.encode(value)


def digest(text: str | bytes) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return sha256(text.encode("ascii") if isinstance(text, str) else text).hexdigest()


def plain(name: str, value: object, depth: int = 0) -> Json:
    """A value as JSON: numbers stay exact, and whatever JSON would change or lose is refused.

    >>> plain("domains", {"amount": (0, Fraction(1, 3))})
    {'amount': [0, '1/3']}
    """
    if depth > _DEEPEST:
        raise InvalidParameter(name, "…", f"nests deeper than {_DEEPEST} levels")
    match value:
        case None | bool():
            return value
        case str():
            return _text(name, value)
        case int() if value.bit_length() < 3 * _MOST_DIGITS:
            return int(value)
        case float() if math.isfinite(value):
            return float(value)
        case Fraction():
            return fraction_text(value)
        case Decimal() if value.is_finite():
            return str(value)
        case list() | tuple():
            return [plain(name, part, depth + 1) for part in value]
        case Mapping():
            if not all(isinstance(key, str) for key in value):
                raise InvalidParameter(name, value, "has a key that is not a text, which JSON cannot keep")
            return {_text(name, key): plain(name, part, depth + 1) for key, part in value.items()}
    raise InvalidParameter(
        name, value, f"holds a {type(value).__name__} that JSON cannot keep", hint="pass texts, numbers, lists, dicts"
    )


def _text(name: str, value: str) -> str:
    """Return a text; refuse a lone surrogate, since two halves would merge when they are read again."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidParameter(
            name, "…", "contains half a character (a lone surrogate), which cannot be stored"
        ) from None
    return value


_LONGEST = 200
LONGEST_REASON = 1000


def named(parameter: str, name: object) -> str:
    """Return a name if it is printable, not blank and not too long."""
    longest = LONGEST_REASON if parameter == "reason" else _LONGEST
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > longest:
        raise InvalidParameter(parameter, name, f"is not a text of 1 to {longest} printable characters")
    return name


FORMAT = "giveortake ledger 1"
NOTHING = "0" * 64  # what the first entry follows
_FIELDS = {"at", "content", "kind", "number", "previous"}


@final
@dataclass(frozen=True, slots=True, repr=False)
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

    def __repr__(self) -> str:
        return f"<Entry {self.number}, {self.kind}, {self.at}: its content has {', '.join(self.content) or 'nothing'}>"


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
    encoded = body.encode() if isinstance(body, str) else body
    entry_hash = digest(encoded)
    if entry_hash != (stored if isinstance(stored, str) else stored.decode("ascii", "replace")):
        raise LedgerDamaged(f"entry {number} does not match its hash", hint=RESTORE)
    content = json.loads(encoded)
    if not isinstance(content, dict) or set(content) != _FIELDS or content["number"] != number:
        raise LedgerDamaged(f"entry {number} is not where it belongs", hint=RESTORE)
    if previous is not None and content["previous"] != previous:
        raise LedgerDamaged(f"entry {number} does not follow the entry before it", hint=RESTORE)
    text = encoded.decode("ascii")
    return Entry(number, content["kind"], content["at"], content["previous"], content["content"], text, entry_hash)


UPGRADE = "upgrade giveortake"
BEGIN = "check the path; the first question, or `giveortake serve`, begins a ledger"
RESTORE = "`giveortake ledger restore --help` says how the custodian restores a ledger"
INDEX = "an index of the ledger is not what the chain says"


def event_from_dict(content: Any) -> Event:
    """The event that an entry holds."""
    event: Event = _read(Event, content)
    return event


def promise_from_json(content: Any) -> Guarantee:
    """The budget that an entry holds."""
    guarantee: Guarantee = _read(Guarantee, content)
    return guarantee


def _read(hint: Any, content: Any) -> Any:
    try:
        return codec.read(hint, content, what="entry")
    except InvalidParameter as error:  # its entry's hash is right, so a later version wrote it
        raise LedgerTooNew(f"the ledger holds what is unknown here: {error.message}", hint=UPGRADE) from error


@lru_cache(maxsize=1024)
def entries_of(analyst: str) -> str:
    """The name of the list of an analyst's entries."""
    return canonical(["entries", analyst])


@lru_cache(maxsize=1024)
def asked_of(analyst: str | None, dataset: str | None) -> str:
    """The name of a list of reservations: of everybody or one analyst, to all data sets or one."""
    return canonical(["asked", analyst, dataset])


_ASKED = ("analyst", "dataset", "event", "key", "name")


def request_digest(content: Mapping[str, Any]) -> str:
    """A digest of everything that was asked, but not when: what an idempotency key is bound to."""
    return digest(canonical({name: content.get(name) for name in _ASKED}))


def approval_digest(content: Mapping[str, Any]) -> str:
    """A digest of what an approval covers: what was asked, of which version; with `any_key`, without the key."""
    names = (name for name in (*_ASKED, "version") if not (name == "key" and "any_key" in content))
    return digest(canonical({name: content.get(name) for name in names}))


def approval_digests(content: Mapping[str, Any]) -> tuple[str, str]:
    """The digests under which a spend may have been approved: without its key, and with it."""
    return approval_digest({**content, "any_key": True}), approval_digest(content)


def measurement_digest(content: Mapping[str, Any]) -> str | None:
    """A digest of a measurement, its data set and version, and what was spent; None if it has no name."""
    if content["name"] is None:
        return None
    return digest(canonical({name: content[name] for name in ("dataset", "event", "name", "version")}))


def charges(entry: Entry) -> Iterator[tuple[int, Any]]:
    """The levels that an entry charges, each with the event in its own unit, as JSON."""
    if entry.kind in {"reserved", "restored"}:
        for level, grouped in entry.content["levels"].items():
            yield int(level), grouped or entry.content["event"]
