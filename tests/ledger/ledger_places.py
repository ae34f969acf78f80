"""Where ledgers live in the tests, a file or a schema of a PostgreSQL server that they start, and what is in them."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import pytest

from giveortake.ledger import Charge, Ledger
from giveortake.ledger import open as open_ledger
from giveortake.ledger.chain.watermark import StateFolder, state_folder
from giveortake.ledger.opening import opened
from giveortake.privacy import ApproxDP, Guarantee, PureDP
from giveortake.privacy.events import Laplace
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


# -- ledgers with one charge, which are lost and put back -------------------------------------------------------------

TENTH = Laplace(10)


def begin(ledger: Ledger) -> None:
    ledger.population("people", budget=PureDP(1))
    ledger.dataset("d", population="people")
    charge(ledger, "k0")


def charge(ledger: Ledger, key: str) -> Any:
    return ledger.settle(ledger.reserve(Charge(TENTH, dataset="d", key=key)), key)


def begun(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)


def forget_a_charge(place: Place) -> None:
    """Begin a ledger, charge once more, and put it back as it was before."""
    with place.open() as ledger:
        begin(ledger)
        backup = place.backup()
        charge(ledger, "k1")
    place.put_back(backup)


@pytest.fixture
def begun_file(tmp_path: Path) -> FilePlace:
    """A ledger in a file, one charge old."""
    (tmp_path / "house").mkdir()
    made = FilePlace(tmp_path / "house")
    begun(made)
    return made


# -- a ledger in which several analysts hold the same allotment -------------------------------------------------------


def everyone(budget: Guarantee, allotment: Guarantee, *who: str) -> Ledger:
    """Each analyst has a data set of their own, of the same people."""
    ledger = open_ledger(":memory:")
    ledger.population("people", budget=budget)
    ledger.dataset("d", population="people")
    for name in who:
        ledger.dataset(f"of {name}", population="people")
        ledger.analyst(name, datasets=[f"of {name}"], budget=allotment)
    return ledger


# -- a ledger with many checkpoints: how it is filled, and all that can be learnt of it -------------------------------

EVERY = 5


def fill(ledger: Ledger, charges: int = 8) -> None:
    """People with two analysts, and charges with and without keys, questions, answers and draws."""
    ledger.population("people", budget=ApproxDP(100, "1e-6"), unit="person")
    ledger.dataset("d", population="people", budget=PureDP(50))
    for name in ("ann", "bob"):
        ledger.analyst(name, datasets=["d"], budget=PureDP(5))
    for number in range(charges):
        ask(ledger, number)


def ask(ledger: Ledger, number: int) -> None:
    analyst = (None, "ann", "bob")[number % 3]
    key, question = str(number), f"how many {number}?"
    paid = ledger.reserve(Charge(TENTH, dataset="d", analyst=analyst, key=key, name=question))
    if number % 4 == 3:
        ledger.keep(paid, 0, {"n": number})
        ledger.keep(paid, 1, {"n": -number})
    if number % 5 != 4:
        ledger.settle(paid, {"n": number})


def told(ledger: Ledger, charges: int = 8) -> Any:
    """Everything that can be learnt of a ledger without changing it."""
    asked = []
    for number in range(charges):
        analyst = (None, "ann", "bob")[number % 3]
        question = f"how many {number}?"
        found = ledger.reserve(Charge(TENTH, dataset="d", analyst=analyst, key=str(number), name=question))
        again = ledger.is_paid(Charge(TENTH, dataset="d", analyst=analyst, name=question))
        asked.append((found, again, ledger.kept(found), ledger.release(found.id, analyst=analyst)))
    own = [ledger.entries(analyst=name) for name in ("ann", "bob")]
    return asked, own, ledger.levels(), ledger.failures(), ledger.burn_down(), [each.hash for each in ledger.history()]


def checkpoints(ledger: Ledger) -> list[int]:
    return [entry.number for entry in ledger.history() if entry.kind == "checkpoint"]
