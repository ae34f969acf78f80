"""Which integers have to be measured for an answer, how much one unit moves them, and how answers follow from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, log2
from typing import TYPE_CHECKING, Literal, TypeAlias, final

from giveortake.compile.outputs import Apply, Formula, Linear, QuantileOf, Ratio
from giveortake.engines.questions import Bounding, Quantum
from giveortake.errors import QueryRefused
from giveortake.exact import power_of_two_at_least, sqrt_up
from giveortake.plan import AggregateKind, Call, Column, Kind, Measured, Quotient
from giveortake.plan import Literal as Constant

if TYPE_CHECKING:
    from giveortake.compile.caps import Caps
    from giveortake.plan import Aggregate, Domain, Expression, Question
    from giveortake.plan.aggregates import Output
    from giveortake.privacy.units import Neighbours

MeasureKind: TypeAlias = Literal["rows", "values", "persons", "sum", "distinct", "bins"]

STEPS = 2**30  # that the greatest value of a real column has
FINE = 2**10  # parts into which a contribution is cut where only a part of it may count
DEPTH = 10  # levels of the tree of bins, so 1,024 bins at most


@final
@dataclass(frozen=True, slots=True)
class Measure:
    """Integers, one for each key (and bin), of which one unit moves all together by at most `l1` and `l2` steps.

    One step is worth `granularity`. Bins form a tree of `levels` levels, each of which has these sensitivities.
    """

    kind: MeasureKind
    of: Expression | None
    granularity: Fraction
    l1: Fraction
    l2: Fraction
    quantum: Quantum | None = None
    fineness: int = 1
    levels: int = 1
    low: Fraction = Fraction(0)
    width: Fraction = Fraction(1)

    @property
    def name(self) -> str:
        """For recipes."""
        named = "" if self.of is None else f" of {_named(self.of)}"
        return {"rows": "number of rows", "persons": "number of persons"}.get(self.kind, f"{self.kind}{named}")


@final
@dataclass(frozen=True, slots=True)
class Stability:
    """How a unit's rows reach the aggregates: `rows` of them at most, or bounded by `bounding`."""

    rows: int | None
    bounding: Bounding | None
    neighbours: Neighbours
    grouped: bool
    keys: int | None

    @classmethod
    def of(cls, question: Question, caps: Caps, neighbours: Neighbours, keys: int | None) -> Stability:
        """Derived from the structure of the question; where that bounds nothing, the caps do."""
        relation = question.relation
        grouped = bool(question.keys)
        bounding = None
        if relation.most_rows is None:
            groups = 1 if not grouped else caps.groups if keys is None else max(1, min(caps.groups, keys))
            bounding = Bounding(groups, caps.rows)
        return cls(relation.most_rows, bounding, neighbours, grouped, keys)

    @property
    def scales(self) -> bool:
        """Whether a contribution may have to be cut to a part of itself."""
        return self.bounding is not None

    @property
    def touched(self) -> int:
        """How many keys one unit can have."""
        if self.bounding is not None:
            return self.bounding.groups
        assert self.rows is not None  # noqa: S101 (one of the two bounds rows)
        return self.rows if self.keys is None else max(1, min(self.rows, self.keys))

    def sensitivity(self, least: int, most: int, *, binned: bool = False) -> tuple[Fraction, Fraction]:
        """L1 and L2 of sums of values between `least` and `most` steps.

        Guarantee (seed 003, global sensitivity of count and bounded sum; seed 001, histograms under both relations):
        with X = max(|least|, |most|), a unit of at most s rows moves sums by at most s·X when it is added or removed;
        for bounded persons see `giveortake.engines.questions`. When a unit is changed, it is removed and another added:
        twice that. One row that is changed moves X in two groups, so 2X in L1 and √2·X in L2, or stays in its group
        and moves most − least there; that alone if there is but one group. Any row may be left out or have no value,
        whatever the schema says (a missing value is found where none was declared, 1/x is missing where x is zero
        against its bounds), so that zero is always among the values.
        """
        reach = max(abs(least), abs(most))
        spread = max(most, 0) - min(least, 0)
        changed = self.neighbours == "change-one"
        alone = not self.grouped and not binned
        if self.bounding is not None:
            groups, rows = self.bounding.groups, self.bounding.rows
            if changed and alone:
                return Fraction(rows * spread), Fraction(rows * spread)
            twice = 2 if changed else 1
            return Fraction(twice * groups * rows * reach), twice * rows * reach * sqrt_up(Fraction(groups))
        assert self.rows is not None  # noqa: S101 (one of the two bounds rows)
        if not changed:
            return Fraction(self.rows * reach), Fraction(self.rows * reach)
        if self.rows > 1:
            return Fraction(2 * self.rows * reach), Fraction(2 * self.rows * reach)
        if alone:
            return Fraction(spread), Fraction(spread)
        return Fraction(2 * reach), max(reach * sqrt_up(Fraction(2)), Fraction(spread))

    def of_persons(self, fineness: int) -> tuple[Fraction, Fraction]:
        """L1 and L2 of numbers of persons: one for each group that they touch."""
        touched = self.touched if self.grouped else 1
        twice = 2 if self.neighbours == "change-one" and self.grouped else 1
        return Fraction(twice * touched * fineness), twice * fineness * sqrt_up(Fraction(touched))

    def of_distinct(self) -> tuple[Fraction, Fraction]:
        """L1 and L2 of numbers of distinct values: one for each value that a unit has in a group."""
        twice = 2 if self.neighbours == "change-one" else 1
        if self.bounding is not None:
            groups, rows = self.bounding.groups, self.bounding.rows
            return Fraction(twice * groups * rows), twice * rows * sqrt_up(Fraction(groups))
        assert self.rows is not None  # noqa: S101 (one of the two bounds rows)
        return Fraction(twice * self.rows), Fraction(twice * self.rows)


@final
@dataclass(slots=True)
class Measures:
    """The measures of a question, each once, and the formula of every output."""

    question: Question
    stability: Stability
    listed: list[Measure] = field(default_factory=list)

    def formula(self, output: Output) -> Formula:
        """How an output follows from the measures."""
        match output:
            case Fraction():
                return Linear({}, output)
            case Measured():
                return self._aggregate(output.aggregate)
            case Quotient():
                return _arithmetic(output.operation, self.formula(output.left), self.formula(output.right))

    def _aggregate(self, aggregate: Aggregate) -> Formula:
        of = aggregate.of
        match aggregate.kind:
            case AggregateKind.COUNT_ROWS:
                return self._linear(self._rows(), whole=True)
            case AggregateKind.COUNT_VALUES:
                return self._linear(self._values(_some(of)), whole=True)
            case AggregateKind.COUNT_PERSONS:
                return self._linear(self._persons(), whole=True)
            case AggregateKind.COUNT_DISTINCT:
                return self._linear(self._distinct(_some(of)), whole=True)
            case AggregateKind.SUM:
                return self._linear(
                    self._sum(_some(of), centred=False), whole=self._domain(_some(of)).kind is Kind.INTEGER
                )
            case AggregateKind.MEAN:
                return self._mean(_some(of))
            case AggregateKind.VARIANCE:
                return self._variance(_some(of))
            case AggregateKind.DEVIATION:
                return Apply("sqrt", (self._variance(_some(of)),))
            case AggregateKind.QUANTILE:
                measure = self._bins(_some(of))
                domain = self._domain(_some(of))
                whole = domain.kind is Kind.INTEGER and self.listed[measure].width == 1
                return QuantileOf(measure, aggregate.quantile or Fraction(0), whole)
        raise QueryRefused(f"the {aggregate.kind} is not released")

    def _mean(self, of: Expression) -> Ratio:
        """The sum over the number of values.

        Where only the mean is asked for, values count from the middle of the bounds: half the sensitivity, same mean.
        """
        domain = self._domain(of)
        low, high = _bounds(domain)
        asked = any(each.kind is AggregateKind.SUM and each.of == of for each in self.question.aggregates())
        number = self._linear(self._values(of))
        index = self._sum(of, centred=not asked)
        total = self._linear(index)
        quantum = self.listed[index].quantum
        assert quantum is not None  # noqa: S101 (sums have one)
        centre = quantum.shift * quantum.granularity
        return Ratio(total.plus(number.times(centre)), number, low, high, _moved(quantum, domain))

    def _variance(self, of: Expression) -> Formula:
        """E(x − c)² − (E(x − c))² around the middle c of the bounds."""
        domain = self._domain(of)
        low, high = _bounds(domain)
        middle = (low + high) / 2
        reach = (high - low) / 2
        if reach == 0:
            return Linear({}, Fraction(0))
        away = Call("subtract", (of, Constant(middle)))
        square = Call("clamp", (Call("multiply", (away, away)), Constant(Fraction(0)), Constant(reach**2)))
        mean = self._mean(of)
        number = self._linear(self._values(of))
        index = self._sum(square, centred=True)
        quantum = self.listed[index].quantum
        assert quantum is not None  # noqa: S101 (sums have one)
        total = self._linear(index).plus(number.times(quantum.shift * quantum.granularity))
        squares = Ratio(total, number, Fraction(0), reach**2, _moved(quantum, self._domain(square)))
        return Apply(
            "spread", (squares, Ratio(mean.over.plus(number.times(-middle)), number, -reach, reach, mean.slack))
        )

    # -- measures, each made once -------------------------------------------------------------------------------

    def _rows(self) -> int:
        fine = FINE if self.stability.scales else 1
        l1, l2 = self.stability.sensitivity(0, fine)
        return self._add(Measure("rows", None, Fraction(1, fine), l1, l2, fineness=fine))

    def _values(self, of: Expression) -> int:
        if not self._domain(of).nullable:
            return self._rows()
        fine = FINE if self.stability.scales else 1
        l1, l2 = self.stability.sensitivity(0, fine)
        return self._add(Measure("values", of, Fraction(1, fine), l1, l2, fineness=fine))

    def _persons(self) -> int:
        if self.question.relation.person is None:
            return self._rows()
        fine = FINE if self.stability.scales and self.stability.grouped else 1
        l1, l2 = self.stability.of_persons(fine)
        return self._add(Measure("persons", None, Fraction(1, fine), l1, l2, fineness=fine))

    def _distinct(self, of: Expression) -> int:
        if self._domain(of).kind is Kind.REAL:
            raise QueryRefused(
                "real numbers are not counted as distinct values", hint="COUNT(DISTINCT BUCKET(x, width))"
            )
        l1, l2 = self.stability.of_distinct()
        return self._add(Measure("distinct", of, Fraction(1), l1, l2))

    def _sum(self, of: Expression, *, centred: bool) -> int:
        domain = self._domain(of)
        quantum = quantum_of(domain, centred=centred)
        fine = FINE if self.stability.scales and quantum.granularity * 2**20 > quantum.high - quantum.low else 1
        l1, l2 = self.stability.sensitivity(fine * quantum.least, fine * quantum.most)
        l1, l2 = max(l1, Fraction(1)), max(l2, Fraction(1))  # a column that can hold but one value
        return self._add(Measure("sum", of, quantum.granularity / fine, l1, l2, quantum, fine))

    def _bins(self, of: Expression) -> int:
        domain = self._domain(of)
        low, high = _bounds(domain)
        if domain.kind is Kind.INTEGER and high - low < 2**DEPTH:
            low, width, levels = Fraction(ceil(low)), Fraction(1), max(1, ceil(log2(int(high - low) + 1)))
        else:
            width, levels = max((high - low) / 2**DEPTH, Fraction(1, 2**60)), DEPTH
        fine = FINE if self.stability.scales else 1
        l1, l2 = self.stability.sensitivity(0, fine, binned=True)
        return self._add(
            Measure("bins", of, Fraction(1, fine), l1, l2, fineness=fine, levels=levels, low=low, width=width)
        )

    def _add(self, measure: Measure) -> int:
        if measure not in self.listed:
            self.listed.append(measure)
        return self.listed.index(measure)

    def _linear(self, index: int, *, whole: bool = False) -> Linear:
        return Linear({index: Fraction(1)}, Fraction(0), whole)

    def _domain(self, of: Expression) -> Domain:
        return of.domain(self.question.relation.schema)


def _moved(quantum: Quantum, domain: Domain) -> Fraction:
    """How far a value may be from its place on the lattice; those that lie on it by their type are not moved."""
    on_it = quantum.is_whole or (domain.kind is Kind.DECIMAL and domain.step == quantum.granularity)
    return Fraction(0) if on_it else quantum.granularity / 2


def quantum_of(domain: Domain, *, centred: bool) -> Quantum:
    """The lattice of a bounded number: whole numbers, a decimal's own scale, or a power of two far below the bounds."""
    low, high = _bounds(domain)
    if domain.kind is Kind.INTEGER:
        first, last = Fraction(ceil(low)), Fraction(high.numerator // high.denominator)
        if first > last:
            raise QueryRefused("no whole number lies between the bounds")
        plain = Quantum(Fraction(1), first, last, is_whole=True)
    else:
        greatest = max(abs(low), abs(high))
        step = domain.step
        if step is None or greatest / step > 2**40:
            step = power_of_two_at_least(greatest / STEPS) if greatest else Fraction(1)
        plain = Quantum(step, low, high)
    shift = (plain.least + plain.most) // 2 if centred else 0
    return Quantum(plain.granularity, plain.low, plain.high, shift, plain.is_whole)


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


def _bounds(domain: Domain) -> tuple[Fraction, Fraction]:
    assert domain.low is not None and domain.high is not None  # noqa: S101, PT018 (checked when the plan was made)
    return domain.low, domain.high


def _some(of: Expression | None) -> Expression:
    assert of is not None  # noqa: S101 (the aggregate is of something)
    return of


def _named(of: Expression) -> str:
    return of.name if isinstance(of, Column) else "an expression"
