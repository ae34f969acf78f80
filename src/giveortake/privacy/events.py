"""Events: records of what ran. They are charged and stored; accountants price them.

>>> Repeated(Laplace(noise_multiplier=10), times=5).guarantee()
PureDP('0.5')
>>> codec.read(Event, codec.write(Laplace(10))) == Laplace(10)
True

A single release says which mechanism ran, and with how much noise for the sensitivity at hand. Other events are made of
events: one after the other, many times, side by side, or from a random sample of the units. All can be stored forever,
as JSON.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import comb
from typing import Any, Literal, TypeAlias, final, get_args

from giveortake import codec
from giveortake.caching import cached
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.exact import (
    LEAST,
    Number,
    enclosure,
    non_negative,
    open_probability,
    positive,
    precision,
    upper,
    whole,
)
from giveortake.privacy import definitions
from giveortake.privacy.definitions import ApproxDP, GaussianDP, PureDP, RenyiDP
from giveortake.privacy.guarantee import ROW, Guarantee, Neighbours, Unit, combined, parallel, raised, sequential, store

DEEPEST = 32  # events nest no deeper than this
_MOST_BITS = 1 << 13  # of a numerator or denominator, so that it can be written down


@dataclass(frozen=True, slots=True, eq=False)
class Event(ABC):
    """A record of a release. Events are charged and kept; accountants price them, and may price them better later.

    What is written of an event (`codec.write`) is a contract: fields are exact, a new meaning gets a new tag, and old
    tags stay readable. An event of a kind that is not one of the library's equals itself only.
    """

    @property
    def kind(self) -> str:
        """The tag by which it is stored."""
        return codec.tag_of(type(self))

    @abstractmethod
    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> Guarantee:
        """The promise that this release keeps towards `unit`; sensitivities refer to the same neighbours."""

    @property
    def depth(self) -> int:
        """How many levels of events there are."""
        return 1


def exact(name: str, value: Number, *, zero: bool = False) -> Fraction:
    """Check that a number is positive (or zero, with `zero`) and short enough to be written down."""
    number = non_negative(name, value) if zero else positive(name, value)
    if max(number.numerator, number.denominator).bit_length() > _MOST_BITS:
        raise InvalidParameter(name, value, "has too many digits to be kept")
    return number


@dataclass(frozen=True, slots=True, init=False)
class _PureEvent(Event):
    """A release that is ε-DP."""

    epsilon: Fraction

    def __init__(self, epsilon: Number) -> None:
        store(self, epsilon=exact("epsilon", epsilon))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> PureDP:
        return PureDP(self.epsilon, unit=unit, neighbours=neighbours)


@codec.stored("pure")
@final
@dataclass(frozen=True, slots=True, init=False)
class Pure(_PureEvent):
    """Some ε-DP mechanism of which nothing more is known."""


@dataclass(frozen=True, slots=True, init=False)
class _ApproxEvent(Event):
    """A release that is (ε, δ)-DP."""

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        promise = ApproxDP(epsilon, delta)
        store(self, epsilon=exact("epsilon", promise.epsilon, zero=True), delta=exact("delta", promise.delta))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> ApproxDP:
        return ApproxDP(self.epsilon, self.delta, unit=unit, neighbours=neighbours)


@codec.stored("approx")
@final
@dataclass(frozen=True, slots=True, init=False)
class Approx(_ApproxEvent):
    """Some (ε, δ)-DP mechanism of which nothing more is known."""


@codec.stored("zcdp")
@final
@dataclass(frozen=True, slots=True, init=False)
class ZCDP(Event):
    """Some ρ-zCDP mechanism of which nothing more is known."""

    rho: Fraction

    def __init__(self, rho: Number) -> None:
        store(self, rho=exact("rho", rho))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> definitions.ZCDP:
        return definitions.ZCDP(self.rho, unit=unit, neighbours=neighbours)


@dataclass(frozen=True, slots=True, init=False)
class _NoiseEvent(Event):
    """Continuous noise, by its scale in units of the sensitivity."""

    noise_multiplier: Fraction

    def __init__(self, noise_multiplier: Number) -> None:
        store(self, noise_multiplier=exact("noise_multiplier", noise_multiplier))


@codec.stored("laplace")
@final
@dataclass(frozen=True, slots=True, init=False)
class Laplace(_NoiseEvent):
    """Continuous Laplace noise, possibly rounded afterwards; `noise_multiplier` is its scale per L1 sensitivity.

    Guarantee [DMNS06]: 1/noise_multiplier-DP.
    """

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> PureDP:
        return PureDP(1 / self.noise_multiplier, unit=unit, neighbours=neighbours)


@codec.stored("gaussian")
@final
@dataclass(frozen=True, slots=True, init=False)
class Gaussian(_NoiseEvent):
    """Continuous normal noise, possibly rounded afterwards; `noise_multiplier` is σ per L2 sensitivity.

    Guarantee [DRS22]: 1/noise_multiplier-GDP.
    """

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> GaussianDP:
        return GaussianDP(1 / self.noise_multiplier, unit=unit, neighbours=neighbours)


@codec.stored("geometric")
@final
@dataclass(frozen=True, slots=True, init=False)
class Geometric(Event):
    """Discrete Laplace noise on whole numbers, P[k] ∝ e^(−|k|/scale); sensitivity in the same whole steps.

    Guarantee [GRS12]: (sensitivity/scale)-DP. At one step it is randomized response, so it is never priced by the
    curve of the continuous law.
    """

    scale: Fraction
    sensitivity: int

    def __init__(self, scale: Number, sensitivity: int) -> None:
        store(self, scale=exact("scale", scale), sensitivity=whole("sensitivity", sensitivity))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> PureDP:
        return PureDP(raised("ε", self.sensitivity / self.scale), unit=unit, neighbours=neighbours)


@codec.stored("discrete-gaussian")
@final
@dataclass(frozen=True, slots=True, init=False)
class DiscreteGaussian(Event):
    """Discrete normal noise on whole numbers, P[k] ∝ e^(−k²/2σ²); L2 sensitivity in the same whole steps.

    Guarantee [CKS20, Thm 4]: ρ = (sensitivity/σ)²/2. It is not Gaussian DP: its δ(ε) exceeds the continuous curve.
    """

    sigma: Fraction
    sensitivity: Fraction

    def __init__(self, sigma: Number, sensitivity: Number) -> None:
        store(self, sigma=exact("sigma", sigma), sensitivity=exact("sensitivity", sensitivity))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> definitions.ZCDP:
        rho = (self.sensitivity / self.sigma) ** 2 / 2
        return definitions.ZCDP(raised("ρ", rho), unit=unit, neighbours=neighbours)


@codec.stored("exponential")
@final
@dataclass(frozen=True, slots=True, init=False)
class Exponential(_PureEvent):
    """The exponential mechanism, P[r] ∝ e^(ε·u(r)/2Δ), or another mechanism of ε-bounded range.

    Guarantee [MT07]: ε-DP. Its range is bounded by ε [DR19], hence also ε²/8-zCDP [CR21].
    """

    def concentrated(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> definitions.ZCDP:
        """Theorem [CR21]: ε-bounded range implies ρ = ε²/8, a quarter of what ε-DP implies."""
        return definitions.ZCDP(raised("ρ", self.epsilon**2 / 8), unit=unit, neighbours=neighbours)


@codec.stored("randomized-response")
@final
@dataclass(frozen=True, slots=True, init=False)
class RandomizedResponse(Event):
    """One of `categories` answers, the true one e^ε times as likely as each other.

    That there is an answer is public: in a survey, who takes part is not protected, only what they say.

    Guarantee [War65], [KOV16]: ε-DP for the person who answers.
    """

    epsilon: Fraction
    categories: int

    def __init__(self, epsilon: Number, categories: int) -> None:
        store(self, epsilon=exact("epsilon", epsilon), categories=whole("categories", categories, least=2))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> PureDP:
        return PureDP(self.epsilon, unit=unit, neighbours=neighbours)


@codec.stored("discovered-keys")
@final
@dataclass(frozen=True, slots=True, init=False)
class DiscoveredKeys(_ApproxEvent):
    """Keys found in the data and shown because enough units share them.

    Guarantee [KKMN09], [DVG22], [Lal20, §3]: (ε, δ)-DP.
    """


@codec.stored("gaussian-keys")
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

    noise_multiplier: Fraction
    delta: Fraction

    def __init__(self, noise_multiplier: Number, delta: Number) -> None:
        chance = open_probability("delta", delta)
        store(self, noise_multiplier=exact("noise_multiplier", noise_multiplier), delta=exact("delta", chance))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> ApproxDP:
        terms: Any = {"unit": unit, "neighbours": neighbours}
        values = GaussianDP(1 / self.noise_multiplier, **terms).approximate(min(self.delta, (1 - self.delta) / 2))
        return ApproxDP(values.epsilon, values.delta + self.delta, **terms)


@codec.stored("above-threshold")
@final
@dataclass(frozen=True, slots=True, init=False)
class AboveThreshold(_PureEvent):
    """The sparse vector technique: the first of many queries that exceeds a threshold.

    Guarantee [DNRRV09], [DR14, Thm 3.23]: ε-DP, however many queries stay below.
    """


@codec.stored("composed")
@final
@dataclass(frozen=True, slots=True, init=False)
class Composed(Event):
    """Several releases from the same data, each chosen after seeing those before it.

    Guarantee [PDP21, L1.2], [Lal20, Prop. 8]: the promises add, as in `sequential`.
    """

    events: tuple[Event, ...]

    def __init__(self, events: Iterable[Event]) -> None:
        store(self, events=checked_parts(events))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> Guarantee:
        return sequential(part.guarantee(unit=unit, neighbours=neighbours) for part in self.events)

    @property
    def depth(self) -> int:
        return 1 + max(part.depth for part in self.events)


@codec.stored("repeated")
@final
@dataclass(frozen=True, slots=True, init=False)
class Repeated(Event):
    """The same kind of release `times` times, queries chosen adaptively.

    Guarantee [PDP21, L1.2]: the promise adds, as in `Guarantee.repeat`.
    """

    event: Event = field(metadata={"key": "of"})
    times: int

    def __init__(self, event: Event, times: int) -> None:
        store(self, event=checked_parts([event])[0], times=whole("times", times))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> Guarantee:
        return self.event.guarantee(unit=unit, neighbours=neighbours).repeat(self.times)

    @property
    def depth(self) -> int:
        return 1 + self.event.depth


@codec.stored("parallel")
@final
@dataclass(frozen=True, slots=True, init=False)
class Parallel(Event):
    """Releases from disjoint parts of the data, of which one unit touches at most `touched`.

    Guarantee [Har25], [Fre18, Thm 14]: the largest promises, as in `parallel`.
    """

    events: tuple[Event, ...]
    touched: int

    def __init__(self, events: Iterable[Event], touched: int = 1) -> None:
        store(self, events=checked_parts(events), touched=whole("touched", touched))

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> Guarantee:
        parts = (part.guarantee(unit=unit, neighbours=neighbours) for part in self.events)
        return parallel(parts, touched=self.touched)

    @property
    def depth(self) -> int:
        return 1 + max(part.depth for part in self.events)


@codec.stored("in-part")
@final
@dataclass(frozen=True, slots=True, init=False)
class InPart(Event):
    """A release from one part of a partition of the data; one unit touches at most `touched` of its parts.

    `event` is the release under the neighbours at hand, `added` the release when a unit is added or removed;
    under add-remove they are the same. `partition` and `part` are numbers that name them.

    Guarantee: alone it promises the weaker of what its `cases` promise, and several of them compose like any other
    releases. Filters charge all parts of a partition together, by the exact rule of parallel composition: see
    `giveortake.accounting.pricing`.
    """

    event: Event = field(metadata={"key": "of"})
    added: Event
    partition: int
    part: int
    touched: int

    def __init__(self, event: Event, added: Event, partition: int, part: int, touched: int = 1) -> None:
        inner = checked_parts([event, added])
        if any(isinstance(inner_event, InPart) for inner_event in inner):
            raise InvalidParameter("event", event, "is in a part already", hint="parts of parts are parts")
        store(
            self,
            event=inner[0],
            added=inner[1],
            partition=whole("partition", partition, least=0),
            part=whole("part", part, least=0),
            touched=whole("touched", touched),
        )

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> Guarantee:
        promises = [case.guarantee(unit=unit, neighbours=relation) for case, relation in self.cases(neighbours)]
        return combined([replace(promise, neighbours=neighbours) for promise in promises], 1)

    def cases(self, neighbours: Neighbours) -> tuple[tuple[Event, Neighbours], ...]:
        """The events that this release can be between two neighbours, each with the relation it is priced under.

        Theorem. Under change-one the unit that differs stays in this part, and the release is `event`; or it enters or
        leaves the part, and the release is `added`; or it touches the part in neither table, and both laws are equal.
        So in every currency the dearer of the two bounds one release, wherever nobody remembers what was released
        from the other parts, and such bounds add up as those of other releases do. ∎
        """
        if neighbours == "add-remove":
            return ((self.event, "add-remove"),)
        return (self.event, "change-one"), (self.added, "add-remove")

    @property
    def depth(self) -> int:
        return 1 + max(self.event.depth, self.added.depth)


def checked_parts(events: Iterable[Event]) -> tuple[Event, ...]:
    """The events inside another one; anything that is no event or nests too deep is refused."""
    if not isinstance(events, Iterable):
        raise InvalidParameter("events", events, "is not a list of events")
    parts = tuple(events)
    if not parts:
        raise InvalidParameter("events", parts, "is empty", hint="an event says what ran; nothing did")
    for part in parts:
        if not isinstance(part, Event):
            raise InvalidParameter("events", part, "is not an event")
    if max(part.depth for part in parts) >= DEEPEST:
        raise InvalidParameter("events", "…", f"nests deeper than {DEEPEST} levels", hint="compose in one flat list")
    return parts


Scheme: TypeAlias = Literal["poisson", "fixed-size"]

ORDERS = (*range(2, 33), 40, 48, 64, 96, 128)  # at which sampled Gaussian noise is stated
_RELATION: dict[Scheme, Neighbours] = {"poisson": "add-remove", "fixed-size": "change-one"}


@codec.stored("subsampled")
@final
@dataclass(frozen=True, slots=True, init=False)
class Subsampled(Event):
    """`event` on a fresh secret random sample: each unit on its own with probability `rate`, or a fixed share of them.

    Guarantee [BBG18, Thms 8 and 9]: from (ε, δ) follows (ln(1 + q(e^ε − 1)), qδ), for Poisson sampling under add-remove
    and for samples of fixed size (`rate` = sample/all, without replacement) under change-one neighbours. Sampled
    Gaussian noise is stated as Rényi DP at whole orders [MTZ19]. Anything else has no theorem here and is refused.
    """

    event: Event = field(metadata={"key": "of"})
    rate: Fraction
    scheme: Scheme

    def __init__(self, event: Event, rate: Number, scheme: Scheme = "poisson") -> None:
        share = exact("rate", rate)
        if share > 1:
            raise InvalidParameter("rate", rate, "is above 1")
        if scheme not in get_args(Scheme):
            raise InvalidParameter("scheme", scheme, "is unknown", hint='write "poisson" or "fixed-size"')
        store(self, event=checked_parts([event])[0], rate=share, scheme=scheme)

    def guarantee(self, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> Guarantee:
        if neighbours != _RELATION[self.scheme]:
            raise Unprovable(
                f"sampling of the kind {self.scheme} amplifies privacy under {_RELATION[self.scheme]} neighbours only",
                hint=f'ask for neighbours="{_RELATION[self.scheme]}"',
            )
        promise = self.event.guarantee(unit=unit, neighbours=neighbours)
        if self.rate == 1:
            return promise
        match promise:
            case PureDP(epsilon=epsilon):
                return PureDP(amplified(epsilon, self.rate), **promise.terms)
            case ApproxDP(epsilon=epsilon, delta=delta):
                amplified_epsilon = amplified(epsilon, self.rate) if epsilon else epsilon
                return ApproxDP(amplified_epsilon, max(LEAST, self.rate * delta), **promise.terms)
            case GaussianDP(mu=mu) if self.scheme == "poisson":
                curve = [(order, sampled_gaussian_divergence(mu, self.rate, order)) for order in ORDERS]
                return RenyiDP([(order, raised("ε", epsilon)) for order, epsilon in curve], **promise.terms)
            case _:
                raise Unprovable(
                    f"no theorem here amplifies {type(promise).__name__} by sampling of the kind {self.scheme}",
                    hint="state the inner release as Pure(epsilon) or Approx(epsilon, delta)",
                )

    @property
    def depth(self) -> int:
        return 1 + self.event.depth


def amplified(epsilon: Fraction, rate: Fraction) -> Fraction:
    """ln(1 + q(e^ε − 1)), rounded up; at most ε.

    >>> from fractions import Fraction
    >>> from giveortake.exact import decimal_up
    >>> decimal_up(amplified(Fraction(1), Fraction(1, 100)))
    '0.0170369'
    """
    with precision():
        grown = enclosure(rate) * enclosure(epsilon).expm1() if epsilon < 1000 else None
        if grown is not None:
            return min(epsilon, positive("epsilon", max(LEAST, upper(grown.log1p()))))
        return min(epsilon, epsilon + upper((enclosure(rate) + enclosure(-epsilon).exp()).log()))


@cached(1024)
def sampled_gaussian_divergence(mu: Fraction, rate: Fraction, order: int) -> Fraction:
    """The Rényi divergence of whole order α of Poisson-sampled Gaussian noise, rounded up.

    Theorem [MTZ19, Thms 4 and 5, Sect. 3.3]: ln(Σ C(α, k)(1 − q)^(α−k) q^k e^(k(k−1)μ²/2)) / (α − 1), either way round.
    """
    with precision():
        chosen, left, square = enclosure(rate), enclosure(1 - rate), enclosure(mu**2 / 2)
        growth = sum(
            (
                comb(order, k) * left ** (order - k) * chosen**k * (k * (k - 1) * square).expm1()
                for k in range(2, order + 1)
            ),
            enclosure(0),
        )
        return upper(growth.log1p() / (order - 1))
