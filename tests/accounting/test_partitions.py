"""Parts of a partition inside filters: the exact rule of parallel composition, in every currency."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import giveortake as gt
from cases import all_cases, some_examples
from giveortake import codec
from giveortake.accounting.filters import Filter
from giveortake.accounting.pricing import amount, grains_up, noise_multiplier, priced_within
from giveortake.exact import log_up
from giveortake.ledger import Charge
from giveortake.privacy import Guarantee, events
from giveortake.privacy.events import Composed, Event, InPart, Repeated


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


Row = tuple[int, int]  # its part and its bit
Rows = tuple[Row, ...]

PARTS = (0, 1, 2)
TRUE_SIZE, TRUE_ONES = Fraction(3, 4), Fraction(51, 100)  # how often a bit is told as it is
SIZE, ONES = (log_up(p / (1 - p)) for p in (TRUE_SIZE, TRUE_ONES))  # ln 3, and about 0.04
IN_BOTH = [InPart(events.Pure(ONES), events.Pure(SIZE + ONES), partition=7, part=part) for part in (0, 1)]
TABLES: list[Rows] = list(itertools.product(itertools.product(PARTS, (0, 1)), repeat=2))


def told(truth: int, output: int, honest: Fraction) -> Fraction:
    return honest if truth == output else 1 - honest


def probability(rows: Rows, part: int, output: tuple[int, int]) -> Fraction:
    """How likely a release from a part gives these two bits."""
    inside = [bit for where, bit in rows if where == part]
    return told(len(inside) % 2, output[0], TRUE_SIZE) * told(sum(inside) % 2, output[1], TRUE_ONES)


def worst_ratio(parts: Iterable[int], changed_rows: int) -> Fraction:
    """The greatest likelihood ratio of one release from each of the parts, when so many rows may change."""
    pairs = [(x, y) for x in TABLES for y in TABLES if sum(a != b for a, b in zip(x, y, strict=True)) <= changed_rows]
    outputs = list(itertools.product((0, 1), (0, 1)))
    worst = Fraction(0)
    for x, y in pairs:
        product = Fraction(1)
        for part in parts:  # the releases are independent, so the worst output of all is the worst of each
            product *= max(probability(x, part, out) / probability(y, part, out) for out in outputs)
        worst = max(worst, product)
    return worst


def in_a_filter(charged: Event) -> Fraction:
    guard = gt.accounting.filter(gt.PureDP(100, neighbours="change-one"))
    guard.charge(charged)
    assert isinstance(guard.spent, Fraction)
    return guard.spent


def in_a_race(charged: Event) -> Fraction:
    guard = gt.accounting.filter(gt.ApproxDP(100, "1e-6", neighbours="change-one"))
    guard.charge(charged)
    return guard.accounts[0].spent


def in_an_odometer(charged: Event) -> Fraction:
    meter = gt.accounting.odometer(neighbours="change-one")
    meter.add(charged)
    assert meter.spent is not None
    return meter.spent.epsilon


def in_an_odometer_with_a_delta(charged: Event) -> Fraction:
    meter = gt.accounting.odometer("1e-30", neighbours="change-one")
    meter.add(charged)
    assert meter.spent is not None
    return meter.spent.epsilon


def promised(charged: Event) -> Fraction:
    return epsilon_of(charged.guarantee(neighbours="change-one"))


def composed(charged: Event) -> Fraction:
    return epsilon_of(gt.compose(charged, neighbours="change-one"))


def composed_tightly(charged: Event) -> Fraction:
    return epsilon_of(gt.compose(charged, delta="1e-30", neighbours="change-one"))


def composed_optimally(charged: Event) -> Fraction:
    return epsilon_of(gt.compose(charged, delta="1e-30", method="optimal", neighbours="change-one"))


def epsilon_of(promise: Guarantee) -> Fraction:
    assert isinstance(promise, gt.PureDP | gt.ApproxDP)
    return promise.epsilon


PRICES = [
    in_a_filter,
    in_a_race,
    in_an_odometer,
    in_an_odometer_with_a_delta,
    promised,
    composed,
    composed_tightly,
    composed_optimally,
]


@all_cases("price", PRICES)
@all_cases(
    ("charged", "parts"),
    [
        (IN_BOTH[0], (0,)),
        (Composed(IN_BOTH), (0, 1)),
        (Repeated(IN_BOTH[0], 2), (0, 0)),
        (Composed([Repeated(IN_BOTH[0], 2), Composed([IN_BOTH[1]])]), (0, 0, 1)),
    ],
    ids=["alone", "both", "twice", "nested"],
)
def test_every_price_covers_what_a_moving_row_gives_away(
    price: Callable[[Event], Fraction], charged: Event, parts: tuple[int, ...]
) -> None:
    needed = worst_ratio(parts, changed_rows=1)
    assert needed >= 3 ** len(parts)
    assert price(charged) >= math.log(needed) * (1 - 1e-12)


def test_one_after_the_other_is_what_a_filter_and_an_odometer_count() -> None:
    meter = gt.accounting.odometer(neighbours="change-one")
    guard = gt.accounting.filter(gt.PureDP(100, neighbours="change-one"))
    for part in range(2):
        each = InPart(events.Pure("0.01"), events.Pure(1), 7, part)
        meter.add(each)
        guard.charge(each)
    assert meter.spent is not None
    assert meter.spent.epsilon == guard.spent == 2


def test_the_pot_counts_the_keys_that_a_moving_row_may_show() -> None:
    found = InPart(events.Pure("0.1"), events.DiscoveredKeys("0.1", "1e-8"), 7, 0)
    guard = gt.accounting.filter(gt.ApproxDP(1, "1e-6", neighbours="change-one"))
    guard.charge(Composed([found, found]))
    assert guard.pot is not None
    assert guard.pot.spent == Fraction(2, 10**8)
    with pytest.raises(gt.errors.Unpriced):
        gt.accounting.odometer(neighbours="change-one").add(found)


def test_what_one_case_has_no_price_for_has_none() -> None:
    unknown = InPart(events.Pure("0.1"), events.Gaussian(3), 7, 0)
    with pytest.raises(gt.errors.Unpriced):
        gt.accounting.filter(gt.PureDP(1, neighbours="change-one")).charge(Composed([unknown]))
    assert unknown.guarantee(neighbours="change-one") == gt.GaussianDP(Fraction(1, 3), neighbours="change-one")


def test_a_person_with_two_rows_is_charged_for_rows_that_move() -> None:
    """The ledger restates an event on rows for a population of persons; deriving it again must not repeat a mistake."""
    with gt.ledger.open(":memory:") as book:
        book.population("p", budget=gt.PureDP(100, neighbours="change-one"), unit="person")
        book.dataset("d", population="p", unit=gt.ROW, rows_per_person=2)
        for each in IN_BOTH:
            book.reserve(Charge(each, dataset="d"))
        spent = book.levels()[0].spent
        assert isinstance(spent, Fraction)
        assert spent >= math.log(worst_ratio((0, 1), changed_rows=2)) * (1 - 1e-12)
        assert book.verify().reservations == 2


def test_parts_whose_cases_are_equal_promise_what_they_always_did() -> None:
    for each in (events.Pure("0.1"), events.Gaussian(3), events.Approx("0.1", "1e-6"), events.ZCDP("0.2")):
        for neighbours in ("add-remove", "change-one"):
            assert InPart(each, each, 1, 1).guarantee(neighbours=neighbours) == each.guarantee(neighbours=neighbours)


FINEST = Fraction(1, 2**100)
AMOUNTS = st.fractions(min_value=Fraction(1, 10**20), max_value=1000, max_denominator=10**20)


@some_examples
@given(AMOUNTS)
def test_an_amount_that_is_priced_within_costs_no_more_and_loses_no_more_than_the_finest_step(spent: Fraction) -> None:
    within = priced_within(spent)
    assert amount(grains_up(within)) == within
    assert 0 <= spent - within < FINEST


@some_examples
@given(AMOUNTS)
def test_gaussian_noise_for_a_squared_mu_is_admitted_by_filters_of_just_that(square: Fraction) -> None:
    multiplier = noise_multiplier(square)
    once = events.Gaussian(multiplier)
    assert gt.accounting.filter(gt.ZCDP(square / 2)).admits(once)
    assert 1 / multiplier**2 <= square < 1 / multiplier**2 + 2 * FINEST + square / 2**90


@some_examples
@given(st.fractions(min_value=Fraction(1, 500), max_value=100, max_denominator=500), st.integers(1, 7))
def test_gaussian_noise_in_equal_parts_is_admitted_by_the_filter_of_mu(mu: Fraction, parts: int) -> None:
    guard = gt.accounting.filter(gt.GaussianDP(mu))
    for _ in range(parts):
        guard.charge(events.Gaussian(noise_multiplier(mu**2 / parts)))
    assert not guard.admits(events.Gaussian(noise_multiplier(mu**2 / parts)))


def test_what_is_a_fraction_already_stays_exact() -> None:
    assert noise_multiplier(Fraction(1, 100)) == 10
    assert priced_within(Fraction(1, 10)) == Fraction(1, 10)


def test_noise_below_the_finest_step_is_the_least_there_is() -> None:
    least = Fraction(1, 2**120)
    assert priced_within(least) == least
    assert noise_multiplier(least) == 2**60
    assert not gt.accounting.filter(gt.ZCDP(least)).admits(events.Gaussian(noise_multiplier(least)))
