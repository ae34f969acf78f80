"""PostgreSQL, asked where its tables are: integers, types, content, expressions and failures."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import polars as pl
import psycopg
import pytest

import giveortake as gt
from evil_calls import LEAVES, ROWS, calls
from evil_tables import DOMAINS, SCHEMA, frame
from giveortake.compile.measures import quantum_of
from giveortake.engines import Bins, KeyColumn, Keys, Persons, Summand, Tally
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.postgres.engine import PostgresEngine
from giveortake.engines.postgres.tables import split
from giveortake.engines.protocol import with_table
from giveortake.engines.questions import Bounding
from giveortake.errors import InvalidParameter, LedgerMismatch, NotFound, QueryFailed
from giveortake.plan import Call, ColumnReference, Domain, Expression, Kind, Literal, PrivateTable, Scan
from giveortake.plan.expressions import declared
from giveortake.plan.functions import FUNCTIONS
from inside import engine_of
from postgres_server import stored
from replay import Revealing
from tiers import tiered
from waiting import until

OURS = "application_name = 'giveortake' AND datname = current_database()"  # others may use the server as well
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


def _values(engine: PostgresEngine, name: str, columns: tuple[tuple[str, Domain], ...]) -> dict[str, list[Any]]:
    text = engine._printer.relation(Scan(PrivateTable(name, columns, None)))
    rows = engine._rows(f"SELECT * FROM ({text}) AS t")
    return {column: sorted((row[i] for row in rows), key=str) for i, (column, _) in enumerate(columns)}


def test_every_type_is_read_as_its_kind_and_nothing_stored_makes_that_fail(
    server: str, engine: PostgresEngine, run: Callable[[str], Any]
) -> None:
    name = _name()
    run(f"CREATE TYPE mood_{name} AS ENUM ('zufrieden', 'ärgerlich')")
    run(
        f"CREATE TABLE {name} (s smallint, i integer, b bigint, f real, d numeric(6, 2), z numeric(40, 3), n numeric, "
        f"h numeric(4, -2), c char(5), v varchar(9), m name, u uuid, e mood_{name}, o boolean, day date, "
        "at timestamp(3), zoned timestamptz, j jsonb, l integer[], raw bytea, span interval)"
    )
    for n in ("'NaN'", "'Infinity'", "'-Infinity'", "1e400", "-1e400", "1e-400", "5e-324", "1.5", "NULL", "2.4e-324"):
        run(f"INSERT INTO {name} (d, n, c) VALUES ('NaN', {n}, 'ab')")
    for day in ("infinity", "-infinity", "0044-03-15 BC", "10000-01-01", "9999-12-31", "0001-01-01"):
        run(f"INSERT INTO {name} (day, at, d, e, f) VALUES ('{day}', '{day}', 12.5, 'zufrieden', 3.4e38)")
    columns = engine.add("t", f"{server}&table={name}", None).columns
    kinds = {column: domain.kind for column, domain in columns}
    assert [column for column, _ in columns] == [*"sibfdznhcvmueo", "day", "at"]
    assert [kinds[each] for each in "sib"] == [Kind.INTEGER] * 3
    assert [kinds[each] for each in "fznh"] == [Kind.REAL] * 4
    assert [kinds[each] for each in "cvmue"] == [Kind.TEXT] * 5
    assert dict(columns)["d"] == Domain(Kind.DECIMAL, step=Fraction(1, 100))
    assert [kinds[each] for each in ("o", "day", "at")] == [Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP]
    found = _values(engine, "t", columns)
    assert [str(each) for each in found["day"] if each] == ["0001-01-01", "9999-12-31"]
    assert [str(each) for each in found["at"] if each] == ["0001-01-01 00:00:00", "9999-12-31 00:00:00"]
    numbers = [each for each in found["n"] if each is not None]
    assert sorted(numbers) == [-float("inf")] * 2 + [0.0, 0.0, 5e-324, 1.5] + [float("inf")] * 2
    assert set(map(str, found["d"])) == {"12.50", "None"}
    assert set(found["c"]) == {"ab", None}
    assert set(found["e"]) == {"zufrieden", None}


def test_texts_are_compared_by_code_points_whatever_their_collation(
    server: str, engine: PostgresEngine, run: Callable[[str], Any]
) -> None:
    name = _name()
    texts = ["a", "A", "ä", "Ä", "b", "'", "\\", "%s", '"', "日本", "e\u0301", "é", "{}", "NULL", "a,b", ""]
    collated = "text"
    if run("SELECT count(*) FROM pg_collation WHERE collprovider = 'i'").fetchone()[0] > 1:
        run(f"CREATE COLLATION loose_{name} (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
        collated = f"text COLLATE loose_{name}"
    run(f"CREATE TABLE {name} (p bigint, k {collated})")
    frame = pl.DataFrame({"p": list(range(len(texts))) * 2, "k": texts * 2})
    with psycopg.connect(server, autocommit=True) as connection:
        connection.cursor().executemany(f"INSERT INTO {name} VALUES (%s, %s)".encode(), frame.rows())
    columns = dict(engine.add("t", f"{server}&table={name}", None).columns)
    columns["p"] = columns["p"].complete()
    scan = Scan(PrivateTable("t", tuple(columns.items()), "p"))
    keys, counts = _open(next(engine.persons(Persons(scan, Keys((KeyColumn("k", ColumnReference("k"), None),)), 2))))
    assert keys == [(text,) for text in sorted(texts)]
    assert counts.tolist() == [1] * len(texts)
    listed = Keys((KeyColumn("k", ColumnReference("k"), (*texts, None)),))
    (rows,) = _open(engine.tally(Tally(scan, listed, (Summand("rows"),), Bounding(3, 2))))
    assert rows.tolist() == [2] * len(texts) + [0]


def test_a_hundred_thousand_keys_are_found_in_seconds(
    server: str, engine: PostgresEngine, run: Callable[[str], Any]
) -> None:
    name = _name()
    run(f"CREATE TABLE {name} AS SELECT n AS p, 'key ' || n % 5000 AS k FROM generate_series(1, 20000) AS n")
    columns = dict(engine.add("t", f"{server}&table={name}", None).columns)
    scan = Scan(PrivateTable("t", tuple(columns.items()), None))
    keys = Keys((KeyColumn("k", ColumnReference("k"), (None, *(f"key {n}" for n in range(100_000)))),))
    (rows,) = _open(engine.tally(Tally(scan, keys, (Summand("rows"),))))
    assert rows.tolist() == [0] + [4] * 5000 + [0] * 95_000


@pytest.mark.parametrize("most", [Fraction(1, 10**9), Fraction(7), Fraction(2**62)])
def test_extreme_numbers_lie_where_duckdb_puts_them_on_every_lattice(
    most: Fraction, server: str, engine: PostgresEngine
) -> None:
    numbers = [None, float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, -5e-324, 1e308, -1e308, 2.5, -3e18, 4e-10]
    frame = pl.DataFrame({"p": list(range(12)), "x": pl.Series(numbers, dtype=pl.Float64)})
    duck = DuckDBEngine(threads=1)
    duck.add("t", frame, {})
    engine.add("t", stored(server, _name(), frame), None)
    domain = Domain(Kind.REAL, -most, most)
    scan = Scan(PrivateTable("t", (("p", Domain(Kind.INTEGER, nullable=False)), ("x", domain)), "p"))
    keys = Keys((KeyColumn("p", ColumnReference("p"), tuple(range(12))),))
    for centred in (False, True):
        tally = Tally(
            scan,
            keys,
            (Summand("sum", ColumnReference("x"), quantum_of(domain, ColumnReference("x"), centred=centred)),),
        )
        assert _open(duck.tally(tally))[0].tolist() == _open(engine.tally(tally))[0].tolist()
    bins = Bins(scan, keys, ColumnReference("x"), -most, most / 8, 16)
    assert _open(duck.bins(bins)).tolist() == _open(engine.bins(bins)).tolist()
    duck.close()


# -- nothing written, nothing told ----------------------------------------------------------------------------------


def _small(server: str) -> tuple[str, str]:
    name = _name()
    return name, stored(server, name, pl.DataFrame({"p": [1, 2, 3], "k": ["a", "b", SECRET]}))


def test_the_connection_cannot_write_and_leaves_no_transaction_open(
    server: str, engine: PostgresEngine, run: Callable[[str], Any]
) -> None:
    name, url = _small(server)
    engine.add("t", url, None)
    for statement in (f"DELETE FROM {name}", f"TRUNCATE {name}", "CREATE TABLE other (x integer)"):
        with pytest.raises(QueryFailed):
            engine._run(statement)
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            engine._connection.execute(statement.encode())
    assert run(f"SELECT count(*) FROM {name}").fetchone() == (3,)
    assert engine._rows("SELECT 1") == [(1,)]
    listed = f"SELECT count(*) FROM pg_stat_activity WHERE {OURS} AND state <> 'idle'"
    assert run(listed).fetchone() == (0,)


def test_failures_quote_neither_rows_nor_the_address(server: str, engine: PostgresEngine) -> None:
    name, url = _small(server)
    engine.add("t", url, None)
    with pytest.raises(QueryFailed) as failed:
        engine._rows(f"SELECT CAST(k AS integer) FROM {name}")
    shown = f"{failed.value} {failed.value.__cause__} {failed.value.__suppress_context__} {engine!r} {engine.identity}"
    assert SECRET not in shown
    assert server not in shown
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None
    assert engine._rows("SELECT 1") == [(1,)]


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ann:{SECRET}@127.0.0.1:1/clinic?table=t&connect_timeout=2",
        f"postgresql://ann:{SECRET}@127.0.0.1:1/clinic?{SECRET}=1",
        f"postgres://ann:{SECRET}@[::1/clinic",
        f"mysql://ann:{SECRET}@db/clinic",
    ],
)
def test_a_server_out_of_reach_is_not_named(url: str) -> None:
    with pytest.raises((NotFound, InvalidParameter)) as refused:
        PostgresEngine(url)
    assert SECRET not in f"{refused.value!r} {refused.value} {refused.value.__cause__} {vars(refused.value)}"
    assert "127.0.0.1" not in str(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_tables_that_are_missing_or_elsewhere_or_forbidden_are_refused(
    server: str, engine: PostgresEngine, run: Callable[[str], Any]
) -> None:
    (name, url), missing = _small(server), _name()
    with pytest.raises(NotFound, match=f"'{missing}'"):
        engine.add("t", f"{server}&table={missing}", None)
    with pytest.raises(InvalidParameter):
        engine.add("t", urlsplit(url)._replace(path="/other").geturl(), None)
    assert engine.add("t", server, None, table=f"public.{name}").columns == engine.add(name, server, None).columns
    run("DROP ROLE IF EXISTS stranger")
    run("CREATE ROLE stranger LOGIN")
    stranger = url.replace("postgres:@", "stranger:@")
    forbidden = PostgresEngine(stranger)
    with pytest.raises(NotFound):
        forbidden.add("t", stranger, None)
    run(f"GRANT SELECT ON {name} TO stranger")
    assert len(forbidden.add("t", stranger, None).columns) == 2
    forbidden.close()


def test_one_database_serves_several_tables_under_odd_names(
    server: str, engine: PostgresEngine, run: Callable[[str], Any]
) -> None:
    odd = 'Fahrten "2024".é%s'
    quoted = '"' + odd.replace('"', '""') + '"'
    run(f'DROP TABLE IF EXISTS {quoted}; CREATE TABLE {quoted} ("a""b %s" bigint, a0 bigint, v bigint)')
    run(f"INSERT INTO {quoted} VALUES (1, 2, 3)")
    columns = engine.add("odd", server, None, table=odd).columns
    scan = Scan(PrivateTable("odd", columns, None))
    total = Call(
        "add",
        (Call("multiply", (ColumnReference("a0"), ColumnReference("v"))), Call("negate", (ColumnReference('a"b %s'),))),
    )
    condition = Call("eq", (total, Literal(5)))
    (rows,) = _open(
        engine.tally(Tally(scan, Keys(), (Summand("values", Call("nullif", (condition, Literal(False)))),)))
    )
    assert rows.tolist() == [1]


def test_a_lost_connection_is_made_again(server: str, run: Callable[[str], Any]) -> None:
    engine = PostgresEngine(server)
    assert engine.identity.startswith("postgresql 1")
    run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {OURS}")
    assert engine._rows("SELECT 1") == [(1,)]
    engine.close()


def test_an_url_without_a_host_is_left_to_the_environment() -> None:
    assert split("postgres:///clinic?table=s.visits&service=nightly") == (
        "postgresql:///clinic?service=nightly",
        "s.visits",
    )
    assert split("postgresql://?table=visits") == ("postgresql://", "visits")
    assert split("postgresql://ann@db:5433/a%2Fb") == ("postgresql://ann@db:5433/a%2Fb", None)


def test_schemes_compare_whatever_their_case() -> None:
    assert split(" PostgreSQL://db/clinic?table=visits") == ("postgresql://db/clinic", "visits")


# -- what was written since -----------------------------------------------------------------------------------------


def test_a_column_called_like_the_table_hides_no_other(
    server: str, engine: PostgresEngine, run: Callable[[str], Any]
) -> None:
    name = _name()
    run(f"CREATE TABLE {name} (t text, x bigint); INSERT INTO {name} VALUES ('a', 1)")
    before = engine.add("t", server, None, table=name).fingerprint
    run(f"UPDATE {name} SET x = 2")
    assert engine.add("other", server, None, table=name).fingerprint != before


WRITES = {
    "insert": "INSERT INTO {0} VALUES (4, 'd')",
    "update": "UPDATE {0} SET k = 'z' WHERE p = 1",
    "delete": "DELETE FROM {0} WHERE p = 1",
    "truncate": "TRUNCATE {0}",
    "column": "ALTER TABLE {0} ADD COLUMN x bigint",
    "drop": "DROP TABLE {0} CASCADE",
}


def _first(answer: Any) -> Any:
    return answer["n"].values[0]


@pytest.mark.parametrize("kind", ["table", "view"])
def test_parts_and_counters_are_of_one_content_however_late_the_server_counts(
    kind: str, server: str, run: Callable[[str], Any]
) -> None:
    name = _name()
    run(f"CREATE TABLE {name} (p bigint, k text, d bigint)")
    run(f"INSERT INTO {name} SELECT i, 'a', 1 FROM generate_series(1, 100) AS i")
    if kind == "view":
        run(f"ALTER TABLE {name} RENAME TO {name}_table")
        run(f"CREATE VIEW {name} AS SELECT * FROM {name}_table")
    table = name if kind == "table" else f"{name}_table"
    options: Any = {"unit": "p", "domains": {"k": ["a", "b"], "d": (1, 9)}, "name": "t"}
    count = "SELECT COUNT(*) AS n FROM t"
    with gt.protect(with_table(server, name), budget=gt.ZCDP(100), rows_per_person=1, **options) as s:
        counter, parts = s.counter("d", horizon=9).answer(rho=1, rows_per_person=1), s.partition("k")
        for _ in range(2):  # nothing was written: each is asked of what was registered
            counter.next()
        assert _first(parts["a"].sql(count).answer(rho=1)) > 50
        assert engine_of(s).unchanged()
        run(f"UPDATE {table} SET k = 'b', d = 3")  # by a connection that tells it some seconds later
        with pytest.raises((QueryFailed, LedgerMismatch), match="changed"):  # of a view all is compared beforehand
            counter.next()
        with pytest.raises((QueryFailed, LedgerMismatch), match="changed"):
            parts["b"].sql(count).answer(rho=1)
        run(f"UPDATE {table} SET k = 'a', d = 1")  # as it was: the content decides, and not who wrote
        assert _first(parts["a"].sql(count).answer(rho=2)) > 50


def test_what_was_computed_of_other_content_is_no_part_of_this_one(server: str, run: Callable[[str], Any]) -> None:
    name = _name()
    run(f"CREATE TABLE {name} (p bigint, k text)")
    run(f"INSERT INTO {name} SELECT i, 'a' FROM generate_series(1, 100) AS i")
    options: Any = {"unit": "p", "domains": {"k": ["a", "b"]}, "name": "t", "rows_per_person": 1}
    with gt.protect(with_table(server, name), budget=gt.ZCDP(100), **options) as s:
        run(f"UPDATE {name} SET k = 'b'")
        everybody = "SELECT COUNT(*) AS n FROM t"
        _first(s.sql(f"{everybody} WHERE k = 'b'").answer(rho=1))  # before the server has told it, or after
        run(f"UPDATE {name} SET k = 'a'")
        parts = s.partition("k", parts_per_person=2)
        found = {each: _first(parts[each].sql(everybody).answer(rho=1)) for each in ("a", "b")}
        assert found["a"] > 50 > found["b"]


@pytest.mark.parametrize("kind", ["table", "view", "partitioned"])
@pytest.mark.parametrize("write", WRITES)
def test_writes_are_noticed_and_others_forgiven(
    write: str, kind: str, server: str, engine: PostgresEngine, run: Callable[[str], Any]
) -> None:
    name, _ = _small(server)
    asked = name
    if kind == "view":
        asked = f"{name}_view"
        run(f"CREATE VIEW {asked} AS SELECT * FROM {name}")
    if kind == "partitioned":
        run(f"ALTER TABLE {name} RENAME TO {name}_old")
        run(f"CREATE TABLE {name} (p bigint, k text) PARTITION BY HASH (p)")
        run(f"CREATE TABLE {name}_0 PARTITION OF {name} FOR VALUES WITH (modulus 1, remainder 0)")
        run(f"INSERT INTO {name} SELECT * FROM {name}_old")
    source = engine.add("t", server, None, table=asked)
    assert engine.unchanged()
    if kind == "table":
        run(f"VACUUM FULL {name}")
        assert engine.unchanged()
    assert engine.add("same", server, None, table=asked).fingerprint == source.fingerprint
    if kind == "view" and write == "column":
        return  # a view keeps the columns that it was made with
    with psycopg.connect(server) as writer:  # when it leaves, what it wrote is counted
        writer.execute(WRITES[write].format(name).encode())
    until(lambda: not engine.unchanged(), "the server counts what was written")


HIDES = (
    "SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 4242"  # what changes without a write, as clocks do
)


@pytest.fixture
def name(run: Callable[[str], Any]) -> str:
    """A table of a hundred people, and its name."""
    made = f"t_{uuid4().hex[:8]}"
    run(f"CREATE TABLE {made} (p bigint, k text)")
    run(f"INSERT INTO {made} SELECT i, 'a' FROM generate_series(1, 100) AS i")
    return made


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


NEAR = 1e-15  # C libraries differ in the last bit of exp and ln, and only there
AT_ONCE = 40
TABLE = frame([{**row, "q": row["q"] and row["q"].replace("\0", "")} for row in ROWS], SCHEMA)
EXTREMES: list[Expression] = [
    Literal(Fraction(value))
    for value in (
        1e308,
        -1e308,
        1.7976931348623157e308,
        5e-324,
        -5e-324,
        2.0**-1022,
        2.0**-537,
        3.0e-163,
        1e-160,
        1.5e154,
    )
]
DATES = ["2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "0000-01-01", "9999-12-31", "2024-13-01", "2024-00-10"]
TEXTS = [
    *DATES,
    "2024-04-31",
    "2024-01-00",
    " 12 ",
    "1e5",
    ".5",
    "5.",
    "-7.25e-3",
    "1e400",
    "0x10",
    "nan",
    "inf",
    "1_0",
]
Asked = tuple[tuple[DuckDBEngine, PostgresEngine], Scan]


@pytest.fixture(scope="module")
def asked(server: str) -> Iterator[Asked]:
    engines = DuckDBEngine(threads=1), PostgresEngine(server)
    one = engines[0].add("evil", TABLE, {})
    other = engines[1].add("evil", stored(server, "evil", TABLE), None)
    assert one.columns == other.columns
    columns = tuple(
        (name, declared(name, DOMAINS[name], domain) if name in DOMAINS and name != "y" else domain)
        for name, domain in one.columns
    )
    yield engines, Scan(PrivateTable("evil", columns, None))
    for engine in engines:
        engine.close()


def _computed(engine: Any, scan: Scan, expressions: Sequence[Expression]) -> list[tuple[Any, ...]]:
    printer = engine._printer
    listed = ", ".join(f"{printer.expression(each, scan.schema)} AS e{i}" for i, each in enumerate(expressions))
    rows = engine._rows(f'SELECT {listed} FROM ({printer.relation(scan)}) AS t ORDER BY "p"')
    return list(zip(*rows, strict=True))


def _plain(value: Any) -> Any:
    return value if not isinstance(value, Decimal) else Fraction(value)


def _same(one: Any, other: Any, *, near: bool) -> bool:
    one, other = _plain(one), _plain(other)
    if near and isinstance(one, float) and isinstance(other, float) and one != other:
        return abs(one - other) <= NEAR * abs(one)
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _uses_libraries(expression: Expression) -> bool:
    return isinstance(expression, Call) and (
        expression.name in {"exp", "ln"} or any(map(_uses_libraries, expression.arguments))
    )


def check(asked: Asked, expressions: Sequence[Expression]) -> None:
    """Every expression on every row, on both engines, few in one statement."""
    starts = range(0, len(expressions), AT_ONCE)
    assert [each for start in starts for each in _differing(asked, expressions[start : start + AT_ONCE])] == []


def _differing(asked: Asked, expressions: Sequence[Expression]) -> Iterator[tuple[Expression, list[Any]]]:
    engines, scan = asked
    found = [_computed(engine, scan, expressions) for engine in engines]
    for expression, one, other in zip(expressions, *found, strict=True):
        near = _uses_libraries(expression)
        pairs = [pair for pair in zip(one, other, strict=True) if not _same(*pair, near=near)]
        if pairs:
            yield expression, pairs[:3]


def test_every_function_has_the_same_values_plain_and_nested(asked: Asked) -> None:
    plain_calls, nested_calls = tiered(8, 12), tiered(8, 20)
    expressions: list[Expression] = []
    for name in sorted(FUNCTIONS):
        luck = random.Random(name)  # noqa: S311 (which calls are tried need not be secret)
        plain = calls(name, LEAVES, luck, plain_calls, asked[1])
        others = luck.sample(sorted(FUNCTIONS), nested_calls)
        expressions += plain
        expressions += [c for outer in others for c in calls(outer, [*plain, *plain, *LEAVES], luck, 1, asked[1])]
    check(asked, expressions)


def test_extremes_overflow_and_underflow_alike(asked: Asked) -> None:
    numbers = [ColumnReference("x"), ColumnReference("w"), ColumnReference("c"), *EXTREMES]
    expressions: list[Expression] = []
    for name in ("add", "subtract", "multiply", "divide", "exp", "ln", "sqrt", "greatest", "negate"):
        if FUNCTIONS[name].least == 1:
            expressions += [Call(name, (number,)) for number in numbers]
            continue
        pairs = [Call(name, (one, other)) for one in numbers for other in numbers]
        expressions += pairs
        expressions += [
            Call(name, (pair, Call("multiply", (ColumnReference("x"), EXTREMES[5])))) for pair in pairs[::5]
        ]
    check(asked, expressions)


def test_texts_become_numbers_and_dates_alike(asked: Asked) -> None:
    check(asked, [Call(name, (Literal(text),)) for name in ("to_date", "to_real") for text in TEXTS])
    cases = [(Call("eq", (ColumnReference("p"), Literal(i))), Literal(text)) for i, text in enumerate(TEXTS)]
    chosen = Call("case", (*(each for pair in cases for each in pair), ColumnReference("q")))
    check(asked, [Call("to_date", (chosen,)), Call("to_real", (chosen,)), Call("upper", (chosen,))])


def test_patterns_know_no_escapes_and_texts_no_percent_signs(asked: Asked) -> None:
    patterns = ["%", "_", "\\%", "%'%", "a\\_b", "100%%", "q_", "%s", "é", "", "日_"]
    texts = [Literal(text) for text in ("100%", "a\\_b", "\\", "%s %(x)s", "a'b", 'a"b', "é", "ÉSSß ıİ Ωω Жж")]
    check(asked, [Call("like", (text, Literal(each))) for text in [ColumnReference("q"), *texts] for each in patterns])
    check(asked, [Call(name, (text,)) for name in ("upper", "lower", "length") for text in texts])
    check(asked, [Call("ilike", (text, Literal("ÉSS%"))) for text in texts])
