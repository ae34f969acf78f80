"""Where ledgers live in the tests: a file, or a schema of a real PostgreSQL server that the tests start themselves."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import pytest

from giveortake.ledger import Ledger
from giveortake.ledger.chain.watermark import StateFolder, state_folder
from giveortake.ledger.opening import opened
from postgres_server import start_server
from tiers import tiered

TABLES = ("about", "entries", "snapshots", "finds", "lists", "used", "checkpoints", "chunks")


class Place(Protocol):
    """A place for one ledger, and what an attacker or an accident can do to it."""

    where: str
    mark: str | None

    def open(self, **options: Any) -> Ledger: ...

    def sql(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a statement behind the ledger's back, append-only triggers off."""
        ...

    def backup(self) -> Any:
        """Everything but the mark."""
        ...

    def put_back(self, backup: Any) -> None: ...

    def delete(self) -> None: ...

    def lose_mark(self) -> None: ...


class FilePlace:
    def __init__(self, folder: Path, *, beside: bool = False) -> None:
        self.path = folder / "people.ledger"
        self.where = str(self.path)
        self.mark: str | None = f"{self.where}.mark" if beside else None

    def open(self, **options: Any) -> Ledger:
        return opened(self.where, mark=self.mark, **options)

    def sql(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.path, isolation_level=None)
        connection.execute("BEGIN")
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        found = connection.execute(statement, values).fetchall()
        for _, trigger in triggers:
            connection.execute(trigger)
        connection.execute("COMMIT")
        connection.close()
        return found

    def backup(self) -> bytes:
        return self.path.read_bytes()

    def put_back(self, backup: bytes) -> None:
        self.path.write_bytes(backup)

    def delete(self) -> None:
        self.path.unlink()

    def mark_file(self) -> Path:
        """Where the mark lies: where the test says, else in the state folder, under the ledger's id."""
        if self.mark is not None:
            return Path(self.mark)
        state = StateFolder(state_folder())
        seen = state.seen(Path(os.path.realpath(self.path)))
        assert seen is not None
        return state.mark(seen.ledger).path

    def lose_mark(self) -> None:
        self.mark_file().unlink()


class ServerPlace:
    def __init__(self, server: str) -> None:
        from giveortake.ledger.chain.postgres import split  # noqa: PLC0415 (needs psycopg)

        self.where = f"{server}&schema=test_{uuid4().hex[:12]}"
        self.mark: str | None = None
        self.address, self.schema = split(self.where)

    def open(self, **options: Any) -> Ledger:
        return opened(self.where, mark=self.mark, **options)

    def sql(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        connection = _behind(self.address)
        connection.execute(f"SET search_path = {self.schema}".encode())
        found = connection.execute(statement.replace("?", "%s").encode(), values)
        return [] if found.description is None else found.fetchall()

    def backup(self) -> dict[str, list[tuple[Any, ...]]]:
        return {table: self.sql(f"SELECT * FROM {table}") for table in TABLES}

    def put_back(self, backup: dict[str, list[tuple[Any, ...]]]) -> None:
        for table, rows in backup.items():
            self.sql(f"DELETE FROM {table}")
            for row in rows:
                self.sql(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", *row)

    def delete(self) -> None:
        self.sql(f"DROP SCHEMA {self.schema} CASCADE")

    def lose_mark(self) -> None:
        self.sql(f"DROP SCHEMA {self.schema}_mark CASCADE")


def _behind(address: str) -> Any:
    """One session for each database, without triggers."""
    import psycopg  # noqa: PLC0415 (a ledger in a file does not need it)

    found = _SESSIONS.get(address)
    if found is None or found.closed:
        found = _SESSIONS[address] = psycopg.connect(address, autocommit=True)
        found.execute("SET session_replication_role = replica")
    return found


_SESSIONS: dict[str, Any] = {}
_STORES = ["sqlite", "postgres"]


@pytest.fixture(params=_STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A fresh place for a ledger on each backend."""
    return _place(request, tmp_path)


@pytest.fixture(params=tiered(_STORES[:1], _STORES))
def place_of_rules(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A fresh place for tests of what no backend decides: who may ask, and who pays. On both in the long tier."""
    return _place(request, tmp_path)


def _place(request: pytest.FixtureRequest, folder: Path) -> Place:
    return FilePlace(folder) if request.param == "sqlite" else ServerPlace(request.getfixturevalue("server"))


__all__ = ["FilePlace", "Place", "ServerPlace", "place", "place_of_rules", "start_server"]
