"""Shares are measured in one contestant of the race, the meter: what it is, who fixes it, and what ends it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import giveortake as gt
from cases import all_cases
from giveortake.configuration import protection_arguments
from giveortake.errors import BudgetExceeded, InvalidParameter, LedgerMismatch, Unpriced
from giveortake.session import Session
from giveortake.session.session import mechanism_of
from tiers import tiered

ROWS = pl.DataFrame({"p": range(60), "k": [i % 5 for i in range(60)], "x": [float(i) for i in range(60)]})
COUNT = "SELECT COUNT(*) AS n FROM t"
QUESTIONS = (
    "SELECT COUNT(*) AS n FROM t WHERE x > {i}",
    "SELECT k, COUNT(*) AS n FROM t WHERE x > {i} GROUP BY k",
    "SELECT SUM(x) AS s, COUNT(*) AS n FROM t WHERE x > {i}",
    "SELECT MEDIAN(x) AS m FROM t WHERE x > {i}",
)
BUDGET = gt.ApproxDP("1", "1e-6")
SUMS = {"epsilon": "sum of ε", "mu": "sum of μ²", "renyi": "Rényi divergences of order 23"}


def session(budget: Any = BUDGET, **said: Any) -> Session:
    options = {"unit": "p", "name": "t", "domains": {"x": (0, 60), "k": list(range(5))}, "budget": budget}
    return gt.protect(ROWS, **protection_arguments({**options, "rows_per_person": 1, **said}))


def metered(meter: str | None, **said: Any) -> Session:
    return session(ledger=":memory:", **({} if meter is None else {"meter": meter}), **said)


def used(s: Session) -> Fraction:
    share = s.budget.used
    assert share is not None
    return share


purchases = st.lists(
    st.tuples(
        st.sampled_from(QUESTIONS),
        st.sampled_from(["share", "epsilon", "margin"]),
        st.fractions("1/50", "1/3", max_denominator=60),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=tiered(12, 60), deadline=None)
@given(purchases, st.sampled_from([None, *SUMS]))
def test_shares_that_add_up_to_at_most_one_fit_whatever_they_are_spent_on(
    history: list[tuple[str, str, Fraction]], meter: str | None
) -> None:
    """And each takes what its quote says, of either noise the narrower: against all noise that costs no more there."""
    with metered(meter) as s:
        for index, (question, way, size) in enumerate(history):
            before, left = used(s), 1 - used(s)
            query = s.sql(question.format(i=index))
            terms: Any = {"margin": 400} if way == "margin" else {way: size}
            if way == "margin" and "MEDIAN" in question:
                continue
            quote = query.quote(**terms)
            if way == "share":
                assert quote.admitted == (size <= left)
            if not quote.admitted:
                with pytest.raises(BudgetExceeded):
                    query.answer(**terms)
                assert used(s) == before
                continue
            was = s.budget.meter
            narrowest = _narrowest(s, query, size) if way == "share" else None
            query.answer(**terms)
            assert s.budget.meter == quote.meter
            assert quote.used_after == used(s)
            if was in {None, s.budget.meter}:
                assert quote.share == used(s) - before
            else:
                assert any(str(was) in note and str(quote.meter) in note for note in quote.notes)
            if way == "share":
                assert used(s) <= before + size
                assert narrowest is None or _width(quote) <= narrowest * 1.001


def _width(quote: gt.session.Quote) -> float:
    widths = [float(margin) for margin in quote.margins.values() if isinstance(margin, int | float)]
    return sum(widths)


def _narrowest(s: Session, query: Any, share: Fraction) -> float | None:
    """The least width of either noise among spends on a grid that cost no more of the meter."""
    if s.budget.meter is None or "ranks" in str(query.quote(epsilon=1).margins):
        return None
    trial, widths = mechanism_of(s).trial(), []
    for kind in ("epsilon", "mu"):
        for step in range(60):
            terms = {kind: Fraction(1, 1) * Fraction(9, 10) ** step}
            bound = query.request.bind(mechanism_of(s), query.terms(terms))
            priced = bound.at(query.terms(terms).spend)
            cost = trial.share_of(bound.event(priced))
            if cost is not None and cost <= share:
                widths.append(_width(query.quote(**terms)))
                break
    return min(widths, default=None)


@all_cases("meter", list(SUMS))
def test_the_custodian_fixes_a_meter_and_the_first_charge_does_not(meter: str) -> None:
    with metered(meter) as s:
        assert s.budget.meter == SUMS[meter]
        quote = s.sql(COUNT).quote(share="1/50")
        assert quote.meter == SUMS[meter]
        assert (quote.spend == "ε = 0.02") == (meter == "epsilon")
        s.sql(COUNT).answer(share="1/50")
        assert used(s) <= Fraction(1, 50)
        assert used(s) > Fraction(199, 10_000)
        assert quote.more in {48, 49}
        assert s.budget.meter == SUMS[meter]


def test_the_first_charge_fixes_the_contestant_in_which_it_takes_least() -> None:
    for terms, meter in (({"epsilon": "0.5"}, "epsilon"), ({"mu": "0.02"}, "mu"), ({"epsilon": "0.01"}, "renyi")):
        with session() as s:
            assert s.budget.meter is None
            s.sql(COUNT).answer(**terms)
            assert s.budget.meter == SUMS[meter]


def test_an_analysts_meter_is_in_the_ledger_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "all.ledger"
    with session(gt.ApproxDP("3", "1e-6"), ledger=str(path)):
        pass
    with gt.ledger.open(path) as book:
        book.analyst("ann", datasets=["t"], budget=gt.ApproxDP("1", "1e-7"), meter="epsilon")
        book.analyst("ann", datasets=["t"], budget=gt.ApproxDP("1", "1e-7"), meter="epsilon")  # the same again
        with pytest.raises(LedgerMismatch) as refused:
            book.analyst("ann", datasets=["t"], budget=gt.ApproxDP("1", "1e-7"), meter="mu")
        assert refused.value.field == "meter"
        for wrong in ("rho", "epsilon"):
            nonsense: Any = wrong
            with pytest.raises(InvalidParameter):  # no meter; and a pure budget has one sum alone
                book.analyst("bob", datasets=["t"], budget=gt.PureDP("1/2"), meter=nonsense)
    with session(gt.ApproxDP("3", "1e-6"), ledger=str(path), analyst="ann") as s:
        assert s.sql(COUNT).quote(share="1/100").spend == "ε = 0.01"
        s.sql(COUNT).answer(share="1/100")
    with gt.ledger.open(path) as book:
        level = book.levels(analyst="ann", dataset="t")[0]
        assert (level.meter, level.share) == ("sum of ε", Fraction(1, 100))
        changed = book.change_budget(level, gt.ApproxDP("2", "1e-7"), reason="more")
        assert (changed.meter, changed.share) == ("sum of ε", Fraction(1, 200))
        book.verify()


def test_an_allotment_leaves_the_peoples_meter_as_it_was_fixed() -> None:
    with gt.ledger.open(":memory:") as book:
        with session(gt.ApproxDP("3", "1e-6"), ledger=book, meter="epsilon") as s:
            book.analyst("ann", datasets=["t"], budget=gt.ApproxDP("1", "1e-7"))
            assert s.sql(COUNT).quote(share="1/100").spend == "ε = 0.02"  # of what is not given away
            s.sql(COUNT).answer(share="1/100")
            assert s.budget.meter == "sum of ε"
        book.verify()


def test_a_stated_spend_that_ends_the_meter_is_told_before_and_the_rest_is_measured_anew() -> None:
    with metered("epsilon") as s:
        s.sql(COUNT).answer(epsilon="0.2")
        gaussian = s.sql(QUESTIONS[0].format(i=1))
        quote = gaussian.quote(mu="0.05")
        assert any("ends the sum of ε" in note and str(quote.meter) in note for note in quote.notes)
        assert s.budget.meter == "sum of ε"
        gaussian.answer(mu="0.05")
        assert (s.budget.meter, used(s)) == (quote.meter, quote.used_after)
        later = s.sql(QUESTIONS[0].format(i=2)).quote(mu="0.05")
        assert not any("ends the" in note for note in later.notes)


def test_a_share_or_a_margin_that_would_end_the_meter_at_a_loss_is_offered_and_not_taken() -> None:
    with metered("epsilon") as s:
        s.sql(COUNT).answer(epsilon="0.1")
        spent = s.budget.spent
        for terms in ({"share": "1/20"}, {"margin": 60}):
            counter = s.counter("k", horizon=5)
            quote = counter.quote(**terms)
            assert not quote.admitted
            with pytest.raises(BudgetExceeded) as refused:
                counter.answer(**terms)
            assert 'mu="0.' in str(refused.value.hint)
        assert s.budget.spent == spent
        assert s.counter("k", horizon=5).quote(mu="0.04").admitted  # as it was offered


def test_a_pair_becomes_laplace_noise_where_that_is_no_dearer_in_the_meter() -> None:
    pair: Any = {"epsilon": "0.1", "delta": "1e-9"}
    with metered("epsilon") as s:
        quote = s.sql(COUNT).quote(**pair)
        assert quote.spend == "ε = 0.1"
        gaussian = s.sql(COUNT).quote(mu="0.0168")  # what (0.1, 1e-9) buys
        assert 2 * _width(quote) < _width(gaussian)
        answer = s.sql(COUNT).answer(**pair)
        assert answer.cost == gt.PureDP("0.1", unit=gt.unit("p"))
        assert s.sql(COUNT).answer(epsilon="0.1").release_id == answer.release_id  # one purchase
        assert s.budget.meter == "sum of ε"
    with metered("mu") as s:
        quote = s.sql(COUNT).quote(**pair)
        assert quote.spend.startswith("ε = 0.1, δ")
        s.sql(COUNT).answer(**pair)
        assert s.sql(COUNT).quote(**pair).paid
    with session(gt.PureDP(1)) as s:
        assert s.sql(COUNT).answer(**pair).cost == gt.PureDP("0.1", unit=gt.unit("p"))
        many = (
            "SELECT k, COUNT(*) AS n, "
            + ", ".join(f"SUM(x * {i}) AS s{i}" for i in range(1, 14))
            + " FROM t GROUP BY k"
        )
        with pytest.raises(Unpriced):  # Laplace noise would be wider: what was stated is not made worse in silence
            s.sql(many).answer(epsilon="0.1", delta="1e-2")


def test_what_was_paid_for_at_a_share_is_free_after_the_meter_ended() -> None:
    with metered("epsilon") as s:
        first = s.sql(COUNT).answer(share="1/10")
        s.sql(QUESTIONS[0].format(i=1)).answer(mu="0.05")
        assert s.budget.meter != "sum of ε"
        spent = s.budget.spent
        assert s.sql(COUNT).answer(share="1/10").release_id == first.release_id
        assert s.budget.spent == spent


def test_only_a_pure_budget_says_which_epsilon_is_left() -> None:
    for budget, tells in ((gt.PureDP(1), True), (BUDGET, False), (gt.ZCDP("1/10"), False)):
        with session(budget) as s:
            s.sql(COUNT).answer(share="1/10")
            assert ("ε = 0.9 is left" in repr(s)) == tells
            assert "10 % of the budget is used" in repr(s)
            assert s.budget.affordable
