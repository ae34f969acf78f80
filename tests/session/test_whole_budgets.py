"""Whoever asks for exactly all of a budget, or for all that is left of it, gets it."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import giveortake as gt
from cases import all_cases
from giveortake.compile import Caps, Spend, measurement
from giveortake.session import Session
from giveortake.session.kinds.runs import Run
from giveortake.session.session import mechanism_of
from inside import begun
from small_session import FOUND, small_session
from tiers import tiered

COUNT = "SELECT COUNT(*) AS n FROM data"
SEVERAL = "SELECT r, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM data GROUP BY r"
MEDIAN = "SELECT MEDIAN(x) AS m, COUNT(*) AS n, SUM(x) AS s FROM data"
DUST = Fraction(1, 2**90)
WHOLES = [("1/10", "add-remove"), ("1/1009", "change-one")]
KINDS = all_cases(
    ("kind", "term"), [(gt.PureDP, "epsilon"), (gt.ZCDP, "rho"), (gt.GaussianDP, "mu")], ids=["pure", "zcdp", "gdp"]
)


@cache
def _questions() -> list[Any]:
    with small_session() as session:
        return [session.sql(asked).question for asked in (COUNT, SEVERAL, MEDIAN)]


def _left(session: Session) -> Fraction:
    left = session.budget.left
    assert isinstance(left, Fraction)
    return left


@KINDS
@all_cases("asked", [COUNT, SEVERAL, MEDIAN])
@all_cases(("whole", "neighbours"), tiered([("1/1009", "change-one")], WHOLES))
def test_a_question_may_cost_the_whole_budget(kind: Any, term: str, asked: str, whole: str, neighbours: str) -> None:
    with small_session(budget=kind(whole), neighbours=neighbours) as session:
        session.sql(asked).answer(**{term: whole})
        assert 0 <= _left(session) < DUST


@KINDS
def test_a_batch_may_cost_the_whole_budget(kind: Any, term: str) -> None:
    with small_session(budget=kind("1/10")) as session:
        terms: Any = {term: "1/10"}
        session.batch([session.sql(COUNT), session.sql(SEVERAL), session.sql(MEDIAN)]).answer(**terms)
        assert 0 <= _left(session) < DUST


@all_cases(("kind", "term"), [(gt.ZCDP, "rho"), (gt.GaussianDP, "mu")], ids=["zcdp", "gdp"])
def test_a_counter_may_cost_the_whole_budget(kind: Any, term: str) -> None:
    with small_session(budget=kind("1/10"), domains={"p": (0, 59)}, unit=gt.ROW) as session:
        terms: Any = {term: "1/10"}
        session.counter("p", horizon=3).answer(**terms).next()
        assert 0 <= _left(session) < Fraction(1, 2**40)  # its noise has few digits


@KINDS
def test_a_workload_may_cost_the_whole_budget(kind: Any, term: str) -> None:
    with small_session(budget=kind("1/10"), rows_per_person=3) as session:
        terms: Any = {term: "1/10"}
        session.workload(gt.workload.marginals(["r"], up_to=1) + gt.workload.total()).answer(**terms)
        assert 0 <= _left(session) < Fraction(1, 2**20)


@all_cases("whole", ["1/10", "1/1009"])
def test_a_run_may_cost_the_whole_budget(whole: str) -> None:
    with small_session(budget=gt.ZCDP(whole), rows_per_person=3) as session:
        mechanism = mechanism_of(session)
        relation = mechanism.origin.relations["data"]
        with begun(Run.of_tables(mechanism, relation, Spend(rho=Fraction(whole)), {}, "a run")) as run:
            run.settle()
        assert 0 <= _left(session) < DUST


@KINDS
def test_all_that_is_left_is_asked_for_by_the_number_that_is_told(kind: Any, term: str) -> None:
    with small_session(budget=kind("1/7")) as session:
        session.sql(MEDIAN).answer(**{term: "1/31"})
        left = _left(session)
        if kind is gt.GaussianDP:  # what adds up is μ²
            session.sql(SEVERAL).answer(rho=left / 2)
        else:
            terms: Any = {term: left}
            session.sql(SEVERAL).answer(**terms)
        assert 0 <= _left(session) < DUST


@all_cases("budget", [gt.PureDP("1/7"), gt.ZCDP("1/7"), gt.GaussianDP("1/7"), gt.ApproxDP("1/7", "1e-6")])
def test_the_epsilon_that_is_affordable_is_admitted_in_parts(budget: Any) -> None:
    with small_session(budget=budget) as session:
        session.sql(COUNT).answer(epsilon="1/33")
        assert session.budget.affordable is not None
        session.sql(SEVERAL).answer(epsilon=session.budget.affordable)


@all_cases("terms", [{"epsilon": "1/3"}, {"mu": "1/30"}, {"rho": "1/700"}])
def test_found_keys_and_their_values_cost_no_more_than_was_said(terms: dict[str, str]) -> None:
    with small_session(budget=gt.ApproxDP("1/3", "1e-6")) as session:
        made = session.sql(FOUND).quote(**terms)
        assert made.admitted


@settings(max_examples=tiered(20, 100))
@given(
    whole=st.fractions(min_value=Fraction(1, 10**6), max_value=10, max_denominator=10**9),
    part=st.fractions(min_value=Fraction(1, 100), max_value=Fraction(99, 100), max_denominator=1000),
)
def test_any_rho_and_then_the_rest_of_a_budget_fit_it(whole: Fraction, part: Fraction) -> None:
    for question in _questions():
        guard = gt.accounting.filter(gt.ZCDP(whole))
        guard.charge(measurement(question, Caps(4, 4), "add-remove", Spend(rho=whole * part)).event)
        left = guard.accounts[0].remaining
        guard.charge(measurement(question, Caps(4, 4), "add-remove", Spend(rho=left)).event)
        assert guard.accounts[0].remaining < DUST
