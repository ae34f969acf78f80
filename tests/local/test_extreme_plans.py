"""Sizes of surveys for margins of any size: a number, or a refusal that names the margin, and soon."""

from __future__ import annotations

from typing import Any

import pytest

from cases import all_cases
from giveortake.errors import DamagedReports, InvalidParameter
from giveortake.local import HeavyHitters, Mean, Poll, RandomizedResponse, Rappor, from_json, plan

SURVEYS: list[Any] = [
    Poll(truth="1/2"),
    RandomizedResponse(["a", "b", "c"], 1),
    Mean((0, 1), 1),
    Mean((0, 1), 4),
    Rappor(1),
    HeavyHitters(1),
]


@all_cases("survey", SURVEYS)
def test_a_margin_for_which_there_are_not_enough_people_is_refused_by_name(survey: Any) -> None:
    for margin in ("1e-300", "1e-100", "1e-20", "1e-12"):
        with pytest.raises(InvalidParameter, match="10¹⁵ respondents") as refused:
            survey.sample_size(margin=margin)
        assert refused.value.name == "margin"


@all_cases("survey", SURVEYS)
def test_every_wide_margin_is_reached_by_somebody(survey: Any) -> None:
    for margin in (1, 10**9, "1e300"):
        assert 1 <= survey.sample_size(margin=margin) < 10**6


def test_a_poll_that_hardly_ever_tells_the_truth_cannot_be_planned() -> None:
    for truth in ("1e-20", "1e-300"):
        with pytest.raises(InvalidParameter, match="respondents"):
            Poll(truth).sample_size(margin="0.1")
        with pytest.raises(InvalidParameter, match="respondents"):
            Poll(truth).sample_size(margin="0.1", interval="normal")


def test_a_plan_reads_the_number_of_respondents_as_any_number_is_read() -> None:
    written: Any = "1e3"
    assert "1,000 respondents" in plan(["a", "b"], 1, written).why
    assert plan(["a", "b"], 1, 10**300).survey.epsilon == 1
    numbers: list[Any] = ["1e301", 0, "1/2", 10**100_000]
    for bad in numbers:
        with pytest.raises(InvalidParameter) as refused:
            plan(["a", "b"], 1, bad)
        assert refused.value.name == "n"


def test_numbers_in_the_json_of_a_survey_have_a_greatest_length() -> None:
    long = Poll(truth="1/2").to_json().replace("1/2", "1" * 100_000 + "/" + "3" * 100_000)
    with pytest.raises(DamagedReports):
        from_json(long)
