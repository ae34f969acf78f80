"""The exact table of a finite mechanism, everything that follows from it, and claims that are checked against it.

Two distributions are compared exactly: how much likelier can anything be under P than under Q? What is missing to 1 is
a remainder that was not enumerated; it is always counted against the mechanism, as if it revealed everything. A claim
is true with its worst case, or false with a counterexample that people can follow.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, Literal, TypeAlias, final

from giveortake.errors import InvalidParameter, Unprovable
from giveortake.exact import LEAST, Number, closed_probability, decimal, rational, whole
from giveortake.privacy import ApproxDP, Guarantee, PureDP
from giveortake.verify.enumeration import (
    DEPTH,
    PATHS,
    called,
    canonical,
    laws_of,
    refuse_if_different,
    require_coins,
    runner,
    takes_coins,
)
from giveortake.verify.numbers import Log, LogSum, Ratio, StatedEpsilon, compared_with_exp

_MOST_ROWS, _MOST_COLUMNS, _WIDEST = 24, 8, 28


@final
@dataclass(frozen=True, slots=True)
class Counterexample:
    """Two neighbours and a set of outputs: how likely the set is on each of them."""

    x: Any
    y: Any
    outputs: tuple[Any, ...]
    p: Fraction
    q: Fraction
    remainder: Fraction

    @property
    def ratio(self) -> Ratio:
        """How many times likelier the set is on x than on y."""
        return self.p / self.q if self.q else float("inf")


@final
@dataclass(frozen=True, slots=True, repr=False)
class Verdict:
    """Whether a mechanism is (ε, δ)-DP: true, false with a counterexample, or not shown, which counts as false."""

    table: Table
    level: StatedEpsilon
    delta: Fraction
    counterexample: Counterexample | None
    worst: Counterexample | None
    is_proved: bool = True

    @property
    def holds(self) -> bool:
        """Whether the claim is true for sure."""
        return self.counterexample is None and self.is_proved

    def __bool__(self) -> bool:
        return self.holds

    @property
    def claim(self) -> str:
        """The claim as a formula."""
        return f"({self.level!r}{f', {self.delta}' if self.delta else ''})-DP"

    def __repr__(self) -> str:
        return f"<{self.headline()}>"

    def __str__(self) -> str:
        return "\n".join([self.headline(), *self.reasons()])

    def headline(self) -> str:
        """The verdict in one line."""
        if self.counterexample is None and not self.is_proved:
            cut = exactly(self.table.remainder())
            return f"NOT SHOWN: a probability of {cut} was not enumerated, so {self.claim} is neither true nor false"
        return f"{'true' if self.holds else 'FALSE'}: the mechanism is {'' if self.holds else 'not '}{self.claim}"

    def reasons(self) -> list[str]:
        """Why, as sentences."""
        case = self.counterexample
        if case is None and not self.is_proved:
            return [
                "Enumerate deeper, write endless loops with flip.until, or claim a δ above what was not enumerated."
            ]
        tight = self._tight()
        if case is None:
            if self.worst is None:
                return ["There are no two neighbours with different outputs."]
            if self.delta and not self.level.infinite:
                gain = self.worst.p - self.level.between()[0] * self.worst.q
                if gain > 0:
                    return [tight, f"{_ends(self.worst)}{self._needed(self.worst, gain)}"]
            return [tight, f"{_ends(self.worst)}{_compared(self.worst)}"]
        unknown = self.table.remainder(case.y)
        other = f"({exactly(case.q)} + {exactly(unknown)})" if unknown else exactly(case.q)
        allowed = f"e^ε · {other}" + (f" + {exactly(self.delta)}" if self.delta else "")
        finding = f"on input {case.x!r} the output {_one_of(case.outputs)} has probability {exactly(case.p)}"
        lines = [
            f"Counterexample: {finding}; on its neighbour {case.y!r} it has {exactly(case.q)}.",
            f"The claim allows at most {allowed} = {self._allowed(case)}.",
        ]
        if unknown:
            lines.append(f"That is so even if all that was not enumerated there, {exactly(unknown)}, is in the set.")
        return [*lines, "No counterexample has fewer outputs.", tight]

    def _needed(self, case: Counterexample, gain: Fraction) -> str:
        about = exactly(gain) if self.level.ratio is not None else f"≈{decimal(gain)}"
        return (
            f"the output {_one_of(case.outputs)} has probability {exactly(case.p)} on the first and {exactly(case.q)} "
            f"on the second, {about} more than e^ε times as much, where δ allows {exactly(self.delta)}."
        )

    def _allowed(self, case: Counterexample) -> str:
        if self.level.infinite:
            return "everything"
        _, high = self.level.between()
        allowed = high * (case.q + self.table.remainder(case.y)) + self.delta
        return exactly(allowed) if self.level.ratio is not None else decimal(allowed, 9)

    def _tight(self) -> str:
        if self.delta and self.delta < self.table.remainder():
            return f"The remainder alone is {exactly(self.table.remainder())}."
        if self.table.remainder() > self.delta:
            return "What was cut off may give everything away; ask at a δ above the remainder."
        tight = self.table.epsilon(self.delta)
        digits = "" if tight.ratio in {1, float("inf")} else f" ≈ {float(tight):.6g}"
        return f"The least ε{' at that δ' if self.delta else ''} is {tight!r}{digits}."


def drawn(table: Table) -> str:
    """A table as text: inputs across, outputs down, fractions as they are."""
    inputs, outputs = table.inputs[:_MOST_COLUMNS], table.outputs[:_MOST_ROWS]
    rows = [["output", *map(_short, inputs)]]
    rows += [[_short(output), *(exactly(table.probability(x, output)) for x in inputs)] for output in outputs]
    if table.remainder():
        rows.append(["(cut off)", *(exactly(table.remainder(x)) for x in inputs)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    left_out = len(table.outputs) - len(outputs), len(table.inputs) - len(inputs)
    if any(left_out):
        lines.append(f"… and {left_out[0]} more outputs, {left_out[1]} more inputs")
    return "\n".join(lines)


def exactly(number: Fraction) -> str:
    """A fraction as it is if that is short, otherwise with six digits."""
    text = str(number)
    return text if len(text) <= 15 else f"≈{decimal(number)}"


def _short(value: Hashable) -> str:
    text = repr(value)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _one_of(outputs: Sequence[Any]) -> str:
    if len(outputs) == 1:
        return _short(outputs[0])
    listed = ", ".join(_short(output) for output in outputs[:6])
    return f"in {{{listed}{', …' if len(outputs) > 6 else ''}}}"


def _ends(case: Counterexample) -> str:
    return f"Worst pair of inputs: {case.x!r} and {case.y!r}; "


def _compared(case: Counterexample) -> str:
    ratio = Log(case.ratio)
    times = "infinitely many" if case.ratio == float("inf") else exactly(ratio.ratio)  # type: ignore[arg-type]  # (finite, so that there is one)
    return (
        f"the output {_one_of(case.outputs)} has probability {exactly(case.p)} on the first and {exactly(case.q)} on "
        f"the second, {times} times."
    )


def envelope(left: Fraction, right: Fraction, lines: set[tuple[Fraction, Fraction]]) -> list[Fraction]:
    """The places inside at which the upper envelope of straight lines, given by their two ends, bends."""
    if not lines:
        return []
    first, last = max(lines), max(lines, key=lambda line: (line[1], line[0]))
    if first[0] == last[0] or first[1] == last[1]:
        return []
    share = (first[0] - last[0]) / ((first[0] - last[0]) + (last[1] - first[1]))
    height = first[0] + share * (first[1] - first[0])
    middle = left + share * (right - left)
    above = {line for line in lines if line[0] + share * (line[1] - line[0]) > height}
    if not above:
        return [middle]
    halves = [(a, a + share * (b - a), b) for a, b in lines]
    return [
        *envelope(left, middle, {(a, m) for a, m, _ in halves}),
        middle,
        *envelope(middle, right, {(m, b) for _, m, b in halves}),
    ]


def corners(points: Sequence[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """The points at which the line through them bends, and the two ends."""
    bends: list[tuple[Fraction, Fraction]] = []
    for point in points:
        while len(bends) >= 2 and _straight(bends[-2], bends[-1], point):
            bends.pop()
        bends.append(point)
    return bends


def _straight(a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction], c: tuple[Fraction, Fraction]) -> bool:
    return (b[1] - a[1]) * (c[0] - b[0]) == (c[1] - b[1]) * (b[0] - a[0])


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
        other_mass = q.get(output, ZERO)
        if other_mass and mass > other_mass:
            yield mass / other_mass


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


def claim_holds(p: Law, q: Law, level: StatedEpsilon, delta: Fraction) -> bool:
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
    ratios = [(ratio_of(mass, q.get(output, ZERO)), output) for output, mass in p.items() if mass]
    return sorted(ratios, key=lambda item: -item[0])


def _above(p: Fraction, q: Fraction, level: StatedEpsilon) -> bool:
    if p == 0 or level.infinite:
        return False
    if q == 0:
        return True
    if level.ratio is not None:
        return p > level.ratio * q
    return compared_with_exp(p / q, Fraction(level.epsilon)) < 0  # type: ignore[arg-type]  # (one of the two is there)


Relation: TypeAlias = (
    "Callable[[Any, Any], bool] | Iterable[tuple[Hashable, Hashable]] | Literal['add-remove', 'change-one'] | None"
)
Pair: TypeAlias = tuple[Hashable, Hashable]


def neighbouring_pairs(inputs: Sequence[Hashable], relation: Relation) -> tuple[Pair, ...]:
    """Every ordered pair of neighbours: whoever is a neighbour of x has x as a neighbour.

    None relates all inputs. A function says of two inputs whether they are neighbours, a list names the pairs. For
    inputs that are tuples of rows, "change-one" relates those that differ in one place, "add-remove" those of which
    one has one row more.
    """
    if relation is None:
        return tuple((x, y) for x in inputs for y in inputs if x != y)
    if isinstance(relation, str):
        relation = _named(relation)
    if callable(relation):
        related = relation
        return tuple((x, y) for x in inputs for y in inputs if x != y and (related(x, y) or related(y, x)))
    pairs: dict[Pair, None] = {}
    for x, y in relation:
        for end in (x, y):
            if end not in inputs:
                raise InvalidParameter("neighbours", end, "is not among the inputs")
        pairs |= {(x, y): None, (y, x): None}
    return tuple(pairs)


def within(inputs: Sequence[Hashable], pairs: Iterable[Pair], distance: int) -> tuple[Pair, ...]:
    """The ordered pairs that are joined by a path of at most `distance` steps [PDP21, L1.7]."""
    steps: dict[Hashable, list[Hashable]] = {x: [] for x in inputs}
    for x, y in pairs:
        steps[x].append(y)
    return tuple((x, y) for x in inputs for y, far in _distances(x, steps).items() if 0 < far <= distance)


def _distances(start: Hashable, steps: dict[Hashable, list[Hashable]]) -> dict[Hashable, int]:
    far, waiting = {start: 0}, deque([start])
    while waiting:
        node = waiting.popleft()
        for neighbour in steps[node]:
            if neighbour not in far:
                far[neighbour] = far[node] + 1
                waiting.append(neighbour)
    return far


def _named(name: str) -> Callable[[Any, Any], bool]:
    if name == "change-one":
        return lambda x, y: len(x) == len(y) and sum(a != b for a, b in zip(x, y, strict=True)) == 1
    if name == "add-remove":
        return lambda x, y: len(y) == len(x) + 1 and not Counter(x) - Counter(y)
    raise InvalidParameter("neighbours", name, "is unknown", hint='there are "add-remove" and "change-one"')


Rows: TypeAlias = "Mapping[Any, Mapping[Any, Number]]"
Prior: TypeAlias = "Mapping[Any, Number] | Sequence[Number] | Number"

_MOST_OUTPUTS = 1_000_000
_GROUPED = "group"


@final
class Table:
    """P[output | input] for every input and output, as fractions, with the pairs of inputs that are neighbours.

    Guarantee [DMNS06], [DKMMN06]: every number below is exact, a maximum over all pairs of neighbours in both orders
    and over *all* sets of outputs. e^ε is exact where ε is the logarithm of a fraction; for another ε it is enclosed,
    and δ is rounded up. A remainder (paths that were cut off) counts as if it revealed everything.
    """

    __slots__ = ("_laws", "_pairs", "_relation", "paths")

    def __init__(
        self,
        laws: Mapping[Hashable, Mapping[Hashable, Fraction]],
        pairs: Iterable[Pair],
        paths: int = 0,
        relation: object = None,
    ) -> None:
        self._relation = relation if isinstance(relation, str) else None  # its name, where it has one
        self._laws = {x: _checked(x, law) for x, law in laws.items()}
        _refuse_equal_but_different(self._laws.values())
        self._pairs = tuple(pairs)
        self.paths = paths  # how many coin paths were enumerated to make it

    # -- reading ----------------------------------------------------------------------------------------------

    @property
    def inputs(self) -> tuple[Hashable, ...]:
        """All inputs, in the order given."""
        return tuple(self._laws)

    @property
    def outputs(self) -> tuple[Hashable, ...]:
        """All outputs that some input can give, in the order found."""
        return tuple(dict.fromkeys(output for law in self._laws.values() for output in law))

    @property
    def neighbours(self) -> tuple[Pair, ...]:
        """Every ordered pair of neighbouring inputs."""
        return self._pairs

    def probability(self, x: Any, output: Any) -> Fraction:
        """P[output | x]."""
        return self._law(x).get(canonical(output), ZERO)

    def law(self, x: Any) -> dict[Any, Fraction]:
        """The law of the output on one input."""
        return dict(self._law(x))

    def remainder(self, x: Any = None) -> Fraction:
        """The probability that was not enumerated, on one input or on the worst."""
        laws = self._laws.values() if x is None else [self._law(x)]
        return max((remainder(law) for law in laws), default=ZERO)

    # -- how private it is ------------------------------------------------------------------------------------

    def ratio(self, delta: Number = 0) -> Ratio:
        """e^ε for the tight ε, at least 1."""
        allowed = closed_probability("delta", delta)
        return max((self._greatest(x, y, allowed) for x, y in self._pairs), default=Fraction(1))

    def epsilon(self, delta: Number = 0) -> Log:
        """The least ε for which the mechanism is ε-DP, or (ε, δ)-DP, as the exact logarithm of a fraction.

        >>> table({0: {0: "3/4", 1: "1/4"}, 1: {0: "1/4", 1: "3/4"}}).epsilon()
        ln 3
        """
        return Log(self.ratio(delta))

    def delta(self, epsilon: Log | Number = 0) -> Fraction:
        """The least δ for which it is (ε, δ)-DP: the greatest P[S] − e^ε·Q[S] [Lal20, Def. 3]; ε = ∞ allows all."""
        level = StatedEpsilon(epsilon)
        if level.infinite:
            return self.remainder()
        low, _ = level.between()
        return max((excess(self._law(x), self._law(y), low) for x, y in self._pairs), default=ZERO)

    def curve(self) -> list[tuple[Log, Fraction]]:
        """The whole curve δ(ε): its bends from ε = 0 on; between them δ is a straight line in e^ε.

        After the last bend it is constant. Theorem: for one pair of inputs δ is a sum of positive parts of straight
        lines in e^ε; the maximum over pairs of such functions is convex and again made of straight pieces.
        """
        bends = {Fraction(1)}
        for x, y in self._pairs:
            bends.update(kinks(self._law(x), self._law(y)))
        ratios = sorted(bends)
        for left, right in pairwise(sorted(bends)):
            ratios.extend(self._crossings(left, right))
        points = [(ratio, self.delta(Log(ratio))) for ratio in sorted(set(ratios))]
        return [(Log(ratio), height) for ratio, height in corners(points)]

    def probabilistic_delta(self, epsilon: Log | Number = 0) -> Fraction:
        """The least δ for which it is (ε, δ)-probabilistically private [Lal20, Def. 2]: P[loss > ε]."""
        level = StatedEpsilon(epsilon)
        return max((loss_exceeds(self._law(x), self._law(y), level) for x, y in self._pairs), default=ZERO)

    def additive_secrecy(self) -> Fraction:
        """The least δ of additive secrecy [PDP21, eq. 8]: the greatest total variation distance, δ(0)."""
        return self.delta(0)

    def tradeoff(self, fpr: Number, x: Any = None, y: Any = None) -> Fraction:
        """The least false-negative rate of any attacker whose false-positive rate is at most `fpr`.

        Of the pair x (the hypothesis) and y (the alternative), or of the worst pair of neighbours.
        """
        rate = closed_probability("fpr", fpr)
        chosen = self._pairs if x is None and y is None else [(x, y)]
        rates = (least_miss_rate(self._law(one), self._law(other), rate) for one, other in chosen)
        return min(rates, default=1 - rate)

    # -- two inputs -------------------------------------------------------------------------------------------

    def max_divergence(self, x: Any, y: Any, delta: Number = 0) -> Log:
        """The greatest ln((P[S] − δ) / Q[S]) over sets with P[S] ≥ δ [Rot11, Def. 2]; may be negative if δ > 0."""
        return Log(greatest_ratio(self._law(x), self._law(y), closed_probability("delta", delta)))

    def kl(self, x: Any, y: Any) -> LogSum | float:
        """The Kullback–Leibler divergence Σ P ln(P/Q) [Rot11, Def. 3], exactly as a sum of logarithms."""
        return relative_entropy(self._law(x), self._law(y))

    def kl_bound(self, x: Any, y: Any) -> LogSum | float:
        """ε(e^ε − 1), ε the greater max divergence of the two orders: at least `kl(x, y)`.

        Theorem [Rot11, Lemma 7]; with r = e^ε it is (r − 1)·ln r.
        """
        ratio = max(self._greatest(x, y, ZERO), self._greatest(y, x, ZERO))
        return math.inf if ratio == math.inf else LogSum([(Fraction(ratio) - 1, Fraction(ratio))])

    def distance(self, x: Any, y: Any) -> int:
        """How many steps from neighbour to neighbour lead from x to y."""
        for far in range(len(self._laws)):
            if x == y or (x, y) in within(self.inputs, self._pairs, far):
                return far
        raise InvalidParameter("y", y, "cannot be reached from x by steps between neighbours")

    # -- beliefs ----------------------------------------------------------------------------------------------

    def posterior(
        self, prior: Prior, output: Any, *, without: Callable[[Any], Any] | None = None
    ) -> dict[Any, Fraction]:
        """What an attacker believes about the input after seeing an output [PDP21, eq. 4], by Bayes' rule.

        `prior` maps inputs to probabilities that add up to one, or lists them in order; one number is the
        probability of the first of two inputs. `without` maps an input to the one in which a person's entry was
        replaced by a default: the belief is then that of the world in which the person was left out (eq. 5).
        """
        if self.remainder():
            raise Unprovable("where paths were cut off, the belief in an output is not known exactly")
        believed = self._prior(prior)
        weights = {x: self.probability(without(x) if without else x, output) * mass for x, mass in believed.items()}
        total = sum(weights.values(), ZERO)
        if total == 0:
            raise InvalidParameter("output", output, "cannot occur under this prior")
        return {x: weight / total for x, weight in weights.items()}

    def belief_ratio(self, prior: Prior, without: Callable[[Any], Any]) -> Ratio:
        """The greatest factor between beliefs formed with and without a person, over outputs and events.

        Theorem [PDP21, Thm 2.1]: at most e^2ε. Where an output cannot occur without the person it is infinite.
        """
        if self.remainder():
            raise Unprovable("where paths were cut off, beliefs are not known exactly")
        believed = self._prior(prior)
        left_out = {x: self._law(without(x)) for x in believed}
        greatest: Ratio = Fraction(1)
        for output in self.outputs:
            real = _believed({x: self.probability(x, output) * mass for x, mass in believed.items()})
            if real is None:
                continue  # nobody who holds this prior will see that output
            other = _believed({x: left_out[x].get(output, ZERO) * mass for x, mass in believed.items()})
            if other is None:
                return math.inf
            for x, mass in real.items():
                for one, two in ((mass, other[x]), (other[x], mass)):
                    if one:
                        greatest = max(greatest, ratio_of(one, two))
        return greatest

    # -- new tables from old ----------------------------------------------------------------------------------

    def post_process(self, g: Callable[..., Any] | Mapping[Any, Any]) -> Table:
        """The table of g(output), or of g(output, flip) if g tosses coins of its own [PDP21, L1.6].

        g may be a mapping from every output to its image.
        """
        if isinstance(g, Mapping):
            image: Mapping[Any, Any] = g
            runs = {output: partial(_looked_up, image, output) for output in self.outputs}
        elif takes_coins(g):
            runs = {output: partial(runner(g), output) for output in self.outputs}
        else:
            runs = {output: partial(_without_coins, g, output) for output in self.outputs}
        images, _, _ = laws_of(runs, called(g))
        _refuse_equal_but_different(images.values())
        return self._mapped(lambda _, law: _mixed((mass, images[output]) for output, mass in law.items()))

    def compose(self, other: Table | Callable[[Any], Table]) -> Table:
        """Both outputs together, as a pair; `other` may be a function of the first output [PDP21, L1.1, L1.2]."""
        seconds = {output: other if isinstance(other, Table) else other(output) for output in self.outputs}
        for second in seconds.values():
            if set(second.inputs) != set(self.inputs):
                raise InvalidParameter("other", second, "has other inputs than the table it is composed with")
        if sum(len(second.outputs) for second in seconds.values()) > _MOST_OUTPUTS:
            raise Unprovable("the composition has too many outputs", hint="use .simplified() before composing")

        def both(x: Hashable, law: Mapping[Hashable, Fraction]) -> dict[Hashable, Fraction]:
            return {(a, b): p * q for a, p in law.items() for b, q in seconds[a].law(x).items()}

        return self._mapped(both)

    def repeat(self, times: int) -> Table:
        """`times` independent runs on the same input; outputs with the same ratios are merged into one of them."""
        first = self.simplified()
        names = stand_for = first.outputs  # outputs are numbers on the way: pairs of pairs take longer than their sums
        total = once = _renamed(first, {output: number for number, output in enumerate(names)})
        for _ in range(whole("times", times) - 1):
            paired = total.compose(once).simplified()
            pairs: Any = paired.outputs
            stand_for = tuple((stand_for[a], names[b]) for a, b in pairs)
            total = _renamed(paired, {pair: number for number, pair in enumerate(pairs)})
        return _renamed(total, dict(enumerate(stand_for)))

    def simplified(self) -> Table:
        """Merge outputs with the same ratios under all inputs into the first of them.

        Theorem: they tell the same about the input, so everything above stays as it is (sufficiency).
        """
        kinds: dict[tuple[Fraction, ...], Hashable] = {}
        image: dict[Hashable, Hashable] = {}
        for output in self.outputs:
            column = [law.get(output, ZERO) for law in self._laws.values()]
            first = next(mass for mass in column if mass)
            image[output] = kinds.setdefault(tuple(mass / first for mass in column), output)
        return self._mapped(lambda _, law: _mixed((mass, {image[output]: Fraction(1)}) for output, mass in law.items()))

    def group(self, size: int) -> Table:
        """The same table where inputs up to `size` steps apart count as neighbours [PDP21, L1.7]."""
        steps = whole("size", size)
        relation = _GROUPED if steps > 1 else self._relation
        return Table(self._laws, within(self.inputs, self._pairs, steps), self.paths, relation)

    def under(self, neighbours: Relation) -> Table:
        """The same table with another relation between neighbours."""
        return Table(self._laws, neighbouring_pairs(self.inputs, neighbours), self.paths, neighbours)

    # -- a claim ----------------------------------------------------------------------------------------------

    def check(self, epsilon: Log | Number | Guarantee, delta: Number = 0) -> Verdict:
        """Whether it is (ε, δ)-DP; if not, with a counterexample of as few outputs as there can be.

        In place of ε it takes a PureDP or an ApproxDP. Where paths were cut off, the answer may be that neither is
        shown.
        """
        if isinstance(epsilon, Guarantee):
            epsilon, delta = _claimed(epsilon)
        level, allowed = StatedEpsilon(epsilon), closed_probability("delta", delta)
        self._refuse_if_vacuous()
        broken: list[Counterexample] = []
        for x, y in self._pairs:
            outputs = fewest_outputs(self._law(x), self._law(y), level, allowed)
            if outputs is not None:
                broken.append(self._example(x, y, outputs))
        least = min(broken, key=lambda case: (len(case.outputs), -case.ratio), default=None)
        if least is not None:
            return Verdict(self, level, allowed, least, None)
        is_proved = all(claim_holds(self._law(x), self._law(y), level, allowed) for x, y in self._pairs)
        return Verdict(self, level, allowed, None, self._worst(level, allowed), is_proved=is_proved)

    def promise(self, delta: Number = 0) -> PureDP | ApproxDP:
        """The tight promise as a value that composes and explains itself; ε is rounded up.

        It is about the relation that the table was made with if that has a name; otherwise one unit's input is taken
        to change, which is "change-one".
        """
        allowed = closed_probability("delta", delta)
        self._refuse_if_vacuous()
        if self._relation == _GROUPED:
            raise Unprovable(
                "what a group is promised is not what a promise about one unit says",
                hint="ask the table of single steps, and use .group() of its promise; or .epsilon() of this one",
            )
        terms: Any = {"neighbours": self._relation or "change-one"}
        tight = self.epsilon(allowed)
        if tight.ratio == math.inf:
            raise Unprovable("some output gives its input away: no finite ε holds", hint="ask at a larger δ")
        return ApproxDP(tight.up(), allowed, **terms) if allowed else PureDP(max(LEAST, tight.up()), **terms)

    def _example(self, x: Hashable, y: Hashable, outputs: Iterable[Hashable]) -> Counterexample:
        chosen = tuple(outputs)
        p, q = (sum((self.probability(end, output) for output in chosen), ZERO) for end in (x, y))
        return Counterexample(x, y, chosen, p, q, self.remainder(x))

    def _worst(self, level: StatedEpsilon, delta: Fraction) -> Counterexample | None:
        """The set that needs most of δ, if any is needed; otherwise the output that tells two neighbours apart best."""
        if delta and not level.infinite:
            low, _ = level.between()
            sets = [
                (x, y, [o for o, mass in self._law(x).items() if mass > low * self.probability(y, o)])
                for x, y in self._pairs
            ]
            needed = [self._example(*candidate) for candidate in sets if candidate[2]]
            if needed:
                return max(needed, key=lambda case: case.p - low * case.q)
        singles = (self._example(x, y, [output]) for x, y in self._pairs for output in self._law(x))
        return max(singles, key=lambda case: case.ratio, default=None)

    def _refuse_if_vacuous(self) -> None:
        if not self._pairs:
            raise Unprovable(
                "no two inputs are neighbours, so that every claim would be true of nothing",
                hint="pass two inputs at least, and neighbours that relate them",
            )

    # -- inside -----------------------------------------------------------------------------------------------

    def _law(self, x: Any) -> Mapping[Hashable, Fraction]:
        if x not in self._laws:
            raise InvalidParameter("input", x, "is not in the table", hint=f"there are {list(self._laws)[:8]}")
        return self._laws[x]

    def _greatest(self, x: Any, y: Any, delta: Fraction) -> Ratio:
        return max(Fraction(1), greatest_ratio(self._law(x), self._law(y), delta))

    def _prior(self, prior: Prior) -> dict[Hashable, Fraction]:
        if not isinstance(prior, Mapping):
            listed = [prior] if isinstance(prior, str) or not isinstance(prior, Sequence) else list(prior)
            if len(listed) == 1 and len(self._laws) == 2:
                listed.append(1 - closed_probability("prior", listed[0]))
            if len(listed) != len(self._laws):
                raise InvalidParameter("prior", prior, "does not give one probability for each input")
            prior = dict(zip(self._laws, listed, strict=True))
        probabilities = {x: rational("prior", mass) for x, mass in prior.items()}
        if any(x not in self._laws for x in probabilities) or any(mass < 0 for mass in probabilities.values()):
            raise InvalidParameter("prior", prior, "does not map inputs of the table to probabilities")
        if sum(probabilities.values(), ZERO) != 1:
            raise InvalidParameter("prior", prior, "does not add up to one", hint='write thirds as text, such as "1/3"')
        return probabilities

    def _mapped(self, image: Callable[[Hashable, Mapping[Hashable, Fraction]], dict[Hashable, Fraction]]) -> Table:
        return Table({x: image(x, law) for x, law in self._laws.items()}, self._pairs, self.paths, self._relation)

    def _crossings(self, left: Fraction, right: Fraction) -> list[Fraction]:
        """Where, between two bends, one pair of inputs becomes worse than another: all lines are straight there."""
        lines = set()
        for x, y in self._pairs:
            at_left, at_right = (excess(self._law(x), self._law(y), ratio) for ratio in (left, right))
            lines.add((at_left, at_right))
        return envelope(left, right, lines)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self._laws == other._laws and set(self._pairs) == set(other._pairs)

    __hash__ = None  # type: ignore[assignment]  # (its laws are dictionaries)

    def __repr__(self) -> str:
        return drawn(self)


def table(rows: Rows, *, neighbours: Relation = None) -> Table:
    """A table from {input: {output: probability}}; the probabilities of every input must add up to exactly 1."""
    laws: dict[Hashable, dict[Hashable, Fraction]] = {}
    if not hasattr(rows, "items") or not all(hasattr(row, "items") for row in rows.values()):
        hint = 'gt.verify.table({0: {"a": "1/3", "b": "2/3"}, 1: {"a": "2/3", "b": "1/3"}})'
        raise InvalidParameter("rows", rows, "does not say each input's outputs and their probabilities", hint=hint)
    for x, row in rows.items():
        laws[x] = {output: closed_probability("probability", mass) for output, mass in row.items()}
        total = sum(laws[x].values(), ZERO)
        if total != 1:
            raise InvalidParameter(
                f"the sum for input {x!r}", total, "is not 1", hint='write fractions as text, such as "1/3"'
            )
    return Table(laws, neighbouring_pairs(list(laws), neighbours), relation=neighbours)


def _believed(weights: Mapping[Hashable, Fraction]) -> dict[Hashable, Fraction] | None:
    """Weights divided by their sum, as in Bayes' rule; None if the sum is zero."""
    total = sum(weights.values(), ZERO)
    return {x: weight / total for x, weight in weights.items()} if total else None


def _claimed(promise: Guarantee) -> tuple[Fraction, Fraction]:
    if type(promise) not in {PureDP, ApproxDP}:
        raise InvalidParameter("claim", promise, "is not a claim about ε and δ", hint="check PureDP, or ApproxDP")
    return promise.epsilon, getattr(promise, "delta", ZERO)  # type: ignore[attr-defined]  # (both kinds have one)


def _checked(x: Hashable, law: Mapping[Hashable, Fraction]) -> dict[Hashable, Fraction]:
    """Check a law, and leave out outputs of probability zero. What is missing to 1 was not enumerated."""
    if any(mass < 0 for mass in law.values()) or sum(law.values(), ZERO) > 1:
        raise InvalidParameter(f"the law of input {x!r}", "this one", "is not a law: its probabilities do not add up")
    return {canonical(output): mass for output, mass in law.items() if mass}


def _without_coins(g: Callable[[Any], Any], output: Any, _flip: Any) -> Any:
    return g(output)


def _looked_up(image: Mapping[Any, Any], output: Any, _flip: Any) -> Any:
    return image[output]


def _refuse_equal_but_different(laws: Iterable[Mapping[Hashable, Any]]) -> None:
    first: dict[Hashable, Hashable] = {}
    for law in laws:
        for output in law:
            known = first.setdefault(output, output)
            if known is not output:
                refuse_if_different(known, output)


def _renamed(table: Table, names: Mapping[Hashable, Hashable]) -> Table:
    """The same table with other names for its outputs, no two of which get the same."""
    return table._mapped(lambda _, law: {names[output]: mass for output, mass in law.items()})  # noqa: SLF001 (as above)


def _mixed(parts: Iterable[tuple[Fraction, Mapping[Hashable, Fraction]]]) -> dict[Hashable, Fraction]:
    total: dict[Hashable, Fraction] = {}
    for share, law in parts:
        for output, mass in law.items():
            total[output] = total.get(output, ZERO) + share * mass
    return total


def program(
    f: Callable[..., Any],
    inputs: Iterable[Hashable] = (0, 1),
    *,
    neighbours: Relation = None,
    depth: int = DEPTH,
    paths: int = PATHS,
) -> Table:
    """Run `f(x, flip)` over every path that its coins can take, on every input.

    `f` may also take `choose` and `categorical`, which are `flip.choose` and `flip.categorical`. It must return
    something that can be a key of a dictionary, and depend on its input and its coins alone: some paths are run a
    second time to see whether it does. Paths of more than `depth` coins are cut off; their probability, summed exactly,
    is the remainder of the table, which counts against it.
    `paths` bounds the work on each input.

    >>> def randomized_response(x, flip):
    ...     return x if flip() else flip()
    >>> t = program(randomized_response, inputs=[0, 1])
    >>> t
    output  0    1
    0       3/4  1/4
    1       1/4  3/4
    >>> t.epsilon(), t.delta("ln 2"), t.tradeoff("1/4")
    (ln 3, Fraction(1, 4), Fraction(1, 4))
    """
    listed = list(inputs) if hasattr(inputs, "__iter__") else []
    if not listed or len(set(listed)) != len(listed):
        raise InvalidParameter("inputs", inputs, "is not a list of different inputs", hint="pass inputs=[0, 1]")
    require_coins(f)
    run = runner(f)
    laws, _, total = laws_of({x: partial(run, x) for x in listed}, called(f), depth=depth, paths=paths)
    return Table(laws, neighbouring_pairs(listed, neighbours), total, neighbours)
