"""Numbers as people read them: exact where that is short, otherwise rounded upwards."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction

from giveortake.exact import exp_up, shown_up

_DIGITS = 12  # a longer decimal is not short
_LONGEST_FRACTION = 20


def written(number: Fraction) -> str:
    """A text that means exactly `number` if there is a short one, otherwise an approximation marked as such.

    >>> [written(Fraction(text)) for text in ("1/10", "1e-6", "1/3", "1e300")]
    ['0.1', '1e-6', '1/3', '1e300']
    >>> written(Fraction(1, 3**40))
    '≈8.22527e-20'
    """
    decimal = _short_decimal(number)
    if decimal is not None:
        return decimal
    if max(abs(number.numerator), number.denominator) < 10 ** (_LONGEST_FRACTION // 2):
        return str(number)
    return f"≈{shown_up(number)}"


def bound(number: Fraction) -> str:
    """A decimal that is never below `number`."""
    return _short_decimal(number) or shown_up(number)


def factor(epsilon: Fraction) -> str:
    """e^ε as text, never understated; for a small ε it is 1 + ε + ε², rounded up.

    >>> factor(Fraction(1, 10)), factor(Fraction(1000)), factor(Fraction(1, 10**4))
    ('1.1052', 'e^1000', '1 + 0.000101')
    """
    if epsilon > 30:
        return f"e^{bound(epsilon)}"
    if 0 < epsilon < Fraction(1, 1000):
        return f"1 + {shown_up(epsilon + epsilon**2, digits=3)}"
    return shown_up(exp_up(epsilon), digits=5)


def _short_decimal(number: Fraction) -> str | None:
    quotient = Context(prec=_DIGITS).divide(Decimal(number.numerator), Decimal(number.denominator))
    if Fraction(quotient) != number:
        return None
    if quotient == 0:
        return "0"
    exponent = quotient.adjusted()
    if -5 < exponent < 7:
        text = f"{quotient:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa = f"{Context(prec=_DIGITS).scaleb(quotient, -exponent):f}"
    return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{exponent}"
