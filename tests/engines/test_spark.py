"""Spark gives the integers, keys and refusals of DuckDB, whatever users set, cache or take away in a session."""

from __future__ import annotations

import datetime as dt
import json
import math
import random
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from beside_spark import BOUNDING, Q, both, listed_units, one_if, opened, stored
from evil_calls import LEAVES, calls
from evil_tables import DOMAINS, SCHEMA, frame
from giveortake.audit.neighbours import random_row
from giveortake.engines import Bins, Distinct, Found, KeyColumn, Keys, Persons, Summand, Tally
from giveortake.engines.questions import Bounding, Quantum
from giveortake.engines.runtime import TimeLimit
from giveortake.engines.spark import engine as sessions
from giveortake.engines.spark import engine as spark_engine
from giveortake.engines.spark import groups
from giveortake.engines.spark.engine import SparkEngine
from giveortake.engines.spark.groups import KeyLists
from giveortake.engines.spark.tables import connect, offered_columns, require_readable, selected
from giveortake.errors import InvalidParameter, NotFound, QueryFailed
from giveortake.plan import Call, ColumnReference, Domain, Expression, Filter, Kind, Literal, PrivateTable, Scan, Value
from giveortake.plan.functions import FUNCTIONS
from spark_session import event_log, spark_session
from tiers import is_long, tiered
from waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = [
    pytest.mark.xdist_group("spark"),  # one session for all: run with --dist loadgroup
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # the gateway leaves its sockets to the collector
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]
LUCK = random.Random("spark")  # noqa: S311 (which rows are tried need not be secret)


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return spark_session()


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


def test_every_function_has_the_same_values_on_evil_rows_plain_and_nested(spark: SparkSession, tmp_path: Path) -> None:
    plain_calls, nested_calls, at_once = tiered(2, 8), tiered(1, 8), tiered(100, 60)
    rows = [random_row(LUCK, person) for person in range(150)]
    said = {name: domain for name, domain in DOMAINS.items() if name != "y"}
    with both(spark, stored(frame(rows, SCHEMA), tmp_path / "t.parquet"), **said) as (one, other, scan):
        values: list[Expression] = []
        for name in sorted(FUNCTIONS):
            luck = random.Random(name)  # noqa: S311 (see above)
            plain = calls(name, LEAVES, luck, plain_calls, scan)
            outer = luck.sample(sorted(FUNCTIONS), nested_calls)
            values += plain + [call for each in outer for call in calls(each, [*plain, *LEAVES], luck, 1, scan)]
        for first in range(0, len(values), at_once):
            some = values[first : first + at_once]
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
    path = stored(table, tmp_path / "t.parquet")
    written = tuple(text for text in STRANGE if "\0" not in text)
    with both(spark, path) as (one, other, scan):
        persons = Persons(scan, Q, 3)
        assert listed_units(one.persons(persons)) == listed_units(other.persons(persons))
        keys = Keys((KeyColumn("q", ColumnReference("q"), written),))
        like = [(Call("like", (ColumnReference("q"), Literal(text))), Literal(text)) for text in written]
        first = KeyColumn("l", Call("case", (*(part for pair in like for part in pair), Literal("none"))), written)
        odd = Summand("values", ColumnReference("a`b. c'"))
        plain, matched = Tally(scan, keys, (Summand("rows"), odd)), Tally(scan, Keys((first,)), (Summand("rows"),))
        for tally in (plain, matched):
            mine, theirs = opened(one.tally(tally)), opened(other.tally(tally))
            assert [each.tolist() for each in mine] == [each.tolist() for each in theirs]
        assert sum(opened(other.tally(plain))[0].tolist()) == 2 * len(written)


def test_patterns_match_what_they_match_in_duckdb(spark: SparkSession, tmp_path: Path) -> None:
    def text(alphabet: str, most: int) -> str:
        return "".join(LUCK.choices(alphabet, k=LUCK.randint(0, most)))

    count = tiered(60, 300)
    texts = ["", "a" * 200, "😀a" * 20, *(text("ab_%\\😀é\n", 12) for _ in range(count))]
    patterns = ["", "%", "%%", "a%a", "%a%a%a%a%a%a%b", "%😀%_a%😀a", "%_" * 50 + "%"]
    patterns += [text("ab_%%%\\😀é\n", 9) for _ in range(count)]
    path = stored(pl.DataFrame({"s": texts}), tmp_path / "t.parquet")
    with both(spark, path) as (one, other, scan):
        summands = tuple(
            Summand("values", one_if(Call("like", (ColumnReference("s"), Literal(pattern))))) for pattern in patterns
        )
        key = Keys((KeyColumn("s", ColumnReference("s"), tuple(sorted(set(texts)))),))
        expected = opened(one.tally(Tally(scan, key, summands)))
        found = opened(other.tally(Tally(scan, key, summands)))
        for pattern, each, same in zip(patterns, expected, found, strict=True):
            assert each.tolist() == same.tolist(), pattern
        assert sum(sum(each.tolist()) for each in expected) > len(texts)


def test_bytes_that_are_no_text_fail_nothing(spark: SparkSession) -> None:
    texts = "SELECT id AS p, CAST(unhex(CASE WHEN id % 2 = 0 THEN 'FF41' ELSE '4142' END) AS STRING) AS q FROM range(6)"
    engine = SparkEngine(spark)
    columns = engine.add("t", spark.sql(texts), None).columns
    found = listed_units(engine.persons(Persons(Scan(PrivateTable("t", columns, "p")), Q, 3)))
    assert found == [(("AB",), 3), (("\ufffdA",), 3)]
    engine.close()


# -- integers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [None, 3])
def test_tallies_of_random_evil_tables_are_the_same(limit: int | None, spark: SparkSession, tmp_path: Path) -> None:
    """Among the persons is one with most of the rows. `test_conformance` has bins, values and keys of every shape."""
    rows = [random_row(LUCK, LUCK.choice([None, 7, 7, *range(60)])) for _ in range(800)]
    rows += [random_row(LUCK, 7)] * 900
    path = stored(frame(rows, SCHEMA), tmp_path / "t.parquet")
    with both(spark, path, x=(-3, 7), i=(-5, 300), c=(0, 100)) as (one, other, scan):
        relation = replace(scan, most_rows_of_person=limit)
        fine = Quantum(Fraction(1, 2**44), Fraction(-3), Fraction(7))
        huge = Quantum(Fraction(1), Fraction(-(2**63)), Fraction(2**63 - 1), is_whole=True)
        cents = Quantum(Fraction(1, 100), Fraction(0), Fraction(100))
        summands = (
            Summand("rows", fineness=1024),
            Summand("values", ColumnReference("x"), fineness=1024),
            Summand("persons", fineness=1024),
            Summand("sum", ColumnReference("x"), fine),
            Summand("sum", ColumnReference("w"), huge),
            Summand("sum", ColumnReference("c"), cents),
            Summand("sum", ColumnReference("x"), fine, fineness=2**20),
        )
        values = ("north", "south", None, "west")
        keys = Keys((KeyColumn("r", ColumnReference("r"), values), KeyColumn("b", ColumnReference("b"), (True, False))))
        tallies: Any = (
            tiered((None, Bounding(50, 2)), (None, BOUNDING, Bounding(50, 2))) if limit is None else (BOUNDING,)
        )
        for bounding in tallies:
            tally = Tally(relation, keys, summands, bounding)
            mine, theirs = opened(one.tally(tally)), opened(other.tally(tally))
            assert [each.tolist() for each in mine] == [each.tolist() for each in theirs]
        keys = Keys((KeyColumn("r", ColumnReference("r"), ("north", None)),), wanted=(1,))
        bounds: Any = tiered((BOUNDING,) if limit is None else (), (None, BOUNDING))
        for bounding in bounds:
            bins = Bins(relation, keys, ColumnReference("x"), Fraction(-3), Fraction(5, 4), 8, bounding, 1024)
            assert opened(one.bins(bins)).tolist() == opened(other.bins(bins)).tolist()
            columns: Any = tiered(("t",), ("q", "w", "x", "t")) if limit is None else tiered(("c",), ("d", "c"))
            for name in columns:
                distinct = Distinct(relation, keys, ColumnReference(name), bounding)
                assert opened(one.distinct(distinct)).tolist() == opened(other.distinct(distinct)).tolist(), name
        keyed: Any = (
            tiered((("d", "w"),), (("q",), ("d", "w"), ("r", "c", "b")))
            if limit is None
            else tiered((), (("q",), ("r", "c", "b")))
        )
        for names in keyed:
            asked = Persons(relation, Keys(tuple(KeyColumn(name, ColumnReference(name), None) for name in names)), 2)
            for question in (asked, replace(asked, rows=3)):
                assert listed_units(one.persons(question)) == listed_units(other.persons(question))


def test_found_keys_come_in_parts_each_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_engine, "_AT_ONCE", 100)
    monkeypatch.setattr(spark_engine, "_AS_PYTHON", 30)
    table = pl.DataFrame({"p": [n % 140 for n in range(600)], "q": [f"key {n % 220}" for n in range(600)]})
    with both(spark, stored(table, tmp_path / "t.parquet")) as (one, engine, scan):
        persons = Persons(scan, Q, 2)
        parts = list(engine.persons(persons))
        assert len(parts) > 3
        assert max(len(opened(part)[0]) for part in parts) == 30
        assert listed_units(iter(parts)) == listed_units(one.persons(persons))


@pytest.mark.parametrize("most", [8 << 9, 1 << 24], ids=["some by windows", "all by arrays"])
def test_weights_of_keys_are_the_same_by_arrays_and_by_windows(
    most: int, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every kind, twice and missing, of persons with more keys than count and with fewer."""
    monkeypatch.setattr(groups, "MOST_IN_ARRAY", most)
    rows = [random_row(LUCK, LUCK.choice([7, 7, *range(40)])) for _ in range(400)]
    rows += rows[:50]
    with both(spark, stored(frame(rows, SCHEMA), tmp_path / "t.parquet")) as (one, other, scan):
        every = ((("b", "c", "d"), 3), (("q", "w"), 8), (("t", "r"), 8), (("x",), 3))
        cases: Any = tiered(((("q", "t", "b", "c", "d", "w", "r", "x"), 3),), every)
        for names, count in cases:
            columns = Keys(tuple(KeyColumn(name, ColumnReference(name), None) for name in names))
            asked = Persons(scan, columns, count, (100, 70, 57, 50, 44, 40, 37, 35)[:count])
            assert dict(listed_units(one.persons(asked))) == dict(listed_units(other.persons(asked))), names


def test_a_person_gives_one_weight_to_zero_however_it_is_stored(spark: SparkSession, tmp_path: Path) -> None:
    table = pl.DataFrame({"p": [1, 1, 1, 2], "q": [0.0, -0.0, 0.0, -0.0]})
    with both(spark, stored(table, tmp_path / "t.parquet")) as (_, engine, scan):
        assert listed_units(engine.persons(Persons(scan, Q, 2, (100, 70)))) == [((0.0,), 200)]


@pytest.mark.parametrize("here", [True, False], ids=["in files", "in the driver"])
def test_lists_of_keys_of_every_kind_are_read_as_they_were_written(
    here: bool, spark: SparkSession, tmp_path: Path
) -> None:
    """In parts, of which some have nothing but missing values, or fewer digits than others."""
    rows = [random_row(LUCK, LUCK.randrange(40)) for _ in range(300)]
    with both(spark, stored(frame(rows, SCHEMA), tmp_path / "t.parquet")) as (one, other, scan):
        if not here:
            other._key_lists = KeyLists(other._own, other._to_frame)
        every = (("b", "c", "d"), ("w", "r"), ("q", "t"), ("x",))
        cases: Any = tiered((("x", "t", "q", "r", "w", "b", "d", "c"),), every)
        for names in cases:
            columns = tuple(KeyColumn(name, ColumnReference(name), None) for name in names)
            units = [opened(each)[0] for each in one.persons(Persons(scan, Keys(columns), 50))]
            listed = sorted((key for keys in units for key in keys), key=lambda key: (key[-1] is not None, repr(key)))
            found = Found(len(listed), lambda listed=listed: iter([listed[:1], listed[1:9], listed[9:]]))  # type: ignore[misc]  # (a default)
            tally = Tally(
                scan, Keys(columns, discovered=found), (Summand("rows"), Summand("persons")), Bounding(50, 50)
            )
            expected, same = (next(each.in_parts(tally, len(listed))) for each in (one, other))
            assert [each.tolist() for each in opened(expected)] == [each.tolist() for each in opened(same)], names
            assert sum(opened(same)[0].tolist()) == len(rows)


def test_files_of_keys_are_gone_when_they_were_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pl.DataFrame({"p": range(30), "q": [f"key {n % 10}" for n in range(30)]})
    with both(spark, stored(table, tmp_path / "t.parquet")) as (_, engine, scan):
        listed: list[tuple[Value, ...]] = [(f"key {n}",) for n in range(10)]
        keys = Keys(Q.columns, discovered=Found(10, lambda: iter([listed[:5], listed[5:]])))
        tally = Tally(scan, keys, (Summand("rows"),), BOUNDING)
        for read_at_once in tiered((8,), (1, 8, 1 << 18)):
            monkeypatch.setattr(spark_engine, "_AT_ONCE", read_at_once)
            every = [opened(each)[0].tolist() for each in engine.in_parts(tally, 4)]
            assert every == [[3, 3, 3, 3], [3, 3, 3, 3], [3, 3]]
        monkeypatch.setattr(groups, "_FEW", 5)
        parts = engine.in_parts(tally, 4)
        assert opened(next(parts))[0].tolist() == [3, 3, 3, 3]
        assert engine._key_lists._to_frame is None
        folder = engine._key_lists._folder
        assert folder is not None
        assert len(list(folder.path.glob("*/*.parquet"))) == 2
        assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
        parts.close()  # type: ignore[attr-defined]  # (a generator)
        assert not list(folder.path.glob("*/*"))
        engine.close()
        assert not folder.path.exists()


SESSION_LUCK = random.Random("spark sessions")  # noqa: S311 (which rows are tried need not be secret)


FIFTY = pl.DataFrame({"id": range(50)})
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
    rows = [random_row(SESSION_LUCK, SESSION_LUCK.randrange(30)) for _ in range(300)]
    path = stored(frame(rows, SCHEMA), tmp_path / "t.parquet")
    answers = []

    def ask() -> None:
        with both(spark, path, x=(-3, 7)) as (_, engine, scan):
            hours = Call("hour", (ColumnReference("t"),))
            texts = Call("like", (Call("concat", (ColumnReference("q"), Literal("\\'"))), Literal("%\\_")))
            keys = Keys((KeyColumn("r", ColumnReference("r"), ("north", "south", None)),))
            quantum = Quantum(Fraction(1, 2**40), Fraction(-3), Fraction(7))
            summands = (
                Summand("rows"),
                Summand("persons"),
                Summand("sum", ColumnReference("x"), quantum),
                Summand("sum", hours, Quantum(Fraction(1), Fraction(0), Fraction(23), is_whole=True)),
            )
            tallied = opened(engine.tally(Tally(Filter(scan, texts), keys, summands, BOUNDING)))
            units = listed_units(engine.persons(Persons(scan, Q, 2))) if is_long() else []
            answers.append([[integers.tolist() for integers in tallied], units])

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
    upper = Summand("values", one_if(Call("eq", (ColumnReference("g"), Literal("X")))))
    assert opened(engine.tally(Tally(scan, Keys(), (upper,))))[0].tolist() == [0]  # its collation says otherwise
    found = listed_units(engine.persons(Persons(scan, Keys((KeyColumn("i", ColumnReference("i"), None),)), 1)))
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
    with pytest.raises(NotFound, match="'nowhere'"):
        engine.add("t", "nowhere", None)
    engine.add("distinct", rows.distinct(), None)
    engine.add("whole rows", rows.selectExpr("id", "id % 3 AS a").dropDuplicates(), None)
    engine.add("counted", rows.groupBy((rows.id % 3).alias("a")).agg({"id": "max"}), None)
    engine.close()


CHOOSING = [
    "SELECT * FROM base WHERE p IN (SELECT p FROM base LIMIT 5)",
    "SELECT * FROM base WHERE p IN (SELECT p FROM base WHERE g = (SELECT g FROM base LIMIT 1))",
    "SELECT p, (SELECT p FROM base LIMIT 1) AS g FROM base",
    "SELECT * FROM base WHERE p IN (SELECT p FROM base TABLESAMPLE (10 PERCENT))",
    "SELECT b.p, l.q FROM base b, LATERAL (SELECT c.p AS q FROM base c WHERE c.g = b.g LIMIT 1) l",
    "SELECT p, first(p) OVER (PARTITION BY g) AS q FROM base",
    "SELECT * FROM (SELECT p, g, row_number() OVER (PARTITION BY g ORDER BY 1) AS n FROM base) WHERE n = 1",
    "SELECT *, lag(p) OVER (PARTITION BY g ORDER BY x) AS q FROM base",
    "SELECT *, nth_value(p, 2) OVER (PARTITION BY g ORDER BY x) AS q FROM base",
    "SELECT *, sum(p) OVER (ORDER BY g ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS q FROM base",
    "SELECT *, row_number() OVER (ORDER BY x) AS n FROM (SELECT double(p) AS x FROM base)",  # zeros have signs
    "SELECT *, row_number() OVER (ORDER BY x) AS n FROM (SELECT string(p) COLLATE UTF8_LCASE AS x FROM base)",
    *(
        f"SELECT g, {chosen} AS p FROM base GROUP BY g"
        for chosen in ("max_by(p, 1)", "mode(p)", "element_at(collect_list(p), 1)", "array_agg(p)[0]")
    ),
    "SELECT g, listagg(string(p)) AS p FROM base GROUP BY g",
    "SELECT *, max_by(p, 1) OVER (PARTITION BY g) AS q FROM base",
    "SELECT * FROM base WHERE p IN (SELECT p FROM base WHERE day < current_date())",
]
STEADY = [
    "SELECT *, rank() OVER (PARTITION BY g ORDER BY x) AS n, sum(p) OVER (PARTITION BY g) AS s FROM base",
    "SELECT *, sum(p) OVER (PARTITION BY g ORDER BY x) AS s FROM base",  # with all rows of the same x
    "SELECT *, row_number() OVER (PARTITION BY g ORDER BY x, p, day) AS n FROM base",
    "SELECT g, count(DISTINCT p) AS n, sum(x) FILTER (WHERE p > 1) AS s, median(x) AS m FROM base GROUP BY g",
    "SELECT * FROM base WHERE p IN (SELECT max(p) FROM base GROUP BY g) AND current_user() <> ''",
    "SELECT * FROM (SELECT p, g FROM base) PIVOT (sum(p) FOR g IN (1, 2))",
]


def test_rows_that_depend_on_where_others_lie_are_refused_wherever_they_are_asked_for(spark: SparkSession) -> None:
    columns = ("id AS p", "id % 7 AS g", "id % 5 AS x", "DATE '2024-01-01' AS day")
    spark.range(50).selectExpr(*columns).createOrReplaceTempView("base")
    for text in CHOOSING:
        with pytest.raises(InvalidParameter) as refused:
            require_readable(spark.sql(text))
        assert refused.value.name == "source", text
    for text in STEADY:
        require_readable(spark.sql(text))


def test_texts_of_a_fixed_length_are_plain_texts(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.preserveCharVarcharTypeInfo", "true")
    try:
        made = spark.sql("SELECT CAST(c AS CHAR(3)) AS c, CAST(c AS VARCHAR(3)) AS v FROM VALUES ('a'), ('A') AS t(c)")
        columns = offered_columns(made)
        assert {domain.kind for _, domain in columns} == {Kind.TEXT}
        plain = selected(made, columns)
        assert [field.dataType.simpleString() for field in plain.schema.fields] == ["string", "string"]
        assert plain.distinct().count() == 2
    finally:
        spark.conf.unset("spark.sql.preserveCharVarcharTypeInfo")


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
        with pytest.raises(InvalidParameter) as refused:
            connect(url)
        assert "nowhere" not in str(refused.value)
    assert spark.sparkContext.master == before
    assert spark.conf.get("spark.master") == before


def test_files_that_are_gone_are_a_change(spark: SparkSession, tmp_path: Path) -> None:
    path = stored(FIFTY, tmp_path / "t.parquet")
    engine = SparkEngine(spark)
    engine.add("t", spark.read.parquet(str(path)), None)
    assert engine.unchanged()
    path.unlink()
    assert not engine.unchanged()
    engine.close()


def test_a_table_has_a_name_a_fingerprint_and_a_state(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "with space"
    folder.mkdir()
    part = stored(FIFTY, folder / "0.parquet")
    spark.read.parquet(str(folder)).createOrReplaceTempView("named")
    assert connect("named") == (spark, "named")
    engine = SparkEngine(spark)
    by_name, by_frame = engine.add("a", "named", None), engine.add("b", spark.range(50).repartition(3), None)
    assert by_name.fingerprint == by_frame.fingerprint
    assert by_name.fingerprint != engine.add("c", spark.range(51), None).fingerprint
    assert engine.identity == f"spark {spark.version}"
    assert engine.unchanged()
    part.write_bytes(part.read_bytes() + b" ")
    assert not engine.unchanged()
    engine.close()
    assert not spark.catalog.tableExists("view_0")
    for url in ("spark://nowhere:7077", "http://nowhere?table=t"):
        with pytest.raises(InvalidParameter) as refused:
            connect(url)
        assert refused.value.name == "source"


def test_what_a_user_has_cached_stays_cached(spark: SparkSession, tmp_path: Path) -> None:
    cached = spark.read.parquet(str(stored(FIFTY, tmp_path / "t.parquet"))).cache()
    engine = SparkEngine(spark)
    engine.add("t", cached, None)
    engine.close()
    assert cached.storageLevel.useMemory
    cached.unpersist()


def test_what_the_parser_learns_from_questions_is_let_go(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be hundreds of megabytes of the driver after some hundred questions, and stay."""
    learned = spark._jvm.org.apache.spark.sql.catalyst.parser.AbstractParser.getDFACacheNumStates  # type: ignore[union-attr]
    assert sessions._SETTINGS["spark.sql.parser.parserDfaCacheFlushRatio"] == "5"
    kept = []
    for share in ("100", "0.000001"):
        monkeypatch.setitem(sessions._SETTINGS, "spark.sql.parser.parserDfaCacheFlushRatio", share)
        engine = SparkEngine(spark)
        for _ in range(2):
            engine._rows("SELECT CAST((1 + 2) AS BIGINT) AS a")
        kept.append(learned())
        engine.close()
    assert kept[1] < kept[0]


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
    with pytest.raises(QueryFailed) as caught:
        engine.tally(Tally(scan, Keys(), (Summand("values", ColumnReference("x")),)))
    assert caught.value.cause == "defect"
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "zebra" not in str(caught.value) + "".join(capfd.readouterr())
    engine.close()


def test_a_question_ends_when_its_time_is_over(spark: SparkSession) -> None:
    engine = SparkEngine(spark)
    slow = spark.range(10**12).selectExpr("id % 1000 AS a", "id % 7 AS id")  # its tasks notice that nobody waits
    engine._sources["t"] = engine._seen_from_beside("t", slow)
    engine._time = TimeLimit(0.1)
    scan = Scan(PrivateTable("t", (("a", Domain(Kind.INTEGER)), ("id", Domain(Kind.INTEGER))), None))
    with pytest.raises(QueryFailed) as failed:  # it would take days
        engine.distinct(Distinct(scan, Keys(), Call("add", (ColumnReference("a"), ColumnReference("id")))))
    assert failed.value.cause == "time"
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
    (log,) = event_log().glob(f"{spark.sparkContext.applicationId}*")
    before = log.stat().st_size  # what other tests left there knows nothing of these rows
    with both(spark, stored(table, tmp_path / "t.parquet"), x=(0, 100_000)) as (_, engine, scan):
        keys = Keys((KeyColumn("q", ColumnReference("q"), ("plain", None)),))
        quantum = Quantum(Fraction(1, 1024), Fraction(0), Fraction(100_000))
        for bounding in (None, BOUNDING) if is_long() else (BOUNDING,):
            engine.tally(Tally(scan, keys, (Summand("rows"), Summand("sum", ColumnReference("x"), quantum)), bounding))
            engine.bins(Bins(scan, keys, ColumnReference("x"), Fraction(0), Fraction(1000), 100, bounding))
            engine.distinct(Distinct(scan, keys, ColumnReference("q"), bounding))
        list(engine.persons(Persons(scan, Q, 1)))
        engine.tally(
            Tally(Filter(scan, Call("gt", (ColumnReference("x"), Literal(54321)))), Keys(), (Summand("rows"),))
        )
    spark.range(1).count()
    until(lambda: "54321" in _written_since(log, before), "the question, whose constants are public, is in the log")
    text = _written_since(log, before)
    assert not [secret for secret in secrets if secret in text]
    jobs = [json.loads(line) for line in text.splitlines() if '"Event":"SparkListenerJobStart"' in line]
    assert "giveortake" in {job["Properties"].get("spark.job.description") for job in jobs}


def _written_since(log: Path, before: int) -> str:
    """Whole lines: the last one may be being written."""
    with log.open("rb") as file:
        file.seek(before)
        return file.read().rpartition(b"\n")[0].decode()
