"""Intervals for a probability, against exact sums of the binomial law."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from cases import all_cases
from giveortake.local.survey import binomial_interval, normal_interval, quantile


@all_cases("confidence", ["0.8", "0.95", "0.999"])
@all_cases("n", [1, 2, 3, 7, 20, 60])
def test_the_guaranteed_interval_covers_every_probability_for_every_number_of_trials(n: int, confidence: str) -> None:
    low, high = binomial_interval(np.arange(n + 1), n, confidence)
    for step in range(1, 200):
        theta = Fraction(step, 200)
        covered = sum(
            math.comb(n, k) * theta**k * (1 - theta) ** (n - k) for k in range(n + 1) if low[k] <= theta <= high[k]
        )
        assert covered >= Fraction(confidence)


@all_cases("n", [1, 5, 50, 1000, 100_000])
def test_the_guaranteed_interval_is_at_most_one_success_wider_than_clopper_and_pearsons(n: int) -> None:
    counts = np.unique(np.linspace(0, n, 30).astype(int))
    low, high = binomial_interval(counts, n, "0.95")
    with np.errstate(invalid="ignore"):
        lowest = np.nan_to_num(stats.beta.ppf(0.025, counts, n - counts + 1))
        highest = np.where(counts == n, 1.0, stats.beta.ppf(0.975, counts + 1, n - counts))
        next_low = np.nan_to_num(stats.beta.ppf(0.025, counts - 1, n - counts + 2))
        next_high = np.where(counts >= n - 1, 1.0, stats.beta.ppf(0.975, counts + 2, n - counts - 1))
    assert (low <= lowest + 1e-9).all()
    assert (high >= highest - 1e-9).all()
    assert (low >= next_low - 1e-9).all()
    assert (high <= next_high + 1e-9).all()


def test_the_normal_interval_meets_the_guaranteed_one_in_the_limit() -> None:
    n = 10**8
    exact, limit = binomial_interval([n // 3], n, "0.95"), normal_interval([n // 3], n, "0.95")
    assert exact[0][0] == pytest.approx(limit[0][0], abs=1e-7)
    assert exact[1][0] == pytest.approx(limit[1][0], abs=1e-7)


def test_the_quantile_is_rounded_up() -> None:
    assert 0 <= quantile("0.95") - 1.959963984540054 < 1e-12
