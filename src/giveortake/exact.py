"""Exact numbers, certified enclosures, and numbers as text: all roundings of privacy numbers, in a stated direction.

A parameter is read as a `Fraction`: a float means its shortest decimal, so that `0.1` is one tenth and three charges of
`0.1` fit a budget of `0.3`, and a number of more than 4,300 digits is refused before anything is computed with it.
Other numbers are enclosed by a `Ball`, an interval that provably contains them (arb, [Joh17]); every operation keeps it
true, whatever the working precision. The name of a function says which end of the interval it returns,
and whether a decimal or a percentage for people is exact, nearest, never below (`…_up`) or never above (`…_down`).
"""

from __future__ import annotations

import math
import os
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal, Inexact, InvalidOperation
from fractions import Fraction
from math import ceil, floor
from numbers import Rational
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from flint import arb, arf, ctx, fmpq

from giveortake.errors import InvalidParameter, Unprovable

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager


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


Ball: TypeAlias = arb

WORKING_BITS = 192
_LONGEST_BALL = 1 << 14  # a result is never longer than this; probabilities beyond it are rounded to 2^-16384 or to 0


class _Precision:
    """A block in which balls are computed with `bits` bits, by one thread at a time."""

    __slots__ = ("_before", "_bits")

    lock = RLock()

    def __init__(self, bits: int) -> None:
        self._bits = bits

    def __enter__(self) -> None:
        _Precision.lock.acquire()
        self._before = ctx.prec
        try:
            ctx.prec = self._bits
        except BaseException:
            _Precision.lock.release()
            raise

    def __exit__(self, *_: object) -> None:
        ctx.prec = self._before
        _Precision.lock.release()

    @classmethod
    def forget_lock(cls) -> None:
        """Make a new lock in a child process, where the thread that held the old one does not exist."""
        cls.lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Precision.forget_lock)


def precision(bits: int = WORKING_BITS) -> AbstractContextManager[None]:
    """A block in which balls are computed with `bits` bits.

    The whole process has one precision, so a lock is held: every thread gets the same bounds.
    """
    return _Precision(bits)


def enclosure(number: Fraction | int) -> Ball:
    """The narrowest ball around an exact number at the working precision."""
    if isinstance(number, int):
        return arb(number)
    return arb(fmpq(number.numerator, number.denominator))


def dyadic_ball(numerator: int, bits: int) -> Ball:
    """The interval [numerator, numerator + 1] / 2^bits."""
    return arb(arf((2 * numerator + 1, -bits - 1)), arf((1, -bits - 1)))


def pi() -> Ball:
    """π, at the working precision."""
    return arb.pi()


def upper(ball: Ball) -> Fraction:
    """The least fraction known to be at least the number enclosed."""
    return _as_fraction(ball.upper())


def lower(ball: Ball) -> Fraction:
    """The greatest fraction known to be at most the number enclosed."""
    return _as_fraction(ball.lower())


def probability_up(ball: Ball) -> Fraction:
    """An upper bound within [0, 1] of a probability, never zero, however small or badly enclosed it is."""
    end = ball.upper()
    if not end < 1:
        return Fraction(1)
    tiny = Fraction(1, 1 << _LONGEST_BALL)
    return max(tiny, _as_fraction(end)) if _exponent(end) > -_LONGEST_BALL else tiny


def probability_down(ball: Ball) -> Fraction:
    """A lower bound within [0, 1] of a probability, however small or badly enclosed it is."""
    end = ball.lower()
    if not end > 0 or _exponent(end) < -_LONGEST_BALL:
        return Fraction(0)
    return min(Fraction(1), _as_fraction(end))


def difference_is_positive(larger: Ball, smaller: Ball) -> bool | None:
    """Whether `larger` exceeds `smaller`; None when the two balls overlap and nothing is known."""
    if larger > smaller:
        return True
    return False if larger <= smaller else None


def floor_if_certain(ball: Ball) -> int | None:
    """The integer below the number enclosed; None when the ball leaves more than one possible."""
    unique = ball.floor().unique_fmpz()
    return None if unique is None else int(unique)


def positive_part(ball: Ball) -> Ball:
    """The greater of the number enclosed and zero."""
    return ball.nonnegative_part()


def midpoint(ball: Ball) -> Ball:
    """The middle of a ball, as a ball of width zero."""
    return ball.mid()


def float_if_within(ball: Ball, error: float) -> float | None:
    """A double within `error` of the number enclosed; None when the ball is too wide to tell."""
    nearest = float(ball.mid())
    return nearest if abs(ball - nearest) < error else None


def normal_cdf(ball: Ball) -> Ball:
    """Φ(x): how likely a standard normal variable is to stay below x."""
    return (-ball / arb(2).sqrt()).erfc() / 2


def normal_quantile(ball: Ball) -> Ball:
    """Φ⁻¹(p): the point that a standard normal variable stays below with probability p."""
    return -arb(2).sqrt() * (2 * ball).erfcinv()


def beta_cdf(ball: Ball, a: int, b: int) -> Ball:
    """I_x(a, b): how likely a beta variable is to stay below x, or that a of a + b − 1 trials or more succeed."""
    return ball.beta_lower(arb(a), arb(b), regularized=True)


def exp_up(x: Fraction) -> Fraction:
    """An upper bound of e^x."""
    with precision():
        return upper(enclosure(x).exp())


def exp_down(x: Fraction) -> Fraction:
    """A lower bound of e^x."""
    with precision():
        return lower(enclosure(x).exp())


def log_up(x: Fraction) -> Fraction:
    """An upper bound of ln x."""
    with precision():
        return upper(enclosure(x).log())


def log_down(x: Fraction) -> Fraction:
    """A lower bound of ln x."""
    with precision():
        return lower(enclosure(x).log())


def sqrt_up(x: Fraction) -> Fraction:
    """An upper bound of √x."""
    with precision():
        return upper(enclosure(x).sqrt())


def sqrt_down(x: Fraction) -> Fraction:
    """A lower bound of √x."""
    with precision():
        return lower(enclosure(x).sqrt())


def normal_cdf_up(x: Fraction) -> Fraction:
    """An upper bound of Φ(x)."""
    with precision():
        return probability_up(normal_cdf(enclosure(x)))


def normal_cdf_down(x: Fraction) -> Fraction:
    """A lower bound of Φ(x)."""
    with precision():
        return probability_down(normal_cdf(enclosure(x)))


def _as_fraction(end: Ball) -> Fraction:
    if not end.is_finite() or abs(_exponent(end)) > _LONGEST_BALL:
        raise Unprovable(
            "the bound is too large or too small to be written down",
            hint="use parameters that are neither so large nor so small",
        )
    mantissa, exponent = end.man_exp()
    return int(mantissa) * Fraction(2) ** int(exponent)


def _exponent(end: Ball) -> int:
    """About log2 of the absolute value: between 0 and 1 above it."""
    mantissa, exponent = end.man_exp()
    return int(mantissa).bit_length() + int(exponent)


_STEPS = 80  # relative width 2^-80 of the bracket that is left


def least_that(holds: Callable[[Fraction], bool], *, start: Fraction = Fraction(1)) -> Fraction:
    """A positive number for which `holds` is true, at most a factor 1 + 2^-79 above the least one.

    `holds` must be false below some point and true above it, up to answers that are false because the proof did
    not succeed: the number returned is always one for which `holds` said true.
    """
    high = start
    while not holds(high):
        high *= 2
    low = high / 2
    while holds(low):
        low, high = low / 2, low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if holds(middle):
            high = middle
        else:
            low = middle
    return high


def greatest_that(holds: Callable[[Fraction], bool], *, start: Fraction = Fraction(1)) -> Fraction:
    """A positive number for which `holds` is true, at most a factor 1 + 2^-79 below the greatest one."""
    return 1 / least_that(lambda inverse: holds(1 / inverse), start=1 / start)


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
