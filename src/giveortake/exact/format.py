"""Exact numbers as text for people: short decimals, rounded in a stated direction."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction


def decimal(number: Fraction, digits: int = 6) -> str:
    """A short decimal for people: exact when it is short, otherwise rounded to `digits` significant digits.

    >>> decimal(Fraction(1, 10)), decimal(Fraction(1, 3)), decimal(Fraction(1, 10**8))
    ('0.1', '0.333333', '1e-8')
    """
    if number == 0:
        return "0"
    context = Context(prec=digits, rounding=ROUND_HALF_EVEN)  # not the caller's, which may hold fewer digits
    quotient = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    text = f"{quotient:.{digits}g}"
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        return f"{_without_trailing_zeros(mantissa)}e{int(exponent)}"
    return _without_trailing_zeros(text)


def decimal_up(number: Fraction, digits: int = 6) -> str:
    """A short decimal for people that is never below the number.

    >>> decimal_up(Fraction(1, 3)), decimal_up(Fraction(1, 10)), decimal_up(Fraction(1, 7), digits=2)
    ('0.333334', '0.1', '0.15')
    """
    context = Context(prec=digits, rounding=ROUND_CEILING)
    return decimal(Fraction(context.divide(Decimal(number.numerator), Decimal(number.denominator))), digits)


def decimal_down(number: Fraction, digits: int = 6) -> str:
    """A short decimal for people that is never above the number.

    >>> decimal_down(Fraction(2, 3)), decimal_down(Fraction(1, 10)), decimal_down(Fraction(1, 6), digits=2)
    ('0.666666', '0.1', '0.16')
    """
    context = Context(prec=digits, rounding=ROUND_FLOOR)
    return decimal(Fraction(context.divide(Decimal(number.numerator), Decimal(number.denominator))), digits)


def counted(number: int, noun: str) -> str:
    """How many of something there are, in words.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _without_trailing_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
