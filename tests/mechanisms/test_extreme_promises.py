"""ε up to 10⁹ works in every mechanism; beyond it, and where noise has no bound, every one refuses by name."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import giveortake as gt
from cases import all_cases
from giveortake.errors import InvalidParameter
from giveortake.mechanisms import (
    AboveThreshold,
    DiscoveredHistogram,
    DiscreteGaussian,
    Exponential,
    Gaussian,
    KeySelection,
    Laplace,
    PermuteAndFlip,
    RandomizedResponse,
    ReportNoisyMax,
)
from tiers import tiered

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
