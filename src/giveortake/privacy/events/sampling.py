"""Releases from a random sample of the units: privacy amplified by sampling."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import comb
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, final, get_args

from giveortake.caching import cached
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.exact import LEAST, Number, enclosure, positive, precision, upper
from giveortake.privacy.approximate import ApproxDP
from giveortake.privacy.events.combinations import checked_parts
from giveortake.privacy.events.event import Event, exact, registered
from giveortake.privacy.gaussian import GaussianDP
from giveortake.privacy.guarantee import Guarantee, raised, store
from giveortake.privacy.pure import PureDP
from giveortake.privacy.renyi import RenyiDP
from giveortake.privacy.units import ROW, Neighbours, Unit

if TYPE_CHECKING:
    from fractions import Fraction

Scheme: TypeAlias = Literal["poisson", "fixed-size"]

ORDERS = (*range(2, 33), 40, 48, 64, 96, 128)  # at which sampled Gaussian noise is stated
_RELATION: dict[Scheme, Neighbours] = {"poisson": "add-remove", "fixed-size": "change-one"}


@registered
@final
@dataclass(frozen=True, slots=True, init=False)
class Subsampled(Event):
    """`event` on a fresh secret random sample: each unit on its own with probability `rate`, or a fixed share of them.

    Guarantee [BBG18, Thms 8 and 9]: from (ε, δ) follows (ln(1 + q(e^ε − 1)), qδ), for Poisson sampling under add-remove
    and for samples of fixed size (`rate` = sample/all, without replacement) under change-one neighbours. Sampled
    Gaussian noise is stated as Rényi DP at whole orders [MTZ19]. Anything else has no theorem here and is refused.
    """

    kind: ClassVar[str] = "subsampled"
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
                kept = amplified(epsilon, self.rate) if epsilon else epsilon
                return ApproxDP(kept, max(LEAST, self.rate * delta), **promise.terms)
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
    >>> from giveortake.exact import shown_up
    >>> shown_up(amplified(Fraction(1), Fraction(1, 100)))
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
