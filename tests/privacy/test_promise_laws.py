"""Laws that hold for every kind of promise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import reduce

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from promise_strategies import (
    ONE_OF_EACH,
    adding_exactly,
    approximate,
    deltas,
    every_kind,
    gaussian,
    pure,
    rates,
    sizes,
    smallest_delta,
    statistical,
)

from cases import all_cases
from giveortake.errors import MismatchedPromises, Unprovable
from giveortake.exact import exp_up
from giveortake.privacy import ApproxDP, GaussianDP, Guarantee, PureDP, parallel, sequential, unit
from tiers import tiered

ROUNDING = Fraction(1, 2**150)
laws = settings(max_examples=tiered(30, 60), deadline=None)
short = settings(max_examples=tiered(10, 60), deadline=None)  # for each kind of promise


def close(first: Fraction, second: Fraction) -> bool:
    return abs(first - second) <= ROUNDING * max(first, second)


@all_cases("kind", adding_exactly)
@short
@given(data=st.data())
def test_composition_commutes_and_associates(kind: st.SearchStrategy[Guarantee], data: st.DataObject) -> None:
    first, second, third = (data.draw(kind) for _ in range(3))
    try:
        left = first.compose(second).compose(third)
    except Unprovable:
        assume(False)
    assert left == first.compose(second.compose(third))
    assert first.compose(second) == second.compose(first)
    assert left == sequential([third, first, second])


@laws
@given(gaussian, gaussian, gaussian)
def test_gaussian_composition_commutes_and_associates_up_to_its_rounding(
    first: GaussianDP, second: GaussianDP, third: GaussianDP
) -> None:
    assert first.compose(second) == second.compose(first)
    left, right = first.compose(second).compose(third), first.compose(second.compose(third))
    assert isinstance(left, GaussianDP)
    assert isinstance(right, GaussianDP)
    assert close(left.mu, right.mu)
    exact = first.mu**2 + second.mu**2 + third.mu**2
    assert left.mu**2 >= exact
    assert right.mu**2 >= exact


@laws
@given(every_kind, st.integers(1, 6))
def test_repeating_is_composing_with_itself(promise: Guarantee, times: int) -> None:
    try:
        repeated = promise.repeat(times)
    except Unprovable:
        with pytest.raises(Unprovable):
            sequential([promise] * times)
        return
    assert repeated == sequential([promise] * times)
    if not isinstance(promise, GaussianDP):  # whose root is rounded once or several times
        assert repeated == reduce(Guarantee.compose, [promise] * times)


@laws
@given(every_kind, every_kind)
def test_mixed_composition_commutes_or_is_refused_both_ways(first: Guarantee, second: Guarantee) -> None:
    try:
        together = first.compose(second)
    except Unprovable:
        with pytest.raises(Unprovable):
            second.compose(first)
    else:
        assert together == second.compose(first)


@laws
@given(every_kind)
def test_a_group_of_one_is_the_unit_itself(promise: Guarantee) -> None:
    group = promise.group(1)
    assert [group.delta_at(epsilon) for epsilon in (0, 1, 5)] == [promise.delta_at(epsilon) for epsilon in (0, 1, 5)]


@laws
@given(every_kind, st.integers(1, 4), st.integers(1, 4))
def test_larger_groups_are_protected_less(promise: Guarantee, size: int, more: int) -> None:
    try:
        larger = promise.group(size + more)
    except Unprovable:
        return
    assert promise.group(size).delta_at(1) <= larger.delta_at(1)


@laws
@given(every_kind)
def test_changing_one_is_removing_one_and_adding_another(promise: Guarantee) -> None:
    assert promise.under("add-remove") is promise
    try:
        pair = promise.group(2)
    except Unprovable:
        with pytest.raises(Unprovable):
            promise.under("change-one")
        return
    changed = promise.under("change-one")
    assert changed == replace(pair, neighbours="change-one")
    assert changed.under("change-one") is changed
    with pytest.raises(Unprovable, match="different size"):
        changed.under("add-remove")


@laws
@given(every_kind, sizes, st.fractions(min_value=Fraction(1, 10**6), max_value=5, max_denominator=10**6))
def test_delta_falls_as_epsilon_grows(promise: Guarantee, epsilon: Fraction, more: Fraction) -> None:
    assert 0 <= promise.delta_at(epsilon + more) <= promise.delta_at(epsilon) <= promise.delta_at(0) <= 1


@laws
@given(every_kind, deltas)
def test_epsilon_at_is_an_epsilon_that_delta_at_confirms(promise: Guarantee, delta: Fraction) -> None:
    assume(delta >= smallest_delta(promise))
    epsilon = promise.epsilon_at(delta)
    assert promise.delta_at(epsilon) <= delta


@laws
@given(every_kind, deltas)
def test_epsilon_at_is_tight(promise: Guarantee, delta: Fraction) -> None:
    assume(delta > smallest_delta(promise))
    epsilon = promise.epsilon_at(delta)
    assume(epsilon > 0)
    assert promise.delta_at(epsilon * (1 - Fraction(1, 10**4))) > delta


@laws
@given(statistical, deltas)
def test_the_approximate_form_promises_no_more_than_the_promise(promise: Guarantee, delta: Fraction) -> None:
    assume(delta >= smallest_delta(promise))
    stated = promise.approximate(delta)
    assert stated == ApproxDP(promise.epsilon_at(delta), delta)
    grid = Fraction(0) if isinstance(promise, PureDP | ApproxDP | GaussianDP) else Fraction(1, 20)
    for fpr in ("0.01", "0.1", "0.5"):
        assert stated.tradeoff(fpr) <= promise.tradeoff(fpr) + grid + ROUNDING


@laws
@given(pure | approximate, st.fractions(min_value=0, max_value=1, max_denominator=100))
def test_the_tight_trade_is_never_above_the_crude_one(promise: PureDP | ApproxDP, share: Fraction) -> None:
    asked = promise.epsilon * share
    assume(asked < promise.epsilon)
    try:
        crude = promise.trade(asked)
    except Unprovable:
        return
    assert promise.delta_at(asked) <= crude.delta
    assert crude.epsilon == asked


@laws
@given(every_kind, rates, st.fractions(min_value=0, max_value=8, max_denominator=64))
def test_every_attacker_respects_every_epsilon_and_delta_up_to_the_grid(
    promise: Guarantee, fpr: Fraction, epsilon: Fraction
) -> None:
    """tpr ≤ e^ε·fpr + δ(ε) is what (ε, δ) means; moment bounds draw their trade-off from a grid of ε."""
    tpr = promise.membership_inference(fpr)
    assert 0 <= tpr <= 1
    slack = Fraction(1, 10**30) if isinstance(promise, PureDP | ApproxDP | GaussianDP) else Fraction(1, 10)
    assert tpr <= exp_up(epsilon) * fpr + promise.delta_at(epsilon) + slack


@laws
@given(every_kind, rates, rates)
def test_the_tradeoff_falls_with_the_false_positive_rate(promise: Guarantee, one: Fraction, two: Fraction) -> None:
    assert promise.tradeoff(max(one, two)) <= promise.tradeoff(min(one, two))
    assert promise.tradeoff(one) <= 1 - one
    assert promise.tradeoff(one) >= 1 - one - promise.advantage() - Fraction(1, 10**30)


@laws
@given(every_kind, every_kind)
def test_promises_about_different_people_do_not_combine(first: Guarantee, second: Guarantee) -> None:
    elsewhere = replace(second, unit=unit("user_id"))
    with pytest.raises(MismatchedPromises, match=r"one row.*one user_id"):
        first.compose(elsewhere)
    with pytest.raises(MismatchedPromises, match=r"one row.*one user_id"):
        parallel([first, elsewhere])
    otherwise = replace(second, neighbours="change-one")
    with pytest.raises(MismatchedPromises, match=r"add-remove.*change-one"):
        first.compose(otherwise)


@all_cases("promise", ONE_OF_EACH)
def test_everything_derived_keeps_the_unit_and_the_relation(promise: Guarantee) -> None:
    told = replace(promise, unit=unit("user_id"), neighbours="change-one")
    for derived in (told.compose(told), told.repeat(3), told.group(2)):
        assert (derived.unit, derived.neighbours) == (unit("user_id"), "change-one")
