"""The discrete Gaussian mechanism [CKS20]."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

from giveortake.exact import at_least, ceiling, positive
from giveortake.mechanisms.additive import AdditiveNoise
from giveortake.mechanisms.gaussian import two_sided_quantile_up
from giveortake.mechanisms.mechanism import source
from giveortake.privacy import events
from giveortake.randomness import discrete_gaussian

if TYPE_CHECKING:
    from giveortake.exact import Number
    from giveortake.randomness import Entropy, IntArray


@final
@dataclass(frozen=True, slots=True)
class DiscreteGaussian(AdditiveNoise):
    """Add discrete Gaussian noise, P[k] ∝ exp(−k² / 2σ²), to an integer or an integer vector.

    Guarantee [CKS20, theorem 4]: for L2 sensitivity d, a release is d²/2σ²-zCDP, and nothing better is claimed: the
    curve of the continuous Gaussian does not bound it. Rounding of numbers: none; the sampler is exact.

    >>> DiscreteGaussian("2").event(1)
    DiscreteGaussian(sigma=Fraction(2, 1), sensitivity=Fraction(1, 1))
    """

    sigma: Fraction

    citation: ClassVar[str] = "Canonne, Kamath, Steinke: The discrete Gaussian for differential privacy, NeurIPS 2020"

    def __init__(self, sigma: Number) -> None:
        object.__setattr__(self, "sigma", positive("sigma", sigma))

    def event(self, sensitivity: Number = 1) -> events.DiscreteGaussian:
        """A discrete Gaussian release of that L2 sensitivity, in steps."""
        return events.DiscreteGaussian(self.sigma, at_least("sensitivity", sensitivity))

    def noise(self, size: int, entropy: Entropy | None = None) -> IntArray:
        """Independent draws of the noise alone."""
        return discrete_gaussian(self.sigma, size, source(entropy))

    def margin(self, confidence: Number = Fraction(95, 100)) -> int:
        """An m at most one above the least: P[noise ≥ m + 1] ≤ P[N(0, σ²) ≥ m] [CKS20, proposition 23]."""
        return ceiling(self.sigma * two_sided_quantile_up(confidence))
