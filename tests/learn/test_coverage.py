"""Intervals of coefficients, over many redraws of rows and noise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import giveortake as gt
from bench_learning_coverage import DOMAINS, MOST, TRUTH, distance, linear_plan, redraws, rows
from giveortake.compile import Spend
from giveortake.learn.linear import Evidence
from giveortake.session.kinds.learning_data import LearningData
from giveortake.session.session import mechanism_of
from learning_redraws import integers
from replay import Revealing
from statistics_of_draws import ALPHA


def test_what_is_redrawn_are_the_integers_of_an_engine() -> None:
    drawn = rows(200, np.random.default_rng(3))
    with gt.protect(pl.DataFrame(drawn), unit=gt.ROW, budget=gt.ZCDP(1), domains=DOMAINS, name="t") as s:
        learner = gt.learn.LinearRegression("y", mu=1, intervals=True, reach=1)
        for asked in learner._plan(LearningData.of(s), Spend(mu=Fraction(1))).known():
            found = Revealing().release(mechanism_of(s).engine.vectors(asked))
            assert integers(asked, drawn).tolist() == [int(each) for each in found]


@cache
def released() -> list[Evidence]:
    return redraws(2_000, "1", 300, seed=1)[1]


@pytest.mark.statistical
@pytest.mark.parametrize(("claim", "plausible"), [(1.0, True), (0.7, False), (1.3, False)])
def test_intervals_of_coefficients_hold_as_often_as_they_say(claim: float, plausible: bool) -> None:
    """Distances of the truth follow χ²₁, and few are too far; with noise and errors 30 % off they do not."""
    told = [replace(each, noise=each.noise * claim, meat=each.meat * claim**2) for each in released()]
    found = np.array([distance(each, 1, TRUTH[0]) for each in told])
    law = stats.chi2(len(found))
    chance = min(law.cdf(found.sum()), law.sf(found.sum()))
    missed = stats.binomtest(int((found > MOST).sum()), len(found), 0.05).pvalue
    assert (min(chance, missed) >= ALPHA) == plausible


def test_an_interval_ends_where_the_distance_says_so() -> None:
    evidence = redraws(2_000, "1", 1, seed=3)[1][0]
    for place, (middle, low, high) in enumerate(evidence.intervals(0.95)):
        assert low < middle < high
        assert distance(evidence, place, middle) == pytest.approx(0, abs=1e-6)
        for end in (low, high):
            assert distance(evidence, place, end) == pytest.approx(MOST, rel=1e-3)


def test_the_distance_is_the_least_that_another_method_finds() -> None:
    """Brute force: many starts of a general minimiser, over all coefficients but one."""
    from scipy.optimize import minimize  # noqa: PLC0415 (heavy)

    evidence = redraws(2_000, "1", 1, seed=4)[1][0]
    half = evidence.noise**2 / 2

    def far(free: Any, value: float) -> float:
        beta = np.insert(free, 1, value)
        spread = evidence.meat + half * ((1 + beta @ beta) * np.eye(len(beta)) + np.outer(beta, beta))
        left = evidence.products - evidence.gram @ beta
        return float(left @ np.linalg.solve(spread, left))

    random = np.random.default_rng(2)
    middle = float(evidence.estimate()[1])
    for value in (middle - 0.3, middle + 0.5):
        starts = [np.delete(evidence.estimate(), 1) + random.normal(size=3) for _ in range(5)]
        best = min(minimize(far, start, args=(value,), method="BFGS").fun for start in starts)
        scale = evidence.transform[1, 1]
        assert distance(evidence, 1, value * scale + float(evidence.shift[1])) == pytest.approx(best, rel=1e-4)


def test_a_fit_is_planned_without_a_charge() -> None:
    assert list(linear_plan("1").shares) == ["standardisation", "products", "errors"]
