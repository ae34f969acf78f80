"""How answers follow from measures: the formula of every output, and the measures that it takes, each once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, final

from giveortake.compile.bases import PLAIN, Basis
from giveortake.compile.bins import BinCounts, PrefixSums
from giveortake.compile.measures import (
    DistinctCount,
    Measure,
    PersonCount,
    RowCount,
    ValueCount,
    ValueSum,
)
from giveortake.compile.outputs import Apply, Formula, Linear, QuantileOf, Ratio
from giveortake.compile.rules import Rules
from giveortake.compile.sides import Sides
from giveortake.errors import QueryRefused
from giveortake.plan import AggregateKind, Call, Kind, Measured, Quotient
from giveortake.plan import Literal as Constant

if TYPE_CHECKING:
    from giveortake.compile.stability import Stability
    from giveortake.plan import Aggregate, Domain, Expression, Question
    from giveortake.plan.aggregates import Output


@final
@dataclass(slots=True)
class Measures:
    """The measures of a question, each once, and the formula of every output."""

    question: Question
    stability: Stability
    rules: Rules
    pure: bool  # whether the noise keeps a pure promise, for which other matrices are best
    listed: list[Measure] = field(default_factory=list)
    basis: Basis = PLAIN

    def formula(self, output: Output) -> Formula:
        """How an output follows from the measures."""
        match output:
            case Fraction():
                return Linear({}, output)
            case Measured():
                return self._aggregate(output.aggregate)
            case Quotient():
                found = _arithmetic(output.operation, self.formula(output.left), self.formula(output.right))
                return self._share(found) if isinstance(found, Ratio) else found

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
            case AggregateKind.QUANTILE:
                return self._quantile(_some(of), aggregate.quantile or Fraction(0))
        raise QueryRefused(f"the {aggregate.kind} is not released")

    def _mean(self, of: Expression) -> Ratio:
        """The sum over the number of values.

        Where only the mean is asked for, values count from the middle of the bounds: half the sensitivity, same mean.
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
        away = Call("subtract", (of, Constant(middle)))
        square = Call("clamp", (Call("multiply", (away, away)), Constant(Fraction(0)), Constant(reach**2)))
        mean, number = self._mean(of), self._values(of)
        squares = self._total(square, centred=True, number=number)
        return Apply(
            "spread",
            (
                replace(mean, over=squares, low=Fraction(0), high=reach**2, slack=self._moved(square)),
                replace(mean, over=mean.over.plus(number.times(-middle)), low=-reach, high=reach),
            ),
        )

    def _ratio(self, of: Expression, *, centred: bool) -> Ratio:
        """The mean of values between its bounds."""
        domain = self._domain(of)
        number = self._values(of)
        low, high = domain.ends()
        over = self._total(of, centred=centred, number=number)
        return Ratio(over, number, low, high, self._moved(of), self.rules is Rules.FIRST)

    def _quantile(self, of: Expression, quantile: Fraction) -> QuantileOf:
        domain = self._domain(of)
        if self.rules is Rules.FIRST:
            bins = BinCounts.within(self.stability, of, domain)
            return QuantileOf(self._place(bins), quantile, domain.kind is Kind.INTEGER and bins.width == 1)
        sums = PrefixSums.within(self.stability, of, domain, pure=self.pure)
        return QuantileOf(self._place(sums), quantile, sums.whole)

    def _share(self, ratio: Ratio) -> Ratio:
        """A multiple of a number of rows, values or persons over the number of all rows is bounded: none counts more.

        A person's values and the person count in the same parts as their rows (`giveortake.engines.questions`).
        """
        rows = {self.listed.index(each): Fraction(1) for each in self.listed if isinstance(each, RowCount)}
        rows = rows if self.basis.rows is None else dict(self._rows().weights)
        counted = [isinstance(self.listed[index], RowCount | ValueCount | PersonCount) for index in ratio.over.weights]
        bounded = ratio.low is not None or ratio.high is not None
        plain = ratio.over.constant == ratio.under.constant == 0
        if bounded or self.rules is Rules.FIRST or not plain or dict(ratio.under.weights) != rows or counted != [True]:
            return ratio
        (weight,) = ratio.over.weights.values()
        return replace(ratio, low=min(weight, Fraction(0)), high=max(weight, Fraction(0)))

    # -- measures -----------------------------------------------------------------------------------------------

    def _rows(self, *, whole: bool = False) -> Linear:
        """Measured, or read from the sides of values, with the rows that have none."""
        if self.basis.rows is None:
            return self._linear(RowCount.within(self.stability), whole=whole)
        return self._sides(self.basis.rows, *self._sided(self.basis.rows).rows, whole=whole)

    def _values(self, of: Expression, *, whole: bool = False) -> Linear:
        """Where no value can be missing, there are as many as rows."""
        if not self._domain(of).nullable:
            return self._rows(whole=whole)
        if of in self.basis.sided:
            return self._sides(of, *self._sided(of).number, whole=whole)
        return self._linear(ValueCount.within(self.stability, of), whole=whole)

    def _persons(self) -> Linear:
        """Where rows protect themselves, each is a person."""
        if self.question.relation.person is None:
            return self._rows(whole=True)
        return self._linear(PersonCount.within(self.stability), whole=True)

    def _total(self, of: Expression, *, centred: bool, whole: bool = False, number: Linear | None = None) -> Linear:
        """The sum of values; `centred` counts them from the middle of their bounds, and adds that times the number."""
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
        """How far values of an expression may be from their places on the lattice."""
        return self._sum(of, centred=False).moved(self._domain(of))

    def _sum(self, of: Expression, *, centred: bool) -> ValueSum:
        return ValueSum.within(self.stability, of, self._domain(of), centred=centred)

    def _linear(self, measure: Measure, *, whole: bool = False) -> Linear:
        return Linear({self._place(measure): Fraction(1)}, Fraction(0), whole)

    def _sided(self, of: Expression) -> Sides:
        domain = self._domain(of)
        return Sides.within(self.stability, of, domain, missing=domain.nullable and self.basis.rows == of)

    def _sides(self, of: Expression, *weights: Fraction, whole: bool) -> Linear:
        """So much of each side; the sides stand one after the other."""
        places = [self._place(each) for each in self._sided(of).measures]
        return Linear({place: each for place, each in zip(places, weights, strict=False) if each}, Fraction(0), whole)

    def _place(self, measure: Measure) -> int:
        if measure not in self.listed:
            self.listed.append(measure)
        return self.listed.index(measure)

    def _domain(self, of: Expression) -> Domain:
        return of.domain(self.question.relation.schema)


def _arithmetic(operation: str, left: Formula, right: Formula) -> Formula:
    """Sums, multiples and quotients of linear formulas stay exact ones; the rest is bounded part by part."""
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
