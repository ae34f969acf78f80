"""Bounds are on the side that their name says, and near, by an independent computation with more digits."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import all_cases, some_examples
from giveortake import exact
from giveortake.errors import Unprovable

if TYPE_CHECKING:
    from collections.abc import Callable

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
