"""Spark gives the integers, the keys and the refusals that DuckDB gives on the same rows."""

from __future__ import annotations

import math
import random
import stat
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
from giveortake.engines.spark import engine as spark_engine
from giveortake.engines.spark import groups
from giveortake.engines.spark.engine import SparkEngine
from giveortake.engines.spark.groups import KeysInDriver, KeysInFiles
from giveortake.plan import Call, ColumnReference, Expression, Literal, PrivateTable, Scan, Value
from giveortake.plan.functions import FUNCTIONS
from spark_session import spark_session
from tiers import tiered

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
            assert listed_units(one.persons(asked)) == listed_units(other.persons(asked))


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
            other._key_lists = KeysInDriver(other._to_frame)
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
        assert isinstance(engine._key_lists, KeysInFiles)
        folder = engine._key_lists._folder
        assert folder is not None
        assert len(list(folder.path.glob("*/*.parquet"))) == 2
        assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
        parts.close()  # type: ignore[attr-defined]  # (a generator)
        assert not list(folder.path.glob("*/*"))
        engine.close()
        assert not folder.path.exists()
