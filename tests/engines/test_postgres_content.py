"""Tables of PostgreSQL whose content changes without a write, or whose names and forms change: each is noticed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

import giveortake as gt
from giveortake.engines.postgres.engine import PostgresEngine
from giveortake.engines.protocol import with_table
from giveortake.errors import InvalidParameter, QueryFailed
from waiting import until

OURS = "application_name = 'giveortake' AND datname = current_database()"
HIDES = (
    "SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 4242"  # what changes without a write, as clocks do
)


@pytest.fixture
def run(server: str) -> Iterator[Callable[[str], Any]]:
    """Statements of somebody else, who may write."""
    with psycopg.connect(server, autocommit=True) as connection:
        yield lambda text: connection.execute(text.encode())


@pytest.fixture
def name(run: Callable[[str], Any]) -> str:
    """A table of a hundred people, and its name."""
    made = f"t_{uuid4().hex[:8]}"
    run(f"CREATE TABLE {made} (p bigint, k text)")
    run(f"INSERT INTO {made} SELECT i, 'a' FROM generate_series(1, 100) AS i")
    return made


@pytest.fixture
def engine(server: str) -> Iterator[PostgresEngine]:
    made = PostgresEngine(server)
    yield made
    made.close()


def _before(engine: PostgresEngine, monkeypatch: pytest.MonkeyPatch, statement: str, act: Callable[[], Any]) -> None:
    """Something happens in the moment before a statement that begins so."""
    read = engine._read

    def reading(text: str) -> list[tuple[Any, ...]]:
        if text.startswith(statement):
            act()
        return read(text)

    monkeypatch.setattr(engine, "_read", reading)


@pytest.mark.parametrize("kind", ["table", "partitioned", "view"])
def test_what_changes_without_a_write_is_compared_each_time(
    kind: str, server: str, name: str, run: Callable[[str], Any]
) -> None:
    role, seen = f"asker_{name}", f"k = 'b' OR NOT EXISTS ({HIDES})"
    run(f"CREATE ROLE {role} LOGIN")
    if kind == "view":
        run(f"ALTER TABLE {name} RENAME TO {name}_table; CREATE VIEW {name} AS SELECT * FROM {name}_table WHERE {seen}")
    else:
        if kind == "partitioned":
            run(f"ALTER TABLE {name} RENAME TO {name}_0")
            run(f"CREATE TABLE {name} (p bigint, k text) PARTITION BY RANGE (p)")
            run(f"ALTER TABLE {name} ATTACH PARTITION {name}_0 DEFAULT")
        run(f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY; CREATE POLICY now ON {name} USING ({seen})")
    run(f"GRANT SELECT ON {name} TO {role}")
    asker = server.replace("postgres:@", f"{role}@")
    engine = PostgresEngine(asker)
    engine.add("t", asker, None, table=name)
    engine.hold_to_content()
    count = f"SELECT count(*) FROM public.{name}"
    for _ in range(2):
        assert engine._rows(count) == [(100,)]
        assert engine.unchanged()
    run("SELECT pg_advisory_lock(4242)")
    with pytest.raises(QueryFailed, match="changed"):
        engine._rows(count)
    assert not engine.unchanged()
    run("SELECT pg_advisory_unlock(4242)")
    assert engine._rows(count) == [(100,)]
    if kind != "view":
        run(f"ALTER TABLE {name} DISABLE ROW LEVEL SECURITY")
        assert engine._rows(count) == [(100,)]
    engine.close()


def test_content_is_read_once_by_each_session_while_nobody_writes(
    server: str, name: str, engine: PostgresEngine, run: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    scans: list[int] = []
    engine.add("t", server, None, table=name)
    engine.hold_to_content()
    _before(engine, monkeypatch, "SELECT count(*), sum(", lambda: scans.append(1))

    def is_asked_without_reading() -> bool:
        before = len(scans)
        engine._rows("SELECT 1")
        return len(scans) == before

    until(is_asked_without_reading, "nobody writes: other tests may, in the same server")
    before = len(scans)
    assert before >= 1
    run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {OURS}")  # as a server that crashed would
    engine._rows("SELECT 1")
    assert len(scans) == before + 1


def test_a_table_under_the_name_of_another_is_another(
    server: str, name: str, engine: PostgresEngine, run: Callable[[str], Any]
) -> None:
    engine.add("t", server, None, table=name)
    run(f"CREATE TABLE {name}_new AS SELECT p, 'x' || k AS k FROM {name}")
    assert engine.unchanged()
    run(f"BEGIN; ALTER TABLE {name} RENAME TO {name}_old; ALTER TABLE {name}_new RENAME TO {name}; COMMIT")
    assert not engine.unchanged()
    for _ in ("as any question", "held to the content"):
        with pytest.raises(QueryFailed) as failed:
            engine._rows(f"SELECT count(*) FROM public.{name}")
        assert failed.value.cause == "changed"
        engine.hold_to_content()
    run(f"DROP TABLE {name}")
    with pytest.raises(QueryFailed, match="changed"):
        engine._rows("SELECT 1")


@pytest.mark.parametrize(
    "change", ["TRUNCATE {0}_0", "ALTER TABLE {0} RENAME TO {0}_other", "ALTER TABLE {0} RENAME COLUMN k TO l"]
)
def test_nobody_changes_the_form_of_a_table_between_its_comparison_and_its_question(
    change: str,
    server: str,
    name: str,
    engine: PostgresEngine,
    run: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _partition(name, run)
    engine.add("t", server, None, table=name)
    engine.hold_to_content()
    question = f"SELECT count(k) FROM public.{name}"
    assert engine._rows(question) == [(100,)]

    run("SET lock_timeout = '1ms'")

    def refused() -> None:
        with pytest.raises(psycopg.errors.LockNotAvailable):
            run(change.format(name))

    _before(engine, monkeypatch, question, refused)
    assert engine._rows(question) == [(100,)]


def test_a_partition_that_comes_between_comparison_and_question_is_noticed(
    server: str, name: str, engine: PostgresEngine, run: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    _partition(name, run)
    run(f"CREATE TABLE {name}_1 (p bigint, k text); INSERT INTO {name}_1 VALUES (2000, 'a')")
    engine.add("t", server, None, table=name)
    engine.hold_to_content()
    question = f"SELECT count(*) FROM public.{name}"
    assert engine._rows(question) == [(100,)]
    attach = f"ALTER TABLE {name} ATTACH PARTITION {name}_1 FOR VALUES FROM (1000) TO (3000)"
    _before(engine, monkeypatch, question, lambda: run(attach))
    with pytest.raises(QueryFailed, match="changed"):
        engine._rows(question)


def _partition(name: str, run: Callable[[str], Any]) -> None:
    run(f"ALTER TABLE {name} RENAME TO {name}_0")
    run(f"CREATE TABLE {name} (p bigint, k text) PARTITION BY RANGE (p)")
    run(f"ALTER TABLE {name} ATTACH PARTITION {name}_0 FOR VALUES FROM (0) TO (1000)")


def test_limits_of_the_server_are_no_answers(server: str, run: Callable[[str], Any]) -> None:
    version = run("SHOW server_version_num").fetchone()[0]
    limits = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]
    limits += ["transaction_timeout"] if int(version) >= 170000 else []
    stated = "%20".join(f"-c%20{limit}%3D{10**6}" for limit in limits)
    address = f"{server}&options={stated}"
    settings = "SELECT " + ", ".join(f"current_setting('{limit}')" for limit in limits)
    with psycopg.connect(address) as connection:
        (found,) = connection.execute(settings.encode()).fetchall()
        assert set(found) == {"1000s"}
    for seconds in (None, 2000):
        engine = PostgresEngine(address, seconds=seconds)
        for _ in range(2):
            (found,) = engine._rows(settings)
            assert set(found[1:]) == {"0"}
            assert found[0] != "1000s"
            engine._connection.close()  # one that is made again is like the first
        engine.close()


def test_a_person_whom_a_collation_spells_in_several_ways_is_refused(
    server: str, name: str, run: Callable[[str], Any]
) -> None:
    if run("SELECT count(*) FROM pg_collation WHERE collprovider = 'i'").fetchone()[0] > 1:
        run(f"CREATE COLLATION loose_{name} (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
    else:  # a server without ICU has no such collation of its own: the catalog is made to say that it has
        run(f"CREATE COLLATION loose_{name} (provider = libc, locale = 'C')")
        run(f"UPDATE pg_collation SET collisdeterministic = false WHERE collname = 'loose_{name}'")
    run(f"ALTER TABLE {name} ADD COLUMN mail text COLLATE loose_{name} DEFAULT 'Ann'")
    run(f'CREATE VIEW {name}_view AS SELECT *, lower(mail) COLLATE "C" AS one FROM {name}')
    options: Any = {"budget": gt.PureDP(9), "name": "t"}
    for table in (name, f"{name}_view"):
        with pytest.raises(InvalidParameter, match="several spellings") as refused:
            gt.protect(with_table(server, table), unit="mail", **options)
        assert 'lower(mail) COLLATE "C"' in str(refused.value)
    gt.protect(with_table(server, f"{name}_view"), unit="one", **options).close()
    engine = PostgresEngine(server)
    engine.add("t", server, None, table=name)
    run(f"DROP VIEW {name}_view")
    run(f"ALTER TABLE {name} ALTER COLUMN k TYPE text COLLATE loose_{name}")
    assert not engine.unchanged()
    engine.close()
