"""Bad parameters are refused by name, and good ones are kept exactly."""

from __future__ import annotations

import copy
from dataclasses import FrozenInstanceError, fields
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from promise_strategies import ONE_OF_EACH

from cases import all_cases
from giveortake.errors import InvalidParameter
from giveortake.privacy import (
    ROW,
    ZCDP,
    ApproxDP,
    ComputationalDP,
    GaussianDP,
    Guarantee,
    ProbabilisticDP,
    PureDP,
    RenyiDP,
    Unit,
    unit,
)

if TYPE_CHECKING:
    from collections.abc import Callable

NONSENSE: list[Any] = [True, np.True_, "nan", float("nan"), float("inf"), "-inf", Decimal("Infinity"), [1], None, b"1"]
NONSENSE += ["1e400", "1e-400", 1e-301, Fraction(10**301), "", "one", "1/0", -1, "-0.5", 1j, object(), 10**5000]

MAKERS: dict[str, tuple[str, Callable[[Any], Guarantee]]] = {
    "pure": ("epsilon", PureDP),
    "approximate epsilon": ("epsilon", lambda value: ApproxDP(value, "1e-6")),
    "approximate delta": ("delta", lambda value: ApproxDP(1, value)),
    "probabilistic epsilon": ("epsilon", lambda value: ProbabilisticDP(value, "1e-6")),
    "probabilistic delta": ("delta", lambda value: ProbabilisticDP(1, value)),
    "computational epsilon": ("epsilon", lambda value: ComputationalDP(value, "1e-6")),
    "computational delta": ("delta", lambda value: ComputationalDP(1, value)),
    "concentrated": ("rho", ZCDP),
    "gaussian": ("mu", GaussianDP),
    "rényi epsilon": ("epsilon", lambda value: RenyiDP([(2, value)])),
    "rényi order": ("order", lambda value: RenyiDP([(value, 1)])),
}


@all_cases("value", NONSENSE)
@all_cases("maker", MAKERS)
def test_what_is_not_a_plain_positive_number_is_refused_by_name(maker: str, value: Any) -> None:
    name, make = MAKERS[maker]
    with pytest.raises(InvalidParameter, match=name):
        make(value)


@all_cases("maker", ["pure", "concentrated", "gaussian", "rényi epsilon", "rényi order"])
def test_zero_is_refused_where_it_would_promise_too_much(maker: str) -> None:
    name, make = MAKERS[maker]
    with pytest.raises(InvalidParameter) as refusal:
        make(0)
    assert refusal.value.name == name


@all_cases("kind", [ApproxDP, ProbabilisticDP, ComputationalDP])
def test_delta_zero_is_refused_with_the_hint_to_promise_purely(kind: type[ApproxDP]) -> None:
    with pytest.raises(InvalidParameter, match="PureDP"):
        kind(1, 0)


@all_cases("delta", [1, "1.5", 2])
def test_a_delta_from_one_on_is_refused(delta: Any) -> None:
    with pytest.raises(InvalidParameter, match="delta"):
        ApproxDP(1, delta)


def test_epsilon_zero_is_total_variation() -> None:
    assert ApproxDP(0, "0.1").advantage() == Fraction(1, 10)


@all_cases("order", [1, "0.5", Fraction(1) + Fraction(1, 10**301)])
def test_renyi_orders_lie_above_one(order: Any) -> None:
    with pytest.raises(InvalidParameter, match="order"):
        RenyiDP({order: 1})


@all_cases("curve", [{}, [], 3, "ab", [2, 1], [(2, 1, 0)], None, {2: 1, "2": 1}, [(2, 1), (2.0, 3)]])
def test_a_renyi_curve_has_one_epsilon_for_each_of_some_orders(curve: Any) -> None:
    with pytest.raises(InvalidParameter, match="curve"):
        RenyiDP(curve)


@all_cases("spelling", [0.1, "0.1", "1/10", Decimal("0.1"), Fraction(1, 10), np.float64(0.1)])
def test_one_tenth_is_one_tenth_however_it_is_written(spelling: Any) -> None:
    assert PureDP(spelling) == PureDP(Fraction(1, 10))
    assert hash(PureDP(spelling)) == hash(PureDP(Fraction(1, 10)))
    assert PureDP(spelling).epsilon == Fraction(1, 10)


def test_renyi_curves_are_equal_whatever_the_order_of_writing() -> None:
    assert RenyiDP({8: "0.4", 2: "0.1"}) == RenyiDP([("8", "2/5"), (2, 0.1)])
    assert RenyiDP({8: "0.4", 2: "0.1"}).orders == (Fraction(2), Fraction(8))


def test_kinds_with_the_same_numbers_are_different_promises() -> None:
    assert len({ApproxDP(1, "1e-6"), ProbabilisticDP(1, "1e-6"), ComputationalDP(1, "1e-6")}) == 3
    assert PureDP(1) != PureDP(1, unit=unit("user_id"))
    assert PureDP(1) != PureDP(1, neighbours="change-one")


@all_cases("promise", ONE_OF_EACH)
def test_promises_are_frozen_slotted_values(promise: Guarantee) -> None:
    for field in fields(promise):
        with pytest.raises(FrozenInstanceError):
            setattr(promise, field.name, 1)
    assert not hasattr(promise, "__dict__")
    assert copy.deepcopy(promise) == promise


@all_cases("column", ["", "  ", None, 3, True, b"user_id"])
def test_a_unit_is_named_by_a_column(column: Any) -> None:
    with pytest.raises(InvalidParameter, match="unit"):
        unit(column)


def test_units_are_values() -> None:
    assert unit("user_id") == unit("user_id") != ROW
    assert Unit() == ROW


@all_cases("protected", ["user_id", None, 3])
def test_a_promise_wants_a_unit_and_not_a_text(protected: Any) -> None:
    with pytest.raises(InvalidParameter, match="unit"):
        PureDP(1, unit=protected)


@all_cases("relation", ["add", "", None, 1, "ADD-REMOVE", ["add-remove"]])
def test_a_relation_has_one_of_two_names(relation: Any) -> None:
    with pytest.raises(InvalidParameter, match="neighbours"):
        PureDP(1, neighbours=relation)
    with pytest.raises(InvalidParameter, match="neighbours"):
        PureDP(1).under(relation)


@all_cases("count", [0, -1, "1/2", 1.5, True, None, "x", [2], float("inf")])
@all_cases("promise", ONE_OF_EACH)
def test_counts_are_positive_whole_numbers(promise: Guarantee, count: Any) -> None:
    with pytest.raises(InvalidParameter, match="times"):
        promise.repeat(count)
    with pytest.raises(InvalidParameter, match="size"):
        promise.group(count)


@all_cases("promise", ONE_OF_EACH)
def test_questions_are_checked_like_parameters(promise: Guarantee) -> None:
    bad: list[Any] = [-1, "nan", True, None, [1], "1e-400"]
    asked: list[tuple[Callable[[Any], object], str]] = [
        (promise.epsilon_at, "delta"),
        (promise.delta_at, "epsilon"),
        (promise.tradeoff, "fpr"),
        (promise.membership_inference, "fpr"),
        (promise.posterior, "prior"),
    ]
    for value in bad:
        for ask, name in asked:
            with pytest.raises(InvalidParameter, match=name):
                ask(value)
    for value in (0, 1, 2):
        with pytest.raises(InvalidParameter, match="delta"):
            promise.epsilon_at(value)
    for value in (0, 1, True, "x"):
        with pytest.raises(InvalidParameter, match="failure"):
            promise.posterior("0.5", failure=value)
    with pytest.raises(InvalidParameter, match="fpr"):
        promise.tradeoff("1.01")


@all_cases("other", [None, 1, "PureDP(1)", PureDP])
def test_only_promises_compose(other: Any) -> None:
    with pytest.raises(InvalidParameter, match="other"):
        PureDP(1).compose(other)


@all_cases("kind", [ApproxDP, ProbabilisticDP, ComputationalDP])
def test_a_delta_that_is_missing_is_named_with_the_promise_that_needs_it(kind: Any) -> None:
    with pytest.raises(InvalidParameter, match=f"delta.*{kind.__name__}"):
        kind("1")
