"""Authenticated indexes: hashes that vouch for entries, and where in the chain something is.

Hashes that vouch for every entry, without all entries in memory: those of the last ones, and of every sixteenth.

Guarantee: an entry is given out only if a chain of hashes leads to it from one that is known: every entry holds the
hash of the one before, so whoever knows the hash of a later one can check all on the way to it.

Where in the chain something is: which entry has this key, asks this question, settles this reservation.

What a ledger of a million charges has to look up does not fit into memory. It lies in a table of the database, as pairs
of a name's hash and the number of an entry, in 65,536 buckets, and the chain commits to every bucket: a checkpoint
holds, for each, the hash of all its pairs, one after the other.

Guarantee: whoever looks something up reads its whole bucket and compares it with that hash. So nothing is found that
the chain does not say, and nothing that it says is missed: a pair that was changed, moved, added or deleted is
LedgerDamaged for whoever would have been misled. Pairs since the checkpoint are kept in memory, and are not read.
"""

from __future__ import annotations

from hashlib import sha256
from struct import Struct
from typing import TYPE_CHECKING, final

from giveortake.errors import LedgerDamaged
from giveortake.ledger.chain.entries import INDEX, NOTHING, RESTORE, canonical, read_entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from giveortake.ledger.chain.entries import Entry, Json
    from giveortake.ledger.chain.store import Tables


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
