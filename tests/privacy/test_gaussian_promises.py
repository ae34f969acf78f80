"""Gaussian promises against independent floats: the curve, its inverse, calibration and trade-off."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from promise_strategies import deltas, sizes
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from cases import all_cases
from giveortake.errors import InvalidParameter
from giveortake.privacy import ZCDP, GaussianDP, RenyiDP, gaussian_delta, gaussian_mu
from giveortake.privacy.definitions import rough_mu
from tiers import tiered

checked = settings(max_examples=tiered(30, 60), deadline=None)


def curve(mu: float, epsilon: float) -> float:
    """The same curve in floats, through logarithms so that e^ε·Φ(…) does not overflow."""
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon + norm.logcdf(-mu / 2 - epsilon / mu)))


@all_cases("mu", [0.1, 0.5, 1, 2, 5])
@all_cases("delta", [1e-10, 1e-6, 1e-3, 0.03])
def test_epsilon_at_solves_the_curve_as_a_root_finder_does(mu: float, delta: float) -> None:
    solved = brentq(lambda epsilon: curve(mu, epsilon) - delta, 0, 60, xtol=1e-13)
    assert float(GaussianDP(mu).epsilon_at(delta)) == pytest.approx(solved, rel=1e-6)


def test_the_stated_values_of_the_specification() -> None:
    assert float(GaussianDP(1).epsilon_at("1e-6")) == pytest.approx(4.886554, abs=5e-7)
    assert float(1 / gaussian_mu(1, "1e-5")) == pytest.approx(3.730631635, abs=5e-10)


@checked
@given(st.floats(0.05, 6), st.floats(0.001, 12))
def test_the_curve_agrees_with_floats(mu: float, epsilon: float) -> None:
    exact = GaussianDP(mu).delta_at(epsilon)
    assert float(exact) == pytest.approx(curve(mu, epsilon), rel=1e-6, abs=1e-13)


@all_cases(("mu", "epsilon"), [(0.5, 0.3), (1, 1), (2, 0), (3, 4)])
def test_the_curve_is_the_integral_that_defines_it(mu: float, epsilon: float) -> None:
    """∫ max(0, p − e^ε q) over the whole line, p and q the two normal densities."""
    excess, _ = quad(lambda x: max(0.0, norm.pdf(x, mu) - math.exp(epsilon) * norm.pdf(x)), -12, 15, limit=400)
    assert float(GaussianDP(mu).delta_at(epsilon)) == pytest.approx(excess, abs=1e-7)


@checked
@given(sizes, deltas)
def test_calibration_is_safe_and_nothing_is_wasted(epsilon: Fraction, delta: Fraction) -> None:
    mu = gaussian_mu(epsilon, delta)
    assert gaussian_delta(mu, epsilon) <= delta
    assert gaussian_delta(mu * (1 + Fraction(1, 10**15)), epsilon) > delta


@checked
@given(sizes, sizes, deltas, deltas)
def test_more_privacy_wants_more_noise(one: Fraction, two: Fraction, tight: Fraction, loose: Fraction) -> None:
    assert gaussian_mu(min(one, two), min(tight, loose)) <= gaussian_mu(max(one, two), max(tight, loose))


def test_calibration_refuses_what_it_cannot_prove() -> None:
    bad: list[tuple[Any, Any, str]] = [
        (0, "1e-5", "epsilon"),
        (1, 0, "delta"),
        (1, 1, "delta"),
        (True, "1e-5", "epsilon"),
    ]
    assert gaussian_mu(1, "1e-5") > 0  # remembered, and yet True is not taken for 1
    for epsilon, delta, name in bad:
        with pytest.raises(InvalidParameter, match=name):
            gaussian_mu(epsilon, delta)


def test_composition_adds_squares_and_keeps_rational_roots_exact() -> None:
    assert GaussianDP(3).compose(GaussianDP(4)) == GaussianDP(5)
    assert GaussianDP("1/3").repeat(9) == GaussianDP(1)
    assert GaussianDP(1).repeat(2).mu ** 2 >= 2
    assert float(GaussianDP(1).repeat(2).mu) == pytest.approx(math.sqrt(2), rel=1e-15)
    assert GaussianDP("0.5").group(4) == GaussianDP(2)


def test_gaussian_implies_concentrated_and_renyi() -> None:
    assert GaussianDP("0.1").concentrated() == ZCDP("0.005")
    assert GaussianDP("0.1").renyi([2, "5/2"]) == RenyiDP({2: "0.01", "2.5": "0.0125"})


@checked
@given(sizes, deltas)
def test_the_exact_curve_is_never_above_what_its_moments_say(mu: Fraction, delta: Fraction) -> None:
    gaussian = GaussianDP(mu)
    assert gaussian.epsilon_at(delta) <= gaussian.concentrated().epsilon_at(delta)
    assert gaussian.delta_at(1) <= gaussian.concentrated().delta_at(1)


@checked
@given(st.floats(0.01, 6), st.floats(0.0001, 0.9999))
def test_the_tradeoff_is_that_of_two_shifted_normal_laws(mu: float, fpr: float) -> None:
    exact = GaussianDP(mu).tradeoff(fpr)
    assert float(exact) == pytest.approx(norm.cdf(norm.isf(fpr) - mu), rel=1e-9, abs=1e-15)


def test_the_ends_of_the_tradeoff_are_exact() -> None:
    assert GaussianDP(1).tradeoff(0) == 1
    assert GaussianDP(1).tradeoff(1) == 0


@checked
@given(st.floats(0.05, 5))
def test_advantage_is_the_best_gap_on_the_tradeoff_curve(mu: float) -> None:
    best_rate = norm.cdf(-mu / 2)
    gap = GaussianDP(mu).membership_inference(best_rate) - Fraction(str(best_rate))
    assert float(GaussianDP(mu).advantage()) == pytest.approx(float(gap), rel=1e-9)
    assert float(GaussianDP(mu).advantage()) == pytest.approx(2 * norm.cdf(mu / 2) - 1, rel=1e-9)


SPREAD = st.one_of(st.fractions(Fraction(1, 1000), 30), st.sampled_from([Fraction(1, 10**9), Fraction(100)]))
ANY_DELTA = st.builds(lambda digit, exponent: Fraction(digit, 10**exponent), st.integers(1, 9), st.integers(1, 299))


@given(SPREAD, ANY_DELTA)
@settings(max_examples=40, deadline=None)
def test_the_greatest_mu_keeps_delta_and_one_step_more_does_not(epsilon: Fraction, delta: Fraction) -> None:
    mu = gaussian_mu(epsilon, delta)
    assert gaussian_delta(mu, epsilon) <= delta
    assert gaussian_delta(mu * (1 + Fraction(1, 2**71)), epsilon) > delta


@given(SPREAD, ANY_DELTA)
@settings(max_examples=40, deadline=None)
def test_the_least_epsilon_keeps_delta_and_one_step_less_does_not(mu: Fraction, delta: Fraction) -> None:
    epsilon = GaussianDP(mu).epsilon_at(delta)
    assert gaussian_delta(mu, epsilon) <= delta
    less = epsilon - mu / 2**63
    assert less <= 0 or gaussian_delta(mu, less) > delta


def test_a_rough_mu_is_near_the_exact_one() -> None:
    for epsilon in ("0.01", "0.1", "1", "3", "10"):
        for delta in ("1e-5", "1e-8", "1e-12"):
            mu = gaussian_mu(epsilon, delta)
            assert rough_mu(float(epsilon), float(delta)) == pytest.approx(float(mu), rel=1e-9)
