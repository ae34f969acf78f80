"""Releases from parts under change-one, wherever they are priced: an exact game that every price has to cover.

Rows lie in one of three parts and hold a bit. From a part, the game releases whether its number of rows is odd and
whether its number of ones is odd, each bit told truly with a stated probability. A changed row that stays moves the
second bit of one part only; one that moves changes both bits of two parts. All laws are enumerated as fractions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from fractions import Fraction

import pytest

import giveortake as gt
from cases import all_cases
from giveortake.exact import log_up
from giveortake.ledger import Charge
from giveortake.privacy import Guarantee, events
from giveortake.privacy.events import Composed, Event, InPart, Repeated

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
