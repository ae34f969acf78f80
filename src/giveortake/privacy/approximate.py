"""(ε, δ)-DP, its probabilistic and computational relatives, and the pair of distributions that is worst for it.

Theorem [KOV15]: every (ε, δ)-DP mechanism is post-processing of the mechanism of [Lal20] eq. (22), (23), which
with probability δ reveals its input and otherwise answers by randomized response. Hence the least δ′ at ε′ < ε is

    δ(ε′) = δ + (1 − δ)·(e^ε − e^ε′) / (1 + e^ε),

and δ at ε′ ≥ ε. The same polygon bounds every single test, so the curve also holds for computational promises.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from heapq import nlargest
from typing import TYPE_CHECKING, Self, final

from giveortake import codec
from giveortake.errors import InvalidParameter, Unprovable
from giveortake.exact import (
    LEAST,
    Number,
    enclosure,
    exact_or_about,
    exact_or_up,
    log_down,
    non_negative,
    open_probability,
    precision,
    probability_up,
    rational,
    upper,
    whole,
)
from giveortake.privacy.guarantee import (
    ROW,
    Guarantee,
    Neighbours,
    Unit,
    factor,
    raised,
    raised_delta,
    store,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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
