"""What a ledger asks of a database: eight statements inside one transaction, the same for every backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, final

from giveortake.errors import LedgerDamaged, LedgerTooNew
from giveortake.ledger.entries import RESTORE, UPGRADE, Entry, read_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    Execute: TypeAlias = Callable[[str, Sequence[Any]], Iterable[tuple[Any, ...]]]
    Notice: TypeAlias = Callable[[str], None]
    Migrations: TypeAlias = Mapping[int, Sequence[str]]

SCHEMA = 2
# What turns each older schema into the next one; `{s}` stands before a table's name. From 1 to 2 the tables stay: the
# number alone keeps programs out that do not know the newer kinds of entries.
MIGRATIONS: Migrations = {1: ()}

TABLES = (
    "CREATE TABLE {s}about (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE {s}entries (number BIGINT PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)",
    "CREATE TABLE {s}snapshots (level BIGINT PRIMARY KEY, snapshot TEXT NOT NULL)",
)


def silent(_label: str) -> None:
    """Nobody watches."""


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

    def abandon(self) -> None:
        """Forget a connection that belongs to the parent process, without a word on it."""
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...


@final
class Transaction:
    """One transaction. Nothing here begins, commits or decides."""

    def __init__(self, execute: Execute, prefix: str = "", migrations: Migrations = MIGRATIONS) -> None:
        self._execute = execute
        self._prefix = prefix
        self._migrations = migrations

    def create_tables(self, extras: Sequence[str] = ()) -> None:
        """The tables of a new ledger, and what the backend adds to protect them."""
        for statement in (*TABLES, *extras):
            self._run(statement)
        self._run("INSERT INTO {s}about VALUES ('schema', ?)", str(self._newest()))

    def schema(self) -> int:
        """The version of the tables."""
        for (value,) in self._run("SELECT value FROM {s}about WHERE name = 'schema'"):
            text = value.decode("ascii", "replace") if isinstance(value, bytes) else value
            if isinstance(text, str) and text.isascii() and text.isdigit():
                return int(text)
        raise LedgerDamaged("the ledger does not say which schema it has", hint=RESTORE)

    def outdated(self) -> bool:
        """Whether the tables have to be migrated first; refused if they are from the future."""
        found, newest = self.schema(), self._newest()
        if found > newest:
            raise LedgerTooNew(
                f"the ledger has schema {found}; this giveortake knows schemas up to {newest}",
                hint=UPGRADE,
            )
        return found < newest

    def migrate(self) -> None:
        """Bring old tables up to date, step by step, inside this one transaction."""
        for version in range(self.schema(), self._newest()):
            for statement in self._migrations.get(version, ()):
                self._run(statement)
        self._run("UPDATE {s}about SET value = ? WHERE name = 'schema'", str(self._newest()))

    def entries(self, start: int, previous: str | None) -> Iterator[Entry]:
        """All entries from number `start` on, each checked against its own hash and the entry before it."""
        expected = start
        for row in self._run("SELECT number, body, hash FROM {s}entries WHERE number >= ? ORDER BY number", start):
            found = read_entry(row[0], row[1], row[2], previous)
            if found.number != expected:
                raise LedgerDamaged(f"entry {expected} is missing", hint=RESTORE)
            yield found
            expected, previous = expected + 1, found.hash

    def entry(self, number: int) -> Entry:
        """One entry."""
        for row in self._run("SELECT number, body, hash FROM {s}entries WHERE number = ?", number):
            return read_entry(row[0], row[1], row[2])
        raise LedgerDamaged(f"entry {number} is missing", hint=RESTORE)

    def append(self, new: Entry) -> None:
        """One more entry."""
        self._run("INSERT INTO {s}entries VALUES (?, ?, ?)", new.number, new.body, new.hash)

    def snapshot(self, level: int) -> str | None:
        """The state of a level's filter."""
        for (text,) in self._run("SELECT snapshot FROM {s}snapshots WHERE level = ?", level):
            return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
        return None

    def keep_snapshot(self, level: int, snapshot: str) -> None:
        """Replace the state of a level's filter."""
        self._run(
            "INSERT INTO {s}snapshots VALUES (?, ?) ON CONFLICT (level) DO UPDATE SET snapshot = excluded.snapshot",
            level,
            snapshot,
        )

    def _newest(self) -> int:
        return max([SCHEMA, *(version + 1 for version in self._migrations)])

    def _run(self, statement: str, *values: object) -> Iterable[tuple[Any, ...]]:
        return self._execute(statement.format(s=self._prefix), values)
