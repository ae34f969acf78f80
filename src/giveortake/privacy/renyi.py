"""Rényi differential privacy, and how moments of the privacy loss become (ε, δ)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from heapq import nlargest
from typing import TYPE_CHECKING, Any, final

from giveortake import codec
from giveortake.caching import cached
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.exact import (
    LEAST,
    Number,
    enclosure,
    exact_or_about,
    exact_or_up,
    non_negative,
    open_probability,
    positive,
    precision,
    probability_up,
    upper,
    whole,
)
from giveortake.privacy.approximate import ApproxDP, raised_until
from giveortake.privacy.guarantee import ROW, Guarantee, Neighbours, Unit, factor, raised, store

if TYPE_CHECKING:
    from collections.abc import Sequence

_GRID = 48  # pairs (ε, δ) from which trade-off curves of moment bounds are drawn
_SHOWN_DELTA = Fraction(1, 10**6)
_NEAR = 1e-6  # orders whose score in floats is this close to the best are compared with certainty


@codec.complete
@codec.stored("renyi")
@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class RenyiDP(Guarantee):
    """A bound on the Rényi divergence of each of some orders α > 1.

    Guarantee [Mir17]: D_α(P‖Q) ≤ ε_α for all neighbours and every order α that is listed.

    >>> RenyiDP({2: "0.1", 4: "0.2"}).compose(RenyiDP({4: "0.2", 8: "0.4"}))
    RenyiDP({'4': '0.4'})
    """

    curve: tuple[tuple[Fraction, Fraction], ...]

    def __init__(
        self,
        curve: Mapping[Any, Number] | Iterable[tuple[Number, Number]],
        *,
        unit: Unit = ROW,
        neighbours: Neighbours = "add-remove",
    ) -> None:
        store(self, (unit, neighbours), curve=_checked_curve(curve))

    @property
    def orders(self) -> tuple[Fraction, ...]:
        """The orders at which something is promised, in increasing order."""
        return tuple(order for order, _ in self.curve)

    def repeat(self, times: int) -> RenyiDP:
        """Theorem [Mir17, Prop. 1]: at each order the divergences add."""
        count = whole("times", times)
        return RenyiDP(((order, raised("ε", count * epsilon)) for order, epsilon in self.curve), **self.terms)

    def group(self, size: int) -> RenyiDP:
        """Theorem [Mir17, Prop. 2]: for 2^c units, an order α ≥ 2^(c+1) becomes α/2^c with 3^c·ε.

        Other sizes are rounded up to a power of two. Orders that are too small are left out.
        """
        doublings = (whole("size", size) - 1).bit_length()
        if doublings == 0:
            return self
        points = [(order, epsilon) for order, epsilon in self.curve if order >= 2 ** (doublings + 1)]
        if not points:
            raise Unprovable(
                f"groups of this size need an order of at least 2^{doublings + 1}",
                hint="state the promise at larger orders, or as ZCDP",
            )
        return RenyiDP(
            ((order / 2**doublings, raised("ε", 3**doublings * epsilon)) for order, epsilon in points), **self.terms
        )

    def compose_largest(self, parts: Sequence[Guarantee], count: int) -> RenyiDP:
        """Theorem [Mir17, Prop. 1]: at each order that all parts state, the divergences add."""
        curves = [dict(part.curve) for part in parts if isinstance(part, RenyiDP)]
        common = sorted(set.intersection(*(set(curve) for curve in curves)))
        if not common:
            raise Unprovable("the promises have no order in common", hint="state them at the same orders")
        totals = ((order, sum(nlargest(count, (curve[order] for curve in curves)))) for order in common)
        return RenyiDP(((order, raised("ε", Fraction(total))) for order, total in totals), **self.terms)

    def in_currency_of(self, other: Guarantee) -> Guarantee | None:
        return self if isinstance(other, RenyiDP) else None

    def delta_at(self, epsilon: Number) -> Fraction:
        """Theorem [CKS20, Prop. 12], [BBGHS20]: the least, over the orders, of the δ that one order implies."""
        target = non_negative("epsilon", epsilon)
        scores = [_log_delta(order, epsilon, target) for order, epsilon in self.curve]
        return min(delta_from_order(*point, target) for point in self._near_best(scores))

    def epsilon_at(self, delta: Number) -> Fraction:
        """Theorem [CKS20, Prop. 12], [BBGHS20]: the least, over the orders, of the ε that one order implies."""
        allowed = open_probability("delta", delta)
        scores = [_epsilon(order, epsilon, allowed) for order, epsilon in self.curve]
        candidate = min(epsilon_from_order(*point, allowed) for point in self._near_best(scores))
        scale = max(candidate, min(epsilon for _, epsilon in self.curve))
        return raised_until(lambda tried: self.delta_at(tried) <= allowed, candidate, scale=scale)

    def approximate(self, delta: Number) -> ApproxDP:
        """Theorem [CKS20, Prop. 12]: (ε, δ)-DP with the ε of `epsilon_at`."""
        return ApproxDP(self.epsilon_at(delta), delta, **self.terms)

    def statements(self) -> tuple[tuple[Fraction, Fraction], ...]:
        return statements_on_a_grid(self)

    def arguments(self) -> str:
        points = [f"'{exact_or_about(order)}': '{exact_or_about(epsilon)}'" for order, epsilon in self.curve]
        return f"{{{', '.join(points if len(points) <= 4 else [*points[:2], '…', points[-1]])}}}"

    def __str__(self) -> str:
        low, high = self.curve[0], self.curve[-1]
        ends = " … ".join(
            dict.fromkeys(f"ε({exact_or_up(order)}) = {exact_or_up(epsilon)}" for order, epsilon in (low, high))
        )
        return f"{ends} (Rényi): {in_plain_words(self)}"

    def _near_best(self, scores: list[float]) -> list[tuple[Fraction, Fraction]]:
        best = min(scores)
        limit = best + _NEAR * (1 + abs(best)) if math.isfinite(best) else best
        return [point for point, score in zip(self.curve, scores, strict=True) if score <= limit]


def delta_from_order(order: Fraction, divergence: Fraction, epsilon: Fraction) -> Fraction:
    """e^((α−1)(D − ε))·(α−1)^(α−1)/α^α, at most 1, rounded up.

    Theorem [CKS20, Prop. 12], [BBGHS20]: a bound D on the Rényi divergence of order α implies (ε, δ)-DP with this δ.
    """
    excess = order - 1
    with precision():
        entropy = enclosure(excess) * enclosure(1 / excess).log1p() + enclosure(excess).log1p()
        return max(LEAST, probability_up((enclosure(excess * (divergence - epsilon)) - entropy).exp()))


def epsilon_from_order(order: Fraction, divergence: Fraction, delta: Fraction) -> Fraction:
    """D + ln((α−1)/α) − (ln δ + ln α)/(α−1), at least 0, rounded up: `delta_from_order` solved for ε."""
    excess = order - 1
    with precision():
        log_delta = enclosure(delta - 1).log1p() if delta > Fraction(1, 2) else enclosure(delta).log()
        spread = (log_delta + enclosure(excess).log1p()) / enclosure(excess)
        return max(Fraction(0), upper(enclosure(divergence) - enclosure(1 / excess).log1p() - spread))


@cached(256)
def statements_on_a_grid(promise: Guarantee) -> tuple[tuple[Fraction, Fraction], ...]:
    """Pairs (ε, δ(ε)) for evenly spaced ε, up to where δ is negligible."""
    try:
        top = promise.epsilon_at(Fraction(1, 2**60))
    except Unprovable:
        top = Fraction(0)
    return tuple((epsilon, promise.delta_at(epsilon)) for epsilon in {top * k / _GRID for k in range(_GRID + 1)})


def in_plain_words(promise: Guarantee) -> str:
    """One (ε, δ) statement of a promise that implies many."""
    try:
        epsilon = promise.epsilon_at(_SHOWN_DELTA)
    except Unprovable:
        return f"{promise.step} may change the probability of any outcome beyond measure."
    return (
        f"{promise.step} multiplies the probability of any outcome by at most {factor(epsilon)} "
        f"and adds at most {exact_or_up(_SHOWN_DELTA)} (and so on for every other δ)."
    )


def log_inverse(delta: Fraction) -> float:
    """About ln(1/δ)."""
    return -math.log1p(-float(1 - delta)) if delta > Fraction(1, 2) else -math.log(delta)


def _log_delta(order: Fraction, divergence: Fraction, epsilon: Fraction) -> float:
    excess = float(order - 1)
    return excess * float(divergence - epsilon) - excess * math.log1p(1 / excess) - math.log1p(excess)


def _epsilon(order: Fraction, divergence: Fraction, delta: Fraction) -> float:
    excess = float(order - 1)
    return float(divergence) - math.log1p(1 / excess) + (log_inverse(delta) - math.log1p(excess)) / excess


def _checked_curve(
    curve: Mapping[Any, Number] | Iterable[tuple[Number, Number]],
) -> tuple[tuple[Fraction, Fraction], ...]:
    pairs = _pairs(curve)
    checked = {_checked_order(order): positive("epsilon", epsilon) for order, epsilon in pairs}
    if not checked:
        raise InvalidParameter("curve", curve, "has no orders", hint='write RenyiDP({2: "0.1", 8: "0.4"})')
    if len(checked) < len(pairs):
        raise InvalidParameter("curve", curve, "gives one order twice")
    return tuple(sorted(checked.items()))


def _pairs(curve: object) -> list[tuple[Number, Number]]:
    if isinstance(curve, Mapping):
        return list(curve.items())
    if isinstance(curve, Iterable):
        pairs = list(curve)
        if all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
            return pairs
    raise InvalidParameter(
        "curve", curve, "does not give an ε for each order", hint='write RenyiDP({2: "0.1", 8: "0.4"})'
    )


def _checked_order(order: Number) -> Fraction:
    number = positive("order", order)
    if number <= 1:
        raise InvalidParameter("order", order, "is not above 1")
    positive("order - 1", number - 1)
    return number
