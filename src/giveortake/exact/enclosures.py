"""Certified enclosures, and the directed roundings and searches that rest on them.

A `Ball` is an interval that provably contains the number meant (arb, [Joh17]); every operation widens it enough to stay
true, whatever the working precision. From it come bounds of exp, log, sqrt and the normal distribution, and the least
or greatest number for which a certified statement holds.
"""

from __future__ import annotations

import os
from fractions import Fraction
from threading import RLock
from typing import TYPE_CHECKING, TypeAlias

from flint import arb, arf, ctx, fmpq

from giveortake.errors import Unprovable

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager


Ball: TypeAlias = arb

WORKING_BITS = 192
_MOST_BITS = 1 << 14  # a result is never longer than this; probabilities beyond it are rounded to 2^-16384 or to 0


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
    tiny = Fraction(1, 1 << _MOST_BITS)
    return max(tiny, _as_fraction(end)) if _exponent(end) > -_MOST_BITS else tiny


def probability_down(ball: Ball) -> Fraction:
    """A lower bound within [0, 1] of a probability, however small or badly enclosed it is."""
    end = ball.lower()
    if not end > 0 or _exponent(end) < -_MOST_BITS:
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
    if not end.is_finite() or abs(_exponent(end)) > _MOST_BITS:
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
