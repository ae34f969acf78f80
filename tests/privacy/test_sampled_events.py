"""Sampling amplifies privacy: the stated pairs hold for the exact mixtures, and what has no theorem is refused."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from cases import all_cases, some_examples
from giveortake import codec
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.privacy import ApproxDP, PureDP, RenyiDP, events
from giveortake.privacy.events import Event, amplified, sampled_gaussian_divergence

rates = st.fractions(Fraction(1, 50), 1, max_denominator=50)
sizes = st.fractions(Fraction(1, 50), 5, max_denominator=50)


@some_examples
@given(sizes, rates)
def test_sampled_randomized_response_attains_the_amplified_epsilon(epsilon: Fraction, rate: Fraction) -> None:
    """Present with probability q: P = qR + (1−q)R′ against Q = R′; the largest ratio is 1 + q(e^ε − 1)."""
    grown = math.exp(epsilon)
    with_it, without = grown / (1 + grown), 1 / (1 + grown)
    ratio = (float(rate) * with_it + float(1 - rate) * without) / without
    promise = events.Subsampled(events.Pure(epsilon), rate).guarantee()
    assert isinstance(promise, PureDP)
    assert float(promise.epsilon) == pytest.approx(math.log(ratio), rel=1e-9)
    assert promise.epsilon <= epsilon


@some_examples
@given(sizes, rates)
def test_amplified_epsilons_are_rounded_up_and_grow_with_the_rate(epsilon: Fraction, rate: Fraction) -> None:
    assert amplified(epsilon, rate) <= amplified(epsilon, min(Fraction(1), rate * 2))
    assert amplified(epsilon, Fraction(1)) >= epsilon * (1 - Fraction(1, 2**50))
    assert amplified(epsilon, rate) >= rate * epsilon  # ln(1 + q(e^ε − 1)) is concave in q


def test_delta_shrinks_by_the_rate() -> None:
    promise = events.Subsampled(events.Approx(1, "1e-6"), "0.01").guarantee()
    assert isinstance(promise, ApproxDP)
    assert promise.delta == Fraction(1, 10**8)
    assert float(promise.epsilon) == pytest.approx(math.log1p(0.01 * math.expm1(1)), rel=1e-12)


def test_huge_epsilons_are_amplified_without_overflow() -> None:
    assert float(amplified(Fraction(5000), Fraction(1, 100))) == pytest.approx(5000 - math.log(100))


@all_cases(("rate", "sigma", "order"), [(0.01, 1.0, 2), (0.1, 2.0, 8), (0.5, 0.7, 3), (0.3, 4.0, 32)])
def test_the_divergence_of_sampled_gaussian_noise_is_that_of_the_mixture(rate: float, sigma: float, order: int) -> None:
    """∫ Q (P/Q)^α, and not less than the other way round."""

    def moment(x: float, way: int) -> float:
        ratio = rate * math.exp((2 * x - 1) / (2 * sigma**2)) + 1 - rate
        base = norm.pdf(x, 0, sigma)
        return float(base * ratio**order) if way > 0 else float(base * ratio ** (1 - order))

    stated = float(sampled_gaussian_divergence(1 / Fraction(sigma), Fraction(rate), order))
    ends = (-12 * sigma, order + 12 * sigma)
    one, other = (math.log(quad(moment, *ends, args=(way,), limit=500)[0]) / (order - 1) for way in (1, -1))
    assert stated == pytest.approx(one, rel=1e-6)
    assert stated >= other * (1 - 1e-9)


def test_sampled_gaussian_noise_promises_a_renyi_curve_that_composes() -> None:
    step = events.Subsampled(events.Gaussian(1), "0.01")
    promise = step.guarantee()
    assert isinstance(promise, RenyiDP)
    assert events.Repeated(step, 10).guarantee() == promise.repeat(10)


@all_cases(
    ("event", "neighbours"),
    [
        (events.Subsampled(events.Pure(1), "0.1"), "change-one"),
        (events.Subsampled(events.Pure(1), "0.1", "fixed-size"), "add-remove"),
        (events.Subsampled(events.Gaussian(1), "0.1", "fixed-size"), "change-one"),
        (events.Subsampled(events.ZCDP(1), "0.1"), "add-remove"),
        (events.Subsampled(events.Subsampled(events.Gaussian(1), "0.1"), "0.1"), "add-remove"),
    ],
)
def test_what_has_no_theorem_is_refused(event: Event, neighbours: str) -> None:
    with pytest.raises(Unprovable):
        event.guarantee(neighbours=neighbours)  # type: ignore[arg-type]


def test_fixed_size_samples_amplify_under_change_one() -> None:
    event = events.Subsampled(events.Laplace(1), "0.1", "fixed-size")
    assert event.guarantee(neighbours="change-one") == PureDP(
        amplified(Fraction(1), Fraction(1, 10)), neighbours="change-one"
    )


@all_cases("rate", [0, -1, "1.1", "nan", None, True])
def test_rates_that_are_none_are_refused(rate: object) -> None:
    with pytest.raises(InvalidParameter):
        events.Subsampled(events.Pure(1), rate)  # type: ignore[arg-type]


@all_cases("scheme", ["bernoulli", "", "1/2", "Poisson", 3, None])
def test_schemes_that_are_none_are_refused_in_json_too(scheme: object) -> None:
    content = codec.write(events.Subsampled(events.Pure(1), "1/2"))
    assert codec.read(Event, content) == events.Subsampled(events.Pure(1), "0.5")
    with pytest.raises(InvalidParameter):
        codec.read(Event, content | {"scheme": scheme})
