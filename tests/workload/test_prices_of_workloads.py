"""What workloads cost by a margin or a share, what their quotes say of it, and how refusals name what would fit."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.answers.terms import Caps
from giveortake.errors import BudgetExceeded, InvalidParameter, Unpriced
from giveortake.session import Session
from inside import line_of
from tiers import tiered

DOMAINS: dict[str, Any] = {"city": ["Rome", "Oslo", "Bern"], "sex": ["m", "f"], "day": (0, 63)}
TABLES = gt.workload.marginals(["city", "sex"]) + gt.workload.ranges("day") + gt.workload.total()
FEW = gt.workload.marginals(["sex"])


def _session(**more: Any) -> Session:
    random = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "who": random.integers(0, 100, 300),
            "city": random.choice(DOMAINS["city"], 300),
            "sex": random.choice(["m", "f"], 300),
            "day": random.integers(0, 64, 300),
        }
    )
    said: dict[str, Any] = {"unit": "who", "budget": gt.ApproxDP("2", "1e-6"), "rows_per_person": 3, "domains": DOMAINS}
    return gt.protect({"staff": table}, **said | more)


BUDGETS = [gt.ApproxDP("2", "1e-6"), gt.PureDP("2"), gt.ZCDP("1/10"), gt.GaussianDP("1/2")]


@all_cases("budget", BUDGETS)
def test_ten_shares_of_a_tenth_fit_and_an_eleventh_does_not(budget: gt.privacy.Guarantee) -> None:
    with _session(budget=budget) as session:
        queries = [
            session.workload(gt.workload.marginals(["city", "sex"], weights={1: number})) for number in range(1, 12)
        ]
        for query in queries[:10]:
            quote = query.quote(share="1/10")
            assert quote.admitted
            answer = query.answer(share="1/10")
            assert str(answer["sex"].recipe["spend"]) == quote.spend  # type: ignore[call-overload]  # (a mapping)
        assert (session.standing().share or 2) <= 1
        assert not queries[10].quote(share="1/10").admitted
        with pytest.raises(BudgetExceeded):
            queries[10].answer(share="1/10")
        spent = session.spent
        assert queries[3].answer(share="1/10").release_id != queries[4].answer(share="1/10").release_id
        assert session.spent == spent  # what was paid for is found again, by the same share


@all_cases("budget", BUDGETS)
def test_a_margin_is_reached_in_every_table_whatever_the_budget_counts(budget: gt.privacy.Guarantee) -> None:
    with _session(budget=budget) as session:
        quote = session.workload(TABLES).quote(margin=200)
        assert max(line["margin"] for line in quote.lines) <= 200
        assert max(line["margin"] for line in quote.lines) >= 199
        answer = session.workload(TABLES).answer(margin=200)
        assert answer["day"].columns[1].margins[-1] <= 200  # type: ignore[operator]  # (numbers)
        spent = session.spent
        session.workload(TABLES).answer(margin=200)
        assert session.spent == spent


def test_no_noise_reaches_a_margin_that_rounding_alone_exceeds() -> None:
    with _session(budget=gt.PureDP(10**6)) as session, pytest.raises(InvalidParameter):
        session.workload(TABLES).quote(margin="1/10")


def test_a_margin_is_bought_with_the_noise_that_takes_less_of_the_budget() -> None:
    with _session() as session:
        few, many = session.workload(FEW).quote(margin=20), session.workload(TABLES).quote(margin=300)
        assert few.spend.startswith("ε")
        assert few.notes[0].startswith("Laplace noise")
        assert many.spend.startswith("μ")
        assert many.notes[0].startswith("Gaussian noise")


def test_a_quote_says_where_the_other_noise_is_better_and_it_is() -> None:
    with _session() as session:
        dear = session.workload(FEW).quote(mu="2/5")
        (advice,) = dear.advice
        found = re.fullmatch(
            r'epsilon="([\d.]+)", without δ, takes no more of the budget, .* are (\d+) % narrower', advice
        )
        assert found is not None
        other = session.workload(FEW).quote(epsilon=found[1])
        assert other.share is not None
        assert dear.share is not None
        assert other.share <= dear.share
        narrower = 1 - float(other.margins["sex"] or 0) / float(dear.margins["sex"] or 0)
        assert abs(narrower - int(found[2]) / 100) < 0.01
        assert advice in str(dear)
        assert not other.advice
        (advice,) = session.workload(TABLES).quote(epsilon="1/20").advice
        assert advice.startswith('mu="')


def test_a_quote_and_an_answer_say_the_share_the_caps_and_how_sure() -> None:
    with _session() as session:
        quote = session.workload(TABLES).quote(rho="1/100", confidence="0.9", confidence_over="answer")
        text, told = str(quote), json.loads(quote.to_json())
        assert all(fact in text for fact in ("11.4 %", "90 %", str(Caps(rows_per_person=3))))
        assert (told["confidence"], told["contributions"]) == ("9/10 of the answer", str(Caps(rows_per_person=3)))
        assert abs(Fraction(told["share"]) - Fraction("0.114")) < 0.001
        assert {*quote.margins} == {"city", "sex", "city × sex", "day_below", "total"}
        both = session.workload(TABLES + gt.workload.marginals(["day"])).quote(rho="1/100").margins
        assert float(both["day_below"] or 0) > float(both["day"] or 0) > 0  # of a border, and of one day
        assert quote.margins["city × sex"] == line_of(quote, "city", "sex")["margin"]
        page = quote._repr_html_()
        assert all(fact in page for fact in ("11.4 %", "90 %", str(Caps(rows_per_person=3))))
        fewer = session.workload(TABLES).answer(rho="1/100", rows_per_person=2)
        assert fewer["city"].caps == Caps(rows_per_person=2)
        assert fewer["day"].caps == Caps(rows_per_person=2)
        assert session.workload(TABLES).quote(rho=9).share is None
        assert not session.workload(TABLES).quote(rho=9).admitted
    with _session(unit=gt.ROW, rows_per_person=None) as rows:
        assert rows.workload(TABLES).quote(rho="1/100").caps is None


def _stated(error: BaseException) -> str:
    return re.search(r"(\S+) of up to (\S+?)( at the same δ)? would fit", str(error))[2]  # type: ignore[index]  # (there)


@all_cases("budget", [gt.ApproxDP("2", "1e-6"), gt.ZCDP("1/10"), gt.GaussianDP("1/2")])
@all_cases("terms", [{"rho": 9}, {"mu": 9}, {"epsilon": 90, "delta": "1e-7"}, {"epsilon": 90}])
@all_cases("used", tiered([True], [False, True]))
def test_a_refusal_says_in_the_same_currency_what_would_fit_and_it_does(
    budget: gt.privacy.Guarantee, terms: dict[str, Any], used: bool
) -> None:
    with _session(budget=budget) as session:
        if used:
            session.workload(FEW).answer(share="2/5")
        query = session.workload(TABLES)
        with pytest.raises(BudgetExceeded) as refused:
            query.answer(**terms)
        assert "D(" not in str(refused.value)
        name = next(iter(terms))
        fits = Fraction(_stated(refused.value))
        assert query.quote(**terms | {name: fits}).admitted
        assert not query.quote(**terms | {name: fits * Fraction(101, 100)}).admitted
        query.answer(**terms | {name: fits})


@all_cases("budget", [gt.ApproxDP("2", "1e-6"), gt.ZCDP("1/10")])
@all_cases("of_synthesis", [False, True])
def test_a_run_that_is_too_dear_is_refused_in_the_terms_in_which_it_was_asked(
    budget: gt.privacy.Guarantee, of_synthesis: bool
) -> None:
    with _session(budget=budget) as session:

        def ask(epsilon: Any) -> None:
            if of_synthesis:
                gt.synth.synthesize(session, columns=["city", "sex"], epsilon=epsilon, delta="1e-7")
            else:
                session.weights(["city", "sex"]).answer(epsilon=epsilon, delta="1e-7")

        with pytest.raises(BudgetExceeded) as refused:
            ask(30)
        assert "D(" not in str(refused.value)
        fits = Fraction(_stated(refused.value))
        with pytest.raises(BudgetExceeded):
            ask(fits * Fraction(101, 100))
        ask(fits)


def test_a_counter_that_is_too_dear_is_refused_alike_and_may_spend_the_whole_budget() -> None:
    with _session(budget=gt.ZCDP("1/10")) as session:
        with pytest.raises(BudgetExceeded):
            session.counter("day", horizon=5).answer(rho=9).next()
        session.counter("day", horizon=5).answer(rho="1/10").next()
        with pytest.raises(BudgetExceeded):
            session.counter("day", horizon=6).answer(rho="1/10").next()


def test_gaussian_noise_on_a_budget_of_pure_epsilon_is_refused_with_what_to_do() -> None:
    with _session(budget=gt.PureDP(1)) as session:
        with pytest.raises(Unpriced):
            session.workload(TABLES).answer(rho="1/100")
        session.workload(TABLES).answer(epsilon="1/2")
        with pytest.raises(Unpriced, match=r"cannot pay .*\n\n.*gt.ApproxDP"):
            session.counter("day", horizon=5).answer(rho="1/100").next()
        with pytest.raises(Unpriced, match=r"cannot pay .*\n\n.*gt.ApproxDP"):
            session.weights(["city", "sex"]).answer(epsilon="1/2", delta="1e-7")


def test_an_analyst_is_told_what_fits_their_own_budget(tmp_path: Path) -> None:
    where = tmp_path / "staff.ledger"
    _session(ledger=where).close()
    with gt.ledger.open(where) as ledger:
        ledger.analyst("ann", datasets=["staff"], budget=gt.ApproxDP("1", "1e-8"))
    with _session(ledger=where, analyst="ann") as session:
        with pytest.raises(BudgetExceeded) as refused:
            session.workload(TABLES).answer(rho=9)
        fits = Fraction(_stated(refused.value))
        session.workload(TABLES).answer(rho=fits)
        assert fits < Fraction(1, 50)
