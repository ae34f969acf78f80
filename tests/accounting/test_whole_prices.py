"""Spends that no filter rounds up above what was said."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

import giveortake as gt
from cases import some_examples
from giveortake.accounting.pricing import amount, grains_up, noise_multiplier, priced_within
from giveortake.privacy import events

FINEST = Fraction(1, 2**100)
AMOUNTS = st.fractions(min_value=Fraction(1, 10**20), max_value=1000, max_denominator=10**20)


@some_examples
@given(AMOUNTS)
def test_an_amount_that_is_priced_within_costs_no_more_and_loses_no_more_than_the_finest_step(spent: Fraction) -> None:
    within = priced_within(spent)
    assert amount(grains_up(within)) == within
    assert 0 <= spent - within < FINEST


@some_examples
@given(AMOUNTS)
def test_gaussian_noise_for_a_squared_mu_is_admitted_by_filters_of_just_that(square: Fraction) -> None:
    multiplier = noise_multiplier(square)
    once = events.Gaussian(multiplier)
    assert gt.accounting.filter(gt.ZCDP(square / 2)).admits(once)
    assert 1 / multiplier**2 <= square < 1 / multiplier**2 + 2 * FINEST + square / 2**90


@some_examples
@given(st.fractions(min_value=Fraction(1, 500), max_value=100, max_denominator=500), st.integers(1, 7))
def test_gaussian_noise_in_equal_parts_is_admitted_by_the_filter_of_mu(mu: Fraction, parts: int) -> None:
    guard = gt.accounting.filter(gt.GaussianDP(mu))
    for _ in range(parts):
        guard.charge(events.Gaussian(noise_multiplier(mu**2 / parts)))
    assert not guard.admits(events.Gaussian(noise_multiplier(mu**2 / parts)))


def test_what_is_a_fraction_already_stays_exact() -> None:
    assert noise_multiplier(Fraction(1, 100)) == 10
    assert priced_within(Fraction(1, 10)) == Fraction(1, 10)


def test_noise_below_the_finest_step_is_the_least_there_is() -> None:
    least = Fraction(1, 2**120)
    assert priced_within(least) == least
    assert noise_multiplier(least) == 2**60
    assert not gt.accounting.filter(gt.ZCDP(least)).admits(events.Gaussian(noise_multiplier(least)))
