"""The Guarantee sentences of the mechanisms that add noise, on exact probabilities and on draws."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

import giveortake as gt
import laws
import noise_contract
from cases import all_cases
from giveortake import exact
from giveortake.mechanisms import DiscreteGaussian, Gaussian, Geometric, Laplace
from giveortake.mechanisms.additive import AdditiveNoise
from giveortake.privacy import GaussianDP, PureDP
from noise_contract import SLACK
from recorded_entropy import RecordedEntropy
from tiers import tiered

FAMILIES = [
    pytest.param(Laplace, laws.rounded_laplace, id="laplace"),
    pytest.param(Gaussian, laws.rounded_normal, id="gaussian"),
    pytest.param(Geometric, laws.two_sided_geometric, id="geometric"),
    pytest.param(DiscreteGaussian, laws.discrete_gaussian, id="discrete gaussian"),
]


@all_cases("scale", [F(1, 3), F(1), F(7, 2), F(20)])
@all_cases("shift", [1, 2, 5])
def test_laplace_and_geometric_keep_their_pure_promise_on_every_outcome(scale: F, shift: int) -> None:
    for mechanism, law in (
        (Laplace(scale), laws.rounded_laplace(scale)),
        (Geometric(scale), laws.two_sided_geometric(scale)),
    ):
        promise = mechanism.event(shift).guarantee()
        assert isinstance(promise, PureDP)
        assert promise.epsilon == shift / scale
        factor = exact.exp_up(promise.epsilon)
        for k in range(-30, 31):
            assert law(k) <= factor * law(k - shift) + SLACK


def test_laplace_attains_its_promise_so_that_none_is_given_away() -> None:
    law = laws.rounded_laplace(F(2))
    assert law(10) / law(11) > exact.exp_down(F(1, 2)) - SLACK / law(11)


@all_cases("sigma", [F(1, 2), F(2), F("3.7306"), F(10)])
@all_cases("epsilon", [F(0), F(1, 10), F(1), F(3)])
def test_gaussian_keeps_the_exact_curve(sigma: F, epsilon: F) -> None:
    promise = Gaussian(sigma).event(1).guarantee()
    assert promise == GaussianDP(1 / sigma)
    spent = laws.excess(laws.rounded_normal(sigma), 1, epsilon, reach=int(30 * sigma) + 5)
    assert spent <= promise.delta_at(epsilon) + SLACK


def test_discrete_gaussian_breaks_the_continuous_curve_and_is_not_priced_by_it() -> None:
    sigma = F("3.7306317")
    assert GaussianDP(1 / sigma).delta_at(1) <= F(1, 10**5)
    spent = laws.excess(laws.discrete_gaussian(sigma), 1, F(1), reach=150)
    assert spent > F(1, 10**5)
    assert spent <= DiscreteGaussian(sigma).event(1).guarantee().delta_at(1)


@all_cases(("mechanism", "law"), FAMILIES)
@all_cases("scale", [F(3, 10), F(1), F(4), F(33, 2)])
@all_cases("confidence", [F(1, 2), F(95, 100), F(999, 1000)])
def test_a_margin_covers_and_laplace_and_normal_margins_are_the_least(
    mechanism: type[Laplace | DiscreteGaussian], law: Callable[[F], laws.Law], scale: F, confidence: F
) -> None:
    spare = 1 if mechanism is DiscreteGaussian else 0
    noise_contract.has_a_margin_that_covers(mechanism(scale), law(scale), confidence, spare)


@all_cases(("mechanism", "law"), FAMILIES)
@all_cases("shift", [1, 3])
def test_every_noise_keeps_its_promise_on_every_set_of_outcomes(
    mechanism: type[Laplace], law: Callable[[F], laws.Law], shift: int
) -> None:
    noise_contract.keeps_its_promise(mechanism(F(3)), law(F(3)), shift, reach=80)


@pytest.mark.statistical
@all_cases(("mechanism", "law"), FAMILIES)
@all_cases("scale", tiered([F(6)], [F(3, 4), F(6)]))
def test_releases_have_the_stated_law_and_a_wrong_scale_is_caught(
    mechanism: type[Laplace], law: Callable[[F], laws.Law], scale: F, entropy: RecordedEntropy
) -> None:
    noise_contract.has_the_stated_law_and_no_other(mechanism(scale), law, scale, entropy)


EVERY = all_cases("mechanism", [Laplace(5), Gaussian(5), Geometric(5), DiscreteGaussian(5)])


@EVERY
def test_results_beyond_int64_are_widened_and_never_wrap(mechanism: AdditiveNoise) -> None:
    noise_contract.is_widened_and_never_wraps(mechanism)


@EVERY
def test_every_noise_says_what_it_is_and_releases_in_kind(mechanism: AdditiveNoise) -> None:
    noise_contract.says_what_it_is(mechanism)
    noise_contract.releases_in_kind(mechanism, lambda: RecordedEntropy("twice the same"))


def test_a_stream_releases_chunk_by_chunk() -> None:
    chunks = (np.zeros(1000, dtype=np.int64) for _ in range(5))
    sizes = [chunk.size for chunk in Laplace(3).stream(chunks)]
    assert sizes == [1000] * 5


VALUES: list[Any] = [0, 7.3, [0.5] * 50, 0.0, [1] * 50]


@pytest.mark.statistical
@all_cases("value", tiered(VALUES[:3], VALUES))
@all_cases(
    "promise", [{"epsilon": "0.5"}, {"epsilon": 1, "delta": "1e-5"}, {"mu": 3}], ids=["laplace", "gaussian", "mu"]
)
@all_cases("sensitivity", tiered(["0.4"], ["0.4", "3"]))
def test_the_margin_of_a_call_covers_and_is_not_much_too_wide(value: Any, promise: Any, sensitivity: Any) -> None:
    release = gt.laplace if set(promise) == {"epsilon"} else gt.gaussian
    margin = gt.margin(value, sensitivity=sensitivity, confidence="0.9", **promise)
    draws = [release(value, sensitivity=sensitivity, **promise) for _ in range(1000)]
    inside = float(np.mean(np.abs(np.array(draws, dtype=float) - np.array(value, dtype=float)) <= float(margin)))
    assert inside >= 0.9 - 6 * 0.3 / np.sqrt(np.size(draws))
    if not isinstance(value, int) and not (isinstance(value, list) and isinstance(value[0], int)):
        assert inside <= 0.91 + 6 * 0.3 / np.sqrt(np.size(draws))


def test_calibrated_mechanisms_keep_the_promise_asked_for() -> None:
    assert Laplace.calibrated(epsilon="0.1", sensitivity=3).event(3).guarantee() == PureDP("0.1")
    gaussian = Gaussian.calibrated(epsilon=1, delta="1e-5", sensitivity=2)
    assert gaussian.event(2).guarantee().delta_at(1) <= F(1, 10**5)
    assert float(gaussian.sigma) == pytest.approx(2 * 3.730631635, abs=1e-8)
    assert Gaussian.calibrated(rho="1/2").sigma >= 1
    assert gt.mechanisms.Exponential.calibrated(epsilon=1, sensitivity=2).event(2).guarantee() == PureDP(1)
