"""Exact amounts: what fits to the last digit fits, and nothing after."""

from __future__ import annotations

import copy
import re
from fractions import Fraction
from math import exp, log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import all_cases, some_examples
from filter_strategies import BUDGETS, admitted
from giveortake.accounting import pricing
from giveortake.accounting.filters import filter  # noqa: A004
from giveortake.accounting.pricing import Divergence, Epsilon, Rho, SquaredMu
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, events


@all_cases("budget", [PureDP("1"), ApproxDP("1", "1e-6")])
@all_cases("tenth", [events.Pure(0.1), events.Laplace(10), events.AboveThreshold("1/10")])
def test_ten_tenths_fit_one_and_nothing_after_not_even_1e_300(budget: Guarantee, tenth: events.Event) -> None:
    guard = filter(budget)
    assert admitted(guard, tenth) == 10
    assert not guard.admits(events.Pure("1e-300"))


def test_three_tenths_fit_three_tenths() -> None:
    guard = filter(PureDP(0.3))
    assert admitted(guard, events.Pure(0.1)) == 3
    assert guard.remaining == 0
    assert not guard.admits(events.Pure("1e-300"))


@all_cases("denominator", [3, 7, 11, 17, 49, 64, 97, 100])
def test_every_small_share_of_a_budget_fits_exactly_as_often(denominator: int) -> None:
    guard = filter(PureDP(1))
    assert admitted(guard, events.Pure(Fraction(1, denominator))) == denominator
    assert guard.spent == 1


def test_the_smallest_amount_is_counted() -> None:
    guard = filter(PureDP(1))
    guard.charge(events.Pure("1e-300"))
    assert guard.spent == Fraction(1, 10**300)


@some_examples
@given(st.fractions(min_value=0, max_value=10))
def test_grains_round_prices_up_and_limits_down(number: Fraction) -> None:
    assert number <= pricing.amount(pricing.grains_up(number)) <= number + Fraction(1, 2**100)
    assert number - Fraction(1, pricing.GRAINS) < pricing.amount(pricing.grains_down(number)) <= number


@some_examples
@given(st.fractions(min_value=0, max_value=1, max_denominator=100))
def test_short_fractions_and_their_squares_are_exact(number: Fraction) -> None:
    for exactly in (number, number**2 / 2, number / 10**20):
        assert pricing.amount(pricing.grains_up(exactly)) == exactly


@some_examples
@given(st.fractions(min_value=Fraction(1, 10**6), max_value=3))
def test_irrational_prices_are_multiples_of_a_small_power_of_two(epsilon: Fraction) -> None:
    for currency in (SquaredMu(), Divergence(Fraction(23))):
        price = currency.pure(epsilon)
        assert price in {epsilon, currency.pure(epsilon)}
        assert pricing.grains_up(price) % (pricing.GRAINS >> 100) == 0 or price in {
            epsilon,
            Fraction(23) * epsilon**2 / 2,
        }


def test_an_irrational_price_is_rounded_up() -> None:
    for epsilon in (Fraction(1, 7), Fraction(1), Fraction(3)):
        assert SquaredMu().pure(epsilon) >= PureDP(epsilon).gaussian().mu ** 2
        ((_, divergence),) = PureDP(epsilon).renyi([23]).curve
        assert Divergence(Fraction(23)).pure(epsilon) >= divergence


def test_a_divergence_is_read_at_no_lower_order() -> None:
    curve = [(Fraction(2), Fraction(1)), (Fraction(4), Fraction(3)), (Fraction(8), Fraction(5))]
    assert [Divergence(Fraction(order)).renyi(curve) for order in (2, 3, 4, 8, 9)] == [1, 3, 3, 5, None]


@all_cases("budget", BUDGETS)
def test_totals_stay_short_under_amounts_with_ever_new_denominators(budget: Guarantee) -> None:
    guard = filter(budget)
    for denominator in range(10**6 + 1, 10**6 + 400):
        guard.charge(events.Pure(Fraction(1, denominator)))
    for account in guard.accounts:
        assert account.spent.denominator <= pricing.GRAINS
    assert len(str(guard.snapshot())) < 6000


def test_prices_are_the_stated_theorems() -> None:
    def price(event: events.Event, currency: Epsilon | Rho | SquaredMu | Divergence) -> Fraction | None:
        grains = pricing.price(event, currency, "add-remove")
        return None if grains is None else pricing.amount(grains)

    assert price(events.Laplace(10), Epsilon()) == Fraction(1, 10)
    assert price(events.Laplace(10), Rho()) == Fraction(1, 200)
    assert price(events.Exponential("0.1"), Rho()) == Fraction(1, 800)
    assert price(events.Gaussian(10), Rho()) == Fraction(1, 200)
    assert price(events.Gaussian(10), SquaredMu()) == Fraction(1, 100)
    assert price(events.Gaussian(10), Divergence(Fraction(8))) == Fraction(8, 200)
    assert price(events.DiscreteGaussian(10, 2), Rho()) == Fraction(1, 50)
    assert price(events.Pure(5), Rho()) == 5
    assert price(events.Approx(0, "1e-9"), Rho()) == 0
    assert price(events.Gaussian(10), Epsilon()) is None
    assert price(events.ZCDP(1), SquaredMu()) is None


def test_parallel_parts_cost_the_largest_in_each_currency_and_count_what_is_touched() -> None:
    # in ε the first part is the largest, in ρ the second
    parts = [events.Exponential("0.15"), events.Laplace(10), events.Pure("0.01")]
    one, two, all_of_them = (events.Parallel(parts, touched=count) for count in (1, 2, 9))
    costs = {
        touched: tuple(pricing.amount(pricing.price(event, c, "add-remove") or 0) for c in (Epsilon(), Rho()))
        for touched, event in ((1, one), (2, two), (9, all_of_them))
    }
    assert costs[1] == (Fraction("0.15"), Fraction("0.005"))
    assert costs[2] == (Fraction("0.25"), Fraction("0.005") + Fraction("0.0225") / 8)
    assert costs[9] == (Fraction("0.26"), costs[2][1] + Fraction("0.00005"))


def test_parallel_parts_spend_the_largest_deltas() -> None:
    parts = [events.Approx("0.1", "1e-9"), events.DiscoveredKeys("0.2", "3e-9"), events.Pure("0.1")]
    assert pricing.amount(pricing.failure(events.Parallel(parts), "add-remove")) == Fraction(3, 10**9)
    assert pricing.amount(pricing.failure(events.Repeated(events.Composed(parts), 5), "add-remove")) == Fraction(
        20, 10**9
    )


@some_examples
@given(
    st.fractions(min_value=Fraction(1, 100), max_value=5, max_denominator=100),
    st.sampled_from([Fraction(3, 2), Fraction(2), Fraction(8), Fraction(64)]),
)
def test_laplace_noise_costs_the_integral_that_defines_its_divergence(epsilon: Fraction, order: Fraction) -> None:
    """The density ratio is e^ε left of 0, e^-ε right of ε and e^(ε−2x) between: three exact pieces, in floats."""
    e, a = float(epsilon), float(order)
    between = exp(a * e) * (1 - exp(-(2 * a - 1) * e)) / (2 * a - 1) * exp(-e)
    moment = (exp((a - 1) * e) + between + exp(-a * e)) / 2
    exactly = log(moment) / (a - 1)
    price = float(Divergence(order).laplace(epsilon))
    assert price == pytest.approx(exactly, rel=1e-9, abs=1e-12)
    assert Divergence(order).laplace(epsilon) <= Divergence(order).pure(epsilon)


@some_examples
@given(st.fractions(min_value=Fraction(1, 50), max_value=2, max_denominator=50), st.integers(2, 40))
def test_randomized_response_attains_the_pure_price(epsilon: Fraction, order: int) -> None:
    truth, lie = exp(epsilon) / (1 + exp(epsilon)), 1 / (1 + exp(epsilon))
    moment = truth**order * lie ** (1 - order) + lie**order * truth ** (1 - order)
    assert float(Divergence(Fraction(order)).pure(epsilon)) == pytest.approx(log(moment) / (order - 1), rel=1e-9)


def test_releases_from_samples_are_priced_by_the_promise_they_make() -> None:
    sampled = events.Subsampled(events.Pure(1), "0.01")
    guard = filter(PureDP(1))
    guard.charge(sampled)
    assert isinstance(guard.spent, Fraction)
    assert Fraction("0.017036") < guard.spent < Fraction("0.017037")
    assert guard.spent.denominator <= 2**100
    assert not filter(PureDP(1)).admits(events.Subsampled(events.Gaussian(1), "0.01"))
    assert filter(ApproxDP(1, "1e-6")).admits(events.Subsampled(events.Gaussian(20), "0.1"))


def test_what_a_race_has_left_is_told_in_questions_and_counted_exactly() -> None:
    guard = filter(ApproxDP(1, "1e-6"))
    for _ in range(3):
        guard.charge(events.Pure("0.1"))
    told = re.fullmatch(r"about (\d+) more questions at ε = 0\.1, or (\d+) at ε = 0\.01; .*", str(guard.remaining))
    assert told is not None
    for times, epsilon in zip(map(int, told.groups()), ("0.1", "0.01"), strict=True):
        twin = guard.copy()
        for _ in range(times):
            twin.charge(events.Pure(epsilon))
        assert not twin.admits(events.Pure(epsilon))
    assert repr(guard.spent).startswith("30 %")
    used: Any = guard.spent
    left: Any = guard.remaining
    assert (used["ε"], dict(left)["ε"]) == (Fraction(3, 10), Fraction(7, 10))
    assert copy.deepcopy(guard.remaining) == guard.remaining


def test_the_part_of_what_is_left_says_how_many_charges_fit() -> None:
    """Of a race the contestant that pays longest decides; what it would end does not count."""
    for budget in (PureDP(1), ApproxDP(1, "1e-6"), ZCDP("0.1"), GaussianDP("0.3")):
        for event in (events.Laplace(25), events.Gaussian(40)):
            guard, times = filter(budget), 0
            part = guard.part_of_rest(event)
            while guard.admits(event):
                guard.charge(event)
                times += 1
            assert (part is None) == (times == 0)
            assert part is None or int(1 / part) == times
            assert guard.part_of_rest(event) is None
