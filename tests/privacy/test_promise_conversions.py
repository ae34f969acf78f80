"""Composing different kinds: each pair goes to a common kind by a theorem, or is refused with a way out."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given, settings
from promise_strategies import ONE_OF_EACH, deltas, sizes

from cases import all_cases
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.privacy import (
    ZCDP,
    ApproxDP,
    ComputationalDP,
    GaussianDP,
    Guarantee,
    ProbabilisticDP,
    PureDP,
    RenyiDP,
    sequential,
)

checked = settings(max_examples=40, deadline=None)
PURE, APPROX, PROBABLE, COMPUTED, CONCENTRATED, GAUSSIAN, RENYI = ONE_OF_EACH

COMMON_KIND: list[tuple[Guarantee, Guarantee, type[Guarantee]]] = [
    (PURE, APPROX, ApproxDP),
    (PURE, PROBABLE, ProbabilisticDP),
    (PURE, COMPUTED, ComputationalDP),
    (PURE, CONCENTRATED, ZCDP),
    (PURE, GAUSSIAN, GaussianDP),
    (PURE, RENYI, RenyiDP),
    (PROBABLE, APPROX, ApproxDP),
    (PROBABLE, COMPUTED, ComputationalDP),
    (APPROX, COMPUTED, ComputationalDP),
    (GAUSSIAN, CONCENTRATED, ZCDP),
    (GAUSSIAN, RENYI, RenyiDP),
    (CONCENTRATED, RENYI, RenyiDP),
]


@all_cases(("first", "second", "kind"), COMMON_KIND)
def test_each_pair_of_kinds_meets_in_the_weaker_one(first: Guarantee, second: Guarantee, kind: type[Guarantee]) -> None:
    together = first.compose(second)
    assert type(together) is kind
    assert together == second.compose(first)


@all_cases("moments", [CONCENTRATED, GAUSSIAN, RENYI])
@all_cases("pair", [APPROX, PROBABLE, COMPUTED])
def test_moments_and_deltas_do_not_add_until_the_moments_are_stated_with_a_delta(
    moments: Guarantee, pair: Guarantee
) -> None:
    for first, second in permutations([moments, pair]):
        with pytest.raises(Unprovable, match=r"\.approximate\(delta\)"):
            first.compose(second)
    stated = moments.approximate("1e-6").compose(pair)
    assert isinstance(stated, ApproxDP | ComputationalDP)
    assert stated.delta == Fraction(2, 10**6)


def test_the_numbers_of_mixed_compositions_are_those_of_the_theorems() -> None:
    assert PureDP("0.2").compose(ZCDP("0.1")) == ZCDP("0.12")
    assert GaussianDP("0.2").compose(ZCDP("0.1")) == ZCDP("0.12")
    assert ZCDP("0.1").compose(RenyiDP({2: 1, 8: 2})) == RenyiDP({2: "1.2", 8: "2.8"})
    assert GaussianDP("0.2").compose(RenyiDP({2: 1, 8: 2})) == RenyiDP({2: "1.04", 8: "2.16"})
    assert PureDP("0.2").compose(GaussianDP("0.1")) == PureDP("0.2").gaussian().compose(GaussianDP("0.1"))
    pure_at_two = PureDP("0.2").renyi([2]).curve[0][1]
    assert PureDP("0.2").compose(RenyiDP({2: 1})) == RenyiDP({2: 1 + pure_at_two})


def test_a_list_is_restated_once_and_then_added_in_any_order() -> None:
    promises: list[Guarantee] = [PureDP("0.1"), PureDP("0.3"), ZCDP("0.05"), GaussianDP("0.2")]
    expected = ZCDP(Fraction(1, 200) + Fraction(9, 200) + Fraction(1, 20) + Fraction(1, 50))
    for order in permutations(promises):
        assert sequential(order) == expected
    with pytest.raises(InvalidParameter, match="promises"):
        sequential([])


@checked
@given(sizes, sizes)
def test_conversions_are_monotone(one: Fraction, two: Fraction) -> None:
    low, high = sorted((one, two))
    assert PureDP(low).concentrated().rho <= PureDP(high).concentrated().rho
    assert PureDP(low).gaussian().mu <= PureDP(high).gaussian().mu
    assert GaussianDP(low).concentrated().rho <= GaussianDP(high).concentrated().rho
    for weak, strong in zip(PureDP(low).renyi([2, 9]).curve, PureDP(high).renyi([2, 9]).curve, strict=True):
        assert weak[1] <= strong[1]


@checked
@given(sizes, deltas)
def test_a_conversion_never_promises_more_than_the_original(epsilon: Fraction, delta: Fraction) -> None:
    pure = PureDP(epsilon)
    for converted in (pure.concentrated(), pure.gaussian(), pure.renyi(["1.25", 2, 16])):
        assert pure.epsilon_at(delta) <= converted.epsilon_at(delta)
        assert pure.delta_at(epsilon / 2) <= converted.delta_at(epsilon / 2)
        assert converted.tradeoff("0.1") <= pure.tradeoff("0.1")
