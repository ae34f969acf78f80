"""The Laplace mechanism [DMNS06], [Fre18, theorem 11]."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

from giveortake.exact import at_least, ceiling, log_up, positive
from giveortake.mechanisms.additive import RoundedNoise, miss_probability
from giveortake.mechanisms.mechanism import source
from giveortake.mechanisms.scales import scale_for
from giveortake.mechanisms.tails import LaplaceTail
from giveortake.privacy import events
from giveortake.randomness import rounded_laplace

if TYPE_CHECKING:
    from giveortake.exact import Number
    from giveortake.randomness import Entropy, IntArray


@final
@dataclass(frozen=True, slots=True)
class Laplace(RoundedNoise):
    """Add Laplace noise, rounded to whole steps, to an integer or an integer vector.

    Guarantee [DMNS06]: for L1 sensitivity d, a release is (d / scale)-DP. On integers, value + round(Z) is
    round(value + Z): post-processing of the continuous mechanism, so its privacy-loss distribution holds too.
    Rounding of numbers: none; the sampler is exact.

    >>> Laplace(scale=10).event(sensitivity=1).guarantee()
    PureDP('0.1')
    >>> Laplace(scale=10).margin("0.95")
    30
    """

    scale: Fraction

    label: ClassVar[str] = "Laplace"
    citation: ClassVar[str] = "Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity, TCC 2006"

    def __init__(self, scale: Number) -> None:
        object.__setattr__(self, "scale", positive("scale", scale))

    @classmethod
    def calibrated(cls, *, epsilon: Number, sensitivity: Number = 1) -> Laplace:
        """The noise for integers of that L1 sensitivity that is ε-DP."""
        return cls(scale_for(sensitivity, epsilon))

    def event(self, sensitivity: Number = 1) -> events.Laplace:
        """A Laplace release of that L1 sensitivity."""
        return events.Laplace(self.scale / at_least("sensitivity", sensitivity))

    def event_within(self, l1: Fraction, l2: Fraction) -> events.Laplace:
        return self.event(l1)

    @property
    def scale_in_steps(self) -> Fraction:
        return self.scale

    @property
    def tail(self) -> LaplaceTail:
        return LaplaceTail(float(self.scale))

    def noise(self, size: int, entropy: Entropy | None = None) -> IntArray:
        """Independent draws of the noise alone: P[k] = F((k+½)/scale) − F((k−½)/scale)."""
        return rounded_laplace(self.scale, size, source(entropy))

    def margin(self, confidence: Number = Fraction(95, 100)) -> int:
        """The least m with that confidence, from P[|noise| ≤ m] = 1 − exp(−(m + ½) / scale)."""
        miss = miss_probability(confidence)
        return max(0, ceiling(self.scale * log_up(1 / miss) - Fraction(1, 2)))
