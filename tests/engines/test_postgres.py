"""Tables that live in PostgreSQL: the same integers and keys as DuckDB's, nothing written, nothing told."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from evil_tables import Row, Table, random_row, random_rows, random_table, random_visits
from giveortake.compile.keys import with_keys
from giveortake.engines.postgres import PostgresEngine
from postgres_server import server, stored
from query_shapes import shapes_of
from replay import MODES, SPEND, ZONES, Mode, Revealing, exact_integers, exact_units

__all__ = ["server"]

SECRET = "hunter2-is-no-secret"  # noqa: S105 (what must not be told is looked for)


def _open(sensitive: Any) -> Any:
    return Revealing().release(sensitive)


@pytest.fixture
def run(server: str) -> Iterator[Callable[[str], Any]]:
    """Statements of somebody else, who may write."""
    with psycopg.connect(server, autocommit=True) as connection:
        yield lambda text: connection.execute(text.encode())


@pytest.fixture
def engine(server: str) -> Iterator[PostgresEngine]:
    made = PostgresEngine(server)
    yield made
    made.close()


def _name() -> str:
    return f"t_{uuid4().hex[:8]}"


# -- the same integers ----------------------------------------------------------------------------------------------


def _storable(table: Table) -> Table:
    """Texts without NUL, which PostgreSQL does not hold."""
    return Table(tuple({**row, "q": row["q"] and row["q"].replace("\0", "nul")} for row in table.rows), table.visits)


def _tables(luck: random.Random) -> list[Table]:
    giant = [random_row(luck, 7) for _ in range(300)]
    people = [row for person in range(25) for row in random_rows(luck, person)]
    visits = [row for person in range(25) for row in random_visits(luck, person)]
    nobody: list[Row] = [random_row(luck, None) for _ in range(5)]
    made = [Table((), ()), random_table(luck), Table((*people, *nobody), tuple(visits)), Table(tuple(giant), ())]
    return [_storable(each) for each in made]


def _asked_there(server: str, mode: Mode, table: Table) -> PostgresEngine:
    there = PostgresEngine(server)
    for name, data in table.sources().items() if mode.by_person else [("data", table.data())]:
        there.add(name, stored(server, f"{name}_{uuid4().hex[:8]}", data), None)
    there.add_public("zones", ZONES)
    there.lock()
    return there


@pytest.mark.parametrize("mode", MODES[:3], ids=lambda mode: mode.name)
def test_every_shape_has_the_integers_and_keys_of_duckdb(mode: Mode, server: str) -> None:
    for table in _tables(random.Random(mode.name)):  # noqa: S311 (which tables are tried need not be secret)
        there = _asked_there(server, mode, table)
        with mode.session(table) as here:
            for name, text in shapes_of(by_person=mode.by_person).items():
                made = here.sql(text).measured(SPEND)
                keys = None
                if made.selection is not None:
                    found = exact_units(made, here.engine)
                    assert exact_units(made, there) == found, name
                    keys = with_keys(made, list(found))
                for one, other in zip(
                    exact_integers(made, here.engine, keys), exact_integers(made, there, keys), strict=True
                ):
                    assert one.tolist() == other.tolist(), name
        there.close()
