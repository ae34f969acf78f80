"""Parameters become exact fractions or are refused by name; numbers for people are short and never understated."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import all_cases, some_examples
from giveortake import exact
from giveortake.errors import GiveOrTakeError, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable


PARSERS = [
    exact.rational,
    exact.positive,
    exact.non_negative,
    exact.open_probability,
    exact.closed_probability,
    exact.whole,
]

NOT_NUMBERS = [
    True,
    False,
    np.True_,
    np.False_,
    None,
    [1],
    (1,),
    {},
    b"1",
    1j,
    np.complex128(1),
    np.array(1),
    np.array([0.5]),
    NotImplemented,
    np.datetime64("2026-01-01"),
    float,
]

NOT_FINITE = [
    math.nan,
    math.inf,
    -math.inf,
    np.float64("nan"),
    np.float32("inf"),
    np.longdouble("-inf"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("Infinity"),
    "nan",
    "-inf",
    "Infinity",
]

NOT_WRITTEN_AS_NUMBERS = [
    "",
    " ",
    "one",
    "1/0",
    "0/0",
    "1/",
    "/2",
    "1//2",
    "1e",
    "1e5/3",
    "1.5/2",
    "0x10",
    "1,5",
    "--1",
    "½",
]

BEYOND_ALL_RANGES = ["1e401", "1e999999999", "-1e999999999", "1e-999999999", Decimal("1e402"), "9" * 402]

probabilities = st.fractions(min_value=0, max_value=1, max_denominator=10**40)


@some_examples
@given(st.integers())
def test_an_integer_means_itself(number: int) -> None:
    assert exact.rational("x", number) == number
    assert exact.rational("x", str(number)) == number


@some_examples
@given(st.fractions())
def test_a_fraction_means_itself(number: Fraction) -> None:
    assert exact.rational("x", number) == number
    assert exact.rational("x", f"{number.numerator}/{number.denominator}") == number


@some_examples
@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**300), max_value=10**300))
def test_a_decimal_means_itself(number: Decimal) -> None:
    if number == 0 or abs(number.adjusted()) <= 400:
        assert exact.rational("x", number) == Fraction(number)
        assert exact.rational("x", str(number)) == Fraction(number)
    else:
        with pytest.raises(InvalidParameter, match="range"):
            exact.rational("x", number)


@some_examples
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_means_its_shortest_decimal(number: float) -> None:
    assert exact.rational("x", number) == Fraction(repr(number))
    assert float(exact.rational("x", number)) == number
    assert exact.rational("x", np.float64(number)) == Fraction(repr(number))


@some_examples
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_short_float_means_its_own_shortest_decimal(number: float) -> None:
    parsed = exact.rational("x", np.float32(number))  # type: ignore[arg-type]
    assert parsed == Fraction(str(np.float32(number)))
    assert np.float32(float(parsed)) == np.float32(number)


@all_cases("kind", [np.int8, np.uint8, np.int64, np.uint64])
def test_a_numpy_integer_means_itself(kind: Callable[[int], np.integer[Any]]) -> None:
    assert exact.rational("x", kind(7)) == 7  # type: ignore[arg-type]


def test_a_tenth_is_a_tenth_however_it_is_written() -> None:
    written: list[Any] = [
        0.1,
        "0.1",
        ".1",
        "1/10",
        " 1/10 ",
        "1e-1",
        "10E-2",
        Decimal("0.1"),
        Fraction(1, 10),
        np.float32(0.1),
    ]
    assert {exact.rational("x", number) for number in written} == {Fraction(1, 10)}


def test_three_charges_of_a_tenth_fit_a_budget_of_three_tenths() -> None:
    assert 3 * exact.rational("charge", 0.1) == exact.rational("budget", 0.3)
    assert 0.1 + 0.1 + 0.1 > 0.3


@all_cases("parse", PARSERS)
@all_cases("value", [*NOT_NUMBERS, *NOT_FINITE, *NOT_WRITTEN_AS_NUMBERS, *BEYOND_ALL_RANGES])
def test_what_is_no_plain_number_is_refused_with_the_name_of_the_parameter(
    parse: Callable[[str, Any], object], value: object
) -> None:
    with pytest.raises(InvalidParameter) as caught:
        parse("sensitivity", value)
    assert caught.value.name == "sensitivity"
    assert caught.value.value is value
    assert str(caught.value).startswith("sensitivity = ")


@all_cases("value", [0, -1, "-1/3", -0.0, Decimal("-0.1"), "1e-301", "1e301", 10**300 + 1])
def test_what_is_not_positive_and_representable_is_refused(value: exact.Number) -> None:
    with pytest.raises(InvalidParameter, match=r"^scale = "):
        exact.positive("scale", value)


@all_cases("value", ["1e-300", "1e300", 1e300, 1e-300, 1, 10**300])
def test_both_ends_of_the_supported_range_are_accepted(value: exact.Number) -> None:
    assert exact.LEAST <= exact.positive("scale", value) <= exact.GREATEST


@all_cases("zero", [0, 0.0, -0.0, "0", "0/7", Decimal(0), Fraction(0)])
def test_zero_is_non_negative_but_not_positive(zero: exact.Number) -> None:
    assert exact.non_negative("rho", zero) == 0
    assert exact.closed_probability("delta", zero) == 0
    for parse in (exact.positive, exact.open_probability):
        with pytest.raises(InvalidParameter, match="rho"):
            parse("rho", zero)


@some_examples
@given(probabilities)
def test_probabilities_are_kept_exactly(number: Fraction) -> None:
    assert exact.closed_probability("p", number) == number
    if 0 < number < 1:
        assert exact.open_probability("p", number) == number
    else:
        with pytest.raises(InvalidParameter, match="strictly between 0 and 1"):
            exact.open_probability("p", number)


@all_cases("value", [-1, "-1e-300", "1.0000000000000000000000000000001", 2, "1e300"])
def test_what_is_no_probability_is_refused(value: exact.Number) -> None:
    for parse in (exact.open_probability, exact.closed_probability):
        with pytest.raises(InvalidParameter, match="between 0 and 1"):
            parse("delta", value)


def test_a_probability_too_small_to_support_is_refused() -> None:
    for parse in (exact.open_probability, exact.closed_probability):
        with pytest.raises(InvalidParameter, match="supported range"):
            parse("delta", Fraction(1, 10**301))


@some_examples
@given(st.integers(-(10**30), 10**30), st.integers(-100, 100))
def test_whole_numbers_are_at_least_what_is_asked(number: int, least: int) -> None:
    if number >= least:
        assert exact.whole("k", number, least=least) == number
        assert exact.whole("k", Fraction(number), least=least) == number
    else:
        with pytest.raises(InvalidParameter, match=f"below {least}"):
            exact.whole("k", number, least=least)


@some_examples
@given(st.fractions().filter(lambda number: number.denominator > 1))
def test_a_broken_number_is_not_whole(number: Fraction) -> None:
    with pytest.raises(InvalidParameter, match=r"k = .* whole"):
        exact.whole("k", number, least=-(10**40))


@all_cases("text", ["four", ""])
def test_a_text_that_is_no_number_is_not_whole(text: str) -> None:
    with pytest.raises(InvalidParameter, match=r"k = .* whole") as error:
        exact.whole("k", text)
    assert error.value.hint


def test_a_whole_number_is_at_least_one_unless_asked_otherwise() -> None:
    assert exact.whole("k", 3.0) == exact.whole("k", "3") == exact.whole("k", "6/2") == 3
    assert isinstance(exact.whole("k", 3.0), int)
    with pytest.raises(InvalidParameter, match="k = 0 is below 1"):
        exact.whole("k", 0)


def test_a_refusal_is_a_value_error_of_the_package_and_ends_in_its_hint() -> None:
    with pytest.raises(InvalidParameter) as caught:
        exact.rational("epsilon", "a tenth")
    assert isinstance(caught.value, GiveOrTakeError)
    assert isinstance(caught.value, ValueError)
    assert caught.value.hint is not None
    assert str(caught.value).endswith(f"hint: {caught.value.hint}")


def test_a_number_too_long_to_be_written_is_refused_like_any_other() -> None:
    for value in (10**5000, -(10**5000), Fraction(1, 10**5000), Fraction(10**5000, 3)):
        with pytest.raises(InvalidParameter, match=r"^epsilon = a very long"):
            exact.positive("epsilon", value)


def test_a_refusal_does_not_repeat_a_long_value() -> None:
    with pytest.raises(InvalidParameter) as caught:
        exact.rational("epsilon", "x" * 10_000)
    assert len(caught.value.message) < 200


LONG: list[Any] = [
    "0." + "1" * 200_000,
    "1" * 4301,
    "1" * 100_000 + "/" + "3" * 100_000,
    "1/" + "7" * 4301,
    " " * 200_000 + "1",
    Decimal("1." + "3" * 200_000),
    Fraction(10**100_000 + 1, 10**100_000),
    Fraction(3**10_000, 2**15_000),
    Fraction(1, 10**100_000),
    10**100_000,
]


@all_cases("parser", PARSERS)
@all_cases("number", LONG)
def test_numbers_of_thousands_of_digits_are_refused(parser: Callable[..., object], number: Any) -> None:
    with pytest.raises(InvalidParameter) as refused:
        parser("epsilon", number)
    assert refused.value.name == "epsilon"
    assert len(str(refused.value)) < 300


def test_the_longest_numbers_that_are_read_can_be_written() -> None:
    for number in (Fraction(2**14_284 - 1, 2**14_284 - 3), Fraction(1, 2**14_283)):
        assert exact.rational("x", number) == number
        assert exact.rational("x", str(number)) == number


@all_cases("zero", ["0e-999999999", Decimal("0e-999999999"), Decimal("0e-999999"), "0e999999999", "-0.0"])
def test_zero_is_zero_whatever_its_exponent(zero: Any) -> None:
    assert exact.rational("x", zero) == 0


def test_what_is_derived_is_rounded_up_when_it_grows_too_long() -> None:
    long = Fraction(3**12_000, 3**12_000 + 1)
    assert exact.shorter_up(long) >= long
    assert exact.rational("x", exact.shorter_up(long)) <= long + Fraction(1, 2**2000)
    assert exact.shorter_up(Fraction(1, 3)) == Fraction(1, 3)


def test_a_release_spends_at_most_a_billion() -> None:
    assert exact.spendable("epsilon", 10**9) == 10**9
    with pytest.raises(InvalidParameter, match="above 10⁹"):
        exact.spendable("epsilon", 10**9 + 1)


OTHER_DIGITS = ["1_0", "1_0/3", "\uff11", "\u0663", "1\uff10", "1/\u0663", "1e\uff11", "0.\u0661", "\u00b2", "1\u00a0"]


@all_cases("text", OTHER_DIGITS)
@all_cases("parse", PARSERS)
def test_what_python_alone_reads_as_a_number_is_none(parse: Callable[..., Any], text: str) -> None:
    with pytest.raises(InvalidParameter, match=r"is not a (whole )?number"):
        parse("epsilon", text)


@all_cases("text", [*OTHER_DIGITS, "", " 1", "1 ", "1.0", "+-1", "0x1"])
def test_an_integer_is_written_in_plain_digits(text: str) -> None:
    assert exact.integer("-12") == -12
    with pytest.raises(ValueError, match="integer"):
        exact.integer(text)


@some_examples
@given(st.fractions())
def test_a_stored_fraction_is_read_as_it_was(number: Fraction) -> None:
    assert exact.read_fraction("number", exact.fraction_text(number), signed=True) == number


@all_cases(
    "text",
    [
        *OTHER_DIGITS,
        "1",
        "0.5",
        "1e9",
        "1e9/1",
        "01/2",
        "1/0",
        "1/02",
        "-1/2",
        "+1/2",
        " 1/2",
        "1/2\n",
        f"{'9' * 4301}/1",
        1,
        None,
    ],
)
def test_nothing_else_is_read_as_a_stored_fraction(text: Any) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        exact.read_fraction("number", text)
    assert refusal.value.name == "number"


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
