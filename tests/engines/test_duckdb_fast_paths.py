"""The fast paths of DuckDB give the integers of the shared statements."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import giveortake as gt
from engine_places import EVERYWHERE, OTHERS, place
from giveortake.audit.neighbours import Row, Table, random_row, random_rows
from giveortake.compile import Spend, Terms
from giveortake.compile.measures import quantum_of
from giveortake.engines import KeyColumn, Keys, Persons, Quantum, Summand, Tally
from giveortake.engines.duckdb import fast_paths
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.questions import Bounding
from giveortake.engines.sql import statements
from giveortake.mechanisms.partition_selection import weights
from giveortake.plan import Call, ColumnReference, Domain, Expression, Kind, Literal, PrivateTable, Scan
from giveortake.session import Session
from giveortake.session.profiles.profile import ProfileRequest
from giveortake.session.session import mechanism_of
from inside import engine_of
from replay import MODES, Revealing, exact_integers
from tiers import is_long, tiered

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
    for index, value in enumerate(values):
        if index % 4 < 3:
            there = value is not None and not math.isnan(value)
            for answer, summand, quantum in zip(found, summands, quanta, strict=True):
                if summand.kind == "rows":
                    answer[index % 4] += 1
                elif quantum is not None:
                    answer[index % 4] += steps_of(value, quantum) or 0
                else:
                    answer[index % 4] += there is not isinstance(summand.expression, Call)
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


ROWS = 5000
VALUES = tuple(f"k{index:02d}" for index in range(30))
QUANTUM = Quantum(Fraction(1, 2**20), Fraction(-3), Fraction(100), shift=7)
SUMMANDS = (
    Summand("rows", fineness=1024),
    Summand("sum", ColumnReference("x"), QUANTUM),
    Summand("values", ColumnReference("x"), fineness=64),
    Summand("persons", fineness=3),
)


def engine_of_persons(persons: Any) -> tuple[DuckDBEngine, Scan]:
    random = np.random.default_rng(5)
    amounts = [None if draw < 0.1 else 200 * draw - 40 for draw in random.random(ROWS).tolist()]
    amounts[:2] = [float("nan"), float("inf")]
    names = [None if draw < 0.02 else f"k{int(40 * draw**2):02d}" for draw in random.random(ROWS).tolist()]
    engine = DuckDBEngine()
    source = engine.add(
        "t", pl.DataFrame({"p": persons, "k": names, "x": amounts, "d": random.integers(0, 9, ROWS)}), {}
    )
    columns = tuple((name, domain.complete() if name == "p" else domain) for name, domain in source.columns)
    return engine, Scan(PrivateTable("t", columns, "p"), None)


def some_persons() -> Any:
    random = np.random.default_rng(6)
    return np.minimum(random.pareto(0.7, ROWS) * 10, 900).astype(np.int64) - 2**45


def noted(calls: list[str], work: Any, *given: Any, **options: Any) -> Any:
    calls.append("sorted")
    return work(*given, **options)


def both_ways(monkeypatch: pytest.MonkeyPatch, work: Any) -> tuple[Any, Any]:
    calls: list[str] = []
    for name in ("bounded_sums", "key_totals"):
        monkeypatch.setattr(fast_paths, name, partial(noted, calls, getattr(fast_paths, name)))
    plain = work()
    assert not calls
    monkeypatch.setattr(fast_paths, "FEWEST_ROWS", 2)
    monkeypatch.setattr(fast_paths, "BLOCK", 64)
    again = work()
    assert calls
    return plain, again


@pytest.mark.parametrize("wanted", [None, (0, 3, 4, 29)])
@pytest.mark.parametrize("bounding", [Bounding(2, 1), Bounding(5, 3), Bounding(100, 2)])
def test_bounded_sums(monkeypatch: pytest.MonkeyPatch, bounding: Bounding, wanted: tuple[int, ...] | None) -> None:
    engine, scan = engine_of_persons(some_persons())
    tally = Tally(scan, Keys((KeyColumn("k", ColumnReference("k"), VALUES),), wanted), SUMMANDS, bounding)
    for one, other in zip(*both_ways(monkeypatch, lambda: engine._tally(tally)), strict=True):
        assert one.tolist() == other.tolist()
        assert any(one.tolist())


def test_sums_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, scan = engine_of_persons(some_persons())
    tally = Tally(scan, Keys(), SUMMANDS, Bounding(4, 3))
    plain, again = both_ways(monkeypatch, lambda: engine._tally(tally))
    assert [each.tolist() for each in plain] == [each.tolist() for each in again]


@pytest.mark.parametrize(
    ("weighted", "dense", "rows"),
    [(False, True, 1), (True, True, 1), (True, False, 1), (False, True, 2), (False, False, 9)],
)
@pytest.mark.parametrize("groups", [1, 3, 500])
def test_first_keys(monkeypatch: pytest.MonkeyPatch, groups: int, weighted: bool, dense: bool, rows: int) -> None:
    monkeypatch.setattr(fast_paths, "_DENSE", 10**9 if dense else 0)
    engine, scan = engine_of_persons(some_persons())
    keys = Keys((KeyColumn("k", ColumnReference("k"), None), KeyColumn("d", ColumnReference("d"), None)))
    asked = Persons(scan, keys, groups, weights(1000, groups) if weighted else None, rows)
    plain, again = both_ways(monkeypatch, lambda: engine._persons(asked))
    assert plain[0] == again[0]
    assert plain[1].tolist() == again[1].tolist()


def test_a_person_with_very_many_keys_is_sorted_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    size = 70_000
    table = pl.DataFrame({"p": np.arange(size) // (size - 9), "k": np.arange(size) % (size - 9)})
    engine = DuckDBEngine()
    source = engine.add("t", table, {})
    columns = tuple((name, domain.complete()) for name, domain in source.columns)
    persons = Persons(
        Scan(PrivateTable("t", columns, "p"), None), Keys((KeyColumn("k", ColumnReference("k"), None),)), 4
    )
    plain, again = both_ways(monkeypatch, lambda: engine._persons(persons))
    assert plain[0] == again[0]
    assert plain[1].tolist() == again[1].tolist()


@pytest.mark.parametrize("spread", [2**62, "text"])
def test_persons_that_cannot_be_packed_go_the_other_way(monkeypatch: pytest.MonkeyPatch, spread: Any) -> None:
    persons = some_persons()
    persons = [f"p{each}" for each in persons] if spread == "text" else (persons * 11) % spread * np.sign(persons)
    engine, scan = engine_of_persons(persons)
    tally = Tally(scan, Keys((KeyColumn("k", ColumnReference("k"), VALUES),)), SUMMANDS, Bounding(2, 1))
    plain = engine._tally(tally)
    monkeypatch.setattr(fast_paths, "FEWEST_ROWS", 2)
    assert [each.tolist() for each in engine._tally(tally)] == [each.tolist() for each in plain]


def test_sums_that_could_leave_64_bits_are_not_sorted() -> None:
    huge = Quantum(Fraction(1), Fraction(0), Fraction(2**61), is_whole=True)
    tally = Tally(
        engine_of_persons(some_persons())[1], Keys(), (Summand("sum", ColumnReference("d"), huge),), Bounding(1, 1)
    )
    assert not fast_paths.suits_sorted_tally(tally, 10**6)
    small = Tally(tally.relation, Keys(), SUMMANDS, Bounding(1, 1))
    assert fast_paths.suits_sorted_tally(small, 10**6)
    assert not fast_paths.suits_sorted_tally(small, 10**8)
    assert not fast_paths.suits_sorted_tally(small, 10)
    assert not fast_paths.suits_sorted_tally(Tally(tally.relation, Keys(), SUMMANDS), 10**6)


HEAVY = tiered(20_000, 60_000)


def evil_table() -> Table:
    luck = random.Random("profiles")  # noqa: S311 (which rows are tried need not be secret)
    rows: list[Row] = []
    for person in range(40):
        rows += random_rows(luck, person)
    rows += [random_row(luck, 77) for _ in range(300)]
    rows += [random_row(luck, None) for _ in range(20)]
    return Table(tuple({**row, "q": (row["q"] or "").replace("\0", "") or None} for row in rows), ())


def exact_bins(s: Session, table: str, by: list[str], columns: list[str]) -> list[list[int]]:
    """What noise would be added to, dimension by dimension."""
    profile = ProfileRequest(table, tuple(by), tuple(columns)).bind(mechanism_of(s), Terms.of({"epsilon": 1}))
    made = profile.at(Spend(epsilon=Fraction(1))).made()
    return [exact_integers(measurement, engine_of(s))[0].tolist() for measurement in made]


@pytest.mark.parametrize("where", OTHERS)
def test_every_engine_finds_the_same_bins(where: str, request: pytest.FixtureRequest) -> None:
    table, mode = evil_table(), MODES[1]
    with mode.session(table) as one, mode.session(table, place(where, request)) as other:
        schema = mechanism_of(one).origin.uncapped["data"].schema
        columns = [name for name, domain in schema.items() if domain.kind.is_number and name != "p"]
        by = [name for name, domain in schema.items() if name != "p" and domain.kind.value in {"text", "date"}]
        assert len(columns) >= 2
        some = where == "spark" and not is_long()  # each number of groups and each column takes statements
        for groups in [by[:2]] if some else ([], by[:1], by[:3]):
            columns = columns[:2] if some else columns
            found = exact_bins(one, "data", groups, columns)
            assert exact_bins(other, "data", groups, columns) == found
            assert all(sum(each) == sum(found[0]) for each in found)  # everybody is in one bin of each dimension


@pytest.mark.parametrize("where", EVERYWHERE)
def test_a_person_as_heavy_as_may_be_is_one_person(where: str, request: pytest.FixtureRequest) -> None:
    frame = pl.DataFrame(
        {
            "person": [1] * HEAVY + [2, 3],
            "note": [f"{'long ' * 40}{i}" for i in range(HEAVY)] + ["a", "b"],
            "x": [1e300, -1e300, *[0.5] * HEAVY],
        }
    )
    placed = place(where, request)("trips", frame)
    with gt.protect(placed, unit="person", budget=gt.PureDP(5), name="trips", engine={"threads": 1}) as s:
        rows, groups, largest, magnitude = exact_bins(s, "trips", ["note"], ["x"])
    assert [n for n in rows if n] == [2, 1]
    assert [n for n in groups if n] == [2, 1]
    assert [n for n in largest if n] == [3]
    assert (sum(magnitude), magnitude[-1]) == (3, 1)  # beyond the last power, and below zero
