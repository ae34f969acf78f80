"""Proposed spends fit the budget, buy about the noise that they are proposed for, and are never more than is left."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import giveortake as gt
from cases import some_examples
from giveortake.session import proposals

spends = st.fractions(min_value=Fraction(1, 10**6), max_value=100, max_denominator=10**6)
currencies = st.sampled_from(["epsilon", "rho", "mu"])


@some_examples
@given(spends, currencies, currencies)
def test_a_spend_in_another_currency_is_about_the_same_spend_there_and_back(
    spend: Fraction, before: str, now: str
) -> None:
    again = proposals.converted(proposals.converted(spend, before, now), now, before)
    assert float(again) == pytest.approx(float(spend), rel=1e-6)


@some_examples
@given(spends, currencies, st.booleans())
def test_what_halves_an_interval_buys_four_times_the_precision(paid: Fraction, currency: str, refines: bool) -> None:
    more = proposals.needed(paid, currency, Fraction(1, 2), refines=refines)
    power = 1 if currency == "rho" else 2  # precision is ρ, or the square of ε or μ
    bought = more**power + (paid**power if refines else 0)
    assert float(bought) == pytest.approx(float(4 * paid**power), rel=1e-6)


@some_examples
@given(spends, spends, currencies, st.booleans())
def test_nothing_is_proposed_that_is_not_left(paid: Fraction, left: Fraction, currency: str, refinable: bool) -> None:
    way = proposals.narrowing(paid, left, currency, refinable=refinable)
    assert proposals.narrowing(paid, None, currency, refinable=refinable) is None
    if way is not None:
        assert 0 < way.spend <= left
        assert way.part < 1
        assert refinable or not way.refines


def test_the_greatest_spend_is_known_in_the_budgets_own_currency_and_as_a_pure_one() -> None:
    def greatest(budget: gt.privacy.Guarantee, currency: str) -> Fraction | None:
        return proposals.greatest_spend(budget, currency, remaining=Fraction(1, 4), affordable=Fraction(1, 3))

    assert greatest(gt.ZCDP(1), "rho") == Fraction(1, 4)
    assert greatest(gt.GaussianDP(1), "mu") == Fraction(1, 2)  # the sum of squares is 1/4
    assert greatest(gt.ApproxDP(1, "1e-6"), "epsilon") == Fraction(1, 3)
    assert {greatest(gt.ApproxDP(1, "1e-6"), currency) for currency in ("rho", "mu", "approximate")} == {None}
    assert proposals.rounded(Fraction(1, 3)) == Fraction("0.333")
    assert proposals.rounded(Fraction(1, 10**4)) is None
    assert proposals.usual_delta(gt.ApproxDP(1, "1e-6")) == Fraction(1, 10**8)
