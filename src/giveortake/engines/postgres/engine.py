"""PostgreSQL, asked where the table is: read-only transactions, from which only integers come back.

Statements hold what the question says and nothing of any row, so that a server that logs them logs no data. psycopg is
imported here alone, when a table of PostgreSQL is registered.
"""

from __future__ import annotations

import datetime as dt
import re
from contextlib import suppress
from fractions import Fraction
from itertools import count
from typing import TYPE_CHECKING, Any, final

import numpy as np

from giveortake.engines.postgres.dialect import TYPES, PostgresDialect, require_within_limits
from giveortake.engines.postgres.tables import Stored, find, split
from giveortake.engines.runtime import failure, out_of_time
from giveortake.engines.sql.engine import SQLEngine
from giveortake.errors import HIDDEN, InvalidParameter, NotFound, QueryFailed, QueryRefused, extra
from giveortake.exact import exact_decimal
from giveortake.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from decimal import Decimal

    import numpy.typing as npt

    from giveortake.engines.protocol import PublicContent, Source
    from giveortake.engines.questions import Asked
    from giveortake.plan import Domain, Value


try:
    import psycopg
    from psycopg.pq import TransactionStatus
except ImportError:  # pragma: no cover (the tests install it)
    raise NotFound("a table of PostgreSQL needs psycopg", hint=extra("postgres")) from None


_PATIENCE = 30  # seconds to connect
_PINNED = "SET LOCAL search_path = pg_catalog, pg_temp"  # operators and functions of others are not found
_SETTINGS = {
    "array_nulls": "on",
    "transform_null_equals": "off",
    "standard_conforming_strings": "on",
    "DateStyle": "ISO, YMD",
    "TimeZone": "UTC",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "IntervalStyle": "postgres",
    "xmloption": "content",
    "jit": "off",
    "lock_timeout": "0",  # a limit that nobody stated would tell of rows how long they take
    "idle_in_transaction_session_timeout": "0",
}
_HAS_TRANSACTION_TIMEOUT = 17_00_00
_UNLIMITED = 0  # milliseconds, as PostgreSQL writes it; also for tables that are registered or compared
_GRACE = 0.3  # seconds after which the server is asked to stop, if its own limit did not stop it
_OUT_OF_MEMORY = (psycopg.errors.OutOfMemory, psycopg.errors.DiskFull, MemoryError)
_GONE = (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn, psycopg.errors.WrongObjectType)
_NAMED_CONSTANTS = re.compile(r"\bconstants_[0-9]+\b")
_ARRAYS = {**TYPES, Kind.DECIMAL: "NUMERIC"}
_LONGEST = 12_800_000  # characters of a question; what others repeat is printed once, but checked for overflow


@final
class PostgresEngine(SQLEngine):
    """Tables of one database, over one connection that can write nothing.

    Each statement is one transaction that sees one state of the tables. A question whose keys are found takes two, and
    what is written between them may be in one alone: each of its releases is bounded and charged for what it reads, and
    a change that is noticed ends the question. The address is never told: not by errors, and not by what is printed of
    the engine.
    """

    has_witnesses = True

    def __init__(self, url: str, *, seconds: float | None = None) -> None:
        super().__init__(PostgresDialect(), longest=_LONGEST, seconds=seconds)
        self._address, _ = split(url)
        self._stored: dict[str, Stored] = {}
        self._constant_texts: dict[str, str] = {}
        self._numbers = count()
        self._holds_content = False
        self._connection = self._connect()
        version = self._connection.info.server_version
        self._identity = f"postgresql {version // 10_000}"
        newer = {"transaction_timeout": str(_UNLIMITED)} if version >= _HAS_TRANSACTION_TIMEOUT else {}
        self._settings = {**_SETTINGS, **newer}

    # -- registering --------------------------------------------------------------------------------------------

    def add(self, name: str, source: object, kinds: Mapping[str, Kind] | None, *, table: str | None = None) -> Source:
        """Find a table and read it once, for its fingerprint; its rows stay where they are."""
        address, url_table = split(source)
        if address != self._address:
            raise InvalidParameter(
                "source", HIDDEN, "is in another database than the other tables", hint="copy them into one database"
            )
        table_name = table or url_table or name
        with self._lock:
            try:
                stored = find(self._run, self._schemas(), name, table_name)
            except QueryFailed:
                raise NotFound(
                    f"the table {table_name!r} cannot be read",
                    hint="GRANT SELECT on it to the user of the URL",
                ) from None
            self._stored[name] = stored
            self._sources[name] = stored.text()
        return stored.source

    def add_public(self, name: str, source: object) -> PublicContent:
        content = self._send_public(name, source)
        self._printer.dialect.require_columns(list(content.columns))
        return content

    def lock(self) -> None:
        """Do nothing: the connection can write nothing, and reads what its user may see."""

    def unchanged(self) -> bool:
        with self._lock:
            return self._all_unchanged(lambda stored: stored.if_unchanged(self._run))

    def hold_to_content(self) -> None:
        """Compare the content in every question from now on; forget earlier results, which were not compared."""
        with self._lock:
            if not self._holds_content:
                self._results.clear()
            self._holds_content = True

    def _all_unchanged(self, look: Callable[[Stored], Stored | None]) -> bool:
        """Whether every table is unchanged, as `look` finds it."""
        for name, stored in self._stored.items():
            current = look(stored)
            if current is None:
                return False
            self._stored[name] = current
        return True

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    # -- asking -------------------------------------------------------------------------------------------------

    def _require_own_limits(self, question: Asked) -> None:
        require_within_limits(question)

    def _rows(self, text: str) -> list[tuple[Any, ...]]:
        names = sorted(set(_NAMED_CONSTANTS.findall(text)) & set(self._constant_texts))
        constants = ", ".join(f"{name} AS ({self._constant_texts[name]})" for name in names)
        with self._time.interrupting(self._cancel, grace=_GRACE):
            return self._run(f"WITH {constants} {text}" if constants else text, self._limit(), is_question=True)

    def _limit(self) -> int:
        """The server gives up by itself when the time is over."""
        seconds_left = self._time.left
        return _UNLIMITED if seconds_left is None else max(1, round(seconds_left * 1000))

    def _cancel(self) -> None:
        """Ask the server to give up, if it has not done so by itself."""
        with suppress(psycopg.Error):  # the connection may be gone, and the statement with it
            self._connection.cancel()

    def _columns(self, text: str) -> list[npt.NDArray[np.int64]]:
        rows = self._rows(text)
        if not rows:
            return [np.zeros(0, dtype=np.int64) for _ in range(3)]
        return [np.array([int(value) for value in column], dtype=np.int64) for column in zip(*rows, strict=True)]

    def _create_constants(self, columns: Sequence[tuple[str, Domain]], rows: Sequence[tuple[Value, ...]]) -> str:
        """Constants as arrays, inside the statements that name them: nothing is created on the server."""
        arrays, select_list = [], []
        for index, ((column, domain), values) in enumerate(zip(columns, zip(*rows, strict=True), strict=True)):
            kind = _ARRAYS[domain.kind]
            arrays.append(f"CAST({_array(values)} AS {kind}[])")
            collated = ' COLLATE "C"' if domain.kind is Kind.TEXT else ""
            select_list.append(f"u.c{index}{collated} AS {self._printer.dialect.identifier(column)}")
        aliases = ", ".join(f"c{index}" for index in range(len(columns)))
        name = f"constants_{next(self._numbers)}"
        self._constant_texts[name] = f"SELECT {', '.join(select_list)} FROM unnest({', '.join(arrays)}) AS u({aliases})"
        return name

    def _listed(self, columns: Sequence[tuple[str, Domain]], lists: Iterable[list[tuple[Value, ...]]]) -> str:
        return self._create_constants(columns, [row for rows in lists for row in rows])

    def _forget(self, table: str) -> None:
        del self._constant_texts[table]

    # -- the connection -----------------------------------------------------------------------------------------

    def _schemas(self) -> list[str]:
        """The schemas of the user's own search path. Only the names of tables are looked up there."""
        ((schemas,),) = self._run("SELECT pg_catalog.current_schemas(false)", pinned=False)
        return [str(schema) for schema in schemas]

    def _run(
        self, text: str, limit: int = _UNLIMITED, *, pinned: bool = True, is_question: bool = False
    ) -> list[tuple[Any, ...]]:
        """Run a statement in a transaction of its own. The server's errors may quote rows, and are not passed on.

        With `is_question`, it fails if a table has another name or other columns than were registered or, once it is
        held to it, another content.

        Settings are made in the transaction, so that they hold where a pool hands out its connections in turn. Names
        mean what PostgreSQL itself defines: whoever may create in a schema could define an operator that fits better.
        """
        settings = {**self._settings, "statement_timeout": limit}
        local = "; ".join(
            [*(f"SET LOCAL {name} = '{value}'" for name, value in settings.items()), *([_PINNED] if pinned else [])]
        )
        holds_content = is_question and self._holds_content
        try:
            self._begin(f"BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; {local}")
            if holds_content:
                self._lock_tables()
            is_other = is_question and not self._all_unchanged(
                lambda stored: (stored.if_registered_content if holds_content else stored.if_same_columns)(self._read)
            )
            rows = [] if is_other else self._read(text)
            is_other = is_other or (
                holds_content and not self._all_unchanged(lambda stored: stored.if_same_partitions(self._read))
            )
            self._connection.execute(b"COMMIT")
        except (psycopg.Error, UnicodeError, MemoryError) as error:
            kind, is_over = type(error), self._time.is_over
        else:
            if is_other:
                raise failure("changed")
            return rows
        finally:
            self._end()
        if is_over or issubclass(kind, psycopg.errors.QueryCanceled):
            raise out_of_time(kind)  # out here, so that it does not hold the error of the server
        if issubclass(kind, _GONE):
            raise failure("changed", kind)
        if issubclass(kind, _OUT_OF_MEMORY):
            raise failure("memory", kind)
        raise failure("other" if issubclass(kind, psycopg.OperationalError) else "defect", kind)  # of the server

    def _lock_tables(self) -> None:
        """Nobody gives tables another form while they are read. A lock comes before the snapshot, which follows it."""
        names = ", ".join(stored.qualified_name for stored in self._stored.values() if stored.can_lock)
        if names:
            self._connection.execute(f"LOCK TABLE {names} IN ACCESS SHARE MODE".encode())

    def _read(self, text: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(text.encode()).fetchall()

    def _begin(self, begin: str) -> None:
        """Begin a transaction, and connect again if the connection was lost since it was last used."""
        try:
            self._connection.execute(begin.encode())
        except psycopg.OperationalError:
            self._connection.close()
            try:
                self._connection = self._connect()
            except NotFound:
                raise psycopg.OperationalError from None
            self._connection.execute(begin.encode())

    def _end(self) -> None:
        """Leave no transaction behind, whatever happened in it."""
        try:
            if self._connection.info.transaction_status != TransactionStatus.IDLE:
                self._connection.execute(b"ROLLBACK")
        except psycopg.Error:
            self._connection.close()

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        try:
            connection = psycopg.connect(
                self._address,
                autocommit=True,
                prepare_threshold=None,
                application_name="giveortake",
                client_encoding="UTF8",
                connect_timeout=None if "connect_timeout=" in self._address else _PATIENCE,
            )
            connection.execute(b"SET default_transaction_read_only = on")
        except (psycopg.Error, UnicodeError):
            raise NotFound(
                "the PostgreSQL server cannot be reached, or does not let giveortake in",
                hint="check host, port and database; set PGPASSWORD or ~/.pgpass",
            ) from None
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            connection.close()
            raise InvalidParameter("source", HIDDEN, f"is a database in {encoding}, not in UTF8")
        return connection


def _array(values: Sequence[Value]) -> str:
    """Values as the text of an array, quoted as SQL."""
    return "'{" + ",".join(map(_element, values)).replace("'", "''") + "}'"


def _element(value: Value | Decimal | float) -> str:
    match value:
        case None:
            return "NULL"
        case str():
            if "\0" in value:
                raise QueryRefused("a text holds a NUL character")
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
        case dt.datetime():
            return f'"{value.isoformat(sep=" ")}"'
        case Fraction():
            return f"{exact_decimal(value):f}"
        case _:
            return str(value)
