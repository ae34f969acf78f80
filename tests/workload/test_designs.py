"""The plan with the least noise, what it costs, and tables made consistent."""

from __future__ import annotations

import itertools
import json
import math
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
from giveortake.mechanisms.marginals import cell_variance
from giveortake.session import Session
from giveortake.workload.bound_workload import Layout
from giveortake.workload.designs import goal_weights, least_noise
from giveortake.workload.results import consistent_tables, rising
from inside import line_of
from tiers import tiered


def _all_up_to(attributes: int, most: int) -> list[tuple[int, ...]]:
    return [each for length in range(1, most + 1) for each in itertools.combinations(range(attributes), length)]


def _prices(layout: Layout) -> np.ndarray:
    return np.array([math.prod(1 - 1 / layout.sizes[each] for each in residual) for residual in layout.residuals])


def test_the_residuals_of_marginals_are_all_their_subsets() -> None:
    layout = Layout.of([2, 3, 4, 5], [(0, 1), (1, 2, 3)])
    subsets = {each for marginal in layout.marginals for k in range(4) for each in itertools.combinations(marginal, k)}
    assert set(layout.residuals) == subsets
    assert len(layout.residuals) == len(subsets)


@all_cases("attributes", [4, 70])
def test_variances_are_those_of_a_rebuilt_table(attributes: int) -> None:
    sizes = [2 + place % 4 for place in range(attributes)]
    layout = Layout.of(sizes, [(), (0,), (0, 2), (1, 2, 3), (attributes - 3, attributes - 2, attributes - 1)])
    noise = np.random.default_rng(1).uniform(1, 9, len(layout.residuals))
    known = dict(zip(layout.residuals, noise.tolist(), strict=True))
    for marginal, variance in zip(layout.marginals, layout.incidence.variances(noise), strict=True):
        axes = [c for k in range(len(marginal) + 1) for c in itertools.combinations(range(len(marginal)), k)]
        parts = {each: known[tuple(marginal[axis] for axis in each)] for each in axes}
        assert cell_variance([sizes[each] for each in marginal], parts) == pytest.approx(variance)


def test_the_plan_spends_the_promise_and_no_other_plan_is_better() -> None:
    layout = Layout.of([2, 3, 4, 10], _all_up_to(4, 2))
    prices, weights = _prices(layout), np.linspace(1, 3, 10)
    coefficients = layout.incidence.coefficients(weights)
    best = least_noise(coefficients, prices, 0.25)
    assert (prices / best).sum() == pytest.approx(0.25)
    loss = weights @ layout.incidence.variances(best)
    generator = np.random.default_rng(2)
    for _ in range(200):
        other = best * np.exp(generator.normal(0, 0.2, len(best)))
        other *= (prices / other).sum() / 0.25
        assert weights @ layout.incidence.variances(other) >= loss * (1 - 1e-12)


def test_the_greatest_variance_is_the_least_up_to_half_a_percent() -> None:
    layout = Layout.of([2, 3, 4, 10, 40], _all_up_to(5, 3))
    prices, weights = _prices(layout), np.ones(len(layout.marginals))
    found = {}
    for goal in ("rms", "maximum"):
        chosen = goal_weights(layout.incidence, prices, weights, goal)
        found[goal] = layout.incidence.variances(least_noise(layout.incidence.coefficients(chosen), prices, 1.0))
    assert found["rms"].mean() <= found["maximum"].mean()
    assert found["maximum"].max() < found["rms"].max()
    assert found["maximum"].max() <= 1.01 * found["maximum"][found["maximum"] > 0].mean()


def test_a_hundred_attributes_are_planned_in_seconds() -> None:
    layout = Layout.of([10] * 100, _all_up_to(100, 3))
    assert len(layout.marginals) == 166_750
    noise = least_noise(layout.incidence.coefficients(np.ones(166_750)), _prices(layout), 0.03)
    assert math.sqrt(layout.incidence.variances(noise)[-1]) == pytest.approx(
        1754.1, abs=0.1
    )  # an equal split has 2,357.6


SIZES = (3, 4, 5, 2)
PAIRS: list[tuple[int, ...]] = list(itertools.combinations(range(4), 2))


def _noisy(
    rows: int, deviation: float, seed: int
) -> tuple[dict[tuple[int, ...], np.ndarray], dict[tuple[int, ...], np.ndarray]]:
    random = np.random.default_rng(seed)
    joint = random.multinomial(rows, random.dirichlet(np.full(120, 0.2))).reshape(SIZES).astype(float)
    truth = {pair: joint.sum(axis=tuple(axis for axis in range(4) if axis not in pair)) for pair in PAIRS}
    return truth, {pair: table + random.normal(0, deviation, table.shape) for pair, table in truth.items()}


@all_cases(("rows", "deviation"), [(1000, 10), (100, 30), (10, 50), (0, 5)])
def test_tables_are_never_negative_and_their_sums_agree(rows: int, deviation: float) -> None:
    _, noisy = _noisy(rows, deviation, seed=rows)
    found = consistent_tables(SIZES, noisy, dict.fromkeys(PAIRS, deviation**2))
    totals = [found.tables[pair].sum() for pair in PAIRS]
    assert np.ptp(totals) < 1e-6 * max(1.0, *totals)
    for pair in PAIRS:
        assert found.tables[pair].min() >= 0
        for attribute in pair:
            axis = 1 - pair.index(attribute)
            assert np.allclose(found.tables[pair].sum(axis=axis), found.table((attribute,)), atol=1e-6 * max(rows, 1))


def test_they_are_nearer_to_the_truth_than_what_was_released() -> None:
    errors = []
    for seed in range(5):
        truth, noisy = _noisy(300, 10, seed)
        found = consistent_tables(SIZES, noisy, dict.fromkeys(PAIRS, 100.0))
        errors.append(
            [
                np.mean([((tables[pair] - truth[pair]) ** 2).mean() for pair in PAIRS])
                for tables in (noisy, found.tables)
            ]
        )
    released, consistent = np.mean(errors, axis=0)
    assert consistent < 0.7 * released


def test_tables_that_are_consistent_stay_as_they_are() -> None:
    truth, _ = _noisy(500, 0, seed=9)
    found = consistent_tables(SIZES, truth, dict.fromkeys(PAIRS, 1.0))
    for pair in PAIRS:
        assert np.allclose(found.tables[pair], truth[pair], atol=1e-6)


def test_running_totals_are_made_to_rise() -> None:
    assert rising(np.array([[1.0, 3.0, 2.0, 2.0, 9.0], [-4.0, -2.0, -3.0, 5.0, 5.0]])).tolist() == [
        [1.0, 7 / 3, 7 / 3, 7 / 3, 9.0],
        [0.0, 0.0, 0.0, 5.0, 5.0],
    ]


def test_the_largest_marginals_are_part_of_no_other() -> None:
    layout = Layout.of([2] * 5, [(0,), (0, 1), (1, 2, 3), (2, 3), (4,), ()])
    assert layout.largest() == [(0, 1), (1, 2, 3), (4,)]


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
        assert (session.budget.status().share or 2) <= 1
        assert not queries[10].quote(share="1/10").admitted
        with pytest.raises(BudgetExceeded):
            queries[10].answer(share="1/10")
        spent = session.budget.spent
        assert queries[3].answer(share="1/10").release_id != queries[4].answer(share="1/10").release_id
        assert session.budget.spent == spent  # what was paid for is found again, by the same share


@all_cases("budget", BUDGETS)
def test_a_margin_is_reached_in_every_table_whatever_the_budget_counts(budget: gt.privacy.Guarantee) -> None:
    with _session(budget=budget) as session:
        quote = session.workload(TABLES).quote(margin=200)
        assert max(line["margin"] for line in quote.lines) <= 200
        assert max(line["margin"] for line in quote.lines) >= 199
        answer = session.workload(TABLES).answer(margin=200)
        assert answer["day"].columns[1].margins[-1] <= 200  # type: ignore[operator]  # (numbers)
        spent = session.budget.spent
        session.workload(TABLES).answer(margin=200)
        assert session.budget.spent == spent


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
        (better,) = dear.advice
        other = session.workload(FEW).quote(**better.terms)
        assert other.share is not None
        assert dear.share is not None
        assert other.share <= dear.share
        narrower = 1 - float(other.margins["sex"] or 0) / float(dear.margins["sex"] or 0)
        assert abs(narrower - better.narrower) < 0.01
        assert str(better) in str(dear)
        assert not other.advice
        (better,) = session.workload(TABLES).quote(epsilon="1/20").advice
        assert set(better.terms) == {"mu"}


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
        dearer = query.quote(**terms | {name: fits * Fraction(101, 100)})
        assert not dearer.admitted or (dearer.spend.startswith("ε") and "δ" not in dearer.spend)  # Laplace noise fits
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
