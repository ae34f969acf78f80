"""Intervals of numbers that were shown because they were large: they hold given that, and are never below one."""

from __future__ import annotations

import numpy as np
from scipy import stats

from cases import all_cases
from giveortake.compile.intervals import truncated_interval
from giveortake.compile.measures import Decided
from giveortake.mechanisms.tails import LaplaceTail, NormalTail, Tail

LAWS = [
    (NormalTail(4.8), 28),
    (NormalTail(0.9), 5),
    (NormalTail(60.0), 310),
    (LaplaceTail(5.0), 87),
    (LaplaceTail(80.0), 900),
]


def chances(tail: Tail, threshold: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers that may be shown, and how likely each is given that one is."""
    continuous = stats.norm(scale=tail.scale) if isinstance(tail, NormalTail) else stats.laplace(scale=tail.scale)
    numbers = np.arange(threshold, max(threshold, n) + int(40 * tail.scale))
    law = continuous.sf(numbers - 0.5 - n) - continuous.sf(numbers + 0.5 - n)
    return numbers, law / continuous.sf(threshold - 0.5 - n)


@all_cases(("tail", "threshold"), LAWS)
@all_cases("miss", [0.05, 0.3])
def test_of_every_true_number_the_interval_holds_as_often_as_it_says(tail: Tail, threshold: int, miss: float) -> None:
    for n in {1, 2, threshold // 2, threshold - 1, threshold, threshold + 1, 2 * threshold}:
        numbers, law = chances(tail, threshold, n)
        low, high = truncated_interval(Decided(numbers, tail, threshold, alone=True), miss)
        assert law[(low <= n) & (n <= high)].sum() >= 1 - miss - 1e-6
        assert low.min() >= 1
        assert (low <= high).all()


@all_cases(("tail", "threshold"), LAWS)
def test_an_interval_that_forgets_the_threshold_does_not_hold(tail: Tail, threshold: int) -> None:
    numbers, law = chances(tail, threshold, 1)
    half = 3 * tail.scale
    assert law[np.abs(numbers - 1) <= half].sum() < 0.05


@all_cases(("tail", "threshold"), LAWS)
def test_far_above_the_threshold_the_interval_is_the_plain_one(tail: Tail, threshold: int) -> None:
    number = np.array([threshold + int(30 * tail.scale)])
    low, high = truncated_interval(Decided(number, tail, threshold, alone=True), 0.05)
    continuous = stats.norm(scale=tail.scale) if isinstance(tail, NormalTail) else stats.laplace(scale=tail.scale)
    half = continuous.isf(0.025)
    assert abs(low[0] - (number[0] - half)) <= 1
    assert abs(high[0] - (number[0] + half)) <= 1


def test_of_no_numbers_there_are_no_intervals() -> None:
    low, high = truncated_interval(Decided(np.zeros(0, dtype=np.int64), NormalTail(3.0), 9, alone=True), 0.05)
    assert low.size == high.size == 0
