"""What an engine cannot run is refused by that engine, when it is quoted and before it is charged; no row is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from engine_places import place
from giveortake.engines import KeyColumn, Keys, Persons, Summand, Tally
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.postgres.engine import PostgresEngine
from giveortake.errors import QueryFailed, QueryRefused
from giveortake.plan import Call, ColumnReference, Derive, PrivateTable, Scan
from giveortake.session import Session
from inside import engine_of
from postgres_server import stored

TABLE = pl.DataFrame({"p": range(20), "x": [float(each) for each in range(20)], "r": ["a", "b"] * 10})
ALIKE = "n" * 63
LONG_NAMES = f"SELECT SUM({ALIKE}1) AS a, SUM({ALIKE}2) AS b FROM (SELECT x AS {ALIKE}1, x + 1 AS {ALIKE}2 FROM t)"
BY_REGION = "SELECT r, COUNT(*) AS n FROM t GROUP BY r"
NUL: dict[str, Any] = {"r": ["a", "b\0"]}

Opened = Callable[..., Session]


@pytest.fixture
def opened(request: pytest.FixtureRequest) -> Iterator[Opened]:
    """The table behind a budget, in some place."""
    sessions: list[Session] = []

    def open_(where: str, **domains: Any) -> Session:
        said = {"x": (0, 10), **domains}
        source = place(where, request)("t", TABLE)
        sessions.append(gt.protect(source, unit=gt.ROW, budget=gt.PureDP(100), domains=said, name="t"))
        return sessions[-1]

    yield open_
    for each in sessions:
        each.close()


def _growing(times: int) -> str:
    """A question that DuckDB has to be told twice as much for each time, and PostgreSQL a little more."""
    text = "x"
    for _ in range(times):
        text = f"CASE WHEN x > 0 THEN {text} + 1 END"
    return f"SELECT SUM(CLAMP({text}, 0, 1)) AS a FROM t"


def _rounded(times: int) -> str:
    """A question that Spark has to be told three times as much for each time, and DuckDB a little more."""
    text = "x"
    for _ in range(times):
        text = f"ROUND({text} + 1)"
    return f"SELECT SUM(CLAMP({text}, 0, 1)) AS a FROM t"


def _require_refused_for_free(session: Session, text: str, why: str) -> None:
    engine = engine_of(session)
    before = session.spent
    query = session.sql(text)
    for ask in (query.quote, query.answer, query.stream):
        with pytest.raises(QueryRefused, match=why):
            ask(epsilon=1)
    with pytest.raises(QueryRefused, match=why):
        session.batch([query]).answer(epsilon=1)
    assert session.spent == before
    assert engine.unchanged()


@pytest.mark.parametrize(
    ("where", "text", "domains", "why"),
    [
        ("postgresql", BY_REGION, NUL, "NUL character"),
        ("postgresql", LONG_NAMES, {}, "63 bytes"),
        ("duckdb", _growing(14), {}, "too long"),
        ("spark", _rounded(10), {}, "too long"),
    ],
)
def test_what_one_engine_cannot_run_is_refused_there_at_no_cost(
    where: str, text: str, domains: dict[str, Any], why: str, opened: Opened
) -> None:
    _require_refused_for_free(opened(where, **domains), text, why)


@pytest.mark.parametrize(
    ("where", "text", "domains"),
    [
        ("duckdb", BY_REGION, NUL),
        ("duckdb", LONG_NAMES, {}),
        ("duckdb", _rounded(10), {}),
        ("postgresql", LONG_NAMES.replace(f", SUM({ALIKE}2) AS b", ""), {}),
        ("postgresql", _growing(14), {}),
        ("postgresql", _rounded(10), {}),
    ],
)
def test_and_answered_by_one_that_can(where: str, text: str, domains: dict[str, Any], opened: Opened) -> None:
    session = opened(where, **domains)
    session.sql(text).quote(epsilon=1)
    assert len(session.sql(text).answer(epsilon=1)) > 0


def _summands(count: int) -> tuple[Summand, ...]:
    return tuple(Summand("values", ColumnReference("x")) for _ in range(count))


def test_postgresql_is_asked_for_no_more_columns_than_its_select_may_have(server: str) -> None:
    engine = PostgresEngine(server)
    found = engine.add("t", stored(server, "t", TABLE), None)
    scan = Scan(PrivateTable("t", found.columns, None))
    most, more = (Tally(scan, Keys(), _summands(count)) for count in (1659, 1665))
    engine.require_runnable([most])
    engine.tally(most)
    with pytest.raises(QueryRefused, match="1,664 columns"):
        engine.require_runnable([more])
    with pytest.raises(QueryFailed):  # as it would be, were it asked
        engine.tally(more)
    engine.close()


def test_of_wide_relations_those_columns_count_that_a_question_needs(server: str) -> None:
    engine = PostgresEngine(server)
    found = engine.add("t", stored(server, "t", TABLE), None)
    columns = [f"c{index}" for index in range(1665)]
    wide = Derive(Scan(PrivateTable("t", found.columns, None)), tuple((name, ColumnReference("x")) for name in columns))
    few, all_of_them = (
        Tally(wide, Keys(), (Summand("values", Call("coalesce", tuple(map(ColumnReference, names)))),))
        for names in (columns[:3], columns)
    )
    engine.require_runnable([few])
    engine.tally(few)
    with pytest.raises(QueryRefused, match="1,664 columns"):
        engine.require_runnable([all_of_them])
    engine.close()


def test_a_public_table_whose_names_postgresql_would_confuse_is_refused(server: str) -> None:
    engine = PostgresEngine(server)
    with pytest.raises(QueryRefused, match="63 bytes"):
        engine.add_public("zones", pl.DataFrame({f"{ALIKE}1": [1], f"{ALIKE}2": [2]}))
    engine.add_public("zones", pl.DataFrame({f"{ALIKE}1": [1], "other": [2]}))
    engine.close()


def test_no_row_is_read_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = DuckDBEngine()
    found = engine.add("t", TABLE, {})
    columns = tuple((name, domain.complete() if name == "p" else domain) for name, domain in found.columns)
    scan = Scan(PrivateTable("t", columns, "p"), 3)
    keys = Keys((KeyColumn("r", ColumnReference("r"), None),))
    tally = Tally(scan, keys, (Summand("rows"),))
    with monkeypatch.context() as patch:
        patch.setattr(engine, "_connection", None)
        engine.require_runnable([tally, Persons(scan, keys, 2)])
    known = Tally(scan, Keys((KeyColumn("r", ColumnReference("r"), ("a", "b")),)), (Summand("rows"),))
    assert [part.tolist() for part in engine._remembered(known, lambda: engine._tally(known))] == [[10, 10]]
    engine.close()
