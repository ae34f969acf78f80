"""`compose`: the numbers of the theory, how the methods relate, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import giveortake as gt
from cases import all_cases
from giveortake.accounting import Interval, advanced_epsilon, delta_interval, epsilon_interval, events
from giveortake.accounting.composition import Method
from giveortake.errors import InvalidParameter, MismatchedPromises, Unprovable
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
    found = epsilon_interval(
        [events.Repeated(events.Laplace(50), 500), events.Repeated(events.Gaussian(30), 500)], "1e-6"
    )
    assert found.low < Fraction("4.163822") < found.high * Fraction("1.001")
    assert found.width < found.high / 1000


def test_gradient_steps_agree_with_another_accountant() -> None:
    """dp-accounting 0.6.0 says 6.187744997."""
    steps = events.Repeated(events.Subsampled(events.Gaussian(1), "0.01"), 10_000)
    found = epsilon_interval(steps, "1e-5")
    assert found.low < Fraction("6.187745") < found.high * Fraction("1.001")
    assert found.width < found.high / 1000
    promise = steps.guarantee()
    assert promise.epsilon_at("1e-5") > found.high  # the Rényi curve is looser


@all_cases("times", [10**3, 10**6, 10**9, 10**12, 10**30, 10**280])
def test_nothing_overflows_however_often_something_is_repeated(times: int) -> None:
    charge = events.Repeated(events.Pure("0.1"), times)
    optimal, advanced = epsilon(charge, "optimal"), epsilon(charge, "advanced")
    mean = times * 0.1 * math.tanh(0.05)
    assert mean * (1 - 1e-12) < optimal < advanced
    assert optimal < mean * 1.0012 + 6 * 0.1 * math.sqrt(times)


@all_cases("noise", [events.Laplace(1000), events.Gaussian(1000)])
def test_millions_of_small_releases_have_a_narrow_interval(noise: events.Event) -> None:
    found = epsilon_interval(events.Repeated(noise, 10**6), "1e-6")
    assert 0 < found.low <= found.high
    assert found.width < found.high / 500


def test_a_tiny_delta_is_resolved_because_errors_are_relative() -> None:
    found = epsilon_interval(events.Repeated(events.Laplace(10), 300), "1e-100")
    assert found.width < found.high / 1000
    assert found.high <= 30
    usual = epsilon_interval(events.Repeated(events.Laplace(100), 3000), "1e-50")
    assert usual.width < usual.high / 1000


# -- relations ------------------------------------------------------------------------------------------------


@settings(max_examples=tiered(12, 30))
@given(lists, deltas)
def test_tight_is_never_above_basic_and_its_interval_is_one(charges: list[events.Event], delta: str) -> None:
    found = epsilon_interval(charges, delta)
    assert 0 <= found.low <= found.high
    assert gt.compose(charges, delta=delta) == gt.ApproxDP(found.high, delta)
    basic = gt.compose(charges, delta=delta, method="basic")
    assert isinstance(basic, gt.ApproxDP)
    assert found.high <= basic.epsilon * Fraction("1.001")


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
    found = delta_interval(charges, asked)
    assert 0 <= found.low <= found.high <= 1
    assert delta_interval(charges, asked + 1).low <= found.high
    if Fraction(1, 10**7) < found.high < Fraction(9, 10):
        assert epsilon_interval(charges, found.high * Fraction("1.0001")).low <= asked + Fraction(1, 10**6)


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
    found = epsilon_interval(charges, "1e-6")
    assert 0 < found.width < found.high / 1000


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
        found = epsilon_interval(charges, delta)
    except Unprovable:
        assert delta == "1e-250"
        assert any(isinstance(charge, events.Approx) for charge in charges)
        return
    assert 0 <= found.low <= found.high
    back = delta_interval(charges, found.high)
    assert back.low <= Fraction(delta)
