"""No row decides whether a question fails, or which rows of others count; long texts take little memory."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import psycopg
import pytest

import giveortake as gt
from engine_places import EVERYWHERE, place
from evil_calls import calls, is_admitted
from giveortake.audit.cases import shapes_of
from giveortake.audit.neighbours import Table, random_row, random_rows, random_visits
from giveortake.compile.partition_selection import with_keys
from giveortake.configuration import protection_arguments
from giveortake.engines import Bounding, Keys, Summand, Tally
from giveortake.engines.duckdb import long_texts as choices
from giveortake.engines.duckdb import long_texts as wide_rows
from giveortake.engines.duckdb.dialect import DuckDBDialect
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.duckdb.long_texts import WideRows
from giveortake.engines.postgres.dialect import PostgresDialect
from giveortake.engines.runtime import failure
from giveortake.engines.spark.dialect import SparkDialect
from giveortake.engines.sql import statements
from giveortake.engines.sql.dialect import Dialect
from giveortake.engines.sql.engine import Cache
from giveortake.engines.sql.printer import Printer
from giveortake.errors import QueryFailed, QueryRefused
from giveortake.exact import exact_decimal
from giveortake.plan import Call, ColumnReference, Expression, Literal, PrivateTable, Scan
from giveortake.plan.expressions import USUAL_CHARACTERS, declared
from giveortake.plan.functions import FUNCTIONS
from giveortake.session import Session
from inside import engine_of, measured
from replay import MODES, Mode, exact_integers, exact_units
from replay import SPEND as EXACT
from replay import SPEND as REPLAYED
from spark_session import spark_session
from stated_caps import stating_caps
from tiers import tiered

SPEND: dict[str, Any] = {"epsilon": 10**6}


def protect(source: Any, **more: Any) -> gt.session.Session:
    said = {"unit": "p", "budget": gt.ApproxDP(10**8, "1e-5"), "name": "t", **more}
    return gt.protect(source, **stating_caps(said))


def counted(s: gt.session.Session, text: str) -> list[Any]:
    return s.sql(text).answer(**SPEND).to_dict()["n"]


# -- long texts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", EVERYWHERE)
def test_texts_are_read_up_to_their_greatest_length(where: str, request: pytest.FixtureRequest) -> None:
    n = USUAL_CHARACTERS
    notes = ["ß" * n, "ß" * (n + 1), "ß" * 10 + "end", "a" * n, "a" * (n + 1), None]
    table = pl.DataFrame({"p": [f"p{i}" for i in range(6)], "note": notes, "code": notes})
    source = place(where, request)("long_texts", table)
    with protect(source, domains={"code": {"max_length": 12}}, rows_per_person=1) as s:
        expected = {
            f"LENGTH(note) = {n}": 4,
            f"LENGTH(note) > {n}": 0,
            "LENGTH(code) = 12": 5,
            "note LIKE '%end'": 1,
            "code LIKE '%end'": 0,
        }
        listed = ", ".join(f"COUNT_IF({condition}) AS c{place}" for place, condition in enumerate(expected))
        answer = s.sql(f"SELECT {listed} FROM t").answer(**SPEND).to_dict()
        assert [answer[f"c{place}"] for place in range(len(expected))] == [[number] for number in expected.values()]


@pytest.mark.parametrize("where", EVERYWHERE)
def test_a_text_longer_than_every_category_is_none_of_them(where: str, request: pytest.FixtureRequest) -> None:
    category = "k" * (USUAL_CHARACTERS + 10)
    table = pl.DataFrame({"p": range(4), "k": [category, category + "k", category[:-1], "a"]})
    source = place(where, request)("long_keys", table)
    with protect(source, domains={"k": [category, "a"]}, rows_per_person=1) as s:
        assert counted(s, "SELECT k, COUNT(*) AS n FROM t GROUP BY k") == [1, 1]


@pytest.mark.parametrize("where", EVERYWHERE)
@pytest.mark.parametrize("caps", [{"rows_per_person": 1}, {"groups_per_person": 1, "rows_per_group": 1}])
def test_persons_with_names_that_are_too_long_have_no_rows_and_are_nobody_else(
    caps: dict[str, int], where: str, request: pytest.FixtureRequest
) -> None:
    name = "ß" * USUAL_CHARACTERS
    table = pl.DataFrame({"p": [name, name + "1", name + "2", "bob"], "x": [1.0, 2.0, 4.0, 8.0]})
    source = place(where, request)("long_names", table)
    with protect(source, domains={"x": (0, 8)}, **caps) as s:
        answer = s.sql("SELECT COUNT(*) AS n, SUM(x) AS total FROM t").answer(**SPEND).to_dict()
        assert answer["n"] == [2]
        assert answer["total"] == [pytest.approx(9, abs=0.01)]


# -- names that are no text -----------------------------------------------------------------------------------------

Rows = list[tuple[bytes, str]]


def _as_csv(rows: Rows, folder: Path) -> Any:
    path = folder / f"{len(rows)}.csv"
    path.write_bytes(b"p,g\n" + b"".join(name + b"," + group.encode() + b"\n" for name, group in rows))
    return path


def _as_pandas(rows: Rows, folder: Path) -> Any:
    names = pd.Series([name.decode("utf-8", "surrogateescape") for name, _ in rows], dtype=object)
    return pd.DataFrame({"p": names, "g": [group for _, group in rows]})


def _as_polars(rows: Rows, folder: Path) -> Any:
    return pl.read_csv(_as_csv(rows, folder), encoding="utf8-lossy")


def _in_spark(rows: Rows, folder: Path) -> Any:
    listed = ", ".join(f"('{name.hex()}', '{group}')" for name, group in rows)
    return spark_session().sql(f"SELECT CAST(unhex(h) AS STRING) AS p, g FROM VALUES {listed} AS t(h, g)")


PLACES = [_as_csv, _as_pandas, _as_polars, pytest.param(_in_spark, marks=pytest.mark.xdist_group("spark"))]


@pytest.mark.parametrize("place", PLACES)
def test_people_whose_names_are_no_text_are_not_taken_for_one(place: Any, tmp_path: Path) -> None:
    """Else somebody's rows would push those of somebody else aside, and move more than was declared."""
    groups = [f"g{i}" for i in range(21)]
    one = [("Müller".encode("latin-1"), "g0"), ("Müller".encode(), "g0")]
    two = [*one, *(("Möller".encode("latin-1"), group) for group in groups[1:])]
    said = {"groups_per_person": 1, "rows_per_group": 1, "domains": {"g": groups}}
    text = "SELECT g, COUNT(*) AS n, COUNT(DISTINCT p) AS persons FROM t GROUP BY g"
    with protect(place(one, tmp_path), **said) as few, protect(place(two, tmp_path), **said) as many:
        made = measured(few, text, REPLAYED)
        assert len(made.measures) == 2
        measures = [exact_integers(made, engine_of(session)) for session in (few, many)]
        for measure, before, after in zip(made.measures, *measures, strict=True):
            assert abs(after - before).sum() <= measure.l1
            assert before.any()  # whose name is text counts


@pytest.mark.parametrize("where", EVERYWHERE)
@pytest.mark.parametrize("caps", [{"rows_per_person": 1}, {"groups_per_person": 1, "rows_per_group": 1}])
def test_a_person_with_a_replaced_letter_has_no_rows(
    caps: dict[str, int], where: str, request: pytest.FixtureRequest
) -> None:
    table = pl.DataFrame({"p": ["M\ufffdller", "\ufffd", "Müller", "bob"], "q": ["\ufffd"] * 4})
    source = place(where, request)("replaced_letters", table)
    with protect(source, **caps) as s:
        text = "SELECT COUNT(*) AS n, COUNT_IF(q = '\ufffd') AS others FROM t"  # elsewhere it is a letter
        answer = s.sql(text).answer(**SPEND).to_dict()
        assert (answer["n"], answer["others"]) == ([2], [2])


# -- wide numbers -----------------------------------------------------------------------------------------------------

TYPES = {
    "TINYINT": (-(2**7), 2**7 - 1),
    "SMALLINT": (-(2**15), 2**15 - 1),
    "INTEGER": (-(2**31), 2**31 - 1),
    "BIGINT": (-(2**63), 2**63 - 1),
    "HUGEINT": (-(2**127), 2**127 - 1),
    "UTINYINT": (0, 2**8 - 1),
    "USMALLINT": (0, 2**16 - 1),
    "UINTEGER": (0, 2**32 - 1),
    "UBIGINT": (0, 2**64 - 1),
    "DECIMAL(38, 0)": (-(10**38) + 1, 10**38 - 1),
    "DECIMAL(38, 38)": (0, 0),
    "DECIMAL(4, 2)": (-99, 99),
    "FLOAT": (-(2**127), 2**127),
    "UUID": None,
    "TIME": None,
    "TIMESTAMP_S": None,
    "TIMESTAMP_NS": None,
    "DATE": None,
    "BOOLEAN": None,
    "VARCHAR": None,
}
EXTREMES = {
    "UUID": ["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
    "TIME": ["'00:00:00'", "'24:00:00'"],
    "TIMESTAMP_S": ["'infinity'", "'-infinity'", "'290308-12-22 (BC)'", "'294246-12-31'"],
    "TIMESTAMP_NS": ["'1677-09-22'", "'2262-04-11'"],
    "DATE": ["'infinity'", "'-infinity'", "'5877642-06-25 (BC)'", "'5881580-07-10'"],
    "BOOLEAN": ["true", "false"],
    "VARCHAR": ["''", "'9' || repeat('9', 400)", "'-1e999'", "'nan'", "'2024-02-30'", "chr(0)", "chr(1114111)"],
}


@pytest.fixture(scope="module")
def stored_types(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("types") / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        named = ", ".join(f"c{i} {kind}" for i, kind in enumerate(TYPES))
        connection.execute(f"CREATE TABLE t ({named})")
        for turn in range(8):
            values = []
            for kind, ends in TYPES.items():
                listed = EXTREMES.get(kind) or [str(each) for each in (*(ends or ()), 0, 1, (ends or (0, 0))[1] - 1)]
                values.append("NULL" if turn == 7 else f"TRY_CAST({listed[turn % len(listed)]} AS {kind})")
            connection.execute(f"INSERT INTO t VALUES ({', '.join(values)})")
    engine = DuckDBEngine(threads=1)
    source = engine.add("t", path, None)
    engine.lock()
    columns = ((name, declared(name, (-9, 9), each) if each.kind.is_number else each) for name, each in source.columns)
    yield engine, Scan(PrivateTable("t", tuple(columns), None))  # bounds that most values do not keep
    engine.close()


def test_every_function_is_total_on_the_extremes_of_every_type(stored_types: Any) -> None:
    failed = []
    for name in sorted(FUNCTIONS):
        try:
            _require_total(name, *stored_types)
        except QueryFailed:
            failed.append(name)
    assert failed == []


def _require_total(name: str, engine: DuckDBEngine, scan: Scan) -> None:
    luck = random.Random(name)  # noqa: S311 (which calls are tried need not be secret)
    leaves: list[Expression] = [
        *(ColumnReference(column) for column in scan.schema),
        Literal(-1),
        Literal(2),
        Literal("%a_"),
        Literal("week"),
    ]
    asked = calls(name, leaves, luck, 20, scan)
    if name in {"modulo", "divide", "multiply", "add", "subtract", "greatest", "eq", "in"}:  # all pairs of numbers
        numbers = [ColumnReference(column) for column, domain in scan.schema.items() if domain.kind.is_number]
        pairs = [Call(name, pair) for pair in itertools.product(numbers, repeat=2)][:: tiered(3, 1)]
        asked += [pair for pair in pairs if is_admitted(pair, scan)]
    assert asked, name
    for start in range(0, len(asked), 50):
        engine.tally(Tally(scan, Keys(), tuple(Summand("values", each) for each in asked[start : start + 50])))


# -- many keys that may count -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", ["number", "text"])
def test_finding_keys_takes_memory_for_the_keys_that_persons_have(named: str) -> None:
    persons = range(30_000) if named == "number" else [f"person {i}" for i in range(30_000)]
    table = pl.DataFrame({"p": persons, "k": [f"key {i % 10}" for i in range(30_000)]})
    with protect(table, groups_per_person=5_000, rows_per_group=1, memory="250MB") as s:
        found = s.sql("SELECT k, COUNT(*) AS n FROM t GROUP BY k").answer(epsilon=10**6, key_delta="1e-7")
    assert found.to_dict()["n"] == [pytest.approx(3_000, abs=20)] * 10


# -- names of others --------------------------------------------------------------------------------------------------


def test_operators_of_others_do_not_capture_ours(server: str) -> None:
    """Whoever may create in a schema of the path could define an operator that fits better than PostgreSQL's own."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS captured")
        connection.execute("CREATE DATABASE captured")
        address = psycopg.conninfo.make_conninfo(server, dbname="captured")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA clinic")
        connection.execute(
            "CREATE TABLE clinic.visits AS SELECT i AS p, i % 7 AS k, i % 5 AS x FROM generate_series(1, 700) AS i"
        )
        connection.execute("INSERT INTO clinic.visits SELECT 1, k, x FROM clinic.visits")
        connection.execute(
            "CREATE FUNCTION public.captured(bigint, double precision) RETURNS double precision "
            "LANGUAGE sql AS 'SELECT 999999999::double precision'"
        )
        connection.execute(
            "CREATE OPERATOR public.* (LEFTARG = bigint, RIGHTARG = double precision, FUNCTION = public.captured)"
        )
        connection.execute(
            "CREATE FUNCTION public.least(bigint, integer) RETURNS bigint LANGUAGE sql AS 'SELECT 77::bigint'"
        )
        connection.execute("ALTER DATABASE captured SET search_path = clinic, public, pg_catalog")
        connection.execute("ALTER DATABASE captured SET transform_null_equals = on")
    info = psycopg.conninfo.conninfo_to_dict(address)
    url = f"postgresql://{info['user']}@/captured?host={info['host']}&table=visits"
    keys = {"domains": {"k": range(7)}, "groups_per_person": 2, "rows_per_group": 2, "name": "visits"}
    with protect(url, **keys) as s:
        found = counted(s, "SELECT k, COUNT(*) AS n FROM visits GROUP BY k")
    assert sum(found) == pytest.approx(699 + 4, abs=8)


# -- many columns -----------------------------------------------------------------------------------------------------


def test_a_table_of_thousands_of_columns_is_asked_about_three() -> None:
    last = tiered(2_000, 10_000) - 1
    wide = {f"c{i}": [f"{i}"] * 4 for i in range(last + 1)}
    table = pl.DataFrame({"p": ["a", "b", "c", "d"], "k": ["x", "x", "y", "y"], "v": [1.0, 2.0, 3.0, 4.0], **wide})
    with protect(table, domains={"k": ["x", "y"], "v": (0, 4)}, groups_per_person=1, rows_per_group=1) as s:
        assert counted(s, "SELECT k, COUNT(*) AS n FROM t WHERE c7 = '7' GROUP BY k") == [2, 2]
        assert counted(s, f"SELECT SUM(v) AS n FROM t WHERE c{last} = '{last}'") == [pytest.approx(10, abs=0.01)]


# -- what an attacker tried -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", EVERYWHERE)
def test_a_union_of_decimals_is_a_double_everywhere(where: str, request: pytest.FixtureRequest) -> None:
    """Left as a decimal, the fourth power of one person's value would overflow, and that alone would tell who it is."""
    table = pl.DataFrame({"p": [f"p{i}" for i in range(20)], "ill": [i == 7 for i in range(20)], "amount": [0.5] * 20})
    source = place(where, request)("unions", table)
    text = """SELECT COUNT(*) AS n FROM (
      SELECT p, BUCKET(CLAMP(CASE WHEN p = 'p7' AND ill THEN 4000 ELSE 0 END, 0, 4000), 0.5) AS x FROM t
      UNION ALL SELECT p, BUCKET(CLAMP(amount, 0, 1), 0.25) AS x FROM t) u
      WHERE x * x * x * x * x * x * x * x * x * x >= 0"""
    with protect(source, domains={"amount": (0, 1)}, rows_per_person=1) as s:
        assert counted(s, text) == [40]


@pytest.mark.parametrize("where", EVERYWHERE)
def test_no_row_is_lost_between_the_edges_of_buckets(where: str, request: pytest.FixtureRequest) -> None:
    """An edge that an engine rounds is no edge that was declared, and its rows would count nowhere."""
    widths = {"a": Fraction("0.123456789"), "b": Fraction("1000000.000000001"), "c": Fraction(9 * 10**15)}
    values = {
        name: [float(width * (index + Fraction(1, 2))) for index in range(-20, 20)] for name, width in widths.items()
    }
    source = place(where, request)("buckets", pl.DataFrame({"p": [f"p{i}" for i in range(40)], **values}))
    domains = {name: (-20 * width, 20 * width) for name, width in widths.items()}
    with protect(source, domains=domains, rows_per_person=1) as s:
        for name, width in widths.items():
            written = exact_decimal(width)
            found = counted(s, f"SELECT BUCKET({name}, {written}) AS k, COUNT(*) AS n FROM t GROUP BY k")
            assert found[:40] == [1] * 40, width
            assert not any(found[40:]), width


def test_equal_hashes_are_decided_alike_whichever_way_keys_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two keys that share a mark, declared against their order: codes and values keep the same one."""
    high, low = "v67728", "v57376"
    table = pl.DataFrame(
        {"p": [f"p{i}" for i in range(400) for _ in range(2)], "d": [high, low] * 400, "k": ["x"] * 800}
    )

    def found() -> list[Any]:
        with protect(table, domains={"d": [high, low]}, groups_per_person=1, rows_per_group=1) as s:
            answer = s.sql("SELECT d, k, COUNT(*) AS n FROM t GROUP BY d, k").answer(epsilon=10**6, key_delta="1e-7")
            return answer.to_dict()["d"]

    by_codes = found()
    monkeypatch.setattr("giveortake.engines.duckdb.engine.WIDEST", 1)
    assert found() == by_codes
    assert len(by_codes) == 1


def test_a_record_with_very_many_cells_does_not_stall_the_loading(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("p,x\na,1\nb,2" + ",9" * 200_000 + "\nc,3\n", encoding="utf-8")
    with protect(path, rows_per_person=1) as s:
        assert counted(s, "SELECT COUNT(*) AS n FROM t") == [3]


def test_numbers_of_eight_bits_far_from_the_first_are_keys_of_vectors() -> None:
    for value in (27, 28, 100):
        table = pl.DataFrame({"p": [1, 2], "t": [-100, value]}, schema={"p": pl.Int64, "t": pl.Int8})
        with protect(table, domains={"t": (-100, 100)}, rows_per_person=1) as s:
            keyed = "SELECT t, COUNT(*) AS n FROM t GROUP BY CUBE (t)"
            counts: Any = s.workload(keyed, norm=3).answer(mu=10)["t"]["n"].values
            assert counts[100 + value] > 0


def test_a_null_in_a_list_changes_nothing_about_how_numbers_are_compared() -> None:
    table = pl.DataFrame({"p": [1, 2]}).with_columns(d=pl.lit(Decimal("0.5")).cast(pl.Decimal(38, 20)))
    with protect(table, rows_per_person=1) as s:
        for listed, found in (("9223372036854775807, NULL", 0), ("0.5, NULL", 2), ("NULL, 1000000000000000000", 0)):
            assert counted(s, f"SELECT COUNT(*) AS n FROM t WHERE d IN ({listed})") == [found]
        assert counted(s, "SELECT COUNT(*) AS n FROM t WHERE NULLIF(d, NULL) < 9223372036854775807") == [2]


def test_a_person_of_very_many_rows_far_from_zero_does_not_leave_64_bits() -> None:
    """What a person adds is first a sum, then a product with the parts that it is cut into: 2²² rows at 2³¹."""
    far = "CLAMP(x, 2147400000, 2147483000)"
    rows = duckdb.sql("SELECT 1 AS p, 2147483000 AS x, TRUE AS ill FROM range(4300000) UNION ALL SELECT 2, 5, TRUE")
    with gt.protect(rows, unit="p", budget=gt.PureDP(10**9), name="t", engine={"memory": "4GB"}) as s:
        asked = s.sql(f"SELECT SUM({far}) AS n FROM t WHERE ill")
        told = asked.answer(epsilon=10**8, groups_per_person=1, rows_per_group=10**7)
    assert told.value == pytest.approx(4_300_000 * 2147483000 + 2147400000, abs=10**10)


@pytest.mark.parametrize("where", EVERYWHERE)
def test_products_of_one_person_have_room_everywhere(where: str, request: pytest.FixtureRequest) -> None:
    """Sums of 64 bits and beyond times the parts they are cut into; and very many rows in very many groups."""
    most, beyond, many = 2**63 - 1, 30 * 4 * 10**18, 95_000_000
    bounding = Bounding(groups=10**9, rows=10**9)

    def fragments(dialect: Dialect) -> str:
        rows = statements._part(Printer(dialect, {}), Summand("rows", fineness=1024), 0, bounding, few=False)
        given = (
            f"CAST({most} AS BIGINT) AS a",
            f"{dialect.total(f'CAST({beyond // 30} AS BIGINT)', 2**62)} AS b",
            f"CAST({many} AS BIGINT) AS c",
            f"CAST({10**9 + many} AS BIGINT) AS m",
        )
        repeated = " UNION ALL ".join(["SELECT 1 AS one"] * 30)
        products = ", ".join(f"{dialect.wide(each)} * 1024 AS of_{each}" for each in "ab")
        return f"SELECT {products}, {rows} AS part FROM (SELECT {', '.join(given)} FROM ({repeated}) AS r) AS t"

    found: Any = None
    if where == "duckdb":
        found = duckdb.connect().execute(fragments(DuckDBDialect())).fetchone()
    elif where == "postgresql":
        with psycopg.connect(request.getfixturevalue("server")) as connection:
            sums = f"SELECT {PostgresDialect().narrow_total('a')} FROM (VALUES ({most}), ({most})) AS t(a)"
            assert connection.execute(sums).fetchone() == (None,)
            found = connection.execute(fragments(PostgresDialect())).fetchone()
    else:
        found = spark_session().newSession().sql(fragments(SparkDialect())).first()
    assert list(found)[:2] == [most * 1024, beyond * 1024]
    allowed = Fraction(many * 1024 * 10**9, 10**9 + many)
    assert allowed * (1 - Fraction(1, 2**40)) - 1 <= found[2] <= allowed


@pytest.mark.parametrize("where", EVERYWHERE)
def test_one_row_far_from_zero_that_unions_repeat_fails_nowhere(where: str, request: pytest.FixtureRequest) -> None:
    source = place(where, request)("far_rows", pl.DataFrame({"p": ["a", "b"], "ill": [True, False]}))
    times = 5 if where == "spark" else 30  # the sum is beyond 64 bits with three, and Spark plans each by itself
    repeated = " UNION ALL ".join(["SELECT p, ill FROM t"] * times)
    with protect(source, groups_per_person=1, rows_per_group=100) as s:
        asked = f"SELECT SUM(CASE WHEN ill THEN {4 * 10**18} END) AS n FROM ({repeated}) AS r WHERE ill"
        assert s.sql(asked).answer(epsilon=10**6).value == pytest.approx(times * 4 * 10**18, rel=0.01)


@pytest.mark.parametrize("ill", [True, False])
def test_nobody_grows_by_joins_until_a_question_about_them_fails(ill: bool) -> None:
    visits = pl.DataFrame({"p": [7] * 100, "k": [0] * 100})
    people = pl.DataFrame({"p": [7] * 5, "x": [0] * 5, "ill": [ill] * 5})
    joins = " ".join(f"JOIN visits AS v{i} ON b.p = v{i}.p" for i in range(3))
    inside = f"(SELECT b.p AS p FROM (SELECT p FROM people WHERE p = 7 AND ill) AS b {joins}) AS c"
    with gt.protect({"people": people, "visits": visits}, unit="p", budget=gt.PureDP(1)) as s:
        asked = s.sql(f"SELECT COUNT(*) AS n FROM {inside}")
        with pytest.raises(QueryRefused, match="10,000"):
            asked.quote(epsilon="1e-9", rows_per_person={"visits": 100}, groups_per_person=1, rows_per_group=10**7)


PREFIX = "a very long beginning " * 20
ALWAYS, NEVER = -1, 10**9


def long_texts() -> Table:
    """Persons with few and many rows, whose texts are short, or long and alike up to their ends."""
    luck = random.Random("wide")  # noqa: S311 (which rows are tried need not be secret)
    rows = [row for person in range(12) for row in random_rows(luck, person)]
    rows += [random_row(luck, 77) for _ in range(300)] + [random_row(luck, None) for _ in range(5)]
    for row in rows:
        row["q"] = luck.choice(["", PREFIX, PREFIX.upper()]) + row["q"] if row["q"] is not None else None
        row["r"] = luck.choice([row["r"], row["r"], PREFIX + str(luck.randrange(3))])
    return Table(tuple(rows), tuple(visit for person in range(12) for visit in random_visits(luck, person)))


WIDE = long_texts()


def exact(session: Session, text: str) -> Any:
    """The keys with their units and the integers of a question, before noise."""
    made = measured(session, text, EXACT)
    engine = engine_of(session)
    if made.selection is None:
        return [array.tolist() for array in exact_integers(made, engine)]
    units = exact_units(made, engine)
    return units, [array.tolist() for array in exact_integers(made, engine, with_keys(made, units))]


def either_way(monkeypatch: pytest.MonkeyPatch, ask: Callable[[], Any]) -> tuple[Any, Any]:
    """What is found by sorting texts, and by what stands for them."""
    found = []
    for narrow in (NEVER, ALWAYS):
        monkeypatch.setattr(wide_rows, "NARROW", narrow)
        found.append(ask())
    return found[0], found[1]


@pytest.mark.parametrize("mode", [MODES[1], MODES[2]], ids=lambda mode: mode.name)
def test_the_same_rows_keys_and_values_count(mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask() -> dict[str, Any]:
        shapes = shapes_of(by_person=True, few_rows=mode.few_rows)
        with mode.session(WIDE) as session:
            return {
                name: exact(session, shapes[name]) for name in sorted(shapes)[:: 9 if mode.few_rows else tiered(3, 1)]
            }

    one, other = either_way(monkeypatch, ask)
    assert one == other


def test_the_same_parts_count(monkeypatch: pytest.MonkeyPatch) -> None:
    caps = {"groups_per_person": 2, "rows_per_group": 3}
    table = pl.DataFrame([{"p": row["p"], "r": row["r"], "q": row["q"]} for row in WIDE.rows])
    table = table.with_columns(pl.when(pl.col("r").is_in(["north", "south"])).then("r").otherwise(pl.lit(PREFIX) + "r"))

    def ask() -> list[Any]:
        with protect_texts(table, domains={"r": ["north", "south"]}, **caps) as session:
            parts = session.partition("r", parts_per_person=2)
            return [exact(parts[each], "SELECT COUNT(*) AS n FROM t") for each in ("north", "south")]

    one, other = either_way(monkeypatch, ask)
    assert one == other
    assert all(found[0][0] > 0 for found in one)


# -- texts that share a hash ------------------------------------------------------------------------------------------

PRIME, SCRAMBLE, OF_PERSON, OF_PART = 2**31 - 1, 1_583_458_089, 14_348_907, 11_184_811  # of `hashes`
WITH_ANY = -OF_PART * pow(SCRAMBLE, -1, PRIME) % PRIME  # a whole number that makes every hash zero, in the last place
OF_NOBODY = (-OF_PERSON * pow(OF_PART, -1, PRIME) - OF_PERSON) * pow(SCRAMBLE, -1, PRIME) % PRIME  # such a person


@pytest.mark.parametrize("prefix", ["", PREFIX], ids=["short", "long"])
def test_of_equal_hashes_the_content_decides(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question, or a row, can give all of a person's parts one hash; then the first by their values count."""
    luck = random.Random("ties")  # noqa: S311 (which rows are tried need not be secret)
    texts = [f"{prefix}{number:04}" for number in range(40)] * 2
    luck.shuffle(texts)
    table = pl.DataFrame({"p": [OF_NOBODY] * 80 + [3, 4], "q": [*texts, *texts[:2]], "z": [WITH_ANY] * 82})

    def ask(**caps: int) -> list[Any]:
        with protect_texts(table, domains={"z": (0, 2**31)}, **caps) as session:
            return [
                exact(session, "SELECT q, z, COUNT(*) AS n FROM t GROUP BY q, z"),
                exact(session, "SELECT COUNT(DISTINCT q) AS n FROM t"),
                exact(session, f"SELECT COUNT(DISTINCT q) AS n FROM t WHERE q < '{prefix}0007'"),
            ]

    for caps in ({"groups_per_person": 7, "rows_per_group": 7}, {"rows_per_person": 7}):
        one, other = either_way(monkeypatch, partial(ask, **caps))
        assert one == other
        first = {f"{prefix}{number:04}" for number in range(7)}
        assert {key for (key, _), units in other[0][0].items() if units} >= first


def test_no_more_texts_are_held_than_may_count() -> None:
    lines = [(number, f"{place:03}".encode(), f"{place:03}".encode()) for place in range(99) for number in (1, 2)]
    random.Random("lines").shuffle(lines)  # noqa: S311 (the order of lines need not be secret)
    held = choices.least(iter([*lines, *lines]), {1: 2, 2: 5})
    assert sorted(held) == [(1, b"000"), (1, b"001"), *((2, f"{place:03}".encode()) for place in range(5))]


def test_what_stands_for_a_text_is_that_of_no_other() -> None:
    """Nobody's text is taken for a longer one by being its hash."""
    long = PREFIX + "end"
    hashed = hashlib.sha256(long.encode()).hexdigest()
    texts = [*("a" * size for size in (1, 62, 63, 64, 65)), "é" * 31, "é" * 32, long, hashed, hashed[:63], None]
    listed = ", ".join("NULL" if text is None else f"'{text}'" for text in texts)
    select = f"SELECT {DuckDBDialect().brief('t')} FROM (SELECT unnest([{listed}]) AS t)"
    shown = [text for (text,) in duckdb.execute(select).fetchall()]
    assert len(set(shown)) == len(texts)
    assert shown[-1] is None
    assert all(len(text.encode()) <= 64 for text in shown if text is not None)


# -- one heavy person -------------------------------------------------------------------------------------------------

HEAVY = 10_000  # rows of one person, two with each text
LITTLE = "40MB"
QUESTIONS = [
    "SELECT COUNT(*) AS n FROM t",
    "SELECT q, COUNT(*) AS n FROM t GROUP BY q",
    "SELECT COUNT(DISTINCT q) AS n FROM t",
    "SELECT COUNT(*) AS n FROM (SELECT DISTINCT p, q FROM t)",
    "SELECT AVG(CLAMP(n, 0, 9)) AS n FROM (SELECT p, COUNT(DISTINCT q) AS n FROM t GROUP BY p)",
]


def protect_texts(source: Any, **more: Any) -> Session:
    options = {"unit": "p", "budget": gt.ApproxDP(10**8, "1e-5"), "name": "t", **more}
    return gt.protect(source, **protection_arguments(options))


def persons(heavy: int) -> pl.DataFrame:
    """Many persons with little text, and one with as much as 4,096 characters in each of their rows."""
    texts = [f"k{number % 50}" for number in range(2_000)]
    own = [f"{number} {hashlib.sha256(str(number).encode()).hexdigest() * 64}"[:4096] for number in range(heavy // 2)]
    texts += [*own, *own]
    return pl.DataFrame({"p": [*(number % 500 for number in range(2_000)), *[1000] * heavy], "q": texts})


def kinds(table: pl.DataFrame, **caps: int) -> list[str]:
    """What became of each question."""
    found = []
    with protect_texts(table, memory=LITTLE, threads=1, failures=99, **caps) as session:
        for text in QUESTIONS:
            question = session.sql(text)
            delta: dict[str, Any] = {"key_delta": "1e-9"} if question.question.finds_keys else {}
            try:
                question.answer(epsilon=1, **delta)
                found.append("answered")
            except gt.errors.QueryFailed as failed:
                found.append(f"failed: {failed.cause}")
    return found


@pytest.mark.parametrize(
    "caps", [{"groups_per_person": 40, "rows_per_group": 5}, {"rows_per_person": 150}], ids=["caps", "few rows"]
)
def test_one_person_with_much_text_makes_no_question_fail(caps: dict[str, int]) -> None:
    assert kinds(persons(0), **caps) == kinds(persons(HEAVY), **caps) == ["answered"] * len(QUESTIONS)


@pytest.mark.parametrize("heavy", [0, HEAVY])
def test_under_a_time_limit_rows_are_chosen_before_any_question(heavy: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many rows a person has stored is no part of what a question takes."""
    with protect_texts(persons(heavy), rows_per_person=150, memory=LITTLE, threads=1, seconds=60) as session:
        monkeypatch.setattr(WideRows, "has_wide_rows", lambda *_: pytest.fail("rows are chosen in a question"))
        assert session.sql("SELECT COUNT(*) AS n FROM t").answer(epsilon=10**6).to_dict()["n"] == [
            2_000 + min(heavy, 150)
        ]


def test_what_cannot_be_prepared_is_the_custodians_to_see(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(*_: object) -> None:
        raise failure("memory")

    monkeypatch.setattr(DuckDBEngine, "_make_capped_rows", give_up)
    with pytest.raises(gt.errors.InvalidParameter, match="rows_per_person"):
        protect_texts(persons(0), rows_per_person=3, seconds=60)


def test_tables_of_few_rows_do_not_pile_up() -> None:
    table = pl.DataFrame({"p": [1, 1, 2], "q": ["a", "b", "c"]})
    with protect_texts(table, groups_per_person=2, rows_per_group=2) as session:
        question = session.sql("SELECT COUNT(*) AS n FROM t")
        for most in (*range(1, 20), 1):
            assert question.answer(epsilon=10**6, rows_per_person=most).to_dict()["n"] == [min(most, 2) + 1]
        made = engine_of(session)._rows("SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'bounded%'")
        assert made[0][0] <= 9


def test_parquet_that_does_not_fit_into_memory_is_told_apart_from_damage(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    texts = f"SELECT i AS p, i || repeat('x', 4090) AS q FROM range({4 * HEAVY}) AS numbers(i)"
    duckdb.sql(f"COPY ({texts}) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 122880)")
    with pytest.raises(gt.errors.InvalidParameter, match="memory"):
        protect_texts(path, groups_per_person=1, rows_per_group=1, memory=LITTLE)


WIDTHS = (1, 2, 3, 4, 5, 6, 1, 2)
FEW = 40  # values of constants that are kept here
ROOMS = pl.DataFrame({"room": ["a", "b"], "floor": [1, 2]})


def kept_on(engine: Any, where: str) -> list[str]:
    """The tables of constants that are there, whoever may still know of them."""
    if where == "duckdb":
        found = engine._rows("SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'key_table%'")
        return [name for (name,) in found]
    return list(engine._constant_texts if where == "postgresql" else engine._views)


@pytest.mark.parametrize("where", EVERYWHERE)
def test_constants_do_not_pile_up_and_public_tables_stay(where: str, request: pytest.FixtureRequest) -> None:
    put = place(where, request)
    table = pl.DataFrame({"p": [1, 1, 2], "room": ["a", "b", "b"], "x": [0, 9, 23]})
    with gt.protect(
        put("t", table),
        unit="p",
        budget=gt.PureDP(10**12),
        name="t",
        domains={"x": (0, 23), "room": ["a", "b"]},
        rows_per_person=2,
        public={"rooms": ROOMS},
    ) as session:
        engine = engine_of(session)
        engine._constant_tables = Cache(FEW)
        before = len(kept_on(engine, where))
        most = 0
        for width in WIDTHS if where != "spark" else WIDTHS[::2]:  # 1, 3, 5, 1
            text = f"SELECT BUCKET(x, {width}) AS b, COUNT(*) AS n FROM t JOIN rooms ON t.room = rooms.room GROUP BY b"
            answer = session.sql(text).answer(epsilon=10**9).to_dict()
            starts = [width * (x // width) for x in (0, 9, 23)]
            assert answer["n"] == [starts.count(start) for start in range(0, 24, width)] + [0]
            most = max(most, len(kept_on(engine, where)) - before)
            engine._results.clear()  # the next question reads rows again
        assert 1 <= most <= 4, "several of few values, or one of many"


def test_what_was_used_last_is_kept() -> None:
    kept, gone = Cache[str, int](10), list[int]()
    for number, name in enumerate("abc"):
        kept.put(name, number, 4)
    assert kept.get("a") == 0
    kept.trim(gone.append)
    assert (gone, kept.get("a"), kept.get("b"), kept.get("c")) == ([1], 0, None, 2)
    kept.put("d", 3, 11)
    assert kept.get("d") == 3, "until it is trimmed"
    kept.trim(gone.append)
    assert gone == [1, 0, 2, 3]
    kept.put("e", 4, 10)
    kept.trim(gone.append)
    assert kept.get("e") == 4, "sizes were counted down"
    kept.clear()
    kept.put("f", 5, 10)
    kept.trim(gone.append)
    assert (kept.get("e"), kept.get("f")) == (None, 5)
