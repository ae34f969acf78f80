"""Single releases: which mechanism ran, and with how much noise for the sensitivity at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from giveortake.exact import open_probability, whole
from giveortake.privacy import concentrated
from giveortake.privacy.approximate import ApproxDP
from giveortake.privacy.events.event import Event, exact, registered
from giveortake.privacy.gaussian import GaussianDP
from giveortake.privacy.guarantee import raised, store
from giveortake.privacy.pure import PureDP
from giveortake.privacy.units import ROW, Neighbours, Unit

if TYPE_CHECKING:
    from fractions import Fraction

    from giveortake.exact import Number


@registered
@final
@dataclass(frozen=True, slots=True, init=False)
class Pure(Event):
    """Some ε-DP mechanism of which nothing more is known."""

    kind: ClassVar[str] = "pure"
    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        store(self, epsilon=exact("epsilon", epsilon))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> PureDP:
        return PureDP(self.epsilon, unit=unit, neighbours=neighbours)


@registered
@final
@dataclass(frozen=True, slots=True, init=False)
class Approx(Event):
    """Some (ε, δ)-DP mechanism of which nothing more is known."""

    kind: ClassVar[str] = "approx"
    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        promise = ApproxDP(epsilon, delta)
        store(self, epsilon=exact("epsilon", promise.epsilon, zero=True), delta=exact("delta", promise.delta))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> ApproxDP:
        return ApproxDP(self.epsilon, self.delta, unit=unit, neighbours=neighbours)


@registered
@final
@dataclass(frozen=True, slots=True, init=False)
class ZCDP(Event):
    """Some ρ-zCDP mechanism of which nothing more is known."""

    kind: ClassVar[str] = "zcdp"
    rho: Fraction

    def __init__(self, rho: Number) -> None:
        store(self, rho=exact("rho", rho))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> concentrated.ZCDP:
        return concentrated.ZCDP(self.rho, unit=unit, neighbours=neighbours)


@registered
@final
@dataclass(frozen=True, slots=True, init=False)
class Laplace(Event):
    """Continuous Laplace noise, possibly rounded afterwards; `noise_multiplier` is its scale per L1 sensitivity.

    Guarantee [DMNS06]: 1/noise_multiplier-DP.
    """

    kind: ClassVar[str] = "laplace"
    noise_multiplier: Fraction

    def __init__(self, noise_multiplier: Number) -> None:
        store(self, noise_multiplier=exact("noise_multiplier", noise_multiplier))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> PureDP:
        return PureDP(1 / self.noise_multiplier, unit=unit, neighbours=neighbours)


@registered
@final
@dataclass(frozen=True, slots=True, init=False)
class Gaussian(Event):
    """Continuous normal noise, possibly rounded afterwards; `noise_multiplier` is σ per L2 sensitivity.

    Guarantee [DRS22]: 1/noise_multiplier-GDP.
    """

    kind: ClassVar[str] = "gaussian"
    noise_multiplier: Fraction

    def __init__(self, noise_multiplier: Number) -> None:
        store(self, noise_multiplier=exact("noise_multiplier", noise_multiplier))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> GaussianDP:
        return GaussianDP(1 / self.noise_multiplier, unit=unit, neighbours=neighbours)


@registered
@final
@dataclass(frozen=True, slots=True, init=False)
class Geometric(Event):
    """Discrete Laplace noise on whole numbers, P[k] ∝ e^(−|k|/scale); sensitivity in the same whole steps.

    Guarantee [GRS12]: (sensitivity/scale)-DP. At one step it is randomized response, so it is never priced by the
    curve of the continuous law.
    """

    kind: ClassVar[str] = "geometric"
    scale: Fraction
    sensitivity: int

    def __init__(self, scale: Number, sensitivity: int) -> None:
        store(self, scale=exact("scale", scale), sensitivity=whole("sensitivity", sensitivity))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> PureDP:
        return PureDP(raised("ε", self.sensitivity / self.scale), unit=unit, neighbours=neighbours)


@registered
@final
@dataclass(frozen=True, slots=True, init=False)
class DiscreteGaussian(Event):
    """Discrete normal noise on whole numbers, P[k] ∝ e^(−k²/2σ²); L2 sensitivity in the same whole steps.

    Guarantee [CKS20, Thm 4]: ρ = (sensitivity/σ)²/2. It is not Gaussian DP: its δ(ε) exceeds the continuous curve.
    """

    kind: ClassVar[str] = "discrete-gaussian"
    sigma: Fraction
    sensitivity: Fraction

    def __init__(self, sigma: Number, sensitivity: Number) -> None:
        store(self, sigma=exact("sigma", sigma), sensitivity=exact("sensitivity", sensitivity))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> concentrated.ZCDP:
        rho = (self.sensitivity / self.sigma) ** 2 / 2
        return concentrated.ZCDP(raised("ρ", rho), unit=unit, neighbours=neighbours)


@registered
@final
@dataclass(frozen=True, slots=True, init=False)
class Exponential(Event):
    """The exponential mechanism, P[r] ∝ e^(ε·u(r)/2Δ), or another mechanism of ε-bounded range.

    Guarantee [MT07]: ε-DP. Its range is bounded by ε [DR19], hence also ε²/8-zCDP [CR21].
    """

    kind: ClassVar[str] = "exponential"
    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        store(self, epsilon=exact("epsilon", epsilon))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> PureDP:
        return PureDP(self.epsilon, unit=unit, neighbours=neighbours)

    def concentrated(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> concentrated.ZCDP:
        """Theorem [CR21]: ε-bounded range implies ρ = ε²/8, a quarter of what ε-DP implies."""
        return concentrated.ZCDP(raised("ρ", self.epsilon**2 / 8), unit=unit, neighbours=neighbours)


@registered
@final
@dataclass(frozen=True, slots=True, init=False)
class RandomizedResponse(Event):
    """One of `categories` answers, the true one e^ε times as likely as each other.

    That there is an answer is public: in a survey, who takes part is not protected, only what they say.

    Guarantee [War65], [KOV16]: ε-DP for the person who answers.
    """

    kind: ClassVar[str] = "randomized-response"
    epsilon: Fraction
    categories: int

    def __init__(self, epsilon: Number, categories: int) -> None:
        store(self, epsilon=exact("epsilon", epsilon), categories=whole("categories", categories, least=2))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> PureDP:
        return PureDP(self.epsilon, unit=unit, neighbours=neighbours)


@registered
@final
@dataclass(frozen=True, slots=True, init=False)
class DiscoveredKeys(Event):
    """Keys found in the data and shown because enough units share them.

    Guarantee [KKMN09], [DVG22], [Lal20, §3]: (ε, δ)-DP.
    """

    kind: ClassVar[str] = "discovered-keys"
    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        promise = ApproxDP(epsilon, delta)
        store(self, epsilon=exact("epsilon", promise.epsilon, zero=True), delta=exact("delta", promise.delta))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> ApproxDP:
        return ApproxDP(self.epsilon, self.delta, unit=unit, neighbours=neighbours)


@registered
@final
@dataclass(frozen=True, slots=True, init=False)
class GaussianKeys(Event):
    """Keys found in the data and shown because their weight, with normal noise, reaches a threshold.

    `noise_multiplier` is σ per L2 sensitivity of all weights together; `delta` bounds the chance that a key is shown
    which no other unit has.

    Guarantee [GGKSW20]: except with probability δ a release is that of 1/noise_multiplier-GDP (`WeightedKeys` has the
    proof). Filters charge μ² and δ apart. It has no ε of its own: the promise here is one point of its curve, at twice
    δ.
    """

    kind: ClassVar[str] = "gaussian-keys"
    noise_multiplier: Fraction
    delta: Fraction

    def __init__(self, noise_multiplier: Number, delta: Number) -> None:
        chance = open_probability("delta", delta)
        store(self, noise_multiplier=exact("noise_multiplier", noise_multiplier), delta=exact("delta", chance))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> ApproxDP:
        terms: Any = {"unit": unit, "neighbours": neighbours}
        values = GaussianDP(1 / self.noise_multiplier, **terms).approximate(min(self.delta, (1 - self.delta) / 2))
        return ApproxDP(values.epsilon, values.delta + self.delta, **terms)


@registered
@final
@dataclass(frozen=True, slots=True, init=False)
class AboveThreshold(Event):
    """The sparse vector technique: the first of many queries that exceeds a threshold.

    Guarantee [DNRRV09], [DR14, Thm 3.23]: ε-DP, however many queries stay below.
    """

    kind: ClassVar[str] = "above-threshold"
    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        store(self, epsilon=exact("epsilon", epsilon))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> PureDP:
        return PureDP(self.epsilon, unit=unit, neighbours=neighbours)
