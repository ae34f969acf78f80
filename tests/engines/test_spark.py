"""Spark gives the integers, the keys and the refusals that DuckDB gives on the same rows."""

from __future__ import annotations

import datetime as dt
import json
import math
import random
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from evil_calls import LEAVES, calls
from evil_tables import DOMAINS, SCHEMA, Table, frame, random_row, random_table
from giveortake.engines import Bins, Distinct, Found, KeyColumn, Keys, Persons, Summand, Tally
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.questions import Bounding, Quantum
from giveortake.engines.spark import engine as spark_engine
from giveortake.engines.spark import key_weights
from giveortake.engines.spark.engine import SparkEngine
from giveortake.engines.spark.key_lists import KeysInDriver, KeysInFiles
from giveortake.engines.spark.tables import connect
from giveortake.engines.time_limits import TimeLimit
from giveortake.errors import InvalidParameter, NotFound, QueryFailed
from giveortake.plan import Call, Column, Domain, Expression, Filter, Kind, Literal, PrivateTable, Scan, Value
from giveortake.plan.domains import declared
from giveortake.plan.functions import FUNCTIONS
from inside import engine_of, measured
from query_shapes import shapes_of
from replay import MODES, SPEND, ZONES, Revealing, exact_integers, exact_units
from spark_session import event_log, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.xdist_group("spark"),  # one session for all: run with --dist loadgroup
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # the gateway leaves its sockets to the collector
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]
LATEST = 2**63 // 1_000_000  # milliseconds: moments further away than Spark's are not readable by it
LUCK = random.Random("spark")  # noqa: S311 (which rows are tried need not be secret)
Q = Keys((KeyColumn("q", Column("q"), None),))
BOUNDING = Bounding(2, 3)


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return spark_session()


def _stored(table: pl.DataFrame, path: Path) -> Path:
    """As Parquet, with moments that every engine can read."""
    if "t" in table.columns:
        moments = pl.col("t").cast(pl.Int64).clip(-LATEST * 1000, LATEST * 1000).mul(1000)
        table = table.with_columns(moments.cast(pl.Datetime("us")))
    table.write_parquet(path)
    return path


@contextmanager
def _both(spark: SparkSession, path: Path, **said: Any) -> Iterator[tuple[DuckDBEngine, SparkEngine, Scan]]:
    """Both engines on the same file, and the scan of it."""
    one, other = DuckDBEngine(threads=1), SparkEngine(spark)
    try:
        columns = one.add("t", path, {}).columns
        assert other.add("t", spark.read.parquet(str(path)), {}).columns == columns
        found = {name: declared(name, said[name], domain) if name in said else domain for name, domain in columns}
        person = "p" if "p" in found else None
        if person is not None:
            found["p"] = found["p"].complete()
        yield one, other, Scan(PrivateTable("t", tuple(found.items()), person))
    finally:
        one.close()
        other.close()


def _open(sensitive: Any) -> Any:
    return Revealing().release(sensitive)


def _listed(parts: Iterator[Any]) -> list[Any]:
    """Keys and their units, in order."""
    return sorted((pair for part in parts for pair in zip(*_open(part), strict=True)), key=repr)


# -- values -------------------------------------------------------------------------------------------------------


def _functions(expression: Expression) -> set[str]:
    if not isinstance(expression, Call):
        return set()
    return {expression.name}.union(*map(_functions, expression.arguments))


def _agree(expression: Expression, one: Any, other: Any) -> bool:
    """Equal; exponentials and logarithms, which libraries round differently, up to a last bit."""
    if isinstance(one, float) and isinstance(other, float) and _functions(expression) & {"exp", "ln"}:
        return one == other or math.isclose(one, other, rel_tol=1e-15)
    return type(one) is type(other) and bool(one == other)


@pytest.mark.parametrize("part", range(4))
def test_every_function_has_the_same_values_on_evil_rows_plain_and_nested(
    part: int, spark: SparkSession, tmp_path: Path
) -> None:
    rows = [random_row(LUCK, person) for person in range(150)]
    said = {name: domain for name, domain in DOMAINS.items() if name != "y"}
    with _both(spark, _stored(frame(rows, SCHEMA), tmp_path / "t.parquet"), **said) as (one, other, scan):
        values: list[Expression] = []
        for name in sorted(FUNCTIONS)[part::4]:
            luck = random.Random(name)  # noqa: S311 (see above)
            plain = calls(name, LEAVES, luck, 8, scan)
            outer = luck.sample(sorted(FUNCTIONS), 8)
            values += plain + [call for each in outer for call in calls(each, [*plain, *LEAVES], luck, 1, scan)]
        for first in range(0, len(values), 60):
            some = values[first : first + 60]
            answers = []
            for engine in (one, other):
                printer = engine._printer
                printed = [f"{printer.expression(each, scan.schema)} AS e{i}" for i, each in enumerate(some)]
                text = f"SELECT p, {', '.join(printed)} FROM ({printer.relation(scan)}) AS s"
                answers.append(sorted(engine._rows(text), key=lambda row: int(row[0])))
            assert len(answers[0]) == len(answers[1]) == len(rows)
            for place, value in enumerate(some):
                for mine, theirs in zip(*answers, strict=True):
                    assert _agree(value, mine[place + 1], theirs[place + 1]), value


STRANGE = ["", "a'b", 'a"b', "100%", "a_b", "back\\slash", "\\'", "`tick`", "${spark.app.name}", "/* */", "-- x", "?"]
STRANGE += [":a", "日本", "é", "e\u0301", "ß", "İ", "😀", "\u0000z", "\n", " x ", "\\u0041", "\\%", "NULL", "☃" * 40]


def test_strange_texts_are_the_same_keys_and_literals(spark: SparkSession, tmp_path: Path) -> None:
    table = pl.DataFrame({"p": range(2 * len(STRANGE)), "q": STRANGE * 2, "a`b. c'": [1] * (2 * len(STRANGE))})
    path = _stored(table, tmp_path / "t.parquet")
    written = tuple(text for text in STRANGE if "\0" not in text)
    with _both(spark, path) as (one, other, scan):
        persons = Persons(scan, Q, 3)
        assert _listed(one.persons(persons)) == _listed(other.persons(persons))
        keys = Keys((KeyColumn("q", Column("q"), written),))
        like = [(Call("like", (Column("q"), Literal(text))), Literal(text)) for text in written]
        first = KeyColumn("l", Call("case", (*(part for pair in like for part in pair), Literal("none"))), written)
        odd = Summand("values", Column("a`b. c'"))
        for tally in (Tally(scan, keys, (Summand("rows"), odd)), Tally(scan, Keys((first,)), (Summand("rows"),))):
            mine, theirs = _open(one.tally(tally)), _open(other.tally(tally))
            assert [each.tolist() for each in mine] == [each.tolist() for each in theirs]
        assert sum(_open(other.tally(Tally(scan, keys, (Summand("rows"),))))[0].tolist()) == 2 * len(written)


def test_patterns_match_what_they_match_in_duckdb(spark: SparkSession, tmp_path: Path) -> None:
    def text(alphabet: str, most: int) -> str:
        return "".join(LUCK.choices(alphabet, k=LUCK.randint(0, most)))

    texts = ["", "a" * 200, "😀a" * 20, *(text("ab_%\\😀é\n", 12) for _ in range(300))]
    patterns = ["", "%", "%%", "a%a", "%a%a%a%a%a%a%b", "%😀%_a%😀a", "%_" * 50 + "%"]
    patterns += [text("ab_%%%\\😀é\n", 9) for _ in range(300)]
    path = _stored(pl.DataFrame({"s": texts}), tmp_path / "t.parquet")
    with _both(spark, path) as (one, other, scan):
        summands = tuple(Summand("values", _if(Call("like", (Column("s"), Literal(pattern))))) for pattern in patterns)
        key = Keys((KeyColumn("s", Column("s"), tuple(sorted(set(texts)))),))
        expected = _open(one.tally(Tally(scan, key, summands)))
        found = _open(other.tally(Tally(scan, key, summands)))
        for pattern, each, same in zip(patterns, expected, found, strict=True):
            assert each.tolist() == same.tolist(), pattern
        assert sum(int(each.sum()) for each in expected) > len(texts)


def _if(condition: Expression) -> Expression:
    return Call("case", (condition, Literal(1), Literal(None)))


def test_bytes_that_are_no_text_fail_nothing(spark: SparkSession, tmp_path: Path) -> None:
    texts = "SELECT id AS p, CAST(unhex(CASE WHEN id % 2 = 0 THEN 'FF41' ELSE '4142' END) AS STRING) AS q FROM range(6)"
    spark.sql(texts).write.parquet(str(tmp_path / "t"))
    engine = SparkEngine(spark)
    columns = engine.add("t", spark.read.parquet(str(tmp_path / "t")), None).columns
    found = _listed(engine.persons(Persons(Scan(PrivateTable("t", columns, "p")), Q, 3)))
    assert found == [(("AB",), 3), (("\ufffdA",), 3)]
    engine.close()


# -- integers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [None, 3])
def test_tallies_of_random_evil_tables_are_the_same(limit: int | None, spark: SparkSession, tmp_path: Path) -> None:
    """Among the persons is one with most of the rows."""
    rows = [random_row(LUCK, LUCK.choice([None, 7, 7, *range(60)])) for _ in range(800)]
    rows += [random_row(LUCK, 7)] * 900
    path = _stored(frame(rows, SCHEMA), tmp_path / "t.parquet")
    with _both(spark, path, x=(-3, 7), i=(-5, 300), c=(0, 100)) as (one, other, scan):
        relation = replace(scan, most_rows_of_person=limit)
        fine = Quantum(Fraction(1, 2**44), Fraction(-3), Fraction(7))
        huge = Quantum(Fraction(1), Fraction(-(2**63)), Fraction(2**63 - 1), is_whole=True)
        cents = Quantum(Fraction(1, 100), Fraction(0), Fraction(100))
        summands = (
            Summand("rows", fineness=1024),
            Summand("values", Column("x"), fineness=1024),
            Summand("persons", fineness=1024),
            Summand("sum", Column("x"), fine),
            Summand("sum", Column("w"), huge),
            Summand("sum", Column("c"), cents),
            Summand("sum", Column("x"), fine, fineness=2**20),
        )
        values = ("north", "south", None, "west")
        keys = Keys((KeyColumn("r", Column("r"), values), KeyColumn("b", Column("b"), (True, False))))
        for bounding in (None, BOUNDING, Bounding(50, 2)) if limit is None else (BOUNDING,):
            tally = Tally(relation, keys, summands, bounding)
            mine, theirs = _open(one.tally(tally)), _open(other.tally(tally))
            assert [each.tolist() for each in mine] == [each.tolist() for each in theirs]
        keys = Keys((KeyColumn("r", Column("r"), ("north", None)),), wanted=(1,))
        for bounding in (None, BOUNDING):
            bins = Bins(relation, keys, Column("x"), Fraction(-3), Fraction(5, 4), 8, bounding, 1024)
            assert _open(one.bins(bins)).tolist() == _open(other.bins(bins)).tolist()
            for name in ("q", "w", "x", "t") if limit is None else ("d", "c"):
                distinct = Distinct(relation, keys, Column(name), bounding)
                assert _open(one.distinct(distinct)).tolist() == _open(other.distinct(distinct)).tolist(), name
        for names in (("q",), ("d", "w"), ("r", "c", "b"))[:: 1 if limit is None else 2]:
            asked = Persons(relation, Keys(tuple(KeyColumn(name, Column(name), None) for name in names)), 2)
            assert _listed(one.persons(asked)) == _listed(other.persons(asked))


@pytest.mark.parametrize("mode", MODES[:2], ids=lambda mode: mode.name)
def test_questions_of_random_shapes_have_the_same_integers(mode: Any, spark: SparkSession, tmp_path: Path) -> None:
    luck = random.Random(mode.name)  # noqa: S311 (see above)
    table = Table((), ())
    while len(table.rows) < 30:
        table = random_table(luck)
    shapes = shapes_of(by_person=mode.by_person, few_rows=mode.few_rows)
    engine = SparkEngine(spark)
    for name, content in table.sources().items():
        engine.add(name, spark.read.parquet(str(_stored(content, tmp_path / f"{name}.parquet"))), None)
    engine.add_public("zones", ZONES)
    with mode.session(table) as session:
        for name in luck.sample(sorted(shapes), 10):
            made = measured(session, shapes[name], SPEND)
            if made.selection is not None:
                assert exact_units(made, engine_of(session)) == exact_units(made, engine), name
                continue
            mine, theirs = exact_integers(made, engine_of(session)), exact_integers(made, engine)
            assert [each.tolist() for each in mine] == [each.tolist() for each in theirs], name
    engine.close()


def test_an_empty_table_has_zeros(spark: SparkSession, tmp_path: Path) -> None:
    with _both(spark, _stored(frame([], SCHEMA), tmp_path / "t.parquet"), x=(-3, 7)) as (_, engine, scan):
        keys = Keys((KeyColumn("r", Column("r"), ("north", None)),))
        quantum = Quantum(Fraction(1, 1024), Fraction(-3), Fraction(7))
        tally = Tally(scan, keys, (Summand("rows"), Summand("sum", Column("x"), quantum)), BOUNDING)
        assert [each.tolist() for each in _open(engine.tally(tally))] == [[0, 0], [0, 0]]
        assert _open(engine.bins(Bins(scan, keys, Column("x"), Fraction(0), Fraction(1), 2, BOUNDING))).tolist() == [
            [0, 0],
            [0, 0],
        ]
        assert _listed(engine.persons(Persons(scan, Q, 2))) == []


def test_found_keys_come_in_parts_each_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pl.DataFrame({"p": [n % 700 for n in range(3000)], "q": [f"key {n % 1100}" for n in range(3000)]})
    with _both(spark, _stored(table, tmp_path / "t.parquet")) as (_, engine, scan):
        persons = Persons(scan, Q, 2)
        whole = _listed(engine.persons(persons))
        monkeypatch.setattr(spark_engine, "_AT_ONCE", 200)
        assert len(list(engine.persons(persons))) > 3
        assert _listed(engine.persons(persons)) == whole


@pytest.mark.parametrize("most", [8 << 9, 1 << 24], ids=["some by windows", "all by arrays"])
def test_weights_of_keys_are_the_same_by_arrays_and_by_windows(
    most: int, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every kind, twice and missing, of persons with more keys than count and with fewer."""
    monkeypatch.setattr(key_weights, "MOST_IN_ARRAY", most)
    rows = [random_row(LUCK, LUCK.choice([7, 7, *range(40)])) for _ in range(400)]
    rows += rows[:50]
    with _both(spark, _stored(frame(rows, SCHEMA), tmp_path / "t.parquet")) as (one, other, scan):
        for names, count in ((("b", "c", "d"), 3), (("q", "w"), 8), (("t", "r"), 8), (("x",), 3)):
            columns = Keys(tuple(KeyColumn(name, Column(name), None) for name in names))
            asked = Persons(scan, columns, count, (100, 70, 57, 50, 44, 40, 37, 35)[:count])
            assert dict(_listed(one.persons(asked))) == dict(_listed(other.persons(asked))), names


def test_a_person_gives_one_weight_to_zero_however_it_is_stored(spark: SparkSession, tmp_path: Path) -> None:
    table = pl.DataFrame({"p": [1, 1, 1, 2], "q": [0.0, -0.0, 0.0, -0.0]})
    with _both(spark, _stored(table, tmp_path / "t.parquet")) as (_, engine, scan):
        assert _listed(engine.persons(Persons(scan, Q, 2, (100, 70)))) == [((0.0,), 200)]


@pytest.mark.parametrize("here", [True, False], ids=["in files", "in the driver"])
def test_lists_of_keys_of_every_kind_are_read_as_they_were_written(
    here: bool, spark: SparkSession, tmp_path: Path
) -> None:
    """In parts, of which some have nothing but missing values, or fewer digits than others."""
    rows = [random_row(LUCK, LUCK.randrange(40)) for _ in range(300)]
    with _both(spark, _stored(frame(rows, SCHEMA), tmp_path / "t.parquet")) as (one, other, scan):
        if not here:
            other._key_lists = KeysInDriver(other._made)
        for names in (("b", "c", "d"), ("w", "r"), ("q", "t"), ("x",)):
            columns = tuple(KeyColumn(name, Column(name), None) for name in names)
            units = [_open(each)[0] for each in one.persons(Persons(scan, Keys(columns), 50))]
            listed = sorted((key for keys in units for key in keys), key=lambda key: (key[-1] is not None, repr(key)))
            found = Found(len(listed), lambda listed=listed: iter([listed[:1], listed[1:9], listed[9:]]))  # type: ignore[misc]  # (a default)
            tally = Tally(scan, Keys(columns, found=found), (Summand("rows"), Summand("persons")), Bounding(50, 50))
            expected, same = (next(each.in_parts(tally, len(listed))) for each in (one, other))
            assert [each.tolist() for each in _open(expected)] == [each.tolist() for each in _open(same)], names
            assert sum(_open(same)[0].tolist()) == len(rows)


def test_files_of_keys_are_gone_when_they_were_read(spark: SparkSession, tmp_path: Path) -> None:
    table = pl.DataFrame({"p": range(30), "q": [f"key {n % 10}" for n in range(30)]})
    with _both(spark, _stored(table, tmp_path / "t.parquet")) as (_, engine, scan):
        listed: list[tuple[Value, ...]] = [(f"key {n}",) for n in range(10)]
        keys = Keys(Q.columns, found=Found(10, lambda: iter([listed[:5], listed[5:]])))
        parts = engine.in_parts(Tally(scan, keys, (Summand("rows"),), BOUNDING), 4)
        assert _open(next(parts))[0].tolist() == [3, 3, 3, 3]
        assert isinstance(engine._key_lists, KeysInFiles)
        folder = engine._key_lists._folder
        assert folder is not None
        assert len(list(folder.path.glob("*/*.parquet"))) == 2
        assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
        parts.close()  # type: ignore[attr-defined]  # (a generator)
        assert not list(folder.path.glob("*/*"))
        engine.close()
        assert not folder.path.exists()


# -- sessions -----------------------------------------------------------------------------------------------------

SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "Pacific/Auckland",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.legacy.castComplexTypesToString.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "false",
}


@contextmanager
def _set(spark: SparkSession) -> Iterator[None]:
    before = {name: spark.conf.get(name) for name in SETTINGS}
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            spark.conf.set(name, str(old))


def test_what_a_user_sets_changes_no_integer(spark: SparkSession, tmp_path: Path) -> None:
    rows = [random_row(LUCK, LUCK.randrange(30)) for _ in range(300)]
    path = _stored(frame(rows, SCHEMA), tmp_path / "t.parquet")
    answers = []

    def ask() -> None:
        with _both(spark, path, x=(-3, 7)) as (_, engine, scan):
            hours = Call("hour", (Column("t"),))
            texts = Call("like", (Call("concat", (Column("q"), Literal("\\'"))), Literal("%\\_")))
            keys = Keys((KeyColumn("r", Column("r"), ("north", "south", None)),))
            quantum = Quantum(Fraction(1, 2**40), Fraction(-3), Fraction(7))
            summands = (
                Summand("rows"),
                Summand("sum", Column("x"), quantum),
                Summand("sum", hours, Quantum(Fraction(1), Fraction(0), Fraction(23), is_whole=True)),
            )
            told = [each.tolist() for each in _open(engine.tally(Tally(Filter(scan, texts), keys, summands, BOUNDING)))]
            answers.append([told, _listed(engine.persons(Persons(scan, Q, 2)))])

    ask()
    with _set(spark):
        ask()
        assert {name: spark.conf.get(name) for name in SETTINGS} == SETTINGS
    assert answers[0] == answers[1]


def test_types_say_which_columns_can_be_asked(spark: SparkSession) -> None:
    made = spark.sql(
        "SELECT 1Y AS a, 2S AS b, 3 AS c, CAST(1.5 AS DECIMAL(9, 3)) AS d, CAST(1 AS FLOAT) AS e, TRUE AS f, "
        "'x' COLLATE UTF8_LCASE AS g, DATE '2024-01-01' AS h, TIMESTAMP '2024-01-01 23:30:00-05:00' AS i, "
        "TIMESTAMP_NTZ '2024-01-01 00:00:00' AS j, array(1) AS k, X'00' AS l, INTERVAL '1' DAY AS m, map(1, 2) AS n"
    )
    engine = SparkEngine(spark)
    source = engine.add("t", made, None)
    assert {name: domain.kind for name, domain in source.columns} == {
        **dict.fromkeys("abc", Kind.INTEGER),
        "d": Kind.DECIMAL,
        "e": Kind.REAL,
        "f": Kind.BOOLEAN,
        "g": Kind.TEXT,
        "h": Kind.DATE,
        **dict.fromkeys("ij", Kind.TIMESTAMP),
    }
    assert dict(source.columns)["d"] == Domain(Kind.DECIMAL, step=Fraction(1, 1000))
    scan = Scan(PrivateTable("t", source.columns, None))
    upper = Summand("values", _if(Call("eq", (Column("g"), Literal("X")))))
    assert _open(engine.tally(Tally(scan, Keys(), (upper,))))[0].tolist() == [0]  # its collation says otherwise
    found = _listed(engine.persons(Persons(scan, Keys((KeyColumn("i", Column("i"), None),)), 1)))
    assert found == [((dt.datetime(2024, 1, 2, 4, 30),), 1)]
    engine.close()


def test_rows_that_need_not_be_the_same_twice_are_refused(spark: SparkSession) -> None:
    engine = SparkEngine(spark)
    rows = spark.range(10)
    for source in (
        rows.selectExpr("rand() AS x"),
        rows.selectExpr("uuid() AS x").distinct(),
        rows.limit(3),
        rows.sample(0.5),
        rows.selectExpr("id", "id % 3 AS a").dropDuplicates(["a"]).select("a", "id"),
        rows.groupBy((rows.id % 3).alias("a")).agg({"id": "first"}),
        rows.groupBy((rows.id % 3).alias("a")).agg({"id": "last"}).where("a > 1"),
        rows.selectExpr("any_value(id) + 1 AS a"),
        spark.readStream.format("rate").load(),
        rows.selectExpr("id AS a", "id AS A"),
        pl.DataFrame({"a": [1]}),
    ):
        with pytest.raises(InvalidParameter):
            engine.add("t", source, None)
    with pytest.raises(NotFound, match="no table 'nowhere'"):
        engine.add("t", "nowhere", None)
    engine.add("distinct", rows.distinct(), None)
    engine.add("whole rows", rows.selectExpr("id", "id % 3 AS a").dropDuplicates(), None)
    engine.add("counted", rows.groupBy((rows.id % 3).alias("a")).agg({"id": "max"}), None)
    engine.close()


def test_a_frame_that_is_refused_is_not_printed(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.repl.eagerEval.enabled", "true")
    engine = SparkEngine(spark)
    try:
        for columns in (["'zebra-7431' AS a", "1 AS A"], ["'zebra-7431' AS a", "rand() AS b"]):
            with pytest.raises(InvalidParameter) as refused:
                engine.add("t", spark.range(3).selectExpr(*columns), None)
            assert "zebra" not in f"{refused.value} {vars(refused.value)}"
    finally:
        spark.conf.unset("spark.sql.repl.eagerEval.enabled")
        engine.close()


def test_the_active_session_stands_for_no_other_spark(spark: SparkSession) -> None:
    before = spark.sparkContext.master
    for url in ("spark://nowhere:7077?table=trips", "sc://nowhere:15002?table=trips"):
        with pytest.raises(InvalidParameter, match="another Spark than the session that is active") as refused:
            connect(url)
        assert "nowhere" not in str(refused.value)
    assert spark.sparkContext.master == before
    assert spark.conf.get("spark.master") == before


def test_files_that_are_gone_are_a_change(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(50).write.parquet(str(tmp_path / "t"))
    engine = SparkEngine(spark)
    engine.add("t", spark.read.parquet(str(tmp_path / "t")), None)
    assert engine.unchanged()
    for part in (tmp_path / "t").glob("*.parquet"):
        part.unlink()
    assert not engine.unchanged()
    engine.close()


def test_a_table_has_a_name_a_fingerprint_and_a_state(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "with space"
    spark.range(50).write.parquet(str(folder))
    spark.read.parquet(str(folder)).createOrReplaceTempView("named")
    session, name = connect("named")
    assert session.table(name).count() == 50
    engine = SparkEngine(spark)
    by_name, by_frame = engine.add("a", "named", None), engine.add("b", spark.range(50).repartition(3), None)
    assert by_name.fingerprint == by_frame.fingerprint
    assert by_name.fingerprint != engine.add("c", spark.range(51), None).fingerprint
    assert engine.identity == f"spark {spark.version}"
    assert engine.unchanged()
    part = next(folder.glob("*.parquet"))
    part.with_name("." + part.name + ".crc").unlink()
    part.write_bytes(part.read_bytes() + b" ")
    assert not engine.unchanged()
    engine.close()
    assert not spark.catalog.tableExists("view_0")
    for url in ("spark://nowhere:7077", "http://nowhere?table=t"):
        with pytest.raises(InvalidParameter, match="names no table"):
            connect(url)


def test_what_a_user_has_cached_stays_cached(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(50).write.parquet(str(tmp_path / "t"))
    cached = spark.read.parquet(str(tmp_path / "t")).cache()
    engine = SparkEngine(spark)
    engine.add("t", cached, None)
    engine.close()
    assert cached.storageLevel.useMemory
    cached.unpersist()


# -- failing ------------------------------------------------------------------------------------------------------


def _failing(spark: SparkSession, tmp_path: Path) -> tuple[SparkEngine, Scan]:
    """A table whose owner's own expression fails on one row."""
    pl.DataFrame({"s": ["1", "zebra-7431"]}).write_parquet(tmp_path / "t.parquet")
    broken = spark.read.parquet(str(tmp_path / "t.parquet")).selectExpr("CAST(s AS INT) AS x")
    engine = SparkEngine(spark)
    engine._sources["t"] = engine._seen_from_beside("t", broken)
    return engine, Scan(PrivateTable("t", (("x", Domain(Kind.INTEGER)),), None))


def test_a_failure_tells_nothing(spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    engine, scan = _failing(spark, tmp_path)
    with pytest.raises(QueryFailed, match="the engine could not finish the question") as caught:
        engine.tally(Tally(scan, Keys(), (Summand("values", Column("x")),)))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "zebra" not in str(caught.value) + "".join(capfd.readouterr())
    engine.close()


def test_a_question_ends_when_its_time_is_over(spark: SparkSession) -> None:
    engine = SparkEngine(spark)
    slow = spark.range(10**12).selectExpr("id % 1000 AS a", "id % 7 AS id")  # its tasks notice that nobody waits
    engine._sources["t"] = engine._seen_from_beside("t", slow)
    engine._time = TimeLimit(1.0)
    scan = Scan(PrivateTable("t", (("a", Domain(Kind.INTEGER)), ("id", Domain(Kind.INTEGER))), None))
    started = time.monotonic()
    with pytest.raises(QueryFailed, match="in time"):
        engine.distinct(Distinct(scan, Keys(), Call("add", (Column("a"), Column("id")))))
    assert time.monotonic() - started < 20
    engine.close()


def test_no_value_of_a_row_is_in_the_event_log(spark: SparkSession, tmp_path: Path) -> None:
    secrets = ["zebra-7431-secret", "73313.37", "918273645546372"]
    table = pl.DataFrame(
        {
            "p": [918273645546372, 918273645546372, 1, 2] * 5,
            "q": ["zebra-7431-secret", "plain", "zebra-7431-secret", None] * 5,
            "x": [73313.37, 1.0, 2.0, 73313.37] * 5,
        }
    )
    (log,) = (path for path in event_log().iterdir() if path.is_file())
    before = log.stat().st_size  # what other tests left there knows nothing of these rows
    with _both(spark, _stored(table, tmp_path / "t.parquet"), x=(0, 100_000)) as (_, engine, scan):
        keys = Keys((KeyColumn("q", Column("q"), ("plain", None)),))
        quantum = Quantum(Fraction(1, 1024), Fraction(0), Fraction(100_000))
        for bounding in (None, BOUNDING):
            engine.tally(Tally(scan, keys, (Summand("rows"), Summand("sum", Column("x"), quantum)), bounding))
            engine.bins(Bins(scan, keys, Column("x"), Fraction(0), Fraction(1000), 100, bounding))
            engine.distinct(Distinct(scan, keys, Column("q"), bounding))
        list(engine.persons(Persons(scan, Q, 1)))
        engine.tally(Tally(Filter(scan, Call("gt", (Column("x"), Literal(54321)))), Keys(), (Summand("rows"),)))
    spark.range(1).count()
    deadline = time.monotonic() + 10
    while "54321" not in (text := _written_since(log, before)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert "54321" in text  # the question's own constants are public
    assert not [secret for secret in secrets if secret in text]
    jobs = [json.loads(line) for line in text.splitlines() if '"Event":"SparkListenerJobStart"' in line]
    assert "giveortake" in {job["Properties"].get("spark.job.description") for job in jobs}


def _written_since(log: Path, before: int) -> str:
    with log.open("rb") as file:
        file.seek(before)
        return file.read().decode()
