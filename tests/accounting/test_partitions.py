"""Parts of a partition inside filters: the exact rule of parallel composition, in every currency."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import giveortake as gt
from cases import all_cases, some_examples
from giveortake import codec
from giveortake.accounting.filters import Filter
from giveortake.ledger import Charge
from giveortake.privacy import events
from giveortake.privacy.events import Event, InPart


def charge(guard: Filter, part: int, epsilon: str, *, added: str | None = None, touched: int = 1, of: int = 1) -> None:
    event = events.Pure(epsilon)
    guard.charge(InPart(event, event if added is None else events.Pure(added), of, part, touched))


def test_parts_cost_the_dearest_in_any_order() -> None:
    costs = [(0, "0.1"), (1, "0.3"), (0, "0.1"), (2, "0.2"), (1, "0.05")]
    for order in itertools.permutations(costs):
        guard = gt.accounting.filter(gt.PureDP(1))
        for part, epsilon in order:
            charge(guard, part, epsilon)
        assert guard.spent == Fraction(35, 100)


def test_a_person_in_two_parts_pays_for_the_two_dearest() -> None:
    guard = gt.accounting.filter(gt.PureDP(1))
    for part, epsilon in enumerate(["0.1", "0.3", "0.2"]):
        charge(guard, part, epsilon, touched=2)
    assert guard.spent == Fraction(1, 2)


def test_under_change_one_a_moving_row_pays_for_two_added_ones_or_one_changed() -> None:
    guard = gt.accounting.filter(gt.PureDP(2, neighbours="change-one"))
    charge(guard, 0, "0.3", added="0.2")
    assert guard.spent == Fraction(3, 10)  # it may stay, or leave for a part that nothing was asked of
    charge(guard, 1, "0.3", added="0.2")
    assert guard.spent == Fraction(4, 10)  # it may leave one and enter the other
    charge(guard, 2, "0.3", added="0.2")
    assert guard.spent == Fraction(4, 10)
    charge(guard, 2, "0.3", added="0.01")
    assert guard.spent == Fraction(6, 10)  # changed in place


def test_other_partitions_and_the_whole_table_add_up() -> None:
    guard = gt.accounting.filter(gt.PureDP(1))
    charge(guard, 0, "0.2", of=1)
    charge(guard, 0, "0.2", of=2)
    guard.charge(events.Pure("0.2"))
    charge(guard, 1, "0.2", of=1)
    assert guard.spent == Fraction(6, 10)


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    guard = gt.accounting.filter(gt.PureDP("0.5"))
    charge(guard, 0, "0.4")
    before = guard.snapshot()
    with pytest.raises(gt.errors.BudgetExceeded):
        charge(guard, 0, "0.2")
    assert guard.snapshot() == before
    charge(guard, 1, "0.5")
    assert guard.spent == Fraction(1, 2)


@all_cases("budget", [gt.PureDP(3), gt.ApproxDP(3, "1e-6"), gt.ZCDP(3), gt.GaussianDP(3), gt.RenyiDP({2: 3, 8: 4})])
def test_a_snapshot_remembers_the_parts(budget: Any) -> None:
    guard = gt.accounting.filter(budget)
    for part, epsilon in enumerate(["0.1", "0.3", "0.2"]):
        charge(guard, part, epsilon)
    again = gt.accounting.filter(budget, snapshot=guard.snapshot())
    assert again == guard
    charge(again, 0, "0.1")  # free: another part was dearer
    assert again.spent == guard.spent
    assert again != guard


def test_the_pot_pays_for_the_dearest_part_too() -> None:
    guard = gt.accounting.filter(gt.ApproxDP(1, "1e-6"))
    event = events.DiscoveredKeys("0.1", "1e-8")
    for part in range(5):
        guard.charge(InPart(event, event, 1, part))
    assert guard.pot is not None
    assert guard.pot.spent == Fraction(1, 10**8)


def test_an_event_in_a_part_survives_json_and_refuses_parts_of_parts() -> None:
    event = InPart(events.Laplace(3), events.Laplace(6), 77, 2, 3)
    assert codec.read(Event, codec.write(event)) == event
    assert event.guarantee() == gt.PureDP(Fraction(1, 3))
    with pytest.raises(gt.errors.InvalidParameter):
        InPart(event, event, 1, 1)


CHARGES = st.lists(
    st.tuples(st.integers(0, 3), st.fractions(min_value="1/1000", max_value="1/10", max_denominator=1000)), max_size=12
)


@some_examples
@given(CHARGES, st.integers(1, 4))
def test_no_neighbour_pays_more_than_the_filter_says(charges: list[tuple[int, Fraction]], touched: int) -> None:
    """Brute force: a unit in any `touched` parts pays the sum of what those parts cost."""
    guard = gt.accounting.filter(gt.PureDP(10))
    for part, epsilon in charges:
        guard.charge(InPart(events.Pure(epsilon), events.Pure(epsilon), 1, part, touched))
    sums = [sum((e for p, e in charges if p == part), Fraction(0)) for part in range(4)]
    worst = max(sum(chosen, Fraction(0)) for chosen in itertools.combinations(sums, touched))
    assert guard.spent == worst


@some_examples
@given(CHARGES, CHARGES)
def test_under_change_one_no_moving_row_pays_more_either(
    changed: list[tuple[int, Fraction]], added: list[tuple[int, Fraction]]
) -> None:
    guard = gt.accounting.filter(gt.PureDP(10, neighbours="change-one"))
    sums = [[Fraction(0), Fraction(0)] for _ in range(4)]
    for (part, c), (_, a) in zip(changed, added, strict=False):
        guard.charge(InPart(events.Pure(c), events.Pure(a), 1, part))
        sums[part][0] += c
        sums[part][1] += a
    stays = max(c for c, _ in sums)
    moves = max(sums[i][1] + sums[j][1] for i, j in itertools.combinations(range(4), 2))
    assert guard.spent == max(stays, moves)


def test_a_ledger_charges_parts_together_and_verifies() -> None:
    with gt.ledger.open(":memory:") as book:
        book.population("p", budget=gt.PureDP(1), unit="person")
        book.dataset("d", population="p")
        event = events.Pure("0.4")
        for part in range(4):
            book.reserve(Charge(InPart(event, event, 9, part), dataset="d"))
        assert book.levels()[0].spent == Fraction(4, 10)
        assert book.verify().reservations == 4
