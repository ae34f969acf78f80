"""The geometric mechanism ("discrete Laplace") [GRS12]."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

from giveortake.exact import ceiling, exp_down, log_up, positive, whole
from giveortake.mechanisms.additive import AdditiveNoise, miss_probability
from giveortake.mechanisms.mechanism import source
from giveortake.privacy import events
from giveortake.randomness import two_sided_geometric

if TYPE_CHECKING:
    from giveortake.exact import Number
    from giveortake.randomness import Entropy, IntArray


@final
@dataclass(frozen=True, slots=True)
class Geometric(AdditiveNoise):
    """Add two-sided geometric noise, P[k] ∝ exp(−|k| / scale), to an integer or an integer vector.

    Guarantee [GRS12]: for L1 sensitivity d, a whole number of steps, a release is (d / scale)-DP. It is priced as
    what it is: at one step its privacy loss has two values only, like randomized response, and composes worse than
    the loss of `Laplace`. Rounding of numbers: none; the sampler is exact.

    >>> Geometric("2").event(1)
    Geometric(scale=Fraction(2, 1), sensitivity=1)
    """

    scale: Fraction

    citation: ClassVar[str] = "Ghosh, Roughgarden, Sundararajan: Universally utility-maximizing privacy, SICOMP 2012"

    def __init__(self, scale: Number) -> None:
        object.__setattr__(self, "scale", positive("scale", scale))

    def event(self, sensitivity: Number = 1) -> events.Geometric:
        """A geometric release of that L1 sensitivity, in steps."""
        return events.Geometric(self.scale, whole("sensitivity", sensitivity))

    def noise(self, size: int, entropy: Entropy | None = None) -> IntArray:
        """Independent draws of the noise alone."""
        return two_sided_geometric(self.scale, size, source(entropy))

    def margin(self, confidence: Number = Fraction(95, 100)) -> int:
        """The least m with that confidence, from P[|noise| ≤ m] = 1 − 2q^(m+1) / (1 + q) with q = exp(−1 / scale)."""
        miss = miss_probability(confidence)
        outside = 2 / (miss * (1 + exp_down(max(-1 / self.scale, _NEGLIGIBLE))))
        return max(0, ceiling(self.scale * log_up(outside)) - 1)


_NEGLIGIBLE = Fraction(-1000)  # below it q is taken as exp(−1000): the margin is 0 either way
