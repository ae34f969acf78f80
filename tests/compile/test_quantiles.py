"""Quantiles: their intervals hold as often as they say and not always."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.codec import write
from giveortake.compile import Release, Spend, combined
from giveortake.compile.formulas import Evaluated
from giveortake.compile.measures import PrefixSums
from inside import engine_of, measured
from recorded_entropy import RecordedEntropy
from replay import exact_integers
from tiers import tiered

MEDIAN = "SELECT MEDIAN(x) AS a FROM data"
REDRAWS = tiered(500, 2_000)
ENOUGH = 0.95 - 6 * math.sqrt(0.95 * 0.05 / REDRAWS)
SPENDS = {"tree": Spend(epsilon=Fraction(1)), "square root": Spend(mu=Fraction(1, 2))}


def _skewed(rows: int) -> list[float]:
    """Continuous values between 0 and 500, the median near 33."""
    drawn: list[float] = np.clip(np.random.default_rng(11).lognormal(3.5, 1.0, rows), 0, 500).tolist()
    return drawn


def _asked(
    values: list[float] | pl.Series,
    text: str,
    spend: Spend,
    entropy: RecordedEntropy,
    **more: Any,
) -> Evaluated:
    """Intervals from noise that is drawn again and again on the same integers."""
    table = pl.DataFrame({"x": values, "p": list(range(len(values)))})
    options: dict[str, Any] = {"unit": gt.ROW, "budget": gt.ApproxDP(100, "1e-6"), "domains": {"x": (0, 500)}}
    with gt.protect(table, **{**options, **more}, engine={"threads": 1}) as session:
        made = measured(session, f"SELECT {text} AS a FROM data", spend)
        (exact,) = exact_integers(made, engine_of(session))
    noise = made.noises[0]
    drawn = noise.release(np.repeat(exact.reshape(1, -1), REDRAWS, axis=0).ravel(), entropy).reshape(REDRAWS, -1)
    ((_, formula),) = made.formulas
    return formula.evaluate(combined(made.measures, [Release((drawn,), (noise,))]), 0.05, REDRAWS)


def _truth(values: Sequence[float], quantile: float) -> float:
    return sorted(values)[max(0, math.ceil(quantile * len(values)) - 1)]


@pytest.mark.statistical
@all_cases("name", SPENDS)
@all_cases("quantile", [0.25, 0.5, 0.9])
def test_intervals_over_continuous_values_hold_and_are_missed_now_and_then(
    name: str, quantile: float, entropy: RecordedEntropy
) -> None:
    for rows in (20_000, 2_000):
        values = _skewed(rows)
        truth = _truth(values, quantile)
        found = _asked(values, f"QUANTILE(x, {quantile})", SPENDS[name], entropy)
        held = (found.low <= truth) & (found.high >= truth)
        assert ENOUGH <= held.mean() < (0.999 if rows == 2_000 else 2)


@pytest.mark.statistical
@all_cases("name", SPENDS)
@all_cases("values", [[7] * 400, [0] * 200 + [500] * 201, [], [250]], ids=["one", "two", "none", "single"])
def test_intervals_over_few_values_hold(name: str, values: list[int], entropy: RecordedEntropy) -> None:
    found = _asked(pl.Series(values, dtype=pl.Int64), "MEDIAN(x)", SPENDS[name], entropy)
    truth = _truth(values, 0.5) if values else 250.0
    assert ((found.low <= truth) & (found.high >= truth)).mean() >= ENOUGH
    assert found.values.dtype == np.int64
    assert ((found.low <= found.values) & (found.values <= found.high)).all()


@all_cases("name", SPENDS)
def test_least_and_greatest_are_within_bounds_and_intervals_hold_them(name: str, entropy: RecordedEntropy) -> None:
    values = _skewed(3_000)
    for text, truth in (("MIN(x)", min(values)), ("MAX(x)", max(values))):
        found = _asked(values, text, SPENDS[name], entropy)
        assert ((found.low <= truth) & (truth <= found.high)).mean() >= ENOUGH
        assert ((found.low >= 0) & (found.high <= 500)).all()


@all_cases("neighbours", ["add-remove", "change-one"])
@all_cases("name", SPENDS)
def test_the_price_is_that_of_the_longest_column_times_what_a_person_may_have(name: str, neighbours: Any) -> None:
    table = pl.DataFrame({"x": [1.5], "p": [1], "k": ["a"]})
    caps: Any = {"groups_per_person": 4, "rows_per_group": 3}
    domains: Any = {"x": (0, 10), "k": list("abcdef")}
    with gt.protect(
        table,
        unit="p",
        budget=gt.ApproxDP(9, "1e-6", neighbours=neighbours),
        domains=domains,
        caps=caps,
        engine={"threads": 1},
    ) as session:
        (measure,) = measured(session, "SELECT k, MEDIAN(x) AS a FROM data GROUP BY k", SPENDS[name]).measures
    assert isinstance(measure, PrefixSums)
    in_l1, in_l2 = (2, math.sqrt(2)) if neighbours == "change-one" else (1, 1)
    assert measure.l1 == in_l1 * 4 * 3 * 1024 * measure.strategy.l1
    assert math.isclose(measure.l2, in_l2 * math.sqrt(4) * 3 * 1024 * measure.strategy.l2, rel_tol=1e-9)
    assert measure.l2 >= Fraction(in_l2) * 2 * 3 * 1024 * measure.strategy.l2 * (1 - Fraction(1, 10**15))


def test_each_strategy_has_a_name_of_its_own() -> None:
    with gt.protect(
        pl.DataFrame({"x": [1.5]}), unit=gt.ROW, budget=gt.ApproxDP(9, "1e-6"), domains={"x": (0, 10)}
    ) as session:
        made = [measured(session, MEDIAN, spend) for spend in SPENDS.values()]
    assert made[0].digest() != made[1].digest()
    tree, root = (write(measurement.measures[0])["strategy"] for measurement in made)
    assert tree == {"kind": "tree", "branches": [10, 10, 10], "size": 1000}
    assert root == {"kind": "square root", "size": 1024}


def test_whole_numbers_are_never_split_between_bins() -> None:
    domains: Any = {"x": (-3, 5000)}
    with gt.protect(
        pl.DataFrame({"x": [1, 2]}), unit=gt.ROW, budget=gt.ApproxDP(9, "1e-6"), domains=domains
    ) as session:
        sizes = []
        for spend in SPENDS.values():
            (measure,) = measured(session, MEDIAN, spend).measures
            assert isinstance(measure, PrefixSums)
            assert measure.whole
            assert measure.width == (6 if spend.is_pure else 5)
            sizes.append(measure.strategy.size)
        answer = session.sql(MEDIAN).answer(epsilon=1)
    assert sizes == [834, 1001]
    shown = answer.to_polars()
    assert {each.is_integer() for each in shown.dtypes} == {True}
    assert -3 <= shown["a_low"][0] <= shown["a"][0] <= shown["a_high"][0] <= 5000
