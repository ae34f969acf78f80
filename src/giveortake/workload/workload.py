"""Workloads as they are declared: marginals, ranges and totals, all before any is answered."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, final

from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.exact import counted, positive, whole
from giveortake.plan import AggregateKind, ColumnReference, Measured

if TYPE_CHECKING:
    from giveortake.exact import Number
    from giveortake.plan import Question

Names: TypeAlias = "tuple[str, ...]"

MOST_MARGINALS = 1_000_000


@final
@dataclass(frozen=True, slots=True)
class Marginal:
    """A requested marginal: for each combination of columns, the number of rows, or with `of` the sum of a column."""

    columns: Names
    weight: float = 1.0
    of: str | None = None


@final
@dataclass(frozen=True, slots=True)
class Ranges:
    """A requested range table: the rows below every border of a column, in each combination of the columns `by`."""

    column: str
    by: Names
    bins: int | None
    weight: float = 1.0


@final
@dataclass(frozen=True, slots=True)
class Workload:
    """Tables and ranges that are answered together. Workloads are values: `+` combines several.

    >>> marginals(["age", "sex"]) + ranges("income") + total()
    <Workload: 4 marginals of 2 columns, ranges of income>
    """

    tables: tuple[Marginal, ...]
    ranges: tuple[Ranges, ...] = ()
    column_names: tuple[tuple[str, str], ...] = ()  # names of columns in answers, if not their own
    measure_names: tuple[tuple[str | None, str], ...] = ()  # the same for counts (None) and sums of a column

    def __add__(self, other: object) -> Workload:
        if not isinstance(other, Workload):
            return NotImplemented
        return Workload(
            (*self.tables, *other.tables),
            (*self.ranges, *other.ranges),
            (*self.column_names, *other.column_names),
            (*self.measure_names, *other.measure_names),
        )

    def __radd__(self, other: object) -> Workload:
        return self if other == 0 else NotImplemented  # `sum` begins with 0

    @property
    def columns(self) -> Names:
        """The columns to group by, in the order of their first use."""
        named = itertools.chain(
            *(table.columns for table in self.tables), *(column_ranges.by for column_ranges in self.ranges)
        )
        return tuple(dict.fromkeys(named))

    def marginal_weights(self) -> dict[str | None, dict[frozenset[str], float]]:
        """The weight of every marginal, each once, for counts (None) and for sums of every column."""
        weights_by_column: dict[str | None, dict[frozenset[str], float]] = {}
        for table in self.tables:
            weights = weights_by_column.setdefault(table.of, {})
            columns = frozenset(table.columns)
            weights[columns] = weights.get(columns, 0.0) + table.weight
        return weights_by_column

    def __repr__(self) -> str:
        count = len({(table.of, frozenset(table.columns)) for table in self.tables})
        named = dict.fromkeys(column for table in self.tables for column in table.columns)
        parts = [f"{counted(count, 'marginal')} of {counted(len(named), 'column')}"] if count else []
        parts += [f"ranges of {column_ranges.column}{_by(column_ranges.by)}" for column_ranges in self.ranges]
        return f"<Workload: {', '.join(parts)}>"


def _by(columns: Names) -> str:
    return f" by {', '.join(columns)}" if columns else ""


def marginals(
    columns: Sequence[str],
    *,
    up_to: int = 2,
    weights: Mapping[Any, Number] | None = None,
    of: str | None = None,
) -> Workload:
    """The tables of all combinations of up to `up_to` columns: how many rows have each combination of values.

    With `of`, the name of a bounded number, they hold its sums instead. `weights` says how much the variance of a
    table counts: by its columns, `{("age", "sex"): 4}`, or by their number, `{1: 10, 2: 1}`; others count once.

    >>> marginals(["age", "sex", "region"], up_to=2)
    <Workload: 6 marginals of 3 columns>
    """
    listed = _names("columns", columns)
    most = whole("up_to", up_to)
    if not listed:
        raise InvalidParameter("columns", list(columns), "is empty", hint="gt.workload.total() asks for the total")
    if most < 1:
        raise InvalidParameter("up_to", up_to, "excludes every marginal", hint="up_to=2")
    most = min(most, len(listed))
    count = sum(math.comb(len(listed), length) for length in range(1, most + 1))
    if count > MOST_MARGINALS:
        raise InvalidParameter(
            "up_to", up_to, f"gives {count:,} marginals, more than {MOST_MARGINALS:,}", hint="ask for fewer at once"
        )
    wanted = [names for length in range(1, most + 1) for names in itertools.combinations(listed, length)]
    if weights is not None and not isinstance(weights, Mapping):
        raise InvalidParameter("weights", weights, "says of no table what it counts", hint='{("age", "sex"): 4}')
    stated = _stated_weights(weights or {}, wanted)
    return Workload(tuple(Marginal(names, stated(names), of) for names in wanted))


def ranges(
    column: str, *, by: str | Sequence[str] | None = None, bins: int | None = None, weight: Number = 1
) -> Workload:
    """How many rows lie below every border of a bounded number or date: any range is the difference of two.

    `by`: one set of ranges for each combination of these columns. Borders split the bounds evenly; whole numbers
    and days are never split. There are up to 1,024 bins, or as many as `bins` says.

    >>> ranges("amount", bins=10)
    <Workload: ranges of amount>
    """
    named = () if by is None else _names("by", (by,) if isinstance(by, str) else by)
    (only,) = _names("column", (column,))
    if only in named:
        raise InvalidParameter("by", by, f"names {only!r} itself")
    return Workload((), (Ranges(only, named, None if bins is None else whole("bins", bins), _weight(weight)),))


def total(*, of: str | None = None, weight: Number = 1) -> Workload:
    """How many rows there are; with `of`, the sum of a bounded number over all of them.

    >>> total()
    <Workload: 1 marginal of 0 columns>
    """
    return Workload((Marginal((), _weight(weight), of),))


def workload_of(question: Question, sets: Sequence[Names]) -> Workload:
    """The tables of a question for several sets of its keys, with its names of keys and outputs."""
    measured: dict[str | None, str] = {}
    for name, output in question.outputs:
        aggregate = output.aggregate if isinstance(output, Measured) else None
        column: str | None = None
        if (
            aggregate is not None
            and aggregate.kind is AggregateKind.SUM
            and isinstance(aggregate.expression, ColumnReference)
        ):
            column = aggregate.expression.name
        elif aggregate is None or aggregate.kind is not AggregateKind.COUNT_ROWS:
            raise QueryRefused(
                f"`{name}` is not a table of a workload: those hold COUNT(*), and SUM of a column",
                hint="SELECT region, sex, COUNT(*) AS n, SUM(age) AS total FROM people GROUP BY CUBE (region, sex)",
            )
        if column in measured:
            raise QueryRefused(f"`{name}` repeats `{measured[column]}`", hint="ask for it once")
        measured[column] = name
    keys = tuple(
        (key.name, name) for name, key in question.keys if isinstance(key, ColumnReference) and key.name != name
    )
    return Workload(
        tuple(Marginal(key_names, 1.0, column) for column in measured for key_names in sets),
        (),
        keys,
        tuple(measured.items()),
    )


def _names(name: str, columns: Sequence[str]) -> Names:
    if isinstance(columns, str) or not isinstance(columns, Sequence):
        raise InvalidParameter(name, columns, "is not a list of columns", hint='["age", "sex"]')
    for column in columns:
        if not hasattr(column, "encode") or not column:
            raise InvalidParameter(name, column, "is not the name of a column")
        if columns.count(column) > 1:
            raise InvalidParameter(name, column, "is listed twice")
    return tuple(columns)


def _weight(weight: Number) -> float:
    return float(positive("weight", weight))


def _stated_weights(weights: Mapping[Any, Number], wanted: list[Names]) -> Any:
    """The weight of each table."""
    known = {frozenset(columns) for columns in wanted}
    lengths = {len(columns) for columns in wanted}
    by_set: dict[frozenset[str], float] = {}
    by_length: dict[int, float] = {}
    for key, weight in weights.items():
        if isinstance(key, int) and not isinstance(key, bool) and key in lengths:
            by_length[key] = _weight(weight)
            continue
        named = frozenset((key,) if isinstance(key, str) else key) if isinstance(key, str | tuple) else None
        if named not in known:
            raise InvalidParameter(
                "weights", key, "is not one of the tables that were asked for", hint='{("age", "sex"): 4}'
            )
        by_set[named] = _weight(weight)
    return lambda columns: by_set.get(frozenset(columns), by_length.get(len(columns), 1.0))
