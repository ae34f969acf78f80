"""Every engine computes the integers that the rules state: of tallies, bins, distinct values, keys and vectors."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from hashlib import md5
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import giveortake as gt
from engine_places import EVERYWHERE, place
from giveortake.compile.measures import quantum_of
from giveortake.engines import (
    Bins,
    Component,
    Distinct,
    Engine,
    KeyColumn,
    Keys,
    Persons,
    Quantum,
    Sample,
    Summand,
    Tally,
    VectorSum,
)
from giveortake.engines.duckdb import fast_paths
from giveortake.engines.duckdb.dialect import DuckDBDialect
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.questions import Bounding
from giveortake.engines.sql import statements
from giveortake.engines.sql.printer import mark
from giveortake.errors import QueryRefused
from giveortake.plan import (
    Call,
    ColumnReference,
    Domain,
    Expression,
    Filter,
    Kind,
    Literal,
    PrivateTable,
    Relation,
    Scan,
)
from giveortake.session import Session
from giveortake.session.session import mechanism_of
from inside import engine_of, measured
from replay import SPEND, Revealing, exact_integers
from tiers import is_long, tiered

GROUPS = ("a", "b", None)
FINE = 1024
LESS = 1 - 2.0**-48
X = Domain(Kind.REAL, Fraction(-3), Fraction(7))
QUANTUM = quantum_of(X, ColumnReference("x"), centred=True)
BOUNDING = Bounding(2, 3)
EVIL = [None, math.nan, math.inf, -math.inf, -0.0, 0.0, 7.0, -3.0, 2.5, 1e308, 5e-324, 6.999999999]
Rows = list[tuple[int | None, str | None, float | None, int | None]]

rows_of_people = st.lists(
    st.tuples(
        st.sampled_from([None, 0, 1, 1, 2, 3]),
        st.sampled_from(["a", "b", "c", None]),
        st.sampled_from(EVIL) | st.floats(-10, 10),
        st.sampled_from([None, 0, 1, 2, 3, 2**63 - 1, -(2**63)]),
    ),
    max_size=30,
)
SETTINGS = settings(
    max_examples=tiered(6, 60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def _frame(rows: Rows) -> pl.DataFrame:
    schema: dict[str, Any] = {"p": pl.Int64, "g": pl.String, "x": pl.Float64, "w": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _asked(source: Any, person: str | None, threads: int = 1, **kinds: Kind) -> tuple[DuckDBEngine, Scan]:
    engine = DuckDBEngine(threads=threads)
    found = dict(engine.add("t", source, kinds).columns)
    engine.lock()
    found = {**found, "x": X}
    if person is not None:
        found[person] = found[person].complete()
    return engine, Scan(PrivateTable("t", tuple(found.items()), person))


def _open(sensitive: Any) -> Any:
    return Revealing().release(sensitive)


KEYS = Keys((KeyColumn("g", ColumnReference("g"), GROUPS),))
SUMMANDS = (
    Summand("rows", fineness=FINE),
    Summand("values", ColumnReference("x"), fineness=FINE),
    Summand("persons", fineness=FINE),
    Summand("sum", ColumnReference("x"), QUANTUM),
)


# -- the rules, once more -------------------------------------------------------------------------------------------


def _steps(value: float | None, quantum: Quantum) -> int | None:
    """Missing and not a number count as nothing; the rest is clamped and rounded half up."""
    if value is None or math.isnan(value):
        return None
    clamped = min(max(Fraction(-3), Fraction(value)), Fraction(7)) if math.isfinite(value) else (7 if value > 0 else -3)
    return math.floor(float(clamped) * float(1 / quantum.granularity) + 0.5) - quantum.shift


def _part(amount: int, c: int, m: int, *, of_rows: bool) -> int:
    """min(1, R/c) · min(1, G/m) of an amount that is a person's sum over c rows."""
    if (c <= BOUNDING.rows or not of_rows) and m <= BOUNDING.groups:
        return amount
    share = min(c, BOUNDING.rows) * (min(m, BOUNDING.groups) / m) / c if of_rows else min(m, BOUNDING.groups) / m
    return math.trunc(amount * share)


def _tallied(rows: Rows) -> list[list[int]]:
    mine: dict[tuple[int, str | None], Rows] = defaultdict(list)
    for row in rows:
        if row[0] is not None and row[1] in GROUPS:
            mine[row[0], row[1]].append(row)
    many = {person: len({g for p, g in mine if p == person}) for person, _ in mine}
    answers = [[0, 0, 0] for _ in SUMMANDS]
    for (person, group), own in mine.items():
        place, c, m = GROUPS.index(group), len(own), many[person]
        steps = [each for each in (_steps(row[2], QUANTUM) for row in own) if each is not None]
        answers[0][place] += _part(min(c, BOUNDING.rows) * FINE, c, m, of_rows=False)
        answers[1][place] += _part(len(steps) * FINE, c, m, of_rows=True)
        answers[2][place] += _part(FINE, c, m, of_rows=False)
        answers[3][place] += _part(sum(steps), c, m, of_rows=True)
    return answers


def _unscaled(rows: Rows) -> list[list[int]]:
    answers = [[0, 0, 0] for _ in range(3)]
    for _, group, value, _ in rows:
        if group in GROUPS:
            step = _steps(value, QUANTUM)
            answers[0][GROUPS.index(group)] += 1
            answers[1][GROUPS.index(group)] += step is not None
            answers[2][GROUPS.index(group)] += step or 0
    return answers


# -- engines keep them ----------------------------------------------------------------------------------------------


@SETTINGS
@given(rows_of_people)
def test_tallies_of_rows_are_what_the_rules_say(rows: Rows) -> None:
    engine, scan = _asked(_frame(rows), None)
    summands = (Summand("rows"), Summand("values", ColumnReference("x")), Summand("sum", ColumnReference("x"), QUANTUM))
    assert [each.tolist() for each in _open(engine.tally(Tally(scan, KEYS, summands)))] == _unscaled(rows)
    engine.close()


@SETTINGS
@given(rows_of_people)
def test_tallies_of_persons_are_what_the_rules_say_and_never_more(rows: Rows) -> None:
    engine, scan = _asked(_frame(rows), "p")
    found = [each.tolist() for each in _open(engine.tally(Tally(scan, KEYS, SUMMANDS, BOUNDING)))]
    people = len({row[0] for row in rows})
    for one, other in zip(found, _tallied(rows), strict=True):
        for mine, theirs in zip(one, other, strict=True):
            assert abs(mine - theirs) <= people  # a part is cut to a step, after a factor just below one
    within = [row for row in rows if sum(other[0] == row[0] for other in rows) <= 2]
    engine.close()
    engine, scan = _asked(_frame(within), "p")  # who stays within the caps counts exactly
    assert [e.tolist() for e in _open(engine.tally(Tally(scan, KEYS, SUMMANDS, BOUNDING)))] == _tallied(within)
    engine.close()


@SETTINGS
@given(rows_of_people)
def test_bins_distinct_values_and_persons_are_what_the_rules_say(rows: Rows) -> None:
    engine, scan = _asked(_frame(rows), None)
    bins = _open(engine.bins(Bins(scan, KEYS, ColumnReference("x"), Fraction(-3), Fraction(5, 4), 8)))
    expected = [[0] * 8 for _ in GROUPS]
    for _, group, value, _ in rows:
        if group in GROUPS and value is not None and not math.isnan(value):
            away = min(max((value + 3) / 1.25, 0.0), 7.0)
            expected[GROUPS.index(group)][math.floor(away)] += 1
    assert bins.tolist() == expected
    distinct = _open(engine.distinct(Distinct(scan, KEYS, ColumnReference("w"))))
    assert distinct.tolist() == [len({w for _, h, _, w in rows if h == g and w is not None}) for g in GROUPS]
    engine.close()
    engine, scan = _asked(_frame(rows), "p")
    keys, counts = _open(next(engine.persons(Persons(scan, Keys((KeyColumn("g", ColumnReference("g"), None),)), 9))))
    having = {g: len({p for p, h, _, _ in rows if h == g and p is not None}) for _, g, _, _ in rows}
    assert dict(zip((key for (key,) in keys), counts.tolist(), strict=True)) == {g: n for g, n in having.items() if n}
    engine.close()


def _less(value: Any) -> bool | None:
    return None if value is None or math.isnan(value) else value < 2


CONDITIONS: dict[str, tuple[Expression, Any]] = {
    "less": (Call("lt", (ColumnReference("x"), Literal(2))), lambda x, w: _less(x)),
    "not less": (
        Call("not", (Call("lt", (ColumnReference("x"), Literal(2))),)),
        lambda x, w: None if _less(x) is None else not _less(x),
    ),
    "or": (
        Call("or", (Call("lt", (ColumnReference("x"), Literal(2))), Call("eq", (ColumnReference("w"), Literal(1))))),
        lambda x, w: _less(x) is True or w == 1,
    ),
    "missing": (Call("is_null", (ColumnReference("x"),)), lambda x, w: x is None or math.isnan(x)),
    "in": (Call("in", (ColumnReference("w"), Literal(1), Literal(None))), lambda x, w: w == 1),
}


@SETTINGS
@given(rows=rows_of_people)
def test_conditions_have_three_values(rows: Rows) -> None:
    engine, scan = _asked(_frame(rows), None)
    for name, (condition, holds) in CONDITIONS.items():
        (found,) = _open(engine.tally(Tally(Filter(scan, condition), Keys(), (Summand("rows"),))))
        assert found.tolist() == [sum(holds(x, w) is True for _, _, x, w in rows)], name
    engine.close()


# -- order, threads and sources -------------------------------------------------------------------------------------


def _everything(engine: DuckDBEngine, relation: Relation) -> list[Any]:
    return [
        *(each.tolist() for each in _open(engine.tally(Tally(relation, KEYS, SUMMANDS, BOUNDING)))),
        _open(
            engine.bins(Bins(relation, KEYS, ColumnReference("x"), Fraction(-3), Fraction(5, 4), 8, BOUNDING, FINE))
        ).tolist(),
        _open(engine.distinct(Distinct(relation, KEYS, ColumnReference("w"), BOUNDING))).tolist(),
        [
            list(
                map(
                    str,
                    _open(
                        next(engine.persons(Persons(relation, Keys((KeyColumn("g", ColumnReference("g"), None),)), 2)))
                    ),
                )
            )
        ],
    ]


def _many_rows() -> Rows:
    luck = random.Random("many rows")  # noqa: S311 (see evil_tables)
    return [
        (
            luck.choice([None, *range(400)]),
            luck.choice(["a", "b", "c", None]),
            luck.choice([*EVIL, luck.uniform(-5, 9)]),
            luck.choice([None, 0, 1, 2, 3]),
        )
        for _ in range(5000)
    ]


def test_neither_the_order_of_rows_nor_threads_nor_the_source_changes_an_integer(tmp_path: Path) -> None:
    rows = _many_rows()
    table = _frame(rows)
    shuffled = _frame(random.Random(1).sample(rows, len(rows)))  # noqa: S311 (see evil_tables)
    table.write_csv(tmp_path / "t.csv")
    shuffled.write_parquet(tmp_path / "t.parquet", row_group_size=700)
    with duckdb.connect(str(tmp_path / "t.duckdb")) as database:
        database.register("given", shuffled)
        database.execute("CREATE TABLE t AS SELECT * FROM given")
    sources: dict[str, Any] = {
        "polars": table,
        "shuffled": shuffled,
        "arrow": shuffled.to_arrow(),
        "parquet": tmp_path / "t.parquet",
        "csv": tmp_path / "t.csv",
        "duckdb": tmp_path / "t.duckdb",
    }
    kinds = {"p": Kind.INTEGER, "x": Kind.REAL, "w": Kind.INTEGER}
    answers = {}
    for name, source in sources.items():
        for threads in (1, 2) if name == "shuffled" else (1,):
            engine, scan = _asked(source, "p", threads, **kinds)
            columns = tuple((column, dict(scan.table.columns)[column]) for column in ("p", "g", "x", "w"))
            private = PrivateTable("t", columns, "p")
            answers[name, threads] = [_everything(engine, Scan(private, limit)) for limit in (None, 3)]
            engine.close()
    assert all(each == answers["polars", 1] for each in answers.values()), [
        key for key, each in answers.items() if each != answers["polars", 1]
    ]


WIDE = pl.Decimal(38, 2)


def counted(s: Session, text: str) -> list[int]:
    made = measured(s, text, SPEND)
    return [int(each) for each in exact_integers(made, engine_of(s))[0]]


def session(source: Any, **more: Any) -> Session:
    options: dict[str, Any] = {"unit": gt.ROW, "budget": gt.PureDP(100), "name": "t", **more}
    return gt.protect(source, **options)


def test_decimals_with_many_digits_are_keys_of_their_own() -> None:
    large, *others = (Decimal(f"1{'0' * 31}.0{n}") for n in range(5))
    table = pl.DataFrame({"d": pl.Series([large] * 9, dtype=WIDE)})
    with session(table, domains={"d": [large, *others]}) as s:
        assert counted(s, "SELECT d, COUNT(*) AS n FROM t GROUP BY d") == [9, 0, 0, 0, 0]
        with pytest.raises(gt.errors.InvalidParameter, match="floating-point"):
            s.partition("d")


@pytest.mark.parametrize("stored", [pl.Decimal(20, 0), pl.Int64], ids=str)
def test_parts_of_values_that_are_one_double_are_refused_unless_they_are_whole_numbers(stored: Any) -> None:
    """The filter of a part compares other numbers as doubles: both parts would hold the same rows, for one price."""
    table = pl.DataFrame({"d": pl.Series([2**60] * 9, dtype=stored)})
    with session(table, domains={"d": [2**60, 2**60 + 1]}) as s:
        if stored == pl.Int64:
            parts = s.partition("d")
            assert [counted(parts[value], "SELECT COUNT(*) AS n FROM t") for value in parts] == [[9], [0]]
            return
        with pytest.raises(gt.errors.InvalidParameter, match="floating-point"):
            s.partition("d")


@pytest.mark.parametrize("where", EVERYWHERE)
def test_nullif_and_clamp_keep_what_they_are_given(where: str, request: pytest.FixtureRequest) -> None:
    table = pl.DataFrame({"i": [2**60 + 7] * 4, "c": pl.Series([Decimal("3.25")] * 4, dtype=pl.Decimal(18, 2))})
    source = place(where, request)("exact_keys", table)
    ids = [2**60 + n for n in range(20)]
    public = {"p": pl.DataFrame({"id": ids, "w": [1] * 20})}
    with session(source, domains={"i": ids, "c": (0, 9)}, public=public) as s:
        assert sum(counted(s, "SELECT NULLIF(i, 0.5) AS k, COUNT(*) AS n FROM t GROUP BY k")) == 4
        assert counted(s, "SELECT COUNT(*) AS n FROM t JOIN p ON NULLIF(t.i, 0.5) = p.id") == [4]
        with pytest.raises(gt.errors.QueryRefused):
            s.sql("SELECT CLAMP(c, 0.006, 50) AS k, COUNT(*) AS n FROM t GROUP BY k")


@pytest.mark.parametrize("where", EVERYWHERE)
def test_tiny_bounds_bound(where: str, request: pytest.FixtureRequest) -> None:
    table = pl.DataFrame({"x": [1.0, 0.0, 1e-290, -5.0, 5e-324]})
    with session(place(where, request)("tiny", table), domains={"x": (-9, 9)}) as s:
        made = measured(s, "SELECT SUM(CLAMP(x, 1e-280, 1.0000001e-280)) AS a FROM t", SPEND)
        (total,) = exact_integers(made, engine_of(s))
        assert abs(int(total[0])) <= 5 * made.measures[0].l1


@pytest.mark.parametrize("where", EVERYWHERE)
def test_columns_with_names_of_ours_switch_nothing_off(where: str, request: pytest.FixtureRequest) -> None:
    names = ["row_rank", "part_rank", "p", "code", "k0", "v0", "m", "c", "n", "place", "t"]
    table = pl.DataFrame({**{name: [0] * 60 for name in names}, "r": [f"r{n % 3}" for n in range(60)]})
    source = place(where, request)("named", table)
    domains = {"r": [f"r{n}" for n in range(3)]}
    with session(source, unit="p", rows_per_person=3, domains=domains) as s:
        assert counted(s, "SELECT COUNT(*) AS a FROM t") == [3]
    with session(source, unit="p", caps={"groups_per_person": 1, "rows_per_group": 2}, domains=domains) as s:
        found = [counted(part, "SELECT COUNT(*) AS a FROM t")[0] for part in s.partition("r").values()]
        assert sorted(found)[:2] == [0, 0]
        assert any(found)


def test_a_table_named_like_a_bounded_one_is_another() -> None:
    table = pl.DataFrame({"p": [1] * 50})
    tables = {"a": table, "a with at most 3 rows of a person": table}
    with gt.protect(tables, unit="p", rows_per_person=3, budget=gt.PureDP(1)) as s:
        assert counted(s, "SELECT COUNT(*) AS n FROM a") == [3]


def test_files_that_cannot_be_read_are_refused_when_they_are_protected(tmp_path: Path) -> None:
    broken = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")])
    pa.parquet.write_table(pa.table({"p": [1], "q": broken}), tmp_path / "t.parquet")
    with pytest.raises(gt.errors.InvalidParameter):
        session(tmp_path / "t.parquet")


def test_categories_are_values_of_the_column() -> None:
    table = pl.DataFrame({"i": [1, 2], "c": pl.Series([Decimal("1.25")] * 2, dtype=pl.Decimal(18, 2))})
    for domains in ({"i": [1.5]}, {"c": [Decimal("1.255")]}, {"i": [2**63]}):
        (name,) = domains
        with pytest.raises(gt.errors.InvalidParameter) as refused:
            session(table, domains=domains)
        assert name in refused.value.name


GROUPS_OF_KEYS = 2
KEYS_BY_KIND: dict[str, tuple[list[Any], Any]] = {
    "text": ([f"k{index}" for index in range(20)], "a new key"),
    "numbers": (list(range(20)), -5),
    "wide numbers": (list(range(20)), -(2**40)),
    "missing": ([f"k{index}" for index in range(20)], None),
    "decimals": ([Decimal(index) / 4 for index in range(20)], Decimal("-7.25")),
}


def found(
    rows: list[tuple[Any, Any]], weights: tuple[int, ...] | None = None, most: int = 1, **limits: Any
) -> Counter[Any]:
    engine = DuckDBEngine(**limits)
    table = pl.DataFrame({"p": [person for person, _ in rows], "k": [key for _, key in rows]})
    source = engine.add("t", table, {})
    columns = tuple((name, domain.complete() if name == "p" else domain) for name, domain in source.columns)
    scan = Scan(PrivateTable("t", columns, "p"), None)
    keys, counts = engine._persons(
        Persons(scan, Keys((KeyColumn("k", ColumnReference("k"), None),)), GROUPS_OF_KEYS, weights, most)
    )
    engine.close()
    return Counter(dict(zip([key for (key,) in keys], counts.tolist(), strict=True)))


@pytest.mark.parametrize("kind", KEYS_BY_KIND)
def test_a_person_with_a_new_key_moves_no_more_than_their_own_keys(kind: str) -> None:
    values, new = KEYS_BY_KIND[kind]
    rows = [(person, values[(person * 7 + step * (1 + person % 5)) % 20]) for person in range(500) for step in range(6)]
    before, after = found(rows), found([*rows, (500, new)])
    assert sum(before.values()) == 500 * GROUPS_OF_KEYS
    assert after - before == Counter({new: 1})
    assert not before - after


@pytest.mark.parametrize("kind", KEYS_BY_KIND)
def test_of_a_person_so_many_rows_count_in_each_of_so_many_keys_and_nothing_is_scaled(kind: str) -> None:
    values, new = KEYS_BY_KIND[kind]
    rows = [
        (person, values[(person * 7 + step * (1 + person % 5)) % 20]) for person in range(500) for step in range(12)
    ]
    before, after = found(rows, most=3), found([*rows, *[(500, new)] * 5, (500, values[0])], most=3)
    assert after - before == Counter({new: 3, values[0]: 1})
    assert not before - after
    shown, counted = found(rows), [Counter(key for one, key in rows if one == person) for person in range(500)]
    assert before.keys() == shown.keys()  # the same keys of each person count, however many rows do
    assert sum(before.values()) <= sum(sum(sorted(min(n, 3) for n in each.values())[-2:]) for each in counted)
    alone = {person: found([row for row in rows if row[0] == person], most=3) for person in range(0, 500, 50)}
    for person, own in alone.items():
        assert len(own) == min(GROUPS_OF_KEYS, len(counted[person]))
        assert all(number == min(counted[person][key], 3) for key, number in own.items())


@pytest.mark.parametrize("kind", KEYS_BY_KIND)
def test_a_person_shares_out_a_weight_by_how_many_keys_they_have(kind: str) -> None:
    values, new = KEYS_BY_KIND[kind]
    rows = [(person, values[(person * 7 + step) % 20]) for person in range(60) for step in range(1 + person % 4)]
    before, after = found(rows, (10, 7)), found([*rows, (60, new), (60, values[0]), (60, new)], (10, 7))
    assert sum(before.values()) == 15 * 10 + 45 * 2 * 7
    assert after - before == Counter({new: 7, values[0]: 7})
    assert not before - after
    alone = Counter(key for person, key in rows if person % 4 == 0)
    light = Counter(key for person, key in rows if person % 4 == 1)
    few = found([(person, key) for person, key in rows if person % 4 < 2], (10, 7))
    assert few == Counter({key: 10 * alone[key] + 7 * light[key] for key in {*alone, *light}})


@pytest.mark.parametrize(
    ("length", "heavy", "name"),
    [(1000, 30_000, str)]
    if not is_long()
    else [(*size, name) for size in ((1, 200_000), (1000, 30_000)) for name in (int, str)],
)
def test_one_person_with_very_many_keys_adds_their_share_when_memory_is_short(
    name: Any, length: int, heavy: int
) -> None:
    """They make no question fail, and give the least weight to as many keys as count."""
    rows = [(name(person), "k" * length + str(person * step % 50)) for person in range(400) for step in range(5)]
    many = [(name(1000), "h" * length + str(number)) for number in range(heavy)]
    before, after = (found(each, (10, 7), memory="40MB", threads=1) for each in (rows, rows + many))
    assert sorted((after - before).values()) == [7] * GROUPS_OF_KEYS
    assert not before - after


def test_marks_are_of_values_not_of_how_they_are_stored() -> None:
    engine = DuckDBEngine()
    kinds = (Kind.INTEGER, Kind.TEXT, Kind.DECIMAL, Kind.REAL, Kind.BOOLEAN)
    same = [mark(DuckDBDialect(), text, Kind.DECIMAL) for text in ("1.5", "1.50")]
    assert len(set(engine._rows(f"SELECT unnest([{', '.join(same)}])"))) == 1
    texts = [mark(DuckDBDialect(), f"'{text}'", Kind.TEXT) for text in ("1", "1 ", "", "None", "é", "e\u0301")]
    assert len(set(engine._rows(f"SELECT unnest([{', '.join(texts)}])"))) == len(texts)
    assert {engine._rows(f"SELECT {mark(DuckDBDialect(), 'NULL', kind)}")[0] for kind in kinds} == {(-1583458089,)}


STEPS = 64
BOUNDS = (40, 150, 3_000, 10_000_000)
SHAPES = ("gram", "gradient", "cells", "many cells", "cells and a total")
SPARK: dict[bool, tuple[str, ...]] = (  # by persons or by rows; two samples, below, add up to the cells of persons
    {True: SHAPES, False: SHAPES} if is_long() else {True: ("gram", "many cells"), False: ("gram", "cells")}
)
ROWS: dict[str, list[Any]] = {
    "person": [1, 1, 1, 2, 2, 3, 4, 4, 4, 4, 5, 6],
    "x": [0.5, -1.0, 0.25, 1.0, 1.0, None, 0.1, 0.2, 0.3, 0.4, -0.75, 0.0],
    "y": [1.0, 1.0, -1.0, 0.5, -0.5, 0.5, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0],
    "city": ["a", "a", "b", "b", "b", "a", "a", "a", "b", None, "z", "b"],
    "sex": ["f", "f", "f", "m", "m", "f", "m", "m", "m", "m", "f", "f"],
}
DOMAINS = {"x": (-1, 1), "y": (-1, 1), "city": ["a", "b"], "sex": ["f", "m"]}


def value(name: str, steps: int = STEPS) -> Summand:
    return Summand("sum", ColumnReference(name), Quantum(Fraction(1, steps), Fraction(-1), Fraction(1)))


def keys(*names: str) -> tuple[KeyColumn, ...]:
    known: dict[str, tuple[str, ...]] = {"city": ("a", "b"), "sex": ("f", "m")}
    return tuple(KeyColumn(name, ColumnReference(name), known[name]) for name in names)


def gram(count: int) -> tuple[Component, ...]:
    pairs = [(one, other) for one in range(count) for other in range(one, count)]
    return tuple(Component(pair, weight=1 if pair[0] == pair[1] else 2) for pair in pairs)


def session_of_vectors(source: Any, *, person: bool) -> gt.Session:
    unit = "person" if person else gt.ROW
    return gt.protect(source, unit=unit, budget=gt.ZCDP(1), domains=DOMAINS, name="rows")


def shapes(relation: Relation, bound: int, steps: int = STEPS) -> dict[str, VectorSum]:
    numbers = (value("x", steps), value("y", steps))
    one_hot = (Component((), (0,)), Component((), (1,)), Component((1,), (0, 1), weight=2))
    return {
        "gram": VectorSum(relation, numbers, (), gram(2), bound),
        "gradient": VectorSum(relation, numbers, (), (Component((0,)), Component((0, 1)), Component()), bound),
        "cells": VectorSum(relation, numbers, keys("city", "sex"), one_hot, bound),
        "many cells": VectorSum(relation, numbers, keys("city", "sex"), one_hot * 3, bound),
        "cells and a total": VectorSum(relation, numbers, keys("city"), (Component(), Component((1,), (0,))), bound),
    }


def expected(asked: VectorSum, rows: dict[str, list[Any]]) -> list[int]:
    """The same, in Python, with whole numbers wherever it matters."""
    units: dict[Any, list[int]] = {}
    for index in range(len(rows["x"])):
        steps = [_steps_of_summand(rows[each.expression.name][index], each) for each in asked.values]  # type: ignore[union-attr]
        name = index if asked.by_row else rows["person"][index]
        if asked.by_row and asked.is_gram and not asked.is_uncut:
            length = sum(each**2 for each in steps)
            if length > asked.bound:
                factor = math.sqrt(asked.bound / length) * (1 - 2**-48)
                steps = [math.trunc(each * factor) for each in steps]
        vector = units.setdefault(name, [0] * asked.size)
        for component, start in zip(asked.components, asked.offsets(), strict=True):
            code = 0
            for place_of_key in component.keys:
                column = asked.columns[place_of_key]
                found = rows[column.name][index]
                known = list(column.values or ())
                code = -1 if code < 0 or found not in known else code * len(known) + known.index(found)
            if code >= 0:
                vector[start + code] += math.prod(steps[each] for each in component.factors)
    total = [0] * asked.size
    weights = np.repeat([each.weight for each in asked.components], asked.sizes).tolist()
    for vector in units.values():
        length = sum(weight * cell**2 for weight, cell in zip(weights, vector, strict=True))
        kept = vector
        if length * (1 + 2**-40) > asked.bound**2:
            kept = [math.trunc(cell * (asked.bound * (1 - 2**-48) / math.sqrt(length))) for cell in vector]
        assert sum(weight * cell**2 for weight, cell in zip(weights, kept, strict=True)) <= asked.bound**2
        total = [one + other for one, other in zip(total, kept, strict=True)]
    return total


def _steps_of_summand(cell: float | None, summand: Summand) -> int:
    quantum = summand.quantum
    assert quantum is not None
    return 0 if cell is None else math.floor(cell * float(1 / quantum.granularity) + 0.5) - quantum.shift


def answer(engine: Engine, asked: VectorSum) -> list[int]:
    return [int(each) for each in Revealing().release(engine.vectors(asked))]


@pytest.mark.parametrize("name", EVERYWHERE)
def test_every_engine_sums_the_same_vectors(name: str, request: pytest.FixtureRequest) -> None:
    put = place(name, request)
    source = put("vectors", pl.DataFrame(ROWS))
    for person in (True, False):
        s = session_of_vectors(source, person=person)
        for bound in BOUNDS if name != "spark" else (150,):  # Spark runs the same words: see the golden statements
            for shape, asked in shapes(mechanism_of(s).origin.relations["rows"], bound).items():
                if name == "spark" and shape not in SPARK[person]:
                    continue
                found = answer(engine_of(s), asked)
                assert found == expected(asked, ROWS), f"{shape}, {bound} steps, {person=}"
        if person:
            some = replace(shapes(mechanism_of(s).origin.relations["rows"], 150)["cells"], sample=Sample("salt", 2**59))
            others = replace(some, sample=Sample("salt", 2**59, others=True))
            hashes = [md5(f"salt{each}".encode(), usedforsecurity=False).hexdigest() for each in range(1, 7)]
            chosen = [place for place, each in enumerate(hashes, 1) if int(each[:15], 16) < 2**59]
            assert 0 < len(chosen) < 6
            kept = [place for place, each in enumerate(ROWS["person"]) if each in chosen]
            of_them = {name: [values[place] for place in kept] for name, values in ROWS.items()}
            assert answer(engine_of(s), some) == expected(some, of_them)
            total = np.array(answer(engine_of(s), some)) + answer(engine_of(s), others)
            assert total.tolist() == expected(some, ROWS)
        else:
            relation = mechanism_of(s).origin.relations["rows"]
            some = replace(shapes(relation, 150)["cells and a total"], sample=Sample("salt", 2**59))
            assert answer(engine_of(s), some) == expected(some, _sampled(some, ROWS))
        s.close()


def _sampled(asked: VectorSum, rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The rows that a sample has, where each is called by its steps, its keys, and its number among those alike."""
    seen: dict[str, int] = {}
    kept = []
    for index in range(len(rows["x"])):
        steps = [_steps_of_summand(rows[each.expression.name][index], each) for each in asked.values]  # type: ignore[union-attr]
        codes = [str({"a": 0, "b": 1}.get(rows["city"][index], ""))]
        name = ",".join([*map(str, steps), *codes])
        seen[name] = seen.get(name, 0) + 1
        digest = md5(f"salt{name},{seen[name]}".encode(), usedforsecurity=False).hexdigest()
        if int(digest[:15], 16) < 2**59:
            kept.append(index)
    assert 0 < len(kept) < len(rows["x"])
    return {name: [values[index] for index in kept] for name, values in rows.items()}


@pytest.mark.parametrize("person", [True, False])
def test_too_many_rows_for_doubles_or_arrays_are_added_up_in_integers_and_a_person_with_so_many_adds_nothing(
    person: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [place for place, each in enumerate(ROWS["person"]) if not person or ROWS["person"].count(each) <= 3]
    of_few = {name: [values[place] for place in few] for name, values in ROWS.items()}
    assert len(few) == (8 if person else 12)
    with session_of_vectors(pl.DataFrame(ROWS), person=person) as s:
        for bound in BOUNDS:
            for asked in list(shapes(mechanism_of(s).origin.relations["rows"], bound).values())[:2]:
                assert statements.fits_doubles(asked)
                with monkeypatch.context() as patch:
                    patch.setattr(statements, "_EXACT", 3)
                    patch.setattr(fast_paths, "MOST_ROWS", 3)
                    assert answer(engine_of(s), asked) == expected(asked, of_few)
                    patch.setattr("giveortake.engines.duckdb.engine.fits_doubles", lambda _: False)
                    other = replace(asked, bound=asked.bound + 1)
                    assert answer(engine_of(s), other) == expected(other, ROWS)
        for asked in list(shapes(mechanism_of(s).origin.relations["rows"], BOUNDS[-1]).values())[2:]:
            assert fast_paths.suits_counted_cells(asked) is not person
            monkeypatch.setattr(fast_paths, "MOST_ROWS", 3)
            assert answer(engine_of(s), asked) == expected(asked, ROWS)


@pytest.mark.parametrize("person", [True, False])
@pytest.mark.parametrize("bound", tiered([7, 90, 2**30], [1, 7, 90, 2**20, 2**29, 2**30]))
def test_the_sum_is_the_sum_of_units_and_no_unit_is_too_long(bound: int, person: bool) -> None:
    """What a unit adds is what it gives alone: nobody else decides it."""
    random = np.random.default_rng(bound % 1000)
    count = 40 if person else 12
    frame = pl.DataFrame(
        {
            "person": random.integers(0, 7, count),
            "x": random.uniform(-1, 1, count),
            "y": random.choice([-1.0, 0.0, 1.0, 1e-9], count),
            "city": random.choice(["a", "b", "z"], count),
            "sex": random.choice(["f", "m"], count),
            "row": range(count),
        }
    )
    steps = 2**14 if bound > 2**20 else STEPS
    with session_of_vectors(frame, person=person) as s:
        relation, name = mechanism_of(s).origin.relations["rows"], "person" if person else "row"
        units = [
            Filter(relation, Call("eq", (ColumnReference(name), Literal(each))))
            for each in sorted(set(frame[name].to_list()))
        ]
        for shape, asked in shapes(relation, bound, steps).items():
            weights = np.repeat(np.array([each.weight for each in asked.components], dtype=object), asked.sizes)
            alone = [answer(engine_of(s), shapes(unit, bound, steps)[shape]) for unit in units]
            assert all((weights * np.array(each, dtype=object) ** 2).sum() <= bound**2 for each in alone)
            assert any(any(each) for each in alone) or bound < 90
            assert answer(engine_of(s), asked) == [sum(cells) for cells in zip(*alone, strict=True)]


def test_what_cannot_be_summed_is_refused_by_what_it_says() -> None:
    with session_of_vectors(pl.DataFrame(ROWS), person=True) as s:
        relation = mechanism_of(s).origin.relations["rows"]
        with pytest.raises(QueryRefused, match="steps"):
            VectorSum(relation, (value("x"),), (), (Component((0,)),), 2**30 + 1)
        with pytest.raises(QueryRefused, match="steps"):
            VectorSum(relation, (value("x", 2**20),), (), (Component((0, 0)),), 2**30)
        wide = KeyColumn("city", ColumnReference("city"), tuple(str(n) for n in range(2**20 + 1)))
        with pytest.raises(QueryRefused, match="cells"):
            VectorSum(relation, (), (wide,), (Component((), (0,)),), 1)
