"""Enclosures contain their numbers whatever the precision, and bounds are near, on the side that their name says."""

from __future__ import annotations

import hashlib
import math
import os
import threading
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import all_cases, some_examples
from giveortake import exact
from giveortake.errors import Unprovable

if TYPE_CHECKING:
    from collections.abc import Callable


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


FACTOR = 1 + Fraction(1, 2**79)

thresholds = st.fractions(min_value=Fraction(1, 10**20), max_value=10**20).filter(lambda t: t > 0)


@some_examples
@given(thresholds, thresholds)
def test_the_least_number_is_found_from_any_start(threshold: Fraction, start: Fraction) -> None:
    found = exact.least_that(lambda x: x >= threshold, start=start)
    assert threshold <= found <= threshold * FACTOR


@some_examples
@given(thresholds, thresholds)
def test_the_greatest_number_is_found_from_any_start(threshold: Fraction, start: Fraction) -> None:
    found = exact.greatest_that(lambda x: x <= threshold, start=start)
    assert threshold / FACTOR <= found <= threshold


@some_examples
@given(thresholds)
def test_least_and_greatest_mirror_each_other(threshold: Fraction) -> None:
    least = exact.least_that(lambda x: x >= threshold)
    greatest = exact.greatest_that(lambda x: x <= 1 / threshold)
    assert greatest == 1 / least


@some_examples
@given(thresholds, st.integers())
def test_a_number_is_returned_only_if_the_statement_was_proved_for_it(threshold: Fraction, seed: int) -> None:
    def proof_succeeds(x: Fraction) -> bool:  # true above the threshold, unless the prover has a bad day
        bad_day = hashlib.sha256(f"{seed} {x}".encode()).digest()[0] < 64
        return x >= threshold and not bad_day

    assert proof_succeeds(exact.least_that(proof_succeeds))


@some_examples
@given(thresholds)
def test_the_statement_is_only_ever_asked_about_positive_numbers(threshold: Fraction) -> None:
    asked: list[Fraction] = []

    def holds(x: Fraction) -> bool:
        asked.append(x)
        return x >= threshold

    exact.least_that(holds)
    assert min(asked) > 0


@some_examples
@given(st.fractions())
def test_the_ceiling_is_the_least_integer_above(number: Fraction) -> None:
    assert number <= exact.ceiling(number) < number + 1


DIGITS = 320
FINE = Context(prec=DIGITS, Emax=999_999, Emin=-999_999)
SLACK = Fraction(1, 10**90)  # relative error of the independent computation, generously
NEAR = Fraction(1, 2**150)

thousandths = st.integers(-1_000_000, 1_000_000).map(lambda number: Fraction(number, 1000))
magnitudes = st.builds(
    lambda mantissa, exponent: mantissa * Fraction(10) ** exponent, st.integers(1, 10**20), st.integers(-300, 280)
)


def decimal(number: Fraction) -> Decimal:
    return FINE.divide(Decimal(number.numerator), Decimal(number.denominator))


def encloses_narrowly(low: Fraction, truth: Decimal, high: Fraction) -> bool:
    middle = Fraction(truth)
    slack = abs(middle) * SLACK
    return low <= middle + slack and middle - slack <= high and 0 <= high - low <= abs(middle) * NEAR


@some_examples
@given(thousandths)
def test_exp_lies_between_its_bounds(x: Fraction) -> None:
    assert encloses_narrowly(exact.exp_down(x), FINE.exp(decimal(x)), exact.exp_up(x))


@some_examples
@given(magnitudes)
def test_the_logarithm_lies_between_its_bounds(x: Fraction) -> None:
    assert encloses_narrowly(exact.log_down(x), FINE.ln(decimal(x)), exact.log_up(x))


@some_examples
@given(magnitudes)
def test_the_square_root_lies_between_its_bounds(x: Fraction) -> None:
    assert encloses_narrowly(exact.sqrt_down(x), FINE.sqrt(decimal(x)), exact.sqrt_up(x))
    assert exact.sqrt_down(x) ** 2 <= x <= exact.sqrt_up(x) ** 2


def arctangent_of_one_over(n: int) -> Decimal:
    total, power, k = Fraction(0), Fraction(1, n), 0
    while power > Fraction(1, 10**DIGITS):
        total += (-1) ** k * power / (2 * k + 1)
        power, k = power / (n * n), k + 1
    return decimal(total)


ROOT_OF_TWO_PI = FINE.sqrt(  # π by Machin's formula
    FINE.multiply(8, FINE.fma(4, arctangent_of_one_over(5), arctangent_of_one_over(239).copy_negate()))
)


def phi(x: Fraction) -> Decimal:
    """Φ(x) = ½ + e^(−x²/2) / √(2π) · (x + x³/3 + x⁵/(3·5) + …)."""
    point = decimal(x)
    square = FINE.multiply(point, point)
    term, total, k = point, Decimal(0), 1
    while abs(term) > Decimal(10) ** (-DIGITS + 10):
        total = FINE.add(total, term)
        k += 2
        term = FINE.divide(FINE.multiply(term, square), k)
    density = FINE.divide(FINE.exp(FINE.divide(square, -2)), ROOT_OF_TWO_PI)
    return FINE.fma(density, total, Decimal("0.5"))


@settings(max_examples=40, deadline=None)
@given(st.integers(-20_000, 20_000).map(lambda number: Fraction(number, 1000)))
def test_the_normal_distribution_function_lies_between_its_bounds(x: Fraction) -> None:
    assert encloses_narrowly(exact.normal_cdf_down(x), phi(x), exact.normal_cdf_up(x))


@settings(max_examples=40, deadline=None)
@given(st.fractions(min_value=Fraction(1, 10**9), max_value=1 - Fraction(1, 10**9), max_denominator=10**9))
def test_the_normal_quantile_inverts_the_distribution_function(p: Fraction) -> None:
    with exact.precision():
        quantile = exact.normal_quantile(exact.enclosure(p))
        low, high = exact.lower(quantile), exact.upper(quantile)
    assert high - low <= NEAR * (1 + abs(low))
    assert Fraction(phi(low)) <= p + SLACK
    assert Fraction(phi(high)) >= p - SLACK


@all_cases(
    ("down", "up", "x", "value"),
    [
        (exact.exp_down, exact.exp_up, Fraction(0), 1),
        (exact.log_down, exact.log_up, Fraction(1), 0),
        (exact.sqrt_down, exact.sqrt_up, Fraction(9, 4), Fraction(3, 2)),
        (exact.sqrt_down, exact.sqrt_up, Fraction(0), 0),
        (exact.normal_cdf_down, exact.normal_cdf_up, Fraction(0), Fraction(1, 2)),
    ],
)
def test_what_is_rational_is_not_rounded_away(
    down: Callable[[Fraction], Fraction], up: Callable[[Fraction], Fraction], x: Fraction, value: Fraction
) -> None:
    assert down(x) <= value <= up(x)
    assert up(x) - down(x) <= NEAR


@all_cases("x", [Fraction(200), Fraction(10**6), Fraction(10**300)])
def test_far_tails_of_the_normal_law_are_bounded_without_ever_becoming_impossible(x: Fraction) -> None:
    assert 0 < exact.normal_cdf_up(-x) <= Fraction(1, 2**16384)
    assert exact.normal_cdf_down(-x) == 0
    assert exact.normal_cdf_up(x) == 1
    assert 1 - Fraction(1, 2**150) <= exact.normal_cdf_down(x) <= 1


@all_cases(
    ("bound", "x"),
    [
        (exact.log_up, Fraction(0)),
        (exact.log_down, Fraction(-1)),
        (exact.sqrt_up, Fraction(-1)),
        (exact.sqrt_down, Fraction(-1, 10**300)),
        (exact.exp_up, Fraction(10**300)),
        (exact.exp_down, Fraction(12_000)),
        (exact.exp_up, Fraction(-12_000)),
    ],
)
def test_a_bound_that_cannot_be_written_down_is_refused(bound: Callable[[Fraction], Fraction], x: Fraction) -> None:
    with pytest.raises(Unprovable):
        bound(x)
