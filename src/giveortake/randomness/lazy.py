"""Real random numbers whose binary digits are drawn when a decision needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, final

from giveortake import exact
from giveortake.randomness.entropy import integer

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.exact import Ball
    from giveortake.randomness.entropy import Entropy

T = TypeVar("T")

_MORE_BITS = 64
_GUARD_BITS = 32


@final
class Uniform:
    """A real number, uniform on [0, 1], of which `bits` binary digits are known so far.

    Digits not yet drawn are independent of everything that was decided from the known ones, so drawing them later
    gives the same law as drawing them all at the start.
    """

    __slots__ = ("_entropy", "bits", "numerator")

    def __init__(self, entropy: Entropy, numerator: int = 0, bits: int = 0) -> None:
        self._entropy = entropy
        self.numerator = numerator
        self.bits = bits

    def refine(self, bits: int = _MORE_BITS) -> None:
        """Draw `bits` more digits."""
        self.numerator = (self.numerator << bits) | integer(self._entropy, bits)
        self.bits += bits

    def ball(self) -> Ball:
        """The interval in which the number lies, by the digits known so far."""
        return exact.dyadic_ball(self.numerator, self.bits)

    def exponential(self) -> Ball:
        """-ln U: an exponential variable of mean one."""
        while self.numerator == 0:
            self.refine()
        return -self.ball().log()


def settle(decide: Callable[[], T | None], *sources: Uniform) -> T:
    """Ask `decide` with more and more digits of the sources, until it can tell.

    `decide` is a function of enclosures: it answers None while two outcomes are still possible. It can tell with
    probability one, because undecided points have measure zero.
    """
    while True:
        with exact.precision(max([source.bits for source in sources]) + _GUARD_BITS):
            outcome = decide()
        if outcome is not None:
            return outcome
        for source in sources:
            source.refine()
