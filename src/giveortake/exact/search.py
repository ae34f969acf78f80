"""The least, or the greatest, number for which a certified statement holds."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

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
