"""A ball contains the number it is meant to contain, whatever happens to the working precision."""

from __future__ import annotations

import math
import os
import threading
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from cases import all_cases, some_examples
from giveortake import exact

if TYPE_CHECKING:
    pass

TINY = Fraction(1, 2**16384)

numbers = st.fractions(min_value=-(10**40), max_value=10**40)


def ball_between(low: Fraction, high: Fraction) -> exact.Ball:
    return exact.enclosure(low).union(exact.enclosure(high))


@some_examples
@given(numbers, st.integers(2, 400))
def test_an_enclosure_contains_its_number_at_every_precision(number: Fraction, bits: int) -> None:
    with exact.precision(bits):
        ball = exact.enclosure(number)
        low, high = exact.lower(ball), exact.upper(ball)
    assert low <= number <= high
    assert high - low <= abs(number) * Fraction(8, 2**bits)


@some_examples
@given(st.integers())
def test_an_integer_is_enclosed_without_width(number: int) -> None:
    with exact.precision(max(2, number.bit_length())):
        ball = exact.enclosure(number)
        assert exact.lower(ball) == exact.upper(ball) == number


@some_examples
@given(st.data(), st.integers(1, 2000), st.integers(2, 300))
def test_a_dyadic_ball_contains_both_ends_and_hardly_more(data: st.DataObject, bits: int, working: int) -> None:
    numerator = data.draw(st.integers(0, 2**bits - 1))
    with exact.precision(working):
        ball = exact.dyadic_ball(numerator, bits)
    with exact.precision(bits + 64):
        low, high = exact.lower(ball), exact.upper(ball)
    assert low <= Fraction(numerator, 2**bits)
    assert high >= Fraction(numerator + 1, 2**bits)
    assert high - low <= Fraction(1, 2**bits) * (1 + Fraction(1, 2**20))


@some_examples
@given(st.integers(1, 2000))
def test_a_dyadic_ball_of_a_positive_numerator_has_a_logarithm(bits: int) -> None:
    with exact.precision(bits + 32):
        assert exact.dyadic_ball(1, bits).log().is_finite()


def test_the_circle_s_number_lies_between_archimedes_bounds() -> None:
    with exact.precision():
        assert Fraction(223, 71) < exact.lower(exact.pi()) < exact.upper(exact.pi()) < Fraction(22, 7)
        assert exact.upper(exact.pi()) - exact.lower(exact.pi()) < Fraction(1, 2**150)
        assert abs(exact.lower(exact.pi()) - Fraction("3.14159265358979323846264338327950288")) < Fraction(1, 10**34)


@some_examples
@given(numbers)
def test_a_probability_bound_stays_between_zero_and_one(number: Fraction) -> None:
    ball = exact.enclosure(number)
    assert TINY <= exact.probability_up(ball) <= 1
    assert 0 <= exact.probability_down(ball) <= 1
    if 0 <= number <= 1:
        assert exact.probability_down(ball) <= number <= exact.probability_up(ball)


@all_cases("nothing_known", [arb("nan"), arb("+/- inf"), arb(0, 5)])
def test_a_probability_about_which_nothing_is_known_lies_between_zero_and_one(nothing_known: exact.Ball) -> None:
    assert exact.probability_down(nothing_known) == 0
    assert exact.probability_up(nothing_known) == 1


@all_cases("gamma", [10**4 * 2, 10**10, 10**300])
def test_a_probability_too_small_to_write_down_is_rounded_outwards(gamma: int) -> None:
    ball = (-exact.enclosure(gamma)).exp()
    assert exact.probability_down(ball) == 0
    assert exact.probability_up(ball) == TINY


def test_an_impossible_event_is_never_rounded_up_to_impossible() -> None:
    assert exact.probability_up(exact.enclosure(0)) == TINY
    assert exact.probability_down(exact.enclosure(0)) == 0
    assert exact.probability_up(exact.enclosure(1)) == exact.probability_down(exact.enclosure(1)) == 1


@some_examples
@given(numbers, numbers, numbers, numbers)
def test_a_difference_is_positive_negative_or_unknown(a: Fraction, b: Fraction, c: Fraction, d: Fraction) -> None:
    with exact.precision(300):
        larger, smaller = ball_between(a, b), ball_between(c, d)
        verdict = exact.difference_is_positive(larger, smaller)
        surely = exact.lower(larger) > exact.upper(smaller)
        surely_not = exact.upper(larger) <= exact.lower(smaller)
    assert verdict is (True if surely else False if surely_not else None)
    if verdict is not None:  # then it is true of all numbers that the balls were made to contain
        assert {x > y for x in (a, b) for y in (c, d)} == {verdict}


def test_equal_exact_numbers_do_not_differ() -> None:
    assert exact.difference_is_positive(exact.enclosure(1), exact.enclosure(1)) is False
    assert exact.difference_is_positive(arb("nan"), exact.enclosure(1)) is None


@some_examples
@given(numbers, st.fractions(min_value=0, max_value=3))
def test_a_floor_is_given_only_if_the_whole_ball_agrees(low: Fraction, width: Fraction) -> None:
    with exact.precision(1000):
        ball = ball_between(low, low + width)
        floor = exact.floor_if_certain(ball)
        ends = math.floor(exact.lower(ball)), math.floor(exact.upper(ball))
    if floor is None:
        assert ends[0] != ends[1]
    else:
        assert ends == (floor, floor)
        assert math.floor(low) == math.floor(low + width) == floor


def test_the_floor_of_an_exact_integer_is_certain() -> None:
    assert exact.floor_if_certain(exact.enclosure(7)) == 7
    assert exact.floor_if_certain(exact.enclosure(-7)) == -7
    assert exact.floor_if_certain(exact.enclosure(Fraction(-1, 2))) == -1
    assert exact.floor_if_certain(arb("nan")) is None


@some_examples
@given(st.fractions(min_value=-(10**6), max_value=10**6), st.integers(1, 60), st.integers(1, 60))
def test_a_double_is_given_only_if_all_of_the_ball_is_near(number: Fraction, width: int, error: int) -> None:
    with exact.precision(300):
        ball = ball_between(number, number + Fraction(1, 2**width))
        nearest = exact.float_if_within(ball, 2.0**-error)
    if nearest is not None:
        assert abs(Fraction(nearest) - number) < Fraction(1, 2**error)
        assert abs(Fraction(nearest) - number - Fraction(1, 2**width)) < Fraction(1, 2**error)
    else:
        assert Fraction(1, 2**width) / 2 + Fraction(abs(number) + 1) / 2**52 >= Fraction(1, 2**error) * Fraction(9, 10)


def test_a_ball_without_bounds_has_no_double() -> None:
    assert exact.float_if_within(arb("nan"), 1.0) is None
    assert exact.float_if_within(arb("+/- inf"), 1.0) is None


@some_examples
@given(numbers)
def test_the_positive_part_and_the_midpoint_are_what_they_say(number: Fraction) -> None:
    with exact.precision(1000):
        ball = exact.enclosure(number)
        part = exact.positive_part(ball)
        assert exact.lower(part) <= max(number, Fraction(0)) <= exact.upper(part)
        assert exact.lower(part) >= 0
        middle = exact.midpoint(ball)
        assert exact.lower(middle) == exact.upper(middle)
        assert exact.lower(ball) <= exact.lower(middle) <= exact.upper(ball)


def test_the_same_bounds_come_out_while_another_thread_changes_the_precision() -> None:
    points = [Fraction(k, 7) for k in range(1, 60)]

    def bounds(x: Fraction) -> list[Fraction]:
        return [f(x) for f in (exact.exp_down, exact.exp_up, exact.sqrt_up, exact.log_down, exact.normal_cdf_up)]

    alone = {x: bounds(x) for x in points}
    stop = threading.Event()
    changes = 0

    def hammer() -> None:
        nonlocal changes
        while not stop.is_set():
            for bits in (2, 3, 17, 53, 1000):
                with exact.precision(bits):
                    changes += 1

    thread = threading.Thread(target=hammer)
    thread.start()
    try:
        for _ in range(10):
            assert {x: bounds(x) for x in points} == alone
    finally:
        stop.set()
        thread.join()
    assert changes > 0


def test_a_child_process_does_not_wait_for_a_thread_that_it_does_not_have() -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with exact.precision(100):
            entered.set()
            leave.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if exact.exp_up(Fraction(1)) > 2 else 1)
    leave.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


def test_a_ball_is_true_at_any_precision() -> None:
    for bits in (2, 3, 17, 53, 1000):
        with exact.precision(bits):
            for x in (Fraction(k, 7) for k in range(1, 60)):
                ball = exact.enclosure(x) * 3 - exact.enclosure(x) / 3
                assert exact.lower(ball) <= x * Fraction(8, 3) <= exact.upper(ball)
