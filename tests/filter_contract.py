"""What every filter must keep, whatever it adds up. A new one is held to all `LAWS` by calling them.

A law gets a way to make the filter: without a snapshot a fresh one, with one the filter that continues from there.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from filter_strategies import admitted, every_event, pure_events
from giveortake.accounting import Filter, Snapshot
from giveortake.errors import BudgetExceeded, InvalidParameter
from giveortake.privacy import PureDP, events
from tiers import tiered

few = settings(max_examples=tiered(8, 25))  # per filter
histories = st.lists(every_event, max_size=12)


class Make(Protocol):
    """Makes a filter for a fixed budget."""

    def __call__(self, *, snapshot: Snapshot | None = None) -> Filter: ...


def charged(guard: Filter, history: list[events.Event]) -> list[events.Event]:
    """Charge what fits and return it."""
    kept = []
    for event in history:
        if guard.admits(event):
            guard.charge(event)
            kept.append(event)
    return kept


def huge_amounts_are_refused_and_change_nothing(make: Make) -> None:
    guard = make()
    for event in (events.Pure("1e300"), events.Laplace("1e-300"), events.Repeated(events.Pure(1), 10**299)):
        with pytest.raises(BudgetExceeded):
            guard.charge(event)
    assert guard == make()


def admits_and_charge_agree_and_a_refusal_changes_nothing(make: Make) -> None:
    @few
    @given(histories, every_event)
    def law(history: list[events.Event], event: events.Event) -> None:
        guard = make()
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

    law()


def after_a_refusal_a_smaller_charge_is_admitted(make: Make) -> None:
    guard = make()
    guard.charge(events.Pure("0.1"))
    with pytest.raises(BudgetExceeded):
        guard.charge(events.Pure("50"))
    guard.charge(events.Pure("0.1"))


def snapshots_are_small_exact_json_from_which_the_filter_continues(make: Make) -> None:
    @few
    @given(histories)
    def law(history: list[events.Event]) -> None:
        guard = make()
        charged(guard, history)
        text = json.dumps(guard.snapshot())
        again = make(snapshot=json.loads(text))
        assert again == guard
        assert again.snapshot() == guard.snapshot()
        assert (again.spent, again.remaining, again.share) == (guard.spent, guard.remaining, guard.share)
        assert len(text) < 6000

    law()


def copies_and_restored_filters_are_independent(make: Make) -> None:
    @few
    @given(histories, every_event)
    def law(history: list[events.Event], event: events.Event) -> None:
        guard = make()
        charged(guard, history)
        before, twin = guard.snapshot(), guard.copy()
        charged(twin, [event])
        assert guard.snapshot() == before
        assert make(snapshot=before) == guard

    law()


def a_snapshot_of_something_else_is_refused(make: Make) -> None:
    guard = make()
    guard.charge(events.Pure("0.1"))
    good = guard.snapshot()
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
        {**good, "totals": [{**total, "spent": "1/" + 9000 * "9"} for total in totals]},
        {**good, "more": 1},
        {**good, "meter": 99},
        [1],
        "text",
    ]
    for content in broken:
        with pytest.raises(InvalidParameter):
            make(snapshot=content)
    with pytest.raises(InvalidParameter, match="already counted"):
        guard.resume(good)
    assert guard.snapshot() == good


def the_state_depends_on_what_was_charged_and_not_on_the_order(make: Make) -> None:
    @few
    @given(st.lists(every_event, max_size=6), st.randoms(use_true_random=False))
    def law(history: list[events.Event], random: Any) -> None:
        first = make()
        kept = charged(first, history)
        second = make()
        random.shuffle(kept)
        assert charged(second, kept) == kept
        assert first == second

    law()


def whoever_has_spent_less_is_admitted_whenever_another_is(make: Make) -> None:
    @few
    @given(st.lists(pure_events, max_size=8), pure_events)
    def law(history: list[events.Event], event: events.Event) -> None:
        long, short = make(), make()
        kept = charged(long, history)
        charged(short, kept[::2])
        if long.admits(event):
            assert short.admits(event)

    law()


def declaring_together_costs_what_one_by_one_does(make: Make) -> None:
    @few
    @given(st.lists(pure_events, min_size=1, max_size=4))
    def law(parts: list[events.Event]) -> None:
        together, apart = make(), make()
        if together.admits(events.Composed(parts)):
            together.charge(events.Composed(parts))
            assert charged(apart, parts) == parts
            assert together == apart

    law()


def a_race_of_threads_never_overspends(make: Make) -> None:
    guard, alone = make(), make()
    winners: list[int] = []

    def spend() -> None:
        winners.append(admitted(guard, events.Pure("0.05")))

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(winners) == admitted(alone, events.Pure("0.05"))


def what_is_affordable_is_admitted_and_a_little_more_is_not(make: Make) -> None:
    @few
    @given(st.lists(pure_events, max_size=6))
    def law(history: list[events.Event]) -> None:
        guard = make()
        charged(guard, history)
        most = guard.affordable()
        assert most == 0 or guard.admits(events.Pure(most))
        assert not guard.admits(events.Pure(most * Fraction(1001, 1000) + Fraction(1, 10**20)))

    law()


def the_budget_of_a_guard_is_fixed(make: Make) -> None:
    guard: Any = make()
    with pytest.raises(AttributeError):
        guard.budget = PureDP(10**9)


LAWS: list[Callable[[Make], None]] = [
    huge_amounts_are_refused_and_change_nothing,
    admits_and_charge_agree_and_a_refusal_changes_nothing,
    after_a_refusal_a_smaller_charge_is_admitted,
    snapshots_are_small_exact_json_from_which_the_filter_continues,
    copies_and_restored_filters_are_independent,
    a_snapshot_of_something_else_is_refused,
    the_state_depends_on_what_was_charged_and_not_on_the_order,
    whoever_has_spent_less_is_admitted_whenever_another_is,
    declaring_together_costs_what_one_by_one_does,
    a_race_of_threads_never_overspends,
    what_is_affordable_is_admitted_and_a_little_more_is_not,
    the_budget_of_a_guard_is_fixed,
]
