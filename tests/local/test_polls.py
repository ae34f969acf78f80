"""The poll of [Lal20] and the program of [Fre18]."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import giveortake as gt
from cases import all_cases
from giveortake.errors import DamagedReports, InvalidParameter
from giveortake.exact import exp_down, exp_up, log_down
from giveortake.local import Poll, truth_of
from recorded_entropy import RecordedEntropy

truths = st.fractions(min_value=Fraction(1, 100), max_value=Fraction(99, 100), max_denominator=100)


def test_fair_coins_and_half_truths_are_logarithm_of_three() -> None:
    poll = Poll(truth="1/2")
    assert poll.ratio == 3
    assert exp_down(poll.epsilon) <= 3 <= exp_up(poll.epsilon)
    assert log_down(Fraction(3)) <= poll.epsilon <= log_down(Fraction(3)) + Fraction(1, 10**50)
    assert poll.guarantee.neighbours == "change-one"


@given(truths)
def test_epsilon_is_the_logarithm_of_one_plus_two_p_over_one_minus_p(p: Fraction) -> None:
    poll = Poll(truth=p)
    assert poll.ratio == 1 + 2 * p / (1 - p)
    assert float(poll.epsilon) == pytest.approx(math.log(1 + 2 * p / (1 - p)), rel=1e-12)


@given(truths)
def test_two_coins_of_the_same_kind_have_the_stated_epsilon(p: Fraction) -> None:
    assert Poll.two_coins(p).ratio == max((2 - p) / (1 - p), (1 - p + p**2) / (1 - p) ** 2)


@given(st.fractions(min_value=Fraction(1, 100), max_value=10, max_denominator=100))
def test_from_epsilon_to_truth_and_back_never_promises_more(epsilon: Fraction) -> None:
    poll = Poll(epsilon=epsilon)
    assert poll.truth == truth_of(epsilon)
    assert epsilon - Fraction(1, 10**8) <= poll.epsilon <= epsilon + Fraction(1, 10**50)


def test_the_estimate_is_equation_10() -> None:
    poll = Poll(truth="1/2")
    estimate = poll.estimate([True] * 60 + [False] * 40)
    assert estimate.value == pytest.approx((0.6 - 0.25) / 0.5)
    assert estimate.low < 0.7 < estimate.high
    assert estimate.to_polars().columns == ["share", "share_low", "share_high"]
    assert estimate.guarantee == poll.guarantee


def test_an_unclipped_estimate_may_leave_the_unit_interval_and_a_clipped_one_may_not() -> None:
    poll = Poll(truth="1/2")
    assert poll.estimate([False] * 100).value == -0.5
    clipped = poll.estimate([False] * 100, clip=True)
    assert (clipped.value, clipped.low) == (0, 0)
    assert clipped.high >= 0


@given(truths, truths)
def test_the_variance_is_equation_14(p: Fraction, mu: Fraction) -> None:
    fourteen = mu / p - mu**2 + (1 - p) / (2 * p**2) - (1 - p) ** 2 / (4 * p**2) - mu * (1 - p) / p
    assert Poll(truth=p).variance(1, mu) == fourteen
    assert Poll(truth=p).variance(50, mu) == fourteen / 50


def test_the_normal_interval_is_equation_15() -> None:
    poll = Poll(truth="1/2")
    estimate = poll.estimate([True] * 600 + [False] * 400, interval="normal")
    half = 1.959963984540054 * math.sqrt(0.6 * 0.4 / 1000) / 0.5
    assert estimate.margin == pytest.approx(half, rel=1e-9)


@pytest.mark.statistical
def test_a_million_answers_are_estimated_within_their_margin() -> None:
    poll = Poll(truth="1/2")
    answers = np.arange(1_000_000) % 10 < 3
    reports = poll.randomize(answers, RecordedEntropy("a million"))
    assert len(reports) == 1_000_000
    estimate = poll.estimate(reports, confidence="0.999999999")
    assert estimate.low <= 0.3 <= estimate.high
    assert estimate.margin < 0.01
    assert np.asarray(reports).dtype == bool


@all_cases("margin", ["0.01", "0.05", "0.2"])
def test_the_sample_size_is_the_least_that_reaches_the_margin(margin: str) -> None:
    poll = Poll(truth="1/2")
    n = poll.sample_size(margin=margin)

    def half(n: int) -> float:
        return float(poll.estimate([True] * (n // 2) + [False] * (n - n // 2)).margin)

    assert half(n) <= float(margin) * 1.01 + 1 / n
    assert half(n - n // 20 - 2) > float(margin)


def test_the_textbook_sample_size_comes_from_equation_15() -> None:
    assert Poll(truth="1/2").sample_size(margin="0.05", interval="normal") == math.ceil(1.959964**2 * 0.25 / 0.025**2)


def test_lal20_needs_more_people_for_more_privacy() -> None:
    sizes = [Poll(epsilon=epsilon).sample_size(margin="0.05") for epsilon in ("0.1", "1", "3")]
    assert sizes[0] > 10 * sizes[1] > 10 * sizes[2]


@all_cases("answers", [["perhaps"], [2], [None], [True, "not"], [0.5], {"a": 1}])
def test_what_is_neither_yes_nor_no_is_refused_and_not_quoted(answers: Any) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        Poll(truth="1/2").randomize(answers)
    assert "perhaps'" not in str(refusal.value)


@all_cases("reports", [[2], ["yes"], [[True]], [0.5], [None]])
def test_reports_that_are_neither_yes_nor_no_are_refused(reports: Any) -> None:
    with pytest.raises(DamagedReports):
        Poll(truth="1/2").estimate(reports)


def test_nothing_is_estimated_from_no_reports() -> None:
    with pytest.raises(InvalidParameter, match="empty"):
        Poll(truth="1/2").estimate([])


@all_cases(
    "make",
    [
        Poll,
        lambda: Poll(truth="1/2", epsilon=1),
        lambda: Poll(truth=0),
        lambda: Poll(truth=1),
        lambda: Poll(truth="0.99999999999999999"),
        lambda: Poll(truth="1/2", otherwise=0),
        lambda: Poll(truth="1/2").estimate([True], interval="exactly"),  # type: ignore[arg-type]
        lambda: Poll(truth="1/2").estimate([True], confidence=1),
    ],
)
def test_parameters_of_a_poll_that_mean_nothing_are_refused(make: Any) -> None:
    with pytest.raises(InvalidParameter):
        make()


def test_the_held_names_are_there() -> None:
    poll = gt.local.Poll(truth="1/2")
    estimate = poll.estimate(poll.randomize([True, False] * 50), confidence=0.95)
    assert estimate.low <= estimate.value <= estimate.high
    assert isinstance(poll.randomize(True), bool)


def test_a_plain_list_is_noted_as_taken_for_reports() -> None:
    poll = gt.local.Poll(truth="1/2")
    survey = gt.local.RandomizedResponse(["a", "b"], epsilon=1)
    for made, listed in ((poll, [True, False]), (survey, ["a", "b"])):
        reports = made.randomize(listed)
        assert "already randomised" in made.estimate(listed).notes[-1]
        for own in (reports, [reports, reports]):
            assert not any("already randomised" in note for note in made.estimate(own).notes)
