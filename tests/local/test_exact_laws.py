"""Every randomiser's law is listed and its promise checked without tolerance; and the randomiser follows its law."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from surveys import MAKERS, NAMES, outcome, small

from cases import all_cases
from giveortake.errors import InvalidParameter
from giveortake.exact import exp_down, exp_up
from giveortake.local import Poll, Rappor
from giveortake.local.survey import ratio_below
from recorded_entropy import RecordedEntropy
from statistics_of_draws import counts_are_plausible

DRAWS = 20_000


@all_cases("epsilon", ["0.1", "1", "5/2"])
@all_cases("name", NAMES)
def test_no_report_is_more_than_e_to_the_epsilon_times_likelier_under_another_answer(name: str, epsilon: str) -> None:
    survey, answers, tight = small(epsilon)[name]
    laws = [survey.law(answer) for answer in answers]
    assert all(sum(law.values()) == 1 for law in laws)
    largest = max(one[report] / other[report] for one in laws for other in laws for report in one)
    assert largest <= survey.ratio <= exp_up(survey.epsilon)
    if tight:
        assert largest == survey.ratio


@all_cases("epsilon", ["1e-6", "0.1", "1", "32"])
def test_rational_coins_give_away_almost_nothing_of_the_promise(epsilon: str) -> None:
    promise = Fraction(epsilon)
    ratio = ratio_below(promise)
    assert 1 < ratio <= exp_down(promise)
    assert exp_up(promise) - ratio <= promise / 2**32 * 2


def test_the_permanent_response_of_rappor_keeps_the_lifetime_promise() -> None:
    survey = Rappor("1.5", bits=6, hashes=2, cohorts=2)
    laws = [survey.permanent_law(text) for text in "abcdefgh"]
    assert all(sum(law.values()) == 1 for law in laws)
    largest = max(one[report] / other[report] for one in laws for other in laws for report in one)
    assert largest <= survey.ratio <= exp_up(survey.epsilon)
    assert any(
        len(set(survey.places(a, cohort)) ^ set(survey.places(b, cohort))) == 4
        for cohort in range(2)
        for a in "abcdefgh"
        for b in "abcdefgh"
    )
    assert largest == survey.ratio  # two texts that share no bit


def test_one_report_of_rappor_promises_what_theorem_2_says() -> None:
    survey = Rappor("1.5", bits=6, hashes=2, cohorts=2)
    laws = [survey.law(text) for text in "abcdefgh"]
    largest = max(one[report] / other[report] for one in laws for other in laws for report in one)
    unset, set_ = survey.reported
    assert largest == (set_ * (1 - unset) / (unset * (1 - set_))) ** survey.hashes  # two texts that share no bit
    assert exp_down(survey.report_epsilon) <= largest <= exp_up(survey.report_epsilon)
    assert survey.report_epsilon < survey.epsilon


@pytest.mark.statistical
@all_cases("name", NAMES)
def test_the_randomiser_follows_the_listed_law_and_no_other(name: str) -> None:
    survey, answers, _ = small(1)[name]
    bolder = small("3/2")[name].survey
    answer = answers[0]
    reports = survey.randomize([answer] * DRAWS, RecordedEntropy(name))
    seen = Counter(outcome(survey, report) for report in reports)
    law, other = survey.law(answer), bolder.law(answer)
    assert set(seen) <= set(law)
    assert counts_are_plausible(*_cells(seen, law))
    if set(other) == set(law):
        assert not counts_are_plausible(*_cells(seen, other))


@all_cases("name", NAMES)
def test_one_answer_makes_one_report(name: str) -> None:
    survey, answers, _ = small(1)[name]
    assert outcome(survey, survey.randomize(answers[0])) in survey.law(answers[0])


def test_a_poll_with_a_third_of_truth_is_listed_by_its_own_program() -> None:
    poll = Poll(truth="1/3", otherwise="1/5")
    for answer in (True, False):
        yes = Fraction(0)
        for first in (True, False):
            for second in (True, False):
                coins = iter([first, second])
                if poll.program(answer, lambda _p, coins=coins: next(coins)):  # type: ignore[misc]
                    yes += (poll.truth if first else 1 - poll.truth) * (
                        poll.otherwise if second else 1 - poll.otherwise
                    )
        assert poll.law(answer) == {True: yes, False: 1 - yes}


@all_cases("make", MAKERS)
@all_cases("epsilon", [0, -1, 1000, "1e-9", "33"])
def test_an_epsilon_that_protects_nobody_or_teaches_nothing_is_refused(make: Any, epsilon: Any) -> None:
    assert make(1).epsilon == 1
    with pytest.raises(InvalidParameter):
        make(epsilon)


def _cells(seen: Counter[Any], law: dict[Any, Fraction]) -> tuple[list[int], list[float]]:
    order = sorted(law, key=lambda report: (law[report], repr(report)))  # alike ones are pooled with each other
    return [seen[report] for report in order], [float(law[report]) for report in order]
