"""Additive noise: Laplace [DMNS06], Gaussian [BW18], geometric and discrete Gaussian [CKS20] mechanisms.

They add independent integer noise to an integer or to every integer of an array. Real numbers are put on a lattice,
prepared once for equal parameters, without looking at values.
"""

from __future__ import annotations

import math
import sys
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

from giveortake import exact
from giveortake.caching import cached
from giveortake.errors import InvalidParameter
from giveortake.exact import at_least, ceiling, exp_down, log_up, open_probability, positive, whole
from giveortake.mechanisms import lattice
from giveortake.mechanisms.lattice import Lattice
from giveortake.mechanisms.mechanism import BoundedIntegers, Mechanism, Sensitive, opened, scale_for, source
from giveortake.mechanisms.tails import LaplaceTail, NormalTail
from giveortake.privacy import events, gaussian_mu
from giveortake.randomness import discrete_gaussian, rounded_laplace, rounded_normal, two_sided_geometric

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from giveortake.exact import Number
    from giveortake.mechanisms.lattice import Numeric, ShapedNumbers
    from giveortake.mechanisms.tails import Tail
    from giveortake.privacy.events import Event
    from giveortake.randomness import Entropy, IntArray


class AdditiveNoise(Mechanism["Numeric", "Numeric"]):
    """value + noise on the integers, the noise independent of the value and of every other coordinate."""

    __slots__ = ()

    @abstractmethod
    def noise(self, size: int, entropy: Entropy | None = None) -> IntArray:
        """Independent draws of the noise alone."""

    @abstractmethod
    def margin(self, confidence: Number = Fraction(95, 100)) -> int:
        """The least m for which |noise| ≤ m holds with at least that probability, for one coordinate."""

    def release(self, value: Numeric | Sensitive[Numeric], entropy: Entropy | None = None) -> Any:
        """The integers plus noise: an int for an int, an array for an array or a column."""
        exactly = opened(value, self)
        if isinstance(exactly, BoundedIntegers):
            return exactly.plus(self.noise(exactly.size, source(entropy)).reshape(exactly.shape)).released()
        integers = lattice.whole_numbers("value", exactly)
        return integers.shaped(lattice.added(integers.flat, self.noise(integers.flat.size, source(entropy))))

    def stream(self, chunks: Iterable[Numeric], entropy: Entropy | None = None) -> Iterator[Any]:
        """Release one chunk after another, so that the whole never has to fit into memory."""
        for chunk in chunks:
            yield self.release(chunk, entropy)


class RoundedNoise(AdditiveNoise):
    """Noise of a continuous law, rounded to whole steps, and what quotes and margins say about it.

    On integers, value + round(Z) is round(value + Z): post-processing of the continuous mechanism.
    """

    __slots__ = ()

    label: ClassVar[str]  # the law's name in texts

    @property
    @abstractmethod
    def scale_in_steps(self) -> Fraction:
        """The scale of the law; the standard deviation of a normal one."""

    @property
    @abstractmethod
    def tail(self) -> Tail:
        """The tail of the continuous law, in steps."""

    @abstractmethod
    def event_within(self, l1: Fraction, l2: Fraction) -> Event:
        """The event of a release, when one unit moves the integers by at most `l1` in L1 and `l2` in L2."""

    def description(self, step: Fraction) -> str:
        """The noise in words; `step` is what one step is worth.

        >>> gt.mechanisms.Laplace(10).description(Fraction(1, 2))
        'Laplace noise of scale 5'
        """
        return f"{self.label} noise of scale {float(self.scale_in_steps * step):.6g}"


def miss_probability(confidence: Number) -> Fraction:
    """One minus the confidence, which must lie strictly between 0 and 1."""
    return 1 - open_probability("confidence", confidence)


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
    promises = [name for name, value in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if value is not None]
    if len(promises) != 1:
        raise InvalidParameter(
            "epsilon, rho, mu",
            promises,
            "does not name exactly one promise",
            hint="pass epsilon and delta, or rho, or mu",
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


_FAINTEST_LAPLACE = Fraction(1, 1400)  # below these scales, in steps, noise is nothing but zeros:
_FAINTEST_NORMAL = Fraction(1, 74)  # P[noise ≠ 0] < 1e-300
_GREATEST_DOUBLE = Fraction(sys.float_info.max)


@final
@dataclass(frozen=True, slots=True)
class LatticeNoise:
    """A lattice, and the noise to be added there; for numbers that are whole, or are floats, or neither."""

    lattice: Lattice
    noise: Laplace | Gaussian
    whole: bool
    is_float: bool

    def release(self, numbers: ShapedNumbers) -> Any:
        """The numbers on the lattice, with noise, as numbers of their own kind."""
        noise = self.noise.noise(numbers.flat.size)
        return self.lattice.values(lattice.added(self.lattice.steps(numbers), noise), numbers)

    def margin(self, confidence: Number) -> int | float | Fraction:
        """The margin of one number, noise and rounding together; a float is rounded up."""
        unit = self.lattice.granularity
        moved = Fraction(0) if self.lattice.contains(whole=self.whole) else unit / 2
        total = self.noise.margin(confidence) * unit + moved
        if self.is_float:
            if total > _GREATEST_DOUBLE:
                raise InvalidParameter(
                    "noise", exact.decimal(total), "has no bound that a double holds", hint="ask for more epsilon"
                )
            nearest = float(total)
            return nearest if nearest >= total else math.nextafter(nearest, math.inf)
        return total.numerator if total.denominator == 1 else total


def laplace_on_lattice(
    numbers: ShapedNumbers, sensitivity: Number, epsilon: Number, granularity: Number | None
) -> LatticeNoise:
    """Laplace noise that is ε-DP for that L1 sensitivity."""
    spread, promise = exact.at_least("sensitivity", sensitivity), exact.spendable("epsilon", epsilon)
    return _laplace_on_lattice(_Kind.of_numbers(numbers), spread, promise, _unit(granularity))


def gaussian_on_lattice(
    numbers: ShapedNumbers, sensitivity: Number, mu: Fraction, granularity: Number | None
) -> LatticeNoise:
    """Gaussian noise that is μ-GDP for that L2 sensitivity."""
    return _gaussian_on_lattice(
        _Kind.of_numbers(numbers), exact.at_least("sensitivity", sensitivity), mu, _unit(granularity)
    )


class _Kind(NamedTuple):
    """All that the noise may depend on: whether values are whole or floats, and how many there are."""

    whole: bool
    is_float: bool
    size: int

    @classmethod
    def of_numbers(cls, numbers: ShapedNumbers) -> _Kind:
        return cls(numbers.is_whole, numbers.is_float, numbers.flat.size)


@cached(1024)
def _laplace_on_lattice(
    kind: _Kind, sensitivity: Fraction, epsilon: Fraction, granularity: Fraction | None
) -> LatticeNoise:
    lattice = _lattice(granularity, kind.whole, sensitivity, sensitivity / epsilon, Fraction(max(kind.size, 1)))
    steps = lattice.l1_steps(sensitivity, whole=kind.whole, size=kind.size)
    scale = steps / epsilon
    _require_usual(scale, steps, _FAINTEST_LAPLACE)
    return LatticeNoise(lattice, Laplace(scale), kind.whole, kind.is_float)


@cached(1024)
def _gaussian_on_lattice(
    kind: _Kind, sensitivity: Fraction, mu: Fraction, granularity: Fraction | None
) -> LatticeNoise:
    root = exact.sqrt_up(Fraction(kind.size)) if kind.size > 1 else Fraction(1)
    lattice = _lattice(granularity, kind.whole, sensitivity, sensitivity / mu, root)
    steps = lattice.l2_steps(sensitivity, whole=kind.whole, size=kind.size)
    sigma = steps / mu
    _require_usual(sigma, steps, _FAINTEST_NORMAL)
    return LatticeNoise(lattice, Gaussian(sigma), kind.whole, kind.is_float)


def _lattice(
    granularity: Fraction | None, whole: bool, sensitivity: Fraction, scale: Fraction, coordinates: Fraction
) -> Lattice:
    if granularity is not None:
        return Lattice(granularity)
    return Lattice.for_noise(whole=whole, sensitivity=sensitivity, scale=scale, coordinates=coordinates)


def _unit(granularity: Number | None) -> Fraction | None:
    return None if granularity is None else exact.positive("granularity", granularity)


def _require_usual(scale: Fraction, steps: Fraction, faintest: Fraction) -> None:
    """Refuse noise that rounds to zero because the sensitivity is below one step, or that is too large.

    A promise that is so weak that its noise rounds to zero is kept as it was asked for; see `exact.spendable`.
    """
    noise_text = f"{exact.decimal(scale)} steps of the lattice"
    if scale < faintest and steps < 1:
        raise InvalidParameter(
            "noise",
            noise_text,
            "leaves no noise: it rounds to zero",
            hint="whole numbers change by 1 or more; ask for a finer granularity, or state the sensitivity in full",
        )
    if scale > exact.GREATEST:
        raise InvalidParameter(
            "noise", noise_text, "is beyond the supported range", hint="ask for more epsilon, or a coarser granularity"
        )
