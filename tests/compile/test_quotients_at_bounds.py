"""Means and shares where the noise takes them out of their bounds, and quotients that may divide by zero."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.compile import Release, Spend, combined
from giveortake.compile.formulas import Evaluated, Ratio
from giveortake.configuration import protection_arguments
from inside import engine_of, measured
from recorded_entropy import RecordedEntropy
from replay import exact_integers
from tiers import tiered

REDRAWS = tiered(2_000, 10_000)
ENOUGH = 0.95 - 6 * math.sqrt(0.95 * 0.05 / REDRAWS)
SPENDS = {"Laplace": Spend(epsilon=Fraction(1, 10)), "Gaussian": Spend(rho=Fraction(1, 200))}
RARE = [1.0] * 2 + [0.0] * 98  # a share of 0.02 of a hundred rows, far below the noise
QUESTIONS = {
    "mean": "AVG(x)",
    "share": "COUNT_IF(x > 0) / COUNT(*)",
    "percent": "100 * COUNT_IF(x > 0) / COUNT(*)",
    "complement": "1 - COUNT_IF(x > 0) / COUNT(*)",
    "mean of a feature": "AVG(CASE WHEN x > 0 THEN 1 ELSE 0 END)",
}
TRUTHS = {"mean": 0.02, "share": 0.02, "percent": 2.0, "complement": 0.98, "mean of a feature": 0.02}


def _intervals(text: str, spend: Spend, entropy: RecordedEntropy) -> Evaluated:
    table = pl.DataFrame({"x": RARE})
    with gt.protect(
        table, unit=gt.ROW, budget=gt.ApproxDP(9, "1e-6"), domains={"x": (0, 1)}, engine={"threads": 1}
    ) as session:
        made = measured(session, f"SELECT {text} AS a FROM data", spend)
        exact = exact_integers(made, engine_of(session))
    arrays = [noise.release(np.repeat(each, REDRAWS), entropy) for each, noise in zip(exact, made.noises, strict=True)]
    ((_, formula),) = made.formulas
    return formula.evaluate(combined(made.measures, [Release(tuple(arrays), made.noises)]), 0.05, REDRAWS)


@pytest.mark.statistical
@all_cases("noise", SPENDS)
@all_cases("name", QUESTIONS)
def test_intervals_hold_where_the_noise_takes_a_quotient_out_of_its_bounds(
    name: str, noise: str, entropy: RecordedEntropy
) -> None:
    found = _intervals(QUESTIONS[name], SPENDS[noise], entropy)
    least, greatest = (0.0, 100.0) if name == "percent" else (0.0, 1.0)
    assert ((found.values >= least) & (found.values <= greatest)).all()
    assert ((found.low >= least) & (found.high <= greatest)).all()
    at_a_bound = (found.values == least) | (found.values == greatest)
    assert at_a_bound.mean() > 0.2
    assert ((found.high - found.low)[at_a_bound] > 0.005 * greatest).all()
    held = (found.low <= TRUTHS[name]) & (found.high >= TRUTHS[name])
    assert held.mean() >= ENOUGH
    assert held[at_a_bound].mean() >= 0.93
    assert not held.all()


def test_no_interval_is_cut_off_at_a_bound(entropy: RecordedEntropy) -> None:
    assert (_intervals("AVG(x)", SPENDS["Laplace"], entropy).high > 1e-3).all()


@all_cases("text", ["COUNT_IF(x > 0) / COUNT_IF(x > 2)", "SUM(x) / COUNT_IF(x > 2)"])
def test_a_quotient_whose_denominator_may_be_zero_is_unbounded_and_says_so(text: str) -> None:
    table = pl.DataFrame({"x": RARE})
    options: Any = {"unit": gt.ROW, "budget": gt.PureDP(9), "domains": {"x": (0, 1)}, "threads": 1}
    with gt.protect(table, **protection_arguments(options)) as session:
        answer = session.sql(f"SELECT {text} AS a FROM data").answer(
            epsilon="0.1", confidence="0.999999"
        )  # so sure that noise does not decide
    shown = answer.to_polars()
    assert (shown["a_low"][0], shown["a_high"][0]) == (-math.inf, math.inf)
    assert "unbounded" in str(answer)


def test_of_a_mean_whose_interval_is_its_whole_range_the_answer_says_that_nothing_is_known() -> None:
    table = pl.DataFrame({"g": ["many"] * 5_000, "x": [30.0] * 5_000})
    domains: Any = {"g": ["many", "none"], "x": (0, 100)}
    said, at_bounds = [], 0
    with gt.protect(table, unit=gt.ROW, budget=gt.PureDP(99), domains=domains, engine={"threads": 1}) as session:
        for turn in range(20):
            answer = session.sql(f"SELECT g, AVG(x) AS m FROM data WHERE x > {turn} GROUP BY g").answer(epsilon=1)
            column: Any = answer["m"]
            is_wide = column.high[1] - column.low[1] >= 95
            at_bounds += is_wide and column[1] in {0, 100}
            notes = [note for note in answer.notes if "`m`" in note]
            assert len(notes) == is_wide
            assert all("1 of 2" in note and "0 to 100" in note for note in notes)
            said += notes
    assert len(said) > 10  # 19 in twenty, of a group without rows
    assert at_bounds == 0


def test_counts_over_other_things_than_all_rows_have_no_bounds() -> None:
    table = pl.DataFrame({"x": [0.5, None], "y": [1.0, 2.0]})
    options: Any = {"unit": gt.ROW, "budget": gt.PureDP(9), "domains": {"x": (0, 1), "y": (0, 2)}, "threads": 1}
    bounded = {"COUNT(x) / COUNT(*)": (0, 1), "COUNT(*) * -2 / COUNT(*)": (-2, 0)}
    free = ["COUNT_IF(y > 1) / COUNT(x)", "(COUNT(x) + 1) / COUNT(*)", "SUM(y) / COUNT(*)", "COUNT(*) / COUNT(x)"]
    with gt.protect(table, **protection_arguments(options)) as session:
        for text in [*bounded, *free]:
            made = measured(session, f"SELECT {text} AS a FROM data", SPENDS["Laplace"])
            ((_, formula),) = made.formulas
            assert isinstance(formula, Ratio)
            assert (formula.low, formula.high) == bounded.get(text, (None, None)), text
