"""Numbers as text for people: short decimals and percentages, rounded in a stated direction.

The names say what is lost: `decimal` and `percent` round to the nearest, `…_up` and `…_down` never cross the number,
and `exact_or_…` write a number as it is where that is short. Only `rough_percent` takes a float.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from math import ceil, floor

_DIGITS = 12  # a longer decimal is not short
_LONGEST_FRACTION = 20


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


def exact_or_about(number: Fraction) -> str:
    """A text that means exactly `number` if there is a short one, otherwise an approximation marked as such.

    >>> [exact_or_about(Fraction(text)) for text in ("1/10", "1e-6", "1/3", "1e300")]
    ['0.1', '1e-6', '1/3', '1e300']
    >>> exact_or_about(Fraction(1, 3**40))
    '≈8.22527e-20'
    """
    short = _short_decimal(number)
    if short is not None:
        return short
    if max(abs(number.numerator), number.denominator) < 10 ** (_LONGEST_FRACTION // 2):
        return str(number)
    return f"≈{decimal_up(number)}"


def exact_or_up(number: Fraction) -> str:
    """A decimal that is never below the number: exact if that is short.

    >>> exact_or_up(Fraction(123456789, 10**9)), exact_or_up(Fraction(1, 3))
    ('0.123456789', '0.333334')
    """
    return _short_decimal(number) or decimal_up(number)


def exact_or_down(number: Fraction, digits: int = 6) -> str:
    """A decimal that is never above the number: exact if that is short.

    >>> exact_or_down(Fraction(123456789, 10**9)), exact_or_down(Fraction(2, 3))
    ('0.123456789', '0.666666')
    """
    text = exact_or_up(number)
    if Fraction(text) == number:
        return text
    scale = Fraction(10) ** (digits + len(str(number.denominator)) - len(str(number.numerator)))
    return exact_or_up(floor(number * scale) / scale)


def percent(share: Fraction, digits: int = 6) -> str:
    """A share as a percentage: exact when it is short, otherwise rounded to `digits` significant digits.

    >>> percent(Fraction(1, 20)), percent(Fraction(1, 3), 3)
    ('5 %', '33.3 %')
    """
    return f"{decimal(100 * share, digits)} %"


def percent_up(share: Fraction) -> str:
    """A percentage that is never below the share.

    >>> percent_up(Fraction(1, 3)), percent_up(Fraction(99999, 100000))
    ('33.4 %', '99.999 %')
    """
    return _directed_percent(share, up=True)


def percent_down(share: Fraction) -> str:
    """A percentage that is never above the share."""
    return _directed_percent(share, up=False)


def rough_percent(share: float | Fraction, digits: int = 3) -> str:
    """About which percentage a share is, for numbers that are estimates themselves.

    >>> rough_percent(0.03884, 2), rough_percent(0.00019), rough_percent(0.996, 2)
    ('3.9 %', '0.019 %', '100 %')
    """
    text = f"{float(100 * share):.{digits}g}"
    return f"{float(100 * share):.0f} %" if "e+" in text else f"{text} %"


def counted(number: int, noun: str) -> str:
    """How many of something there are, in words.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _without_trailing_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _short_decimal(number: Fraction) -> str | None:
    quotient = Context(prec=_DIGITS).divide(Decimal(number.numerator), Decimal(number.denominator))
    if Fraction(quotient) != number:
        return None
    if quotient == 0:
        return "0"
    exponent = quotient.adjusted()
    if -5 < exponent < 7:
        return _without_trailing_zeros(f"{quotient:f}")
    mantissa = f"{Context(prec=_DIGITS).scaleb(quotient, -exponent):f}"
    return f"{_without_trailing_zeros(mantissa)}e{exponent}"


def _directed_percent(share: Fraction, *, up: bool) -> str:
    nearest = min(share, 1 - share)
    decimals = 1 if nearest >= Fraction(1, 1000) or nearest <= 0 else 4  # more near 0 and 1, where they matter
    scaled = 100 * share * 10**decimals  # integers from here on: a quotient of decimals would be rounded once more
    digits = Decimal(ceil(scaled) if up else floor(scaled)).scaleb(-decimals)
    return f"{digits.normalize():f} %" if digits else "0 %"
