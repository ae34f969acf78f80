"""Guarantees of every kind: bad parameters are refused by name, laws hold, and texts and documents are exact."""

from __future__ import annotations

import copy
import json
import math
from contextlib import suppress
from dataclasses import FrozenInstanceError, fields, replace
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
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

import giveortake as gt
from cases import all_cases
from giveortake import codec
from giveortake.errors import InvalidParameter, MismatchedPromises, Unprovable
from giveortake.exact import LEAST, exact_or_about, exact_or_up, exp_up
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
    gaussian_mu,
    parallel,
    sequential,
    unit,
)
from giveortake.privacy.guarantee import factor
from tiers import tiered

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


SENTENCES = (Path(__file__).parent / "golden" / "sentences.txt").read_text(encoding="utf-8").splitlines()
TOLD: list[Guarantee] = [
    PureDP("0.1"),
    PureDP("0.1", unit=unit("user_id"), neighbours="change-one"),
    ApproxDP(1, "1e-6"),
    ProbabilisticDP(1, "1e-6"),
    ComputationalDP(1, "1e-6"),
    ZCDP("1/2"),
    GaussianDP("0.5"),
    RenyiDP({2: 1}),
]


@all_cases(("promise", "sentence"), list(zip(TOLD, SENTENCES, strict=True)))
def test_a_promise_is_one_sentence(promise: Guarantee, sentence: str) -> None:
    assert str(promise) == sentence


@all_cases(
    "code",
    [
        "PureDP('0.1')",
        "PureDP('1/3')",
        "ApproxDP('1', '1e-6', unit=unit('user_id'))",
        "ProbabilisticDP('0.5', '1e-6', neighbours='change-one')",
        "ComputationalDP('12.5', '1e-9')",
        "ZCDP('1e300')",
        "GaussianDP('0.0001')",
        "RenyiDP({'1.5': '0.1', '4': '0.2'})",
    ],
)
def test_the_representation_of_short_numbers_is_the_code_that_makes_them(code: str) -> None:
    assert repr(eval(code)) == code  # noqa: S307 the code is the test's own


def test_long_numbers_are_marked_as_approximate_and_long_curves_are_shortened() -> None:
    assert repr(GaussianDP(1).repeat(2)) == "GaussianDP('≈1.41422')"
    assert repr(ZCDP(1).renyi(range(2, 40))) == "RenyiDP({'2': '2', '3': '3', …, '39': '39'})"


def test_html_is_escaped() -> None:
    html = PureDP(1, unit=unit("<script>"))._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


@all_cases("promise", ONE_OF_EACH)
def test_every_kind_shows_its_code_and_its_sentence_in_html(promise: Guarantee) -> None:
    assert promise._repr_html_().startswith(f"<div><code>{type(promise).__name__}(")


@all_cases("epsilon", ["1e-300", "1e-9", "0.0009", "0.001", "0.1", "1", "29.9"])
def test_shown_factors_are_never_below_the_truth(epsilon: str) -> None:
    shown = sum(Fraction(part) for part in factor(Fraction(epsilon)).split(" + "))
    assert shown >= exp_up(Fraction(epsilon)) - Fraction(1, 2**180)


def test_shown_bounds_are_never_below_the_number() -> None:
    for number in (Fraction(1, 3), Fraction(2, 7), Fraction(10**20 + 1, 3), Fraction(1, 10**9)):
        assert Fraction(exact_or_up(number)) >= number
    assert exact_or_about(Fraction(0)) == "0"


ENDS = ["1e-300", "1e-150", "1e-20", "1e-3", "1", "1e3", "1e20", "1e150", "1e300"]
NEARLY_ONE = 1 - Fraction(1, 10**300)

PROMISES: list[Guarantee] = [
    *(kind(size) for kind in (PureDP, ZCDP, GaussianDP) for size in ENDS),
    *(RenyiDP({order: size}) for order in ("1.0001", "2", "1e300") for size in ENDS),
    RenyiDP({"1e300": "1e-300", 1 + Fraction(1, 10**299): "1e300"}),
    *(kind(size, delta) for kind in (ApproxDP, ComputationalDP) for size in ENDS for delta in ("1e-300", NEARLY_ONE)),
    ApproxDP(0, "1e-300"),
]

QUESTIONS: list[Callable[[Guarantee], object]] = [
    *(lambda promise, delta=delta: promise.epsilon_at(delta) for delta in ("1e-300", "1e-6", "0.5", NEARLY_ONE)),
    *(lambda promise, epsilon=epsilon: promise.delta_at(epsilon) for epsilon in (0, *ENDS)),
    *(lambda promise, fpr=fpr: promise.tradeoff(fpr) for fpr in (0, "1e-300", "0.5", NEARLY_ONE, 1)),
    lambda promise: promise.posterior("1e-300", failure="1e-300"),
    lambda promise: promise.posterior(NEARLY_ONE, failure=NEARLY_ONE),
    lambda promise: promise.repeat(10**300),
    lambda promise: promise.group(10**300),
    lambda promise: promise.group(3),
    lambda promise: promise.compose(promise),
    lambda promise: promise.under("change-one"),
    lambda promise: promise.approximate("1e-300"),
]


@all_cases("promise", PROMISES)
def test_every_question_is_answered_or_refused_by_a_typed_error(promise: Guarantee) -> None:
    for ask in QUESTIONS:
        with suppress(Unprovable):
            ask(promise)


@all_cases("promise", PROMISES)
def test_every_promise_can_be_read(promise: Guarantee) -> None:
    assert str(promise).endswith(".")
    assert type(promise).__name__ in repr(promise)


@all_cases("promise", PROMISES)
def test_epsilon_at_is_confirmed_by_delta_at_at_the_ends_too(promise: Guarantee) -> None:
    for delta in (LEAST, Fraction(1, 10**6), Fraction(1, 2), NEARLY_ONE):
        try:
            epsilon = promise.epsilon_at(delta)
        except Unprovable:
            continue
        assert promise.delta_at(epsilon) <= delta


@all_cases("epsilon", ENDS)
@all_cases("delta", ["1e-300", "1e-6", "0.999", NEARLY_ONE])
def test_calibration_is_safe_at_the_ends(epsilon: str, delta: str | Fraction) -> None:
    mu = gaussian_mu(epsilon, delta)
    assert mu > 0
    if LEAST <= mu <= 10**300:
        assert GaussianDP(mu).delta_at(epsilon) <= Fraction(delta)


def test_a_bound_is_rounded_up_into_the_supported_range_and_never_to_zero() -> None:
    assert GaussianDP(1).delta_at(1000) == LEAST
    assert ZCDP(1).delta_at("1e300") == LEAST
    assert PureDP("1e-200").concentrated() == ZCDP(LEAST)
    assert PureDP(1).delta_at(1 - LEAST) >= LEAST * Fraction(1, 4)


@all_cases("exponent", [10, 50, 150, 250])
def test_a_tiny_mu_loses_no_digits_to_cancellation(exponent: int) -> None:
    advantage = GaussianDP(Fraction(1, 10**exponent)).advantage() * 10**exponent
    assert float(advantage) == pytest.approx(1 / math.sqrt(2 * math.pi), rel=1e-12)


def test_a_hundred_thousand_small_promises_add_up_exactly() -> None:
    assert PureDP("1e-5").repeat(10**5) == PureDP(1)
    assert ApproxDP("1e-5", "1e-11").repeat(10**5) == ApproxDP(1, "1e-6")


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


STORED_PROMISES: list[Guarantee] = [
    make(unit=unit, neighbours=neighbours)
    for make in (
        lambda **to: gt.PureDP("1/3", **to),
        lambda **to: gt.ApproxDP("1/3", "1e-9", **to),
        lambda **to: gt.ZCDP("2/7", **to),
        lambda **to: gt.GaussianDP("5/9", **to),
        lambda **to: gt.RenyiDP({2: "1/2", 8: "7/3"}, **to),
    )
    for unit in (gt.ROW, gt.unit("user_id"))
    for neighbours in ("add-remove", "change-one")
]


def test_a_promise_is_read_as_it_was_written_and_no_two_are_written_alike() -> None:
    texts = [json.dumps(codec.write(promise)) for promise in STORED_PROMISES]
    assert [codec.read(Guarantee, json.loads(text)) for text in texts] == STORED_PROMISES
    assert len(set(texts)) == len(STORED_PROMISES) == 20
