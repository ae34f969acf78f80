"""A workload over a relation: attributes, cells, what one privacy unit adds to them, and the questions to engines.

Marginals are sums over a few tables that an engine is asked for. Persons whose L2 norm is bounded are scaled down,
equally in all tables.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.codec import write
from giveortake.compile import Caps
from giveortake.compile.measures import MOST, quantum_of
from giveortake.compile.sensitivity import capped, unbounded
from giveortake.engines import Bins, Component, KeyColumn, Keys, Quantum, Summand, Tally, VectorSum
from giveortake.engines.questions import LONGEST
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.exact import ceiling, decimal, positive, power_of_two_at_least
from giveortake.mechanisms.marginals import Contribution
from giveortake.plan import (
    Aggregate,
    AggregateKind,
    Call,
    ColumnReference,
    Filter,
    Kind,
    Literal,
    Measured,
    Question,
    Value,
    identity,
)
from giveortake.plan.describe import rows_without
from giveortake.plan.expressions import moment_of
from giveortake.plan.times import MOMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from giveortake.engines import Engine
    from giveortake.engines.questions import Asked
    from giveortake.exact import Number
    from giveortake.mechanisms import Sensitive
    from giveortake.mechanisms.mechanism import BoundedIntegers
    from giveortake.plan import Domain, Expression, Relation
    from giveortake.privacy.guarantee import Neighbours
    from giveortake.workload.workload import Ranges, Workload

    Integers: TypeAlias = npt.NDArray[np.int64]
    Floats: TypeAlias = npt.NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True)
class Attributes:
    """Columns of a relation and all their declared values, in order; NULL is one of them if it was declared."""

    names: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]
    labels: tuple[str, ...]  # their names in answers

    @classmethod
    def of(cls, relation: Relation, names: Sequence[str], called: Mapping[str, str] | None = None) -> Attributes:
        """The columns with their declared values. No row is read."""
        schema = relation.schema
        values = [_values(name, ColumnReference(name).domain(schema)) for name in names]
        return cls(tuple(names), tuple(values), tuple((called or {}).get(name, name) for name in names))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each attribute."""
        return tuple(map(len, self.values))

    def keys(self, indices: Sequence[int]) -> Keys:
        """All combinations of the values of some attributes."""
        return Keys(
            tuple(
                KeyColumn(self.names[index], ColumnReference(self.names[index]), self.values[index])
                for index in indices
            )
        )

    def indices_of(self, names: Sequence[str]) -> tuple[int, ...]:
        """The indices of some attributes, in rising order."""
        return tuple(sorted(self.names.index(name) for name in names))

    def question(self, relation: Relation, sums: Sequence[str]) -> Question:
        """The workload as one question about the rows with declared values, so that it passes the usual checks."""
        rows = declared_rows(relation, self)
        outputs = [("number of rows", Measured(Aggregate(AggregateKind.COUNT_ROWS)))]
        outputs += [
            (f"sum of {column}", Measured(Aggregate(AggregateKind.SUM, ColumnReference(column)))) for column in sums
        ]
        return Question(rows, tuple((name, ColumnReference(name)) for name in self.names), tuple(outputs))

    def to_json(self) -> list[Any]:
        """The columns and their values, in the order in which cells are stored."""
        return [[name, write(values, tuple[Value, ...])] for name, values in zip(self.names, self.values, strict=True)]


def declared_rows(relation: Relation, attributes: Attributes) -> Relation:
    """The rows with a declared value in every column: all marginals count the same rows, so that sums agree."""
    schema = relation.schema
    conditions = [
        condition
        for name, values in zip(attributes.names, attributes.values, strict=True)
        if (condition := _is_declared(ColumnReference(name), schema[name], values)) is not None
    ]
    return Filter(relation, _all_of(conditions)) if conditions else relation


def _values(name: str, domain: Domain) -> tuple[Value, ...]:
    listed = domain.keys()
    if listed is None:
        ways = f'the custodian can declare them: domains={{"{name}": ["…", "…"]}}'
        if domain.kind in {Kind.REAL, Kind.DECIMAL}:
            ways = f"ranges of `{name}` count numbers below borders"
        raise QueryRefused(f"the values of `{name}` are not declared, and its cells cannot be listed", hint=ways)
    if len(listed) < 2:
        raise QueryRefused(f"`{name}` has only one value, and so splits nothing", hint="leave it out of the workload")
    return listed


def _is_declared(column: ColumnReference, domain: Domain, values: tuple[Value, ...]) -> Expression | None:
    """The condition that a row has one of the values; None if all rows have."""
    present = [value for value in values if value is not None]
    if domain.kind is Kind.BOOLEAN and len(present) == 2:
        condition = None
    elif domain.categories is None and domain.low is not None and domain.high is not None:
        low, high = _ends(domain)
        condition = _all_of([Call("ge", (column, Literal(low))), Call("le", (column, Literal(high)))])
    else:
        condition = Call("in", (column, *map(Literal, present)))
    missing = Call("is_null", (column,))
    if condition is None:
        return None if None in values else Call("not", (missing,))
    return Call("or", (condition, missing)) if None in values else condition


def _ends(domain: Domain) -> tuple[Value, Value]:
    low, high = Fraction(domain.low or 0), Fraction(domain.high or 0)
    if domain.kind is Kind.DATE:
        return moment_of(low, timed=False), moment_of(high, timed=False)
    return -(-low.numerator // low.denominator), high.numerator // high.denominator


def _all_of(conditions: Sequence[Expression]) -> Expression:
    """The conjunction of conditions, nested as a balanced tree so that it is not deep."""
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    return Call("and", (_all_of(conditions[:middle]), _all_of(conditions[middle:])))


LARGEST = 1 << 14  # cells of a merged table; merging saves passes over the rows
_FEW = 5_000  # tables; more are not merged


def covers(sizes: Sequence[int], marginals: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Sets of attributes, each in rising order, such that every marginal is part of one; found greedily in one pass.

    A marginal joins the table that grows least by it, unless that would have too many cells.
    """
    tables: list[set[int]] = []
    for marginal in sorted(map(set, marginals), key=lambda table: (-_cells(sizes, table), sorted(table))):
        if any(marginal <= table for table in tables):
            continue
        grown = (
            [(_cells(sizes, table | marginal), table_index) for table_index, table in enumerate(tables)]
            if len(tables) < _FEW
            else []
        )
        _, table_index = min((pair for pair in grown if pair[0] <= LARGEST), default=(0, -1))
        if table_index < 0:
            tables.append(marginal)
        else:
            tables[table_index] |= marginal
    return [tuple(sorted(table)) for table in tables]


def _cells(sizes: Sequence[int], attributes: set[int]) -> int:
    return math.prod(sizes[attribute] for attribute in attributes)


MOST_TABLES = 1_000  # every row is expanded into each of them
_HEAVIEST = 1 << 12  # the weight of the table with the least noise
_FINEST, _COARSEST = 1 << 16, 1 << 6  # steps of one row


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClippedPersons:
    """What persons add to the measured tables of a workload, each of bounded length, as one sum of vectors.

    A table that gets the noise σ has the weight W = ⌈κ/σ²⌉, κ the same for all. A person whose counts v have a length
    √(Σ W·v²) of more than B is multiplied by what makes it B, and cut towards zero to whole steps: one factor for all
    tables, so that they still count the same rows.

    Guarantee: engines check Σ W·v² ≤ B² on the integers of every person (`VectorSum`). P is a projection, so that
    ‖Pv‖ ≤ ‖v‖ in every table: all parts together, each in units of its noise, are shifted by one person who is added or
    removed by at most Σ ‖Pv‖²/σ² ≤ Σ W·v²/κ ≤ B²/κ, squared, and by one who changes by what `VectorSum.moved_squared`
    says, divided by κ. Where that is at most μ², the release is μ-GDP. Residuals save nothing here: scaled rows may lie
    anywhere, and nothing is left of the mean that P takes out.
    """

    vector: VectorSum
    scale: Fraction  # κ
    changed: bool
    component_indices: dict[tuple[int, tuple[int, ...]], int]  # of the component of a layer's table

    @classmethod
    def of(cls, workload: BoundWorkload, sigmas: Sequence[Sequence[Fraction]], mu: Fraction) -> ClippedPersons:
        """The persons with the greatest norm for which the given noise keeps μ."""
        changed = workload.neighbours == "change-one"
        scale = _HEAVIEST * min(itertools.chain(*sigmas)) ** 2
        component_indices: dict[tuple[int, tuple[int, ...]], int] = {}
        components: list[Component] = []
        for layer_index, (layer, noises) in enumerate(zip(workload.layers, sigmas, strict=True)):
            for residual, sigma in zip(layer.layout.residuals, noises, strict=True):
                component_indices[layer_index, residual] = len(components)
                components.append(Component((layer_index,), residual, ceiling(scale / sigma**2)))
        one: Expression = Literal(Fraction(1))
        summed = [one if layer.of is None else ColumnReference(layer.of) for layer in workload.layers]
        values = tuple(
            Summand("sum", expression, layer.quantum) for expression, layer in zip(summed, workload.layers, strict=True)
        )
        columns: tuple[KeyColumn, ...] = workload.attributes.keys(range(len(workload.attributes.names))).columns
        shortest = VectorSum(workload.question.relation, values, columns, tuple(components), 1)
        return cls(_longest(shortest, scale * mu**2, changed=changed), scale, changed, component_indices)

    def square(self) -> Fraction:
        """The greatest squared length of the shift of one person, each part in units of its noise."""
        return Fraction(self.vector.moved_squared(changed=self.changed)) / self.scale

    def tables(self, engine: Engine) -> ClippedTables:
        """The exact tables that an engine computes."""
        return ClippedTables(self, engine.vectors(self.vector))


@final
@dataclass(frozen=True, slots=True, eq=False)
class ClippedTables:
    """Exact tables over persons of bounded norm, in steps."""

    persons: ClippedPersons
    vector_sums: Sensitive[BoundedIntegers]

    def table(self, layer: int, attributes: tuple[int, ...]) -> Sensitive[BoundedIntegers]:
        """The table of some attributes of a layer, flat and still sensitive."""
        vector, component = self.persons.vector, self.persons.component_indices[layer, attributes]
        start = vector.offsets()[component]
        return self.vector_sums.part(start, start + vector.sizes[component])


def steps_of_row(norm: Fraction, tables: int) -> int:
    """The number of steps per row that scales persons of a norm finely enough; refused if none fits."""
    if tables > MOST_TABLES:
        raise QueryRefused(
            f"a norm scales persons in {tables:,} tables at once, more than {MOST_TABLES:,}",
            hint="fewer tables, or rows_per_person=10 instead of the norm",
        )
    steps = _FINEST
    while 2 * norm * steps * (math.isqrt(tables * _HEAVIEST) + 1) > LONGEST:
        steps //= 2
        if steps < _COARSEST:
            raise InvalidParameter(
                "norm", str(norm), "is too large for so many tables", hint="a smaller norm, or fewer tables"
            )
    return steps


def quantum_of_values(domain: Domain, steps: int) -> Quantum:
    """The lattice of values with steps of a power of two, about `steps` of them in the greatest value."""
    low, high = domain.ends()
    greatest = max(abs(low), abs(high))
    return Quantum(power_of_two_at_least(greatest / steps) if greatest else Fraction(1), low, high)


def _longest(vector: VectorSum, square: Fraction, *, changed: bool) -> VectorSum:
    """The vector sum with the greatest bound at which one unit moves it by at most the given square."""

    def fits(bound: int) -> bool:
        return replace(vector, bound=bound).moved_squared(changed=changed) <= square

    low, high = 1, LONGEST + 1
    if not fits(low):
        raise InvalidParameter("norm", "", "is too small for the lattice", hint="a greater norm")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return replace(vector, bound=low)


_BITS = 62  # attributes whose sets are the bits of one number


@final
@dataclass(frozen=True, slots=True, eq=False)
class Incidence:
    """How variances depend on noise: that of an output is Σ `factors` · v over its pairs (`owners`, `members`).

    There are `outputs` outputs, and v is the variance of each of `parts` independent parts.
    """

    outputs: int
    parts: int
    owners: Integers
    members: Integers
    factors: Floats

    def coefficients(self, weights: Floats) -> Floats:
        """The weight of each part's variance in the weighted sum of the outputs' variances."""
        return _added(self.members, self.factors * weights[self.owners], self.parts)

    def variances(self, noise: Floats) -> Floats:
        """The variance of each output, from the variances of the parts."""
        return _added(self.owners, self.factors * noise[self.members], self.outputs)

    @classmethod
    def joined(cls, incidences: Sequence[Incidence]) -> Incidence:
        """Several incidences as one, with their outputs and parts one after the other."""
        outputs = np.cumsum([0, *(incidence.outputs for incidence in incidences)])
        parts = np.cumsum([0, *(incidence.parts for incidence in incidences)])
        return cls(
            int(outputs[-1]),
            int(parts[-1]),
            np.concatenate(
                [incidence.owners + start for incidence, start in zip(incidences, outputs[:-1], strict=True)]
            ),
            np.concatenate(
                [incidence.members + start for incidence, start in zip(incidences, parts[:-1], strict=True)]
            ),
            np.concatenate([incidence.factors for incidence in incidences]),
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Marginals of attributes with `sizes` values, each a rising tuple of attributes, and the residuals they need.

    `residuals` are all subsets of the marginals, in rising order of their size. In a cell of a marginal each residual
    is spread evenly over the attributes that it does not have [XWZK23].
    """

    sizes: tuple[int, ...]
    marginals: tuple[tuple[int, ...], ...]
    residuals: tuple[tuple[int, ...], ...]
    incidence: Incidence

    @classmethod
    def of(cls, sizes: Sequence[int], marginals: Sequence[tuple[int, ...]]) -> Layout:
        """The layout of the given marginals, computed by arrays of all pairs, without a loop over them."""
        by_length: dict[int, list[int]] = {}
        for marginal_index, attributes in enumerate(marginals):
            by_length.setdefault(len(attributes), []).append(marginal_index)
        listed = np.array(sizes, dtype=np.float64)
        residuals: list[tuple[int, ...]] = []
        owners: list[Integers] = []
        members: list[Integers] = []
        factors: list[Floats] = []
        for length in range(max(by_length, default=0) + 1):
            subsets = list(_subsets(by_length, marginals, length))
            if not subsets:
                continue
            chosen = np.concatenate([inside for _, inside, _ in subsets])
            _, first, residual_indices = np.unique(_codes(chosen, len(sizes)), return_index=True, return_inverse=True)
            members.append(residual_indices.reshape(-1) + len(residuals))
            owners.append(np.concatenate([marginal_indices for marginal_indices, _, _ in subsets]))
            factors.extend(
                np.prod(1 - 1 / listed[inside], axis=1) / np.prod(listed[outside] ** 2, axis=1)
                for _, inside, outside in subsets
            )
            residuals.extend(map(tuple, chosen[first].tolist()))
        pairs = np.concatenate(owners), np.concatenate(members), np.concatenate(factors)
        return cls(tuple(sizes), tuple(marginals), tuple(residuals), Incidence(len(marginals), len(residuals), *pairs))

    def largest(self) -> list[tuple[int, ...]]:
        """The marginals that are part of no other."""
        inside = {
            residual[:index] + residual[index + 1 :] for residual in self.residuals for index in range(len(residual))
        }  # every subset of a marginal is a residual
        return [marginal for marginal in self.marginals if marginal not in inside]

    def cells(self) -> int:
        """How many cells all marginals have together."""
        return sum(self.cells_of(marginal) for marginal in self.marginals)

    def cells_of(self, attributes: tuple[int, ...]) -> int:
        """How many cells the table of some attributes has."""
        return math.prod(self.sizes[attribute] for attribute in attributes)

    def sizes_of(self, attributes: tuple[int, ...]) -> tuple[int, ...]:
        """How many values each of some attributes has."""
        return tuple(self.sizes[attribute] for attribute in attributes)


def _subsets(
    by_length: dict[int, list[int]], marginals: Sequence[tuple[int, ...]], length: int
) -> Iterator[tuple[Integers, Integers, Integers]]:
    """The subsets of one length: the indices of their marginals, the attributes inside, and those outside."""
    for longer, marginal_indices in by_length.items():
        if longer < length:
            continue
        attributes = np.array([marginals[index] for index in marginal_indices], dtype=np.int64).reshape(
            len(marginal_indices), longer
        )
        for inside in itertools.combinations(range(longer), length):
            outside = [index for index in range(longer) if index not in inside]
            yield np.array(marginal_indices, dtype=np.int64), attributes[:, list(inside)], attributes[:, outside]


def _added(indices: Integers, numbers: Floats, size: int) -> Floats:
    """For each index, the sum of its numbers."""
    return np.bincount(indices, numbers, minlength=size).astype(np.float64)


def _codes(chosen: Integers, count: int) -> Integers:
    """One number for each set of attributes of the same length."""
    if count <= _BITS:
        bits: Integers = np.bitwise_or.reduce(np.int64(1) << chosen, axis=1)
        return bits
    codes = np.zeros(len(chosen), dtype=np.int64)
    for column in range(chosen.shape[1]):
        _, codes = np.unique(codes * count + chosen[:, column], return_inverse=True)
        codes = codes.reshape(-1)
    return codes


MOST_CELLS = 20_000_000  # of all tables together
MOST_IN_TABLE = 1_000_000

_COMPARED_EXACTLY = {Kind.TEXT, Kind.BOOLEAN, Kind.DATE, Kind.INTEGER}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """Marginals of one quantity: the number of rows, or with `of` the sum of a column in steps of its lattice."""

    of: str | None
    quantum: Quantum | None
    layout: Layout
    weights: Floats
    name: str  # of its column in answers

    @property
    def unit(self) -> Fraction:
        """The value of one step."""
        return Fraction(1) if self.quantum is None else self.quantum.granularity

    def contribution(self, rows: int) -> Contribution:
        """What one unit with a number of rows adds. Any value may be missing, and then adds nothing."""
        if self.quantum is None:
            return Contribution(rows)
        return Contribution(rows, min(self.quantum.least, 0), max(self.quantum.most, 0))

    def summand(self) -> Summand:
        """The summand that an engine adds up."""
        return Summand("rows") if self.of is None else Summand("sum", ColumnReference(self.of), self.quantum)

    def to_json(self) -> list[Any]:
        """What identifies the layer in a ledger."""
        lattice = None
        if self.quantum is not None:
            lattice = [str(self.quantum.granularity), str(self.quantum.low), str(self.quantum.high)]
        return [
            self.of,
            lattice,
            [list(marginal) for marginal in self.layout.marginals],
            [str(weight) for weight in self.weights.tolist()],
        ]


@final
@dataclass(frozen=True, slots=True)
class RangeTable:
    """Bins of a column between its bounds, in every combination of the attributes `by`."""

    column: str
    by: tuple[int, ...]
    low: Fraction
    width: Fraction
    high: Fraction
    bins: int
    kind: Kind
    weight: float

    @classmethod
    def of(cls, ranges: Ranges, relation: Relation, attributes: Attributes) -> RangeTable:
        """Bins that split the bounds evenly; whole numbers and days are never split between bins."""
        domain = ColumnReference(ranges.column).domain(relation.schema)
        if domain.low is None or domain.high is None:
            ends = ("2024-01-01", "2024-12-31") if domain.kind in MOMENTS else (0, 100)
            hint = f'the custodian can declare them: domains={{"{ranges.column}": {ends}}}'.replace("'", '"')
            raise QueryRefused(f"`{ranges.column}` has no bounds, and ranges need them", hint=hint)
        most = ranges.bins or MOST[True]
        if not 2 <= most <= MOST[False]:
            raise InvalidParameter("bins", ranges.bins, f"is not between 2 and {MOST[False]:,}")
        low, high = domain.low, domain.high
        if domain.kind in {Kind.INTEGER, Kind.DATE, Kind.TIMESTAMP}:
            low = Fraction(math.floor(low) if domain.kind is Kind.TIMESTAMP else math.ceil(low))
            values = math.floor(high) - int(low) + 1
            width = Fraction(-(-values // most))
            count = -(-values // int(width))
        else:
            count, width = most, (high - low) / most
        if count < 2 or width <= 0:
            raise QueryRefused(f"`{ranges.column}` has only one value, and so no ranges", hint="leave it out")
        return cls(ranges.column, attributes.indices_of(ranges.by), low, width, high, count, domain.kind, ranges.weight)

    @property
    def expression(self) -> Expression:
        """The number to bin; for dates and times, the days after the first day."""
        if not self.is_time:
            return ColumnReference(self.column)
        first = moment_of(self.low, timed=False)
        return Call("date_diff", (Literal("day"), Literal(first), ColumnReference(self.column)))

    @property
    def first(self) -> Fraction:
        """The lower end of the first bin of `expression`."""
        return Fraction(0) if self.is_time else self.low

    @property
    def is_time(self) -> bool:
        """Whether the column holds dates or times."""
        return self.kind in {Kind.DATE, Kind.TIMESTAMP}

    def start(self) -> Any:
        """The lower border of the first bin, which also counts everything below it."""
        if self.is_time:
            return moment_of(self.low, timed=False)
        return int(self.low) if self.kind is Kind.INTEGER else float(self.low)

    def borders(self) -> list[Any]:
        """The upper border of every bin. Nothing lies above the last."""
        ends = [self.low + self.width * bin_number for bin_number in range(1, self.bins + 1)]
        if self.is_time:
            return [moment_of(end, timed=False) for end in ends]
        return [int(end) for end in ends] if self.kind is Kind.INTEGER else [float(end) for end in ends]

    def to_json(self) -> list[Any]:
        """What identifies the range in a ledger."""
        return [
            self.column,
            list(self.by),
            str(self.low),
            str(self.width),
            str(self.high),
            self.bins,
            str(self.weight),
        ]


@final
@dataclass(frozen=True, slots=True, eq=False)
class BoundWorkload:
    """The tables of a workload over a relation in which a unit has at most `rows` rows.

    With a `norm`, persons may have any number of rows: each is scaled down to that L2 norm, equally in all tables.
    """

    question: Question  # restricted to the rows that count
    attributes: Attributes
    layers: tuple[Layer, ...]
    ranges: tuple[RangeTable, ...]
    caps: Caps
    rows: int
    neighbours: Neighbours
    norm: Fraction | None = None

    @classmethod
    def of(
        cls,
        workload: Workload,
        relation: Relation,
        caps: Caps,
        neighbours: Neighbours,
        norm: Fraction | None = None,
    ) -> BoundWorkload:
        """A workload over a relation, with caps on the rows of a person. No row is read."""
        attributes = Attributes.of(relation, workload.columns, dict(workload.column_names))
        marginals = workload.marginal_weights()
        sums = [column for column in marginals if column is not None]
        question = capped(attributes.question(relation, sums), caps)
        rows = question.relation.most_rows
        if rows is None and norm is None:
            raise unbounded(
                "rows",
                ("rows_per_person=10",) if workload.ranges else ("rows_per_person=10", "norm=10 of the workload"),
            )  # a range takes no norm
        layouts = {
            column: Layout.of(attributes.sizes, [attributes.indices_of(tuple(names)) for names in weights])
            for column, weights in marginals.items()
        }
        steps = _steps(norm, relation, workload, layouts)
        layers = []
        for column, weights in marginals.items():
            quantum = _quantum(column, relation, steps)
            if quantum is not None and quantum.least == quantum.most == 0:
                raise QueryRefused(f"`{column}` is always zero, and so are its sums", hint="leave it out")
            name = dict(workload.measure_names).get(column, "n" if column is None else f"{column}_sum")
            layers.append(Layer(column, quantum, layouts[column], np.array(list(weights.values())), name))
        ranges = tuple(RangeTable.of(column_ranges, relation, attributes) for column_ranges in workload.ranges)
        bound_workload = cls(question, attributes, tuple(layers), ranges, caps, max(rows or 1, 1), neighbours, norm)
        bound_workload.require_few_cells()
        bound_workload._require_own_names()
        return bound_workload

    def _require_own_names(self) -> None:
        """Refuse a group column that is called as a number of the answer is: it could not be read after the charge."""
        numbers = [layer.name for layer in self.layers] + (["n"] if self.ranges else [])
        reserved = {f"{name}{end}" for name in numbers for end in ("", "_low", "_high", "_consistent")}
        for name in self.attributes.labels:
            if name in reserved:
                raise QueryRefused(
                    f"a column is called `{name}`, and so is a number of the answer",
                    hint="SELECT … AS … GROUP BY CUBE (…) gives both names of their own",
                )

    @property
    def is_all_or_none(self) -> bool:
        """Whether every row is counted in all tables of a layer, or in none.

        A filter decides which rows count, a list of keys in which cell. Both compare texts, truth values, dates and
        whole numbers exactly. A filter compares other numbers as doubles: a DECIMAL that is nearly a declared value
        passes it, and is in no cell.
        """
        kinds = self.question.relation.schema
        return all(kinds[name].kind in _COMPARED_EXACTLY for name in self.attributes.names)

    @property
    def count(self) -> int:
        """The number of distinct tables."""
        marginals = {marginal for layer in self.layers for marginal in layer.layout.marginals}
        return len(marginals) + len(self.ranges)

    def require_few_cells(self) -> None:
        """Refuse a workload with too many cells, by the declared values alone."""
        if not self.layers and not self.ranges:
            raise QueryRefused("the workload asks for nothing", hint="name a table")
        sizes = self.attributes.sizes
        tables = [
            *((marginal, 1) for layer in self.layers for marginal in layer.layout.marginals),
            *((range_table.by, range_table.bins) for range_table in self.ranges),
        ]
        together = 0
        for attributes, times in tables:
            cells = times * math.prod(sizes[attribute] for attribute in attributes)
            together += cells
            if cells > MOST_IN_TABLE:
                names = ", ".join(self.attributes.names[attribute] for attribute in attributes)
                raise QueryRefused(
                    f"the table of {names} would have {cells:,} cells, more than {MOST_IN_TABLE:,}",
                    hint="fewer tables, wider categories, or fewer bins",
                )
        if together > MOST_CELLS:
            raise QueryRefused(
                f"the workload has {together:,} cells, more than {MOST_CELLS:,}",
                hint="fewer tables, fewer columns, or wider categories",
            )

    @property
    def cells(self) -> int:
        """The number of cells and borders in the answer."""
        marginal_cells = sum(layer.layout.cells() for layer in self.layers)
        return marginal_cells + sum(
            self.attributes.keys(range_table.by).size * range_table.bins for range_table in self.ranges
        )

    @property
    def counted(self) -> Caps | None:
        """The cap on rows of a person; None if single rows are protected, or nothing bounds the rows."""
        relation = self.question.relation
        return None if relation.person is None or relation.most_rows is None else Caps(rows_per_person=self.rows)

    @property
    def most(self) -> Fraction:
        """The greatest L2 norm of one unit in a table, in rows."""
        return Fraction(self.rows) if self.norm is None else self.norm

    def counted_in_words(self) -> list[str]:
        """How much of a person counts, in words."""
        person = self.question.relation.person
        if person is None:
            return []
        notes = [] if self.counted is None else [f"up to {self.rows:,} rows of a person count"]
        if self.norm is not None:
            notes.append(
                f"persons longer than norm = {decimal(self.norm)} are scaled down to it, in all tables alike: "
                "the length is the root of the sum of the squares of a person's counts in the cells of a table, its "
                "mean over tables weighed by their noise; its truncation bias is unknown"
            )
        return [*notes, rows_without(person)]

    def in_words(self) -> str:
        """A short description for the ledger, without any values."""
        tables = sum(len(layer.layout.marginals) for layer in self.layers)
        parts = [f"{tables:,} marginals of {', '.join(self.attributes.names)}"] if tables else []
        parts += [f"ranges of {range_table.column}" for range_table in self.ranges]
        named = dict.fromkeys(table.name for table in self.question.relation.tables())
        return f"{'; '.join(parts)} in {', '.join(named)}"[:300]

    # -- questions to engines -------------------------------------------------------------------------------------

    def tallies(self, tables: list[tuple[int, ...]]) -> list[tuple[tuple[int, ...], Tally]]:
        """Tallies of all layers, with their attributes; each of the given tables is a sum over one of them."""
        summands = tuple(layer.summand() for layer in self.layers)
        relation = self.question.relation
        return [
            (attributes, Tally(relation, self.attributes.keys(attributes), summands))
            for attributes in (covers(self.attributes.sizes, tables) if summands else [])
        ]

    def binned(self) -> list[Bins]:
        """The bins of every range."""
        relation = self.question.relation
        return [
            Bins(
                relation,
                self.attributes.keys(range_table.by),
                range_table.expression,
                range_table.first,
                range_table.width,
                range_table.bins,
            )
            for range_table in self.ranges
        ]

    def questions(self, tables: list[tuple[int, ...]]) -> list[Asked]:
        """All questions to an engine."""
        return [*(tally for _, tally in self.tallies(tables)), *self.binned()]

    def to_json(self) -> dict[str, Any]:
        """What identifies the workload in a ledger, apart from the spend."""
        return {
            "relation": identity(self.question.relation),
            "attributes": self.attributes.to_json(),
            "layers": [layer.to_json() for layer in self.layers],
            "ranges": [range_table.to_json() for range_table in self.ranges],
            "rows": self.rows,
            "neighbours": self.neighbours,
            **({} if self.norm is None else {"norm": str(self.norm)}),
            **({} if self.neighbours == "add-remove" or self.is_all_or_none else {"priced": "each table apart"}),
        }


def norm_of(stated_norm: Number | None) -> Fraction | None:
    """Check a stated norm."""
    if stated_norm is None:
        return None
    norm = positive("norm", stated_norm)
    if norm < 1:
        raise InvalidParameter("norm", stated_norm, "is below 1, the length of a single row", hint="at least 1")
    return norm


def _steps(
    norm: Fraction | None, relation: Relation, workload: Workload, layouts: dict[str | None, Layout]
) -> int | None:
    """The steps per row if persons are scaled down to a norm, else None; what cannot be scaled is refused."""
    if norm is None:
        return None
    if relation.person is None:
        raise InvalidParameter(
            "norm", str(norm), "scales people, and here every row is protected by itself", hint="leave it out"
        )
    if workload.ranges:
        raise QueryRefused(
            "ranges add up neighbouring bins, and a length within bins does not bound their running totals",
            hint="ask for the ranges alone, with rows_per_person=10 and without a norm",
        )
    return steps_of_row(norm, sum(len(layout.residuals) for layout in layouts.values()))


def _quantum(column: str | None, relation: Relation, steps: int | None) -> Quantum | None:
    """The lattice of a layer; None for rows that are not scaled, which stay whole."""
    if column is None:
        return None if steps is None else Quantum(Fraction(1, steps), Fraction(0), Fraction(1))
    domain = ColumnReference(column).domain(relation.schema)
    return (
        quantum_of(domain, ColumnReference(column), centred=False)
        if steps is None
        else quantum_of_values(domain, steps)
    )
