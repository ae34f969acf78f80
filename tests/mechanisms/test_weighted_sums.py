"""Weighted sums of rounded Laplace noises: the bound of their tails holds, is not wasteful, and a smaller one fails."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from cases import all_cases
from giveortake.mechanisms.additive import reach
from statistics_of_draws import ALPHA

WEIGHTS = {
    "one": np.array([3.0]),
    "equal": np.ones(12),
    "growing": 1.25 ** np.arange(20.0),
    "of both signs": np.array([1.0, -4.0, 2.0, -0.5, 8.0]),
    "few of many": np.array([0.0] * 30 + [5.0, 6.0]),
}
DRAWS = 100_000


def rounded(scale: float, shape: tuple[int, int]) -> np.ndarray:
    dice = np.random.default_rng(20261116)
    return np.round(dice.laplace(0, scale, shape))


@pytest.mark.statistical
@all_cases("scale", [1e-5, 0.2, 1.0, 30.0])
@all_cases("name", WEIGHTS)
def test_a_sum_strays_further_no_more_often_than_stated(name: str, scale: float) -> None:
    weights, miss = WEIGHTS[name], 0.01
    sums = rounded(scale, (DRAWS, len(weights))) @ weights
    (bound,) = reach(weights, scale, miss)
    beyond = int((sums > bound).sum())
    assert stats.binomtest(beyond, DRAWS, miss, alternative="greater").pvalue > ALPHA
    half = int((sums > bound / 2).sum())  # and half of it would be told from the truth
    assert stats.binomtest(half, DRAWS, miss, alternative="greater").pvalue < ALPHA or scale < 1


def test_one_noise_is_bounded_by_little_more_than_its_own_tail() -> None:
    scale, miss = 10.0, 1e-4
    exact = scale * math.log(1 / (2 * miss))  # P[Z > t] = e^(−t/b) / 2
    (bound,) = reach(np.array([1.0]), scale, miss)
    assert exact < bound < 1.5 * exact


def test_nothing_strays_where_nothing_weighs() -> None:
    assert reach(np.zeros((2, 5)), 1.0, 0.05).tolist() == [0.0, 0.0]


def test_signs_do_not_matter_and_multiples_are_multiples() -> None:
    weights = np.array([1.0, 2.0, 5.0])
    rows = np.array([weights, -weights, 3 * weights])
    plain, turned, thrice = reach(rows, 2.0, 0.01)
    assert plain == turned
    assert math.isclose(thrice, 3 * plain)
