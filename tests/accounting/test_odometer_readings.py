"""Odometers: what a reading promises holds at every moment, against every adversary."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from functools import cache

import pytest
from brute_force import Move, leaky, randomized_response, worst
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import all_cases
from filter_strategies import every_event, pure_events
from giveortake.accounting.filters import ApproxOdometer, Odometer, PureOdometer, odometer
from giveortake.errors import InvalidParameter, Unpriced, Unprovable
from giveortake.exact import exp_down
from giveortake.privacy import ApproxDP, PureDP, events, unit
from tiers import tiered

MOVES = [randomized_response(Fraction(odds)) for odds in ("5/4", "3/2", "2")]


class Unguarded:
    """Admits everything; the state is what was played, in any order."""

    start: Hashable = ()

    def after(self, state: Hashable, move: Move, outcome: int) -> Hashable | None:
        assert isinstance(state, tuple)
        return tuple(sorted((*state, move), key=repr))


def excess_over_reading(fresh: Odometer, state: Hashable, ratio: Fraction) -> Fraction:
    """(1 − e^ε(T)·Q/P)₊ for the reading of an odometer that has seen the moves."""
    assert isinstance(state, tuple)
    if not state:
        return Fraction(0)
    for move in state:
        fresh.add(move.event)
    assert fresh.spent is not None
    return max(Fraction(0), 1 - exp_down(fresh.spent.epsilon) * ratio)


@all_cases("delta", tiered(["0.05"], ["0.3", "0.05", "0.001"]))
def test_no_adversary_gains_by_watching_the_reading(delta: str) -> None:
    @cache
    def reward(state: Hashable, ratio: Fraction) -> Fraction:
        return excess_over_reading(ApproxOdometer(delta), state, ratio)

    assert worst(Unguarded(), MOVES, reward, rounds=6) <= Fraction(delta)


def test_no_adversary_gains_anything_over_the_pure_reading() -> None:
    assert worst(Unguarded(), MOVES, lambda s, r: excess_over_reading(PureOdometer(), s, r), rounds=5) < Fraction(
        1, 10**50
    )


def test_queries_that_spend_delta_add_theirs_to_the_reading() -> None:
    delta, each = Fraction(1, 20), Fraction(1, 50)
    moves = [leaky(Fraction(3, 2), each), randomized_response(Fraction(2))]

    def reward(state: Hashable, ratio: Fraction) -> Fraction:
        assert isinstance(state, tuple)
        failures = sum(isinstance(move.event, events.Approx) for move in state)
        return excess_over_reading(ApproxOdometer(delta), state, ratio) if failures <= 2 else Fraction(0)

    assert worst(Unguarded(), moves, reward, rounds=6) <= delta + 2 * each


def test_reading_the_exact_curve_of_the_path_is_caught() -> None:
    """UNSOUND: the least ε at which the moves so far, had they been declared together, are (ε, δ)-DP."""
    delta = Fraction(1, 20)

    @cache
    def factor(count: int) -> Fraction:
        odds, laws = Fraction(2), {Fraction(1): Fraction(1)}
        for _ in range(count):
            after: dict[Fraction, Fraction] = {}
            for ratio, weight in laws.items():
                for p, q in MOVES[2].laws:
                    after[ratio * q / p] = after.get(ratio * q / p, Fraction(0)) + weight * p
            laws = after
        low, high = Fraction(1), odds**count
        for _ in range(30):
            middle = (low + high) / 2
            short = sum(p * max(Fraction(0), 1 - middle * ratio) for ratio, p in laws.items()) <= delta
            low, high = (low, middle) if short else (middle, high)
        return high

    def reward(state: Hashable, ratio: Fraction) -> Fraction:
        assert isinstance(state, tuple)
        return max(Fraction(0), 1 - factor(len(state)) * ratio)

    assert worst(Unguarded(), MOVES[2:], reward, rounds=8) > delta * Fraction(5, 4)


def test_a_pure_odometer_reads_the_running_sum() -> None:
    meter = odometer(unit=unit("user_id"))
    assert meter.spent is None
    for _ in range(3):
        meter.add(events.Laplace(10))
    assert meter.spent == PureDP("0.3", unit=unit("user_id"))
    with pytest.raises(Unpriced):
        meter.add(events.Gaussian(10))
    with pytest.raises(Unpriced):
        meter.add(events.Approx("0.1", "1e-9"))
    assert meter.spent == PureDP("0.3", unit=unit("user_id"))


def test_few_queries_read_as_their_sum_and_many_read_far_less() -> None:
    meter = ApproxOdometer("1e-6")
    for count in range(1, 1001):
        meter.add(events.Laplace(100))
        if count == 10:
            assert meter.spent == ApproxDP("0.1", "1e-6")
    assert meter.spent is not None
    assert Fraction("1.2") < meter.spent.epsilon < Fraction("1.7")  # the sum is 10; the nonadaptive optimum 1.45


def test_deltas_that_events_spend_are_part_of_the_reading_until_nothing_is_promised() -> None:
    meter = ApproxOdometer("1e-6")
    meter.add(events.DiscoveredKeys("0.1", "1e-7"))
    assert meter.spent == ApproxDP("0.1", "1.1e-6")
    meter.add(events.Repeated(events.Approx("0.1", "1e-7"), 10**7))
    with pytest.raises(Unprovable):
        _ = meter.spent


@settings(max_examples=tiered(12, 30))
@given(st.lists(every_event, max_size=6))
def test_readings_never_fall(history: list[events.Event]) -> None:
    meter, before = ApproxOdometer("1e-6"), Fraction(0)
    for event in history:
        meter.add(event)
        assert meter.spent is not None
        assert meter.spent.epsilon >= before
        before = meter.spent.epsilon


@settings(max_examples=tiered(12, 30))
@given(st.lists(pure_events, min_size=1, max_size=6))
def test_a_reading_with_delta_is_never_above_the_pure_one(history: list[events.Event]) -> None:
    with_delta, without = ApproxOdometer("1e-6"), PureOdometer()
    for event in history:
        with_delta.add(event)
        without.add(event)
    assert with_delta.spent is not None
    assert without.spent is not None
    assert with_delta.spent.epsilon <= without.spent.epsilon


def test_what_is_no_event_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        odometer().add(0.1)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        odometer(0)
    with pytest.raises(Unpriced):
        odometer("1e-6", neighbours="change-one").add(events.Parallel([events.Pure(1)]))
