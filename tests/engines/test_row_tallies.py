"""Few aggregates give the integers that plain Python gives, of every number that a row can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from giveortake.compile.measures import quantum_of
from giveortake.engines import KeyColumn, Keys, Quantum, Summand, Tally
from giveortake.engines.duckdb import fast_paths
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.sql import statements
from giveortake.plan import Call, ColumnReference, Domain, Expression, Kind, Literal, PrivateTable, Scan
from replay import Revealing

GRAIN = Fraction(1, 8)
KEYS = Keys((KeyColumn("g", ColumnReference("g"), ("a", "b", None)),))
BOUNDS = [(-3, 7), (0, 100), (-100, -50), (5, 5), (0, 0), (-(10**6), 10**6)]
HALVES = [steps / 16 for steps in range(-64, 129)]
NEAR = [
    math.nextafter(each, side) for each in (-3.0, 0.0, 0.0625, 5.0, 7.0, 100.0) for side in (-math.inf, each, math.inf)
]
FAR = [math.inf, -math.inf, math.nan, -math.nan, 1e308, -1e308, 2.0**31, -(2.0**63), 5e-324, -5e-324, -0.0, 2.0**53 + 2]
REALS: list[float | None] = [None, *HALVES, *NEAR, *FAR, None]
WHOLES: list[int | None] = [None, *range(-101, 102, 7), 5, 7, -3, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63)]
DECIMALS: list[Decimal | None] = [None, *(Decimal(cents) / 100 for cents in range(-400, 11_000, 37)), Decimal(10) ** 14]


def engine_with(values: list[Any], kind: Any) -> tuple[DuckDBEngine, Scan]:
    """Each value in a group of its own turn, the third of which is missing and the fourth unknown."""
    groups = [("a", "b", None, "c")[place % 4] for place in range(len(values))]
    engine = DuckDBEngine(threads=1)
    source = engine.add("t", pl.DataFrame({"g": groups, "x": values}, schema={"g": pl.String, "x": kind}), {})
    engine.lock()
    return engine, Scan(PrivateTable("t", source.columns, None))


def opened(engine: DuckDBEngine, tally: Tally) -> list[list[int]]:
    return [each.tolist() for each in Revealing().release(engine.tally(tally))]


def clamp(of: Expression, low: int | Fraction, high: int | Fraction) -> Expression:
    return Call("clamp", (of, Literal(low), Literal(high)))


def missing(of: Expression) -> Expression:
    return Call("case", (Call("is_null", (of,)), Literal(1), Literal(None)))


def steps_of(value: Any, quantum: Quantum) -> int | None:
    """The rule: clamped, then the nearest step, halves upwards; nothing and NaN count as nothing."""
    if value is None or math.isnan(value):
        return None
    if quantum.is_whole:
        return int(min(max(value, quantum.low), quantum.high)) - quantum.shift
    inside = min(max(float(value), float(quantum.low)), float(quantum.high))
    return math.floor(inside * float(1 / quantum.granularity) + 0.5) - quantum.shift


def by_hand(values: list[Any], summands: tuple[Summand, ...], quanta: list[Quantum | None]) -> list[list[int]]:
    found = [[0, 0, 0] for _ in summands]
    for place, value in enumerate(values):
        if place % 4 < 3:
            there = value is not None and not math.isnan(value)
            for answer, summand, quantum in zip(found, summands, quanta, strict=True):
                if summand.kind == "rows":
                    answer[place % 4] += 1
                elif quantum is not None:
                    answer[place % 4] += steps_of(value, quantum) or 0
                else:
                    answer[place % 4] += there is not isinstance(summand.expression, Call)
    return found


def summands_of(of: Expression, quantum: Quantum) -> tuple[Summand, ...]:
    """A sum, an average's two sides, and every kind of number beside them."""
    ends = [
        Quantum(quantum.granularity, quantum.low, quantum.high, end, quantum.is_whole) for end in (-17, quantum.most)
    ]
    return (
        Summand("sum", of, quantum),
        *(Summand("sum", of, end) for end in ends),
        Summand("values", missing(of)),
        Summand("rows"),
        Summand("values", ColumnReference("x")),
    )


def differing(values: list[Any], kind: Any, cases: Iterable[tuple[Expression, Quantum]]) -> list[Any]:
    """Of the same rows, those expressions and steps of which the engine gives other integers."""
    engine, scan = engine_with(values, kind)
    wrong = []
    for of, quantum in cases:
        summands = summands_of(of, quantum)
        found = opened(engine, Tally(scan, KEYS, summands))
        if found != by_hand(values, summands, [summand.quantum for summand in summands]):
            wrong.append((of, quantum))
    engine.close()
    return wrong


X = ColumnReference("x")


def test_reals() -> None:
    cases = [
        (of, Quantum(granularity, Fraction(low), Fraction(high)))
        for granularity in (GRAIN, Fraction(1, 2**40))
        for low, high in BOUNDS
        for of in (
            X,
            clamp(X, low, high),
            clamp(X, low - 1, high + 1),
            clamp(clamp(X, low - 1, high), low, high + 1),
        )
    ]
    assert differing(REALS, pl.Float64, cases) == []


def test_whole_numbers() -> None:
    cases = [
        (of, Quantum(Fraction(1), Fraction(low), Fraction(high), is_whole=True))
        for low, high in [*BOUNDS, (-(2**62), 2**62)]
        for of in (X, clamp(X, low, high), clamp(X, low - 1, high + 1))
    ]
    assert differing(WHOLES, pl.Int64, cases) == []


def test_whole_numbers_of_128_bits(tmp_path: Path) -> None:
    values = [*WHOLES, 2**126, -(2**126), 2**63, -(2**63) - 1]
    with duckdb.connect(tmp_path / "t.duckdb") as connection:
        connection.execute("CREATE TABLE t (x HUGEINT)")
        connection.executemany("INSERT INTO t VALUES (?)", [[value] for value in values])
    engine = DuckDBEngine(threads=1)
    scan = Scan(PrivateTable("t", engine.add("t", tmp_path / "t.duckdb", {}).columns, None))
    quantum = Quantum(Fraction(1), Fraction(-(2**62)), Fraction(2**62 - 1), shift=2**61, is_whole=True)
    steps = [each for each in (steps_of(value, quantum) for value in values) if each is not None]
    tally = Tally(
        scan, Keys(), (Summand("sum", ColumnReference("x"), quantum), Summand("values", missing(ColumnReference("x"))))
    )
    assert opened(engine, tally) == [[sum(steps)], [1]]
    engine.close()


def test_whole_numbers_on_a_finer_lattice() -> None:
    cases = [
        (of, Quantum(GRAIN, Fraction(low), Fraction(high)))
        for low, high in BOUNDS
        for of in (X, clamp(X, low - Fraction(1, 2), high + Fraction(1, 2)))
    ]
    assert differing(WHOLES, pl.Int64, cases) == []


def test_decimals() -> None:
    cases = [
        (of, Quantum(granularity, Fraction(low), Fraction(high)))
        for granularity in (Fraction(1, 100), GRAIN)
        for low, high in BOUNDS
        for of in (X, clamp(X, low, high))
    ]
    assert differing(DECIMALS, pl.Decimal(38, 2), cases) == []


def test_bounds_that_are_wider_than_those_of_a_clamp_leave_it_in_place() -> None:
    engine, scan = engine_with(REALS, pl.Float64)
    wide, narrow = (Quantum(GRAIN, Fraction(-bound), Fraction(bound)) for bound in (50, 2))
    summands = (Summand("sum", clamp(ColumnReference("x"), -2, 2), wide), Summand("sum", ColumnReference("x"), wide))
    assert opened(engine, Tally(scan, KEYS, summands)) == by_hand(REALS, summands, [narrow, wide])
    engine.close()


def test_a_value_that_is_there_where_another_is_not_is_counted_by_itself() -> None:
    engine, scan = engine_with(REALS, pl.Float64)
    other = Call("case", (Call("is_null", (ColumnReference("x"),)), Literal(1), Literal(2)))
    summands = (Summand("values", other), Summand("values", missing(missing(ColumnReference("x")))))
    rows, there = opened(engine, Tally(scan, KEYS, (Summand("rows"), Summand("values", ColumnReference("x")))))
    assert opened(engine, Tally(scan, KEYS, summands)) == [rows, there]
    engine.close()


def test_without_keys_and_without_rows() -> None:
    quantum = quantum_of(Domain(Kind.REAL, Fraction(3), Fraction(9)), ColumnReference("x"), centred=True)
    summands = summands_of(clamp(ColumnReference("x"), 3, 9), quantum)
    assert quantum.shift
    for values in ([], [None, math.nan], REALS):
        engine, scan = engine_with(values, pl.Float64)
        steps = [each for each in (steps_of(value, quantum) for value in values) if each is not None]
        found = opened(engine, Tally(scan, Keys(), summands))
        assert found[0] == [sum(steps)]
        assert found[3:] == [[len(values) - len(steps)], [len(values)], [len(steps)]]
        engine.close()


def test_the_shared_statement_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, scan = engine_with(REALS, pl.Float64)
    quantum = Quantum(Fraction(1, 2**20), Fraction(-3), Fraction(7), shift=11)
    few = Keys((KeyColumn("g", ColumnReference("g"), ("a", "b", None)),), wanted=(0, 2))
    tallies = [Tally(scan, keys, summands_of(clamp(ColumnReference("x"), -3, 7), quantum)) for keys in (KEYS, few)]
    mine = [[each.tolist() for each in engine._tally(tally)] for tally in tallies]
    monkeypatch.setattr(
        DuckDBEngine, "_tally_statement", lambda self, *asked: statements.tally_statement(self._printer, *asked)
    )
    assert mine == [[each.tolist() for each in engine._tally(tally)] for tally in tallies]
    engine.close()


def test_a_value_is_read_once_for_a_sum_an_average_and_what_they_lack() -> None:
    engine, scan = engine_with([1.0], pl.Float64)
    of = clamp(ColumnReference("x"), 0, 9)
    tally = Tally(scan, Keys(), summands_of(of, Quantum(GRAIN, Fraction(0), Fraction(9))))
    text = fast_paths.row_tally_statement(engine._printer, tally, statements.Coded((), (), ()))
    assert (text.count("sum("), text.count("floor("), text.count(" AS v0"), text.count(" AS v1")) == (1, 1, 1, 0)
    engine.close()


@pytest.mark.parametrize("wide", [False, True])
def test_few_rows_hold_what_the_table_would_be_read_as(tmp_path: Path, *, wide: bool) -> None:
    """Numbers that are none, long texts and times out of range are settled when the rows are chosen, not again."""
    path = tmp_path / "t.duckdb"
    times = ["2024-01-31", "infinity", "-infinity", "20000-01-01", None]
    texts = ["abcde", "abcdefgh", "x" * 900 if wide else "x", None]
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE t (p BIGINT, x FLOAT, k VARCHAR, d DATE)")
        rows = [
            [place % 7 or None, value, texts[place % 4], times[place % 5]]
            for place, value in enumerate([math.nan, math.inf, None, 0.1, -0.0, 3.75] * 20)
        ]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    engine = DuckDBEngine(threads=1)
    columns = dict(engine.add("t", path, {}).columns)
    columns |= {"p": columns["p"].complete(), "k": replace(columns["k"], longest=None if wide else 5)}
    table = PrivateTable("t", tuple(columns.items()), "p")
    keys = Keys((KeyColumn("k", ColumnReference("k"), ("abcde", "x", texts[2], None)),))
    summands = (
        *summands_of(ColumnReference("x"), Quantum(GRAIN, Fraction(0), Fraction(3))),
        Summand("values", ColumnReference("d")),
    )
    every, chosen = (opened(engine, Tally(Scan(table, most), keys, summands)) for most in (None, 1000))
    assert every == chosen
    assert all(any(each) for each in every)
    engine.close()
