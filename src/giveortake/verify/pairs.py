"""Two laws compared, exactly: how much likelier can anything be under P than under Q?

A law maps outputs to fractions. What is missing to 1 is a remainder that was not enumerated; it is always counted
against the mechanism, as if it revealed everything.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from fractions import Fraction
from typing import TypeAlias

from giveortake.errors import Unprovable
from giveortake.verify.logarithms import LogSum, Ratio, StatedEpsilon, compared_with_exp

Law: TypeAlias = Mapping[Hashable, Fraction]
ZERO = Fraction(0)


def remainder(law: Law) -> Fraction:
    """The probability that was not enumerated."""
    return 1 - sum(law.values(), ZERO)


def ratio_of(p: Fraction, q: Fraction) -> Ratio:
    """The ratio p / q, infinite where q is zero."""
    return p / q if q else math.inf


def excess(p: Law, q: Law, ratio: Fraction) -> Fraction:
    """Max over sets S of P[S] − ratio·Q[S]: the sum of what is positive, and the remainder of P."""
    gains = (mass - ratio * q.get(output, ZERO) for output, mass in p.items())
    return sum((gain for gain in gains if gain > 0), remainder(p))


def greatest_ratio(p: Law, q: Law, delta: Fraction = ZERO) -> Ratio:
    """Max over sets S with P[S] ≥ δ of (P[S] − δ) / Q[S].

    Theorem [Rot11, Def. 2]: the logarithm is the δ-approximate max divergence. Proof that prefixes suffice: for a
    given r, P[S] − r·Q[S] is greatest on the outputs whose own ratio exceeds r, which is a prefix when outputs are
    sorted by that ratio; so the r at which the maximum equals δ is attained by a prefix. ∎
    """
    unknown = remainder(p)
    if unknown > delta:
        raise Unprovable(
            f"a probability of {unknown} was not enumerated, and may give everything away",
            hint="ask at a δ above it, enumerate deeper, or write endless loops with flip.until",
        )
    inside, outside, greatest = unknown, ZERO, ZERO  # type: Fraction, Fraction, Ratio
    for ratio, output in _by_ratio(p, q):
        inside, outside = inside + p[output], outside + q.get(output, ZERO)
        if ratio == math.inf and inside > delta:
            return math.inf
        if outside and inside >= delta:
            greatest = max(greatest, (inside - delta) / outside)
    return greatest


def loss_exceeds(p: Law, q: Law, level: StatedEpsilon) -> Fraction:
    """P[the outputs whose own ratio exceeds e^ε]: the δ of probabilistic privacy [Lal20, Def. 2]."""
    return sum((mass for output, mass in p.items() if _above(mass, q.get(output, ZERO), level)), remainder(p))


def least_miss_rate(p: Law, q: Law, fpr: Fraction) -> Fraction:
    """The least false-negative rate of a test that says Q when P is true with probability at most `fpr`.

    Theorem (Neyman and Pearson): say Q on the outputs with the greatest Q/P, and toss a coin on the last one.
    """
    left, missed = fpr, sum(q.values(), ZERO)
    for _, output in _by_ratio(q, p):
        cost = p.get(output, ZERO)
        share = Fraction(1) if cost <= left else left / cost
        missed -= share * q[output]
        left -= share * cost
        if share < 1:
            break
    return missed


def relative_entropy(p: Law, q: Law) -> LogSum | float:
    """Σ P ln(P / Q) [Rot11, Def. 3], exactly; infinite where Q is zero and P is not."""
    if remainder(p) or remainder(q):
        raise Unprovable("a law that was not enumerated to the end has no known entropy")
    if any(mass and not q.get(output, ZERO) for output, mass in p.items()):
        return math.inf
    return LogSum((mass, mass / q[output]) for output, mass in p.items() if mass)


def kinks(p: Law, q: Law) -> Iterator[Fraction]:
    """The values of e^ε at which the curve δ(ε) of this pair bends."""
    for output, mass in p.items():
        other = q.get(output, ZERO)
        if other and mass > other:
            yield mass / other


def fewest_outputs(p: Law, q: Law, level: StatedEpsilon, delta: Fraction) -> list[Hashable] | None:
    """The smallest set S with P[S] > e^ε·(Q[S] + r) + δ, r the remainder of Q; None if there is none.

    Only what was enumerated counts: whatever the paths do that were cut off, S is a counterexample. Sets are made of
    the outputs that gain most, so none of fewer outputs does.
    """
    if level.infinite:
        return None
    bits = 192
    while True:
        low, high = level.between(bits)
        fewest, most = (_prefix(p, q, ratio, delta + ratio * remainder(q)) for ratio in (low, high))
        if fewest is None or (most is not None and len(fewest) == len(most)):
            return None if fewest is None else most
        bits *= 2  # e^ε is irrational here, and what is compared with it is rational, so that the two agree at last


def kept(p: Law, q: Law, level: StatedEpsilon, delta: Fraction) -> bool:
    """Whether P[S] ≤ e^ε·Q[S] + δ for every set S, even if what was cut off reveals everything."""
    if level.infinite:
        return remainder(p) <= delta
    bits = 192
    while True:
        low, high = level.between(bits)
        if excess(p, q, low) <= delta:
            return True
        if excess(p, q, high) > delta:
            return False
        bits *= 2  # e^ε is irrational here, so that one of the two holds at last


def _prefix(p: Law, q: Law, ratio: Fraction, limit: Fraction) -> list[Hashable] | None:
    """The fewest outputs of which P − ratio·Q adds up to more than a limit."""
    gains = [(mass - ratio * q.get(output, ZERO), output) for output, mass in p.items()]
    chosen: list[Hashable] = []
    total = ZERO
    for gain, output in sorted(gains, key=lambda item: -item[0]):
        if gain <= 0:
            break
        chosen.append(output)
        total += gain
        if total > limit:
            return chosen
    return None


def _by_ratio(p: Law, q: Law) -> list[tuple[Ratio, Hashable]]:
    found = [(ratio_of(mass, q.get(output, ZERO)), output) for output, mass in p.items() if mass]
    return sorted(found, key=lambda item: -item[0])


def _above(p: Fraction, q: Fraction, level: StatedEpsilon) -> bool:
    if p == 0 or level.infinite:
        return False
    if q == 0:
        return True
    if level.ratio is not None:
        return p > level.ratio * q
    return compared_with_exp(p / q, Fraction(level.epsilon)) < 0  # type: ignore[arg-type]  # (one of the two is there)
