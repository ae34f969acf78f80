"""Where entries are stored: the tables of a ledger, SQLite, and private files that are written whole or not at all.

A ledger in one SQLite file has a rollback journal, syncs every commit, and has one writer at a time.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
import sys
import time
from contextlib import closing, contextmanager, suppress
from functools import lru_cache, partial
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, final
from urllib.parse import quote

from giveortake.errors import (
    LedgerBusy,
    LedgerDamaged,
    LedgerError,
    LedgerForeign,
    LedgerMismatch,
    LedgerMissing,
    LedgerTooNew,
    LedgerTooOld,
    LedgerUnavailable,
)
from giveortake.ledger.chain.entries import RESTORE, UPGRADE, Entry, read_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from giveortake.ledger.chain.state import Rows

    Execute: TypeAlias = Callable[[str, Sequence[Any]], Iterable[tuple[Any, ...]]]
    Notice: TypeAlias = Callable[[str], None]


VARIABLE = "GIVEORTAKE_STATE"
CHOOSE = f"set {VARIABLE} to a writable folder that outlives the ledger's own, or pass mark="


def content_of(path: Path) -> bytes | None:
    """What a file holds; None if there is none."""
    require_private(path)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerUnavailable(f"{path} cannot be read: {error.strerror}", hint=CHOOSE) from error


def write_once(path: Path, content: bytes) -> None:
    """Write a new file, unless there is one already."""
    _write(path, content, over=False)


def write_over(path: Path, content: bytes) -> None:
    """Write a file in the place of whatever was there."""
    _write(path, content, over=True)


def require_private(path: Path) -> None:
    """Refuse a file that other users may write: they could take back what was spent."""
    if os.name != "posix":
        return
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # whoever opens it says why that fails
    if stat.S_ISREG(mode) and mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise LedgerUnavailable(
            f"other users can write to {path}, and could undo what it remembers", hint=f"chmod go-w {path}"
        )


def create_private(path: Path) -> None:
    """Create an empty file for its owner alone, unless there is one."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise LedgerUnavailable(f"{path} cannot be created: {error.strerror}") from error


def make_private_folder(folder: Path) -> None:
    """Create a folder, and the missing ones above it, for the user alone."""
    if not folder.is_dir():
        make_private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold a lock file, and remove it afterwards; the system releases the lock when the process ends.

    It yields whether somebody else held it.
    """
    import fcntl  # noqa: PLC0415 (not on every platform)

    waited = False
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise LedgerUnavailable(f"nothing can be kept at {path}: {error.strerror}", hint=CHOOSE) from error
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waited = True
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_at(descriptor, path):  # else whoever had it has removed it meanwhile
                try:
                    yield waited
                finally:
                    path.unlink(missing_ok=True)
                return
            waited = True
        finally:
            os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


def sync(descriptor: int) -> None:
    """Wait until what was written is on the disk."""
    if sys.platform == "darwin":
        import fcntl  # noqa: PLC0415 (not on every platform)

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def sync_folder(path: Path) -> None:
    """Wait until the creation or removal of a file is on the disk."""
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _write(path: Path, content: bytes, *, over: bool) -> None:
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    try:
        make_private_folder(path.parent)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            sync(file.fileno())
        if over:
            fresh.replace(path)
        else:
            with suppress(FileExistsError):
                os.link(fresh, path)  # whole or not at all, and never over another one
        sync_folder(path)
    except OSError as error:
        raise LedgerUnavailable(f"nothing can be kept at {path}: {error.strerror}", hint=CHOOSE) from error
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)


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

    def create(self) -> AbstractContextManager[Tables]:
        """The tables inside a transaction in which they exist, whether they did before or not."""

    def writing(self) -> AbstractContextManager[Tables]:
        """The tables inside a transaction that excludes all other writers at once, and is durable once it ends well."""

    def reading(self) -> AbstractContextManager[Tables]:
        """The tables inside a transaction that sees one state and changes nothing."""

    def glancing(self) -> AbstractContextManager[Tables] | None:
        """Statements that each see one state and hold no lock between them; None if there is only one connection."""

    def abandon(self) -> None:
        """Forget a connection that belongs to the parent process, without using it."""

    def close(self) -> None:
        """Close the database."""


@final
class Tables:
    """The tables of a ledger inside one database transaction, which is begun and committed elsewhere."""

    def __init__(self, execute: Execute, prefix: str = "", *, types: Mapping[str, str]) -> None:
        self._execute = execute
        self._words = prefix, types["bytes"], types["packed"]  # for {s}, {bytes} and {packed} in statements

    def create(self, extras: Sequence[str] = ()) -> None:
        """Create the tables of a new ledger, and what the backend adds to protect them."""
        for statement in (*TABLES, *INDEXES, *extras):
            self._run(statement)
        self._run("INSERT INTO {s}about VALUES ('schema', ?)", str(SCHEMA))

    def require_schema(self) -> None:
        """Refuse tables of an earlier or a later version."""
        versions = [_text(value) for (value,) in self._run("SELECT value FROM {s}about WHERE name = 'schema'")]
        if len(versions) != 1 or not (versions[0].isascii() and versions[0].isdigit()):
            raise LedgerDamaged("the ledger does not say which schema it has", hint=RESTORE)
        schema = int(versions[0])
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
            entry = read_entry(row[0], row[1], row[2], previous)
            if entry.number != expected:
                raise LedgerDamaged(f"entry {expected} is missing", hint=RESTORE)
            yield entry
            expected, previous = expected + 1, entry.hash

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
            placeholders = ", ".join([f"({', '.join('?' * len(some[0]))})"] * len(some))
            statement = f"INSERT INTO {{s}}{table} VALUES {placeholders}"  # noqa: S608 (our own names)
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
        """The indexes and numbers of the entries in a list, from one index to another."""
        wanted = "SELECT place, number FROM {s}lists WHERE name = ? AND place > ? AND place <= ? ORDER BY place"
        return [(index, number) for index, number in self._run(wanted, name, after, stop)]

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

    def chunk(self, name: str, chunk_index: int, until: int) -> bytes | None:
        """A chunk as a checkpoint left it, unchecked."""
        wanted = (
            "SELECT content FROM {s}chunks WHERE name = ? AND place = ? AND number <= ? ORDER BY number DESC LIMIT 1"
        )
        for (content,) in self._run(wanted, name, chunk_index, until):
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
            self._insert("chunks", [(name, chunk_index, number, chunk) for chunk_index, chunk in changed.items()])

    def _run(self, statement: str, *values: object) -> Iterable[tuple[Any, ...]]:
        return self._execute(_spelled(statement, *self._words), values)


@lru_cache(maxsize=256)
def _spelled(statement: str, prefix: str, bytes_type: str, packed: str) -> str:
    return statement.format(s=prefix, bytes=bytes_type, packed=packed)


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


_APPLICATION = 0x676F_744C  # "gotL", where the program `file` looks for it
_PATIENCE = 60.0  # seconds that a writer waits for its turn
_APPEND_ONLY = tuple(
    f"CREATE TRIGGER entries_are_never_{change.lower()}d BEFORE {change} ON entries "
    "BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END"
    for change in ("UPDATE", "DELETE")
)
# A damaged write-ahead log forgets commits in silence; a rollback journal is gone before a commit is reported.
# EXTRA also syncs the folder after the journal is removed, FULL alone would leave that to luck.
_DURABLE = (
    "PRAGMA journal_mode = DELETE",
    "PRAGMA synchronous = EXTRA",
    "PRAGMA fullfsync = ON",
)
_CAUTIOUS = ("PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON")
_EXTRA = 3
_READING = "BEGIN"
_TYPES = {"bytes": "BLOB", "packed": " WITHOUT ROWID"}
_abandoned: list[sqlite3.Connection] = []  # of parent processes: closing one here could end their transactions


@final
class SQLiteStore:
    """One SQLite file, or memory if there is no path."""

    def __init__(
        self,
        path: Path | None,
        *,
        read_only: bool = False,
        at: Notice = silent,
    ) -> None:
        self.path = path
        self.name = "memory" if path is None else str(path)
        self._read_only = read_only
        self._at = at
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._lost = False

    def exists(self) -> bool:
        return self._connection is not None if self.path is None else self.path.exists()

    @contextmanager
    def create(self) -> Iterator[Tables]:
        if self.path is not None:
            create_private(self.path)
        with self._transaction("BEGIN IMMEDIATE") as tables:
            connection = self._connected()
            if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                tables.create(_APPEND_ONLY)
                self._at("tables created")
            yield tables

    @contextmanager
    def writing(self) -> Iterator[Tables]:
        if self._read_only:
            raise LedgerUnavailable(f"the ledger {self.name} was opened for reading only")
        with self._transaction("BEGIN IMMEDIATE") as tables:
            yield tables

    @contextmanager
    def reading(self) -> Iterator[Tables]:
        with self._transaction(_READING) as tables:
            yield tables

    def glancing(self) -> AbstractContextManager[Tables] | None:
        return None if self.path is None else self._glancing()

    @contextmanager
    def _glancing(self) -> Iterator[Tables]:
        """Read on a separate connection, which locks the file only during each statement."""
        source = f"file:{quote(str(self.path))}?mode=ro"
        with self._translated(), closing(sqlite3.connect(source, uri=True, timeout=_PATIENCE)) as connection:
            connection.text_factory = bytes
            for setting in _CAUTIOUS:
                connection.execute(setting)
            self._refuse_replacement()

            def execute(statement: str, values: Sequence[Any]) -> Iterable[tuple[Any, ...]]:
                return connection.execute(statement, values).fetchall()

            yield Tables(execute, types=_TYPES)

    def copy_to(self, target: Path) -> None:
        """Copy one state to a new private file, by SQLite's own backup: all of it or nothing."""
        if target.exists():
            raise LedgerMismatch(f"{target} already exists", hint="choose another path")
        part = target.with_name(f"{target.name}.{token_hex(8)}.part")
        try:
            make_private_folder(target.parent)
        except OSError as error:
            raise LedgerUnavailable(f"the folder {target.parent} cannot be made: {error.strerror}") from error
        create_private(part)
        try:
            source = f"file:{quote(str(self.path))}?mode=ro"  # SQLite does not copy from a connection that is writing
            reader = sqlite3.connect(source, uri=True, timeout=_PATIENCE)
            with self._translated(), closing(reader), closing(sqlite3.connect(part)) as copy:
                reader.backup(copy)
            with part.open("rb") as file:
                sync(file.fileno())
            os.link(part, target)  # never over another file
            sync_folder(target)
        except OSError as error:
            raise LedgerUnavailable(f"{target} cannot be written: {error.strerror}") from error
        finally:
            part.unlink(missing_ok=True)

    def copied_to_memory(self) -> SQLiteStore:
        """Copy one state into memory."""
        copy = SQLiteStore(None)
        source = f"file:{quote(str(self.path))}?mode=ro"
        with self._translated(), closing(sqlite3.connect(source, uri=True, timeout=_PATIENCE)) as reader:
            reader.backup(copy._connected())
        return copy

    def abandon(self) -> None:
        if self._connection is not None:
            _abandoned.append(self._connection)
            self._connection = None
            self._lost = self.path is None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Tables]:
        with self._translated():
            self._notice_replacement()
            connection = self._connected()
            was_inside = connection.in_transaction
            try:
                _begin(connection, begin)  # an interruption may come when it has begun, and before anybody knows
                self._refuse_replacement()
                yield Tables(partial(self._execute, connection), types=_TYPES)
                self._check_inside(connection)
                connection.execute("COMMIT")
            except BaseException:
                if self._connection is connection and not was_inside:  # and not the one of a parent process
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                raise

    def _notice_replacement(self) -> None:
        """Close the connection if the file was replaced: SQLite would go on with the old one."""
        if self._connection is not None and self._was_replaced():
            self.close()

    def _refuse_replacement(self) -> None:
        """Refuse a file that was moved or replaced while this transaction waited for its turn."""
        if self._was_replaced():
            raise LedgerMissing(f"the ledger {self.name} was moved or replaced a moment ago", hint="open it again")

    def _was_replaced(self) -> bool:
        if self.path is None:
            return False
        try:
            status = self.path.stat()
        except OSError:
            raise LedgerMissing(f"the ledger {self.name} is gone", hint=RESTORE) from None
        return (status.st_dev, status.st_ino) != self._file

    def _execute(
        self, connection: sqlite3.Connection, statement: str, values: Sequence[Any]
    ) -> Iterable[tuple[Any, ...]]:
        self._check_inside(connection)
        return connection.execute(statement, values)

    def _check_inside(self, connection: sqlite3.Connection) -> None:
        """Check that the transaction is open: outside, a statement would commit by itself."""
        if self._connection is not connection or not connection.in_transaction:
            raise LedgerUnavailable(f"a transaction of {self.name} ended before its time", hint="try again")

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            if self._lost:
                raise LedgerUnavailable(
                    "a ledger in memory stays with the process that made it; this is a child of that process",
                    hint="give the ledger a path",
                )
            self._connection = self._connect("ro" if self._read_only else "rw")
        return self._connection

    def _connect(self, mode: str) -> sqlite3.Connection:
        if self.path is not None:
            require_private(self.path)
        address = ":memory:" if self.path is None else f"file:{quote(str(self.path))}?mode={mode}"
        connection = sqlite3.connect(
            address, uri=True, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            connection.text_factory = bytes  # damaged text must reach the hashes, not the decoder
            for setting in _CAUTIOUS if self._read_only else (*_CAUTIOUS, *_DURABLE):
                connection.execute(setting)
            self._check_durability(connection)
        except BaseException:
            connection.close()
            raise
        if self.path is not None:
            status = self.path.stat()
            self._file = status.st_dev, status.st_ino
        return connection

    def _check_durability(self, connection: sqlite3.Connection) -> None:
        """Check that the settings took effect: SQLite ignores one that it cannot make, silently."""
        (journal,), (syncs,) = (
            connection.execute(f"PRAGMA {name}").fetchone() for name in ("journal_mode", "synchronous")
        )
        if not self._read_only and (journal not in {b"delete", b"memory"} or syncs != _EXTRA):
            raise LedgerUnavailable(
                f"{self.name} stays in journal mode {journal.decode()}, in which a damaged file loses entries silently",
                hint="close every other program that has the file open",
            )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeDecodeError) as error:
            raise self._explained(error) from error

    def _explained(self, error: Exception) -> LedgerError:
        code = getattr(error, "sqlite_errorcode", None)
        text = f"the ledger {self.name}"
        match None if code is None else code & 0xFF:
            case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                return LedgerBusy(f"{text} was held by other writers for {_PATIENCE:.0f} s", hint="try again")
            case sqlite3.SQLITE_NOTADB:
                return LedgerForeign(f"{text} is not a ledger, or its first bytes are damaged", hint=RESTORE)
            case (
                sqlite3.SQLITE_READONLY
                | sqlite3.SQLITE_FULL
                | sqlite3.SQLITE_IOERR
                | sqlite3.SQLITE_CANTOPEN
                | sqlite3.SQLITE_PERM
                | sqlite3.SQLITE_AUTH
                | sqlite3.SQLITE_NOLFS
                | sqlite3.SQLITE_NOMEM
                | sqlite3.SQLITE_INTERRUPT
            ):
                return LedgerUnavailable(
                    f"{text} cannot be used: {error}", hint="check the disk's space and who may write to the folder"
                )
        return LedgerDamaged(f"{text} is damaged: {error}", hint=RESTORE)


def is_ledger(path: Path) -> bool:
    """Whether a file says in its header that it is a ledger, without letting SQLite touch it."""
    try:
        with path.open("rb") as file:
            header = file.read(72)
    except OSError as error:
        raise LedgerUnavailable(f"{path} cannot be read: {error.strerror}") from error
    return header[68:] == _APPLICATION.to_bytes(4, "big")


def _begin(connection: sqlite3.Connection, begin: str) -> None:
    """Begin a transaction; wait by asking every few milliseconds, as SQLite itself sleeps up to a tenth of a second."""
    if begin == _READING:
        connection.execute(begin)  # which locks nothing yet
        return
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        deadline, pause = time.monotonic() + _PATIENCE, 0.0005
        while True:
            try:
                connection.execute(begin)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(pause)
                pause = min(2 * pause, 0.008)
            else:
                return
    finally:
        connection.execute(f"PRAGMA busy_timeout = {1000 * _PATIENCE:.0f}")
