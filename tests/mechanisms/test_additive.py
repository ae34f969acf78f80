"""Additive noise: its laws, its tails, and the ends of the supported range."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from scipy import integrate, special, stats

import giveortake as gt
import laws
import noise_contract
from cases import all_cases
from giveortake import exact
from giveortake.errors import InvalidParameter
from giveortake.mechanisms import (
    AboveThreshold,
    DiscoveredHistogram,
    DiscreteGaussian,
    Exponential,
    Gaussian,
    Geometric,
    KeySelection,
    Laplace,
    PermuteAndFlip,
    RandomizedResponse,
    ReportNoisyMax,
)
from giveortake.mechanisms import additive as tails
from giveortake.mechanisms.additive import AdditiveNoise, LaplaceTail, NormalTail, Tail, chance, plausible, quantile
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


def _tail(terms: list[Tail], t: float) -> float:
    """P[|Σ| > t] by convolving densities on a fine grid, cut off far out."""
    reach, count = 60 * sum(term.scale for term in terms), 2**16
    grid = (np.arange(count) - count // 2) * (2 * reach / count)
    transform = np.ones(count, dtype=complex)
    for term in terms:
        law = stats.laplace(scale=term.scale) if isinstance(term, LaplaceTail) else stats.norm(scale=term.scale)
        step = grid[1] - grid[0]
        mass = law.cdf(grid + step / 2) - law.cdf(grid - step / 2)
        transform *= np.fft.fft(np.fft.ifftshift(mass))
    density = np.fft.fftshift(np.fft.ifft(transform).real)
    return float(density[np.abs(grid) > t].sum())


SUMS: dict[str, list[Tail]] = {
    "one Laplace": [LaplaceTail(3.0)],
    "one normal": [NormalTail(3.0)],
    "equal Laplace": [LaplaceTail(2.0), LaplaceTail(2.0)],
    "five equal Laplace": [LaplaceTail(1.0)] * 5,
    "apart": [LaplaceTail(1.0), LaplaceTail(7.0), LaplaceTail(0.2)],
    "nearly equal": [LaplaceTail(1.0), LaplaceTail(1.001), LaplaceTail(1.002)],
    "normal": [NormalTail(3.0), NormalTail(4.0)],
    "both": [NormalTail(3.0), LaplaceTail(2.0)],
    "both, and little of one": [NormalTail(0.1), LaplaceTail(2.0)],
    "both, and little of the other": [NormalTail(3.0), LaplaceTail(0.1)],
    "several of both": [NormalTail(3.0), LaplaceTail(2.0), LaplaceTail(2.0), NormalTail(1.0), LaplaceTail(5.0)],
    "many and a normal one": [*[LaplaceTail(1.0)] * 12, NormalTail(2.0)],
    "many": [LaplaceTail(1.0)] * 12,
    "one that vanishes": [LaplaceTail(3.0), LaplaceTail(0.0)],
}
MIXED = {"many", "many and a normal one"}  # these are bounded, by moments; others are nearly exact


@all_cases("miss", [0.3, 0.05, 0.001])
@all_cases("name", SUMS)
def test_a_quantile_is_never_too_small_and_seldom_much_too_large(name: str, miss: float) -> None:
    terms = SUMS[name]
    t = quantile(terms, miss)
    present = [term for term in terms if term.scale > 0]
    reached = _tail(present, t)
    assert reached <= miss * (1 + 1e-2) + 1e-6  # the grid's own error
    if name in MIXED:
        assert _tail(present, t / 2) >= miss
    else:
        assert reached >= miss * 0.6


def test_known_quantiles() -> None:
    assert quantile([NormalTail(3.0), NormalTail(4.0)], 0.05) == pytest.approx(5 * stats.norm.isf(0.025), rel=1e-9)
    assert quantile([LaplaceTail(2.0)], 0.05) == pytest.approx(2 * math.log(20), rel=1e-9)
    assert quantile([], 0.05) == 0


def test_a_laplace_and_a_normal_noise_have_the_chance_that_integration_gives() -> None:
    x = np.concatenate([np.linspace(0, 30, 301), np.logspace(1.5, 8, 50)])
    assert tails._scaled_erfc(x) == pytest.approx(special.erfcx(x), rel=1e-12)
    for scale in (0.1, 1.0, 40.0):
        for t in (0.01, 3.0, 6.0):

            def density(normal: float, t: float = t, scale: float = scale) -> float:
                return float(stats.norm.pdf(normal) * stats.laplace.sf(t - normal, scale=scale))

            expected = 2 * integrate.quad(density, -40, 40, points=[-8, 0, t, 8], epsabs=0, epsrel=1e-11)[0]
            found = chance(np.array([t]), [LaplaceTail(np.array([scale])), NormalTail(np.array([1.0]))])
            assert found[0] == pytest.approx(expected, rel=1e-9, abs=1e-14)
    for laplace, normal in ((0.0, 1.0), (1e-300, 1.0), (1.0, 0.0), (1.0, 1e-300), (0.0, 0.0), (1e300, 1e299)):
        both = chance(np.array([0.0, 2.0]), [LaplaceTail(np.array([laplace])), NormalTail(np.array([normal]))])
        alone: Tail = LaplaceTail(np.array([laplace])) if laplace > normal else NormalTail(np.array([normal]))
        assert both == pytest.approx(chance(np.array([0.0, 2.0]), [alone]), rel=1e-8)


@all_cases("count", [2, 8])
@all_cases("ratio", np.geomspace(7e8, 1.5e9, 9).tolist())
def test_no_noise_is_left_out_of_some_parts_of_a_sum_alone(count: int, ratio: float) -> None:
    """Parts are large and of either sign: what is neglected in one, and not in another, does not cancel."""
    away = np.array([0.5, 2.0, 6.0])
    small: list[Tail] = [*[LaplaceTail(np.array([1 / ratio]))] * count, NormalTail(np.array([1.0]))]
    assert (chance(away, small) >= chance(away, [NormalTail(np.array([1.0]))]) * (1 - 1e-13)).all()
    assert chance(away, small) == pytest.approx(chance(away, [NormalTail(np.array([1.0]))]), rel=1e-3)
    alone: list[Tail] = [LaplaceTail(np.array([1.0]))] * count
    both: list[Tail] = [*alone, NormalTail(np.array([1 / ratio]))]
    assert (chance(away, both) >= chance(away, alone) * (1 - 1e-9)).all()
    assert chance(away, both) == pytest.approx(chance(away, alone), rel=1e-3)


def test_distances_are_judged_elementwise_and_zero_is_always_plausible() -> None:
    away = np.array([-1.0, 0.0, 1.0, 100.0])
    judged = plausible(away, [LaplaceTail(np.array([1.0, 0.0, 1.0, 1.0]))], 0.05)
    assert judged.tolist() == [True, True, True, False]
    assert plausible(np.array([1.0]), [LaplaceTail(np.array([0.0]))] * 2, 0.05).tolist() == [False]


SPENDING: dict[str, Callable[[Any], object]] = {
    "laplace of an integer": lambda e: gt.laplace(5, sensitivity=1, epsilon=e),
    "laplace of a float": lambda e: gt.laplace(5.5, sensitivity=1, epsilon=e),
    "gaussian": lambda e: gt.gaussian(5, sensitivity=1, epsilon=e, delta="1e-6"),
    "gaussian by mu": lambda mu: gt.gaussian(5, sensitivity=1, mu=mu),
    "gaussian by rho": lambda rho: gt.gaussian(5.5, sensitivity=1, rho=rho),
    "margin": lambda e: gt.margin(5, sensitivity=1, epsilon=e),
    "margin of a Gaussian": lambda e: gt.margin(5.5, sensitivity=1, epsilon=e, delta="1e-6"),
    "exponential": lambda e: gt.exponential(["a", "b"], [0, 1], sensitivity=1, epsilon=e),
    "randomized response": lambda e: gt.randomized_response(True, epsilon=e),
    "histogram": lambda e: gt.histogram(["a"], categories=["a", "b"], epsilon=e),
    "histogram, change-one": lambda e: gt.histogram(["a"], categories=["a"], epsilon=e, neighbours="change-one"),
    "histogram, discovered": lambda e: gt.histogram(["a"], epsilon=e, delta="1e-6"),
    "Laplace": lambda e: Laplace.calibrated(epsilon=e),
    "Gaussian": lambda e: Gaussian.calibrated(epsilon=e, delta="1e-6"),
    "Exponential": lambda e: Exponential.calibrated(epsilon=e),
    "PermuteAndFlip": lambda e: PermuteAndFlip.calibrated(epsilon=e),
    "ReportNoisyMax": lambda e: ReportNoisyMax.calibrated(epsilon=e),
    "DiscoveredHistogram": lambda e: DiscoveredHistogram.calibrated(epsilon=e, delta="1e-6"),
    "KeySelection": lambda e: KeySelection(e, "1e-6").release({"a": 5}),
    "RandomizedResponse": lambda e: RandomizedResponse(e).release([True, False]),
    "AboveThreshold": lambda e: AboveThreshold(3, e).release(5),
}
EXTREMES = ["1e-300", "1e-290", "1e-150", "1e-20", "1e-9", 1, 10**9, 10**10, "1e150", "1e290", "1e300"]
PAIRS = list(itertools.product(tiered(EXTREMES[::2], EXTREMES), repeat=2))


@all_cases("release", SPENDING.values(), ids=SPENDING)
def test_a_billion_works_and_more_is_refused_by_name(release: Callable[[Any], object]) -> None:
    release(10**9)
    for beyond in (10**9 + 1, "1e10", "1e300"):
        with pytest.raises(InvalidParameter, match="above 10⁹") as refused:
            release(beyond)
        assert refused.value.name in {"epsilon", "mu", "rho"}


@all_cases("release", SPENDING.values(), ids=SPENDING)
def test_a_promise_too_strong_for_any_noise_is_refused_by_name_or_kept(release: Callable[[Any], object]) -> None:
    for tiny in ("1e-9", "1e-150", "1e-299", "1e-300"):
        try:
            release(tiny)
        except InvalidParameter as refused:
            assert refused.name in {"epsilon", "noise", "sigma", "granularity"}  # noqa: PT017 (most of them work)


def test_a_histogram_without_bound_is_refused_by_the_name_that_was_given() -> None:
    for call in (
        lambda: gt.histogram(["a"], categories=["a"], epsilon="1e-300", neighbours="change-one"),
        lambda: gt.histogram(["a"], epsilon="1e-300", delta="1e-6"),
        lambda: gt.exponential(["a"], [1], sensitivity=1, epsilon="1e-300"),
    ):
        with pytest.raises(InvalidParameter, match="range") as refused:
            call()
        assert refused.value.name == "epsilon"


@all_cases(("sensitivity", "promise"), PAIRS)
def test_no_pair_of_extremes_makes_a_release_or_its_margin_fail_otherwise(sensitivity: Any, promise: Any) -> None:
    for value, granularity in itertools.product((5, 5.5), (None, "1e-290", 1, 10**10, "1e290")):
        for call in (
            lambda: gt.laplace(value, sensitivity=sensitivity, epsilon=promise, granularity=granularity),  # noqa: B023
            lambda: gt.gaussian(value, sensitivity=sensitivity, mu=promise, granularity=granularity),  # noqa: B023
            lambda: gt.margin(value, sensitivity=sensitivity, epsilon=promise, granularity=granularity),  # noqa: B023
            lambda: gt.margin(value, sensitivity=sensitivity, mu=promise, granularity=granularity),  # noqa: B023
        ):
            works_or_is_refused(call)


@all_cases(("first", "second"), PAIRS)
def test_no_pair_of_extremes_makes_another_mechanism_fail_otherwise(first: Any, second: Any) -> None:
    for call in (
        lambda: gt.exponential(["a", "b"], [0, 1e300], sensitivity=first, epsilon=second),
        lambda: gt.gaussian(5.5, sensitivity=1, epsilon=first, delta=second),
        lambda: gt.histogram(["a"], epsilon=first, delta=second),
        lambda: KeySelection(first, second).release({"a": 10**9}),
        lambda: KeySelection(first, second).margin(),
        lambda: AboveThreshold(first, second).release(5),
        lambda: RandomizedResponse(first).margin(answers=second),
        lambda: DiscreteGaussian(first).event(second).guarantee(),
        lambda: Exponential(first).margin(candidates=second),
        lambda: gt.accounting.filter(gt.ApproxDP(first, second)).affordable(),
    ):
        works_or_is_refused(call)


def works_or_is_refused(call: Callable[[], object]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            call()
        except gt.errors.GiveOrTakeError as refused:
            assert str(refused)  # noqa: PT017 (most of them work)


def test_noise_that_no_double_bounds_has_no_margin() -> None:
    with pytest.raises(InvalidParameter, match="double") as refused:
        gt.margin(5.5, sensitivity="1e-300", epsilon="1e-300", granularity=10**10)
    assert refused.value.name == "noise"


def test_a_weak_promise_keeps_an_integer_as_it_is() -> None:
    assert gt.laplace(5, sensitivity=1, epsilon=10**9) == 5
    assert gt.margin(5, sensitivity=1, epsilon=10**9) == 0
    assert gt.histogram(["a"], categories=["a", "b"], epsilon=10**9) == {"a": 1, "b": 0}
    assert Laplace(Fraction(1, 10**9)).release(5) == 5


@all_cases("law", [DiscreteGaussian, Gaussian, Laplace])
def test_noise_of_a_scale_whose_square_no_double_holds_is_drawn_or_refused_by_name(law: Any) -> None:
    """Its square is zero as a double: a sampler that divides by it never ends."""
    for scale in (Fraction(1, 10**20), Fraction(1, 10**200)):
        assert list(law(scale).release([1, 2, 3])) == [1, 2, 3]
    for scale in (Fraction(1, 10**320), Fraction(1, 10**400)):
        with pytest.raises(InvalidParameter, match=r"sigma|scale"):
            law(scale)
