"""What an attacker tried on surveys, one test for each way that once worked."""

from __future__ import annotations

import copy
import json
import os
import pickle
import threading
from typing import Any

import numpy as np
import pytest
from surveys import COLOURS, NAMES, small

import tiers
from cases import all_cases
from giveortake.errors import (
    BudgetExceeded,
    DamagedReports,
    GiveOrTakeError,
    InvalidParameter,
    SensitiveValue,
    Unprovable,
)
from giveortake.local import (
    CountMeanSketch,
    HeavyHitters,
    Mean,
    Poll,
    RandomizedResponse,
    Rappor,
    Respondent,
    from_json,
)
from giveortake.randomness import SYSTEM_ENTROPY
from recorded_entropy import RecordedEntropy


class Slow:
    """Coins that let other threads run, so that they meet."""

    name = "slow"

    def read(self, size: int) -> Any:
        os.sched_yield()
        return SYSTEM_ENTROPY.read(size)


# -- respondents --------------------------------------------------------------------------------------------------


@all_cases("name", NAMES)
def test_a_list_is_not_one_answer(name: str) -> None:
    survey, answers, _ = small()[name]
    person = Respondent(survey)
    for many in ([answers[0]] * 1000, (answers[0],), np.array([answers[0]] * 2), np.array(answers[0]), iter(answers)):
        with pytest.raises(InvalidParameter, match="<hidden>"):
            person.report(many)
    assert person.paid == 0
    assert person.guarantee is None


@all_cases("memoise", [False, True])
def test_threads_do_not_spend_more_than_the_budget(memoise: bool) -> None:
    survey = RandomizedResponse(range(1000), 1)
    person = Respondent(survey, memoise=memoise, budget=1)
    barrier, reports, refusals = threading.Barrier(8), [], []

    def ask() -> None:
        barrier.wait()
        try:
            reports.append(person.report(7, Slow()))
        except BudgetExceeded as refusal:
            refusals.append(refusal)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert person.paid == 1
    assert len(set(reports)) == 1
    assert (len(reports), len(refusals)) == ((8, 0) if memoise else (1, 7))


def test_what_was_drawn_was_charged_before() -> None:
    class Broken:
        name = "broken"

        def read(self, size: int) -> Any:
            raise OSError("no coins")

    person = Respondent(Poll(truth="1/2"))
    with pytest.raises(OSError, match="no coins"):
        person.report(True, Broken())
    assert person.paid == 1


def test_a_second_value_with_memory_has_no_unqualified_promise() -> None:
    survey = Poll(truth="1/2")
    person = Respondent(survey)
    person.report(True)
    assert person.guarantee == survey.guarantee
    person.report(False)
    with pytest.raises(Unprovable):
        _ = person.guarantee
    assert person.guarantee_for_equal_patterns == survey.asked(2)


@all_cases("survey", [RandomizedResponse(COLOURS, 1), Rappor(1, cohorts=1000)])
def test_a_new_value_beyond_the_budget_cannot_be_told_from_an_old_one(survey: Any) -> None:
    person = Respondent(survey, budget=2)
    person.report("red")
    last = person.report("blue")
    before = person.to_json()
    assert person.report("green")[:4] == last[:4]
    assert person.report("blue")[:4] == last[:4]
    assert person.to_json() == before
    with pytest.raises(BudgetExceeded):
        Respondent(survey, budget="1/2").report("red")


def test_answers_that_the_survey_takes_for_the_same_are_paid_for_once() -> None:
    for survey, same in (
        (Poll(truth="1/2"), (True, 1, np.True_, np.int64(1))),
        (Mean((0, 1), 1), (0.0, -0.0, 0, -5, np.float32(0))),
        (RandomizedResponse([0, 1], 1), (0, np.int64(0))),
        (HeavyHitters(1, length=2), ("ab", "abc", "a!b")),
    ):
        person = Respondent(survey, budget=survey.epsilon)
        assert len({person.report(value) for value in same}) == 1
        assert person.paid == 1


def test_a_respondent_is_neither_copied_nor_pickled() -> None:
    person = Respondent(RandomizedResponse(["hiv+", "hiv-"], 1))
    person.report("hiv+")
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(SensitiveValue):
            attempt(person)


@all_cases(
    "change",
    [
        {"paid": -1},
        {"paid": 0},
        {"paid": True},
        {"paid": 1.5},
        {"paid": float("nan")},
        {"paid": "1"},
        {"paid": None},
        {"paid": 100},
        {"memoise": "no"},
        {"memoise": False},
        {"memory": []},
        {"memory": {"0": "zz"}},
        {"memory": {"0": [1] * 1000}},
        {"budget": "nan"},
        {"budget": -1},
        {"budget": []},
        {"cohort": -1},
        {"cohort": 4},
        {"cohort": None},
        {"cohort": True},
        {"survey": None},
    ],
)
def test_a_memory_that_nobody_can_have_is_refused(change: dict[str, Any]) -> None:
    person = Respondent(Rappor(1, cohorts=4), budget=3)
    person.report("red")
    document = json.loads(person.to_json())
    with pytest.raises((DamagedReports, InvalidParameter)):
        Respondent.from_json(json.dumps({**document, **change}))


@all_cases("name", NAMES)
def test_the_memory_of_every_survey_is_read_again(name: str) -> None:
    survey, answers, _ = small()[name]
    person = Respondent(survey)
    for answer in answers:
        person.report(answer)
    again = Respondent.from_json(person.to_json())
    assert again.to_json() == person.to_json()
    again.report(answers[0])
    assert again.paid == person.paid


# -- parameters ---------------------------------------------------------------------------------------------------


def test_parameters_that_cost_more_than_was_agreed_to_are_refused() -> None:
    for survey in (Poll(epsilon=32), RandomizedResponse(COLOURS, 3), Rappor(3)):
        assert from_json(survey.to_json(), most_epsilon=32) == survey
        with pytest.raises(InvalidParameter, match="more than 2"):
            from_json(survey.to_json(), most_epsilon=2)


def test_keys_that_occur_twice_and_an_epsilon_that_is_not_the_own_are_refused() -> None:
    text = RandomizedResponse(COLOURS, 1).to_json()
    with pytest.raises(DamagedReports, match="twice"):
        from_json(text[:-1] + ', "epsilon": "32"}')
    poll = json.loads(Poll(truth="1/2").to_json())
    with pytest.raises(DamagedReports):  # another ε
        from_json(json.dumps({**poll, "epsilon": "1/10"}))


@all_cases(
    "document",
    [
        {"kind": "rappor", "epsilon": "1/1", "bits": 8, "hashes": 2, "cohorts": 2, "instantaneous": ["1/4"]},
        {"kind": "rappor", "epsilon": "1/1", "bits": 8, "hashes": 2, "cohorts": 2, "instantaneous": 3},
        {"kind": "rappor", "epsilon": "1/1", "bits": 10**12, "hashes": 2, "cohorts": 2, "instantaneous": ["0", "1"]},
        {"kind": "heavy-hitters", "epsilon": "1/1", "length": 3, "step": 1, "alphabet": "ab", "prime": 10**30},
        {"kind": "heavy-hitters", "epsilon": "1/1", "length": 3, "step": 1, "alphabet": "ab", "prime": 2**33},
        {"kind": "heavy-hitters", "epsilon": "1/1", "length": 3, "step": 1, "alphabet": "ab", "prime": 6},
        {"kind": "heavy-hitters", "epsilon": "1/1", "length": 3, "step": 1, "alphabet": ["ab", "c"], "prime": 7},
        {"kind": "heavy-hitters", "epsilon": "1/1", "length": 3, "step": 2, "alphabet": "ab", "prime": 7},
        {"kind": "heavy-hitters", "epsilon": "1/1", "length": 10**30, "step": 1, "alphabet": "ab", "prime": 7},
        {"kind": "heavy-hitters", "epsilon": "1/1", "length": 3, "step": 1, "alphabet": "a\ud800", "prime": 7},
        {"kind": "mean", "epsilon": "1/1", "bounds": ["0"], "method": "piecewise"},
        {"kind": "mean", "epsilon": "1/1", "bounds": 5, "method": "piecewise"},
        {"kind": "mean", "epsilon": "1/1", "bounds": ["0", "1"], "method": ["piecewise"]},
        {"kind": ["x"], "epsilon": 1},
        {"kind": "randomized-response", "epsilon": "1/1", "categories": 5},
        {"kind": "randomized-response", "epsilon": "1/1", "categories": ["a", "\ud800"]},
        {"kind": "randomized-response", "epsilon": [], "categories": ["a", "b"]},
        {"kind": "count-mean-sketch", "epsilon": "1/1", "functions": 2, "buckets": 2, "seed": "\ud800"},
        {"kind": "poll", "truth": "x", "otherwise": "1/2"},
        {"kind": "poll", "truth": "1/0", "otherwise": "1/2"},
    ],
)
def test_parameters_from_a_stranger_raise_typed_errors(document: dict[str, Any]) -> None:
    with pytest.raises(GiveOrTakeError):
        from_json(json.dumps(document))


def test_text_that_is_no_survey_raises_typed_errors() -> None:
    for text in ("[" * 100_000, '{"version": true, "kind": "poll", "truth": "1/2", "otherwise": "1/2"}', "null", "1"):
        with pytest.raises(DamagedReports):
            from_json(text)


def test_bounds_that_doubles_cannot_tell_apart_are_refused() -> None:
    for bounds in (("0.1", "0.10000000000000000001"), (0, "1e-350"), ("100000000000000", "100000000000000.0000001")):
        with pytest.raises(InvalidParameter, match="double precision"):
            Mean(bounds, 1)


def test_categories_that_look_the_same_are_refused() -> None:
    for categories in ([1, "1"], ["True", True]):
        with pytest.raises(InvalidParameter, match="same"):
            RandomizedResponse(categories, 1)


def test_half_a_letter_is_refused_and_not_quoted() -> None:
    for survey in (CountMeanSketch(1), Rappor(1), HeavyHitters(1)):
        with pytest.raises(InvalidParameter, match="lone surrogate") as refusal:
            survey.randomize("my secret \ud800 text")
        assert "secret" not in str(refusal.value)
        assert refusal.value.__cause__ is None
        assert refusal.value.__context__ is None


# -- estimating ---------------------------------------------------------------------------------------------------


def test_arrays_of_labels_are_labels() -> None:
    survey = RandomizedResponse([2, 0, 1], 8)
    reports = survey.randomize([2] * 1000)
    shares = list(survey.estimate(reports)["share"])
    assert list(survey.estimate(np.asarray(reports))["share"]) == shares
    assert list(survey.estimate(list(reports))["share"]) == shares
    assert list(survey.estimate(survey.read(reports.to_json()))["share"]) == shares
    with pytest.raises(DamagedReports):
        RandomizedResponse(["a", "b"], 1).estimate(np.array([0, 1]))


@pytest.mark.statistical
@all_cases(
    ("functions", "buckets", "epsilon", "n"),
    [(4, 2, 4, 10**5), (102, 1024, 8, 10**6), (6, 64, 8, 10**6), (256, 1024, 4, 10**6)],
)
def test_intervals_of_sketches_cover_if_all_others_have_one_text(
    functions: int, buckets: int, epsilon: int, n: int
) -> None:
    generator, counts = np.random.default_rng(1), []
    surveys = [CountMeanSketch(epsilon, functions=functions, buckets=buckets, seed=str(turn)) for turn in range(1500)]
    for survey in surveys:
        places = survey.places(["other", "candidate"])
        meets = places[:, 0] == places[:, 1]
        drawn = generator.multinomial(n, [1 / functions] * functions)
        chances = np.where(meets, float(survey.support[0]), 1 - float(survey.support[0]))
        counts.append(generator.binomial(drawn, chances).sum())
    _, low, high = surveys[0].shares(counts, n, "0.975", "guaranteed")  # all at once: seeds have no part in it
    _, first, last = surveys[9].shares([counts[9]], n, "0.975", "guaranteed")
    assert (first[0], last[0]) == (low[9], high[9])
    more, less = surveys[0].collisions("0.975")
    assert (more, less) == surveys[9].collisions("0.975")
    assert ((low - more > 0) | (high + less < 0)).mean() <= 0.05


def test_intervals_of_sketches_cover_from_end_to_end() -> None:
    missed = 0
    for number in range(60):
        survey = CountMeanSketch(8, functions=6, buckets=64, seed=f"r{number}")
        reports = survey.randomize(["other"] * 2000, RecordedEntropy(number))
        answer: Any = survey.estimate(reports, candidates=["candidate"])
        missed += not answer.low <= 0 <= answer.high
    assert missed <= 6


@pytest.mark.statistical
@all_cases(("cohorts", "n"), tiers.tiered([(64, 5_000)], [(16, 20_000), (4, 20_000), (64, 5_000)]))
def test_intervals_of_rappor_cover_if_half_of_the_people_have_a_text_that_is_not_listed(cohorts: int, n: int) -> None:
    survey, truth, missed, runs = Rappor(6, cohorts=cohorts), {"a": 0.3, "b": 0.2, "c": 0, "d": 0, "e": 0}, 0, 60
    for run in range(runs):
        answers = ["a"] * (n * 3 // 10) + ["b"] * (n // 5) + [f"unlisted {run}"] * (n // 2)
        answer: Any = survey.estimate(survey.randomize(answers, RecordedEntropy(run)), candidates=truth)
        triples = zip(truth.values(), answer["share"].triples(), strict=True)
        missed += sum(not low <= share <= high for share, (_, low, high) in triples)
        assert answer.recipe["fits"] == "no"
        assert not any(answer["significant"])
    assert missed / (5 * runs) <= 0.05 + 3 * (0.05 * 0.95 / (5 * runs)) ** 0.5


def test_a_model_that_fits_says_what_is_significant() -> None:
    survey = Rappor(6)
    answers = ["a"] * 6000 + ["b"] * 4000
    fits, invented = [], 0
    for run in range(20):
        answer: Any = survey.estimate(survey.randomize(answers, RecordedEntropy(run)), candidates=["a", "b", "c"])
        fits.append(answer.recipe["fits"] == "yes")
        significant = list(answer["significant"])
        assert not fits[-1] or significant[:2] == [True, True]
        invented += significant[2] is True
    assert sum(fits) >= 19
    assert invented <= 3  # 20 · 0.05/3 are expected
