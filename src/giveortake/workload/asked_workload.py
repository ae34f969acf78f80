"""A workload over a relation: its tables and cells, what one unit adds to them, and the questions to engines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.advice import Advice, declaring
from giveortake.answers.text import with_article
from giveortake.compile import Caps
from giveortake.compile.bins import MOST
from giveortake.compile.caps import capped, unbounded
from giveortake.compile.measures import quantum_of
from giveortake.engines import Bins, Summand, Tally
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.exact import positive, shown
from giveortake.mechanisms.marginals import Contribution
from giveortake.plan import Call, ColumnReference, Kind, Literal
from giveortake.plan.moments import moment_of
from giveortake.plan.times import MOMENTS
from giveortake.workload.attributes import Attributes
from giveortake.workload.clipped_persons import quantum_of_rows, quantum_of_values, steps_of_row
from giveortake.workload.covers import covers
from giveortake.workload.layout import Layout

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.engines.questions import Asked, Quantum
    from giveortake.exact import Number
    from giveortake.plan import Expression, Question, Relation
    from giveortake.privacy.guarantee import Neighbours
    from giveortake.workload.workload import RangeWish, Workload

    Floats: TypeAlias = npt.NDArray[np.float64]

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
            [list(each) for each in self.layout.marginals],
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
    def of(cls, wish: RangeWish, relation: Relation, attributes: Attributes) -> RangeTable:
        """Bins that split the bounds evenly; whole numbers and days are never split between bins."""
        domain = ColumnReference(wish.column).domain(relation.schema)
        if domain.low is None or domain.high is None:
            ends = ("2024-01-01", "2024-12-31") if domain.kind in MOMENTS else (0, 100)
            hint = declaring(wish.column, str(ends).replace("'", '"'), f"{ends[0]}:{ends[1]}")
            raise QueryRefused(f"`{wish.column}` has no bounds, and ranges need them", hint=hint)
        most = wish.bins or MOST[True]
        if not 2 <= most <= MOST[False]:
            raise InvalidParameter("bins", wish.bins, f"is not between 2 and {MOST[False]:,}")
        low, high = domain.low, domain.high
        if domain.kind in {Kind.INTEGER, Kind.DATE, Kind.TIMESTAMP}:
            low = Fraction(math.floor(low) if domain.kind is Kind.TIMESTAMP else math.ceil(low))
            values = math.floor(high) - int(low) + 1
            width = Fraction(-(-values // most))
            count = -(-values // int(width))
        else:
            count, width = most, (high - low) / most
        if count < 2 or width <= 0:
            raise QueryRefused(f"`{wish.column}` has only one value, and so no ranges", hint="leave it out")
        return cls(wish.column, attributes.places(wish.by), low, width, high, count, domain.kind, wish.weight)

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
        ends = [self.low + self.width * place for place in range(1, self.bins + 1)]
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
class AskedWorkload:
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
    ) -> AskedWorkload:
        """A workload over a relation, with caps on the rows of a person. No row is read."""
        attributes = Attributes.of(relation, workload.columns, dict(workload.column_names))
        wishes = workload.wishes()
        sums = [of for of in wishes if of is not None]
        question = capped(attributes.question(relation, sums), caps)
        rows = question.relation.most_rows
        if rows is None and norm is None:
            raise unbounded("rows", ("{cap}",) if workload.ranges else ("{cap}", "{norm}"))  # a range takes no norm
        layouts = {
            of: Layout.of(attributes.sizes, [attributes.places(tuple(each)) for each in weights])
            for of, weights in wishes.items()
        }
        steps = _steps(norm, relation, workload, layouts)
        layers = []
        for of, weights in wishes.items():
            quantum = _quantum(of, relation, steps)
            if quantum is not None and quantum.least == quantum.most == 0:
                raise QueryRefused(f"`{of}` is always zero, and so are its sums", hint="leave it out")
            name = dict(workload.measure_names).get(of, "n" if of is None else f"{of}_sum")
            layers.append(Layer(of, quantum, layouts[of], np.array(list(weights.values())), name))
        ranges = tuple(RangeTable.of(each, relation, attributes) for each in workload.ranges)
        made = cls(question, attributes, tuple(layers), ranges, caps, max(rows or 1, 1), neighbours, norm)
        made.require_few_cells()
        return made

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
        marginals = {each for layer in self.layers for each in layer.layout.marginals}
        return len(marginals) + len(self.ranges)

    def require_few_cells(self) -> None:
        """Refuse a workload with too many cells, by the declared values alone."""
        if not self.layers and not self.ranges:
            raise QueryRefused("the workload asks for nothing", hint="name a table")
        sizes = self.attributes.sizes
        tables = [
            *((each, 1) for layer in self.layers for each in layer.layout.marginals),
            *((each.by, each.bins) for each in self.ranges),
        ]
        together = 0
        for places, times in tables:
            cells = times * math.prod(sizes[each] for each in places)
            together += cells
            if cells > MOST_IN_TABLE:
                names = ", ".join(self.attributes.names[each] for each in places)
                raise QueryRefused(
                    f"the table of {names} would have {cells:,} cells, more than {MOST_IN_TABLE:,}",
                    hint=Advice("{fewer_tables}", "wider categories, or fewer bins", between=", "),
                )
        if together > MOST_CELLS:
            raise QueryRefused(
                f"the workload has {together:,} cells, more than {MOST_CELLS:,}",
                hint=Advice("{fewer_tables}", "fewer columns, or wider categories", between=", "),
            )

    @property
    def cells(self) -> int:
        """The number of cells and borders in the answer."""
        found = sum(layer.layout.cells() for layer in self.layers)
        return found + sum(self.attributes.keys(each.by).size * each.bins for each in self.ranges)

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
        found = [] if self.counted is None else [f"up to {self.rows:,} rows of a person count"]
        if self.norm is not None:
            found.append(
                f"persons longer than norm = {shown(self.norm)} are scaled down to it, in all tables alike: "
                "the length is the root of the sum of the squares of a person's counts in the cells of a table, its "
                "mean over tables weighed by their noise; how much that leaves out is not known"
            )
        return [*found, f"rows without {with_article(person)} are left out"]

    def in_words(self) -> str:
        """A short description for the ledger, without any values."""
        tables = sum(len(layer.layout.marginals) for layer in self.layers)
        parts = [f"{tables:,} marginals of {', '.join(self.attributes.names)}"] if tables else []
        parts += [f"ranges of {each.column}" for each in self.ranges]
        named = dict.fromkeys(table.name for table in self.question.relation.tables())
        return f"{'; '.join(parts)} in {', '.join(named)}"[:300]

    # -- questions to engines -------------------------------------------------------------------------------------

    def tallies(self, tables: list[tuple[int, ...]]) -> list[tuple[tuple[int, ...], Tally]]:
        """Tallies of all layers, with their attributes; each of the given tables is a sum over one of them."""
        summands = tuple(layer.summand() for layer in self.layers)
        relation = self.question.relation
        return [
            (places, Tally(relation, self.attributes.keys(places), summands))
            for places in (covers(self.attributes.sizes, tables) if summands else [])
        ]

    def binned(self) -> list[Bins]:
        """The bins of every range."""
        relation = self.question.relation
        return [
            Bins(relation, self.attributes.keys(each.by), each.expression, each.first, each.width, each.bins)
            for each in self.ranges
        ]

    def questions(self, tables: list[tuple[int, ...]]) -> list[Asked]:
        """All questions to an engine."""
        return [*(tally for _, tally in self.tallies(tables)), *self.binned()]

    def to_json(self) -> dict[str, Any]:
        """What identifies the workload in a ledger, apart from the spend."""
        return {
            "relation": self.question.relation.to_json(),
            "attributes": self.attributes.to_json(),
            "layers": [each.to_json() for each in self.layers],
            "ranges": [each.to_json() for each in self.ranges],
            "rows": self.rows,
            "neighbours": self.neighbours,
            **({} if self.norm is None else {"norm": str(self.norm)}),
            **({} if self.neighbours == "add-remove" or self.is_all_or_none else {"priced": "each table apart"}),
        }


def norm_of(said: Number | None) -> Fraction | None:
    """Check a stated norm."""
    if said is None:
        return None
    norm = positive("norm", said)
    if norm < 1:
        raise InvalidParameter("norm", said, "is below 1, the length of a single row", hint="at least 1")
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
            hint=Advice("ask for the ranges alone, with {cap} and without a norm"),
        )
    return steps_of_row(norm, sum(len(each.residuals) for each in layouts.values()))


def _quantum(of: str | None, relation: Relation, steps: int | None) -> Quantum | None:
    """The lattice of a layer; None for rows that are not scaled, which stay whole."""
    if of is None:
        return None if steps is None else quantum_of_rows(steps)
    domain = ColumnReference(of).domain(relation.schema)
    return quantum_of(domain, ColumnReference(of), centred=False) if steps is None else quantum_of_values(domain, steps)
