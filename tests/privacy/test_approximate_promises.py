"""The three (ε, δ) promises: what they share, and what tells them apart."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from promise_strategies import approximate, deltas, sizes

from cases import all_cases
from giveortake.errors import Unprovable
from giveortake.exact import exp_up, log_up
from giveortake.privacy import ApproxDP, ComputationalDP, Guarantee, ProbabilisticDP, PureDP

NOTHING_KNOWN = (Fraction(0), Fraction(1))
THREE = Fraction(3)
TENTH = Fraction(1, 10)
# [Lal20] (22) and (23) at e^ε = 3, δ = 1/10
LEAKY_0 = [TENTH, Fraction(3, 4) * (1 - TENTH), Fraction(1, 4) * (1 - TENTH), Fraction(0)]
LEAKY_1 = [Fraction(0), Fraction(1, 4) * (1 - TENTH), Fraction(3, 4) * (1 - TENTH), TENTH]


def hockey_stick(factor: Fraction) -> Fraction:
    return max(
        sum((LEAKY_0[k] - factor * LEAKY_1[k] for k in range(4) if chosen[k]), Fraction(0))
        for chosen in product([False, True], repeat=4)
    )


@all_cases("asked", ["1", "3/2", "2", "29/10", "3", "7"])
def test_the_leaky_randomized_response_attains_delta_at(asked: str) -> None:
    factor = Fraction(asked)
    promise = ApproxDP(log_up(THREE), TENTH)
    bound = promise.delta_at(log_up(factor) if factor > 1 else 0)
    exact = hockey_stick(factor)
    assert exact - Fraction(1, 10**40) <= bound <= exact + Fraction(1, 10**40)


@all_cases("kind", [ApproxDP, ProbabilisticDP, ComputationalDP])
def test_epsilons_and_deltas_add(kind: type[ApproxDP]) -> None:
    assert kind("0.5", "1e-6").compose(kind("0.25", "1e-7")) == kind("0.75", "1.1e-6")
    assert kind("0.5", "1e-6").repeat(10) == kind(5, "1e-5")
    assert kind("0.5", "1e-6").compose(PureDP("0.25")) == kind("0.75", "1e-6")
    assert PureDP("0.25").compose(kind("0.5", "1e-6")) == kind("0.75", "1e-6")


@settings(max_examples=60, deadline=None)
@given(sizes, deltas)
def test_groups_scale_as_in_lal20_proposition_6(epsilon: Fraction, delta: Fraction) -> None:
    """The geometric sum 1 + e^ε + … + e^((k−1)ε) is added up term by term here."""
    for kind in (ApproxDP, ComputationalDP):
        try:
            group = kind(epsilon, delta).group(3)
        except Unprovable:
            assert float(delta) * (1 + math.exp(epsilon) + math.exp(2 * epsilon)) >= 1 - 1e-9
            continue
        assert group.epsilon == 3 * epsilon
        assert float(group.delta) == pytest.approx(
            float(delta) * (1 + math.exp(epsilon) + math.exp(2 * epsilon)), rel=1e-12
        )


def test_at_epsilon_zero_the_factor_of_a_group_is_its_size() -> None:
    assert ApproxDP(0, "0.01").group(7) == ApproxDP(0, "0.07")
    with pytest.raises(Unprovable):
        ApproxDP(0, "0.01").group(100)


@settings(max_examples=30, deadline=None)
@given(approximate)
def test_a_group_of_one_is_the_same_promise(promise: ApproxDP) -> None:
    assert promise.group(1) == promise


@all_cases("size", [10**3, 10**6, 10**100, 10**300])
def test_a_group_whose_delta_reaches_one_is_promised_nothing(size: int) -> None:
    with pytest.raises(Unprovable):
        ApproxDP(1, "1e-6").group(size)


def test_a_delta_that_adds_up_to_one_is_promised_nothing() -> None:
    with pytest.raises(Unprovable, match="reaches 1"):
        ApproxDP(1, "0.5").compose(ApproxDP(1, "0.5"))
    with pytest.raises(Unprovable, match="reaches 1"):
        ApproxDP(1, "0.1").repeat(10)


def test_no_epsilon_makes_up_for_a_smaller_delta() -> None:
    with pytest.raises(Unprovable, match="at least 1e-6"):
        ApproxDP(1, "1e-6").epsilon_at("1e-7")
    assert ApproxDP(1, "1e-6").epsilon_at("1e-6") == 1


def test_probabilistic_implies_approximate_with_the_same_numbers() -> None:
    assert ProbabilisticDP("0.5", "1e-6").approximate() == ApproxDP("0.5", "1e-6")
    assert ProbabilisticDP("0.5", "1e-6").approximate("1e-3") == ApproxDP("0.5", "1e-6").approximate("1e-3")
    assert ProbabilisticDP("0.5", "1e-6").compose(ApproxDP("0.5", "1e-6")) == ApproxDP(1, "2e-6")
    assert ProbabilisticDP("0.5", "1e-6").group(2) == ApproxDP("0.5", "1e-6").group(2)


def test_probabilistic_privacy_does_not_survive_post_processing_but_approximate_does() -> None:
    """[Lal20, Prop. 4]: merging outputs 0 and 1 makes the bad set as likely as δ + ¾(1 − δ)."""
    merged_0, merged_1 = [LEAKY_0[0] + LEAKY_0[1], *LEAKY_0[2:]], [LEAKY_1[0] + LEAKY_1[1], *LEAKY_1[2:]]
    bad = sum(a for a, b in zip(LEAKY_0, LEAKY_1, strict=True) if a > THREE * b)
    worse = sum(a for a, b in zip(merged_0, merged_1, strict=True) if a > THREE * b)
    assert bad == TENTH < worse
    excess = sum(max(Fraction(0), a - THREE * b) for a, b in zip(merged_0, merged_1, strict=True))
    assert excess <= ProbabilisticDP(log_up(THREE), TENTH).approximate().delta


def test_computational_absorbs_every_epsilon_delta_promise_and_turns_into_none() -> None:
    promise = ComputationalDP("0.5", "1e-6")
    others: list[Guarantee] = [PureDP("0.5"), ApproxDP("0.5", "1e-6"), ProbabilisticDP("0.5", "1e-6")]
    for other in others:
        assert isinstance(promise.compose(other), ComputationalDP)
        assert promise.compose(other) == other.compose(promise)
    with pytest.raises(Unprovable, match="computational"):
        promise.approximate("1e-3")
    with pytest.raises(Unprovable, match="tradeoff"):
        promise.posterior("0.5", failure="0.1")
    assert promise.posterior("0.5") == NOTHING_KNOWN


@settings(max_examples=60, deadline=None)
@given(approximate, sizes)
def test_computational_numbers_are_those_of_the_approximate_promise(promise: ApproxDP, asked: Fraction) -> None:
    """Every single test lies in the polygon of (ε, δ), whose vertex gives the curve: no dominating pair is needed."""
    computational = ComputationalDP(promise.epsilon, promise.delta)
    assert computational.delta_at(asked) == promise.delta_at(asked)
    vertex = (1 - promise.delta) / (1 + exp_up(promise.epsilon))
    assert float(computational.membership_inference(vertex)) == pytest.approx(
        float(promise.delta + exp_up(promise.epsilon) * vertex), rel=1e-9
    )
