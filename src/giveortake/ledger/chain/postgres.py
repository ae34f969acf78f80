"""A ledger in PostgreSQL, for teams: one schema per ledger, one row lock that orders all writers.

psycopg is imported here alone, when a PostgreSQL URL is opened.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import partial
from secrets import token_bytes
from threading import Lock
from typing import TYPE_CHECKING, Any, final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from giveortake.errors import (
    HIDDEN,
    InvalidParameter,
    LedgerBusy,
    LedgerDamaged,
    LedgerError,
    LedgerMissing,
    LedgerUnavailable,
    NotFound,
    extra,
)
from giveortake.ledger.chain.entries import RESTORE, Point
from giveortake.ledger.chain.store import Tables, silent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from giveortake.ledger.chain.store import Notice


try:
    import psycopg
    from psycopg import errors as refusals
    from psycopg.pq import TransactionStatus
except ImportError as missing:  # pragma: no cover (the tests install it)
    raise NotFound("a PostgreSQL ledger needs psycopg", hint=extra("postgres")) from missing


_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,50}")
_PATIENCE = 60  # seconds
_CREATION = 0x676F_744C  # an advisory lock, held while a schema is created
_LOCK = "SELECT pg_catalog.pg_advisory_xact_lock(%s::bigint)"
_REFUSAL = "BEGIN RAISE EXCEPTION ''entries are append-only''; END"
_CHANGES = "BEFORE UPDATE OR DELETE OR TRUNCATE"
_APPEND_ONLY = (
    f"CREATE FUNCTION {{s}}append_only() RETURNS trigger LANGUAGE plpgsql AS '{_REFUSAL}'",
    f"CREATE TRIGGER append_only {_CHANGES} ON {{s}}entries FOR EACH STATEMENT EXECUTE FUNCTION {{s}}append_only()",
)
_TYPES = {"bytes": "BYTEA", "packed": ""}
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
_LOOK = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_PINNED = "SET LOCAL search_path = pg_catalog, pg_temp"  # operators and functions of others are not found
_ENDED = (refusals.AdminShutdown, refusals.CrashShutdown, refusals.IdleInTransactionSessionTimeout)
_SECRET = re.compile("pass(word|wd|phrase)|secret|token", re.IGNORECASE)  # in the name of an option
_abandoned: list[Any] = []  # connections of parent processes, which are neither used nor closed here


class _Connected:
    """A connection to one schema, made when it is first needed and again after it broke.

    Names mean what PostgreSQL itself defines: whoever may create in a schema of the search_path could define a function
    or an operator that fits better, and it would run as the custodian. So each statement is in a transaction that looks
    nowhere else, which also holds where a pool hands out its connections in turn, or says where its functions are.
    """

    def __init__(self, url: str, *, read_only: bool = False) -> None:
        self.address, self.schema = split(url)
        self.name = f"{_without_password(self.address)} schema {self.schema}"
        self._secrets = _secrets(self.address)
        self._durability = "on"
        self._read_only = read_only
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None

    def abandon(self) -> None:
        if self._connection is not None:
            _abandoned.append(self._connection)
            self._connection = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def connected(self) -> psycopg.Connection[tuple[Any, ...]]:
        """The connection, made now if there is none."""
        if self._connection is not None and (self._connection.closed or self._connection.broken):
            self.close()
        if self._connection is None:
            self._connection = self._connect()
            try:
                self._prepare(self._connection)
            except BaseException:
                self.close()
                raise
        return self._connection

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(self.address, autocommit=True, client_encoding="UTF8", connect_timeout=_PATIENCE)

    def _prepare(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        """Refuse a server that may forget commits, and ask for durable ones where the server's default is weaker."""
        if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
            raise LedgerUnavailable(
                f"{self.name} is in a database in SQL_ASCII, which does not say what its texts mean",
                hint="CREATE DATABASE ledgers ENCODING 'UTF8' TEMPLATE template0",
            )
        for setting in ("fsync", "full_page_writes"):
            if _setting_of(connection, setting) == "off":
                raise LedgerUnavailable(
                    f"the server runs with {setting} = off and may lose what it has committed",
                    hint=f"set {setting} = on in postgresql.conf",
                )
        synchronous_commit = _setting_of(connection, "synchronous_commit")
        self._durability = synchronous_commit if synchronous_commit in {"on", "remote_apply"} else "on"
        connection.execute(f"SET lock_timeout = '{_PATIENCE}s'")
        connection.execute(f"SET idle_in_transaction_session_timeout = '{_PATIENCE}s'")  # a client that vanished
        if self._read_only:
            connection.execute("SET default_transaction_read_only = on")

    @contextmanager
    def in_transaction(self, begin: str = _BEGIN) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """A transaction that is the only one on its connection, with a commit that is durable whatever was set.

        A connection that was lost since it was last used is made anew. One that is lost later, before COMMIT is sent,
        leaves nothing behind, which LedgerBusy says; whether a lost COMMIT arrived is not known, and nobody repeats it.
        """
        is_ending = False
        with self.translated():
            connection = self._opened(begin)
            try:
                yield connection
                self._check_inside(connection)
                is_ending = True
                connection.execute("COMMIT")
            except BaseException as error:
                is_lost = isinstance(error, psycopg.Error) and (connection.broken or isinstance(error, _ENDED))
                if self._connection is connection:  # and not the one of a parent process
                    try:
                        connection.execute("ROLLBACK")
                    except psycopg.Error:
                        self.close()
                if is_lost and not is_ending:
                    raise LedgerBusy(
                        f"the connection to {self.name} was lost in a transaction, which was not committed",
                        hint="try again, with the same key",
                    ) from None
                raise

    def _opened(self, begin: str) -> psycopg.Connection[tuple[Any, ...]]:
        """A connection on which a transaction has begun."""
        for is_new in (False, True):
            connection = self.connected()
            if connection.info.transaction_status != TransactionStatus.IDLE:
                self.close()  # which rolls back whatever was left open
                raise LedgerUnavailable(f"{self.name} was in the middle of another transaction", hint="try again")
            durable = f"SET LOCAL synchronous_commit = {self._durability}"
            try:
                connection.execute(f"{begin}; {_PINNED}; {durable}".encode())
            except BaseException as error:
                self.close()
                if is_new or not isinstance(error, psycopg.OperationalError):
                    raise
            else:
                return connection
        raise AssertionError  # pragma: no cover (the second time returns or raises)

    def _check_inside(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        """Check that the transaction is open: outside, a statement would commit by itself."""
        if self._connection is not connection or connection.info.transaction_status != TransactionStatus.INTRANS:
            raise LedgerUnavailable(f"a transaction of {self.name} ended before its time", hint="try again")

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn errors of the server into errors of the ledger that reveal no secret."""
        try:
            yield
        except psycopg.Error as error:
            hidden = any(secret in str(error) for secret in self._secrets)
            raise self._explained(error) from (None if hidden else error)

    def _explained(self, error: psycopg.Error) -> LedgerError:
        text = str(error).strip().partition("\n")[0]
        for secret in self._secrets:
            text = text.replace(secret, "…")
        match error:
            case refusals.LockNotAvailable():
                return LedgerBusy(f"{self.name} was locked by other writers for {_PATIENCE} s", hint="try again")
            case refusals.UndefinedTable() | refusals.InvalidSchemaName() | refusals.UndefinedColumn():
                return LedgerMissing(f"{self.name} does not hold the ledger any more: {text}", hint=RESTORE)
            case refusals.DataCorrupted() | refusals.IndexCorrupted() | refusals.UniqueViolation():
                return LedgerDamaged(f"{self.name} is damaged: {text}", hint=RESTORE)
        return LedgerUnavailable(
            f"{self.name} cannot be used: {text}",
            hint="a charge may have arrived: ask again with the same key, and it is charged once",
        )


@final
class PostgresStore(_Connected):
    """One schema of a database.

    Writers queue for a lock on the row that names the schema's version, and read what is committed after they have
    it. READ COMMITTED is what makes that right: a SERIALIZABLE snapshot would be taken before the wait.
    """

    def __init__(
        self,
        url: str,
        *,
        read_only: bool = False,
        at: Notice = silent,
    ) -> None:
        super().__init__(url, read_only=read_only)
        self._at = at
        self._reader = _Connected(url, read_only=True)  # for those who read page by page, while others write
        self._reading = Lock()

    def exists(self) -> bool:
        with self.in_transaction(_LOOK) as connection:
            return _has_schema(connection, self.schema)

    @contextmanager
    def create(self) -> Iterator[Tables]:
        with self.in_transaction() as connection:
            tables = self._tables(connection)
            connection.execute(_LOCK, (_CREATION,))
            if not _has_schema(connection, self.schema):
                connection.execute(f'CREATE SCHEMA "{self.schema}"'.encode())
                tables.create(_APPEND_ONLY)
                self._at("tables created")
            yield tables

    @contextmanager
    def writing(self) -> Iterator[Tables]:
        if self._read_only:
            raise LedgerUnavailable(f"{self.name} was opened for reading only")
        with self.in_transaction() as connection:
            locked = f"SELECT value FROM \"{self.schema}\".about WHERE name = 'schema' FOR UPDATE"  # noqa: S608 (our own schema, quoted)
            connection.execute(locked.encode())
            yield self._tables(connection)

    @contextmanager
    def reading(self) -> Iterator[Tables]:
        with self.in_transaction(_LOOK) as connection:
            yield self._tables(connection)

    def _tables(self, connection: psycopg.Connection[tuple[Any, ...]]) -> Tables:
        return Tables(partial(self._execute, connection), f'"{self.schema}".', types=_TYPES)

    @contextmanager
    def glancing(self) -> Iterator[Tables]:
        with self._reading:

            def execute(statement: str, values: Sequence[Any]) -> Iterable[tuple[Any, ...]]:
                with self._reader.in_transaction(_LOOK) as connection:
                    return connection.execute(statement.replace("?", "%s").encode(), values).fetchall()

            yield Tables(execute, f'"{self.schema}".', types=_TYPES)

    def abandon(self) -> None:
        super().abandon()
        self._reader.abandon()
        self._reading = Lock()

    def close(self) -> None:
        super().close()
        self._reader.close()

    def _execute(
        self, connection: psycopg.Connection[tuple[Any, ...]], statement: str, values: Sequence[Any]
    ) -> Iterable[tuple[Any, ...]]:
        self._check_inside(connection)
        cursor = connection.execute(statement.replace("?", "%s").encode(), values)
        return cursor if cursor.description is not None else ()


@final
class PostgresMark(_Connected):
    """The mark in a schema of its own, by default in the ledger's database, and on a connection of its own."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._table = f'"{self.schema}_mark".mark'

    def read(self) -> Point | None:
        with self.in_transaction(_LOOK) as connection:
            if not _has_schema(connection, f"{self.schema}_mark"):
                return None
            wanted = f"SELECT ledger, number, hash FROM {self._table}"  # noqa: S608 (the name was checked)
            rows = connection.execute(wanted.encode()).fetchall()
        if len(rows) != 1:
            raise LedgerDamaged(f"the mark of {self.name} is damaged", hint=RESTORE)
        return Point(*rows[0])

    def begin(self, point: Point) -> Point:
        with self.in_transaction() as connection:
            connection.execute(_LOCK, (_CREATION,))
            if not _has_schema(connection, f"{self.schema}_mark"):
                connection.execute(f'CREATE SCHEMA "{self.schema}_mark"'.encode())
                self._create(connection, point)
        return self.read() or point

    def _create(self, connection: psycopg.Connection[tuple[Any, ...]], point: Point) -> None:
        columns = "(ledger TEXT PRIMARY KEY, number BIGINT NOT NULL, hash TEXT NOT NULL)"
        connection.execute(f"CREATE TABLE {self._table} {columns}".encode())
        connection.execute(
            f"INSERT INTO {self._table} VALUES (%s, %s, %s)".encode(),  # noqa: S608 (the name was checked)
            (point.ledger, point.number, point.hash),
        )

    def move(self, before: Point, point: Point) -> bool:
        condition = "WHERE ledger = %s AND number = %s AND hash = %s"
        with self.in_transaction() as connection:
            moved = connection.execute(
                f"UPDATE {self._table} SET number = %s, hash = %s {condition}".encode(),  # noqa: S608 (our own schema, quoted)
                (point.number, point.hash, point.ledger, before.number, before.hash),
            ).rowcount
        return moved == 1

    def replace(self, point: Point) -> None:
        with self.in_transaction() as connection:
            connection.execute(_LOCK, (_CREATION,))
            connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}_mark"'.encode())
            connection.execute(f"DROP TABLE IF EXISTS {self._table}".encode())
            self._create(connection, point)

    def secret(self, *, create: bool) -> bytes | None:
        table = f'"{self.schema}_mark".secret'
        wanted = f"SELECT secret FROM {table}".encode()  # noqa: S608 (the name was checked)
        with self.in_transaction() as connection:
            exists = connection.execute("SELECT pg_catalog.to_regclass(%s)", (table,)).fetchone() != (None,)
            if not exists and create:
                connection.execute(_LOCK, (_CREATION,))
                connection.execute(f"CREATE TABLE IF NOT EXISTS {table} (secret BYTEA NOT NULL)".encode())
                if connection.execute(wanted).fetchone() is None:
                    connection.execute(f"INSERT INTO {table} VALUES (%s)".encode(), (token_bytes(32),))  # noqa: S608 (our own schema, quoted)
            row = connection.execute(wanted).fetchone() if exists or create else None
        return None if row is None else bytes(row[0])

    def inherit(self, secret: bytes) -> None:
        self.secret(create=True)
        with self.in_transaction() as connection:
            table = f'"{self.schema}_mark".secret'
            connection.execute(f"UPDATE {table} SET secret = %s".encode(), (secret,))  # noqa: S608 (our own schema, quoted)

    @contextmanager
    def turn(self, name: str) -> Iterator[bool]:
        number = int.from_bytes(bytes.fromhex(name)[:8], "big", signed=True)
        with self.translated():
            connection = self._connect()
        try:
            with self.translated():
                free = connection.execute("SELECT pg_catalog.pg_try_advisory_lock(%s::bigint)", (number,)).fetchone()
                waited = free != (True,)
                if waited:
                    connection.execute("SELECT pg_catalog.pg_advisory_lock(%s::bigint)", (number,))
            yield waited
        finally:
            connection.close()  # which lets go of the lock, as the end of the process would

    def remove(self) -> None:
        with self.in_transaction() as connection:
            connection.execute(f'DROP SCHEMA IF EXISTS "{self.schema}_mark" CASCADE'.encode())


def split(url: str) -> tuple[str, str]:
    """The address of the server and database, and the schema that `?schema=` names.

    >>> split("postgresql://ann@db/clinic?schema=visits&sslmode=require")
    ('postgresql://ann@db/clinic?sslmode=require', 'visits')
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InvalidParameter("ledger", HIDDEN, "is not a URL") from None
    options = parse_qsl(parts.query, keep_blank_values=True)
    schema = dict(options).get("schema", "giveortake")
    if not _SCHEMA.fullmatch(schema):
        raise InvalidParameter("schema", schema, "is not a name in lower case letters, digits and _")
    query = urlencode([(name, value) for name, value in options if name != "schema"], safe="/", quote_via=quote)
    return f"{url.partition(':')[0]}://{urlunsplit(parts._replace(scheme='', query=query)).removeprefix('//')}", schema


def _setting_of(connection: psycopg.Connection[tuple[Any, ...]], setting: str) -> str:
    row = connection.execute("SELECT pg_catalog.current_setting(%s)", (setting,)).fetchone()
    return "" if row is None else str(row[0])


def _has_schema(connection: psycopg.Connection[tuple[Any, ...]], schema: str) -> bool:
    return (
        connection.execute("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = %s", (schema,)).fetchone() is not None
    )


def _secrets(address: str) -> list[str]:
    """The secrets in an address, in every spelling, longest first."""
    parts = urlsplit(address)
    _, _, password = parts.netloc.rpartition("@")[0].partition(":")
    pieces = password.split("@")  # the server's library takes what follows the first @ for a host, and tells it
    candidates = [password, *pieces, *(value for name, value in parse_qsl(parts.query) if _SECRET.search(name))]
    spelled = {way(text) for text in candidates for way in (str, unquote, quote, partial(quote, safe=""))}
    return sorted(spelled - {""}, key=len, reverse=True)


def _without_password(address: str) -> str:
    """An address without its secrets, which can be shown.

    >>> _without_password("postgresql://ann:a@b@db/clinic?password=c&sslmode=require")
    'postgresql://ann@db/clinic?sslmode=require'
    """
    parts = urlsplit(address)
    credentials, at, host = parts.netloc.rpartition("@")
    options = [(name, value) for name, value in parse_qsl(parts.query) if not _SECRET.search(name)]
    query = urlencode(options, safe="/", quote_via=quote)
    return urlunsplit(parts._replace(netloc=f"{credentials.partition(':')[0]}{at}{host}", query=query))
