"""Entries of the chain, the digests and names that follow from them, and the authenticated indexes that find them.

Each entry holds the hash of the one before, so that none can be changed, dropped or moved. What it holds is written in
one way, so that equal values have equal hashes on every machine and in every year.

`Hashes` vouch for every entry, without all entries in memory: those of the last ones, and of every sixteenth.

Guarantee: an entry is given out only if a chain of hashes leads to it from one that is known: every entry holds the
hash of the one before, so whoever knows the hash of a later one can check all on the way to it.

`EntryIndex` says where in the chain something is: which entry has this key, asks this question, settles this
reservation. What a ledger of a million charges has to look up does not fit into memory. It lies in a table of the
database, as pairs of a name's hash and the number of an entry, in 65,536 buckets, and the chain commits to every
bucket: a checkpoint holds, for each, the hash of all its pairs, one after the other.

Guarantee: whoever looks something up reads its whole bucket and compares it with that hash. So nothing is found that
the chain does not say, and nothing that it says is missed: a pair that was changed, moved, added or deleted is
LedgerDamaged for whoever would have been misled. Pairs since the checkpoint are kept in memory, and are not read.
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
from struct import Struct
from typing import TYPE_CHECKING, Any, TypeAlias, final

from giveortake import codec
from giveortake.errors import InvalidParameter, LedgerDamaged, LedgerTooNew
from giveortake.exact import fraction_text
from giveortake.privacy import Guarantee
from giveortake.privacy.events import Event

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from giveortake.ledger.chain.store import Tables


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


STRIDE = 16  # every so many entries one hash is kept for good
_CHUNK = 256  # hashes that are stored, read and checked together
_HASH = 32  # bytes
_PREVIOUS = b',"previous":"'  # how the end of every body begins


@final
class Array:
    """A long list of hashes in chunks that are read when needed; `top` holds the hash of each chunk.

    Guarantee: what `get` returns is what was set when `top` was written down, or LedgerDamaged.
    """

    def __init__(self, name: str, top: list[str] | None = None, until: int = 0) -> None:
        self.name = name
        self.top = list(top or ())
        self._until = until  # the checkpoint whose chunks are meant
        self._chunks: dict[int, bytes | bytearray] = {}
        self._changed: set[int] = set()

    def copy(self) -> Array:
        """A copy, which can be changed by itself."""
        twin = Array(self.name, self.top, self._until)
        twin._chunks = dict(self._chunks)
        return twin

    def get(self, index: int, reader: Tables | None) -> bytes:
        """The hash at an index; zeros where none was set."""
        chunk, offset = divmod(index, _CHUNK)
        return bytes(self._chunk(chunk, reader)[offset * _HASH : (offset + 1) * _HASH])

    def set(self, index: int, value: bytes, reader: Tables | None) -> None:
        """Set the hash at an index; call `seal` before reading `top` again."""
        chunk, offset = divmod(index, _CHUNK)
        if chunk not in self._changed:
            self._chunks[chunk] = bytearray(self._chunk(chunk, reader))
            self._changed.add(chunk)
        self._chunks[chunk][offset * _HASH : (offset + 1) * _HASH] = value  # type: ignore[index]  # (made one above)

    def items(self) -> Iterator[tuple[int, bytes]]:
        """The hashes in memory that were set, each with its index."""
        for chunk, content in sorted(self._chunks.items()):
            for offset in range(_CHUNK):
                value = bytes(content[offset * _HASH : (offset + 1) * _HASH])
                if value != bytes(_HASH):
                    yield chunk * _CHUNK + offset, value

    def seal(self) -> dict[int, bytes]:
        """Put the hashes of the changed chunks into `top`, and return these chunks by their index."""
        changed = {chunk_index: bytes(self._chunks[chunk_index]) for chunk_index in sorted(self._changed)}
        for chunk_index, content in changed.items():
            self.top += [""] * (chunk_index + 1 - len(self.top))
            self.top[chunk_index] = sha256(content).hexdigest()
        self._changed.clear()
        return changed

    def _chunk(self, chunk_index: int, reader: Tables | None) -> bytes | bytearray:
        chunk = self._chunks.get(chunk_index)
        if chunk is None:
            if chunk_index >= len(self.top) or not self.top[chunk_index]:
                return bytes(_CHUNK * _HASH)
            read = None if reader is None else reader.chunk(self.name, chunk_index, self._until)
            if read is None or sha256(read).hexdigest() != self.top[chunk_index]:
                raise LedgerDamaged(f"the {self.name} of a checkpoint are not what the chain says", hint=RESTORE)
            chunk = self._chunks[chunk_index] = read
        return chunk


@final
class Hashes:
    """The hashes of a chain: in memory from entry `base` on, before that one of every sixteen, in chunks."""

    def __init__(self, base: int = 0, last: str = NOTHING, anchors: Array | None = None) -> None:
        self.base = base
        self.anchors = anchors or Array("anchors")
        self._tail = bytearray.fromhex(last)
        self._sealed = base  # how far one of every sixteen is in the chunks

    @property
    def head(self) -> int:
        """The number of the last entry."""
        return self.base + len(self._tail) // _HASH - 1

    def append(self, new: str) -> None:
        """Add the hash of one more entry."""
        self._tail += bytes.fromhex(new)

    def hash_of(self, number: int, reader: Tables | None) -> str:
        """The hash of an entry; for 0, the constant that the first entry follows."""
        if number >= self.base:
            start = (number - self.base) * _HASH
            return self._tail[start : start + _HASH].hex()
        if not number:
            return NOTHING
        return self.entry(number, reader).hash if number % STRIDE else self._anchor(number, reader)

    def entry(self, number: int, reader: Tables | None) -> Entry:
        """One entry, checked against a hash that is known."""
        return self.page(number, number, reader)[0]

    def page(self, start: int, stop: int, reader: Tables | None) -> list[Entry]:
        """The entries from `start` to `stop`, each checked against a hash that is known."""
        end = stop if stop >= self.base else min(-(-stop // STRIDE) * STRIDE, self.base)
        rows = [] if reader is None else reader.between(start, end)
        if [row[0] for row in rows] != list(range(start, end + 1)):
            raise LedgerDamaged(f"an entry between {start} and {end} is missing", hint=RESTORE)
        expected = self.hash_of(end, reader) if end >= self.base else self._anchor(end, reader)
        entries = []
        for number, body, stored in reversed(rows):
            if number <= stop:
                entry = read_entry(number, body, stored)
                entry_hash, expected_before = entry.hash, entry.previous
                entries.append(entry)
            else:
                entry_hash, expected_before = _passed(body)
            if entry_hash != expected:
                raise LedgerDamaged(f"entry {number} was replaced", hint=RESTORE)
            expected = expected_before
        return entries[::-1]

    def sealed(self, reader: Tables | None) -> Array:
        """The list that holds one of every sixteen hashes so far."""
        anchors = self.anchors.copy()
        for anchor in range(self._sealed // STRIDE + 1, self.head // STRIDE + 1):
            anchors.set(anchor - 1, bytes.fromhex(self.hash_of(anchor * STRIDE, reader)), reader)
        return anchors

    def advance(self, anchors: Array, *, forget: bool) -> None:
        """Go on with a list that was sealed; with `forget`, only the last hash stays in memory."""
        self.anchors, self._sealed = anchors, self.head
        if forget:
            self.base, self._tail = self.head, self._tail[-_HASH:]

    def _anchor(self, number: int, reader: Tables | None) -> str:
        return self.anchors.get(number // STRIDE - 1, reader).hex()


def _passed(body: object) -> tuple[str, str]:
    """The hash of an entry that is only on the way to another one, and the previous hash, which its body ends with."""
    encoded = body.encode() if isinstance(body, str) else body
    if not isinstance(encoded, bytes) or encoded[-79:-66] != _PREVIOUS:
        raise LedgerDamaged("an entry is not stored as an entry is", hint=RESTORE)
    return sha256(encoded).hexdigest(), encoded[-66:-2].decode("ascii", "replace")


BUCKETS = 1 << 16
_MOST_KEPT = 512  # buckets
_NAME = 16  # bytes
_POSITIONS = Struct(">4I")  # a name as four positions in a sieve
_BITS = 16  # of a sieve for every name: one in three hundred that it lets through was never added


def name_of(kind: str, *parts: Json) -> bytes:
    """The name under which an entry is found: 128 bits of a hash."""
    return sha256(canonical([kind, *parts]).encode("ascii")).digest()[:_NAME]


def bucket_of(name: bytes) -> int:
    """The bucket that a name belongs to."""
    return int.from_bytes(name[:2], "big")


def chained(before: bytes, number: int, name: bytes) -> bytes:
    """The hash of a bucket after one more pair."""
    return sha256(before + number.to_bytes(8, "big") + name).digest()


@final
class Sieve:
    """A Bloom filter of names, in two bytes each; a few that were not added pass it too [Blo70].

    Guarantee: every name that was added is in it, however many there are; so whoever is not in it was never added.
    """

    def __init__(self, names: int) -> None:
        self._mask = (1 << min(32, (_BITS * names).bit_length())) - 1
        self._bits = bytearray((self._mask >> 3) + 1)

    def add(self, name: bytes) -> None:
        """Add a name."""
        for position in _POSITIONS.unpack(name):
            self._bits[(position & self._mask) >> 3] |= 1 << (position & 7)

    def __contains__(self, name: bytes) -> bool:
        bits, mask = self._bits, self._mask
        return all(bits[(position & mask) >> 3] >> (position & 7) & 1 for position in _POSITIONS.unpack(name))


@final
class EntryIndex:
    """Entries by their names: those after entry `base` in memory, those before in the database.

    With a `sieve`, which has to be there from the first name on, only what it lets through is looked up there.
    """

    def __init__(self, base: int = 0, buckets: Array | None = None, sieve: Sieve | None = None) -> None:
        self.base = base
        self._sieve = sieve
        self.buckets = buckets or Array("finds")
        self._pairs: list[tuple[int, int, bytes]] = []  # bucket, number, name: since the hashes of buckets were sealed
        self._here: dict[bytes, list[int]] = {}
        self._read: dict[int, dict[bytes, list[int]]] = {}

    def add(self, number: int, name: bytes) -> tuple[int, int, bytes]:
        """Note that an entry is found by a name, and return the row for the database."""
        row = bucket_of(name), number, name
        self._pairs.append(row)
        self._here.setdefault(name, []).append(number)
        if self._sieve is not None:
            self._sieve.add(name)
        return row

    def numbers(self, name: bytes, reader: Tables | None) -> list[int]:
        """The entries that are found by a name, in order."""
        recent = self._here.get(name, [])
        if not self.base or (self._sieve is not None and name not in self._sieve):
            return recent
        bucket = bucket_of(name)
        numbers_by_name = self._read.get(bucket)
        if numbers_by_name is None:
            numbers_by_name = self._bucket(bucket, reader)
        return numbers_by_name.get(name, []) + recent

    def sealed(self, reader: Tables | None) -> Array:
        """The hashes of all buckets so far."""
        buckets = self.buckets.copy()
        for bucket, number, name in sorted(self._pairs):
            buckets.set(bucket, chained(buckets.get(bucket, reader), number, name), reader)
        return buckets

    def advance(self, buckets: Array, base: int, *, forget: bool) -> None:
        """Go on with the hashes that were sealed; with `forget`, pairs up to `base` are looked up from now on."""
        self.buckets = buckets
        self._pairs.clear()
        if forget:
            self.base = base
            self._here.clear()
            self._read.clear()

    def _bucket(self, bucket: int, reader: Tables | None) -> dict[bytes, list[int]]:
        rows = () if reader is None else reader.finds(bucket, self.base)
        hashed, numbers_by_name = folded(rows)
        if hashed != self.buckets.get(bucket, reader):
            raise LedgerDamaged(INDEX, hint=RESTORE)
        if len(self._read) >= _MOST_KEPT:
            self._read.clear()
        self._read[bucket] = numbers_by_name
        return numbers_by_name


def folded(rows: Iterable[tuple[int, bytes]]) -> tuple[bytes, dict[bytes, list[int]]]:
    """The chained hash of a bucket's pairs, and the numbers of entries by name."""
    hashed = bytes(32)
    numbers_by_name: dict[bytes, list[int]] = {}
    for number, name in rows:
        hashed = chained(hashed, number, name)
        numbers_by_name.setdefault(name, []).append(number)
    return hashed, numbers_by_name
