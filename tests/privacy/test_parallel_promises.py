"""Disjoint parts: the largest promise counts, or the few largest that one unit can touch."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from promise_strategies import ONE_OF_EACH, sizes

from cases import all_cases
from giveortake.errors import InvalidParameter, MismatchedPromises, Unprovable
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP, parallel, sequential, unit

checked = settings(max_examples=40, deadline=None)


@checked
@given(st.lists(sizes, min_size=1, max_size=6), st.integers(1, 8))
def test_the_largest_parts_are_charged(epsilons: list[Fraction], touched: int) -> None:
    total = parallel([PureDP(epsilon) for epsilon in epsilons], touched=touched)
    assert total == PureDP(sum(sorted(epsilons)[-touched:]))


@all_cases("promise", ONE_OF_EACH)
def test_one_part_alone_costs_itself_and_equal_parts_cost_one(promise: Guarantee) -> None:
    assert parallel([promise]) == promise == parallel([promise] * 5)
    assert parallel([promise] * 5, touched=3) == promise.repeat(3)
    assert parallel([promise] * 5, touched=99) == sequential([promise] * 5)


def test_the_largest_epsilon_and_the_largest_delta_may_sit_in_different_parts() -> None:
    parts = [ApproxDP(1, "1e-9"), ApproxDP("0.1", "1e-5"), PureDP(2)]
    assert parallel(parts) == ApproxDP(2, "1e-5")
    assert parallel(parts, touched=2) == ApproxDP(3, Fraction(1, 10**5) + Fraction(1, 10**9))


def test_each_currency_has_its_own_largest() -> None:
    assert parallel([ZCDP(1), ZCDP(3), ZCDP(2)], touched=2) == ZCDP(5)
    assert parallel([GaussianDP(3), GaussianDP(1), GaussianDP(4)], touched=2) == GaussianDP(5)
    assert parallel([RenyiDP({2: 1, 4: 9}), RenyiDP({2: 2, 4: 3})]) == RenyiDP({2: 2, 4: 9})
    assert parallel([PureDP("0.2"), ZCDP("0.01")]) == ZCDP("0.02")


def test_a_changed_row_may_move_between_parts_so_change_one_is_refused() -> None:
    parts = [PureDP("0.1", neighbours="change-one"), PureDP("0.2", neighbours="change-one")]
    with pytest.raises(Unprovable, match="under"):
        parallel(parts)
    moved = parallel([PureDP("0.1"), PureDP("0.2")]).under("change-one")
    assert moved == PureDP("0.4", neighbours="change-one")


def test_mismatches_mixtures_and_empty_lists_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="promises"):
        parallel([])
    with pytest.raises(MismatchedPromises):
        parallel([PureDP(1), PureDP(1, unit=unit("user_id"))])
    with pytest.raises(Unprovable, match="approximate"):
        parallel([ZCDP(1), ApproxDP(1, "1e-6")])


@all_cases("touched", [0, -1, "1/2", True, None])
def test_touched_is_a_positive_whole_number(touched: Any) -> None:
    with pytest.raises(InvalidParameter, match="touched"):
        parallel([PureDP(1)], touched=touched)


def test_only_promises_are_combined() -> None:
    nonsense: Any = [PureDP(1), 1]
    with pytest.raises(InvalidParameter, match="promises"):
        parallel(nonsense)
