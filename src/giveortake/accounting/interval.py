"""An interval that provably contains a number."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from giveortake.exact import shown, shown_up


@final
@dataclass(frozen=True, slots=True)
class Interval:
    """low ≤ the number meant ≤ high, both certified.

    >>> Interval(Fraction(1, 2), Fraction(3, 4)).width
    Fraction(1, 4)
    """

    low: Fraction
    high: Fraction

    @property
    def width(self) -> Fraction:
        """The distance between the two ends."""
        return self.high - self.low

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int | float | Fraction) and self.low <= number <= self.high

    def __str__(self) -> str:
        return f"between {shown(self.low, 9)} and {shown_up(self.high, 9)}"
