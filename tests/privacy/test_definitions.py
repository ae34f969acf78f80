"""Definitions of privacy: sums, groups, conversions and curves against brute force and independent floats."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from promise_strategies import ONE_OF_EACH, ORDERS, approximate, deltas, renyi, sizes
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm

from cases import all_cases
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.exact import exp_down, exp_up, log_up
from giveortake.privacy import (
    ZCDP,
    ApproxDP,
    ComputationalDP,
    GaussianDP,
    Guarantee,
    ProbabilisticDP,
    PureDP,
    RenyiDP,
    gaussian_delta,
    gaussian_mu,
    sequential,
)
from giveortake.privacy.definitions import rough_mu
from tiers import tiered


def hockey_stick(p: list[Fraction], q: list[Fraction], factor: Fraction) -> Fraction:
    """The greatest P[S] − factor·Q[S] over all sets S of outputs, by trying every set."""
    return max(
        sum((a - factor * b for a, b, inside in zip(p, q, chosen, strict=True) if inside), Fraction(0))
        for chosen in product([False, True], repeat=len(p))
    )


def test_three_tenths_are_three_times_one_tenth() -> None:
    assert PureDP(0.1).compose(PureDP(0.1)).compose(PureDP(0.1)) == PureDP("0.3") == PureDP(0.1).repeat(3)


def test_a_group_of_k_costs_k_epsilon() -> None:
    assert PureDP("0.1").group(5) == PureDP("0.5")


@all_cases(("factor", "asked"), [(3, 1), (3, 2), (5, 3), (9, 2), (2, 1)])
def test_randomized_response_attains_delta_at_exactly(factor: int, asked: int) -> None:
    """With e^ε = 3 the poll of [Fre18] answers truly three times in four; every set of outputs is tried."""
    truth, lie = Fraction(factor, 1 + factor), Fraction(1, 1 + factor)
    exact = hockey_stick([truth, lie], [lie, truth], Fraction(asked))
    epsilon, epsilon_asked = log_up(Fraction(factor)), log_up(Fraction(asked)) if asked > 1 else Fraction(0)
    bound = PureDP(epsilon).delta_at(epsilon_asked)
    assert exact - Fraction(1, 10**40) <= bound <= exact + Fraction(1, 10**40)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=3, max_size=3), st.lists(st.integers(1, 9), min_size=3, max_size=3))
def test_no_pair_of_laws_with_bounded_ratio_exceeds_delta_at(p: list[int], q: list[int]) -> None:
    first, second = [Fraction(a, sum(p)) for a in p], [Fraction(b, sum(q)) for b in q]
    ratio = max(max(a / b, b / a) for a, b in zip(first, second, strict=True))
    if ratio == 1:
        return
    promise = PureDP(log_up(ratio))
    for share in (Fraction(0), Fraction(1, 3), Fraction(9, 10)):
        asked = promise.epsilon * share
        assert hockey_stick(first, second, exp_up(asked)) <= promise.delta_at(asked)


@settings(max_examples=60, deadline=None)
@given(sizes, sizes)
def test_delta_at_is_the_formula_of_kairouz_oh_and_viswanath(epsilon: Fraction, asked: Fraction) -> None:
    bound = PureDP(epsilon).delta_at(asked)
    if asked >= epsilon:
        assert bound == 0
    else:
        formula = (math.exp(epsilon) - math.exp(asked)) / (1 + math.exp(epsilon))
        assert float(bound) == pytest.approx(formula, rel=1e-9)


def test_epsilon_at_never_exceeds_epsilon_and_reaches_zero() -> None:
    assert PureDP(1).epsilon_at("1e-300") <= 1
    assert PureDP(1).epsilon_at("0.47") == 0  # tanh(1/2) = 0.4621…
    assert float(PureDP(1).epsilon_at("0.1")) == pytest.approx(math.log(math.e - 0.1 * (1 + math.e)), rel=1e-14)


def test_lal20_proposition_9_trades_epsilon_for_delta() -> None:
    traded = PureDP("0.2").trade("0.1")
    assert traded.epsilon == Fraction(1, 10)
    assert float(traded.delta) == pytest.approx(math.exp(0.2) - math.exp(0.1), rel=1e-14)
    assert traded.delta >= exp_down(Fraction(1, 5)) - exp_up(Fraction(1, 10))
    assert ApproxDP("0.2", "1e-3").trade("0.1").delta == pytest.approx(traded.delta + Fraction(1, 1000))
    assert ApproxDP("0.2", "1e-3").trade("0.2") == ApproxDP("0.2", "1e-3")


def test_a_trade_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(Unprovable):
        PureDP(1).trade(0)  # e − 1 > 1
    with pytest.raises(InvalidParameter, match="epsilon"):
        PureDP(1).trade(2)
    with pytest.raises(InvalidParameter, match="epsilon"):
        PureDP(1).trade(1)


def test_pure_implies_concentrated_with_half_the_square() -> None:
    assert PureDP("0.1").concentrated() == ZCDP("0.005")


@all_cases("epsilon", ["0.001", "0.1", "1", "3", "10", "40", "700"])
def test_pure_implies_gaussian_and_the_curves_touch_at_the_kink(epsilon: str) -> None:
    promise = PureDP(epsilon)
    gaussian = promise.gaussian()
    assert float(gaussian.mu) == pytest.approx(-2 * norm.ppf(1 / (1 + math.exp(float(epsilon)))), rel=1e-9)
    for fpr in (Fraction(k, 40) for k in range(1, 40)):
        assert gaussian.tradeoff(fpr) <= promise.tradeoff(fpr)
    if float(epsilon) < 30:
        kink = 1 / (1 + exp_up(promise.epsilon))
        assert float(gaussian.tradeoff(kink)) == pytest.approx(float(promise.tradeoff(kink)), rel=1e-12)


@all_cases("epsilon", ["1e-6", "0.01", "0.5", "2", "30"])
def test_pure_implies_the_renyi_divergence_of_randomized_response(epsilon: str) -> None:
    size = float(epsilon)
    log_truth, log_lie = -math.log1p(math.exp(-size)), -math.log1p(math.exp(size))
    for order, bound in PureDP(epsilon).renyi(["1.5", 2, 7, 64]).curve:
        alpha = float(order)
        terms = [alpha * p + (1 - alpha) * q for p, q in [(log_truth, log_lie), (log_lie, log_truth)]]
        exact = (max(terms) + math.log1p(math.exp(min(terms) - max(terms)))) / (alpha - 1)
        assert float(bound) == pytest.approx(exact, rel=1e-6, abs=1e-15)
        assert bound <= PureDP(epsilon).epsilon
        assert bound <= order * PureDP(epsilon).epsilon ** 2 / 2


def test_beliefs_with_and_without_one_person_stay_within_two_epsilon_for_every_prior() -> None:
    """[PDP21, Thm 2.1] on all tables of two people and a grid of priors, dependent ones included.

    Each person's value is reported by a law that differs from that of an absent person by a factor of at most 3.
    """
    report = {"+": [Fraction(9, 12), Fraction(3, 12)], "-": [Fraction(1, 12), Fraction(11, 12)]}
    absent = [Fraction(3, 12), Fraction(9, 12)]
    promise = PureDP(
        log_up(max(max(a / b, b / a) for law in report.values() for a, b in zip(law, absent, strict=True)))
    )
    tables = list(product("+-", repeat=2))

    def posterior(prior: list[Fraction], output: tuple[int, ...], *, without_first: bool) -> list[Fraction]:
        seen = [(absent if without_first else report[one])[output[0]] * report[two][output[1]] for one, two in tables]
        mass = sum(a * b for a, b in zip(prior, seen, strict=True))
        return [a * b / mass for a, b in zip(prior, seen, strict=True)]

    worst = Fraction(1)
    for weights in product([1, 100, 10**6], repeat=4):
        prior = [Fraction(weight, sum(weights)) for weight in weights]
        for output in product([0, 1], repeat=2):
            used = posterior(prior, output, without_first=False)
            unused = posterior(prior, output, without_first=True)
            # the greatest ratio over events is reached by a single table
            worst = max(worst, *(max(a / b, b / a) for a, b in zip(used, unused, strict=True)))
    assert worst <= exp_up(promise.belief_distance())
    assert worst > exp_up(promise.epsilon)  # ε alone would not have been enough


NOTHING_KNOWN = (Fraction(0), Fraction(1))
THREE = Fraction(3)
TENTH = Fraction(1, 10)
# [Lal20] (22) and (23) at e^ε = 3, δ = 1/10
LEAKY_0 = [TENTH, Fraction(3, 4) * (1 - TENTH), Fraction(1, 4) * (1 - TENTH), Fraction(0)]
LEAKY_1 = [Fraction(0), Fraction(1, 4) * (1 - TENTH), Fraction(3, 4) * (1 - TENTH), TENTH]


def leaky_hockey_stick(factor: Fraction) -> Fraction:
    return max(
        sum((LEAKY_0[k] - factor * LEAKY_1[k] for k in range(4) if chosen[k]), Fraction(0))
        for chosen in product([False, True], repeat=4)
    )


@all_cases("asked", ["1", "3/2", "2", "29/10", "3", "7"])
def test_the_leaky_randomized_response_attains_delta_at(asked: str) -> None:
    factor = Fraction(asked)
    promise = ApproxDP(log_up(THREE), TENTH)
    bound = promise.delta_at(log_up(factor) if factor > 1 else 0)
    exact = leaky_hockey_stick(factor)
    assert exact - Fraction(1, 10**40) <= bound <= exact + Fraction(1, 10**40)


@all_cases("kind", [ApproxDP, ProbabilisticDP, ComputationalDP])
def test_epsilons_and_deltas_add(kind: type[ApproxDP]) -> None:
    assert kind("0.5", "1e-6").compose(kind("0.25", "1e-7")) == kind("0.75", "1.1e-6")
    assert kind("0.5", "1e-6").repeat(10) == kind(5, "1e-5")
    assert kind("0.5", "1e-6").compose(PureDP("0.25")) == kind("0.75", "1e-6")
    assert PureDP("0.25").compose(kind("0.5", "1e-6")) == kind("0.75", "1e-6")


@settings(max_examples=60, deadline=None)
@given(sizes, deltas)
def test_groups_scale_as_in_lal20_proposition_6(epsilon: Fraction, delta: Fraction) -> None:
    """The geometric sum 1 + e^ε + … + e^((k−1)ε) is added up term by term here."""
    for kind in (ApproxDP, ComputationalDP):
        try:
            group = kind(epsilon, delta).group(3)
        except Unprovable:
            assert float(delta) * (1 + math.exp(epsilon) + math.exp(2 * epsilon)) >= 1 - 1e-9
            continue
        assert group.epsilon == 3 * epsilon
        assert float(group.delta) == pytest.approx(
            float(delta) * (1 + math.exp(epsilon) + math.exp(2 * epsilon)), rel=1e-12
        )


def test_at_epsilon_zero_the_factor_of_a_group_is_its_size() -> None:
    assert ApproxDP(0, "0.01").group(7) == ApproxDP(0, "0.07")
    with pytest.raises(Unprovable):
        ApproxDP(0, "0.01").group(100)


@settings(max_examples=30, deadline=None)
@given(approximate)
def test_a_group_of_one_is_the_same_promise(promise: ApproxDP) -> None:
    assert promise.group(1) == promise


@all_cases("size", [10**3, 10**6, 10**100, 10**300])
def test_a_group_whose_delta_reaches_one_is_promised_nothing(size: int) -> None:
    with pytest.raises(Unprovable):
        ApproxDP(1, "1e-6").group(size)


def test_a_delta_that_adds_up_to_one_is_promised_nothing() -> None:
    with pytest.raises(Unprovable, match="reaches 1"):
        ApproxDP(1, "0.5").compose(ApproxDP(1, "0.5"))
    with pytest.raises(Unprovable, match="reaches 1"):
        ApproxDP(1, "0.1").repeat(10)


def test_no_epsilon_makes_up_for_a_smaller_delta() -> None:
    with pytest.raises(Unprovable, match="at least 1e-6"):
        ApproxDP(1, "1e-6").epsilon_at("1e-7")
    assert ApproxDP(1, "1e-6").epsilon_at("1e-6") == 1


def test_probabilistic_implies_approximate_with_the_same_numbers() -> None:
    assert ProbabilisticDP("0.5", "1e-6").approximate() == ApproxDP("0.5", "1e-6")
    assert ProbabilisticDP("0.5", "1e-6").approximate("1e-3") == ApproxDP("0.5", "1e-6").approximate("1e-3")
    assert ProbabilisticDP("0.5", "1e-6").compose(ApproxDP("0.5", "1e-6")) == ApproxDP(1, "2e-6")
    assert ProbabilisticDP("0.5", "1e-6").group(2) == ApproxDP("0.5", "1e-6").group(2)


def test_probabilistic_privacy_does_not_survive_post_processing_but_approximate_does() -> None:
    """[Lal20, Prop. 4]: merging outputs 0 and 1 makes the bad set as likely as δ + ¾(1 − δ)."""
    merged_0, merged_1 = [LEAKY_0[0] + LEAKY_0[1], *LEAKY_0[2:]], [LEAKY_1[0] + LEAKY_1[1], *LEAKY_1[2:]]
    bad = sum(a for a, b in zip(LEAKY_0, LEAKY_1, strict=True) if a > THREE * b)
    worse = sum(a for a, b in zip(merged_0, merged_1, strict=True) if a > THREE * b)
    assert bad == TENTH < worse
    excess = sum(max(Fraction(0), a - THREE * b) for a, b in zip(merged_0, merged_1, strict=True))
    assert excess <= ProbabilisticDP(log_up(THREE), TENTH).approximate().delta


def test_computational_absorbs_every_epsilon_delta_promise_and_turns_into_none() -> None:
    promise = ComputationalDP("0.5", "1e-6")
    others: list[Guarantee] = [PureDP("0.5"), ApproxDP("0.5", "1e-6"), ProbabilisticDP("0.5", "1e-6")]
    for other in others:
        assert isinstance(promise.compose(other), ComputationalDP)
        assert promise.compose(other) == other.compose(promise)
    with pytest.raises(Unprovable, match="computational"):
        promise.approximate("1e-3")
    with pytest.raises(Unprovable, match="tradeoff"):
        promise.posterior("0.5", failure="0.1")
    assert promise.posterior("0.5") == NOTHING_KNOWN


@settings(max_examples=60, deadline=None)
@given(approximate, sizes)
def test_computational_numbers_are_those_of_the_approximate_promise(promise: ApproxDP, asked: Fraction) -> None:
    """Every single test lies in the polygon of (ε, δ), whose vertex gives the curve: no dominating pair is needed."""
    computational = ComputationalDP(promise.epsilon, promise.delta)
    assert computational.delta_at(asked) == promise.delta_at(asked)
    vertex = (1 - promise.delta) / (1 + exp_up(promise.epsilon))
    assert float(computational.membership_inference(vertex)) == pytest.approx(
        float(promise.delta + exp_up(promise.epsilon) * vertex), rel=1e-9
    )


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


LOG_LEAST = -300 * math.log(10)  # a δ below 1e-300 is rounded up to it


def epsilon_of(alpha: float, divergence: float, delta: float) -> float:
    return divergence + math.log1p(-1 / alpha) - (math.log(delta) + math.log(alpha)) / (alpha - 1)


def log_delta_of(alpha: float, divergence: float, epsilon: float) -> float:
    return (alpha - 1) * (divergence - epsilon) + (alpha - 1) * math.log1p(-1 / alpha) - math.log(alpha)


def test_the_stated_values_of_the_specification_of_moment_promises() -> None:
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


checked_by_few = settings(max_examples=40, deadline=None)
PURE, APPROX, PROBABLE, COMPUTED, CONCENTRATED, GAUSSIAN, RENYI = ONE_OF_EACH

COMMON_KIND: list[tuple[Guarantee, Guarantee, type[Guarantee]]] = [
    (PURE, APPROX, ApproxDP),
    (PURE, PROBABLE, ProbabilisticDP),
    (PURE, COMPUTED, ComputationalDP),
    (PURE, CONCENTRATED, ZCDP),
    (PURE, GAUSSIAN, GaussianDP),
    (PURE, RENYI, RenyiDP),
    (PROBABLE, APPROX, ApproxDP),
    (PROBABLE, COMPUTED, ComputationalDP),
    (APPROX, COMPUTED, ComputationalDP),
    (GAUSSIAN, CONCENTRATED, ZCDP),
    (GAUSSIAN, RENYI, RenyiDP),
    (CONCENTRATED, RENYI, RenyiDP),
]


@all_cases(("first", "second", "kind"), COMMON_KIND)
def test_each_pair_of_kinds_meets_in_the_weaker_one(first: Guarantee, second: Guarantee, kind: type[Guarantee]) -> None:
    together = first.compose(second)
    assert type(together) is kind
    assert together == second.compose(first)


@all_cases("moments", [CONCENTRATED, GAUSSIAN, RENYI])
@all_cases("pair", [APPROX, PROBABLE, COMPUTED])
def test_moments_and_deltas_do_not_add_until_the_moments_are_stated_with_a_delta(
    moments: Guarantee, pair: Guarantee
) -> None:
    for first, second in permutations([moments, pair]):
        with pytest.raises(Unprovable, match=r"\.approximate\(delta\)"):
            first.compose(second)
    stated = moments.approximate("1e-6").compose(pair)
    assert isinstance(stated, ApproxDP | ComputationalDP)
    assert stated.delta == Fraction(2, 10**6)


def test_the_numbers_of_mixed_compositions_are_those_of_the_theorems() -> None:
    assert PureDP("0.2").compose(ZCDP("0.1")) == ZCDP("0.12")
    assert GaussianDP("0.2").compose(ZCDP("0.1")) == ZCDP("0.12")
    assert ZCDP("0.1").compose(RenyiDP({2: 1, 8: 2})) == RenyiDP({2: "1.2", 8: "2.8"})
    assert GaussianDP("0.2").compose(RenyiDP({2: 1, 8: 2})) == RenyiDP({2: "1.04", 8: "2.16"})
    assert PureDP("0.2").compose(GaussianDP("0.1")) == PureDP("0.2").gaussian().compose(GaussianDP("0.1"))
    pure_at_two = PureDP("0.2").renyi([2]).curve[0][1]
    assert PureDP("0.2").compose(RenyiDP({2: 1})) == RenyiDP({2: 1 + pure_at_two})


def test_a_list_is_restated_once_and_then_added_in_any_order() -> None:
    promises: list[Guarantee] = [PureDP("0.1"), PureDP("0.3"), ZCDP("0.05"), GaussianDP("0.2")]
    expected = ZCDP(Fraction(1, 200) + Fraction(9, 200) + Fraction(1, 20) + Fraction(1, 50))
    for order in permutations(promises):
        assert sequential(order) == expected
    with pytest.raises(InvalidParameter, match="promises"):
        sequential([])


@checked_by_few
@given(sizes, sizes)
def test_conversions_are_monotone(one: Fraction, two: Fraction) -> None:
    low, high = sorted((one, two))
    assert PureDP(low).concentrated().rho <= PureDP(high).concentrated().rho
    assert PureDP(low).gaussian().mu <= PureDP(high).gaussian().mu
    assert GaussianDP(low).concentrated().rho <= GaussianDP(high).concentrated().rho
    for weak, strong in zip(PureDP(low).renyi([2, 9]).curve, PureDP(high).renyi([2, 9]).curve, strict=True):
        assert weak[1] <= strong[1]


@checked_by_few
@given(sizes, deltas)
def test_a_conversion_never_promises_more_than_the_original(epsilon: Fraction, delta: Fraction) -> None:
    pure = PureDP(epsilon)
    for converted in (pure.concentrated(), pure.gaussian(), pure.renyi(["1.25", 2, 16])):
        assert pure.epsilon_at(delta) <= converted.epsilon_at(delta)
        assert pure.delta_at(epsilon / 2) <= converted.delta_at(epsilon / 2)
        assert converted.tradeoff("0.1") <= pure.tradeoff("0.1")
