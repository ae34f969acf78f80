"""What a ledger asks of a database: a few statements inside one transaction, the same for every backend."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, final

from giveortake.errors import LedgerDamaged, LedgerTooNew, LedgerTooOld
from giveortake.ledger.entries import RESTORE, UPGRADE, Entry, read_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from giveortake.ledger.book import Rows

    Execute: TypeAlias = Callable[[str, Sequence[Any]], Iterable[tuple[Any, ...]]]
    Notice: TypeAlias = Callable[[str], None]

SCHEMA = 3  # 0.1 wrote 1, and 0.2 wrote 2
_OLD = (
    "read it with the giveortake that wrote it; a new ledger at another path begins with nothing spent, so give it no "
    "more than the old one has left"
)

TABLES = (
    "CREATE TABLE {s}about (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE {s}entries (number BIGINT PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE {s}snapshots (level BIGINT PRIMARY KEY, snapshot TEXT NOT NULL)",
)
# Indexes, which follow from the entries, so that not all of these have to be read: where something is found, lists,
# what was used after each charge, and checkpoints.
INDEXES = (
    "CREATE TABLE {s}finds (bucket BIGINT, number BIGINT, name {bytes}, PRIMARY KEY (bucket, number, name)){packed}",
    "CREATE TABLE {s}lists (name TEXT, place BIGINT, number BIGINT, PRIMARY KEY (name, place)){packed}",
    "CREATE TABLE {s}used (level BIGINT, number BIGINT, share TEXT, PRIMARY KEY (level, number)){packed}",
    "CREATE TABLE {s}checkpoints (number BIGINT PRIMARY KEY, content TEXT)",
    "CREATE TABLE {s}chunks (name TEXT, place BIGINT, number BIGINT, content {bytes}, UNIQUE (name, place, number))",
)
_BUCKETS, _AT_ONCE = 1 << 16, 20_000
_LAST = 2**63 - 1  # a number that no entry has
_ROWS = 32  # that one statement inserts


def silent(_label: str) -> None:
    """Ignore a step, when nobody watches."""


class Store(Protocol):
    """A database that holds one ledger."""

    name: str

    def exists(self) -> bool:
        """Whether there is anything where the ledger should be."""
        ...

    def create(self) -> AbstractContextManager[Transaction]:
        """A transaction in which the tables exist, whether they did before or not."""
        ...

    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction that excludes all other writers from its first moment; durable once it ends well."""
        ...

    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one state and changes nothing."""
        ...

    def glancing(self) -> AbstractContextManager[Transaction] | None:
        """Statements that each see one state and hold no lock between them; None if there is only one connection."""
        ...

    def abandon(self) -> None:
        """Forget a connection that belongs to the parent process, without using it."""
        ...

    def close(self) -> None:
        """Close the database."""
        ...


@final
class Transaction:
    """The statements of one transaction, which is begun and committed elsewhere."""

    def __init__(self, execute: Execute, prefix: str = "", *, types: Mapping[str, str]) -> None:
        self._execute = execute
        self._words = prefix, types["bytes"], types["packed"]  # for {s}, {bytes} and {packed} in statements

    def create_tables(self, extras: Sequence[str] = ()) -> None:
        """Create the tables of a new ledger, and what the backend adds to protect them."""
        for statement in (*TABLES, *INDEXES, *extras):
            self._run(statement)
        self._run("INSERT INTO {s}about VALUES ('schema', ?)", str(SCHEMA))

    def require_schema(self) -> None:
        """Refuse tables of an earlier or a later version."""
        written = [_text(value) for (value,) in self._run("SELECT value FROM {s}about WHERE name = 'schema'")]
        if len(written) != 1 or not (written[0].isascii() and written[0].isdigit()):
            raise LedgerDamaged("the ledger does not say which schema it has", hint=RESTORE)
        schema = int(written[0])
        if schema > SCHEMA:
            raise LedgerTooNew(f"the ledger has schema {schema}; this giveortake knows schema {SCHEMA}", hint=UPGRADE)
        if schema < SCHEMA:
            raise LedgerTooOld(
                f"the ledger has schema {schema}, of giveortake 0.2 or earlier, which this one does not read", hint=_OLD
            )

    def create_indexes(self) -> None:
        """Replace all index tables by empty ones."""
        for table in ("finds", "lists", "used", "checkpoints", "chunks"):
            self._run(f"DROP TABLE IF EXISTS {{s}}{table}")
        for statement in INDEXES:
            self._run(statement)

    def entries(self, start: int, previous: str | None, stop: int = _LAST) -> Iterator[Entry]:
        """All entries from number `start` to `stop`, each checked against its own hash and the entry before it."""
        expected = start
        wanted = "SELECT number, body, hash FROM {s}entries WHERE number >= ? AND number <= ? ORDER BY number"
        for row in self._run(wanted, start, stop):
            found = read_entry(row[0], row[1], row[2], previous)
            if found.number != expected:
                raise LedgerDamaged(f"entry {expected} is missing", hint=RESTORE)
            yield found
            expected, previous = expected + 1, found.hash

    def between(self, start: int, stop: int) -> list[tuple[Any, ...]]:
        """The rows of some entries as they are stored, unchecked."""
        wanted = "SELECT number, body, hash FROM {s}entries WHERE number >= ? AND number <= ? ORDER BY number"
        return list(self._run(wanted, start, stop))

    def entry(self, number: int) -> Entry:
        """One entry, checked against its own hash."""
        for row in self._run("SELECT number, body, hash FROM {s}entries WHERE number = ?", number):
            return read_entry(row[0], row[1], row[2])
        raise LedgerDamaged(f"entry {number} is missing", hint=RESTORE)

    def append(self, new: Entry) -> None:
        """Insert one more entry."""
        self._run("INSERT INTO {s}entries VALUES (?, ?, ?)", new.number, new.body, new.hash)

    def snapshot(self, level: int) -> str | None:
        """The stored state of a level's filter; None if there is none."""
        for (text,) in self._run("SELECT snapshot FROM {s}snapshots WHERE level = ?", level):
            return _text(text)
        return None

    def keep_snapshot(self, level: int, snapshot: str) -> None:
        """Replace the state of a level's filter."""
        self._run(
            "INSERT INTO {s}snapshots VALUES (?, ?) ON CONFLICT (level) DO UPDATE SET snapshot = excluded.snapshot",
            level,
            snapshot,
        )

    # -- what follows from the entries ------------------------------------------------------------------------

    def keep(self, rows: Rows) -> None:
        """Store the index rows of new entries."""
        self._insert("finds", rows.finds)
        self._insert("lists", rows.lists)
        self._insert("used", rows.used)

    def _insert(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert rows, several by one statement, which is faster."""
        for first in range(0, len(rows), _ROWS):
            some = rows[first : first + _ROWS]
            places = ", ".join([f"({', '.join('?' * len(some[0]))})"] * len(some))
            statement = f"INSERT INTO {{s}}{table} VALUES {places}"  # noqa: S608 (our own names)
            self._run(statement, *(value for row in some for value in row))

    def finds(self, bucket: int, until: int) -> list[tuple[int, bytes]]:
        """The pairs of a bucket, up to an entry."""
        wanted = "SELECT number, name FROM {s}finds WHERE bucket = ? AND number <= ? ORDER BY number, name"
        return [(number, bytes(name)) for number, name in self._run(wanted, bucket, until)]

    def all_finds(self, until: int, guess: int) -> Iterator[list[tuple[int, int, bytes]]]:
        """All pairs up to an entry, by bucket, some thousands at a time if `guess` is about right."""
        step = max(1, min(_BUCKETS, _BUCKETS * _AT_ONCE // max(guess, 1)))
        wanted = (
            "SELECT bucket, number, name FROM {s}finds WHERE bucket >= ? AND bucket < ? AND number <= ? "
            "ORDER BY bucket, number, name"
        )
        for first in range(0, _BUCKETS, step):
            yield [
                (bucket, number, bytes(name)) for bucket, number, name in self._run(wanted, first, first + step, until)
            ]

    def listed(self, name: str, after: int, stop: int) -> list[tuple[int, int]]:
        """The places and numbers of the entries in a list, from one place to another."""
        wanted = "SELECT place, number FROM {s}lists WHERE name = ? AND place > ? AND place <= ? ORDER BY place"
        return [(place, number) for place, number in self._run(wanted, name, after, stop)]

    def used(self, level: int, after: int, stop: int, most: int) -> list[tuple[int, str]]:
        """The used shares of a level's budget after the entries in a range that charged it, at most `most`."""
        wanted = (
            "SELECT number, share FROM {s}used WHERE level = ? AND number > ? AND number <= ? ORDER BY number LIMIT ?"
        )
        return [(number, _text(share)) for number, share in self._run(wanted, level, after, stop, most)]

    def last_checkpoint(self, until: int) -> int | None:
        """The number of the last checkpoint up to an entry, unchecked."""
        ((number,),) = self._run("SELECT MAX(number) FROM {s}checkpoints WHERE number <= ?", until)
        return number if isinstance(number, int) else None

    def checkpoint(self, number: int) -> str:
        """The content of a checkpoint, unchecked."""
        for (content,) in self._run("SELECT content FROM {s}checkpoints WHERE number = ?", number):
            return _text(content)
        raise LedgerDamaged(f"the checkpoint at entry {number} is missing", hint=RESTORE)

    def chunk(self, name: str, place: int, until: int) -> bytes | None:
        """A chunk as a checkpoint left it, unchecked."""
        wanted = (
            "SELECT content FROM {s}chunks WHERE name = ? AND place = ? AND number <= ? ORDER BY number DESC LIMIT 1"
        )
        for (content,) in self._run(wanted, name, place, until):
            return bytes(content)
        return None

    def keep_checkpoint(self, number: int, content: str, chunks: Mapping[str, Mapping[int, bytes]]) -> None:
        """Keep a checkpoint and the one before it, and forget older ones."""
        before = next(iter(self._run("SELECT MAX(number) FROM {s}checkpoints")))[0] or 0
        self._run("DELETE FROM {s}checkpoints WHERE number < ?", before)
        self._run(
            "DELETE FROM {s}chunks WHERE EXISTS (SELECT 1 FROM {s}chunks AS later WHERE later.name = {s}chunks.name "
            "AND later.place = {s}chunks.place AND later.number > {s}chunks.number AND later.number <= ?)",
            before,
        )
        self._run("INSERT INTO {s}checkpoints VALUES (?, ?)", number, content)
        for name, changed in chunks.items():
            self._insert("chunks", [(name, place, number, chunk) for place, chunk in changed.items()])

    def _run(self, statement: str, *values: object) -> Iterable[tuple[Any, ...]]:
        return self._execute(_spelled(statement, *self._words), values)


@lru_cache(maxsize=256)
def _spelled(statement: str, prefix: str, bytes_type: str, packed: str) -> str:
    return statement.format(s=prefix, bytes=bytes_type, packed=packed)


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
