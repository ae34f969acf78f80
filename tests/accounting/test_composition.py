"""`compose`: the numbers of the theory, how the methods relate, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, get_args

import exact_losses
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

import giveortake as gt
from cases import all_cases
from giveortake.accounting import (
    Interval,
    advanced_epsilon,
    convolution,
    delta_interval,
    epsilon_interval,
    events,
    least_miss_rate,
)
from giveortake.accounting import privacy_loss as laws
from giveortake.accounting.composition import Method
from giveortake.accounting.convolution import RepeatedLaw, TiltedSum
from giveortake.accounting.privacy_loss import GridLaw
from giveortake.errors import InvalidParameter, MismatchedPromises, Unprovable
from giveortake.exact import precision
from giveortake.privacy import GaussianDP
from tiers import tiered

tenth = gt.PureDP("0.1")
sizes = st.fractions(Fraction(1, 40), 1, max_denominator=40)
releases = st.one_of(
    st.builds(events.Pure, sizes),
    st.builds(events.Laplace, sizes.map(lambda size: 1 / size)),
    st.builds(events.Gaussian, sizes.map(lambda size: 1 / size)),
    st.builds(events.Exponential, sizes),
    st.builds(events.RandomizedResponse, sizes, st.integers(2, 5)),
    st.builds(events.Approx, sizes, st.just("1e-8")),
    st.builds(events.Geometric, sizes.map(lambda size: 3 / size), st.just(3)),
)
lists = st.lists(releases, min_size=1, max_size=4)
deltas = st.sampled_from(["1e-3", "1e-6", "1e-12"]).filter(lambda delta: delta != "1e-12")


def epsilon(charges: Any, method: Method = "tight", delta: str = "1e-6") -> float:
    promise = gt.compose(charges, delta=delta, method=method)
    assert isinstance(promise, gt.ApproxDP)
    assert promise.delta == Fraction(delta)
    return float(promise.epsilon)


# -- numbers --------------------------------------------------------------------------------------------------


@all_cases(
    ("times", "advanced", "optimal"),
    [(10, 1.767429054, 0.999370906), (100, 6.308230951, 4.77456759), (1000, 27.139673170, 19.3446714)],
)
def test_tenths_compose_as_the_theory_states(times: int, advanced: float, optimal: float) -> None:
    charges = [tenth] * times
    assert epsilon(charges, "basic") == times / 10
    assert epsilon(charges, "advanced") == pytest.approx(advanced, abs=1e-9)
    assert epsilon(charges, "optimal") == pytest.approx(optimal, abs=1e-7)
    assert epsilon(charges, "tight") == epsilon(charges, "optimal")


@all_cases(
    ("charges", "delta", "truth"),
    [
        ([events.Repeated(events.Gaussian(50), 1000)], "1e-6", 2.9216005904),
        ([events.Repeated(events.RandomizedResponse(math.log(3), 2), 100)], "1e-6", 94.2898678929),
        ([gt.GaussianDP(1)], "1e-6", 4.886554),
        ([gt.ZCDP("0.5")], "1e-6", 5.221535),
        ([gt.GaussianDP(1 / Fraction("3.730631635"))], "1e-5", 1.0),
    ],
)
def test_known_compositions_have_their_known_price(charges: list[Any], delta: str, truth: float) -> None:
    assert epsilon(charges, delta=delta) == pytest.approx(truth, abs=1e-6)


def test_laplace_with_gaussian_noise_agrees_with_another_accountant() -> None:
    """dp-accounting 0.6.0 says 4.163821820, from above and with an error of its own."""
    interval = epsilon_interval(
        [events.Repeated(events.Laplace(50), 500), events.Repeated(events.Gaussian(30), 500)], "1e-6"
    )
    assert interval.low < Fraction("4.163822") < interval.high * Fraction("1.001")
    assert interval.width < interval.high / 1000


def test_gradient_steps_agree_with_another_accountant() -> None:
    """dp-accounting 0.6.0 says 6.187744997."""
    steps = events.Repeated(events.Subsampled(events.Gaussian(1), "0.01"), 10_000)
    interval = epsilon_interval(steps, "1e-5")
    assert interval.low < Fraction("6.187745") < interval.high * Fraction("1.001")
    assert interval.width < interval.high / 1000
    promise = steps.guarantee()
    assert promise.epsilon_at("1e-5") > interval.high  # the Rényi curve is looser


@all_cases("times", [10**3, 10**6, 10**9, 10**12, 10**30, 10**280])
def test_nothing_overflows_however_often_something_is_repeated(times: int) -> None:
    charge = events.Repeated(events.Pure("0.1"), times)
    optimal, advanced = epsilon(charge, "optimal"), epsilon(charge, "advanced")
    mean = times * 0.1 * math.tanh(0.05)
    assert mean * (1 - 1e-12) < optimal < advanced
    assert optimal < mean * 1.0012 + 6 * 0.1 * math.sqrt(times)


@all_cases("noise", [events.Laplace(1000), events.Gaussian(1000)])
def test_millions_of_small_releases_have_a_narrow_interval(noise: events.Event) -> None:
    interval = epsilon_interval(events.Repeated(noise, 10**6), "1e-6")
    assert 0 < interval.low <= interval.high
    assert interval.width < interval.high / 500


def test_a_tiny_delta_is_resolved_because_errors_are_relative() -> None:
    interval = epsilon_interval(events.Repeated(events.Laplace(10), 300), "1e-100")
    assert interval.width < interval.high / 1000
    assert interval.high <= 30
    usual = epsilon_interval(events.Repeated(events.Laplace(100), 3000), "1e-50")
    assert usual.width < usual.high / 1000


# -- relations ------------------------------------------------------------------------------------------------


@settings(max_examples=tiered(12, 30))
@given(lists, deltas)
def test_tight_is_never_above_basic_and_its_interval_is_one(charges: list[events.Event], delta: str) -> None:
    interval = epsilon_interval(charges, delta)
    assert 0 <= interval.low <= interval.high
    assert gt.compose(charges, delta=delta) == gt.ApproxDP(interval.high, delta)
    basic = gt.compose(charges, delta=delta, method="basic")
    assert isinstance(basic, gt.ApproxDP)
    assert interval.high <= basic.epsilon * Fraction("1.001")


@settings(max_examples=tiered(10, 25))
@given(lists, st.randoms(use_true_random=False))
def test_neither_order_nor_nesting_matters(charges: list[events.Event], random: Any) -> None:
    shuffled = charges.copy()
    random.shuffle(shuffled)
    flat = epsilon_interval(charges, "1e-6")
    nested = epsilon_interval(events.Composed([events.Repeated(events.Composed(shuffled), 1)]), "1e-6")
    assert nested.low <= flat.high
    assert flat.low <= nested.high


@settings(max_examples=tiered(10, 25))
@given(lists, releases)
def test_one_more_release_costs_something(charges: list[events.Event], more: events.Event) -> None:
    assert epsilon_interval(charges, "1e-6").low <= epsilon_interval([*charges, more], "1e-6").high


@settings(max_examples=tiered(10, 25))
@given(lists, st.fractions(0, 3, max_denominator=30))
def test_delta_falls_with_epsilon_and_the_two_questions_agree(charges: list[events.Event], asked: Fraction) -> None:
    interval = delta_interval(charges, asked)
    assert 0 <= interval.low <= interval.high <= 1
    assert delta_interval(charges, asked + 1).low <= interval.high
    if Fraction(1, 10**7) < interval.high < Fraction(9, 10):
        assert epsilon_interval(charges, interval.high * Fraction("1.0001")).low <= asked + Fraction(1, 10**6)


def test_repeating_is_listing() -> None:
    listed = epsilon_interval([events.Laplace(5)] * 7 + [events.Gaussian(9)] * 3, "1e-7")
    repeated = epsilon_interval([events.Repeated(events.Laplace(5), 7), events.Repeated(events.Gaussian(9), 3)], "1e-7")
    assert listed == repeated


def test_the_optimum_over_pairs_is_never_below_what_distributions_say() -> None:
    charges = [events.Laplace(10)] * 40 + [events.Exponential("0.1")] * 40
    assert epsilon(charges) < epsilon(charges, "optimal") < epsilon(charges, "basic")


def test_different_epsilons_compose_optimally_too() -> None:
    """Between the optimum of as many of the smallest and of as many of the largest."""
    mixed = [gt.PureDP(Fraction(n, 100)) for n in range(5, 15)] * 8
    low, high = epsilon([gt.PureDP("0.05")] * 80, "optimal"), epsilon([gt.PureDP("0.14")] * 80, "optimal")
    assert low < epsilon(mixed, "optimal") < epsilon(mixed, "advanced")
    assert epsilon(mixed, "optimal") < high


def test_unequal_epsilons_with_no_common_lattice_are_rounded_both_ways() -> None:
    charges = [events.Repeated(events.Pure(Fraction(1, prime)), 20) for prime in (7, 11, 13, 17, 19, 23, 29, 31)]
    interval = epsilon_interval(charges, "1e-6")
    assert 0 < interval.width < interval.high / 1000


def test_advanced_composition_takes_each_epsilon_and_leaves_deltas_aside() -> None:
    mixed = advanced_epsilon(
        [(Fraction(1, 10), Fraction(0), 2), (Fraction(1, 5), Fraction(1, 10**7), 3)], Fraction(1, 10**6)
    )
    left = 1e-6 - 3e-7
    squares, means = 2 * 0.01 + 3 * 0.04, 2 * 0.1 * math.expm1(0.1) + 3 * 0.2 * math.expm1(0.2)
    assert float(mixed) == pytest.approx(math.sqrt(2 * math.log(1 / left) * squares) + means, rel=1e-12)


def test_own_deltas_of_promises_are_accounted_for() -> None:
    leaky = [gt.ApproxDP("0.1", "1e-9")] * 100
    assert epsilon(leaky) > epsilon([tenth] * 100)
    assert epsilon(leaky) == pytest.approx(epsilon([tenth] * 100, delta="9e-7"), abs=1e-3)
    assert epsilon([gt.ProbabilisticDP("0.1", "1e-9")] * 100) == epsilon(leaky)


def test_without_delta_the_promises_are_added_in_a_common_currency() -> None:
    assert gt.compose([tenth, events.Laplace(5)]) == gt.PureDP("0.3")
    assert gt.compose([gt.GaussianDP(3), events.Gaussian("0.25")]) == gt.GaussianDP(5)
    assert gt.compose([tenth, events.ZCDP("0.1")], method="basic") == gt.ZCDP(Fraction(1, 200) + Fraction(1, 10))
    assert gt.compose(events.Repeated(events.Pure("0.1"), 3)) == gt.PureDP("0.3")


def test_promises_of_moments_enter_from_above_only() -> None:
    """ρ-zCDP includes Gaussian noise of the same ρ, so it costs at least as much; from below nothing is known."""
    both = epsilon_interval([events.ZCDP("0.125"), events.Repeated(events.Laplace(10), 10)], "1e-6")
    member = epsilon_interval([events.Gaussian(2), events.Repeated(events.Laplace(10), 10)], "1e-6")
    alone = epsilon_interval(events.Repeated(events.Laplace(10), 10), "1e-6")
    assert both.high > member.low
    assert both.low <= alone.high
    assert both.high < epsilon([events.ZCDP("0.125"), events.Repeated(events.Laplace(10), 10)], "basic")


def test_discrete_gaussian_noise_is_not_priced_as_the_continuous_one() -> None:
    assert epsilon([events.DiscreteGaussian(4, 1)]) > epsilon([events.Gaussian(4)])


def test_renyi_promises_compose_with_noise() -> None:
    curve = gt.RenyiDP({order: Fraction(order, 50) for order in (2, 4, 8, 16, 32, 64)})
    assert epsilon([curve, events.Laplace(10)]) >= epsilon([curve])
    assert epsilon([curve, events.Laplace(10)]) < float(curve.epsilon_at("1e-6")) + 0.1


def test_parallel_parts_cost_the_least_noisy_ones() -> None:
    parts = [events.Laplace(4), events.Laplace(2), events.Laplace(8)]
    once = epsilon_interval(events.Parallel(parts), "1e-6")
    assert once == epsilon_interval(events.Laplace(2), "1e-6")
    twice = epsilon_interval(events.Repeated(events.Parallel(parts, touched=2), 3), "1e-6")
    assert twice == epsilon_interval([events.Laplace(2), events.Laplace(4)] * 3, "1e-6")
    mixed = epsilon_interval(events.Parallel([events.Laplace(4), events.Pure("0.5")]), "1e-6")
    assert mixed.high >= epsilon_interval(events.Pure("0.5"), "1e-6").low
    assert mixed.low == 0


def test_the_unit_and_the_neighbours_of_promises_are_kept() -> None:
    people = gt.unit("user_id")
    promise = gt.compose([gt.PureDP("0.1", unit=people), events.Laplace(10)], delta="1e-6")
    assert promise.unit == people
    assert gt.compose(events.Laplace(10), unit=people, neighbours="change-one").neighbours == "change-one"


def test_an_interval_knows_its_width_and_what_it_contains() -> None:
    interval = Interval(Fraction(1), Fraction(3, 2))
    assert interval.width == Fraction(1, 2)
    assert 1.25 in interval
    assert Fraction(2) not in interval
    assert "1.25" not in interval
    assert str(interval) == "between 1 and 1.5"


# -- refusals -------------------------------------------------------------------------------------------------


@all_cases("charges", [[], None, 3, "pure", [tenth, 3], [None], [tenth, "0.1"], object()])
def test_only_events_and_promises_are_composed(charges: Any) -> None:
    with pytest.raises(InvalidParameter):
        gt.compose(charges, delta="1e-6")


@all_cases("delta", [0, 1, -1, "nan", math.inf, True, "1e-400", [1]])
@all_cases("method", get_args(Method))
def test_a_delta_that_is_none_is_refused(delta: Any, method: Method) -> None:
    with pytest.raises(InvalidParameter):
        gt.compose([tenth], delta=delta, method=method)


@all_cases("asked", [-1, "nan", math.inf, True, None])
def test_an_epsilon_that_is_none_is_refused(asked: Any) -> None:
    with pytest.raises(InvalidParameter):
        delta_interval([tenth], asked)


def test_unknown_methods_and_missing_deltas_are_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"(?s)method.*tight"):
        gt.compose([tenth], delta="1e-6", method="best")  # type: ignore[arg-type]
    for method in get_args(Method)[1:3]:
        with pytest.raises(InvalidParameter, match="delta"):
            gt.compose([tenth], method=method)


def test_mismatched_promises_are_refused() -> None:
    with pytest.raises(MismatchedPromises):
        gt.compose([tenth, gt.PureDP("0.1", unit=gt.unit("user_id"))], delta="1e-6")
    with pytest.raises(MismatchedPromises):
        gt.compose([tenth], delta="1e-6", neighbours="change-one")


@all_cases("method", get_args(Method))
def test_a_delta_below_the_charges_own_is_refused(method: Method) -> None:
    with pytest.raises(Unprovable, match=r"3e-6|0\.000003"):
        gt.compose([gt.ApproxDP("0.1", "1e-6")] * 3, delta="1e-6", method=method)


def test_computational_promises_are_added_and_nothing_else() -> None:
    hidden = gt.ComputationalDP("0.1", "1e-9")
    assert gt.compose([hidden, tenth]) == gt.ComputationalDP("0.2", "1e-9")
    for method in get_args(Method):
        with pytest.raises(Unprovable):
            gt.compose([hidden, tenth], delta="1e-6", method=method)


@all_cases("method", ["advanced", "optimal"])
def test_methods_for_pairs_refuse_curves(method: Method) -> None:
    with pytest.raises(Unprovable, match="GaussianDP"):
        gt.compose([tenth, gt.GaussianDP(1)], delta="1e-6", method=method)


EXTREMES: list[list[events.Event]] = [
    [events.Pure("1e-300")],
    [events.Pure("1e300")],
    [events.Pure("1e-300"), events.Pure(50)],
    [events.Laplace("1e300"), events.Gaussian("1e-3")],
    [events.Repeated(events.Laplace("1e-4"), 3)],
    [events.Gaussian("1e-3"), events.Pure(1)],
    [events.Repeated(events.Gaussian("1e5"), 10**9), events.Pure("1e-9")],
    [events.Geometric("1e5", 10**6), events.Laplace(3)],
    [events.RandomizedResponse(5, 10**200)],
    [events.Approx(0, "1e-9"), events.Laplace(3)],
    [events.Approx(0, "1e-9")],
    [events.ZCDP("1e-200"), events.Laplace(3)],
    [events.ZCDP("1e6"), events.Laplace(3)],
    [events.Subsampled(events.Gaussian(1), 1 - Fraction(1, 10**12))],
    [events.Repeated(events.Subsampled(events.Laplace("0.01"), "0.5"), 5)],
    [events.Subsampled(events.Gaussian(1), "1e-9"), events.Laplace(3)],
]


@all_cases("charges", tiered(EXTREMES[:-1], EXTREMES))  # the last takes seconds
@all_cases("delta", ["1e-8", "0.5", "1e-250"])
def test_extreme_charges_are_priced_soundly_or_refused_by_name(charges: list[events.Event], delta: str) -> None:
    try:
        interval = epsilon_interval(charges, delta)
    except Unprovable:
        assert delta == "1e-250"
        assert any(isinstance(charge, events.Approx) for charge in charges)
        return
    assert 0 <= interval.low <= interval.high
    back = delta_interval(charges, interval.high)
    assert back.low <= Fraction(delta)


small = st.fractions(Fraction(1, 40), Fraction(3, 2), max_denominator=40)
leaks = st.fractions(Fraction(1, 10**6), Fraction(1, 10), max_denominator=10**6)


@st.composite
def few_charges(draw: st.DrawFn) -> tuple[list[events.Event], exact_losses.Atoms]:
    """Up to three kinds of discrete releases, each a few times, and the exact law of their losses together."""
    listed: list[events.Event] = []
    parts: list[tuple[exact_losses.Atoms, int]] = []
    for _ in range(draw(st.integers(1, 3))):
        epsilon, times = draw(small), draw(st.integers(1, 4))
        match draw(st.sampled_from(["pure", "response", "approx", "geometric"])):
            case "pure":
                listed.append(events.Repeated(events.Pure(epsilon), times))
                parts.append((exact_losses.randomized_response(epsilon), times))
            case "response":
                categories = draw(st.integers(2, 5))
                listed.append(events.Repeated(events.RandomizedResponse(epsilon, categories), times))
                parts.append((exact_losses.randomized_response(epsilon, categories), times))
            case "approx":
                leak = draw(leaks)
                listed.append(events.Repeated(events.Approx(epsilon, leak), times))
                parts.append((exact_losses.randomized_response(epsilon, leak=leak), times))
            case _:
                steps = draw(st.integers(1, 4))
                listed.append(events.Repeated(events.Geometric(steps / epsilon, steps), times))
                parts.append((exact_losses.discrete_laplace(steps / epsilon, steps), times))
    return listed, exact_losses.composed(parts)


@settings(max_examples=tiered(24, 60))
@given(few_charges(), st.fractions(0, 3, max_denominator=50))
def test_delta_of_discrete_releases_lies_in_its_interval(
    charges: tuple[list[events.Event], exact_losses.Atoms], epsilon: Fraction
) -> None:
    listed, atoms = charges
    truth = exact_losses.delta(atoms, epsilon)
    interval = delta_interval(listed, epsilon)
    assert exact_losses.ball(interval.low) <= truth + 1e-60
    assert exact_losses.ball(interval.high) >= truth - 1e-60


@settings(max_examples=tiered(24, 60))
@given(few_charges(), st.integers(1, 60))
def test_epsilon_of_discrete_releases_lies_in_its_interval(
    charges: tuple[list[events.Event], exact_losses.Atoms], digits: int
) -> None:
    """At ε_high the exact δ is at most the one asked for, just below ε_low it is more."""
    listed, atoms = charges
    asked = float(exact_losses.delta(atoms, Fraction(10**6)).mid()) + 10.0 ** -(digits / 4)
    if not 1e-20 < asked < 0.9:
        return
    allowed = Fraction(asked)
    interval = epsilon_interval(listed, allowed)
    assert exact_losses.delta(atoms, interval.high) <= exact_losses.ball(allowed)
    if interval.low > 0:
        assert exact_losses.delta(atoms, interval.low * (1 - Fraction(1, 10**12))) >= exact_losses.ball(allowed)


@all_cases("k", [1, 2, 7, 40])
def test_the_interval_of_equal_responses_is_narrow(k: int) -> None:
    interval = epsilon_interval(events.Repeated(events.RandomizedResponse("1.1", 3), k), "1e-6")
    assert interval.width < Fraction(1, 10**3) * interval.high


def grid_only(law: laws.Law, times: int, delta: float) -> Interval:
    low, high = convolution.epsilon_bounds([RepeatedLaw(law, times)], delta, delta)
    return Interval(Fraction(low), Fraction(high))


@all_cases("mu", [0.02, 0.6, 3.0, 12.0])
@all_cases("times", [1, 5, 1000])
@all_cases("delta", [1e-3, 1e-10, 1e-80])
def test_gaussian_losses_on_a_grid_contain_the_exact_curve(mu: float, times: int, delta: float) -> None:
    truth = GaussianDP(Fraction(mu)).epsilon_at(Fraction(delta))
    interval = grid_only(laws.Normal(mu / math.sqrt(times)), times, delta)
    assert interval.low <= truth <= interval.high
    assert interval.width < Fraction(2, 1000) * max(interval.high, Fraction(1, 100))


@all_cases("epsilon", ["0", "0.3", "0.9", "0.999"])
def test_one_laplace_release_follows_its_closed_form(epsilon: str) -> None:
    asked = Fraction(epsilon)
    truth = -math.expm1(float(asked - 1) / 2)
    interval = delta_interval(events.Laplace(1), asked)
    assert float(interval.low) <= truth * (1 + 1e-12)
    assert float(interval.high) >= truth * (1 - 1e-12)
    assert float(interval.width) < 0.02 * truth


@all_cases("epsilon", [0.1, 0.7, 1.4])
def test_two_laplace_releases_follow_the_integral(epsilon: float) -> None:
    """δ of two = E[δ of one at ε − L] over the first loss L: atoms at ±1, density e^((t−1)/2)/4 between."""

    def one(at: float) -> float:
        return 0.0 if at >= 1 else -math.expm1((at - 1) / 2) if at > -1 else -math.expm1(at)

    middle, _ = quad(lambda t: math.exp((t - 1) / 2) / 4 * one(epsilon - t), -1, 1, points=[epsilon - 1], epsabs=1e-14)
    truth = middle + one(epsilon - 1) / 2 + math.exp(-1) / 2 * one(epsilon + 1)
    interval = delta_interval(events.Repeated(events.Laplace(1), 2), epsilon)
    assert float(interval.low) <= truth <= float(interval.high)
    assert float(interval.width) < 0.02 * truth


def sampled_gaussian_delta(rate: float, sigma: float, epsilon: float, *, removing: bool) -> float:
    """P[S] − e^ε Q[S] for the best threshold S on the noisy value."""
    sign = 1 if removing else -1
    grown = math.expm1(sign * epsilon) / rate
    if grown <= -1:
        return -math.expm1(epsilon) if not removing else 0.0
    threshold = sigma**2 * math.log1p(grown) + 0.5
    with_it, without = norm.sf(threshold, 1, sigma), norm.sf(threshold, 0, sigma)
    mixed = rate * with_it + (1 - rate) * without
    if removing:
        return float(mixed - math.exp(epsilon) * without)
    return float((1 - without) - math.exp(epsilon) * (1 - mixed))


@all_cases(("rate", "sigma"), [(0.01, 1.0), (0.3, 0.7), (0.9, 2.0)])
@all_cases("epsilon", [0.01, 0.2, 1.0])
def test_one_sampled_gaussian_release_follows_its_closed_form(rate: float, sigma: float, epsilon: float) -> None:
    truth = max(0.0, *(sampled_gaussian_delta(rate, sigma, epsilon, removing=way) for way in (True, False)))
    interval = delta_interval(events.Subsampled(events.Gaussian(sigma), rate), epsilon)
    assert float(interval.low) <= truth * (1 + 1e-9)
    assert float(interval.high) >= truth * (1 - 1e-9)


@all_cases("removing", [True, False])
@all_cases(("rate", "sigma", "epsilon"), [(0.2, 1.0, 0.3), (0.05, 0.8, 0.5)])
def test_two_sampled_gaussian_releases_follow_the_integral(
    rate: float, sigma: float, epsilon: float, removing: bool
) -> None:
    def loss(x: float) -> float:
        inner = (2 * x - 1) / (2 * sigma**2)
        return math.log1p(rate * math.expm1(inner)) * (1 if removing else -1)

    def density(x: float) -> float:
        without = norm.pdf(x, 0, sigma)
        return float(without + rate * (norm.pdf(x, 1, sigma) - without)) if removing else float(without)

    truth = exact_losses.delta_of_two(
        density, lambda x: full_delta(rate, sigma, epsilon - loss(x), removing), (-9 * sigma, 1 + 9 * sigma)
    )
    law = laws.Sampled(laws.Normal(1 / sigma), Fraction(rate), removing)
    low, high = convolution.delta_bounds([RepeatedLaw(law, 2)], epsilon, epsilon)
    assert low <= truth * (1 + 1e-7)
    assert high >= truth * (1 - 1e-7)
    assert high - low < 0.02 * truth + 1e-12


def full_delta(rate: float, sigma: float, epsilon: float, removing: bool) -> float:
    """`sampled_gaussian_delta` for every real ε."""
    bottom = math.log1p(-rate) if removing else -math.inf
    top = math.inf if removing else -math.log1p(-rate)
    if epsilon <= bottom:
        return -math.expm1(epsilon)
    return 0.0 if epsilon >= top else sampled_gaussian_delta(rate, sigma, epsilon, removing=removing)


@all_cases("k", [10**4, 10**6])
def test_many_responses_agree_with_the_binomial_law(k: int) -> None:
    interval = epsilon_interval(events.Repeated(events.Pure("0.1"), k), "1e-6")
    allowed = exact_losses.ball(Fraction(1, 10**6))
    assert exact_losses.many_responses(Fraction(1, 10), k, interval.high) <= allowed
    assert exact_losses.many_responses(Fraction(1, 10), k, interval.low) >= allowed
    assert interval.width < Fraction(1, 10**4) * interval.high


@settings(max_examples=tiered(10, 25))
@given(
    st.fractions(Fraction(1, 10), 2, max_denominator=20),
    st.lists(st.fractions(0, 1, max_denominator=12), min_size=1, max_size=4),
    st.fractions(0, 3, max_denominator=20),
)
def test_every_mechanism_of_bounded_range_is_dominated(
    epsilon: Fraction, shares: list[Fraction], asked: Fraction
) -> None:
    """The extreme ones have losses t and t − ε; whatever t in each round, the price of `Exponential` is no less."""
    parts = []
    for share in shares:
        top = share * epsilon
        with precision(exact_losses.BITS):
            grown, rest = exact_losses.ball(epsilon).exp(), exact_losses.ball(top).exp()
            likely = (grown - rest) / (grown - 1)
            parts.append(({top: likely, top - epsilon: 1 - likely}, 1))
    truth = exact_losses.delta(exact_losses.composed(parts), asked)
    priced = delta_interval(events.Repeated(events.Exponential(epsilon), len(shares)), asked).high
    assert exact_losses.ball(priced) >= truth - 1e-60


def test_one_mechanism_of_bounded_range_attains_its_curve() -> None:
    interval = delta_interval(events.Exponential(1), "0.2")
    truth = (math.exp(0.5) - math.exp(0.1)) ** 2 / math.expm1(1)
    assert float(interval.low) <= truth <= float(interval.high)
    assert float(interval.width) < 0.02 * truth


@settings(max_examples=tiered(10, 25))
@given(
    small, st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20), st.integers(1, 5), st.integers(0, 20)
)
def test_sampled_responses_lie_in_their_interval_whichever_way_round(
    epsilon: Fraction, rate: Fraction, times: int, twentieths: int
) -> None:
    """The pairs (q P + (1 − q) Q, Q) and (P, q Q + (1 − q) P) enumerated; the larger δ is the truth."""
    asked = Fraction(twentieths, 20)
    interval = delta_interval(events.Repeated(events.Subsampled(events.Pure(epsilon), rate), times), asked)
    with precision(exact_losses.BITS):
        truth = max(float(_sampled(epsilon, rate, times, asked, removing=way).mid()) for way in (True, False))
    assert float(interval.low) <= truth + 1e-14
    assert float(interval.high) >= truth - 1e-14


def _sampled(epsilon: Fraction, rate: Fraction, times: int, asked: Fraction, *, removing: bool) -> Any:
    ball = exact_losses.ball
    grown, share = ball(epsilon).exp(), ball(rate)
    p = [grown / (1 + grown), 1 / (1 + grown)]
    q = p[::-1]
    mixed = [share * a + (1 - share) * b for a, b in (zip(p, q, strict=True) if removing else zip(q, p, strict=True))]
    first, second = (mixed, q) if removing else (p, mixed)
    total = ball(0)
    for hits in range(times + 1):
        ways = math.comb(times, hits)
        ahead = first[0] ** hits * first[1] ** (times - hits)
        behind = second[0] ** hits * second[1] ** (times - hits)
        gain = ahead - ball(asked).exp() * behind
        total += ways * gain.nonnegative_part()
    return total


def primes(count: int, start: int) -> list[int]:
    interval: list[int] = []
    number = start
    while len(interval) < count:
        if all(number % divisor for divisor in range(2, int(number**0.5) + 1)):
            interval.append(number)
        number += 1
    return interval


@all_cases(("epsilon", "truth"), [(1, 0.152452), (3, 0.519282)])
def test_two_exponential_mechanisms_are_not_overstated_from_below(epsilon: int, truth: float) -> None:
    """The truths are maxima over the pairs of both rounds; the product of the maxima is above them."""
    twice = events.Repeated(events.Exponential(epsilon), 2)
    assert truth in delta_interval(twice, Fraction(epsilon, 2))
    assert Fraction(epsilon, 2) in epsilon_interval(twice, Fraction(str(truth)))
    assert truth in delta_interval([events.Exponential(epsilon), events.Exponential(epsilon)], Fraction(epsilon, 2))


def test_what_is_composed_with_an_exponential_mechanism_still_counts_from_below() -> None:
    together = [events.Exponential(1), events.Laplace(1)]
    assert epsilon_interval(together, "1e-3").low >= epsilon_interval(events.Laplace(1), "1e-3").low > 0


@all_cases("charge", [events.Exponential(1), events.Subsampled(events.Exponential(1), "0.5")])
def test_one_exponential_mechanism_is_known_from_below_and_two_are_not(charge: events.Event) -> None:
    one, two = delta_interval(charge, "0.2"), delta_interval([charge, charge], "0.2")
    assert one.width < one.high / 50
    assert two.low == 0
    assert two.high > one.high
    assert epsilon_interval([charge, charge], "0.01").low == 0


@all_cases("method", tiered(["tight"], ["tight", "optimal"]))
def test_many_distinct_epsilons_have_no_common_lattice(method: Method) -> None:
    charges = [gt.PureDP(Fraction(1, prime)) for prime in primes(tiered(100, 200), 101)]
    promise = gt.compose(charges, delta="1e-6", method=method)
    assert isinstance(promise, gt.ApproxDP)
    assert Fraction(1, 100) < promise.epsilon < float(sum(charge.epsilon for charge in charges)) * tiered(0.75, 0.5)


@all_cases(
    "charge",
    [
        events.Subsampled(events.Gaussian("0.01"), "0.5"),
        events.Subsampled(events.Laplace("0.001"), "0.5"),
        events.Subsampled(events.Pure(1000), "0.5"),
        events.Subsampled(events.Gaussian("0.035"), "1e-200"),
        events.Subsampled(events.Laplace("0.02"), 1 - Fraction(1, 10**20)),
        events.Subsampled(events.Pure(50), 1 - Fraction(1, 10**20)),
        events.Subsampled(events.Laplace(1), 1 - Fraction(1, 10**400)),
        events.Subsampled(events.Laplace(1), Fraction(1, 10**299)),
    ],
)
def test_sampled_losses_beyond_doubles_are_bounded_without_a_grid(charge: events.Event) -> None:
    epsilon, delta = epsilon_interval(charge, "1e-6"), delta_interval(charge, 1)
    assert 0 <= epsilon.low <= epsilon.high
    assert 0 <= delta.low <= delta.high <= 1


@all_cases("own", ["0.9999999999999999", "0.99999999999999999999"])
def test_a_delta_next_to_one_is_stated(own: str) -> None:
    charge = gt.ApproxDP(1, own)
    assert Fraction(own) in delta_interval(charge, 1)
    assert epsilon_interval(charge, (1 + Fraction(own)) / 2).high <= 1
    assert Fraction(own) <= delta_interval([charge, gt.PureDP(1)], "0.5").high <= 1
    assert least_miss_rate(charge, "0.05") == 0 or least_miss_rate(charge, "0.05") < Fraction(1, 10**15)


def test_a_certain_leak_stays_certain_from_above() -> None:
    masses: Any = np.array([0.5, 0.5])
    grid = GridLaw(Fraction(0), 0, 1, masses, masses, np.zeros(2), (1.0, 1.0), 0.0)
    above, below = (TiltedSum([(grid, 1)], Fraction(1), 1.0, above=way, most=1 << 12) for way in (True, False))
    assert above.infinite == 1.0
    assert below.infinite < 1.0


def test_a_delta_that_is_all_spent_by_the_charges_themselves_is_enough() -> None:
    assert gt.compose([gt.ApproxDP(1, "1e-6")], delta="1e-6") == gt.ApproxDP(1, "1e-6")
    exact = 1 - (1 - Fraction(1, 10**6)) ** 3
    assert gt.compose([gt.ApproxDP(1, "1e-6")] * 3, delta=exact) == gt.ApproxDP(3, exact)
    assert gt.compose([gt.ApproxDP(1, "1e-6")] * 3, delta="3e-6").epsilon <= 3  # type: ignore[attr-defined]
    many = gt.compose([gt.ApproxDP("0.1", "1e-30")] * 100, delta="1e-28")
    assert isinstance(many, gt.ApproxDP)
    assert many.epsilon <= 10


def test_the_miss_rate_of_a_promise_with_a_delta_of_its_own() -> None:
    charge = gt.ApproxDP(1, "1e-6")
    miss_rate = least_miss_rate(charge, "0.05")
    assert 0 <= charge.tradeoff(Fraction(1, 20)) - miss_rate < Fraction(1, 10**4)
    assert 0 < least_miss_rate(gt.ApproxDP(1, "0.6"), "0.05") <= gt.ApproxDP(1, "0.6").tradeoff(Fraction(1, 20))


@all_cases("noise", ["1e-299", "1e-151", "1e-149"])
def test_gaussian_noise_whose_square_is_no_double_hides_nothing_and_raises_nothing(noise: str) -> None:
    assert delta_interval([events.Gaussian(noise), events.Laplace(3)], 1).high == 1
    assert delta_interval(events.Gaussian(noise), 1).high == 1


def test_promises_of_many_denominators_add_up_to_a_number_that_can_be_written() -> None:
    """The exact sum of a thousand such fractions has more digits than Python writes."""
    promises = [gt.PureDP(Fraction(1, prime)) for prime in primes(1100, 10**4)]
    together = gt.compose(promises)
    assert isinstance(together, gt.PureDP)
    exactly = sum((promise.epsilon for promise in promises), Fraction(0))
    assert exactly <= together.epsilon <= exactly + Fraction(1, 2**2000)
    assert str(together.epsilon)
