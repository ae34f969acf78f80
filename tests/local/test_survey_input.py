"""What surveys refuse, and what travels between machines."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from surveys import COLOURS, NAMES, small

from cases import all_cases
from giveortake.errors import DamagedReports, ForeignReports, InvalidParameter
from giveortake.local import (
    CountMeanSketch,
    HadamardResponse,
    HeavyHitters,
    LocalHashing,
    Mean,
    Oracle,
    Poll,
    RandomizedResponse,
    Rappor,
    UnaryEncoding,
    from_json,
)
from giveortake.local import categories as hashing

BY_CATEGORY = [RandomizedResponse, UnaryEncoding, LocalHashing, HadamardResponse]
EXTRA: dict[str, Any] = {
    "rappor": {"candidates": ["a", "b"]},
    "count-mean sketch": {"candidates": ["a", "b"]},
}


@all_cases("name", NAMES)
def test_parameters_and_reports_travel_as_json(name: str) -> None:
    survey, answers, _ = small(1)[name]
    client = from_json(survey.to_json())
    assert client == survey
    assert hash(client) == hash(survey)
    reports = client.randomize(list(answers) * 200)
    server = from_json(survey.to_json())
    received = server.read(reports.to_json())
    assert received == reports
    options = EXTRA.get(name, {})
    assert server.estimate(received, **options) == survey.estimate(reports, **options)


@all_cases("name", NAMES)
def test_reports_of_other_parameters_are_refused(name: str) -> None:
    survey, answers, _ = small(1)[name]
    other = small("1.1")[name].survey
    reports = other.randomize(list(answers))
    with pytest.raises(ForeignReports):
        survey.estimate(reports, **EXTRA.get(name, {}))
    with pytest.raises(ForeignReports):
        survey.read(reports.to_json())


@all_cases("name", NAMES)
@all_cases("tampered", [10**12, -1, "zz", None, 0.5, [1], "ff" * 100, ""])
def test_reports_that_no_randomiser_makes_are_refused(name: str, tampered: Any) -> None:
    survey, answers, _ = small(1)[name]
    document = json.loads(survey.randomize(list(answers)).to_json())
    document["reports"][0] = tampered
    with pytest.raises(DamagedReports):
        survey.read(json.dumps(document))


def test_bits_beyond_the_last_category_are_refused() -> None:
    survey = UnaryEncoding(COLOURS, 1)
    with pytest.raises(DamagedReports, match="bit"):
        survey.estimate(["1f"])


@all_cases("text", ["", "[]", "{}", '{"survey": 1, "reports": []}', '{"survey": "x", "reports": 3}'])
def test_text_that_holds_no_reports_is_refused(text: str) -> None:
    with pytest.raises(DamagedReports):
        Poll(truth="1/2").read(text)


@all_cases(
    "text",
    [
        "",
        "[]",
        "3",
        "{}",
        '{"kind": "poll"}',
        '{"kind": "poll", "version": 1}',
        '{"kind": "poll", "version": 2, "truth": "1/2", "otherwise": "1/2"}',
        '{"kind": "horoscope", "version": 1}',
        '{"kind": "mean", "version": 1, "bounds": 3, "epsilon": "1", "method": "piecewise"}',
    ],
)
def test_text_that_describes_no_survey_is_refused(text: str) -> None:
    with pytest.raises(DamagedReports):
        from_json(text)


@all_cases("kind", BY_CATEGORY)
@all_cases("categories", [[], ["only"], ["a", "a"], "ab", [1.5, 2.5], [None, "a"], 5])
def test_domains_that_make_no_survey_are_refused(kind: Any, categories: Any) -> None:
    with pytest.raises(InvalidParameter):
        kind(categories, 1)


@all_cases("kind", BY_CATEGORY)
def test_an_answer_outside_the_categories_is_refused_and_not_quoted(kind: Any) -> None:
    for answers in (["red", "secret"], "secret", [None], np.array(["secret"])):
        with pytest.raises(InvalidParameter) as refusal:
            kind(COLOURS, 1).randomize(answers)
        assert "secret" not in str(refusal.value)
    with pytest.raises(InvalidParameter):
        kind(range(4), 1).randomize(np.array([0, 4]))
    with pytest.raises(InvalidParameter):
        kind(range(4), 1).randomize(np.zeros((2, 2), dtype=np.int64))


@all_cases(
    "make",
    [
        lambda: LocalHashing(COLOURS, 1, buckets=1),
        lambda: LocalHashing(COLOURS, 1, buckets=2**21),
        lambda: Mean((1, 1), 1),
        lambda: Mean((2, 1), 1),
        lambda: Mean((0, 1, 2), 1),  # type: ignore[arg-type]
        lambda: Mean(3, 1),  # type: ignore[arg-type]
        lambda: Mean((0, 1), 1, method="magic"),  # type: ignore[arg-type]
        lambda: Mean((0, 1), 1).randomize(["high"]),
        lambda: Mean((0, 1), 1).randomize([float("nan")]),
        lambda: Mean((0, 1), 1).randomize([None]),
        lambda: Rappor(1, bits=1),
        lambda: Rappor(1, bits=4, hashes=5),
        lambda: Rappor(1, cohorts=2**17),
        lambda: Rappor(1, instantaneous=("1/2", "1/2")),
        lambda: Rappor(1).randomize([1]),
        lambda: Rappor(1).estimate(["00" * 10]),
        lambda: Rappor(1, bits=2, cohorts=1).estimate(["000003"], candidates=list("abc")),
        lambda: CountMeanSketch(1, functions=2**17),
        lambda: CountMeanSketch(1, buckets=1),
        lambda: CountMeanSketch(1).estimate(["00" * 130]),
        lambda: HeavyHitters(1, alphabet="aa"),
        lambda: HeavyHitters(1, alphabet="a"),
        lambda: HeavyHitters(1, length=0),
        lambda: RandomizedResponse(COLOURS, 1).estimate(["red"], consistent="wish"),  # type: ignore[arg-type]
        lambda: RandomizedResponse(COLOURS, 1).sample_size(margin=0),
        lambda: RandomizedResponse(COLOURS, 1).variance(0, 0),
        lambda: RandomizedResponse(COLOURS, 1).variance(1, 2),
    ],
)
def test_parameters_that_mean_nothing_are_refused(make: Any) -> None:
    with pytest.raises(InvalidParameter):
        make()


@all_cases("name", NAMES)
def test_no_answers_make_no_reports(name: str) -> None:
    survey, _, _ = small(1)[name]
    reports = survey.randomize([])
    assert len(reports) == 0
    assert len(survey.read(reports.to_json())) == 0
    with pytest.raises(InvalidParameter, match="empty"):
        survey.estimate(reports, **EXTRA.get(name, {}))


def test_reports_are_64_bits_or_the_domain_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = LocalHashing(range(1000), 11)
    assert survey.prime**2 * survey.buckets < 2**63
    monkeypatch.setattr(hashing, "_MOST_REPORTS", survey.prime**2 * survey.buckets)
    with pytest.raises(InvalidParameter, match="64 bits"):
        LocalHashing(range(1000), 11)


def test_columns_of_numbers_are_taken_as_they_are() -> None:
    poll, mean = Poll(truth="1/2"), Mean((0, 4), 1)
    assert len(poll.randomize(np.array([0, 1, 1]))) == 3
    assert len(mean.randomize(np.array([0, 1, 7]))) == 3
    with pytest.raises(InvalidParameter):
        poll.randomize(np.array([0, 2]))
    with pytest.raises(InvalidParameter):
        mean.randomize(np.array([[1.0]]))


def test_numbers_beyond_the_bounds_count_as_the_bound() -> None:
    survey = Mean((0, 10), 1)
    assert survey.law(11) == survey.law(10)
    assert survey.law(float("-inf")) == survey.law(0)


def test_categories_may_be_texts_numbers_or_truth_values_and_keep_their_type() -> None:
    for categories in (["a", "b"], [3, 7, 9], [False, True]):
        survey = RandomizedResponse(categories, 1)
        reports = survey.randomize(categories * 10)
        assert set(reports) <= set(categories)
        assert list(survey.estimate(reports)["category"]) == categories
        assert from_json(survey.to_json()).categories == tuple(categories)


def test_every_survey_tells_its_event_its_promise_and_its_source() -> None:
    for survey, _, _ in small(1).values():
        assert isinstance(survey, Oracle)
        assert survey.event().guarantee(neighbours="change-one") == survey.guarantee
        assert survey.asked(3).epsilon == 3 * survey.epsilon
        assert survey.citation
        assert survey.sample_size(margin="0.1") > 0
        assert survey.variance(100, 0) == survey.variance(1, 0) / 100


@all_cases("name", NAMES)
def test_the_name_is_part_of_a_survey(name: str) -> None:
    survey, answers, _ = small(1)[name]
    assert survey.name == ""
    assert "name" not in json.loads(survey.to_json())
    document = json.loads(survey.to_json()) | {"name": " Do you smoke? "}
    named = from_json(json.dumps(document))
    assert named.name == "Do you smoke?"
    assert from_json(named.to_json()) == named == pickle.loads(pickle.dumps(named))  # noqa: S301 (made here)
    assert named != survey
    with pytest.raises(ForeignReports):
        survey.estimate(named.randomize(list(answers)), **EXTRA.get(name, {}))
    with pytest.raises(DamagedReports):
        from_json(json.dumps(document | {"name": 3}))


@all_cases("name", NAMES)
def test_reports_collected_in_parts_are_estimated_together(name: str) -> None:
    survey, answers, _ = small(1)[name]
    first, second = survey.randomize(list(answers) * 10), survey.randomize(list(answers) * 20)
    together = survey.estimate(first + second, **EXTRA.get(name, {}))
    assert survey.estimate([first, second], **EXTRA.get(name, {})) == together
    assert list(first + second) == [*first, *second]
    other = small("1.1")[name].survey.randomize(list(answers))
    with pytest.raises(ForeignReports):
        first + other
    with pytest.raises(TypeError):
        first + 3


def test_reports_are_counted_in_words() -> None:
    poll = Poll(truth="1/2")
    assert repr(poll.randomize([True])).startswith("<1 report to")
    assert repr(poll.randomize([True] * 1700)).startswith("<1,700 reports to")


def test_a_poll_takes_yes_and_no_as_texts() -> None:
    poll = Poll(truth="999999/1000000")
    assert poll.law("yes") == poll.law(True)
    assert poll.law(" No") == poll.law(0)
    assert len(poll.randomize(np.array(["yes", "no"]))) == 2
    assert isinstance(poll.randomize("true"), bool)
    with pytest.raises(InvalidParameter) as refusal:
        poll.randomize(["perhaps"])
    assert "perhaps" not in str(refusal.value)


def test_a_list_of_categories_says_how_many_it_leaves_out() -> None:
    with pytest.raises(InvalidParameter, match="20 more"):
        RandomizedResponse(range(30), 1).randomize([77])


def test_a_mean_is_cut_to_its_bounds_on_request() -> None:
    reports = np.zeros(50, dtype=np.int64)
    for survey in (Mean((0, 10), 1, method="stochastic-rounding"), Mean((0, 10), 1, method="piecewise")):
        free, cut = survey.estimate(reports), survey.estimate(reports, consistent="clip")
        assert free.value < 0
        assert (cut.value, cut.low) == (0, 0)
        assert 0 <= cut.high <= 10
    with pytest.raises(InvalidParameter):
        Mean((0, 10), 1).estimate(reports, consistent="norm-sub")  # type: ignore[arg-type]


def test_long_texts_are_marked_and_capitals_folded() -> None:
    survey = HeavyHitters(8, length=8)
    reports = survey.randomize(["Strawberry"] * 6000 + ["SANDWICH"] * 6000 + ["fig"] * 6000)
    answer = survey.estimate(reports, threshold="0.1")
    assert set(answer["text"]) == {"strawber…", "sandwich", "fig"}
    assert any("more than 8 letters" in note for note in answer.notes)
    exact = HeavyHitters(1, length=2, alphabet="aA", prime=13)
    assert exact.law("a") != exact.law("A")
    with pytest.raises(InvalidParameter):
        HeavyHitters(1, alphabet="ab\1")
