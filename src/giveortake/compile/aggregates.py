"""How answers are computed from measures: the formula of every output, and the measures it needs, each once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, final

from giveortake.compile.bases import PLAIN, Basis
from giveortake.compile.bins import PrefixSums
from giveortake.compile.computed import FunctionOf
from giveortake.compile.measures import (
    DistinctCount,
    Measure,
    PersonCount,
    RowCount,
    ValueCount,
    ValueSum,
)
from giveortake.compile.moments import Moments
from giveortake.compile.outputs import Apply, Formula, Linear, QuantileOf, Ratio
from giveortake.compile.sides import Sides
from giveortake.compile.windows import ShareOf, WindowOf
from giveortake.errors import QueryRefused
from giveortake.plan import AggregateKind, Call, Computed, Kind, Measured, Quotient, Window
from giveortake.plan import Literal as Constant

if TYPE_CHECKING:
    from giveortake.compile.stability import Stability
    from giveortake.plan import Aggregate, Domain, Expression, Question
    from giveortake.plan.questions import Output


@final
@dataclass(slots=True)
class Measures:
    """The measures of a question, each once, and the formula of every output."""

    question: Question
    stability: Stability
    pure: bool  # whether the noise is Laplace noise, for which other matrices are best
    listed: list[Measure] = field(default_factory=list)
    basis: Basis = PLAIN
    _domains: dict[int, tuple[Expression, Domain]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _sums: dict[tuple[int, bool], tuple[Expression, ValueSum]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )  # by the id of the expression, which is held so that the id stays unique

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
                found = _arithmetic(output.operation, left, right) if share is None else share
                return self._share(found) if isinstance(found, Ratio) else found
            case Computed():
                return FunctionOf(output.function, tuple(map(self.formula, output.parts)), output.constant)
            case Window():
                of = None if output.of is None else self.formula(output.of)
                order = tuple((each, None if each.by is None else self.formula(each.by)) for each in output.order)
                return WindowOf(output, of, order)
        raise QueryRefused(f"no answer is computed of a {type(output).__name__}")

    def _share_of_total(self, left: Formula, right: Formula) -> ShareOf | None:
        """The share of a count in its own total, if the quotient of both formulas is a multiple of that."""
        if not isinstance(left, Linear) or not isinstance(right, WindowOf) or not right.is_plain_total:
            return None
        of = right.of
        if not isinstance(of, Linear) or of.constant or left.constant or len(of.weights) != 1:
            return None
        ((index, weight),) = of.weights.items()
        if left.weights.keys() != {index} or weight <= 0 or not isinstance(self.listed[index], _NUMBERS_OF_THINGS):
            return None
        return ShareOf(of, right, left.weights[index] / weight)

    def _aggregate(self, aggregate: Aggregate) -> Formula:
        of = aggregate.of
        match aggregate.kind:
            case AggregateKind.COUNT_ROWS:
                return self._rows(whole=True)
            case AggregateKind.COUNT_VALUES:
                return self._values(_some(of), whole=True)
            case AggregateKind.COUNT_PERSONS:
                return self._persons()
            case AggregateKind.COUNT_DISTINCT:
                measure = DistinctCount.within(self.stability, _some(of), self._domain(_some(of)))
                return self._linear(measure, whole=True)
            case AggregateKind.SUM:
                whole = self._domain(_some(of)).kind is Kind.INTEGER
                return self._total(_some(of), centred=False, whole=whole)
            case AggregateKind.MEAN:
                return self._mean(_some(of))
            case AggregateKind.VARIANCE:
                return self._variance(_some(of))
            case AggregateKind.DEVIATION:
                return Apply("sqrt", (self._variance(_some(of)),))
            case AggregateKind.SAMPLE_VARIANCE:
                return self._sample_variance(_some(of))
            case AggregateKind.SAMPLE_DEVIATION:
                return Apply("sqrt", (self._sample_variance(_some(of)),))
            case AggregateKind.QUANTILE:
                return self._quantile(_some(of), aggregate.quantile or Fraction(0))
        if of is not None and aggregate.beside is not None:
            return self._moments(str(aggregate.kind), of, aggregate.beside)
        raise QueryRefused(f"the {aggregate.kind} is not released")

    def _moments(self, function: str, y: Expression, x: Expression) -> Formula:
        """Moments of pairs (x, y) around the middles of their bounds; each measure is asked for once."""
        pairs = [_there(x, y, self._domain(y)), _there(y, x, self._domain(x))]
        ends = [self._domain(each).ends() for each in pairs]
        middles = [(low + high) / 2 for low, high in ends]
        reach = [(high - low) / 2 for low, high in ends]
        if 0 in reach:
            raise QueryRefused(f"the {function} of a column with only one possible value is known without asking")
        number = self._values(pairs[0])
        means = []
        for each, middle, farthest in zip(pairs, middles, reach, strict=True):
            mean = self._moment(each, number, -farthest, farthest)
            means.append(replace(mean, over=mean.over.plus(number.times(-middle))))
        squares = [
            self._moment(_square(each, middle, farthest), number, Fraction(0), farthest**2) if needed else None
            for each, middle, farthest, needed in zip(pairs, middles, reach, _SQUARES[function], strict=True)
        ]
        most = reach[0] * reach[1]
        away = [
            Call("subtract", (Call("clamp", (each, Constant(low), Constant(high))), Constant(middle)))
            for each, (low, high), middle in zip(pairs, ends, middles, strict=True)
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

    def _moment(self, of: Expression, number: Linear, low: Fraction, high: Fraction) -> Ratio:
        """A mean over values whose number is measured already."""
        over = self._total(of, centred=True, number=number)
        return Ratio(over, number, low, high, self._moved(of))

    def _mean(self, of: Expression) -> Ratio:
        """The sum over the number of values.

        If only the mean is asked for, values are centred at the middle of the bounds: half the sensitivity, same mean.
        """
        asked = any(each.kind is AggregateKind.SUM and each.of == of for each in self.question.aggregates())
        return self._ratio(of, centred=not asked)

    def _variance(self, of: Expression) -> Formula:
        """E(x − c)² − (E(x − c))² around the middle c of the bounds."""
        low, high = self._domain(of).ends()
        middle = (low + high) / 2
        reach = (high - low) / 2
        if reach == 0:
            return Linear({}, Fraction(0))
        square = _square(of, middle, reach)
        mean, number = self._mean(of), self._values(of)
        squares = self._total(square, centred=True, number=number)
        return Apply(
            "spread",
            (
                replace(mean, over=squares, low=Fraction(0), high=reach**2, slack=self._moved(square)),
                replace(mean, over=mean.over.plus(number.times(-middle)), low=-reach, high=reach),
            ),
        )

    def _sample_variance(self, of: Expression) -> Formula:
        """The variance times n / (n − 1), with the number n of values that is released for the variance anyway."""
        found = self._variance(of)
        return found if isinstance(found, Linear) else Apply("of a sample", (found, self._values(of)))

    def _ratio(self, of: Expression, *, centred: bool) -> Ratio:
        """The mean of values between its bounds."""
        domain = self._domain(of)
        number = self._values(of)
        low, high = domain.ends()
        over = self._total(of, centred=centred, number=number)
        return Ratio(over, number, low, high, self._moved(of))

    def _quantile(self, of: Expression, quantile: Fraction) -> QuantileOf:
        sums = PrefixSums.within(self.stability, of, self._domain(of), pure=self.pure)
        return QuantileOf(self._place(sums), quantile, sums.whole)

    def _share(self, ratio: Ratio) -> Ratio:
        """Bound the ratio of a number of rows, values or persons to the number of all rows, by 0 and its factor.

        A person's values, and the person, count in the same parts as their rows (`giveortake.engines.questions`).
        """
        rows = {self.listed.index(each): Fraction(1) for each in self.listed if isinstance(each, RowCount)}
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

    def _values(self, of: Expression, *, whole: bool = False) -> Linear:
        """The number of values; if none can be missing, the number of rows."""
        if not self._domain(of).nullable:
            return self._rows(whole=whole)
        if of in self.basis.sided:
            return self._sides(of, *self._sided(of).number, whole=whole)
        return self._linear(ValueCount.within(self.stability, of), whole=whole)

    def _persons(self) -> Linear:
        """The number of persons; if rows are protected, each row is one."""
        if self.question.relation.person is None:
            return self._rows(whole=True)
        return self._linear(PersonCount.within(self.stability), whole=True)

    def _total(self, of: Expression, *, centred: bool, whole: bool = False, number: Linear | None = None) -> Linear:
        """The sum of values; `centred` measures distances from the middle, and adds the middle times the number."""
        if of in self.basis.sided:
            return self._sides(of, *self._sided(of).total, whole=whole)
        centred = centred or of in self.basis.centred
        measure = self._sum(of, centred=centred)
        if measure.centre == 0:
            return self._linear(measure, whole=whole)
        number = self._values(of) if number is None else number
        summed = self._linear(measure).plus(number.times(measure.centre))
        return Linear(summed.weights, summed.constant, whole)

    def _moved(self, of: Expression) -> Fraction:
        """How far rounding to the lattice may move the values of an expression."""
        return self._sum(of, centred=False).moved(self._domain(of))

    def _sum(self, of: Expression, *, centred: bool) -> ValueSum:
        if (id(of), centred) not in self._sums:
            self._sums[id(of), centred] = of, ValueSum.within(self.stability, of, self._domain(of), centred=centred)
        return self._sums[id(of), centred][1]

    def _linear(self, measure: Measure, *, whole: bool = False) -> Linear:
        return Linear({self._place(measure): Fraction(1)}, Fraction(0), whole)

    def _sided(self, of: Expression) -> Sides:
        domain = self._domain(of)
        return Sides.within(self.stability, of, domain, missing=domain.nullable and self.basis.rows == of)

    def _sides(self, of: Expression, *weights: Fraction, whole: bool) -> Linear:
        """A linear combination of the sides of values, with the given weights."""
        places = [self._place(each) for each in self._sided(of).measures]
        return Linear({place: each for place, each in zip(places, weights, strict=False) if each}, Fraction(0), whole)

    def _place(self, measure: Measure) -> int:
        if measure not in self.listed:
            self.listed.append(measure)
        return self.listed.index(measure)

    def _domain(self, of: Expression) -> Domain:
        if id(of) not in self._domains:
            self._domains[id(of)] = of, of.domain(self.question.relation.schema)
        return self._domains[id(of)][1]


def _square(of: Expression, middle: Fraction, reach: Fraction) -> Expression:
    """The square (x − c)², clamped to the greatest square that is possible within the bounds."""
    away = Call("subtract", (of, Constant(middle)))
    return Call("clamp", (Call("multiply", (away, away)), Constant(Fraction(0)), Constant(reach**2)))


def _there(of: Expression, other: Expression, domain: Domain) -> Expression:
    """A value, missing in rows in which another value is missing."""
    if not domain.nullable:
        return of
    return Call("case", (Call("is_null", (other,)), Constant(None), of))


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


def _some(of: Expression | None) -> Expression:
    assert of is not None  # noqa: S101 (the aggregate is of something)
    return of
