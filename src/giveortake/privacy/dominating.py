"""The pair of laws that is worst for an (ε, δ) promise, and the exact curve δ(ε′) that follows from it.

Theorem [KOV15]: every (ε, δ)-DP mechanism is post-processing of the mechanism of [Lal20] eq. (22), (23), which
with probability δ reveals its input and otherwise answers by randomized response. Hence the least δ′ at ε′ < ε is

    δ(ε′) = δ + (1 − δ)·(e^ε − e^ε′) / (1 + e^ε),

and δ at ε′ ≥ ε. The same polygon bounds every single test, so the curve also holds for computational promises.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake.errors import InvalidParameter, Unprovable
from giveortake.exact import LEAST, enclosure, precision, probability_up, upper
from giveortake.privacy.guarantee import raised, raised_delta
from giveortake.privacy.wording import bound

if TYPE_CHECKING:
    from collections.abc import Callable


def delta_of_pair(epsilon: Fraction, delta: Fraction, asked: Fraction) -> Fraction:
    """δ(`asked`) of an (ε, δ) promise, rounded up."""
    if asked >= epsilon:
        return delta
    with precision():
        share = -enclosure(asked - epsilon).expm1() / (1 + enclosure(-epsilon).exp())
        return max(LEAST, probability_up(enclosure(delta) + enclosure(1 - delta) * share))


def epsilon_of_pair(epsilon: Fraction, delta: Fraction, allowed: Fraction) -> Fraction:
    """The least ε′ with δ(ε′) ≤ `allowed`, rounded up: ε + ln(1 − η − η·e^−ε) with η = (δ′ − δ) / (1 − δ)."""
    if allowed < delta:
        raise Unprovable(
            f"this promise allows δ = {bound(delta)}, and no ε makes up for that",
            hint=f"ask for a δ of at least {bound(delta)}",
        )
    if allowed == delta:
        return epsilon
    excess = (allowed - delta) / (1 - delta)
    with precision():
        kept = enclosure(1 - excess) - enclosure(excess) * enclosure(-epsilon).exp()
        candidate = upper(enclosure(epsilon) + kept.log()) if kept > 0 else Fraction(0)
    return raised_until(
        lambda tried: delta_of_pair(epsilon, delta, tried) <= allowed,
        min(epsilon, max(Fraction(0), candidate)),
        scale=epsilon,
    )


def crude_delta(epsilon: Fraction, delta: Fraction, asked: Fraction) -> Fraction:
    """The δ of [Lal20, Prop. 9], δ + e^ε − e^ε′, rounded up; it is simple, and never below `delta_of_pair`."""
    if asked > epsilon:
        raise InvalidParameter("epsilon", asked, f"is above the promise's own ε = {bound(epsilon)}")
    if asked == epsilon:
        return delta
    with precision():
        growth = enclosure(asked).exp() * enclosure(epsilon - asked).expm1()
        return raised_delta(probability_up(enclosure(delta) + growth))


def raised_until(holds: Callable[[Fraction], bool], candidate: Fraction, *, scale: Fraction) -> Fraction:
    """The first of a few numbers, from `candidate` upwards, for which a certified statement holds.

    A candidate from a formula may miss its target by the last bit; a step of 2^-64 of the scale corrects that.
    """
    number, step = raised("ε", candidate), scale / 2**64
    while not holds(number):
        number, step = raised("ε", number + step), 2 * step
    return number
