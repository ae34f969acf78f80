"""A ledger in one SQLite file: rollback journal, every commit synced, one writer at a time."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, contextmanager, suppress
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Any, final
from urllib.parse import quote

from giveortake.errors import (
    LedgerBusy,
    LedgerDamaged,
    LedgerError,
    LedgerForeign,
    LedgerMismatch,
    LedgerMissing,
    LedgerUnavailable,
)
from giveortake.ledger.entries import RESTORE
from giveortake.ledger.files import create_private, make_private_folder, require_private, sync, sync_folder
from giveortake.ledger.store import Transaction, silent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from giveortake.ledger.store import Notice

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
    def create(self) -> Iterator[Transaction]:
        if self.path is not None:
            create_private(self.path)
        with self._transaction("BEGIN IMMEDIATE") as transaction:
            connection = self._connected()
            if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                transaction.create_tables(_APPEND_ONLY)
                self._at("tables created")
            yield transaction

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        if self._read_only:
            raise LedgerUnavailable(f"the ledger {self.name} was opened for reading only")
        with self._transaction("BEGIN IMMEDIATE") as transaction:
            yield transaction

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        with self._transaction(_READING) as transaction:
            yield transaction

    def glancing(self) -> AbstractContextManager[Transaction] | None:
        return None if self.path is None else self._glancing()

    @contextmanager
    def _glancing(self) -> Iterator[Transaction]:
        """Read on a separate connection, which locks the file only during each statement."""
        source = f"file:{quote(str(self.path))}?mode=ro"
        with self._translated(), closing(sqlite3.connect(source, uri=True, timeout=_PATIENCE)) as connection:
            connection.text_factory = bytes
            for setting in _CAUTIOUS:
                connection.execute(setting)
            self._refuse_replacement()

            def execute(statement: str, values: Sequence[Any]) -> Iterable[tuple[Any, ...]]:
                return connection.execute(statement, values).fetchall()

            yield Transaction(execute, types=_TYPES)

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
    def _transaction(self, begin: str) -> Iterator[Transaction]:
        with self._translated():
            self._notice_replacement()
            connection = self._connected()
            was_inside = connection.in_transaction
            try:
                _begin(connection, begin)  # an interruption may come when it has begun, and before anybody knows
                self._refuse_replacement()
                yield Transaction(partial(self._execute, connection), types=_TYPES)
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
            found = self.path.stat()
        except OSError:
            raise LedgerMissing(f"the ledger {self.name} is gone", hint=RESTORE) from None
        return (found.st_dev, found.st_ino) != self._file

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
            found = self.path.stat()
            self._file = found.st_dev, found.st_ino
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
