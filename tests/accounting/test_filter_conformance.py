"""What every filter must do, whatever it adds up."""

from __future__ import annotations

import json
import threading
from fractions import Fraction
from typing import Any, cast

import pytest
from filter_strategies import BUDGETS, admitted, every_event, pure_events
from hypothesis import given, settings
from hypothesis import strategies as st

from giveortake.accounting.currencies import Delta, Epsilon, SquaredMu
from giveortake.accounting.filters import (
    Filter,
    GaussianDPFilter,
    PureDPFilter,
    Race,
    RenyiDPFilter,
    ZCDPFilter,
    filter,  # noqa: A004
)
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

budgets = pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: type(budget).__name__)
few = settings(max_examples=25)  # per kind of budget
histories = st.lists(every_event, max_size=12)


def charged(guard: Filter, history: list[events.Event]) -> list[events.Event]:
    """Charge what fits and return it."""
    kept = []
    for event in history:
        if guard.admits(event):
            guard.charge(event)
            kept.append(event)
    return kept


def test_each_kind_of_budget_has_its_filter() -> None:
    kinds = [PureDPFilter, Race, ZCDPFilter, GaussianDPFilter, RenyiDPFilter]
    assert [type(filter(budget)) for budget in BUDGETS] == kinds


@pytest.mark.parametrize("budget", [ProbabilisticDP("1", "1e-6"), ComputationalDP("1", "1e-6")])
def test_budgets_that_no_filter_guards_are_refused(budget: Guarantee) -> None:
    with pytest.raises(Unprovable, match="no filter guards"):
        filter(budget)


def test_what_is_no_budget_or_no_event_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="not a promise"):
        filter(1)  # type: ignore[arg-type]
    wrong: list[Any] = [0.1, None, PureDP(1), float("nan"), []]
    for event in wrong:
        with pytest.raises(InvalidParameter, match="not an event"):
            filter(PureDP(1)).charge(event)


@pytest.mark.parametrize("amount", [-1, 0, float("nan"), float("inf"), "1e400", True, None])
def test_amounts_that_mean_nothing_cannot_be_charged(amount: float) -> None:
    with pytest.raises(GiveOrTakeError):
        filter(PureDP(1)).charge(events.Pure(amount))


@budgets
def test_huge_amounts_are_refused_and_change_nothing(budget: Guarantee) -> None:
    guard = filter(budget)
    for event in (events.Pure("1e300"), events.Laplace("1e-300"), events.Repeated(events.Pure(1), 10**299)):
        with pytest.raises(BudgetExceeded):
            guard.charge(event)
    assert guard == filter(budget)


@budgets
@few
@given(histories, every_event)
def test_admits_and_charge_agree_and_a_refusal_changes_nothing(
    budget: Guarantee, history: list[events.Event], event: events.Event
) -> None:
    guard = filter(budget)
    charged(guard, history)
    before, twin = guard.snapshot(), guard.copy()
    promised = guard.admits(event)
    assert guard.snapshot() == before
    if promised:
        guard.charge(event)
    else:
        with pytest.raises(BudgetExceeded):
            guard.charge(event)
        assert guard == twin
        assert guard.snapshot() == before


@budgets
def test_after_a_refusal_a_smaller_charge_is_admitted(budget: Guarantee) -> None:
    guard = filter(budget)
    guard.charge(events.Pure("0.1"))
    with pytest.raises(BudgetExceeded):
        guard.charge(events.Pure("50"))
    guard.charge(events.Pure("0.1"))


@budgets
@few
@given(histories)
def test_snapshots_are_small_exact_json_from_which_the_filter_continues(
    budget: Guarantee, history: list[events.Event]
) -> None:
    guard = filter(budget)
    charged(guard, history)
    text = json.dumps(guard.snapshot())
    again = filter(budget, snapshot=json.loads(text))
    assert again == guard
    assert again.snapshot() == guard.snapshot()
    assert (again.spent, again.remaining, again.share) == (guard.spent, guard.remaining, guard.share)
    assert len(text) < 6000


@budgets
@few
@given(histories, every_event)
def test_copies_and_restored_filters_are_independent(
    budget: Guarantee, history: list[events.Event], event: events.Event
) -> None:
    guard = filter(budget)
    charged(guard, history)
    before, twin = guard.snapshot(), guard.copy()
    charged(twin, [event])
    assert guard.snapshot() == before
    assert filter(budget, snapshot=before) == guard


@budgets
def test_a_snapshot_of_something_else_is_refused(budget: Guarantee) -> None:
    guard = filter(budget)
    guard.charge(events.Pure("0.1"))
    good = guard.snapshot()
    other = replace_unit(budget)
    with pytest.raises(MismatchedPromises):
        filter(other, snapshot=good)
    totals: Any = good["totals"]
    broken: list[Any] = [
        {**good, "version": 2},
        {**good, "totals": []},
        {**good, "totals": None},
        {**good, "totals": [{**total, "spent": "-1/2"} for total in totals]},
        {**good, "totals": [{**total, "spent": "1e300/1"} for total in totals]},
        {**good, "totals": [{**total, "spent": "100/1"} for total in totals]},
        {**good, "totals": [{**total, "alive": False} for total in totals]},
        {**good, "totals": [{**total, "delta": "1/2"} for total in totals]},
        {**good, "more": 1},
    ]
    for content in broken:
        with pytest.raises(InvalidParameter):
            filter(budget, snapshot=content)
    for content in ([], "text", {**good, "totals": [{**total, "spent": "1/" + 9000 * "9"} for total in totals]}):
        with pytest.raises(InvalidParameter):
            filter(budget, snapshot=cast("Any", content))
    with pytest.raises(InvalidParameter, match="already counted"):
        guard.resume(good)
    assert guard.snapshot() == good


@budgets
@few
@given(st.lists(every_event, max_size=6), st.randoms(use_true_random=False))
def test_the_state_depends_on_what_was_charged_and_not_on_the_order(
    budget: Guarantee, history: list[events.Event], random: Any
) -> None:
    first = filter(budget)
    kept = charged(first, history)
    second = filter(budget)
    random.shuffle(kept)
    assert charged(second, kept) == kept
    assert first == second


@budgets
@few
@given(st.lists(pure_events, max_size=8), pure_events)
def test_whoever_has_spent_less_is_admitted_whenever_another_is(
    budget: Guarantee, history: list[events.Event], event: events.Event
) -> None:
    long, short = filter(budget), filter(budget)
    kept = charged(long, history)
    charged(short, kept[::2])
    if long.admits(event):
        assert short.admits(event)


@budgets
@few
@given(st.lists(pure_events, min_size=1, max_size=4))
def test_declaring_together_costs_what_one_by_one_does(budget: Guarantee, parts: list[events.Event]) -> None:
    together, apart = filter(budget), filter(budget)
    if together.admits(events.Composed(parts)):
        together.charge(events.Composed(parts))
        assert charged(apart, parts) == parts
        assert together == apart


@budgets
def test_a_race_of_threads_never_overspends(budget: Guarantee) -> None:
    guard, alone = filter(budget), filter(budget)
    winners: list[int] = []

    def spend() -> None:
        winners.append(admitted(guard, events.Pure("0.05")))

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(winners) == admitted(alone, events.Pure("0.05"))


@budgets
@few
@given(st.lists(pure_events, max_size=6))
def test_what_is_affordable_is_admitted_and_a_little_more_is_not(
    budget: Guarantee, history: list[events.Event]
) -> None:
    guard = filter(budget)
    charged(guard, history)
    most = guard.affordable()
    assert most == 0 or guard.admits(events.Pure(most))
    assert not guard.admits(events.Pure(most * Fraction(1001, 1000) + Fraction(1, 10**20)))


def test_errors_say_what_it_costs_what_is_left_and_what_to_do() -> None:
    guard = filter(PureDP("0.3", unit=unit("user_id")))
    guard.charge(events.Pure("0.2"))
    with pytest.raises(BudgetExceeded) as refused:
        guard.charge(events.Pure("0.2"))
    assert str(refused.value) == (
        "this charge costs ε = 0.2, but only ε = 0.1 is left (one user_id)\n\n"
        "  hint: a smaller charge may fit: `.affordable()` says which ε does"
    )
    assert (refused.value.cost, refused.value.remaining) == (Fraction(1, 5), Fraction(1, 10))
    guard.charge(events.Pure("0.1"))
    with pytest.raises(BudgetExceeded, match="nothing is left") as refused:
        guard.charge(events.Pure("0.1"))
    assert "used up" in str(refused.value)


def test_what_is_left_is_never_overstated() -> None:
    guard = filter(PureDP("2/3"))
    with pytest.raises(BudgetExceeded, match=r"only ε = 0\.666666 is left"):
        guard.charge(events.Pure(1))


@pytest.mark.parametrize(
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
        Race(budget, contestants=[(Delta(), Fraction(0))])
    with pytest.raises(InvalidParameter, match="not negative"):
        Race(budget, contestants=[(Epsilon(), Fraction(-1, 2)), (SquaredMu(), Fraction(1, 2))])


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
    guard: Any = filter(budget)
    with pytest.raises(AttributeError):
        guard.budget = PureDP(10**9)


@pytest.mark.parametrize(
    "budget", [PureDP("1e-90"), PureDP("1e300"), ZCDP("1e-25"), ApproxDP(1, "1e-300"), PureDP(1 + Fraction(1, 2**150))]
)
def test_what_is_affordable_is_admitted(budget: Guarantee) -> None:
    guard = filter(budget)
    most = guard.affordable()
    assert most > 0
    guard.charge(events.Pure(most))
    assert filter(budget, snapshot=guard.snapshot()) == guard
