"""Numbers for people: short, and never understated where that matters."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from cases import all_cases, some_examples
from giveortake import exact

positive_numbers = st.fractions(min_value=Fraction(1, 10**30), max_value=10**30)


@all_cases(
    ("number", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(1), "1"),
        (Fraction(100), "100"),
        (Fraction(1, 10), "0.1"),
        (Fraction(1, 3), "0.333333"),
        (Fraction(2, 3), "0.666667"),
        (Fraction(-1, 4), "-0.25"),
        (Fraction(1, 10**8), "1e-8"),
        (Fraction(1_234_567), "1.23457e6"),
        (Fraction(10**300), "1e300"),
        (Fraction(1, 2**16384), "8.40526e-4933"),
    ],
)
def test_a_number_is_shown_briefly(number: Fraction, text: str) -> None:
    assert exact.decimal(number) == text


@some_examples
@given(st.integers(-999_999, 999_999), st.integers(-20, 20))
def test_a_short_decimal_is_shown_exactly(digits: int, exponent: int) -> None:
    number = digits * Fraction(10) ** exponent
    assert Fraction(exact.decimal(number)) == number
    assert Fraction(exact.decimal_up(number)) == number


@some_examples
@given(positive_numbers, st.integers(2, 12))
def test_a_shown_number_is_within_half_a_unit_of_its_last_digit(number: Fraction, digits: int) -> None:
    assert abs(Fraction(exact.decimal(number, digits)) - number) <= number * Fraction(10) ** (1 - digits) / 2


@some_examples
@given(positive_numbers, st.integers(2, 12))
def test_a_number_shown_upwards_is_never_below_and_hardly_above(number: Fraction, digits: int) -> None:
    up = Fraction(exact.decimal_up(number, digits))
    assert number <= up <= number * (1 + Fraction(10) ** (1 - digits))


@some_examples
@given(positive_numbers)
def test_the_reader_s_decimal_context_does_not_matter(number: Fraction) -> None:
    usual = exact.decimal(number), exact.decimal_up(number)
    with localcontext() as context:
        context.prec = 3
        unusual = exact.decimal(number), exact.decimal_up(number)
    assert unusual == usual


def test_what_is_shown_can_be_read_back() -> None:
    assert Decimal(exact.decimal(Fraction(1, 7))) == Decimal("0.142857")
