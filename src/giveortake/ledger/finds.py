"""Where in the chain something is: which entry has this key, asks this question, settles this reservation.

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
from giveortake.ledger.entries import INDEX, RESTORE, canonical
from giveortake.ledger.hashes import Array

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.ledger.entries import Json
    from giveortake.ledger.store import Transaction

BUCKETS = 1 << 16
_MOST_KEPT = 512  # buckets
_NAME = 16  # bytes
_PLACES = Struct(">4I")  # a name as four places in a sieve
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
        for place in _PLACES.unpack(name):
            self._bits[(place & self._mask) >> 3] |= 1 << (place & 7)

    def __contains__(self, name: bytes) -> bool:
        bits, mask = self._bits, self._mask
        return all(bits[(place & mask) >> 3] >> (place & 7) & 1 for place in _PLACES.unpack(name))


@final
class Finds:
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

    def numbers(self, name: bytes, reader: Transaction | None) -> list[int]:
        """The entries that are found by a name, in order."""
        here = self._here.get(name, [])
        if not self.base or (self._sieve is not None and name not in self._sieve):
            return here
        bucket = bucket_of(name)
        known = self._read.get(bucket)
        if known is None:
            known = self._bucket(bucket, reader)
        return known.get(name, []) + here

    def sealed(self, reader: Transaction | None) -> Array:
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

    def _bucket(self, bucket: int, reader: Transaction | None) -> dict[bytes, list[int]]:
        rows = () if reader is None else reader.finds(bucket, self.base)
        hashed, found = folded(rows)
        if hashed != self.buckets.get(bucket, reader):
            raise LedgerDamaged(INDEX, hint=RESTORE)
        if len(self._read) >= _MOST_KEPT:
            self._read.clear()
        self._read[bucket] = found
        return found


def folded(rows: Iterable[tuple[int, bytes]]) -> tuple[bytes, dict[bytes, list[int]]]:
    """The chained hash of a bucket's pairs, and the numbers of entries by name."""
    hashed = bytes(32)
    found: dict[bytes, list[int]] = {}
    for number, name in rows:
        hashed = chained(hashed, number, name)
        found.setdefault(name, []).append(number)
    return hashed, found
