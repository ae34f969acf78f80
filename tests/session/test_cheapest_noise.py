"""Where a margin or a share of the budget is said, the noise is chosen: whichever leaves more, or is narrower."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.accounting import filter as filter_of
from giveortake.configuration import protection_arguments
from giveortake.errors import BudgetExceeded, InvalidParameter, Unpriced
from giveortake.ledger.chain.entries import event_from_dict
from giveortake.privacy import events
from giveortake.session import Session
from tiers import tiered

ROWS = pl.DataFrame({"p": range(200), "k": [i % 5 for i in range(200)], "x": [float(i % 100) for i in range(200)]})
COUNT = "SELECT COUNT(*) AS n FROM t"
TIMES: Any = tiered((1, 10), (1, 3, 10, 40))
SHAPES = (
    "SELECT COUNT(*) AS n FROM t WHERE x > {i}",
    "SELECT AVG(x) AS m FROM t WHERE x > {i}",
    "SELECT k, COUNT(*) AS n FROM t WHERE x > {i} GROUP BY k",
    "SELECT MEDIAN(x) AS m FROM t WHERE x > {i}",
    "SELECT SUM(x) AS total, COUNT(*) AS n FROM t WHERE x > {i}",
)
BUDGETS = {
    "ε": gt.PureDP("1"),
    "(ε, δ)": gt.ApproxDP("1", "1e-6"),
    "a small (ε, δ)": gt.ApproxDP("0.07", "1e-9"),
    "ρ": gt.ZCDP("0.1"),
    "μ": gt.GaussianDP("0.3"),
    "Rényi": gt.RenyiDP({2: "0.1", 8: "0.3", 32: "1"}),
}


def session(budget: Any = BUDGETS["(ε, δ)"], **said: Any) -> Session:
    domains = {"x": (0, 100), "k": list(range(5))}
    caps = {"groups_per_person": 1, "rows_per_group": 1}
    options = {"unit": "p", "name": "t", "domains": domains, "budget": budget, **caps, **said}
    return gt.protect(ROWS, **protection_arguments(options))


def used(s: Session) -> Fraction:
    """The used part of the budget."""
    share = s.budget.status().share
    assert share is not None
    return share


# -- shares -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BUDGETS)
def test_ten_tenths_fit_whatever_they_are_spent_on_and_not_an_eleventh(name: str) -> None:
    with session(BUDGETS[name]) as s:
        for i in range(10):
            s.sql(SHAPES[i % len(SHAPES)].format(i=i)).answer(share="1/10")
            assert used(s) <= Fraction(i + 1, 10)
        assert used(s) > Fraction(95, 100)  # a mixture of noises may leave a little
        before = s.budget.spent
        with pytest.raises(BudgetExceeded):
            s.sql(SHAPES[0].format(i=10)).answer(share="1/10")
        assert s.budget.spent == before


def test_shares_of_different_sizes_that_add_up_to_one_fit() -> None:
    with session() as s:
        for i, share in enumerate(("1/2", "1/100", "1/3", "1/20", "1/3000", "319/3000")):
            s.sql(SHAPES[i % len(SHAPES)].format(i=i)).answer(share=share)
        with pytest.raises(BudgetExceeded):
            s.sql(COUNT).answer(share="1/1000")


def test_a_share_is_what_fits_that_often_from_an_empty_budget() -> None:
    """k charges of a share of 1/k fit a new filter, one after the other, and one more does not."""
    for name, budget in BUDGETS.items():
        for times in TIMES:
            with session(budget) as s:
                s.sql(COUNT).answer(share=Fraction(1, times))
                (charged,) = [entry.content["event"] for entry in s.history() if entry.kind == "reserved"]
            guard, event = filter_of(budget), event_from_dict(charged)
            for _ in range(times):
                guard.charge(event)
            assert not guard.admits(event), (name, times)


def test_shares_around_other_charges_are_shares_of_the_whole_budget() -> None:
    with session() as s:
        s.sql(COUNT).answer(epsilon="0.5")
        before = used(s)
        s.sql(SHAPES[1].format(i=1)).answer(share="1/4")
        assert before < used(s) <= before + Fraction(1, 4)
        with pytest.raises(BudgetExceeded):
            s.sql(SHAPES[0].format(i=1)).answer(share="0.9")


def test_large_shares_are_pure_and_small_ones_are_not() -> None:
    with session() as s:
        large, small = s.sql(COUNT).quote(share="1/2"), s.sql(COUNT).quote(share="1/1000")
    assert large.spend == "ε = 0.5"
    assert any(each.startswith("Laplace noise") and "50 %" in each for each in large.notes)
    assert small.spend.startswith("μ = ")
    assert any(each.startswith("Gaussian noise") for each in small.notes)


def test_a_share_does_not_end_the_contestant_that_has_most_left() -> None:
    """Laplace noise filled the other contestants, so that Gaussian noise, which ends the sum of ε, is not taken."""
    with session() as s:
        assert s.sql(COUNT).quote(share="1/10").spend.startswith("μ")
        s.sql(COUNT).answer(epsilon="0.5")
        answer = s.sql(SHAPES[0].format(i=1)).answer(share="1/10")
        assert answer.cost == gt.PureDP("0.1", unit=gt.unit("p"))
        assert any(each.startswith("Laplace noise") for each in answer.notes)
        assert used(s) == Fraction(6, 10)


def test_the_same_question_at_the_same_share_is_free_even_if_another_noise_would_be_chosen_now() -> None:
    with session() as s:
        first = s.sql(COUNT).answer(share="1/8")
        s.sql(SHAPES[3].format(i=1)).answer(mu="0.1")  # ends the sum of ε
        spent = s.budget.spent
        again = s.sql(COUNT).answer(share="1/8")
        assert again.value == first.value
        assert s.budget.spent == spent
        assert any(each.startswith("Laplace noise") for each in again.notes)
        assert s.sql(SHAPES[0].format(i=1)).quote(share="1/8").spend.startswith("μ")


def test_a_retry_with_the_same_key_finds_the_same_share() -> None:
    with session() as s:
        first = s.sql(COUNT).answer(share="1/10", key="one")
        assert s.sql(COUNT).answer(share="1/10", key="one").value == first.value


def test_found_keys_take_the_same_share_of_their_pot() -> None:
    with session(gt.ApproxDP("4", "1e-5"), domains={"x": (0, 100)}) as s:
        for i in range(10):
            s.sql(SHAPES[2].format(i=i)).answer(share="1/10")
        assert 0 <= s.budget.left["δ"] < Fraction(1, 2 * 10**6)  # thresholds are whole numbers, which spend less
        with pytest.raises(BudgetExceeded):
            s.sql(SHAPES[2].format(i=10)).answer(share="1/10")


def test_an_analysts_share_is_one_of_the_allotment() -> None:
    with gt.ledger.open(":memory:") as book:
        with session(gt.ApproxDP("2", "1e-6"), ledger=book):
            pass
        book.analyst("ann", datasets=["t"], budget=gt.PureDP("0.5"))
        with session(gt.ApproxDP("2", "1e-6"), ledger=book, analyst="ann") as s:
            assert s.sql(COUNT).quote(share="1/10").spend == "ε = 0.05"
            for i in range(10):
                s.sql(SHAPES[0].format(i=i)).answer(share="1/10")
            with pytest.raises(BudgetExceeded):
                s.sql(SHAPES[0].format(i=10)).answer(share="1/10")


def test_a_share_in_a_part_of_a_partition_is_shared_by_the_parts() -> None:
    with session() as s:
        for part in s.partition("k").values():
            part.sql(COUNT).answer(share="1/10")
        assert used(s) <= Fraction(1, 10)


@all_cases("share", ["0", "-1/2", "11/10", "all"])
def test_a_share_is_above_zero_and_at_most_one(share: str) -> None:
    with session() as s, pytest.raises(InvalidParameter, match="share"):
        s.sql(COUNT).quote(share=share)


def test_a_share_is_no_spend_besides_another() -> None:
    with session() as s:
        others: list[Any] = [{"epsilon": 1}, {"margin": 5}, {"mu": 1}]
        for other in others:
            with pytest.raises(InvalidParameter):
                s.sql(COUNT).quote(share="1/2", **other)


def test_a_text_may_state_its_share() -> None:
    text = COUNT.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(share = 0.5)")
    with session() as s:
        assert s.sql(text).quote().spend == "ε = 0.5"
        assert s.sql(text).quote(share="1/4").spend == "ε = 0.25"
        assert s.sql(text).quote(epsilon="0.1").spend == "ε = 0.1"


# -- margins ----------------------------------------------------------------------------------------------------------


def test_a_margin_is_bought_with_the_noise_that_leaves_more() -> None:
    """Laplace noise for the dear question, Gaussian noise for the cheap one: checked by replaying it."""
    for margin, noise in ((10, "Laplace"), (60, "Gaussian")):
        with session() as s:
            told = s.sql(COUNT).quote(margin=margin)
        assert any(each.startswith(f"{noise} noise") for each in told.notes)
        often = {}
        for kind, at in (("Laplace", _epsilon(margin)), ("Gaussian", _mu(margin))):
            guard, times = filter_of(BUDGETS["(ε, δ)"]), 0
            while guard.admits(at):
                guard.charge(at)
                times += 1
            often[kind] = times
        assert often[noise] == max(often.values())
        assert len(set(often.values())) == 2


def _epsilon(margin: int) -> events.Laplace:
    noise = next(b for b in range(1, 1000) if gt.mechanisms.Laplace(b).margin() >= margin)
    return gt.mechanisms.Laplace(noise).event()


def _mu(margin: int) -> events.Gaussian:
    noise = next(b for b in range(1, 1000) if gt.mechanisms.Gaussian(b).margin() >= margin)
    return gt.mechanisms.Gaussian(noise).event()


def test_once_the_sum_of_ε_is_closed_margins_are_bought_with_gaussian_noise() -> None:  # noqa: PLC2401 (its name)
    with session() as s:
        assert s.sql(COUNT).quote(margin=24).spend.startswith("ε")
        s.sql(SHAPES[3].format(i=1)).answer(mu="0.1")
        assert s.sql(COUNT).quote(margin=24).spend.startswith("μ")


def test_a_margin_that_was_paid_for_is_free_though_another_noise_would_be_chosen_now() -> None:
    with session() as s:
        first = s.sql(COUNT).answer(margin=24)
        s.sql(SHAPES[3].format(i=1)).answer(mu="0.1")
        spent = s.budget.spent
        assert s.sql(COUNT).answer(margin=24).value == first.value
        assert s.budget.spent == spent


def test_what_another_analyst_paid_for_does_not_decide_the_noise() -> None:
    with gt.ledger.open(":memory:") as book:
        with session(gt.ApproxDP("4", "1e-6"), ledger=book):
            pass
        book.analyst("ann", datasets=["t"], budget=gt.ApproxDP("1", "1e-7"))
        book.analyst("bob", datasets=["t"], budget=gt.ApproxDP("1", "1e-7"))
        told = []
        for name in ("ann", "bob"):
            with session(gt.ApproxDP("4", "1e-6"), ledger=book, analyst=name) as s:
                told.append(s.sql(COUNT).quote(margin=20).notes)
                s.sql(COUNT).answer(margin=20)
        assert told[0] == told[1]


def test_a_pure_budget_has_no_price_for_gaussian_noise() -> None:
    with gt.protect(pl.DataFrame({"x": [1, 2]}), name="t", unit=gt.ROW, budget=gt.PureDP(1)) as s:
        quote = s.sql(COUNT).quote(rho="1/1000")
        assert not quote.admitted
        with pytest.raises(Unpriced):
            s.sql(COUNT).answer(rho="1/1000")
        assert s.budget.spent == 0


# -- whatever is bought -----------------------------------------------------------------------------------------------

OF_EVERY_KIND: dict[str, Callable[[Session], Any]] = {
    "batch": lambda s: s.batch([COUNT, "SELECT k, AVG(x) AS m FROM t GROUP BY k"]),
    "workload": lambda s: s.workload(gt.workload.marginals(["k"]) + gt.workload.ranges("x", bins=10)),
    "counter": lambda s: s.counter("k", horizon=5),
    "profile": lambda s: s.profile(columns=["x"]),
    "weights": lambda s: s.weights(["k"], accuracy="0.3", queries=5),
}
WITH_MARGIN = ("batch", "workload", "counter")


@all_cases("budget", [gt.ApproxDP("1", "1e-6"), gt.ZCDP("1/10")])
def test_ten_tenths_fit_whatever_is_bought_with_them_and_not_an_eleventh(budget: Any) -> None:
    with session(budget, rows_per_person=1) as s:
        for tenths, query in enumerate((make(s) for make in OF_EVERY_KIND.values()), start=1):
            quote = query.quote(share="1/10")
            query.answer(share="1/10")
            assert Fraction(tenths, 10) - Fraction(5, 100) < used(s) <= Fraction(tenths, 10)
            assert quote.admitted
            before = s.budget.spent
            query.answer(share="1/10")  # at the price that was paid
            assert s.budget.spent == before
        terms: Any = {"columns": ["k", "x"], "bins": {"x": [0, 50, 100]}, "share": "1/10"}
        assert gt.synth.quote(s, **terms).admitted
        gt.synth.synthesize(s, **terms)
        assert Fraction(55, 100) < used(s) <= Fraction(6, 10)
        for i in range(4):
            s.sql(SHAPES[i].format(i=i)).answer(share="1/10")
        for make in OF_EVERY_KIND.values():
            with pytest.raises(BudgetExceeded):
                make(s).answer(share="1/9")  # 1/10 was paid for
        assert not s.workload(gt.workload.total()).quote(share="1/10").admitted


@all_cases("kind", WITH_MARGIN)
def test_a_margin_of_whatever_is_bought_is_reached_with_no_more_than_it_takes(kind: str) -> None:
    with session(gt.ApproxDP("50", "1e-6"), rows_per_person=1) as s:
        query = OF_EVERY_KIND[kind](s)
        query = s.batch([COUNT, "SELECT k, SUM(x) AS a FROM t GROUP BY k"]) if kind == "batch" else query
        quote = query.quote(margin=150)
        assert 149 < max(quote.margins.values()) <= 150
        query.answer(margin=150)
        assert s.budget.spent
        assert query.quote(margin=150).paid


def test_a_margin_of_what_has_none_is_refused_by_name() -> None:
    with session(rows_per_person=1) as s:
        for kind in OF_EVERY_KIND.keys() - WITH_MARGIN:
            for call in (OF_EVERY_KIND[kind](s).quote, OF_EVERY_KIND[kind](s).answer):
                with pytest.raises(InvalidParameter) as refused:
                    call(margin=10)
                assert refused.value.name == "margin"
        assert used(s) == 0
