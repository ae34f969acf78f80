"""How the spend is shared out between the measures of one answer: by the question and its bounds, never by its rows.

Of every output let V be the variance of the noise in it, as a function of the shares w of the measures. A measure of
share w has variance proportional to 1/w² with Laplace noise, to 1/w with Gaussian noise. For a mean between declared
bounds, V is averaged over all means between them. The shares minimise the product of all V, so that no output counts
for more because its numbers are larger. In ln w this is a convex problem (a sum of logarithms of sums of exponentials),
so that there is one minimum; where every output has a measure of its own, it is at equal shares.

Guarantee of accuracy: no output gets more noise than with every number and every sum by itself and equal shares, as the
first rules had it, wherever means lie between their bounds; shares go from equal ones towards the minimum as far as
that holds, in quarters of the way. And of privacy: shares are positive and sum to one, so that the parts compose to the
spend: ε adds, and so does μ². They follow from the question, the schema and the caps alone, by sums, products and
quotients of doubles, which are the same on every machine, and are rounded to thousandths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, final

from giveortake.compile.aggregates import Measures
from giveortake.compile.bases import PLAIN, Basis
from giveortake.compile.measures import RowCount, ValueCount, ValueSum
from giveortake.compile.outputs import Apply, Linear, QuantileOf, Ratio
from giveortake.compile.rules import Rules
from giveortake.compile.sides import has_sides
from giveortake.plan import Measured
from giveortake.plan.aggregates import aggregates_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from giveortake.compile.measures import Measure
    from giveortake.compile.outputs import Formula
    from giveortake.compile.stability import Stability
    from giveortake.plan import Question

Squares: TypeAlias = "dict[int, Fraction]"  # by the places of measures
Term: TypeAlias = "tuple[float, dict[int, float]]"  # how much an output counts, and what every measure adds to its V

_STEPS = 100
_FINENESS = 1000
_WAYS = (1.0, 0.75, 0.5, 0.25, 0.0)
_SAME = 1 + 1e-9
_WORTHWHILE = 0.01  # of the width of intervals: for less, nothing is changed


@final
@dataclass(frozen=True, slots=True)
class Design:
    """What is measured for a question, how outputs follow from that, and the share of every vector of measures."""

    measures: tuple[Measure, ...]
    formulas: tuple[tuple[str, Formula], ...]
    basis: Basis
    shares: tuple[Fraction, ...]

    def parts(self) -> Iterator[tuple[Measure, Fraction]]:
        """Every measure, and one over the part of the spend that each of its levels has."""
        for vector, share in zip(vectors(self.measures), self.shares, strict=True):
            for place in vector:
                yield self.measures[place], self.measures[place].levels / share

    @property
    def named(self) -> list[str]:
        """What enters the name of the question: nothing if all shares are equal, as they were by the first rules."""
        return [] if len(set(self.shares)) <= 1 else [str(share) for share in self.shares]


def vectors(measures: Sequence[Measure]) -> list[tuple[int, ...]]:
    """The places of measures that are released together, in one vector and at one price."""
    found: list[tuple[int, ...]] = []
    for place, measure in enumerate(measures):
        if measure.joined:
            found[-1] = (*found[-1], place)
        else:
            found.append((place,))
    return found


def design(question: Question, stability: Stability, rules: Rules, *, pure: bool, basis: Basis | None = None) -> Design:
    """The measures and shares that make the narrowest intervals; with a `basis`, in that."""
    plain = _Candidate(question, stability, rules, PLAIN if basis is None else basis)
    if rules is Rules.FIRST or not plain.measures:
        return plain.design(plain.equal())
    best, shares = plain, plain.equal()
    most = plain.extremes(shares, pure=pure)
    narrowest = plain.width(shares, pure=pure) - _WORTHWHILE
    for each in _bases(plain) if basis is None else [basis]:
        candidate = _Candidate(question, stability, rules, each)
        for weighed in candidate.weighed(pure=pure):
            noise = zip(candidate.extremes(weighed, pure=pure), most, strict=True)
            if all(ours <= theirs * _SAME for ours, theirs in noise):
                width = candidate.width(weighed, pure=pure)
                if width < narrowest:
                    best, shares, narrowest = candidate, weighed, width
                break
    return best.design(shares)


@final
class _Candidate:
    """The measures of a question in one basis."""

    def __init__(self, question: Question, stability: Stability, rules: Rules, basis: Basis) -> None:
        self.question, self.stability, self.basis = question, stability, basis
        found = Measures(question, stability, rules, basis=basis)
        self._formulas = tuple((name, found.formula(output)) for name, output in question.outputs)
        shown = {aggregate for _, output in question.outputs for aggregate in aggregates_in(output)}
        others = [found.formula(Measured(each)) for each in question.aggregates() if each not in shown]  # as HAVING's
        self._judged = [*(formula for _, formula in self._formulas), *others]
        self.measures = tuple(found.listed)
        self._vectors = vectors(self.measures)

    def design(self, shares: tuple[Fraction, ...]) -> Design:
        return Design(self.measures, self._formulas, self.basis, shares)

    def equal(self) -> tuple[Fraction, ...]:
        return tuple(Fraction(1, len(self._vectors)) for _ in self._vectors)

    def weighed(self, *, pure: bool) -> Iterator[tuple[Fraction, ...]]:
        """The shares of the minimum, then shares between these and equal ones.

        At the minimum, a share is the mean over outputs of the part that its measure has in V. Every step goes there.
        """
        power, terms = 2 if pure else 1, self._terms(pure=pure)
        shares = [1.0 / len(self._vectors) for _ in self._vectors]
        for _ in range(_STEPS):
            parts, whole = [0.0 for _ in shares], 0.0
            for counts, adds in terms:
                noise = {place: each / _power(shares[place], power) for place, each in adds.items()}
                total = _total(noise.values())
                whole += counts
                for place, each in noise.items():
                    parts[place] += counts * each / total
            shares = [(power * share + part / whole) / (power + 1) for share, part in zip(shares, parts, strict=True)]
        for way in _WAYS:
            between = [way * share + (1 - way) / len(shares) for share in shares]
            rounded = [max(1, round(share * _FINENESS)) for share in between]
            yield tuple(Fraction(each, sum(rounded)) for each in rounded)

    def width(self, shares: tuple[Fraction, ...], *, pure: bool) -> float:
        """The mean logarithm of the standard deviations of outputs."""
        power, logarithms, whole = 2 if pure else 1, 0.0, 0.0
        for counts, adds in self._terms(pure=pure):
            noise = _total(each / _power(float(shares[place]), power) for place, each in adds.items())
            logarithms += counts * math.log(noise) / 2
            whole += counts
        return logarithms / whole

    def extremes(self, shares: tuple[Fraction, ...], *, pure: bool) -> list[float]:
        """V of every output, where it is a mean at the ends and in the middle of its bounds."""
        power = 2 if pure else 1
        return [
            _total(each / _power(float(shares[place]), power) for place, each in self._by_vector(at, pure=pure).items())
            for formula in self._judged
            for leaf in _leaves(formula)
            for at in leaf.extremes
        ]

    def _terms(self, *, pure: bool) -> list[Term]:
        """What every vector adds to V of every output, were the whole spend its own."""
        return [
            (1 / len(leaves), self._by_vector(leaf.average, pure=pure))
            for formula in self._judged
            if (leaves := list(_leaves(formula)))
            for leaf in leaves
        ]

    def _by_vector(self, squares: Squares, *, pure: bool) -> dict[int, float]:
        found: dict[int, float] = {}
        for place, vector in enumerate(self._vectors):
            for index in vector:
                if squares.get(index):
                    measure = self.measures[index]
                    reach = (measure.l1 if pure else measure.l2) * measure.granularity
                    noise = squares[index] * reach**2 * measure.levels ** (2 if pure else 1)
                    found[place] = found.get(place, 0.0) + float(noise)
        return found


def _bases(plain: _Candidate) -> Iterator[Basis]:
    """Ways of measuring: everything by itself; sums from the middle wherever their number is measured too; sides."""
    yield PLAIN
    schema, stability = plain.question.relation.schema, plain.stability
    rows = RowCount.within(stability) in plain.measures
    always, numbered, summed = [], [], []  # values that are summed: never missing; with their number; without it
    for measure in plain.measures:
        if isinstance(measure, ValueSum) and has_sides(domain := measure.of.domain(schema)):
            if not domain.nullable:
                always += [measure.of] if rows else []
            elif ValueCount.within(stability, measure.of) in plain.measures:
                numbered.append(measure.of)
            else:
                summed.append(measure.of)
    centred = (*always, *numbered)
    if centred:
        yield Basis(centred)
    counted = next(iter([*always, *numbered, *summed]), None) if rows else None
    sided = tuple(dict.fromkeys([*always[:1], *numbered, *([] if counted is None else [counted])]))
    if sided:
        yield Basis(centred, sided, counted)


@final
@dataclass(frozen=True, slots=True)
class _Leaf:
    """By what the noise of every measure is multiplied, squared, in an output or a part of one."""

    average: Squares
    extremes: tuple[Squares, ...]

    @classmethod
    def of_linear(cls, formula: Linear) -> _Leaf:
        squares = {index: weight**2 for index, weight in formula.weights.items()}
        return cls(squares, (squares,))

    @classmethod
    def of_ratio(cls, ratio: Ratio) -> _Leaf:
        """(over − r · under)², averaged over all r between the bounds of the ratio; between 0 and 1 if it has none."""
        low, high = (Fraction(0), Fraction(1)) if ratio.low is None or ratio.high is None else (ratio.low, ratio.high)
        middle = (low + high) / 2
        at_low, at_middle, at_high = (
            {index: weight**2 for index, weight in ratio.over.plus(ratio.under.times(-r)).weights.items()}
            for r in (low, middle, high)
        )
        places = sorted({*at_low, *at_middle, *at_high})
        zero = Fraction(0)
        average = {  # Simpson's rule, which is exact for squares
            place: (at_low.get(place, zero) + 4 * at_middle.get(place, zero) + at_high.get(place, zero)) / 6
            for place in places
        }
        return cls(average, (at_low, at_middle, at_high))


def _leaves(formula: Formula) -> Iterator[_Leaf]:
    """The noise in an output, or in each of its parts."""
    match formula:
        case Linear():
            if formula.weights:
                yield _Leaf.of_linear(formula)
        case Ratio():
            yield _Leaf.of_ratio(formula)
        case QuantileOf():
            yield _Leaf({formula.measure: Fraction(1)}, ({formula.measure: Fraction(1)},))
        case Apply():
            for part in formula.parts:
                yield from _leaves(part)


def _power(number: float, power: int) -> float:
    return number if power == 1 else number * number


def _total(numbers: Iterable[float]) -> float:
    """One by one: `sum` rounds in other ways from one version of Python to the next."""
    total = 0.0
    for number in numbers:
        total += number
    return total
