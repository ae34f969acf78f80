"""Sorting gives the integers that the statements give, so that which of them ran cannot be told."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

from giveortake.engines import KeyColumn, Keys, Persons, Summand, Tally
from giveortake.engines.duckdb import fast_paths
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.questions import Bounding, Quantum
from giveortake.mechanisms.partition_selection import weights
from giveortake.plan import ColumnReference, PrivateTable, Scan

ROWS = 5000
VALUES = tuple(f"k{index:02d}" for index in range(30))
QUANTUM = Quantum(Fraction(1, 2**20), Fraction(-3), Fraction(100), shift=7)
SUMMANDS = (
    Summand("rows", fineness=1024),
    Summand("sum", ColumnReference("x"), QUANTUM),
    Summand("values", ColumnReference("x"), fineness=64),
    Summand("persons", fineness=3),
)


def engine_with(persons: Any) -> tuple[DuckDBEngine, Scan]:
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
    engine, scan = engine_with(some_persons())
    tally = Tally(scan, Keys((KeyColumn("k", ColumnReference("k"), VALUES),), wanted), SUMMANDS, bounding)
    for one, other in zip(*both_ways(monkeypatch, lambda: engine._tally(tally)), strict=True):
        assert one.tolist() == other.tolist()
        assert any(one.tolist())


def test_sums_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, scan = engine_with(some_persons())
    tally = Tally(scan, Keys(), SUMMANDS, Bounding(4, 3))
    plain, again = both_ways(monkeypatch, lambda: engine._tally(tally))
    assert [each.tolist() for each in plain] == [each.tolist() for each in again]


@pytest.mark.parametrize(("weighted", "dense"), [(False, True), (True, True), (True, False)])
@pytest.mark.parametrize("groups", [1, 3, 500])
def test_first_keys(monkeypatch: pytest.MonkeyPatch, groups: int, weighted: bool, dense: bool) -> None:
    monkeypatch.setattr(fast_paths, "_DENSE", 10**9 if dense else 0)
    engine, scan = engine_with(some_persons())
    keys = Keys((KeyColumn("k", ColumnReference("k"), None), KeyColumn("d", ColumnReference("d"), None)))
    asked = Persons(scan, keys, groups, weights(1000, groups) if weighted else None)
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
    engine, scan = engine_with(persons)
    tally = Tally(scan, Keys((KeyColumn("k", ColumnReference("k"), VALUES),)), SUMMANDS, Bounding(2, 1))
    plain = engine._tally(tally)
    monkeypatch.setattr(fast_paths, "FEWEST_ROWS", 2)
    assert [each.tolist() for each in engine._tally(tally)] == [each.tolist() for each in plain]


def test_sums_that_could_leave_64_bits_are_not_sorted() -> None:
    huge = Quantum(Fraction(1), Fraction(0), Fraction(2**61), is_whole=True)
    tally = Tally(engine_with(some_persons())[1], Keys(), (Summand("sum", ColumnReference("d"), huge),), Bounding(1, 1))
    assert not fast_paths.suits_sorted_tally(tally, 10**6)
    small = Tally(tally.relation, Keys(), SUMMANDS, Bounding(1, 1))
    assert fast_paths.suits_sorted_tally(small, 10**6)
    assert not fast_paths.suits_sorted_tally(small, 10**8)
    assert not fast_paths.suits_sorted_tally(small, 10)
    assert not fast_paths.suits_sorted_tally(Tally(tally.relation, Keys(), SUMMANDS), 10**6)
