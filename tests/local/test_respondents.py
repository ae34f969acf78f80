"""People who are asked again and again, which survey to hold, and shares that make sense together."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from surveys import COLOURS

from cases import all_cases
from giveortake.errors import BudgetExceeded, DamagedReports, InvalidParameter
from giveortake.local import HeavyHitters, Mean, Poll, RandomizedResponse, Rappor, Respondent, plan
from giveortake.local.frequencies import made_consistent, on_simplex

shares = arrays(np.float64, st.integers(2, 12), elements=st.floats(-1, 1.5))


def test_without_memory_every_report_is_paid_for() -> None:
    person = Respondent(Poll(truth="1/2"), memoise=False)
    assert person.guarantee is None
    reports = [person.report(True) for _ in range(80)]
    assert set(reports) == {True, False}  # but for one run in 10¹⁰
    assert person.guarantee == Poll(truth="1/2").asked(80)


def test_with_memory_distinct_values_are_paid_for() -> None:
    survey = RandomizedResponse(COLOURS, 1)
    person = Respondent(survey)
    for _ in range(20):
        person.report("red")
        person.report("blue")
    assert person.paid == 2
    assert person.guarantee_for_equal_patterns is not None
    assert person.guarantee_for_equal_patterns.epsilon == 2
    assert len({person.report("red") for _ in range(50)}) == 1


def test_rappor_repeats_with_fresh_noise_from_one_permanent_response() -> None:
    survey = Rappor(2, bits=32, hashes=2, cohorts=4)
    person = Respondent(survey)
    reports = [person.report("red") for _ in range(400)]
    assert len(set(reports)) > 300
    assert len({report[:4] for report in reports}) == 1  # one cohort for life
    assert person.paid == 1
    bits = np.unpackbits(
        np.array([list(bytes.fromhex(report)[2:]) for report in reports], dtype=np.uint8), axis=1, bitorder="little"
    )
    means = bits.mean(axis=0)
    assert ((abs(means - 0.25) < 0.15) | (abs(means - 0.75) < 0.15)).all()  # a permanent bit is either unset or set


def test_a_budget_refuses_before_anything_is_drawn_without_memory() -> None:
    person = Respondent(RandomizedResponse(COLOURS, 1), memoise=False, budget=2)
    person.report("red")
    person.report("blue")
    with pytest.raises(BudgetExceeded, match="ε = 3 of 2") as refusal:
        person.report("green")
    assert refusal.value.remaining == 0
    assert "green" not in str(refusal.value)
    assert person.paid == 2


def test_the_memory_is_kept_on_disk_and_read_again() -> None:
    for survey in (RandomizedResponse(COLOURS, 1), Rappor(2)):
        person = Respondent(survey, budget=10)
        before = person.report("red")
        again = Respondent.from_json(person.to_json())
        assert again.to_json() == person.to_json()
        assert again.paid == 1
        assert again.report("red")[:4] == before[:4]
        assert again.paid == 1
    for text in ("", "{}", '{"survey": {}}'):
        with pytest.raises(DamagedReports):
            Respondent.from_json(text)


def test_an_answer_that_the_survey_refuses_costs_nothing() -> None:
    person = Respondent(RandomizedResponse(COLOURS, 1))
    with pytest.raises(InvalidParameter):
        person.report("purple")
    assert person.paid == 0


def test_every_spelling_of_yes_is_one_answer() -> None:
    person = Respondent(Poll(truth="1/2"))
    assert len({person.report(answer) for answer in (True, "yes", "Yes", 1, "1", "true")}) == 1
    assert person.paid == 1
    person.report("no")
    assert person.paid == 2


def test_a_respondent_is_shown_without_answers() -> None:
    person = Respondent(RandomizedResponse(COLOURS, 1), budget=3)
    person.report("red")
    assert "ε = 1 of 3 spent" in repr(person)
    assert "red" not in repr(person)


# -- planning -----------------------------------------------------------------------------------------------------


@all_cases(
    ("size", "epsilon", "kind"),
    [
        (2, 1, "randomized-response"),
        (4, 3, "randomized-response"),
        (1000, 1, "local-hashing"),
        (1000, 8, "randomized-response"),
    ],
)
def test_the_plan_has_the_least_variance_and_says_why(size: int, epsilon: int, kind: str) -> None:
    found = plan(range(size), epsilon, 1000)
    assert found.survey.kind == kind
    assert found.options["times_least_variance"][0] == 1
    least = found.survey.variance(1000, Fraction(1, size))
    assert all(
        float(least) <= float(times) * 1.01 * float(least)  # type: ignore[arg-type]
        for times in found.options["times_least_variance"]
    )
    assert f"{size} categories" in str(found)
    assert "1,000 respondents" in found.why


def test_a_frequent_category_may_call_for_another_survey() -> None:
    assert plan(range(30), "0.5", 1000, frequency="1/2").options["survey"][0] is not None


# -- consistency --------------------------------------------------------------------------------------------------


@given(shares)
def test_norm_sub_is_the_nearest_point_of_the_simplex(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    found = on_simplex(values)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1)
    # nearest: the move has no gain in any direction that stays inside
    gradient = values - found
    assert (gradient @ (np.eye(values.size) - found).T <= 1e-9).all()


@given(shares)
def test_clipping_and_base_cut_keep_shares_within_zero_and_one(
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> None:
    for how in ("clip", "base-cut", "norm-mul"):
        found = made_consistent(values, how, 0.1, "0.95")
        assert ((found >= 0) & (found <= 1)).all()
    assert made_consistent(values, "norm-mul", 0.1, "0.95").sum() == pytest.approx(1)
    cut = made_consistent(values, "base-cut", 0.1, "0.95")
    assert ((cut == 0) | (values > 0.15)).all()


def test_consistent_shares_lie_in_their_intervals_and_cost_nothing() -> None:
    survey = RandomizedResponse(COLOURS, 1)
    reports = survey.randomize(["red"] * 300 + ["blue"] * 100)
    for how in ("clip", "norm-mul", "norm-sub", "base-cut"):
        answer = survey.estimate(reports, consistent=how)
        assert answer.cost == survey.epsilon
        for value, low, high in answer["share"].triples():
            assert 0 <= low <= value <= high <= 1  # type: ignore[operator]
    assert sum(survey.estimate(reports, consistent="norm-sub")["share"]) == pytest.approx(1)  # type: ignore[arg-type]


def test_an_estimate_can_be_drawn() -> None:
    survey = RandomizedResponse(COLOURS, 1)
    chart = survey.estimate(survey.randomize(["red"] * 10)).plot().to_dict()
    assert [row["key"] for row in chart["data"]["values"]] == list(COLOURS)


SURVEYS: list[tuple[Any, Any, list[str]]] = [
    (RandomizedResponse(COLOURS, 1), "red", ["99", "-1", "00", "0.0", "true", '"red"', "null", "[]", "{}", "red", ""]),
    (Poll(truth="1/2"), True, ["2", '"yes"', "true", " 1"]),
    (Mean((0, 10), 1), 3, ["-1", str(2**40 + 1), "0.5", '"3"', "9" * 5000]),
    (HeavyHitters(2, length=3), "abcde", ['"ABC"', '"abcd"', '"a?"', "5", '"ab\\u0001"']),
    (Rappor(2), "red", ["5", "null", '"\\ud800"', '"r\\u0065d"']),
]


@all_cases(("survey", "answer", "foreign"), SURVEYS)
def test_a_memory_is_kept_under_codes_of_answers_and_nothing_else(survey: Any, answer: Any, foreign: list[str]) -> None:
    person = Respondent(survey)
    person.report(answer)
    written = json.loads(person.to_json())
    assert Respondent.from_json(json.dumps(written)).paid == 1
    ((_, report),) = written["memory"].items()
    for key in foreign:
        with pytest.raises(DamagedReports):
            Respondent.from_json(json.dumps({**written, "memory": {key: report}}))


def test_fields_that_no_respondent_writes_are_refused() -> None:
    written = json.loads(Respondent(RandomizedResponse(COLOURS, 1)).to_json())
    for changed in ({**written, "spent": 0}, {name: written[name] for name in written if name != "cohort"}):
        with pytest.raises(DamagedReports):
            Respondent.from_json(json.dumps(changed))
