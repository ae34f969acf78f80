"""Concentrated and Rényi promises: conversions against brute force, groups, and grids of orders."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from promise_strategies import ORDERS, deltas, renyi, sizes
from scipy.optimize import minimize_scalar

from giveortake.errors import Unprovable
from giveortake.privacy import ZCDP, RenyiDP
from tiers import tiered

LOG_LEAST = -300 * math.log(10)  # a δ below 1e-300 is rounded up to it
checked = settings(max_examples=tiered(30, 60), deadline=None)


def epsilon_of(alpha: float, divergence: float, delta: float) -> float:
    return divergence + math.log1p(-1 / alpha) - (math.log(delta) + math.log(alpha)) / (alpha - 1)


def log_delta_of(alpha: float, divergence: float, epsilon: float) -> float:
    return (alpha - 1) * (divergence - epsilon) + (alpha - 1) * math.log1p(-1 / alpha) - math.log(alpha)


def test_the_stated_values_of_the_specification() -> None:
    promise = ZCDP("1/2")
    assert float(promise.epsilon_at("1e-6")) == pytest.approx(5.221535, abs=1e-6)
    assert float(promise.epsilon_at_simple("1e-6")) == pytest.approx(5.756522, abs=5e-7)


@checked
@given(sizes, deltas)
def test_the_tight_conversion_is_never_above_the_simple_one(rho: Fraction, delta: Fraction) -> None:
    assert ZCDP(rho).epsilon_at(delta) <= ZCDP(rho).epsilon_at_simple(delta)


@checked
@given(st.floats(0.001, 20), st.floats(1e-9, 0.3))
def test_epsilon_at_is_the_infimum_over_orders(rho: float, delta: float) -> None:
    search = minimize_scalar(
        lambda log_excess: epsilon_of(1 + math.exp(log_excess), (1 + math.exp(log_excess)) * rho, delta),
        bounds=(-12, 12),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert float(ZCDP(rho).epsilon_at(delta)) == pytest.approx(max(0.0, search.fun), rel=1e-7, abs=1e-9)


@checked
@given(st.floats(0.01, 20), st.floats(0.001, 10))
def test_delta_at_is_the_infimum_over_orders(rho: float, epsilon: float) -> None:
    search = minimize_scalar(
        lambda log_excess: log_delta_of(1 + math.exp(log_excess), (1 + math.exp(log_excess)) * rho, epsilon),
        bounds=(-20, 12),
        method="bounded",
        options={"xatol": 1e-10},
    )
    expected = min(0.0, max(LOG_LEAST, search.fun))
    assert math.log(ZCDP(rho).delta_at(epsilon)) == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_rho_adds_and_groups_cost_the_square() -> None:
    assert ZCDP("0.1").compose(ZCDP("0.2")) == ZCDP("0.3")
    assert ZCDP("0.1").repeat(7) == ZCDP("0.7")
    assert ZCDP("0.1").group(3) == ZCDP("0.9")
    assert ZCDP("0.1").renyi([2, 10]) == RenyiDP({2: "0.2", 10: "1"})


@checked
@given(renyi, deltas)
def test_a_renyi_promise_is_as_good_as_its_best_order(promise: RenyiDP, delta: Fraction) -> None:
    best = min(epsilon_of(float(order), float(epsilon), float(delta)) for order, epsilon in promise.curve)
    assert float(promise.epsilon_at(delta)) == pytest.approx(max(0.0, best), rel=1e-9, abs=1e-12)


@checked
@given(renyi, st.fractions(min_value=0, max_value=30, max_denominator=100))
def test_a_renyi_delta_is_the_least_over_its_orders(promise: RenyiDP, epsilon: Fraction) -> None:
    best = min(log_delta_of(float(order), float(divergence), float(epsilon)) for order, divergence in promise.curve)
    assert math.log(promise.delta_at(epsilon)) == pytest.approx(min(0.0, max(LOG_LEAST, best)), abs=1e-8)


@checked
@given(sizes, deltas)
def test_fewer_orders_promise_less(rho: Fraction, delta: Fraction) -> None:
    few, many = ZCDP(rho).renyi(ORDERS[:2]), ZCDP(rho).renyi(ORDERS)
    assert ZCDP(rho).epsilon_at(delta) <= many.epsilon_at(delta) * (1 + Fraction(1, 10**12)) + Fraction(1, 10**12)
    assert many.epsilon_at(delta) <= few.epsilon_at(delta)


def test_renyi_promises_add_at_the_orders_they_share() -> None:
    assert RenyiDP({2: 1, 4: 2}).compose(RenyiDP({4: 3, 8: 5})) == RenyiDP({4: 5})
    with pytest.raises(Unprovable, match="order"):
        RenyiDP({2: 1}).compose(RenyiDP({3: 1}))


def test_renyi_groups_follow_mironov_proposition_2() -> None:
    promise = RenyiDP({2: "0.1", 4: "0.2", 8: "0.4"})
    assert promise.group(2) == RenyiDP({2: "0.6", 4: "1.2"})
    assert promise.group(3) == promise.group(4) == RenyiDP({2: "3.6"})
    with pytest.raises(Unprovable, match="order"):
        promise.group(5)
    with pytest.raises(Unprovable, match="order"):
        promise.group(10**300)


@checked
@given(sizes)
def test_a_gaussian_group_respects_the_renyi_group_bound(mu: Fraction) -> None:
    """For Gaussian noise the exact group price, (α/2)(2μ)²/2 at order α/2, lies below Mironov's 3·αμ²/2."""
    whole = ZCDP(mu**2 / 2).renyi([4, 8]).group(2)
    for order, bound in whole.curve:
        assert order * (2 * mu) ** 2 / 2 <= bound
