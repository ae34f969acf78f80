"""Zero-concentrated differential privacy: one number ρ that bounds every moment of the privacy loss."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from heapq import nlargest
from typing import TYPE_CHECKING, final

from giveortake import codec
from giveortake.exact import (
    Number,
    exact_or_about,
    exact_or_up,
    log_up,
    non_negative,
    open_probability,
    positive,
    sqrt_up,
    whole,
)
from giveortake.privacy.approximate import ApproxDP, raised_until
from giveortake.privacy.guarantee import ROW, Guarantee, Neighbours, Unit, raised, store
from giveortake.privacy.renyi import (
    RenyiDP,
    delta_from_order,
    epsilon_from_order,
    in_plain_words,
    log_inverse,
    statements_on_a_grid,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_LEAST_EXCESS, _GREATEST_EXCESS = 1e-300, 1e300  # α − 1 is sought between these


@codec.complete
@codec.stored("zcdp")
@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class ZCDP(Guarantee):
    """ρ-zero-concentrated differential privacy.

    Guarantee [BS16]: D_α(P‖Q) ≤ αρ for all neighbours and all orders α > 1; the privacy loss is no more spread
    than a normal variable of mean ρ and variance 2ρ.

    >>> ZCDP("1/8").repeat(4)
    ZCDP('0.5')
    """

    rho: Fraction

    def __init__(self, rho: Number, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> None:
        store(self, (unit, neighbours), rho=positive("rho", rho))

    def repeat(self, times: int) -> ZCDP:
        """Theorem [BS16, Lemma 1.7]: ρ adds."""
        return ZCDP(raised("ρ", whole("times", times) * self.rho), **self.terms)

    def group(self, size: int) -> ZCDP:
        """Theorem [BS16, Prop. 1.9]: k units cost k²ρ."""
        return ZCDP(raised("ρ", whole("size", size) ** 2 * self.rho), **self.terms)

    def compose_largest(self, parts: Sequence[Guarantee], count: int) -> ZCDP:
        """Theorem [BS16, Lemma 1.7]: ρ adds."""
        largest = nlargest(count, (part.rho for part in parts if isinstance(part, ZCDP)))
        return ZCDP(raised("ρ", sum(largest, Fraction(0))), **self.terms)

    def in_currency_of(self, other: Guarantee) -> Guarantee | None:
        match other:
            case ZCDP():
                return self
            case RenyiDP():
                return self.renyi(other.orders)
            case _:
                return None

    def renyi(self, orders: Iterable[Number]) -> RenyiDP:
        """Theorem (definition of zCDP [BS16]): order α is bounded by αρ."""
        exact = [positive("order", order) for order in orders]
        return RenyiDP(((order, raised("ε", order * self.rho)) for order in exact), **self.terms)

    def delta_at(self, epsilon: Number) -> Fraction:
        """Theorem [CKS20, Prop. 12], [BBGHS20]: inf over α > 1 of e^((α−1)(αρ−ε))·(α−1)^(α−1)/α^α, rounded up.

        Every α gives a true statement; floats only choose which. With x = α − 1 the exponent is convex and its slope
        (1 + 2x)ρ − ε − ln(1 + 1/x) increases.
        """
        target = non_negative("epsilon", epsilon)
        rho, target_float = float(self.rho), float(target)
        excess = _where_it_turns_positive(lambda x: (1 + 2 * x) * rho - target_float - math.log1p(1 / x))
        return delta_from_order(1 + excess, (1 + excess) * self.rho, target)

    def epsilon_at(self, delta: Number) -> Fraction:
        """Theorem [CKS20, Prop. 12], [BBGHS20]: inf of αρ + ln((α−1)/α) − (ln δ + ln α)/(α−1), rounded up.

        With x = α − 1 the slope has the sign of ρx² + ln(1 + x) − ln(1/δ), which increases.
        """
        allowed = open_probability("delta", delta)
        rho, target = float(self.rho), log_inverse(allowed)
        excess = _where_it_turns_positive(lambda x: rho * x * x + math.log1p(x) - target)
        candidate = epsilon_from_order(1 + excess, (1 + excess) * self.rho, allowed)
        return raised_until(lambda tried: self.delta_at(tried) <= allowed, candidate, scale=max(candidate, self.rho))

    def epsilon_at_simple(self, delta: Number) -> Fraction:
        """Theorem [BS16, Prop. 1.3], [Har25]: ρ + 2√(ρ ln(1/δ)), rounded up; simple, and never below `epsilon_at`."""
        return self.rho + 2 * sqrt_up(self.rho * log_up(1 / open_probability("delta", delta)))

    def approximate(self, delta: Number) -> ApproxDP:
        """Theorem [CKS20, Prop. 12]: (ε, δ)-DP with the ε of `epsilon_at`."""
        return ApproxDP(self.epsilon_at(delta), delta, **self.terms)

    def statements(self) -> tuple[tuple[Fraction, Fraction], ...]:
        return statements_on_a_grid(self)

    def arguments(self) -> str:
        return f"'{exact_or_about(self.rho)}'"

    def __str__(self) -> str:
        return f"ρ = {exact_or_up(self.rho)} (zero-concentrated): {in_plain_words(self)}"


def _where_it_turns_positive(increasing: Callable[[float], float]) -> Fraction:
    """A point close to where an increasing function crosses zero, by bisection on its logarithm."""
    low, high = math.log(_LEAST_EXCESS), math.log(_GREATEST_EXCESS)
    while high - low > 1e-9:
        middle = (low + high) / 2
        if increasing(math.exp(middle)) > 0:
            high = middle
        else:
            low = middle
    return Fraction(math.exp(high)).limit_denominator(10**9) if -20 < high < 20 else Fraction(math.exp(high))
