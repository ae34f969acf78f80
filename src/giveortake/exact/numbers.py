"""Parameters as exact fractions.

A float means its shortest decimal representation, so that `0.1` is one tenth and three charges of `0.1` fit a
budget of `0.3`. Everything that is not a plain finite number is refused with the name of the parameter; so is a number
of more than 4,300 digits, before anything is computed with it: time and memory stay bounded by what is read.
"""

from __future__ import annotations

import math
import re
from decimal import Context, Decimal, Inexact, InvalidOperation
from fractions import Fraction
from numbers import Rational
from typing import Any, TypeAlias

import numpy as np

from giveortake.errors import InvalidParameter

Number: TypeAlias = int | Rational | Decimal | str | float

LEAST = Fraction(1, 10**300)
GREATEST = Fraction(10**300)
_SURELY_SUPPORTED = 995  # 2^-996 and 2^996 lie inside the range
_MOST_MAGNITUDE = 400  # "1e999999999" must not become a number of a billion digits
MOST_DIGITS = 4300  # of a numerator or a denominator: Python writes no longer whole number
_MOST_BITS = 14_284  # 2^14284 has no more digits than that
MOST_SPENT = Fraction(10**9)
_SHORT_BITS = 2048  # behind the binary point of what `shorter_up` rounds: 2^-1000 of the least number that is supported
_NO_NUMBER = "is not a number"
_TOO_LONG = f"has more than {MOST_DIGITS:,} digits"
_INTEGER = re.compile(r"[+-]?[0-9]+")
_STORED = re.compile(r"-?(0|[1-9][0-9]{0,4299})/[1-9][0-9]{0,4299}")  # as many digits as `MOST_DIGITS`
_ALL_DIGITS = Context(prec=1000, traps=[Inexact])


def rational(name: str, value: Number) -> Fraction:
    """Read a number as an exact fraction.

    >>> rational("epsilon", 0.1), rational("epsilon", "1/3"), rational("epsilon", "1e-6")
    (Fraction(1, 10), Fraction(1, 3), Fraction(1, 1000000))
    """
    number = _read(name, value)
    if is_long(number):
        raise InvalidParameter(name, value, _TOO_LONG, hint="round it")
    return number


def is_long(number: Fraction) -> bool:
    """Whether a fraction has more digits than are accepted."""
    return max(number.numerator.bit_length(), number.denominator.bit_length()) > _MOST_BITS


def shorter_up(number: Fraction) -> Fraction:
    """The number itself, or if it has too many digits, a number just above it that has fewer."""
    return Fraction(ceiling(number * (1 << _SHORT_BITS)), 1 << _SHORT_BITS) if is_long(number) else number


def _read(name: str, value: Number) -> Fraction:
    if type(value) is Fraction:
        return value
    if type(value) is int:
        return Fraction(value)
    if isinstance(value, bool | np.bool_):
        raise InvalidParameter(name, value, "is a truth value, not a number")
    if isinstance(value, np.integer) and not isinstance(value, np.timedelta64):
        return Fraction(int(value))
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, float | np.floating):
        if not math.isfinite(value):
            raise InvalidParameter(name, value, "is not finite")
        return Fraction(_shortest(name, value))
    if isinstance(value, Decimal):
        return _from_decimal(name, value, value)
    if isinstance(value, str):
        return _from_text(name, value)
    raise InvalidParameter(
        name, value, f"is a {type(value).__name__}, not a number", hint='write a number, or text like "0.1" or "1/3"'
    )


def fraction_text(number: Fraction) -> str:
    """A fraction as documents store it: "p/q", also where q is 1.

    >>> fraction_text(Fraction(1, 10)), fraction_text(Fraction(3))
    ('1/10', '3/1')
    """
    return f"{number.numerator}/{number.denominator}"


def read_fraction(
    name: str,
    text: object,
    problem: str = "holds a number that is not written as p/q",
    *,
    signed: bool = False,
    hint: str | None = None,
) -> Fraction:
    """Read a fraction that `fraction_text` wrote. Anything else is refused: an exponent could make a huge number.

    >>> read_fraction("budget", "1/10")
    Fraction(1, 10)
    >>> read_fraction("budget", "1e10")
    Traceback (most recent call last):
    giveortake.errors.InvalidParameter: budget = '1e10' holds a number that is not written as p/q
    """
    if not isinstance(text, str) or not _STORED.fullmatch(text) or (text.startswith("-") and not signed):
        raise InvalidParameter(name, text, problem, hint=hint)
    return Fraction(text)


def integer(text: str) -> int:
    """The integer that ASCII digits write, and nothing else: `int` also reads "1_0", " 1" and digits of other scripts.

    >>> integer("-12")
    -12
    >>> integer("1_0")
    Traceback (most recent call last):
    ValueError: not an integer
    """
    if _INTEGER.fullmatch(text) is None:
        raise ValueError("not an integer")
    return int(text)


def at_least(name: str, value: Number) -> Fraction:
    """Read a positive number, never too small: of a float, the greater of its shortest decimal and its exact value.

    What bounds data, such as a sensitivity, is read this way: the data are doubles, not decimals.

    >>> at_least("sensitivity", 0.1) > Fraction(1, 10), at_least("sensitivity", "0.1") == Fraction(1, 10)
    (True, True)
    """
    number = positive(name, value)
    return max(number, Fraction(float(value))) if isinstance(value, float | np.floating) else number


def positive(name: str, value: Number) -> Fraction:
    """A number between 1e-300 and 1e300, exactly.

    >>> positive("epsilon", 0)
    Traceback (most recent call last):
    giveortake.errors.InvalidParameter: epsilon = 0 is not positive
    """
    number = rational(name, value)
    if number.numerator <= 0:
        raise InvalidParameter(name, value, "is not positive")
    magnitude = number.numerator.bit_length() - number.denominator.bit_length()  # spares comparing 300 digits
    if abs(magnitude) > _SURELY_SUPPORTED and not LEAST <= number <= GREATEST:
        raise InvalidParameter(name, value, "is outside the supported range from 1e-300 to 1e300")
    return number


def spendable(name: str, value: Number) -> Fraction:
    """Read what one release may spend: a positive number up to 10⁹. Beyond it there is hardly any noise.

    >>> spendable("epsilon", 10**10)
    Traceback (most recent call last):
    giveortake.errors.InvalidParameter: epsilon = 10000000000 is above 10⁹, and such a promise protects nobody
    """
    number = positive(name, value)
    if number > MOST_SPENT:
        raise InvalidParameter(name, value, "is above 10⁹, and such a promise protects nobody")
    return number


def non_negative(name: str, value: Number) -> Fraction:
    """Zero, or a number between 1e-300 and 1e300, exactly."""
    return Fraction(0) if rational(name, value) == 0 else positive(name, value)


def open_probability(name: str, value: Number) -> Fraction:
    """A number strictly between 0 and 1, at least 1e-300, exactly."""
    number = rational(name, value)
    if not 0 < number < 1:
        swapped = 'a δ is tiny, such as "1e-8"; ε comes first, δ second' if name == "delta" and number >= 1 else None
        raise InvalidParameter(name, value, "is not strictly between 0 and 1", hint=swapped)
    return positive(name, value)


def closed_probability(name: str, value: Number) -> Fraction:
    """Zero, one, or a number between them that is at least 1e-300, exactly."""
    number = rational(name, value)
    if not 0 <= number <= 1:
        raise InvalidParameter(name, value, "is not between 0 and 1")
    return non_negative(name, value)


def whole(name: str, value: Number, *, least: int = 1) -> int:
    """An integer that is at least `least`."""
    try:
        number = rational(name, value)
    except InvalidParameter as error:
        if error.problem != _NO_NUMBER:
            raise
        hint = "write a whole number, such as 10"
        raise InvalidParameter(name, value, "is not a whole number", hint=hint) from None
    if number.denominator != 1:
        raise InvalidParameter(name, value, "is not a whole number")
    if number < least:
        raise InvalidParameter(name, value, f"is below {least}")
    if number > GREATEST:
        raise InvalidParameter(name, value, "is above the supported range, which ends at 1e300")
    return number.numerator


def ceiling(number: Fraction) -> int:
    """The least integer at least `number`."""
    return -(-number.numerator // number.denominator)


def _shortest(name: str, value: float | np.floating[Any]) -> str:
    """The shortest decimal that means this number and no other of its type, whatever numpy's print options are."""
    if isinstance(value, float):
        return float.__repr__(value)
    if value.dtype.itemsize > 8:
        raise InvalidParameter(name, value, "has more digits than a double", hint="convert it to float or to text")
    return np.format_float_scientific(value)


def _from_decimal(name: str, value: Decimal, original: object) -> Fraction:
    if not value.is_finite():
        raise InvalidParameter(name, original, "is not finite")
    if not value:
        return Fraction(0)  # "0e-999999999" is zero, too
    if abs(value.adjusted()) > _MOST_MAGNITUDE:
        raise InvalidParameter(name, original, "is outside the supported range from 1e-300 to 1e300")
    if len(value.as_tuple().digits) > MOST_DIGITS:
        raise InvalidParameter(name, original, _TOO_LONG, hint="round it")
    return Fraction(value)


def _from_text(name: str, text: str) -> Fraction:
    hint = 'write a decimal or a fraction, such as "0.1", "1e-6" or "1/3"'
    if any(len(part) > MOST_DIGITS for part in text.split("/", 2)):
        raise InvalidParameter(name, text, _TOO_LONG, hint=hint)
    if not text.isascii() or "_" in text:  # which Python reads, and nobody else
        raise InvalidParameter(name, text, _NO_NUMBER, hint=hint)
    try:
        if "/" in text:
            return Fraction(text)
        return _from_decimal(name, Decimal(text), text)
    except ZeroDivisionError:
        raise InvalidParameter(name, text, "divides by zero", hint=hint) from None
    except (ValueError, InvalidOperation) as error:
        if isinstance(error, InvalidParameter):
            raise
        raise InvalidParameter(name, text, _NO_NUMBER, hint=hint) from None


def exact_decimal(value: Fraction) -> Decimal:
    """A fraction with finitely many decimals as a decimal, with all of them.

    >>> exact_decimal(Fraction(5, 4))
    Decimal('1.25')
    """
    return _ALL_DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


def power_of_two_at_least(number: Fraction) -> Fraction:
    """The least power of two that is at least a positive number.

    >>> power_of_two_at_least(Fraction(5)), power_of_two_at_least(Fraction(1, 3))
    (Fraction(8, 1), Fraction(1, 2))
    """
    power = Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length() - 1)
    while power < number:
        power *= 2
    return power
