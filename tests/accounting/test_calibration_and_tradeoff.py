"""The least noise under a budget, and what attackers are left with after many releases."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import giveortake as gt
from cases import all_cases
from giveortake.accounting import calibrate, epsilon_interval, events, least_miss_rate
from giveortake.errors import InvalidParameter, Unprovable


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
