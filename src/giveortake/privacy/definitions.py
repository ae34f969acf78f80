"""The definitions of differential privacy, and the theorems that lead from one to another.

(ε, δ)-DP with its probabilistic and computational relatives, Rényi, zero-concentrated, Gaussian and pure DP.

Theorem [KOV15]: every (ε, δ)-DP mechanism is post-processing of the mechanism of [Lal20] eq. (22), (23), which
with probability δ reveals its input and otherwise answers by randomized response. Hence the least δ′ at ε′ < ε is

    δ(ε′) = δ + (1 − δ)·(e^ε − e^ε′) / (1 + e^ε),

and δ at ε′ ≥ ε. The same polygon bounds every single test, so the curve also holds for computational promises.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from heapq import nlargest
from math import isqrt
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, final

from giveortake import codec
from giveortake.caching import cached
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.exact import (
    LEAST,
    Number,
    closed_probability,
    enclosure,
    exact_or_about,
    exact_or_up,
    log_down,
    log_up,
    lower,
    non_negative,
    normal_cdf,
    normal_quantile,
    open_probability,
    positive,
    precision,
    probability_down,
    probability_up,
    rational,
    sqrt_up,
    upper,
    whole,
)
from giveortake.privacy.guarantee import ROW, Guarantee, Neighbours, Unit, factor, raised, raised_delta, store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from giveortake.exact import Ball


def delta_of_pair(epsilon: Fraction, delta: Fraction, target: Fraction) -> Fraction:
    """δ(`target`) of an (ε, δ) promise, rounded up."""
    if target >= epsilon:
        return delta
    with precision():
        share = -enclosure(target - epsilon).expm1() / (1 + enclosure(-epsilon).exp())
        return max(LEAST, probability_up(enclosure(delta) + enclosure(1 - delta) * share))


def epsilon_of_pair(epsilon: Fraction, delta: Fraction, allowed: Fraction) -> Fraction:
    """The least ε′ with δ(ε′) ≤ `allowed`, rounded up: ε + ln(1 − η − η·e^−ε) with η = (δ′ − δ) / (1 − δ)."""
    if allowed < delta:
        raise Unprovable(
            f"this promise allows δ = {exact_or_up(delta)}, and no ε makes up for that",
            hint=f"ask for a δ of at least {exact_or_up(delta)}",
        )
    if allowed == delta:
        return epsilon
    excess = (allowed - delta) / (1 - delta)
    with precision():
        reduction = enclosure(1 - excess) - enclosure(excess) * enclosure(-epsilon).exp()
        candidate = upper(enclosure(epsilon) + reduction.log()) if reduction > 0 else Fraction(0)
    return raised_until(
        lambda tried: delta_of_pair(epsilon, delta, tried) <= allowed,
        min(epsilon, max(Fraction(0), candidate)),
        scale=epsilon,
    )


def crude_delta(epsilon: Fraction, delta: Fraction, target: Fraction) -> Fraction:
    """The δ of [Lal20, Prop. 9], δ + e^ε − e^ε′, rounded up; it is simple, and never below `delta_of_pair`."""
    if target > epsilon:
        raise InvalidParameter("epsilon", target, f"is above the promise's own ε = {exact_or_up(epsilon)}")
    if target == epsilon:
        return delta
    with precision():
        growth = enclosure(target).exp() * enclosure(epsilon - target).expm1()
        return raised_delta(probability_up(enclosure(delta) + growth))


def raised_until(holds: Callable[[Fraction], bool], candidate: Fraction, *, scale: Fraction) -> Fraction:
    """The first of a few numbers, from `candidate` upwards, for which a certified statement holds.

    A candidate from a formula may miss its target by the last bit; a step of 2^-64 of the scale corrects that.
    """
    number, step = raised("ε", candidate), scale / 2**64
    while not holds(number):
        number, step = raised("ε", number + step), 2 * step
    return number


@dataclass(frozen=True, slots=True, init=False, repr=False)
class EpsilonDelta(Guarantee):
    """What the three promises with an ε and a δ share: both numbers add, and the dominating pair is the same."""

    epsilon: Fraction
    delta: Fraction

    def __init__(
        self, epsilon: Number, delta: Number | None = None, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove"
    ) -> None:
        if delta is None:
            kind = type(self).__name__
            hint = f'{kind}("1", "1e-8"); without a δ, PureDP("1")'
            raise InvalidParameter("delta", None, f"is missing: {kind} promises an ε and a δ", hint=hint)
        if rational("delta", delta) == 0:
            raise InvalidParameter("delta", delta, "is not positive", hint="for δ = 0 use PureDP(epsilon)")
        store(
            self,
            (unit, neighbours),
            epsilon=non_negative("epsilon", epsilon),
            delta=open_probability("delta", delta),
        )

    def repeat(self, times: int) -> Self:
        """Theorem [Lal20, Prop. 8]: k mechanisms together are (kε, kδ); no pair is implied once kδ reaches 1."""
        count = whole("times", times)
        return type(self)(raised("ε", count * self.epsilon), raised_delta(count * self.delta), **self.terms)

    def compose_largest(self, parts: Sequence[Guarantee], count: int) -> Self:
        """Theorem [Lal20, Prop. 8]: ε and δ add. The largest ε and the largest δ may sit in different parts."""
        pairs = [part.statements()[0] for part in parts]
        epsilon = sum(nlargest(count, (epsilon for epsilon, _ in pairs)), Fraction(0))
        delta = sum(nlargest(count, (delta for _, delta in pairs)), Fraction(0))
        return type(self)(raised("ε", epsilon), raised_delta(delta), **self.terms)

    def delta_at(self, epsilon: Number) -> Fraction:
        """Theorem [KOV15]: δ + (1 − δ)(e^ε − e^ε′)/(1 + e^ε) at ε′ < ε, and δ from ε on; rounded up."""
        return delta_of_pair(self.epsilon, self.delta, non_negative("epsilon", epsilon))

    def epsilon_at(self, delta: Number) -> Fraction:
        """The inverse of `delta_at`, rounded up; Unprovable for a δ below this promise's own."""
        return epsilon_of_pair(self.epsilon, self.delta, open_probability("delta", delta))

    def statements(self) -> tuple[tuple[Fraction, Fraction]]:
        return ((self.epsilon, self.delta),)

    def arguments(self) -> str:
        return f"'{exact_or_about(self.epsilon)}', '{exact_or_about(self.delta)}'"

    def group_pair(self, size: int) -> tuple[Fraction, Fraction]:
        """Theorem [Lal20, Prop. 6]: (kε, δ(e^kε − 1)/(e^ε − 1)), and (0, kδ) at ε = 0; rounded up."""
        count = whole("size", size)
        if count == 1:
            return self.epsilon, self.delta
        if self.epsilon == 0:
            return self.epsilon, raised_delta(count * self.delta)
        epsilon = raised("ε", count * self.epsilon)
        with precision():
            steps = enclosure(epsilon).expm1() / enclosure(self.epsilon).expm1()
            return epsilon, raised_delta(probability_up(enclosure(self.delta) * steps))

    def numbers(self) -> str:
        """ε and δ as text, to begin a sentence with."""
        return f"ε = {exact_or_up(self.epsilon)}, δ = {exact_or_up(self.delta)}"


@codec.complete
@codec.stored("approx")
@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class ApproxDP(EpsilonDelta):
    """(ε, δ)-differential privacy.

    Guarantee [DKMMN06], [Lal20, Def. 3]: P[S] ≤ e^ε·Q[S] + δ for all neighbours and all sets S of outputs. With
    ε = 0, δ is the total variation distance. It is not true in general that ε-DP holds "with probability 1 − δ":
    that is ProbabilisticDP.

    >>> ApproxDP("0.5", "1e-6").compose(ApproxDP("0.5", "1e-6"))
    ApproxDP('1', '2e-6')
    """

    def group(self, size: int) -> ApproxDP:
        """Theorem [Lal20, Prop. 6]: (kε, δ(e^kε − 1)/(e^ε − 1)), and (0, kδ) at ε = 0; rounded up."""
        return ApproxDP(*self.group_pair(size), **self.terms)

    def approximate(self, delta: Number) -> ApproxDP:
        """Theorem [KOV15]: the same promise at a larger δ."""
        return ApproxDP(self.epsilon_at(delta), delta, **self.terms)

    def trade(self, epsilon: Number) -> ApproxDP:
        """Theorem [Lal20, Prop. 9]: (ε′, δ + e^ε − e^ε′) for 0 ≤ ε′ ≤ ε, rounded up. `delta_at` is the tight form."""
        target = non_negative("epsilon", epsilon)
        return ApproxDP(target, crude_delta(self.epsilon, self.delta, target), **self.terms)

    def loss_bound(self, failure: Fraction | None) -> Fraction | None:
        """Theorem (proof in `Guarantee.loss_bound`): ε − ln(1 − δ/failure), if `failure` exceeds δ."""
        if failure is None or failure <= self.delta:
            return None
        return self.epsilon - log_down(1 - self.delta / failure)

    def in_currency_of(self, other: Guarantee) -> Guarantee | None:
        match other:
            case ApproxDP():
                return self
            case ComputationalDP():
                return ComputationalDP(self.epsilon, self.delta, **self.terms)
            case _:
                return None

    def __str__(self) -> str:
        return (
            f"{self.numbers()} (approximate): {self.step} multiplies the probability of any outcome by at most "
            f"{factor(self.epsilon)} and adds at most {exact_or_up(self.delta)}."
        )


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class ProbabilisticDP(EpsilonDelta):
    """(ε, δ)-probabilistic differential privacy: ε-DP outside a set of outputs of probability at most δ.

    Guarantee [Mei18], [Lal20, Def. 2]: for all neighbours there is a set B with P[B] ≤ δ and P[S∖B] ≤ e^ε·Q[S∖B]
    for all S. Post-processing does *not* keep this promise [Lal20, Prop. 4]; what survives is `.approximate()`.

    >>> ProbabilisticDP("1", "1e-6").approximate()
    ApproxDP('1', '1e-6')
    """

    def group(self, size: int) -> ApproxDP:
        """Theorem ([Lal20, Prop. 5], then Prop. 6): as for the approximate promise that follows."""
        return self.approximate().group(size)

    def approximate(self, delta: Number | None = None) -> ApproxDP:
        """Theorem [Lal20, Prop. 5]: the same ε and δ, as an approximate promise; or at a larger δ."""
        same = ApproxDP(self.epsilon, self.delta, **self.terms)
        return same if delta is None else same.approximate(delta)

    def loss_bound(self, failure: Fraction | None) -> Fraction | None:
        """Theorem: the loss exceeds ε only within B, so ε serves as soon as `failure` is at least δ."""
        return None if failure is None or failure < self.delta else self.epsilon

    def in_currency_of(self, other: Guarantee) -> Guarantee | None:
        if isinstance(other, ProbabilisticDP):
            return self
        return self.approximate().in_currency_of(other)

    def __str__(self) -> str:
        return (
            f"{self.numbers()} (probabilistic): except for outcomes of total probability {exact_or_up(self.delta)}, "
            f"{self.step} changes the probability of any outcome by a factor of at most {factor(self.epsilon)}."
        )


@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class ComputationalDP(EpsilonDelta):
    """(ε, δ)-differential privacy against attackers of bounded computing power.

    Guarantee [MPRV09], [Lal20, Def. 4]: P[A = 0] ≤ e^ε·Q[A = 0] + δ for every polynomial-time test A. All numbers
    taken from it (`delta_at`, `tradeoff`, …) are statements about such attackers too, so it composes like ApproxDP
    and never turns into any other kind of promise.

    >>> ComputationalDP("1", "1e-6").compose(ComputationalDP("1", "1e-6"))
    ComputationalDP('2', '2e-6')
    """

    against_bounded_computation: ClassVar[bool] = True

    def group(self, size: int) -> ComputationalDP:
        """Theorem [Lal20, Remark 5 and Prop. 6]: as for ApproxDP; the path between the tables is short."""
        return ComputationalDP(*self.group_pair(size), **self.terms)

    def approximate(self, delta: Number) -> ApproxDP:
        """Always Unprovable: an encrypted table keeps a computational promise and no statistical one [Lal20, §5]."""
        raise Unprovable("a computational promise does not imply a statistical one")

    def loss_bound(self, failure: Fraction | None) -> Fraction | None:
        """None; Unprovable with `failure`: the best belief may need unbounded computation, as with a ciphertext."""
        if failure is not None:
            raise Unprovable(
                "a computational promise bounds efficient tests, not the belief of an ideal observer",
                hint="use .tradeoff(fpr), which holds for every efficient attacker",
            )
        return None

    def in_currency_of(self, other: Guarantee) -> Guarantee | None:
        return self if isinstance(other, ComputationalDP) else None

    def __str__(self) -> str:
        return (
            f"{self.numbers()} (computational): to any attacker of bounded computing power, {self.step} multiplies the "
            f"probability of any outcome by at most {factor(self.epsilon)} and adds at most {exact_or_up(self.delta)}."
        )


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


T = TypeVar("T")

_FAR = 40  # Φ(−40) < 1e-300: beyond this many standard deviations the curve is 0 or 1 for all purposes
_STEPS = 72  # of bisection: to 2^-65 of a standard deviation, or 2^-72 of μ
_SPARE_BITS = 256
_FINE = 2**200  # guesses are multiples of 1/_FINE


@codec.complete
@codec.stored("gaussian")
@final
@dataclass(frozen=True, slots=True, init=False, repr=False)
class GaussianDP(Guarantee):
    """μ-Gaussian differential privacy.

    Guarantee [DRS22]: telling P from Q is at least as hard as telling N(0, 1) from N(μ, 1); the trade-off between
    false alarms and misses is at least G_μ. Gaussian noise of standard deviation σ on a value of L2 sensitivity Δ
    keeps it with μ = Δ/σ, and nothing better.

    >>> GaussianDP(3).compose(GaussianDP(4))
    GaussianDP('5')
    """

    mu: Fraction

    def __init__(self, mu: Number, *, unit: Unit = ROW, neighbours: Neighbours = "add-remove") -> None:
        store(self, (unit, neighbours), mu=positive("mu", mu))

    def repeat(self, times: int) -> GaussianDP:
        """Theorem [DRS22, Cor. 3.3]: k mechanisms together are √k·μ; rounded up."""
        return GaussianDP(raised("μ", _root_up(whole("times", times) * self.mu**2)), **self.terms)

    def group(self, size: int) -> GaussianDP:
        """Theorem [DRS22, Thm 2.14]: k units cost kμ."""
        return GaussianDP(raised("μ", whole("size", size) * self.mu), **self.terms)

    def compose_largest(self, parts: Sequence[Guarantee], count: int) -> GaussianDP:
        """Theorem [DRS22, Cor. 3.3]: the squares of μ add; the root is exact, or rounded up."""
        largest = nlargest(count, (part.mu for part in parts if isinstance(part, GaussianDP)))
        return GaussianDP(raised("μ", _root_up(sum((mu**2 for mu in largest), Fraction(0)))), **self.terms)

    def in_currency_of(self, other: Guarantee) -> Guarantee | None:
        match other:
            case GaussianDP():
                return self
            case ZCDP():
                return self.concentrated()
            case RenyiDP():
                return self.renyi(other.orders)
            case _:
                return None

    def concentrated(self) -> ZCDP:
        """Theorem [DRS22, Cor. B.6], [BS16, Prop. 1.6]: ρ = μ²/2."""
        return ZCDP(raised("ρ", self.mu**2 / 2), **self.terms)

    def renyi(self, orders: Iterable[Number]) -> RenyiDP:
        """Theorem [Mir17, Prop. 7], [DRS22, Cor. B.6]: order α is bounded by αμ²/2."""
        exact = [positive("order", order) for order in orders]
        return RenyiDP(((order, raised("ε", order * self.mu**2 / 2)) for order in exact), **self.terms)

    def delta_at(self, epsilon: Number) -> Fraction:
        """Theorem [BW18, Thm 8], [DRS22, Cor. 2.13]: Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ), rounded up."""
        return gaussian_delta(self.mu, non_negative("epsilon", epsilon))

    def epsilon_at(self, delta: Number) -> Fraction:
        """The least ε with `delta_at(ε)` ≤ δ, rounded up."""
        raised("ε", self.mu * (self.mu / 2 - _FAR))  # refuse at once what can only end above 1e300
        return raised("ε", _gaussian_epsilon(self.mu, open_probability("delta", delta)))

    def approximate(self, delta: Number) -> ApproxDP:
        """Theorem [DRS22, Cor. 2.13]: (ε, δ)-DP with the ε of `epsilon_at`."""
        return ApproxDP(self.epsilon_at(delta), delta, **self.terms)

    def tradeoff(self, fpr: Number) -> Fraction:
        """Theorem [DRS22, Def. 2.6]: G_μ(fpr) = Φ(Φ⁻¹(1 − fpr) − μ), rounded down."""
        rate = closed_probability("fpr", fpr)
        if rate in {0, 1}:
            return 1 - rate
        with precision():
            tail = normal_quantile(enclosure(min(rate, 1 - rate)))
            point = -tail if rate < Fraction(1, 2) else tail
            return probability_down(normal_cdf(point - enclosure(self.mu)))

    def statements(self) -> tuple[tuple[Fraction, Fraction], ...]:
        return statements_on_a_grid(self)

    def arguments(self) -> str:
        return f"'{exact_or_about(self.mu)}'"

    def __str__(self) -> str:
        return (
            f"μ = {exact_or_up(self.mu)} (Gaussian): {self.step} is at least as hard to notice as a shift by "
            f"{exact_or_up(self.mu)} of one draw from a standard normal law."
        )


def gaussian_delta(mu: Fraction, epsilon: Fraction) -> Fraction:
    """δ_μ(ε) = Φ(−a) − e^ε·Φ(−a − μ) with a = ε/μ − μ/2, rounded up [BW18, Thm 8].

    The first term alone is an upper bound, and all that is left where the second is too small to be computed.

    >>> round(float(gaussian_delta(Fraction(1), Fraction(1))), 4)
    0.1269
    """
    distance = epsilon / mu - mu / 2
    if distance > _FAR:
        return LEAST
    if distance < -_FAR:
        return Fraction(1)
    with _enough_bits(mu):
        first, whole_curve = _enclosed(mu, epsilon, distance)
        return max(LEAST, min(probability_up(first), probability_up(whole_curve)))


def gaussian_mu(epsilon: Number, delta: Number) -> Fraction:
    """The greatest μ, rounded down, for which μ-GDP implies (ε, δ)-DP.

    Theorem [BW18, Thm 9]: δ_μ(ε) increases with μ, so noise of standard deviation Δ/μ is the least Gaussian noise
    that is (ε, δ)-DP for L2 sensitivity Δ.

    >>> print(f"{float(1 / gaussian_mu(1, '1e-5')):.9f}")
    3.730631635
    """
    return _gaussian_mu(positive("epsilon", epsilon), open_probability("delta", delta))


@cached(4096)
def _gaussian_mu(epsilon: Fraction, allowed: Fraction) -> Fraction:
    """`gaussian_mu`: the power of two below it, and the bits after that; a guess spares most of the search."""

    def holds(mu: Fraction) -> bool:
        return _certainly_implies(mu, epsilon, allowed)

    def guessed() -> tuple[Fraction, int]:
        guess = _guessed_mu(epsilon, allowed)
        scale = Fraction(2) ** (math.frexp(guess)[1] - 1)
        return scale, int(guess / scale * first)

    first = 2**_STEPS
    guess = _guess(guessed)
    if guess is not None:
        octave, near = guess
        step = _beside(near, lambda step: holds(octave * Fraction(step, first)), first, 2 * first)
        if step is not None:
            return octave * Fraction(step, first)
    scale = Fraction(2) ** _last(-2048, 2048, lambda power: holds(Fraction(2) ** power))
    return scale * Fraction(_last(first, 2 * first, lambda step: holds(scale * Fraction(step, first))), first)


def _guess(guess: Callable[[], T]) -> T | None:
    """What a guess in doubles finds, None where they fail; no promise depends on it."""
    try:
        return guess()
    except (ArithmeticError, ValueError):
        return None


def _beside(guess: int, holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """`_last` if it is the guess or a number beside it; else None.

    The statement is true up to some number: where it holds and fails one further is what bisection finds, in a tenth
    of the time.
    """
    for step in (guess, guess - 1, guess + 1):
        if low <= step < high and holds(step) and not holds(step + 1):
            return step
    return None


def _last(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The last number from `low` on for which a statement holds that fails at `high`, by bisection."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def rough_mu(epsilon: float, delta: float) -> float:
    """`gaussian_mu` in doubles, for choices on which no promise depends: bisection, then two of Newton's steps.

    δ grows by the normal density at a for each unit of μ. From μ = 1/10000 on the error is below one part in a billion.
    """
    low, high = -200.0, 60.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if _rough_delta(2**middle, epsilon) <= delta else (low, middle)
    mu = 2**low
    for _ in range(2):
        slope = math.exp(-((epsilon / mu - mu / 2) ** 2) / 2) / math.sqrt(2 * math.pi)
        mu -= (_rough_delta(mu, epsilon) - delta) / slope
    return mu


def _rough_delta(mu: float, epsilon: float) -> float:
    away = epsilon / mu - mu / 2
    return (math.erfc(away / math.sqrt(2)) - math.exp(epsilon) * math.erfc((away + mu) / math.sqrt(2))) / 2


def _guessed_mu(epsilon: Fraction, allowed: Fraction) -> Fraction:
    """A guess of `gaussian_mu`: what is found in doubles, then two more of Newton's steps."""
    mu = Fraction(rough_mu(float(epsilon), float(allowed)))
    for _ in range(2):
        distance = epsilon / mu - mu / 2
        with _enough_bits(mu):
            too_much = lower(_enclosed(mu, epsilon, distance)[1]) - allowed
        slope = Fraction(math.exp(-(float(distance) ** 2) / 2) / math.sqrt(2 * math.pi))
        mu = Fraction(round((mu - too_much / slope) * _FINE), _FINE)
    return mu


@cached(4096)
def _gaussian_epsilon(mu: Fraction, delta: Fraction) -> Fraction:
    """μ(a + μ/2) for the least a between −40 and 40 at which the curve, falling in a, is certainly at most δ."""
    if _certainly_implies(mu, Fraction(0), delta):
        return Fraction(0)
    start = max(-mu / 2, Fraction(-_FAR))

    def exceeds(step: int) -> bool:
        return not _certainly_implies(mu, _epsilon_at_distance(mu, start, step), delta)

    guess, end = _guess(lambda: _guessed_step(mu, start, delta)), 2**_STEPS
    step = None if guess is None else _beside(guess - 1, exceeds, 1, end - 1)
    return _epsilon_at_distance(mu, start, 1 + (_last(0, end, exceeds) if step is None else step))


def _guessed_step(mu: Fraction, start: Fraction, delta: Fraction) -> int:
    """A guess of that step: bisection in doubles, then Newton's steps: δ falls by μ e^ε Φ(−a − μ) per unit of a."""
    rough, allowed, low, high = float(mu), float(delta), float(start), float(_FAR)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if _rough_delta(rough, rough * (middle + rough / 2)) <= allowed else (middle, high)
    away = Fraction(high)
    for _ in range(3):
        epsilon = mu * (away + mu / 2)
        with _enough_bits(mu):
            first, whole_curve = _enclosed(mu, epsilon, away)
            too_much, slope = lower(whole_curve) - delta, lower(first - whole_curve) * mu
        away = Fraction(round((away + too_much / slope) * _FINE), _FINE)
    return math.ceil((away - start) / (_FAR - start) * (1 << _STEPS))


def _certainly_implies(mu: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether `gaussian_delta` is at most δ; False also when that cannot be decided."""
    distance = epsilon / mu - mu / 2
    if abs(distance) > _FAR:
        return distance > 0
    with _enough_bits(mu):
        limit = enclosure(delta)
        return any(bound <= limit for bound in _enclosed(mu, epsilon, distance))


def _enclosed(mu: Fraction, epsilon: Fraction, distance: Fraction) -> tuple[Ball, Ball]:
    """Φ(−a), and Φ(−a) − e^ε·Φ(−a − μ)."""
    first = normal_cdf(enclosure(-distance))
    return first, first - enclosure(epsilon).exp() * normal_cdf(enclosure(-distance - mu))


def _enough_bits(mu: Fraction) -> AbstractContextManager[object]:
    """Work with enough bits for μ: if it is tiny, the curve's two terms nearly cancel and lose about −log2 μ bits."""
    return precision(_SPARE_BITS + max(0, mu.denominator.bit_length() - mu.numerator.bit_length()))


def _epsilon_at_distance(mu: Fraction, start: Fraction, step: int) -> Fraction:
    """The ε at the given step of the way from a = `start` to a = 40."""
    return mu * (start + (_FAR - start) * Fraction(step, 2**_STEPS) + mu / 2)


def _root_up(square: Fraction) -> Fraction:
    """√square, exactly if it is rational."""
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return root if root**2 == square else sqrt_up(square)


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


def together(promises: Sequence[Guarantee]) -> Guarantee:
    """The promise of releases that are shown together, such as an answer and the answers that it refines.

    Guarantee: basic composition [PDP21, L1.2], in the currency that all share. If there is an (ε, δ) promise,
    promises of Gaussian noise are stated at the same δ first.

    >>> from giveortake.privacy import ApproxDP, GaussianDP, PureDP
    >>> together([PureDP("0.25"), PureDP(1), PureDP(1)])
    PureDP('2.25')
    >>> together([GaussianDP("0.1"), ApproxDP(1, "1e-6")]).delta == 2 * ApproxDP(1, "1e-6").delta
    True
    """
    delta = max((promise.delta for promise in promises if isinstance(promise, ApproxDP)), default=None)
    if delta is not None:
        promises = [
            promise.approximate(delta) if isinstance(promise, ZCDP | GaussianDP) else promise for promise in promises
        ]
    return reduce(lambda one, other: one.compose(other), promises)
