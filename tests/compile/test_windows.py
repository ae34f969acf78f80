"""Functions of answers and of their rows give what DuckDB gives of the same answer, and their intervals hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.answers.terms import Confidence
from giveortake.compile import Measurement, Release, Spend
from giveortake.compile.postprocessing import answer_columns
from inside import engine_of, measured
from recorded_entropy import RecordedEntropy
from replay import exact_integers
from tiers import tiered

ROWS = 1200
TABLE = pl.DataFrame(
    {
        "u": range(ROWS),
        "r": ["abc"[0 if i % 7 == 0 else i % 3] for i in range(ROWS)],
        "m": [i % 8 if i % 5 else 1 for i in range(ROWS)],
        "x": [float(i % 50) for i in range(ROWS)],
    }
)
DOMAINS: dict[str, Any] = {"r": ["a", "b", "c"], "m": {"bounds": (0, 7), "nullable": False}, "x": (0, 50)}
REDRAWS, COPIES = tiered(100, 300), tiered(10, 30)
ENOUGH = 0.95 - 6 * math.sqrt(0.95 * 0.05 / REDRAWS)

WINDOWS = {  # of the released number n of rows at the keys r and m
    "total": "SUM({n}) OVER ()",
    "total of a part": "SUM({n}) OVER (PARTITION BY r)",
    "running sum": "SUM({n}) OVER (PARTITION BY r ORDER BY m)",
    "running sum of peers": "SUM({n}) OVER (ORDER BY m)",
    "running sum back": "SUM({n}) OVER (PARTITION BY r ORDER BY m DESC)",
    "all in an order": "SUM({n}) OVER (ORDER BY m RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
    "rows around": "SUM({n}) OVER (PARTITION BY r ORDER BY m ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)",
    "rows before": "SUM({n}) OVER (PARTITION BY r ORDER BY m ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING)",
    "moving mean": "AVG({n}) OVER (PARTITION BY r ORDER BY m ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
    "least": "MIN({n}) OVER (PARTITION BY r)",
    "greatest so far": "MAX({n}) OVER (PARTITION BY r ORDER BY m)",
    "greatest around": "MAX({n}) OVER (PARTITION BY r ORDER BY m ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
    "groups": "COUNT(*) OVER (PARTITION BY r)",
    "groups so far": "COUNT(*) OVER (ORDER BY m)",
    "row number": "ROW_NUMBER() OVER (PARTITION BY r ORDER BY {n}, m)",
    "place": "RANK() OVER (ORDER BY {n} DESC)",
    "place by key": "RANK() OVER (ORDER BY m)",
    "dense place": "DENSE_RANK() OVER (ORDER BY m DESC)",
    "quarter": "NTILE(4) OVER (ORDER BY {n} DESC, r, m)",
    "third of a part": "NTILE(3) OVER (PARTITION BY r ORDER BY m)",
    "more parts than rows": "NTILE(99) OVER (ORDER BY r, m)",
    "before": "LAG({n}) OVER (PARTITION BY r ORDER BY m)",
    "two after": "LEAD({n}, 2) OVER (PARTITION BY r ORDER BY m)",
    "before in a ranking": "LAG({n}) OVER (ORDER BY {n} DESC, r, m)",
    "first": "FIRST_VALUE({n}) OVER (PARTITION BY r ORDER BY m)",
    "last": "LAST_VALUE({n}) OVER (PARTITION BY r ORDER BY m ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
    "share": "1.0 * {n} / SUM({n}) OVER (PARTITION BY r)",
    "percent": "ROUND(100.0 * {n} / SUM({n}) OVER (), 1)",
    "growth": "{n} - COALESCE(LAG({n}) OVER (PARTITION BY r ORDER BY m), 0)",
    "of a half": "SUM({n} / 2) OVER (PARTITION BY r)",
}
WITHOUT = {
    *("groups", "groups so far", "place by key", "dense place", "before in a ranking"),
    *("quarter", "third of a part", "more parts than rows"),
}


@pytest.fixture(scope="module")
def session() -> Any:
    with gt.protect(
        TABLE, unit=gt.ROW, name="t", budget=gt.ApproxDP(10**6, "1e-3"), domains=DOMAINS, engine={"threads": 1}
    ) as made:
        yield made


@cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    """One for all: opening it costs more than what it is asked."""
    return duckdb.connect()


def _by_duckdb(text: str, table: pl.DataFrame) -> list[tuple[Any, ...]]:
    _duckdb().register("t", table)
    return _duckdb().execute(text).fetchall()


def _same(found: list[Any], expected: list[Any]) -> bool:
    pairs = zip(found, expected, strict=True)
    return all((a is None or math.isnan(a)) if b is None else math.isclose(a, b, abs_tol=1e-9) for a, b in pairs)


@all_cases("having", ["", " HAVING COUNT(*) > 45", " HAVING m > 2"])
def test_a_window_gives_what_duckdb_gives_of_the_same_answer(session: Any, having: str) -> None:
    asked, expected = (
        ", ".join(f"{text.format(n=n)} AS w{place}" for place, text in enumerate(WINDOWS.values()))
        for n in ("COUNT(*)", "n")
    )
    text = f"SELECT r, m, COUNT(*) AS n, {asked} FROM t GROUP BY r, m{having} ORDER BY r, m"
    answer = session.sql(text).answer(epsilon=1)
    released = answer.to_polars().select("r", "m", "n")
    columns = list(zip(*_by_duckdb(f"SELECT {expected} FROM t ORDER BY r, m", released), strict=True))
    assert 0 < len(released) <= 24
    for place, name in enumerate(WINDOWS):
        assert _same(list(answer[f"w{place}"]), list(columns[place])), name
        assert answer[f"w{place}"].has_interval == (name not in WITHOUT), name


def _redrawn(made: Measurement, exact: tuple[Any, ...], entropy: RecordedEntropy) -> Release:
    arrays = tuple(noise.release(array, entropy) for array, noise in zip(exact, made.noises, strict=True))
    return Release(arrays, made.noises)


COVERED = [name for name in WINDOWS if name not in WITHOUT]
SPENDS = {"Laplace": Spend(epsilon=Fraction(1, 2)), "Gaussian": Spend(rho=Fraction(1, 50))}
Truths = dict[tuple[Any, ...], tuple[float | None, ...]]  # of the columns that are asked for, by key


def _texts(names: list[str], n: str) -> list[str]:
    return [WINDOWS[name].format(n=n) for name in names]


def _by_key(rows: list[tuple[Any, ...]]) -> Truths:
    return {row[:2]: row[2:] for row in rows}


def _coverages(
    session: Any,
    texts: list[str],
    truths: Callable[[Any], Truths],
    noise: str,
    entropy: RecordedEntropy,
    *,
    having: str = "",
    copies: int = 1,
) -> list[float]:
    """How often the interval of a cell holds over redraws, for each text; its worst cell.

    Where the table holds every group several times, each answer has as many draws of it.
    """
    asked = ", ".join(f"{text} AS w{place}" for place, text in enumerate(texts))
    keys = "r, m" if copies == 1 else "r, m, copy"
    made = measured(session, f"SELECT {keys}, {asked} FROM t GROUP BY {keys}{having}", SPENDS[noise])
    exact = exact_integers(made, engine_of(session))
    held: list[dict[tuple[Any, ...], list[bool]]] = [{} for _ in texts]
    for _ in range(REDRAWS // copies):
        columns = answer_columns(made, made.keys, [_redrawn(made, exact, entropy)], Confidence("0.95"))
        r, m, found = columns[0], columns[1], columns[-len(texts) :]
        shown = list(zip(r, m, strict=True))
        expected = truths(shown)
        for place, column in enumerate(found):
            for key, low, high in zip(shown, _numbers(column.low), _numbers(column.high), strict=True):
                truth = expected[key][place]
                if truth is not None:
                    held[place].setdefault(key, []).append(low - 1e-9 <= truth <= high + 1e-9)
    return [min(float(np.mean(each)) for each in cells.values() if len(each) >= REDRAWS / 3) for cells in held]


def _numbers(values: Any) -> list[float]:
    return [float(value) for value in values]


def _short_of_enough(names: list[str], coverages: list[float]) -> dict[str, float]:
    return {name: each for name, each in zip(names, coverages, strict=True) if each < ENOUGH}


@pytest.mark.statistical
@pytest.mark.parametrize("noise", SPENDS)
def test_intervals_of_windows_hold(session: Any, noise: str, entropy: RecordedEntropy) -> None:
    names = COVERED if noise == "Laplace" else COVERED[:4]
    texts = _texts(names, "COUNT(*)")
    truths = _by_key(_by_duckdb(f"SELECT r, m, {', '.join(texts)} FROM t GROUP BY r, m", TABLE))
    assert _short_of_enough(names, _coverages(session, texts, lambda _: truths, noise, entropy)) == {}


@pytest.mark.statistical
def test_intervals_of_windows_hold_of_the_rows_that_noise_chose(session: Any, entropy: RecordedEntropy) -> None:
    """What is claimed is what the function gives of the true numbers of the rows that are shown."""
    names = ["total", "running sum", "greatest so far", "place", "before", "share"]
    exact = TABLE.group_by("r", "m").agg(n=pl.len())
    with duckdb.connect() as connection:

        def truths(shown: list[tuple[Any, ...]]) -> Truths:
            kept = exact.join(pl.DataFrame(shown, schema=["r", "m"], orient="row"), on=["r", "m"])
            connection.register("t", kept)
            text = f"SELECT r, m, {', '.join(_texts(names, 'n'))} FROM t"
            return _by_key(connection.execute(text).fetchall())

        found = _coverages(
            session, _texts(names, "COUNT(*)"), truths, "Laplace", entropy, having=" HAVING COUNT(*) > 48"
        )
    assert _short_of_enough(names, found) == {}


FUNCTIONS: dict[str, Callable[[int, float], float]] = {
    "ROUND(AVG(x), 1)": lambda n, s: math.floor(s / n * 10 + 0.5) / 10,
    "CAST(AVG(x) AS BIGINT)": lambda n, s: math.floor(s / n + 0.5),
    "CAST(SUM(x) AS DECIMAL(12, 2))": lambda n, s: s,
    "COALESCE(AVG(x), 0)": lambda n, s: s / n,
    "COALESCE(SUM(x) / NULLIF(COUNT(*), 0), 0)": lambda n, s: s / n,
    "GREATEST(COUNT(*), 50)": lambda n, s: max(n, 50),
    "LEAST(COUNT(*), SUM(x), 50)": lambda n, s: min(n, s, 50),
    "ABS(COUNT(*) - 50)": lambda n, s: abs(n - 50),
    "SIGN(COUNT(*) - 50)": lambda n, s: (n > 50) - (n < 50),
    "SQRT(COUNT(*))": lambda n, s: math.sqrt(n),
    "LN(COUNT(*))": lambda n, s: math.log(n),
    "EXP(COUNT(*) / 20)": lambda n, s: math.exp(n / 20),
    "POWER(COUNT(*) - 50, 2)": lambda n, s: (n - 50) ** 2,
    "POWER(COUNT(*), 0.5)": lambda n, s: math.sqrt(n),
    "POWER(COUNT(*), -1)": lambda n, s: 1 / n,
    "FLOOR(AVG(x)) + CEIL(AVG(x))": lambda n, s: math.floor(s / n) + math.ceil(s / n),
    "CLAMP(COUNT(*), 20, 60)": lambda n, s: min(max(n, 20), 60),
}


@pytest.fixture(scope="module")
def copied_session() -> Any:
    """Functions of one row do not see the others: many copies of the groups are as many draws of them."""
    copied = TABLE.join(pl.DataFrame({"copy": range(COPIES)}), how="cross")
    domains = {**DOMAINS, "copy": {"bounds": (0, COPIES - 1), "nullable": False}}
    with gt.protect(copied, unit=gt.ROW, name="t", budget=gt.PureDP(1000), domains=domains) as opened:
        yield opened


@pytest.mark.statistical
@pytest.mark.parametrize("reads_values", [False, True])
def test_intervals_of_functions_of_answers_hold(
    copied_session: Any, reads_values: bool, entropy: RecordedEntropy
) -> None:
    texts = [text for text in FUNCTIONS if ("(x)" in text) == reads_values]
    rows = TABLE.group_by("r", "m").agg(pl.len(), pl.sum("x")).rows()
    truths: Truths = {row[:2]: tuple(float(FUNCTIONS[text](row[2], row[3])) for text in texts) for row in rows}
    found = _coverages(copied_session, texts, lambda _: truths, "Laplace", entropy, copies=COPIES)
    assert _short_of_enough(texts, found) == {}


def test_coalesce_holds_the_other_value_where_the_first_may_be_missing_in_truth() -> None:
    nobody = pl.DataFrame({"x": [1.0] * 50, "r": ["a"] * 50})
    with gt.protect(nobody, unit=gt.ROW, name="t", budget=gt.PureDP(1000), domains={"x": (1, 2), "r": ["a", "b"]}) as s:
        answer = s.sql("SELECT r, COALESCE(AVG(x), -7) AS a FROM t GROUP BY r").answer(epsilon=2)
        assert _numbers(answer["a"].low)[0] >= 1
        assert _numbers(answer["a"].low)[1] == -7
        assert _numbers(answer["a"].high)[1] >= 1


def test_a_share_stays_between_zero_and_one_and_its_interval_is_narrower_than_that_of_a_quotient() -> None:
    with gt.protect(TABLE, unit=gt.ROW, name="t", budget=gt.PureDP(1000), domains=DOMAINS) as s:
        answer = s.sql(
            "SELECT m, COUNT(*) / SUM(COUNT(*)) OVER () AS share, COUNT(*) / (SUM(COUNT(*)) OVER () + 0) AS quotient "
            "FROM t GROUP BY m"
        ).answer(epsilon="0.01")
        low, high = _numbers(answer["share"].low), _numbers(answer["share"].high)
        below, above = _numbers(answer["quotient"].low), _numbers(answer["quotient"].high)
        for place, value in enumerate(_numbers(answer["share"].values)):
            assert math.isnan(value) or 0 <= low[place] <= value <= high[place] <= 1
            assert high[place] - low[place] <= above[place] - below[place]


def test_an_aggregate_in_order_by_alone_shares_the_spend_and_is_not_shown() -> None:
    with gt.protect(TABLE, unit=gt.ROW, name="t", budget=gt.PureDP(1000), domains=DOMAINS) as s:
        hidden = s.sql("SELECT r, COUNT(*) AS n FROM t GROUP BY r ORDER BY SUM(x) DESC").answer(epsilon=500)
        shown = s.sql("SELECT r, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY r ORDER BY s DESC").answer(epsilon=500)
        assert [column.name for column in hidden.columns] == ["r", "n"]
        assert list(hidden["r"]) == list(shown["r"])
        assert "asked before" in shown.notes[0]


def test_margins_of_running_sums_grow_by_one_law_and_begin_with_that_of_the_row() -> None:
    days = pl.DataFrame({"d": [row % 40 for row in range(400)]})
    with gt.protect(
        days, unit=gt.ROW, name="t", budget=gt.PureDP(10), domains={"d": {"bounds": (0, 39), "nullable": False}}
    ) as s:
        text = "SELECT d, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY d) AS r FROM t GROUP BY d"
        answer = s.sql(text).answer(epsilon="0.05")
    wide, alone = (np.subtract(_numbers(answer[each].high), _numbers(answer[each].low)) / 2 for each in ("r", "n"))
    assert wide[0] == alone[0]
    ratios = wide / np.sqrt(np.arange(1, 41))
    assert (np.diff(wide) > 0).all()
    assert (np.abs(np.diff(ratios[1:])) < 0.03 * ratios[1:-1]).all()  # from 2.9 to 2.77 scales: no jump
    assert ratios[-1] == pytest.approx(1.96 * math.sqrt(2) / 0.05, rel=0.06)  # nearly normal in the end, and rounded


def test_margins_of_sums_are_those_of_the_exact_law() -> None:
    """Of k Laplace noises P[|Σ| > t] is a mixture of gamma tails, by partial fractions of (1 − s²)^(−k)."""
    scale = 10**4
    for k in (1, 2, 5, 9, 40):
        days = pl.DataFrame({"d": range(k)})
        domains: Any = {"d": {"bounds": (0, k), "nullable": False}}
        with gt.protect(days, unit=gt.ROW, name="t", budget=gt.PureDP(1), domains=domains, engine={"threads": 1}) as s:
            query = s.sql("SELECT d, SUM(COUNT(*)) OVER () AS total FROM t GROUP BY d")
            for miss in (0.05, 1e-3, 1e-7, 1e-9):
                answer = query.answer(epsilon=Fraction(1, scale), confidence=1 - Fraction(miss))
                margin = (_numbers(answer["total"].high)[0] - _numbers(answer["total"].low)[0]) / 2
                beyond = _beyond(k + 1, margin / scale)
                assert beyond <= miss * (1 + 1e-3)
                assert beyond > (0.9 if miss > 1e-4 else 0.2) * miss or miss < 1e-8  # Chernoff's bound, if so rare


def _beyond(k: int, t: float) -> float:
    tail, beyond, term = 0.0, 0.0, math.exp(-t)
    for j in range(1, k + 1):
        tail += term
        term *= t / j
        beyond += 2 * math.comb(2 * k - j - 1, k - 1) / 2 ** (2 * k - j) * tail
    return beyond


def test_windows_are_refused_in_streams_and_what_has_no_interval_is_named() -> None:
    with gt.protect(TABLE, unit=gt.ROW, name="t", budget=gt.PureDP(1000), domains=DOMAINS) as s:
        query = s.sql("SELECT r, COUNT(*) AS n, ROW_NUMBER() OVER (ORDER BY r) AS place FROM t GROUP BY r")
        with pytest.raises(gt.errors.QueryRefused):
            query.stream(epsilon=1)
        assert query.quote(epsilon=1).margins["place"] == "no interval"
        answer = query.answer(epsilon=1)
        assert any("no interval" in note and "`place`" in note for note in answer.notes)
        assert "place_low" not in answer.to_polars().columns
