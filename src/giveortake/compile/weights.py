"""The shares of the spend for the measures of one answer: chosen by the question and its bounds, never by rows.

Of every output let V be the variance of the noise in it, as a function of the shares w of the measures. A measure of
share w has variance proportional to 1/w² with Laplace noise, to 1/w with Gaussian noise. For a mean between declared
bounds, V is averaged over all means between them. The shares minimise the product of all V, so that no output counts
for more because its numbers are larger. In ln w this is a convex problem (a sum of logarithms of sums of exponentials),
so that there is one minimum; where every output has a measure of its own, it is at equal shares.

Guarantee of accuracy: no output gets more noise than with every number and every sum by itself and equal shares,
wherever means lie between their bounds; shares go from equal ones towards the minimum as far as that holds, in quarters
of the way. And of privacy: shares are positive and sum to one, so that the parts compose to the spend: ε adds, and so
does μ². They follow from the question, the schema and the caps alone, by sums, products and quotients of doubles, which
are the same on every machine, and are rounded to thousandths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, final

from giveortake.compile.aggregates import Measures
from giveortake.compile.bases import PLAIN, Basis
from giveortake.compile.measures import RowCount, ValueCount, ValueSum
from giveortake.compile.outputs import Formula, Linear, QuantileOf, Ratio
from giveortake.compile.sides import has_sides
from giveortake.plan import Measured
from giveortake.plan.questions import hidden_outputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from giveortake.compile.measures import Measure
    from giveortake.compile.stability import Stability
    from giveortake.plan import Question

Squares: TypeAlias = "dict[int, Fraction]"  # by the place of the measure
Term: TypeAlias = "tuple[float, dict[int, float]]"  # the weight of an output, and what each measure adds to its V

_STEPS = 60
_FINENESS = 1000
_WAYS = (1.0, 0.75, 0.5, 0.25, 0.0)
_SAME = 1 + 1e-9
_WIDEST_BITS = 900
_WIDEST = 2.0**_WIDEST_BITS  # the greatest square that is computed in doubles
_WORTHWHILE = 0.01  # of the width of intervals: a smaller gain changes nothing


@final
@dataclass(frozen=True, slots=True)
class Design:
    """The measures of a question, the formulas of its outputs, and the share of every vector of measures."""

    measures: tuple[Measure, ...]
    formulas: tuple[tuple[str, Formula], ...]
    hidden: tuple[tuple[str, Formula], ...]  # what HAVING and ORDER BY need
    basis: Basis
    shares: tuple[Fraction, ...]

    def parts(self, *, without: int | None = None) -> Iterator[tuple[Measure, Fraction]]:
        """Every measure, with the inverse of the part of the spend that each of its levels gets.

        `without` is the place of a measure that has noise already: the others get its part, too.
        """
        paid = list(zip(vectors(self.measures), self.shares, strict=True))
        whole = sum((share for vector, share in paid if without not in vector), Fraction(0))
        for vector, share in paid:
            for place in vector:
                yield self.measures[place], self.measures[place].levels * (whole or Fraction(1)) / share


def vectors(measures: Sequence[Measure]) -> list[tuple[int, ...]]:
    """The places of measures that are released together, in one vector and at one price."""
    found: list[tuple[int, ...]] = []
    for place, measure in enumerate(measures):
        if measure.joined:
            found[-1] = (*found[-1], place)
        else:
            found.append((place,))
    return found


def plain_design(question: Question, stability: Stability, *, pure: bool) -> Design:
    """The plain design: every number and every sum by itself, with equal shares."""
    plain = _Candidate(question, stability, PLAIN, pure=pure)
    return plain.design(plain.equal)


def design(question: Question, stability: Stability, *, pure: bool, basis: Basis | None = None) -> Design:
    """The measures and shares that make the narrowest intervals; with a `basis`, only in that basis."""
    chosen, shares = choice(question, stability, basis, pure=pure)
    return _Candidate(question, stability, chosen, pure=pure).design(shares)


def choice(
    question: Question, stability: Stability, basis: Basis | None, *, pure: bool
) -> tuple[Basis, tuple[Fraction, ...]]:
    """The basis and shares of the best design. They affect accuracy, never sensitivities."""
    plain = _Candidate(question, stability, PLAIN if basis is None else basis, pure=pure)
    best, shares = plain, plain.equal
    if not plain.measures or not plain.is_judged:
        return best.basis, shares
    narrowest = plain.width(shares) - _WORTHWHILE
    for each in _bases(plain) if basis is None else [basis]:
        candidate = plain if each == plain.basis else _Candidate(question, stability, each, pure=pure)
        weighed = candidate.weighed(no_wider_than=plain.extremes(plain.equal)) if candidate.is_judged else None
        if weighed is not None and candidate.width(weighed) < narrowest:
            best, shares, narrowest = candidate, weighed, candidate.width(weighed)
    return best.basis, shares


@final
class _Candidate:
    """The measures of a question in one basis, and the noise in its outputs as a function of shares."""

    def __init__(self, question: Question, stability: Stability, basis: Basis, *, pure: bool) -> None:
        self.question, self.basis = question, basis
        found = Measures(question, stability, pure, basis=basis)
        self._formulas = tuple((name, found.formula(output)) for name, output in question.outputs)
        for aggregate in question.aggregates():
            found.formula(Measured(aggregate))
        self.measures = tuple(found.listed)
        self._hidden = tuple(("", found.formula(output)) for output in hidden_outputs(question))
        self._judged = [formula for _, formula in (*self._formulas, *self._hidden)]
        self._pure = pure
        self._vectors = vectors(self.measures)
        self.equal = tuple(Fraction(1, len(self._vectors)) for _ in self._vectors)

    def design(self, shares: tuple[Fraction, ...]) -> Design:
        return Design(self.measures, self._formulas, self._hidden, self.basis, shares)

    @cached_property
    def is_judged(self) -> bool:
        """Whether every vector of measures affects some output, and doubles can hold the numbers."""
        if not self._is_within_doubles:
            return False
        return {place for _, adds in self._terms for place in adds} == set(range(len(self._vectors)))

    def weighed(self, *, no_wider_than: Sequence[float]) -> tuple[Fraction, ...] | None:
        """The shares at the minimum, or as far towards it from equal shares as is allowed; None if none are.

        At the minimum, a share is the mean over outputs of its measure's part of V. Each step of the search uses that.
        """
        shares = [1.0 / len(self._vectors) for _ in self._vectors]
        rest = 2 if self._pure else 1
        for _ in range(_STEPS if len(shares) > 1 else 0):
            parts, whole = [0.0 for _ in shares], 0.0
            for counts, adds in self._terms:
                noise = self._noise(adds, shares)
                total = _total(noise.values())
                whole += counts
                for place, each in noise.items():
                    parts[place] += counts * each / total
            shares = [(rest * share + part / whole) / (rest + 1) for share, part in zip(shares, parts, strict=True)]
        for way in _WAYS:
            between = [way * share + (1 - way) / len(shares) for share in shares]
            rounded = [max(1, round(share * _FINENESS)) for share in between]
            found = tuple(Fraction(each, sum(rounded)) for each in rounded)
            if all(ours <= most * _SAME for ours, most in zip(self.extremes(found), no_wider_than, strict=True)):
                return found
        return None

    def width(self, shares: tuple[Fraction, ...]) -> float:
        """The mean logarithm of the standard deviations of outputs."""
        logarithms, whole, numbers = 0.0, 0.0, [float(share) for share in shares]
        for counts, adds in self._terms:
            logarithms += counts * math.log(_total(self._noise(adds, numbers).values())) / 2
            whole += counts
        return logarithms / whole

    def extremes(self, shares: tuple[Fraction, ...]) -> list[float]:
        """V of every output; for a mean, at both ends and in the middle of its bounds."""
        numbers = [float(share) for share in shares]
        return [_total(self._noise(adds, numbers).values()) for adds in self._extremes]

    def _noise(self, adds: dict[int, float], shares: Sequence[float]) -> dict[int, float]:
        """What every vector adds to V, given its share."""
        if self._pure:
            return {place: each / (shares[place] * shares[place]) for place, each in adds.items()}
        return {place: each / shares[place] for place, each in adds.items()}

    @cached_property
    def _leaves(self) -> list[list[_Leaf]]:
        """The parts of every output."""
        return [list(_leaves(formula)) for formula in self._judged]

    @cached_property
    def _terms(self) -> list[Term]:
        """What every vector would add to V of every output if it had the whole spend."""
        return [(1 / len(leaves), self._by_vector(leaf.average)) for leaves in self._leaves for leaf in leaves]

    @cached_property
    def _extremes(self) -> list[dict[int, float]]:
        return [self._by_vector(at) for leaves in self._leaves for leaf in leaves for at in leaf.extremes]

    def _by_vector(self, squares: Squares) -> dict[int, float]:
        found: dict[int, float] = {}
        for place, vector in enumerate(self._vectors):
            noise = _total(float(squares[index]) * self._units[index] for index in vector if squares.get(index))
            if noise:
                found[place] = noise
        return found

    @cached_property
    def _is_within_doubles(self) -> bool:
        """Whether doubles can hold V of every output, and its terms."""
        squares = [
            square
            for leaves in self._leaves
            for leaf in leaves
            for at in (leaf.average, *leaf.extremes)
            for square in at.values()
        ]
        if any(map(_is_too_wide, [*squares, *(reach * reach for reach in self._reaches)])):
            return False
        averages, extremes = (
            [_total(adds.values()) for adds in each] for each in ([adds for _, adds in self._terms], self._extremes)
        )
        return all(1 / _WIDEST < each < _WIDEST for each in averages) and all(each < _WIDEST for each in extremes)

    @cached_property
    def _reaches(self) -> list[Fraction]:
        """How far one unit moves every measure, in units of its values."""
        return [(each.l1 if self._pure else each.l2) * each.granularity for each in self.measures]

    @cached_property
    def _units(self) -> list[float]:
        """The variance of every measure, up to a factor, if it had the whole spend."""
        levels = [each.levels**2 if self._pure else each.levels for each in self.measures]
        return [float(reach * reach) * times for reach, times in zip(self._reaches, levels, strict=True)]


def _bases(plain: _Candidate) -> Iterator[Basis]:
    """The bases to compare: everything by itself; sums centred wherever their number is measured too; and sides."""
    yield PLAIN
    schema = plain.question.relation.schema
    rows = any(isinstance(each, RowCount) for each in plain.measures)
    numbers = [each.of for each in plain.measures if isinstance(each, ValueCount)]
    always, numbered, summed = [], [], []  # values that are summed: never missing; with their number; without it
    for measure in plain.measures:
        if isinstance(measure, ValueSum) and has_sides(measure.of, domain := measure.of.domain(schema)):
            if not domain.nullable:
                always += [measure.of] if rows else []
            elif measure.of in numbers:
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
    """The squared factors of every measure's noise in an output, or in a part of one."""

    average: Squares
    extremes: tuple[Squares, ...]

    @classmethod
    def of_linear(cls, formula: Linear) -> _Leaf:
        squares = {index: weight**2 for index, weight in formula.weights.items()}
        return cls(squares, (squares,))

    @classmethod
    def of_ratio(cls, ratio: Ratio) -> _Leaf:
        """The squares of over − r · under, averaged over all r between the ratio's bounds, or between 0 and 1."""
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
    """The leaf of an output, or those of its parts."""
    match formula:
        case Linear():
            if formula.weights:
                yield _Leaf.of_linear(formula)
        case Ratio():
            yield _Leaf.of_ratio(formula)
        case QuantileOf():
            yield _Leaf({formula.measure: Fraction(1)}, ({formula.measure: Fraction(1)},))
        case _:
            for part in parts_of(formula):
                yield from _leaves(part)


def parts_of(formula: Formula) -> Iterator[Formula]:
    """The formulas that a function of formulas is made of."""
    for each in fields(formula):
        value = getattr(formula, each.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Formula):
                yield part


def _is_too_wide(square: Fraction) -> bool:
    """Whether a square exceeds `_WIDEST`; bit lengths decide first, which is faster."""
    return square.numerator.bit_length() - square.denominator.bit_length() >= _WIDEST_BITS and square > _WIDEST


def _total(numbers: Iterable[float]) -> float:
    """The sum, added one by one: the rounding of `sum` differs between versions of Python."""
    total = 0.0
    for number in numbers:
        total += number
    return total
