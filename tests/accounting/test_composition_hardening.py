"""Corners of composition: what is attained from below, and where floating-point numbers end."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import giveortake as gt
from cases import all_cases
from giveortake.accounting import delta_interval, epsilon_interval, events, least_miss_rate
from giveortake.accounting.composition import Method
from giveortake.accounting.convolution import TiltedSum
from giveortake.accounting.privacy_loss import GridLaw
from tiers import tiered


def primes(count: int, start: int) -> list[int]:
    found: list[int] = []
    number = start
    while len(found) < count:
        if all(number % divisor for divisor in range(2, int(number**0.5) + 1)):
            found.append(number)
        number += 1
    return found


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
    found = least_miss_rate(charge, "0.05")
    assert 0 <= charge.tradeoff(Fraction(1, 20)) - found < Fraction(1, 10**4)
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
