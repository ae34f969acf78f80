"""What users have set, cached or taken away in a Spark session, and what a failure in it tells."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from beside_spark import BOUNDING, Q, both, listed_units, one_if, opened, stored
from evil_tables import SCHEMA, frame
from giveortake.audit.neighbours import random_row
from giveortake.engines import Bins, Distinct, KeyColumn, Keys, Persons, Summand, Tally
from giveortake.engines.questions import Quantum
from giveortake.engines.runtime import TimeLimit
from giveortake.engines.spark import engine as sessions
from giveortake.engines.spark.engine import SparkEngine
from giveortake.engines.spark.tables import connect, offered_columns, require_readable, selected
from giveortake.errors import InvalidParameter, NotFound, QueryFailed
from giveortake.plan import Call, ColumnReference, Domain, Filter, Kind, Literal, PrivateTable, Scan
from spark_session import event_log, spark_session
from tiers import is_long
from waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.xdist_group("spark"),  # one session for all: run with --dist loadgroup
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # the gateway leaves its sockets to the collector
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]
LUCK = random.Random("spark sessions")  # noqa: S311 (which rows are tried need not be secret)


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    return spark_session()


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
    rows = [random_row(LUCK, LUCK.randrange(30)) for _ in range(300)]
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
