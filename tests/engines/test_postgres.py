"""Tables that live in PostgreSQL: the same integers and keys as DuckDB's, nothing written, nothing told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import polars as pl
import psycopg
import pytest

import giveortake as gt
from giveortake.compile.measures import quantum_of
from giveortake.engines import Bins, KeyColumn, Keys, Persons, Summand, Tally
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.postgres.engine import PostgresEngine
from giveortake.engines.postgres.tables import split
from giveortake.engines.protocol import with_table
from giveortake.engines.questions import Bounding
from giveortake.errors import InvalidParameter, LedgerMismatch, NotFound, QueryFailed
from giveortake.plan import Call, ColumnReference, Domain, Kind, Literal, PrivateTable, Scan
from inside import engine_of
from postgres_server import stored
from replay import Revealing
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


def test_sums_beyond_64_bits_are_exact(server: str, engine: PostgresEngine) -> None:
    large = 2**62 - 1
    frame = pl.DataFrame({"p": [1, 1, 1, 2], "w": [large, large, large, -large]})
    duck = DuckDBEngine(threads=1)
    duck.add("t", frame, {})
    engine.add("t", stored(server, _name(), frame), None)
    domain = Domain(Kind.INTEGER, Fraction(-large), Fraction(large))
    scan = Scan(PrivateTable("t", (("p", Domain(Kind.INTEGER, nullable=False)), ("w", domain)), "p"))
    for bounding in (None, Bounding(1, 2), Bounding(1, 9)):
        summand = Summand("sum", ColumnReference("w"), quantum_of(domain, ColumnReference("x"), centred=False))
        found = [_open(each.tally(Tally(scan, Keys(), (summand,), bounding)))[0].tolist() for each in (duck, engine)]
        assert found[0] == found[1]
        if bounding is None:
            assert found[1] == [2 * large]
    duck.close()


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
    name, url = _small(server)
    with pytest.raises(NotFound, match="'trips'"):
        engine.add("t", f"{server}&table=trips", None)
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
