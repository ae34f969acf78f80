"""What an engine counts, against plain Python that was written from the rules alone."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from giveortake.compile.measures import quantum_of
from giveortake.engines import Bins, Distinct, KeyColumn, Keys, Persons, Summand, Tally
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.questions import Bounding, Quantum
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
from replay import Revealing
from tiers import tiered

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
