"""The parts of the accountant: floating-point functions, tails, laws on a grid, transforms."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import giveortake as gt
from cases import all_cases, some_examples
from giveortake.accounting import calibrate, convolution, epsilon_interval, events, least_miss_rate, privacy_loss
from giveortake.accounting.composition import bundle_delta, flattened
from giveortake.accounting.convolution import RepeatedLaw, TiltedSum
from giveortake.accounting.privacy_loss import (
    FUNCTION_ERROR,
    NARROW,
    TAIL_ERROR,
    GriddedCurve,
    GridLaw,
    NotResolved,
    narrow,
    on_grid,
    tail,
)
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.exact import enclosure, normal_cdf, precision
from giveortake.privacy import ZCDP, GaussianDP, RenyiDP
from tiers import tiered

POINTS = np.concatenate([np.linspace(-36.9, 36.9, 701), np.random.default_rng(1).uniform(-9, 9, 700)])


def relative(computed: float, exact: Any) -> float:
    return abs(float(enclosure(Fraction(computed)) / exact - 1))


def test_normal_tails_are_as_accurate_as_stated() -> None:
    computed = tail(POINTS)
    with precision(200):
        errors = [relative(c, normal_cdf(-enclosure(Fraction(x)))) for x, c in zip(POINTS, computed, strict=True)]
    assert max(errors) < TAIL_ERROR
    assert list(tail(np.array([-np.inf, np.inf, 38.0, -38.0]))) == [1.0, 0.0, 0.0, 1.0]


def test_narrow_intervals_are_as_accurate_as_stated() -> None:
    halves = NARROW / (np.abs(POINTS) + 1) * np.random.default_rng(2).uniform(1e-6, 1, len(POINTS))
    computed = narrow(POINTS, halves)
    with precision(300):
        for x, half, c in zip(POINTS, halves, computed, strict=True):
            middle, side = enclosure(Fraction(abs(x))), enclosure(Fraction(half))
            exact = normal_cdf(-middle + side) - normal_cdf(-middle - side)
            assert relative(c, exact) < TAIL_ERROR + 2.0**-49 * x * x


@all_cases("name", ["exp", "expm1", "log", "log1p"])
def test_library_functions_are_within_what_is_assumed(name: str) -> None:
    random = np.random.default_rng(3)
    inputs = np.concatenate([random.uniform(0.01, 600, 400), np.exp(random.uniform(-30, 0, 400))])
    if name in {"exp", "expm1"}:
        inputs = np.concatenate([inputs, -inputs])
    computed = getattr(np, name)(inputs)
    with precision(200):
        errors = [relative(c, getattr(enclosure(Fraction(x)), name)()) for x, c in zip(inputs, computed, strict=True)]
    assert max(errors) < FUNCTION_ERROR / 4


def losses(grid: GridLaw, step: Fraction) -> Any:
    return float(grid.offset) + float(step) * grid.indices()


def grid_delta(grid: GridLaw, step: Fraction, epsilon: float, *, above: bool) -> float:
    points = losses(grid, step) if above else losses(grid, step) - grid.excess
    masses = grid.upper if above else grid.lower
    return grid.infinite[above] + float(np.sum(masses * np.maximum(-np.expm1(epsilon - points), 0)))


def normal_delta(mu: float, epsilon: float) -> float:
    return float(GaussianDP(Fraction(mu)).delta_at(Fraction(epsilon)))


@settings(max_examples=tiered(24, 60))
@given(
    st.floats(0.05, 6),
    st.floats(1e-3, 0.5),
    st.floats(0, 5),
    st.integers(1, 9),
)
def test_a_normal_law_on_any_grid_lies_between_its_two_sides(
    mu: float, step: float, epsilon: float, stride: int
) -> None:
    exact = Fraction(step)
    grid = on_grid(privacy_loss.Normal(mu), exact, stride=stride, tail_mass=1e-13)
    truth = normal_delta(mu, epsilon)
    assert grid_delta(grid, exact, epsilon, above=False) <= truth * (1 + 1e-9) + 1e-15
    assert truth <= grid_delta(grid, exact, epsilon, above=True) * (1 + 1e-9) + 1e-15


@settings(max_examples=tiered(24, 60))
@given(
    st.fractions(Fraction(1, 20), 3, max_denominator=60),
    st.fractions(Fraction(1, 100), Fraction(1, 2), max_denominator=100),
    st.floats(0, 3),
    st.booleans(),
)
def test_ramps_on_any_grid_lie_between_their_two_sides(
    size: Fraction, step: Fraction, epsilon: float, ends: bool
) -> None:
    grid = on_grid(privacy_loss.Ramp(size, ends), step, tail_mass=1e-12)
    if epsilon >= size:
        truth = 0.0
    elif ends:
        truth = -math.expm1((epsilon - float(size)) / 2)
    else:
        truth = (math.exp(float(size) / 2) - math.exp(epsilon / 2)) ** 2 / math.expm1(float(size))
    assert grid_delta(grid, step, epsilon, above=False) <= truth + 1e-12
    assert truth <= grid_delta(grid, step, epsilon, above=True) + 1e-12


@some_examples
@given(st.fractions(Fraction(1, 20), 3, max_denominator=60), st.fractions(Fraction(1, 99), 1, max_denominator=99))
def test_upper_masses_keep_both_probabilities_of_a_law(size: Fraction, step: Fraction) -> None:
    """Connecting the dots keeps Σ P = 1 and Σ P e^−L = 1; merging keeps them with the merged losses."""
    grid = on_grid(privacy_loss.Ramp(size, True), step, tail_mass=1e-12)
    points = losses(grid, step)
    assert float(np.sum(grid.upper)) == pytest.approx(1, abs=1e-9)
    assert float(np.sum(grid.upper * np.exp(-points))) == pytest.approx(1, abs=1e-9)
    assert float(np.sum(grid.lower * np.exp(grid.excess - points))) == pytest.approx(1, abs=1e-9)


def test_atoms_on_the_grid_stay_where_they_are() -> None:
    law = privacy_loss.geometric(Fraction(5), 3)
    grid = on_grid(law, law.step, tail_mass=1e-12)
    assert grid.upper[:4] == pytest.approx(law.masses, rel=1e-12)
    assert np.max(np.abs(grid.excess)) < 1e-12


@settings(max_examples=tiered(8, 20))
@given(st.integers(2, 12), st.floats(0.01, 3))
def test_tilted_sums_by_transform_equal_repeated_convolution(times: int, theta: float) -> None:
    law = privacy_loss.categorical(Fraction(1, 3), 4)
    step = Fraction(1, 3)
    grid = on_grid(law, step, tail_mass=1e-12)
    summed = TiltedSum([(grid, times)], step, theta, above=True, most=1 << 12)
    direct = np.ones(1)
    for _ in range(times):
        direct = np.convolve(direct, grid.upper[:3])
    points = float(step) * (np.arange(2 * times + 1) - times)
    for epsilon in (0.0, 0.4, 1.1):
        truth = float(np.sum(direct * np.maximum(-np.expm1(epsilon - points), 0)))
        inside, _, factor = summed.expectation(epsilon)
        assert inside * math.exp(factor) == pytest.approx(truth, rel=1e-9, abs=1e-14)


@all_cases("promise", [ZCDP("0.5"), ZCDP("0.01"), RenyiDP({2: "0.1", 8: "0.4", 32: "1.6"})])
@all_cases("delta", [1e-3, 1e-8])
def test_a_curve_of_moments_on_a_grid_is_never_below_the_promise(promise: ZCDP | RenyiDP, delta: float) -> None:
    low, high = convolution.epsilon_bounds([RepeatedLaw(GriddedCurve(promise), 1, known=False)], delta, delta)
    truth = float(promise.epsilon_at(Fraction(delta)))
    assert low == 0
    assert truth * (1 - 1e-6) <= high <= truth * 1.02


def test_what_doubles_cannot_tell_is_not_told() -> None:
    with pytest.raises(NotResolved):
        convolution.epsilon_bounds([RepeatedLaw(privacy_loss.two_points(Fraction(2000)), 1)], 1e-6, 1e-6)
    with pytest.raises(NotResolved):
        convolution.epsilon_bounds([RepeatedLaw(privacy_loss.two_points(Fraction(1)), 2**60)], 1e-6, 1e-6)


@all_cases("event", [events.Subsampled(events.Pure(2), "0.9"), events.Subsampled(events.Gaussian(1), "0.2")])
def test_sampled_releases_are_priced_both_for_adding_and_for_removing(
    event: events.Subsampled, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle, directions, sampled = flattened(events.Repeated(event, 3)), set[bool](), privacy_loss.Sampled

    def recorded(law: privacy_loss.Law, rate: Fraction, removing: bool) -> privacy_loss.Law:
        directions.add(removing)
        return sampled(law, rate, removing)

    with monkeypatch.context() as patched:
        patched.setattr(privacy_loss, "Sampled", recorded)
        high = bundle_delta(bundle, Fraction(1, 5)).high
    assert directions == {True, False}
    ((law, rate), times) = next(iter(bundle.sampled.items()))
    for removing in (True, False):
        losses = RepeatedLaw(privacy_loss.Sampled(law, rate, removing), times)
        assert convolution.delta_bounds([losses], 0.2, 0.2)[0] <= high


@all_cases(
    ("noise", "releases", "rate", "budget"),
    [
        ("laplace", 100, 1, gt.ApproxDP(1, "1e-6")),
        ("laplace", 1, 1, gt.ApproxDP("0.1", "1e-6")),
        ("gaussian", 1000, 1, gt.ApproxDP(2, "1e-5")),
        ("gaussian", 200, "0.02", gt.ApproxDP(1, "1e-5")),
        ("laplace", 20, "0.1", gt.ApproxDP(1, "1e-6")),
    ],
)
def test_calibrated_noise_keeps_the_budget_and_little_less_does_not(
    noise: Any, releases: int, rate: Any, budget: gt.ApproxDP
) -> None:
    found = calibrate(noise, budget, releases=releases, rate=rate)

    def spent(multiplier: Fraction) -> gt.accounting.Interval:
        one = events.Laplace(multiplier) if noise == "laplace" else events.Gaussian(multiplier)
        event = one if rate == 1 else events.Subsampled(one, rate)
        return epsilon_interval(events.Repeated(event, releases), budget.delta)

    assert spent(found).low <= budget.epsilon
    assert spent(found).high <= budget.epsilon * Fraction("1.0005")
    assert spent(found * Fraction("0.99")).low > budget.epsilon


def test_exact_calibrations_compose_to_exactly_the_budget() -> None:
    assert calibrate("laplace", gt.PureDP("0.5"), releases=10) == 20
    assert calibrate("gaussian", gt.GaussianDP("0.5"), releases=9) == 6
    for budget in (gt.GaussianDP("0.5"), gt.ZCDP("0.125")):
        noise = calibrate("gaussian", budget, releases=7)
        promise = events.Repeated(events.Gaussian(noise), 7).guarantee()
        assert isinstance(promise, gt.GaussianDP)
        assert Fraction(499, 1000) < promise.mu <= Fraction(1, 2)
    assert float(calibrate("gaussian", gt.ApproxDP(1, "1e-5"))) == pytest.approx(3.730631635, abs=1e-9)
    approx = gt.compose(
        events.Repeated(events.Gaussian(calibrate("gaussian", gt.ApproxDP(1, "1e-5"), releases=7)), 7), delta="1e-5"
    )
    assert isinstance(approx, gt.ApproxDP)
    assert approx.epsilon <= 1


@all_cases(
    ("noise", "budget", "keywords"),
    [
        ("uniform", gt.PureDP(1), {}),
        ("laplace", gt.PureDP(1), {"releases": 0}),
        ("laplace", gt.PureDP(1), {"rate": 2}),
        ("laplace", gt.PureDP(1), {"rate": 0}),
    ],
)
def test_bad_calibrations_are_refused(noise: Any, budget: gt.PureDP, keywords: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        calibrate(noise, budget, **keywords)


@all_cases("budget", [gt.PureDP(1), gt.ZCDP(1), gt.RenyiDP({2: 1})])
def test_budgets_without_a_route_are_refused(budget: Any) -> None:
    with pytest.raises(Unprovable, match="ApproxDP"):
        calibrate("gaussian", budget, rate="0.1")


@all_cases("fpr", ["0.01", "0.1", "0.5", "0.9"])
def test_the_miss_rate_after_gaussian_releases_is_close_to_the_exact_curve(fpr: str) -> None:
    exact = gt.GaussianDP("0.5").tradeoff(fpr)
    found = least_miss_rate([events.Repeated(events.Gaussian(6), 9)], fpr)
    assert exact * Fraction(97, 100) < found <= exact


@all_cases("fpr", [0, 1, "0.05", "0.3"])
def test_the_miss_rate_of_one_response_is_never_overstated(fpr: Any) -> None:
    exact = gt.PureDP("0.5").tradeoff(fpr)
    found = least_miss_rate([events.RandomizedResponse("0.5", 2)], fpr)
    assert exact - Fraction(2, 100) < found <= exact
