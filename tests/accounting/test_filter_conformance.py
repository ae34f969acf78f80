"""What every filter must do, whatever it adds up."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import pytest

import filter_contract
from cases import all_cases
from filter_strategies import BUDGETS
from giveortake.accounting.filters import (
    ApproxDPFilter,
    GaussianDPFilter,
    PureDPFilter,
    RenyiDPFilter,
    ZCDPFilter,
    filter,  # noqa: A004
)
from giveortake.accounting.pricing import Delta, Epsilon, SquaredMu
from giveortake.errors import (
    BudgetExceeded,
    GiveOrTakeError,
    InvalidParameter,
    MismatchedPromises,
    Unpriced,
    Unprovable,
)
from giveortake.privacy import (
    ROW,
    ZCDP,
    ApproxDP,
    ComputationalDP,
    GaussianDP,
    Guarantee,
    Neighbours,
    ProbabilisticDP,
    PureDP,
    RenyiDP,
    Unit,
    events,
    unit,
)

budgets = all_cases("budget", BUDGETS)


def test_every_law_of_filters_is_tested_here() -> None:
    assert {f"test_{law.__name__}" for law in filter_contract.LAWS} <= globals().keys()


def test_each_kind_of_budget_has_its_filter() -> None:
    kinds = [PureDPFilter, ApproxDPFilter, ZCDPFilter, GaussianDPFilter, RenyiDPFilter]
    assert [type(filter(budget)) for budget in BUDGETS] == kinds


@all_cases("budget", [ProbabilisticDP("1", "1e-6"), ComputationalDP("1", "1e-6")])
def test_budgets_that_no_filter_guards_are_refused(budget: Guarantee) -> None:
    with pytest.raises(Unprovable):
        filter(budget)


def test_what_is_no_budget_or_no_event_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="not a promise"):
        filter(1)  # type: ignore[arg-type]
    wrong: list[Any] = [0.1, None, PureDP(1), float("nan"), []]
    for event in wrong:
        with pytest.raises(InvalidParameter):
            filter(PureDP(1)).charge(event)


@all_cases("amount", [-1, 0, float("nan"), float("inf"), "1e400", True, None])
def test_amounts_that_mean_nothing_cannot_be_charged(amount: float) -> None:
    with pytest.raises(GiveOrTakeError):
        filter(PureDP(1)).charge(events.Pure(amount))


@budgets
def test_huge_amounts_are_refused_and_change_nothing(budget: Guarantee) -> None:
    filter_contract.huge_amounts_are_refused_and_change_nothing(partial(filter, budget))


@budgets
def test_admits_and_charge_agree_and_a_refusal_changes_nothing(budget: Guarantee) -> None:
    filter_contract.admits_and_charge_agree_and_a_refusal_changes_nothing(partial(filter, budget))


@budgets
def test_after_a_refusal_a_smaller_charge_is_admitted(budget: Guarantee) -> None:
    filter_contract.after_a_refusal_a_smaller_charge_is_admitted(partial(filter, budget))


@budgets
def test_snapshots_are_small_exact_json_from_which_the_filter_continues(budget: Guarantee) -> None:
    filter_contract.snapshots_are_small_exact_json_from_which_the_filter_continues(partial(filter, budget))


@budgets
def test_copies_and_restored_filters_are_independent(budget: Guarantee) -> None:
    filter_contract.copies_and_restored_filters_are_independent(partial(filter, budget))


@budgets
def test_a_snapshot_of_something_else_is_refused(budget: Guarantee) -> None:
    filter_contract.a_snapshot_of_something_else_is_refused(partial(filter, budget))
    with pytest.raises(MismatchedPromises):
        filter(replace_unit(budget), snapshot=filter(budget).snapshot())


@budgets
def test_the_state_depends_on_what_was_charged_and_not_on_the_order(budget: Guarantee) -> None:
    filter_contract.the_state_depends_on_what_was_charged_and_not_on_the_order(partial(filter, budget))


@budgets
def test_whoever_has_spent_less_is_admitted_whenever_another_is(budget: Guarantee) -> None:
    filter_contract.whoever_has_spent_less_is_admitted_whenever_another_is(partial(filter, budget))


@budgets
def test_declaring_together_costs_what_one_by_one_does(budget: Guarantee) -> None:
    filter_contract.declaring_together_costs_what_one_by_one_does(partial(filter, budget))


@budgets
def test_a_race_of_threads_never_overspends(budget: Guarantee) -> None:
    filter_contract.a_race_of_threads_never_overspends(partial(filter, budget))


@budgets
def test_what_is_affordable_is_admitted_and_a_little_more_is_not(budget: Guarantee) -> None:
    filter_contract.what_is_affordable_is_admitted_and_a_little_more_is_not(partial(filter, budget))


def test_a_refusal_carries_what_it_costs_and_what_is_left() -> None:
    guard = filter(PureDP("0.3", unit=unit("user_id")))
    guard.charge(events.Pure("0.2"))
    with pytest.raises(BudgetExceeded) as refused:
        guard.charge(events.Pure("0.2"))
    assert (refused.value.cost, refused.value.remaining) == (Fraction(1, 5), Fraction(1, 10))


def test_what_is_left_is_never_overstated() -> None:
    guard = filter(PureDP("2/3"))
    with pytest.raises(BudgetExceeded, match=r"0\.666666 "):
        guard.charge(events.Pure(1))


@all_cases(
    ("budget", "event"),
    [
        (PureDP(9), events.Gaussian(100)),
        (PureDP(9), events.ZCDP("1e-9")),
        (PureDP(9), events.Approx("0.1", "1e-9")),
        (ZCDP(9), events.Approx("0.1", "1e-9")),
        (ZCDP(9), events.Composed([events.Pure("0.1"), events.DiscoveredKeys("0.1", "1e-9")])),
        (GaussianDP(9), events.ZCDP("1e-9")),
        (GaussianDP(9), events.DiscreteGaussian(100, 1)),
        (RenyiDP({2: 9}), events.Parallel([events.Approx("0.1", "1e-9")])),
        (PureDP(9, neighbours="change-one"), events.Parallel([events.Pure("0.1")])),
        (ApproxDP(9, "1e-6", neighbours="change-one"), events.Repeated(events.Parallel([events.Pure("0.1")]), 2)),
    ],
)
def test_what_has_no_proved_price_is_refused_by_name(budget: Guarantee, event: events.Event) -> None:
    guard = filter(budget)
    assert not guard.admits(event)
    with pytest.raises(Unpriced):
        guard.charge(event)
    assert guard == filter(budget)


def replace_unit(budget: Guarantee) -> Guarantee:
    kind: Any = type(budget)
    numbers = {name: getattr(budget, name, None) for name in ("epsilon", "delta", "rho", "mu", "curve")}
    changed: Guarantee = kind(
        **{name: value for name, value in numbers.items() if value is not None}, unit=unit("user_id")
    )
    return changed


def test_no_total_of_deltas_runs_in_a_race() -> None:
    budget = ApproxDP(1, "1e-6")
    good: Any = filter(budget).snapshot()
    free: Any = {"currency": "delta", "delta": "0/1", "spent": "0/1", "alive": True}
    with pytest.raises(InvalidParameter):
        filter(budget, snapshot={**good, "totals": [*good["totals"], free]})
    with pytest.raises(InvalidParameter):
        ApproxDPFilter(budget, contestants=[(Delta(), Fraction(0))])
    with pytest.raises(InvalidParameter, match="not negative"):
        ApproxDPFilter(budget, contestants=[(Epsilon(), Fraction(-1, 2)), (SquaredMu(), Fraction(1, 2))])


class Foreign(events.Event):
    """An event of a kind that the library does not know."""

    kind = "foreign"

    def __init__(self, promise: Guarantee) -> None:
        object.__setattr__(self, "promise", promise)

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> Guarantee:
        promise: Guarantee = object.__getattribute__(self, "promise")
        return promise


def test_events_of_foreign_kinds_are_priced_one_by_one_and_by_the_right_relation() -> None:
    guard = filter(PureDP(1))
    guard.charge(Foreign(PureDP("0.001")))
    assert not guard.admits(Foreign(PureDP(50)))
    with pytest.raises(BudgetExceeded):
        filter(PureDP(1, neighbours="change-one")).charge(Foreign(PureDP("0.1")))


@budgets
def test_the_budget_of_a_guard_is_fixed(budget: Guarantee) -> None:
    filter_contract.the_budget_of_a_guard_is_fixed(partial(filter, budget))


@all_cases(
    "budget", [PureDP("1e-90"), PureDP("1e300"), ZCDP("1e-25"), ApproxDP(1, "1e-300"), PureDP(1 + Fraction(1, 2**150))]
)
def test_what_is_affordable_is_admitted(budget: Guarantee) -> None:
    guard = filter(budget)
    most = guard.affordable()
    assert most > 0
    guard.charge(events.Pure(most))
    assert filter(budget, snapshot=guard.snapshot()) == guard
