"""Report-noisy-max with Laplace noise [DR14, section 3.3]."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

from giveortake.exact import at_least, log_up, positive, whole
from giveortake.mechanisms.additive import miss_probability
from giveortake.mechanisms.selection import NoisySelection
from giveortake.privacy import events

if TYPE_CHECKING:
    from giveortake.exact import Number
    from giveortake.randomness.selection import Noise


@final
@dataclass(frozen=True, slots=True)
class ReportNoisyMax(NoisySelection):
    """Add Laplace noise of that scale to every utility and release only the index of the greatest.

    Guarantee [DR14, claim 3.9, with noise doubled because utilities need not move together]: for utilities of
    sensitivity d, a selection is (2d / scale)-DP, however many candidates there are. The noisy utilities themselves
    stay secret. Rounding of numbers: none; the comparison is exact.

    >>> from giveortake.mechanisms import Sensitive
    >>> ReportNoisyMax("1/100").release(Sensitive([1, 90, 4]))
    1
    """

    scale: Fraction

    noise: ClassVar[Noise] = "laplace"
    citation: ClassVar[str] = "Dwork, Roth: The algorithmic foundations of differential privacy, 2014"

    def __init__(self, scale: Number) -> None:
        object.__setattr__(self, "scale", positive("scale", scale))

    def event(self, sensitivity: Number = 1) -> events.Pure:
        """The event of a selection by utilities of that sensitivity."""
        return events.Pure(2 * at_least("sensitivity", sensitivity) / self.scale)

    def margin(self, confidence: Number = Fraction(95, 100), *, candidates: int) -> Fraction:
        """The margin is two noises, each at most scale · ln(candidates / miss) except with probability miss."""
        miss = miss_probability(confidence)
        return 2 * self.scale * log_up(whole("candidates", candidates) / miss)
