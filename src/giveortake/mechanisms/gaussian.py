"""The Gaussian mechanism, calibrated by the exact curve [BW18]."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

from giveortake import exact
from giveortake.mechanisms.additive import AdditiveNoise, miss_probability
from giveortake.mechanisms.mechanism import source
from giveortake.privacy import events
from giveortake.randomness import rounded_normal

if TYPE_CHECKING:
    from giveortake.exact import Number
    from giveortake.randomness import Entropy, IntArray


@final
@dataclass(frozen=True, slots=True)
class Gaussian(AdditiveNoise):
    """Add normal noise, rounded to whole steps, to an integer or an integer vector.

    Guarantee [DRS22]: for L2 sensitivity d, a release is (d / sigma)-GDP, exactly: rounding on the integers is
    post-processing of the continuous mechanism. The (ε, δ) curve follows [BW18]; so does d²/2σ²-zCDP [BS16].
    Rounding of numbers: none; the sampler is exact.

    >>> Gaussian(sigma=2).event(sensitivity=1).guarantee()
    GaussianDP('0.5')
    """

    sigma: Fraction

    citation: ClassVar[str] = "Balle, Wang: Improving the Gaussian mechanism for differential privacy, ICML 2018"

    def __init__(self, sigma: Number) -> None:
        object.__setattr__(self, "sigma", exact.positive("sigma", sigma))

    def event(self, sensitivity: Number = 1) -> events.Gaussian:
        """A Gaussian release of that L2 sensitivity."""
        return events.Gaussian(self.sigma / exact.positive("sensitivity", sensitivity))

    def noise(self, size: int, entropy: Entropy | None = None) -> IntArray:
        """Independent draws of the noise alone: P[k] = Φ((k+½)/σ) − Φ((k−½)/σ)."""
        return rounded_normal(self.sigma, size, source(entropy))

    def margin(self, confidence: Number = Fraction(95, 100)) -> int:
        """P[|noise| ≤ m] = 2Φ((m + ½) / σ) − 1."""
        return max(0, exact.ceiling(self.sigma * two_sided_quantile_up(confidence) - Fraction(1, 2)))


def two_sided_quantile_up(confidence: Number) -> Fraction:
    """An upper bound of the z for which a standard normal variable stays within ±z with that probability."""
    miss = miss_probability(confidence)
    with exact.precision():
        return exact.upper(-exact.normal_quantile(exact.enclosure(miss / 2)))
