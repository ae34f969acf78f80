"""The accountant's intervals against exact enumeration of all outcomes, and against closed forms."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import exact_losses
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from cases import all_cases
from giveortake.accounting import Interval, convolution, delta_interval, epsilon_interval, events
from giveortake.accounting import privacy_loss as laws
from giveortake.accounting.convolution import RepeatedLaw
from giveortake.exact import precision
from giveortake.privacy import GaussianDP
from tiers import tiered

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
    found = delta_interval(listed, epsilon)
    assert exact_losses.ball(found.low) <= truth + 1e-60
    assert exact_losses.ball(found.high) >= truth - 1e-60


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
    found = epsilon_interval(listed, allowed)
    assert exact_losses.delta(atoms, found.high) <= exact_losses.ball(allowed)
    if found.low > 0:
        assert exact_losses.delta(atoms, found.low * (1 - Fraction(1, 10**12))) >= exact_losses.ball(allowed)


@all_cases("k", [1, 2, 7, 40])
def test_the_interval_of_equal_responses_is_narrow(k: int) -> None:
    found = epsilon_interval(events.Repeated(events.RandomizedResponse("1.1", 3), k), "1e-6")
    assert found.width < Fraction(1, 10**3) * found.high


def grid_only(law: laws.Law, times: int, delta: float) -> Interval:
    low, high = convolution.epsilon_bounds([RepeatedLaw(law, times)], delta, delta)
    return Interval(Fraction(low), Fraction(high))


@all_cases("mu", [0.02, 0.6, 3.0, 12.0])
@all_cases("times", [1, 5, 1000])
@all_cases("delta", [1e-3, 1e-10, 1e-80])
def test_gaussian_losses_on_a_grid_contain_the_exact_curve(mu: float, times: int, delta: float) -> None:
    truth = GaussianDP(Fraction(mu)).epsilon_at(Fraction(delta))
    found = grid_only(laws.Normal(mu / math.sqrt(times)), times, delta)
    assert found.low <= truth <= found.high
    assert found.width < Fraction(2, 1000) * max(found.high, Fraction(1, 100))


@all_cases("epsilon", ["0", "0.3", "0.9", "0.999"])
def test_one_laplace_release_follows_its_closed_form(epsilon: str) -> None:
    asked = Fraction(epsilon)
    truth = -math.expm1(float(asked - 1) / 2)
    found = delta_interval(events.Laplace(1), asked)
    assert float(found.low) <= truth * (1 + 1e-12)
    assert float(found.high) >= truth * (1 - 1e-12)
    assert float(found.width) < 0.02 * truth


@all_cases("epsilon", [0.1, 0.7, 1.4])
def test_two_laplace_releases_follow_the_integral(epsilon: float) -> None:
    """δ of two = E[δ of one at ε − L] over the first loss L: atoms at ±1, density e^((t−1)/2)/4 between."""

    def one(at: float) -> float:
        return 0.0 if at >= 1 else -math.expm1((at - 1) / 2) if at > -1 else -math.expm1(at)

    middle, _ = quad(lambda t: math.exp((t - 1) / 2) / 4 * one(epsilon - t), -1, 1, points=[epsilon - 1], epsabs=1e-14)
    truth = middle + one(epsilon - 1) / 2 + math.exp(-1) / 2 * one(epsilon + 1)
    found = delta_interval(events.Repeated(events.Laplace(1), 2), epsilon)
    assert float(found.low) <= truth <= float(found.high)
    assert float(found.width) < 0.02 * truth


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
    found = delta_interval(events.Subsampled(events.Gaussian(sigma), rate), epsilon)
    assert float(found.low) <= truth * (1 + 1e-9)
    assert float(found.high) >= truth * (1 - 1e-9)


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
    found = epsilon_interval(events.Repeated(events.Pure("0.1"), k), "1e-6")
    allowed = exact_losses.ball(Fraction(1, 10**6))
    assert exact_losses.many_responses(Fraction(1, 10), k, found.high) <= allowed
    assert exact_losses.many_responses(Fraction(1, 10), k, found.low) >= allowed
    assert found.width < Fraction(1, 10**4) * found.high


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
    found = delta_interval(events.Exponential(1), "0.2")
    truth = (math.exp(0.5) - math.exp(0.1)) ** 2 / math.expm1(1)
    assert float(found.low) <= truth <= float(found.high)
    assert float(found.width) < 0.02 * truth


@settings(max_examples=tiered(10, 25))
@given(
    small, st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20), st.integers(1, 5), st.integers(0, 20)
)
def test_sampled_responses_lie_in_their_interval_whichever_way_round(
    epsilon: Fraction, rate: Fraction, times: int, twentieths: int
) -> None:
    """The pairs (q P + (1 − q) Q, Q) and (P, q Q + (1 − q) P) enumerated; the larger δ is the truth."""
    asked = Fraction(twentieths, 20)
    found = delta_interval(events.Repeated(events.Subsampled(events.Pure(epsilon), rate), times), asked)
    with precision(exact_losses.BITS):
        truth = max(float(_sampled(epsilon, rate, times, asked, removing=way).mid()) for way in (True, False))
    assert float(found.low) <= truth + 1e-14
    assert float(found.high) >= truth - 1e-14


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
