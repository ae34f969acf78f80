"""The exact table of a finite mechanism, and everything that follows from it without a limit or a sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias, final

from giveortake.errors import InvalidParameter, Unprovable
from giveortake.exact import LEAST, Number, closed_probability, rational, whole
from giveortake.privacy import ApproxDP, Guarantee, PureDP
from giveortake.verify import pairs as compare
from giveortake.verify.calls import called, runner, takes_coins
from giveortake.verify.enumeration import laws_of
from giveortake.verify.logarithms import Log, LogSum, Ratio, StatedEpsilon
from giveortake.verify.outputs import canonical, refuse_if_different
from giveortake.verify.pairs import ZERO
from giveortake.verify.polylines import corners, envelope
from giveortake.verify.relations import Pair, Relation, neighbouring_pairs, within
from giveortake.verify.verdicts import Counterexample, Verdict, drawn

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
        return max((compare.remainder(law) for law in laws), default=ZERO)

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
        return max((compare.excess(self._law(x), self._law(y), low) for x, y in self._pairs), default=ZERO)

    def curve(self) -> list[tuple[Log, Fraction]]:
        """The whole curve δ(ε): its bends from ε = 0 on; between them δ is a straight line in e^ε.

        After the last bend it is constant. Theorem: for one pair of inputs δ is a sum of positive parts of straight
        lines in e^ε; the maximum over pairs of such functions is convex and again made of straight pieces.
        """
        bends = {Fraction(1)}
        for x, y in self._pairs:
            bends.update(compare.kinks(self._law(x), self._law(y)))
        places = sorted(bends)
        for left, right in pairwise(sorted(bends)):
            places.extend(self._crossings(left, right))
        points = [(place, self.delta(Log(place))) for place in sorted(set(places))]
        return [(Log(place), height) for place, height in corners(points)]

    def probabilistic_delta(self, epsilon: Log | Number = 0) -> Fraction:
        """The least δ for which it is (ε, δ)-probabilistically private [Lal20, Def. 2]: P[loss > ε]."""
        level = StatedEpsilon(epsilon)
        return max((compare.loss_exceeds(self._law(x), self._law(y), level) for x, y in self._pairs), default=ZERO)

    def additive_secrecy(self) -> Fraction:
        """The least δ of additive secrecy [PDP21, eq. 8]: the greatest total variation distance, δ(0)."""
        return self.delta(0)

    def tradeoff(self, fpr: Number, x: Any = None, y: Any = None) -> Fraction:
        """The least false-negative rate of any attacker whose false-positive rate is at most `fpr`.

        Of the pair x (the hypothesis) and y (the alternative), or of the worst pair of neighbours.
        """
        rate = closed_probability("fpr", fpr)
        chosen = self._pairs if x is None and y is None else [(x, y)]
        rates = (compare.least_miss_rate(self._law(one), self._law(other), rate) for one, other in chosen)
        return min(rates, default=1 - rate)

    # -- two inputs -------------------------------------------------------------------------------------------

    def max_divergence(self, x: Any, y: Any, delta: Number = 0) -> Log:
        """The greatest ln((P[S] − δ) / Q[S]) over sets with P[S] ≥ δ [Rot11, Def. 2]; may be negative if δ > 0."""
        return Log(compare.greatest_ratio(self._law(x), self._law(y), closed_probability("delta", delta)))

    def kl(self, x: Any, y: Any) -> LogSum | float:
        """The Kullback–Leibler divergence Σ P ln(P/Q) [Rot11, Def. 3], exactly as a sum of logarithms."""
        return compare.relative_entropy(self._law(x), self._law(y))

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
                        greatest = max(greatest, compare.ratio_of(one, two))
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
            found = compare.fewest_outputs(self._law(x), self._law(y), level, allowed)
            if found is not None:
                broken.append(self._example(x, y, found))
        least = min(broken, key=lambda case: (len(case.outputs), -case.ratio), default=None)
        if least is not None:
            return Verdict(self, level, allowed, least, None)
        shown = all(compare.kept(self._law(x), self._law(y), level, allowed) for x, y in self._pairs)
        return Verdict(self, level, allowed, None, self._worst(level, allowed), shown=shown)

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
            needed = [self._example(*each) for each in sets if each[2]]
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
        return max(Fraction(1), compare.greatest_ratio(self._law(x), self._law(y), delta))

    def _prior(self, prior: Prior) -> dict[Hashable, Fraction]:
        if not isinstance(prior, Mapping):
            listed = [prior] if isinstance(prior, str) or not isinstance(prior, Sequence) else list(prior)
            if len(listed) == 1 and len(self._laws) == 2:
                listed.append(1 - closed_probability("prior", listed[0]))
            if len(listed) != len(self._laws):
                raise InvalidParameter("prior", prior, "does not give one probability for each input")
            prior = dict(zip(self._laws, listed, strict=True))
        found = {x: rational("prior", mass) for x, mass in prior.items()}
        if any(x not in self._laws for x in found) or any(mass < 0 for mass in found.values()):
            raise InvalidParameter("prior", prior, "does not map inputs of the table to probabilities")
        if sum(found.values(), ZERO) != 1:
            raise InvalidParameter("prior", prior, "does not add up to one", hint='write thirds as text, such as "1/3"')
        return found

    def _mapped(self, image: Callable[[Hashable, Mapping[Hashable, Fraction]], dict[Hashable, Fraction]]) -> Table:
        return Table({x: image(x, law) for x, law in self._laws.items()}, self._pairs, self.paths, self._relation)

    def _crossings(self, left: Fraction, right: Fraction) -> list[Fraction]:
        """Where, between two bends, one pair of inputs becomes worse than another: all lines are straight there."""
        lines = set()
        for x, y in self._pairs:
            at_left, at_right = (compare.excess(self._law(x), self._law(y), place) for place in (left, right))
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
