"""Pure differential privacy: one factor e^ε for every outcome."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from heapq import nlargest
from typing import TYPE_CHECKING, final

from giveortake import codec
from giveortake.errors import InvalidParameter
from giveortake.exact import (
    Number,
    enclosure,
    exact_or_about,
    exact_or_up,
    non_negative,
    open_probability,
    positive,
    precision,
    sqrt_up,
    upper,
    whole,
)
from giveortake.privacy.approximate import (
    ApproxDP,
    ComputationalDP,
    ProbabilisticDP,
    crude_delta,
    delta_of_pair,
    epsilon_of_pair,
)
from giveortake.privacy.concentrated import ZCDP
from giveortake.privacy.gaussian import GaussianDP
from giveortake.privacy.guarantee import ROW, Guarantee, Neighbours, Unit, factor, raised, store
from giveortake.privacy.renyi import RenyiDP

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@codec.complete
@codec.stored("pure")
@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class PureDP(Guarantee):
    """ε-differential privacy.

    Guarantee [DMNS06], [Lal20, Def. 1]: P[S] ≤ e^ε·Q[S] for all neighbours and all sets S of outputs.

    >>> PureDP("0.1").compose(PureDP("0.2"))
    PureDP('0.3')
    >>> print(PureDP("0.1"))
    ε = 0.1 (pure): adding or removing one row changes the probability of any outcome by a factor of at most 1.1052.
    """

    epsilon: Fraction

    def __init__(self, epsilon: Number, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> None:
        store(self, (unit, neighbours), epsilon=positive("epsilon", epsilon))

    def repeat(self, times: int) -> PureDP:
        """Theorem [PDP21, L1.2]: k mechanisms together are kε."""
        return PureDP(raised("ε", whole("times", times) * self.epsilon), **self.terms)

    def group(self, size: int) -> PureDP:
        """Theorem [PDP21, L1.7], [Lal20, Prop. 1]: k units cost kε."""
        return PureDP(raised("ε", whole("size", size) * self.epsilon), **self.terms)

    def compose_largest(self, parts: Sequence[Guarantee], count: int) -> PureDP:
        """Theorem [PDP21, L1.1, L1.2]: ε adds."""
        largest = nlargest(count, (part.epsilon for part in parts if isinstance(part, PureDP)))
        return PureDP(raised("ε", sum(largest, Fraction(0))), **self.terms)

    def in_currency_of(self, other: Guarantee) -> Guarantee | None:
        match other:
            case PureDP() | ProbabilisticDP() | ApproxDP() | ComputationalDP():
                return self  # those add ε and δ, and here δ is 0
            case ZCDP():
                return self.concentrated()
            case GaussianDP():
                return self.gaussian()
            case RenyiDP():
                return self.renyi(other.orders)
            case _:
                return None

    # -- as another kind of promise ---------------------------------------------------------------------------

    def approximate(self, delta: Number) -> ApproxDP:
        """Theorem [KOV15]: (ε′, δ)-DP with the ε′ ≤ ε of `epsilon_at`."""
        return ApproxDP(self.epsilon_at(delta), delta, **self.terms)

    def trade(self, epsilon: Number) -> ApproxDP:
        """Theorem [Lal20, Prop. 9]: (ε′, e^ε − e^ε′) for 0 ≤ ε′ < ε, rounded up. `delta_at` is the tight form."""
        target = non_negative("epsilon", epsilon)
        if target == self.epsilon:
            raise InvalidParameter("epsilon", epsilon, "is the promise's own, and leaves no δ to trade")
        return ApproxDP(target, crude_delta(self.epsilon, Fraction(0), target), **self.terms)

    def concentrated(self) -> ZCDP:
        """Theorem [BS16, Prop. 1.4], [Har25]: ρ = ε²/2."""
        return ZCDP(raised("ρ", self.epsilon**2 / 2), **self.terms)

    def gaussian(self) -> GaussianDP:
        """Theorem: μ = 2Φ⁻¹(e^ε/(1 + e^ε)), rounded up, and no smaller μ serves.

        Proof: the trade-off of ε-DP is made of two lines from (0, 1) and (1, 0) to the point where both rates are
        1/(1 + e^ε). G_μ passes through these three points and is convex, so it lies below. ∎ As e^ε/(1 + e^ε) =
        (1 + tanh(ε/2))/2, this is 2√2·erf⁻¹(tanh(ε/2)). For large ε, Φ(−x) ≤ e^(−x²/2)/2 gives μ ≤ √(8ε).
        """
        simple = sqrt_up(8 * self.epsilon)
        with precision():
            half = enclosure(self.epsilon / 2)
            mu = (
                (half.tanh().erfinv() if half < 1 else (2 / (1 + (2 * half).exp())).erfcinv()) * 2 * enclosure(2).sqrt()
            )
            exact = min(simple, upper(mu)) if mu.is_finite() else simple
        return GaussianDP(raised("μ", exact), **self.terms)

    def renyi(self, orders: Iterable[Number]) -> RenyiDP:
        """Theorem [Mir17, Prop. 5], [KOV15]: order α is bounded by that of randomized response, rounded up.

        That is ln((e^(αε) + e^((1−α)ε)) / (1 + e^ε)) / (α − 1), at most ε and at most αε²/2 [BS16].
        """
        exact = [positive("order", order) for order in orders]
        return RenyiDP(((order, raised("ε", self._divergence(order))) for order in exact), **self.terms)

    def _divergence(self, order: Fraction) -> Fraction:
        simple = min(self.epsilon, order * self.epsilon**2 / 2)
        if order <= 1:
            return simple  # refused by RenyiDP
        with precision():
            gain = enclosure(-(2 * order - 1) * self.epsilon).exp().log1p() - enclosure(-self.epsilon).exp().log1p()
            return min(simple, upper(enclosure(self.epsilon) + gain / enclosure(order - 1)))

    # -- as (ε, δ), and what it means -------------------------------------------------------------------------

    def delta_at(self, epsilon: Number) -> Fraction:
        """Theorem [KOV15]: (e^ε − e^ε′)/(1 + e^ε) at ε′ < ε, rounded up, and 0 from ε on."""
        return delta_of_pair(self.epsilon, Fraction(0), non_negative("epsilon", epsilon))

    def epsilon_at(self, delta: Number) -> Fraction:
        """The inverse of `delta_at`, rounded up."""
        return epsilon_of_pair(self.epsilon, Fraction(0), open_probability("delta", delta))

    def statements(self) -> tuple[tuple[Fraction, Fraction]]:
        return ((self.epsilon, Fraction(0)),)

    def loss_bound(self, failure: Fraction | None) -> Fraction:
        """Theorem [Lal20, eq. 3]: the loss never exceeds ε."""
        return self.epsilon

    def belief_distance(self) -> Fraction:
        """How far apart, as a logarithm, beliefs formed with and without one unit's data can be: 2ε.

        Theorem [PDP21, Thm 2.1]: for every prior over whole tables, every output and every event, the posterior
        probability is within a factor e^2ε of the one formed had the unit's data been left out. Proof: numerator
        and denominator of Bayes' rule each change by a factor of at most e^ε.
        """
        return 2 * self.epsilon

    def arguments(self) -> str:
        return f"'{exact_or_about(self.epsilon)}'"

    def __str__(self) -> str:
        return (
            f"ε = {exact_or_up(self.epsilon)} (pure): {self.step} changes the probability of any outcome "
            f"by a factor of at most {factor(self.epsilon)}."
        )
