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


def name_of(kind: str, *parts: Json) -> bytes:
    """What something is found by: 128 bits of a hash."""
    return sha256(canonical([kind, *parts]).encode("ascii")).digest()[:_NAME]


def bucket_of(name: bytes) -> int:
    """The bucket that a name belongs to."""
    return int.from_bytes(name[:2], "big")


def chained(before: bytes, number: int, name: bytes) -> bytes:
    """The hash of a bucket after one more pair."""
    return sha256(before + number.to_bytes(8, "big") + name).digest()


@final
class Finds:
    """Everything that can be looked up: since entry `base` in memory, before that in the database."""

    def __init__(self, base: int = 0, buckets: Array | None = None) -> None:
        self.base = base
        self.buckets = buckets or Array("finds")
        self._pairs: list[tuple[int, int, bytes]] = []  # bucket, number, name: since the hashes of buckets were sealed
        self._here: dict[bytes, list[int]] = {}
        self._read: dict[int, dict[bytes, list[int]]] = {}

    def add(self, number: int, name: bytes) -> tuple[int, int, bytes]:
        """Say that an entry is found by a name. The row that says so in the database is returned."""
        row = bucket_of(name), number, name
        self._pairs.append(row)
        self._here.setdefault(name, []).append(number)
        return row

    def numbers(self, name: bytes, reader: Transaction | None) -> list[int]:
        """The entries that are found by a name, in order."""
        here = self._here.get(name, [])
        if not self.base:
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
    """The hash of a bucket's pairs, and what they say."""
    hashed = bytes(32)
    found: dict[bytes, list[int]] = {}
    for number, name in rows:
        hashed = chained(hashed, number, name)
        found.setdefault(name, []).append(number)
    return hashed, found
