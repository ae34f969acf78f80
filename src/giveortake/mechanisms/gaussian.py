"""The Gaussian mechanism, calibrated by the exact curve [BW18]."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

from giveortake import exact
from giveortake.caching import cached
from giveortake.errors import InvalidParameter
from giveortake.mechanisms.additive import RoundedNoise, miss_probability
from giveortake.mechanisms.mechanism import source
from giveortake.mechanisms.tails import NormalTail
from giveortake.privacy import events, gaussian_mu
from giveortake.randomness import rounded_normal

if TYPE_CHECKING:
    from giveortake.exact import Number
    from giveortake.randomness import Entropy, IntArray


@final
@dataclass(frozen=True, slots=True)
class Gaussian(RoundedNoise):
    """Add normal noise, rounded to whole steps, to an integer or an integer vector.

    Guarantee [DRS22]: for L2 sensitivity d, a release is (d / sigma)-GDP, exactly: rounding on the integers is
    post-processing of the continuous mechanism. The (ε, δ) curve follows [BW18]; so does d²/2σ²-zCDP [BS16].
    Rounding of numbers: none; the sampler is exact.

    >>> Gaussian(sigma=2).event(sensitivity=1).guarantee()
    GaussianDP('0.5')
    """

    sigma: Fraction

    label: ClassVar[str] = "Gaussian"
    citation: ClassVar[str] = "Balle, Wang: Improving the Gaussian mechanism for differential privacy, ICML 2018"

    def __init__(self, sigma: Number) -> None:
        object.__setattr__(self, "sigma", exact.positive("sigma", sigma))

    @classmethod
    def calibrated(
        cls,
        *,
        sensitivity: Number = 1,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        mu: Number | None = None,
    ) -> Gaussian:
        """The least noise for integers of that L2 sensitivity that is (ε, δ)-DP, ρ-zCDP or μ-GDP.

        >>> round(float(Gaussian.calibrated(epsilon=1, delta="1e-5").sigma), 6)
        3.730632
        """
        return cls(exact.at_least("sensitivity", sensitivity) / mu_of(epsilon, delta, rho, mu))

    def event(self, sensitivity: Number = 1) -> events.Gaussian:
        """A Gaussian release of that L2 sensitivity."""
        return events.Gaussian(self.sigma / exact.at_least("sensitivity", sensitivity))

    def event_within(self, l1: Fraction, l2: Fraction) -> events.Gaussian:
        return self.event(l2)

    @property
    def scale_in_steps(self) -> Fraction:
        return self.sigma

    @property
    def tail(self) -> NormalTail:
        return NormalTail(float(self.sigma))

    def noise(self, size: int, entropy: Entropy | None = None) -> IntArray:
        """Independent draws of the noise alone: P[k] = Φ((k+½)/σ) − Φ((k−½)/σ)."""
        return rounded_normal(self.sigma, size, source(entropy))

    def margin(self, confidence: Number = Fraction(95, 100)) -> int:
        """The least m with that confidence, from P[|noise| ≤ m] = 2Φ((m + ½) / σ) − 1."""
        return max(0, exact.ceiling(self.sigma * two_sided_quantile_up(confidence) - Fraction(1, 2)))


def two_sided_quantile_up(confidence: Number) -> Fraction:
    """An upper bound of the z for which a standard normal variable stays within ±z with that probability."""
    miss = miss_probability(confidence)
    with exact.precision():
        return exact.upper(-exact.normal_quantile(exact.enclosure(miss / 2)))


def mu_of(epsilon: Number | None, delta: Number | None, rho: Number | None, mu: Number | None) -> Fraction:
    """The greatest μ, rounded down, that keeps the promise asked for: exactly one of (ε, δ), ρ and μ."""
    given = [name for name, value in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if value is not None]
    if len(given) != 1:
        raise InvalidParameter(
            "epsilon, rho, mu", given, "does not name exactly one promise", hint="pass epsilon and delta, or rho, or mu"
        )
    if epsilon is not None:
        if delta is None:
            raise InvalidParameter(
                "delta",
                delta,
                "is missing: Gaussian noise needs a δ",
                hint='pass delta="1e-6", or use gt.laplace',
            )
        return gaussian_mu(exact.spendable("epsilon", epsilon), delta)
    if delta is not None:
        raise InvalidParameter("delta", delta, "goes with epsilon only")
    if mu is not None:
        return exact.spendable("mu", mu)
    return _mu_of_rho(exact.spendable("rho", 0 if rho is None else rho))


@cached(1024)
def _mu_of_rho(rho: Fraction) -> Fraction:
    return exact.sqrt_down(2 * rho)
