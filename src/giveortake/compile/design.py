"""Designs: which measures an answer is computed from, by which formulas, and how the spend is split among them.

The question and its bounds decide, never rows.

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
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, final

from giveortake.compile.formulas import Apply, Formula, FunctionOf, Linear, Moments, QuantileOf, Ratio
from giveortake.compile.measures import (
    PLAIN,
    Basis,
    DistinctCount,
    Measure,
    PersonCount,
    PrefixSums,
    RowCount,
    Sides,
    ValueCount,
    ValueSum,
    has_sides,
)
from giveortake.compile.windows import ShareOf, WindowOf
from giveortake.errors import QueryRefused
from giveortake.plan import AggregateKind, Call, Computed, Kind, Measured, Quotient, Window
from giveortake.plan import Literal as Constant
from giveortake.plan.question import hidden_outputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from giveortake.compile.sensitivity import Stability
    from giveortake.plan import Aggregate, Domain, Expression, Question
    from giveortake.plan.question import Output

_Derived = TypeVar("_Derived")
_Cache: TypeAlias = "dict[tuple[str, int, bool], tuple[object, Any]]"


@final
@dataclass(slots=True)
class Measures:
    """The measures of a question, each once, and the formula of every output."""

    question: Question
    stability: Stability
    pure: bool  # whether the noise is Laplace noise, for which other matrices are best
    listed: list[Measure] = field(default_factory=list)
    basis: Basis = PLAIN
    cache: _Cache = field(default_factory=dict, repr=False, compare=False)
    """What follows from an expression in any basis, by its id; it is held so that the id stays unique."""

    def formula(self, output: Output) -> Formula:
        """The formula that computes an output from the measures."""
        match output:
            case Fraction():
                return Linear({}, output)
            case Measured():
                return self._aggregate(output.aggregate)
            case Quotient():
                left, right = self.formula(output.left), self.formula(_divisor(output))
                share = self._share_of_total(left, right) if output.operation == "divide" else None
                quotient = _arithmetic(output.operation, left, right) if share is None else share
                return self._share(quotient) if isinstance(quotient, Ratio) else quotient
            case Computed():
                return FunctionOf(output.function, tuple(map(self.formula, output.parts)), output.constant)
            case Window():
                argument = None if output.argument is None else self.formula(output.argument)
                order = tuple(
                    (sort_key, None if sort_key.by is None else self.formula(sort_key.by)) for sort_key in output.order
                )
                return WindowOf(output, argument, order)
        raise QueryRefused(f"no answer is computed of a {type(output).__name__}")

    def _share_of_total(self, left: Formula, right: Formula) -> ShareOf | None:
        """The share of a count in its own total, if the quotient of both formulas is a multiple of that."""
        if not isinstance(left, Linear) or not isinstance(right, WindowOf) or not right.is_plain_total:
            return None
        argument = right.argument
        if not isinstance(argument, Linear) or argument.constant or left.constant or len(argument.weights) != 1:
            return None
        ((index, weight),) = argument.weights.items()
        if left.weights.keys() != {index} or weight <= 0 or not isinstance(self.listed[index], _NUMBERS_OF_THINGS):
            return None
        return ShareOf(argument, right, left.weights[index] / weight)

    def _aggregate(self, aggregate: Aggregate) -> Formula:
        expression, kind = aggregate.expression, aggregate.kind
        if kind is AggregateKind.COUNT_ROWS:
            return self._rows(whole=True)
        if kind is AggregateKind.COUNT_PERSONS:
            return self._persons()
        assert expression is not None  # noqa: S101 (any other aggregate is of something)
        match kind:
            case AggregateKind.COUNT_VALUES:
                return self._values(expression, whole=True)
            case AggregateKind.COUNT_DISTINCT:
                measure = DistinctCount.within(self.stability, expression, self._domain(expression))
                return self._linear(measure, whole=True)
            case AggregateKind.SUM:
                return self._total(expression, centred=False, whole=self._domain(expression).kind is Kind.INTEGER)
            case AggregateKind.MEAN:
                return self._mean(expression)
            case AggregateKind.VARIANCE:
                return self._variance(expression)
            case AggregateKind.DEVIATION:
                return Apply("sqrt", (self._variance(expression),))
            case AggregateKind.SAMPLE_VARIANCE:
                return self._sample_variance(expression)
            case AggregateKind.SAMPLE_DEVIATION:
                return Apply("sqrt", (self._sample_variance(expression),))
            case AggregateKind.QUANTILE:
                return self._quantile(expression, aggregate.quantile or Fraction(0))
        if aggregate.beside is not None:
            return self._moments(str(kind), expression, aggregate.beside)
        raise QueryRefused(f"the {kind} is not released")

    def _moments(self, function: str, y: Expression, x: Expression) -> Formula:
        """Moments of pairs (x, y) around the middles of their bounds; each measure is asked for once."""
        pairs = [_missing_with(x, y, self._domain(y)), _missing_with(y, x, self._domain(x))]
        ends = [self._domain(expression).ends() for expression in pairs]
        middles = [(low + high) / 2 for low, high in ends]
        reach = [(high - low) / 2 for low, high in ends]
        if 0 in reach:
            raise QueryRefused(f"the {function} of a column with only one possible value is known without asking")
        number = self._values(pairs[0])
        means = []
        for expression, middle, farthest in zip(pairs, middles, reach, strict=True):
            mean = self._moment(expression, number, -farthest, farthest)
            means.append(replace(mean, over=mean.over.plus(number.times(-middle))))
        squares = [
            self._moment(_square(expression, middle, farthest), number, Fraction(0), farthest**2) if needed else None
            for expression, middle, farthest, needed in zip(pairs, middles, reach, _SQUARES[function], strict=True)
        ]
        most = reach[0] * reach[1]
        away = [
            Call("subtract", (Call("clamp", (expression, Constant(low), Constant(high))), Constant(middle)))
            for expression, (low, high), middle in zip(pairs, ends, middles, strict=True)
        ]
        product = Call("clamp", (Call("multiply", tuple(away)), Constant(-most), Constant(most)))
        return Moments(
            function,
            u=means[0],
            v=means[1],
            uv=self._moment(product, number, -most, most),
            uu=squares[0],
            vv=squares[1],
            number=number if function == "sample covariance" else None,
            middles=(float(middles[0]), float(middles[1])),
            reach=float(most),
        )

    def _moment(self, expression: Expression, number: Linear, low: Fraction, high: Fraction) -> Ratio:
        """A mean over values whose number is measured already."""
        over = self._total(expression, centred=True, number=number)
        return Ratio(over, number, low, high, self._moved(expression))

    def _mean(self, expression: Expression) -> Ratio:
        """The sum over the number of values.

        If only the mean is asked for, values are centred at the middle of the bounds: half the sensitivity, same mean.
        """
        has_sum = any(
            aggregate.kind is AggregateKind.SUM and aggregate.expression == expression
            for aggregate in self.question.aggregates()
        )
        return self._ratio(expression, centred=not has_sum)

    def _variance(self, expression: Expression) -> Formula:
        """E(x − c)² − (E(x − c))² around the middle c of the bounds."""
        low, high = self._domain(expression).ends()
        middle = (low + high) / 2
        reach = (high - low) / 2
        if reach == 0:
            return Linear({}, Fraction(0))
        square = _square(expression, middle, reach)
        mean, number = self._mean(expression), self._values(expression)
        squares = self._total(square, centred=True, number=number)
        return Apply(
            "spread",
            (
                replace(mean, over=squares, low=Fraction(0), high=reach**2, slack=self._moved(square)),
                replace(mean, over=mean.over.plus(number.times(-middle)), low=-reach, high=reach),
            ),
        )

    def _sample_variance(self, expression: Expression) -> Formula:
        """The variance times n / (n − 1), with the number n of values that is released for the variance anyway."""
        variance = self._variance(expression)
        return variance if isinstance(variance, Linear) else Apply("of a sample", (variance, self._values(expression)))

    def _ratio(self, expression: Expression, *, centred: bool) -> Ratio:
        """The mean of values between its bounds."""
        domain = self._domain(expression)
        number = self._values(expression)
        low, high = domain.ends()
        over = self._total(expression, centred=centred, number=number)
        return Ratio(over, number, low, high, self._moved(expression))

    def _quantile(self, expression: Expression, quantile: Fraction) -> QuantileOf:
        sums = PrefixSums.within(self.stability, expression, self._domain(expression), pure=self.pure)
        return QuantileOf(self._index_of(sums), quantile, sums.whole)

    def _share(self, ratio: Ratio) -> Ratio:
        """Bound the ratio of a number of rows, values or persons to the number of all rows, by 0 and its factor.

        A person's values, and the person, count in the same parts as their rows (`giveortake.engines.questions`).
        """
        rows = {self.listed.index(measure): Fraction(1) for measure in self.listed if isinstance(measure, RowCount)}
        rows = rows if self.basis.rows is None else dict(self._rows().weights)
        counted = [isinstance(self.listed[index], RowCount | ValueCount | PersonCount) for index in ratio.over.weights]
        bounded = ratio.low is not None or ratio.high is not None
        plain = ratio.over.constant == ratio.under.constant == 0
        if bounded or not plain or dict(ratio.under.weights) != rows or counted != [True]:
            return ratio
        (weight,) = ratio.over.weights.values()
        return replace(ratio, low=min(weight, Fraction(0)), high=max(weight, Fraction(0)))

    # -- measures -----------------------------------------------------------------------------------------------

    def _rows(self, *, whole: bool = False) -> Linear:
        """The number of rows: measured, or computed from the sides of values and the rows without a value."""
        if self.basis.rows is None:
            return self._linear(RowCount.within(self.stability), whole=whole)
        return self._sides(self.basis.rows, *self._sided(self.basis.rows).rows, whole=whole)

    def _values(self, expression: Expression, *, whole: bool = False) -> Linear:
        """The number of values; if none can be missing, the number of rows."""
        if not self._domain(expression).nullable:
            return self._rows(whole=whole)
        if expression in self.basis.sided:
            return self._sides(expression, *self._sided(expression).number, whole=whole)
        return self._linear(ValueCount.within(self.stability, expression), whole=whole)

    def _persons(self) -> Linear:
        """The number of persons; if rows are protected, each row is one."""
        if self.question.relation.person is None:
            return self._rows(whole=True)
        return self._linear(PersonCount.within(self.stability), whole=True)

    def _total(
        self, expression: Expression, *, centred: bool, whole: bool = False, number: Linear | None = None
    ) -> Linear:
        """The sum of values; `centred` measures distances from the middle, and adds the middle times the number."""
        if expression in self.basis.sided:
            return self._sides(expression, *self._sided(expression).total, whole=whole)
        centred = centred or expression in self.basis.centred
        measure = self._sum(expression, centred=centred)
        if measure.centre == 0:
            return self._linear(measure, whole=whole)
        number = self._values(expression) if number is None else number
        summed = self._linear(measure).plus(number.times(measure.centre))
        return Linear(summed.weights, summed.constant, whole)

    def _moved(self, expression: Expression) -> Fraction:
        """How far rounding to the lattice may move the values of an expression."""
        return self._sum(expression, centred=False).moved(self._domain(expression))

    def _sum(self, expression: Expression, *, centred: bool) -> ValueSum:
        domain = self._domain(expression)
        return self._cached(
            "sum", expression, centred, lambda: ValueSum.within(self.stability, expression, domain, centred=centred)
        )

    def _linear(self, measure: Measure, *, whole: bool = False) -> Linear:
        return Linear({self._index_of(measure): Fraction(1)}, Fraction(0), whole)

    def _sided(self, expression: Expression) -> Sides:
        domain = self._domain(expression)
        missing = domain.nullable and self.basis.rows == expression
        return self._cached(
            "sides", expression, missing, lambda: Sides.within(self.stability, expression, domain, missing=missing)
        )

    def _sides(self, expression: Expression, *weights: Fraction, whole: bool) -> Linear:
        """A linear combination of the sides of values, with the given weights."""
        indices = [self._index_of(measure) for measure in self._sided(expression).measures]
        return Linear(
            {index: weight for index, weight in zip(indices, weights, strict=False) if weight}, Fraction(0), whole
        )

    def _index_of(self, measure: Measure) -> int:
        if measure not in self.listed:
            self.listed.append(measure)
        return self.listed.index(measure)

    def _domain(self, expression: Expression) -> Domain:
        schema = self.question.relation.schema
        return self._cached("domain", expression, False, lambda: expression.domain(schema))

    def _cached(self, kind: str, expression: Expression, variant: bool, make: Callable[[], _Derived]) -> _Derived:
        key = (kind, id(expression), variant)
        if key not in self.cache:
            self.cache[key] = expression, make()
        derived: _Derived = self.cache[key][1]
        return derived


def _square(expression: Expression, middle: Fraction, reach: Fraction) -> Expression:
    """The square (x − c)², clamped to the greatest square that is possible within the bounds."""
    away = Call("subtract", (expression, Constant(middle)))
    return Call("clamp", (Call("multiply", (away, away)), Constant(Fraction(0)), Constant(reach**2)))


def _missing_with(expression: Expression, other: Expression, domain: Domain) -> Expression:
    """A value, missing in rows in which another value is missing."""
    if not domain.nullable:
        return expression
    return Call("case", (Call("is_null", (other,)), Constant(None), expression))


_SQUARES = {  # whether a function of moments needs the squares of x, and of y
    "covariance": (False, False),
    "sample covariance": (False, False),
    "correlation": (True, True),
    "slope": (True, False),
    "intercept": (True, False),
}
_NUMBERS_OF_THINGS = (RowCount, ValueCount, PersonCount, DistinctCount)


def _divisor(output: Quotient) -> Output:
    """The divisor of a quotient, without NULLIF(x, 0): a division by zero is missing anyway."""
    right = output.right
    if output.operation == "divide" and isinstance(right, Computed) and right.function == "nullif":
        return right.parts[0] if right.parts[1] == 0 else right
    return right


def _arithmetic(operation: str, left: Formula, right: Formula) -> Formula:
    """The formula of an operation: exact for sums, multiples and quotients of linear formulas, else part by part."""
    constant = right.constant if isinstance(right, Linear) and not right.weights else None
    if operation in {"add", "subtract"} and isinstance(left, Linear) and isinstance(right, Linear):
        return left.plus(right.times(Fraction(-1 if operation == "subtract" else 1)))
    if isinstance(left, Linear) and not left.weights and constant is None:
        if operation in {"multiply", "add"}:
            return _arithmetic(operation, right, left)
        if operation == "subtract" and isinstance(right, Ratio):
            return right.times(Fraction(-1)).shifted(left.constant)
    if operation in {"multiply", "divide"} and constant is not None:
        if operation == "divide" and constant == 0:
            raise QueryRefused("an answer is divided by zero")
        factor = constant if operation == "multiply" else 1 / constant
        if isinstance(left, Linear | Ratio):
            return left.times(factor)
    if operation == "divide" and isinstance(left, Linear) and isinstance(right, Linear):
        return Ratio(left, right, None, None, Fraction(0))
    if operation in {"add", "subtract"} and isinstance(left, Ratio) and constant is not None:
        return left.shifted(-constant if operation == "subtract" else constant)
    return Apply(operation, (left, right))


Squares: TypeAlias = "dict[int, Fraction]"  # by the index of the measure
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

        `without` is the index of a measure that has noise already: the others get its part, too.
        """
        paid = list(zip(vectors(self.measures), self.shares, strict=True))
        whole = sum((share for vector, share in paid if without not in vector), Fraction(0))
        for vector, share in paid:
            for index in vector:
                yield self.measures[index], self.measures[index].levels * (whole or Fraction(1)) / share


def vectors(measures: Sequence[Measure]) -> list[tuple[int, ...]]:
    """The indices of measures that are released together, in one vector and at one price."""
    index_groups: list[tuple[int, ...]] = []
    for index, measure in enumerate(measures):
        if measure.joined:
            index_groups[-1] = (*index_groups[-1], index)
        else:
            index_groups.append((index,))
    return index_groups


def plain_design(question: Question, stability: Stability, *, pure: bool) -> Design:
    """The plain design: every number and every sum by itself, with equal shares."""
    plain = _Candidate(question, stability, PLAIN, pure=pure)
    return plain.design(plain.equal)


def design(question: Question, stability: Stability, *, pure: bool, basis: Basis | None = None) -> Design:
    """The measures and shares that make the narrowest intervals; with a `basis`, only in that basis.

    They affect accuracy, never sensitivities.
    """
    plain = _Candidate(question, stability, PLAIN if basis is None else basis, pure=pure)
    best, shares = plain, plain.equal
    if not plain.measures or not plain.is_judged:
        return best.design(shares)
    narrowest = plain.width(shares) - _WORTHWHILE
    for alternative in _bases(plain) if basis is None else [basis]:
        candidate = (
            plain
            if alternative == plain.basis
            else _Candidate(question, stability, alternative, pure=pure, other=plain)
        )
        weighed = candidate.weighed(no_wider_than=plain.extremes(plain.equal)) if candidate.is_judged else None
        if weighed is not None and candidate.width(weighed) < narrowest:
            best, shares, narrowest = candidate, weighed, candidate.width(weighed)
    return best.design(shares)


@final
class _Candidate:
    """The measures of a question in one basis, and the noise in its outputs as a function of shares."""

    def __init__(
        self, question: Question, stability: Stability, basis: Basis, *, pure: bool, other: _Candidate | None = None
    ) -> None:
        self.question, self.basis, self._stability = question, basis, stability
        measures = Measures(question, stability, pure, basis=basis, cache={} if other is None else other.cache)
        self.cache: _Cache = measures.cache
        self._formulas = tuple((name, measures.formula(output)) for name, output in question.outputs)
        for aggregate in question.aggregates():
            measures.formula(Measured(aggregate))
        self.measures = tuple(measures.listed)
        self._hidden = tuple(("", measures.formula(output)) for output in hidden_outputs(question))
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
        return {vector_index for _, adds in self._terms for vector_index in adds} == set(range(len(self._vectors)))

    def weighed(self, *, no_wider_than: Sequence[float]) -> tuple[Fraction, ...] | None:
        """The shares at the minimum, or as far towards it from equal shares as is allowed; None if none are.

        At the minimum, a share is the mean over outputs of its measure's part of V. Each step of the search uses that.
        """
        shares = [1.0 / len(self._vectors) for _ in self._vectors]
        damping = 2 if self._pure else 1
        for _ in range(_STEPS if len(shares) > 1 else 0):
            parts, whole = [0.0 for _ in shares], 0.0
            for counts, adds in self._terms:
                noise = self._noise(adds, shares)
                total = _total(noise.values())
                whole += counts
                for vector_index, variance in noise.items():
                    parts[vector_index] += counts * variance / total
            shares = [
                (damping * share + part / whole) / (damping + 1) for share, part in zip(shares, parts, strict=True)
            ]
        for way in _WAYS:
            between = [way * share + (1 - way) / len(shares) for share in shares]
            rounded = [max(1, round(share * _FINENESS)) for share in between]
            candidate_shares = tuple(Fraction(numerator, sum(rounded)) for numerator in rounded)
            if all(
                ours <= most * _SAME for ours, most in zip(self.extremes(candidate_shares), no_wider_than, strict=True)
            ):
                return candidate_shares
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
            return {
                vector_index: variance / (shares[vector_index] * shares[vector_index])
                for vector_index, variance in adds.items()
            }
        return {vector_index: variance / shares[vector_index] for vector_index, variance in adds.items()}

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
        variances: dict[int, float] = {}
        for vector_index, vector in enumerate(self._vectors):
            noise = _total(float(squares[index]) * self._units[index] for index in vector if squares.get(index))
            if noise:
                variances[vector_index] = noise
        return variances

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
            [_total(adds.values()) for adds in terms] for terms in ([adds for _, adds in self._terms], self._extremes)
        )
        return all(1 / _WIDEST < variance < _WIDEST for variance in averages) and all(
            variance < _WIDEST for variance in extremes
        )

    @cached_property
    def _reaches(self) -> list[Fraction]:
        """How far one unit moves every measure, in units of its values."""
        return [(measure.l1 if self._pure else measure.l2) * measure.granularity for measure in self.measures]

    @cached_property
    def _units(self) -> list[float]:
        """The variance of every measure, up to a factor, if it had the whole spend."""
        levels = [measure.levels**2 if self._pure else measure.levels for measure in self.measures]
        return [float(reach * reach) * times for reach, times in zip(self._reaches, levels, strict=True)]


def _bases(plain: _Candidate) -> Iterator[Basis]:
    """The bases to compare: everything by itself; sums centred wherever their number is measured too; and sides."""
    yield PLAIN
    schema = plain.question.relation.schema
    rows = any(isinstance(measure, RowCount) for measure in plain.measures)
    numbers = [measure.expression for measure in plain.measures if isinstance(measure, ValueCount)]
    always, numbered, summed = [], [], []  # values that are summed: never missing; with their number; without it
    for measure in plain.measures:
        if isinstance(measure, ValueSum) and has_sides(measure.expression, domain := measure.expression.domain(schema)):
            if not domain.nullable:
                always += [measure.expression] if rows else []
            elif measure.expression in numbers:
                numbered.append(measure.expression)
            else:
                summed.append(measure.expression)
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
        indices = sorted({*at_low, *at_middle, *at_high})
        zero = Fraction(0)
        average = {  # Simpson's rule, which is exact for squares
            index: (at_low.get(index, zero) + 4 * at_middle.get(index, zero) + at_high.get(index, zero)) / 6
            for index in indices
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
    for formula_field in fields(formula):
        value = getattr(formula, formula_field.name)
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
