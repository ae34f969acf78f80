"""Permute-and-flip [MS20]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from giveortake.exact import at_least, positive
from giveortake.mechanisms.selection import NoisySelection
from giveortake.privacy import events

if TYPE_CHECKING:
    from fractions import Fraction

    from giveortake.exact import Number
    from giveortake.randomness.selection import Noise


@final
@dataclass(frozen=True, slots=True)
class PermuteAndFlip(NoisySelection):
    """Visit the candidates in random order and take each with probability exp((utility − best) / scale).

    Guarantee [MS20]: for utilities of sensitivity d, a selection is (2d / scale)-DP, and the utility selected is at
    least as good, in distribution, as the exponential mechanism's. It is drawn as the greatest utility / scale +
    exponential noise, which has the same law [DKX+21]. Rounding of numbers: none; the sampler is exact.

    >>> PermuteAndFlip("2").event(1)
    Pure(epsilon=Fraction(1, 1))
    """

    scale: Fraction

    noise: ClassVar[Noise] = "exponential"
    citation: ClassVar[str] = "McKenna, Sheldon: Permute-and-flip, NeurIPS 2020"

    def __init__(self, scale: Number) -> None:
        object.__setattr__(self, "scale", positive("scale", scale))

    def event(self, sensitivity: Number = 1) -> events.Pure:
        """The event of a selection by utilities of that sensitivity."""
        return events.Pure(2 * at_least("sensitivity", sensitivity) / self.scale)
