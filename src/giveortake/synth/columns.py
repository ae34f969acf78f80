"""The columns of a synthesis, and the cells that cannot be.

- How the columns of a private table are counted: by their declared values, or by bins of their numbers.
- Impossible cells: combinations of values that no row has, and columns that others determine.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from operator import eq
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake import codec
from giveortake.engines import KeyColumn
from giveortake.errors import InvalidParameter, did_you_mean
from giveortake.plan import Call, ColumnReference, Kind, Literal
from giveortake.synth.junction_tree import JunctionTree, Triangulation
from giveortake.synth.model import ModelColumn, edge_of

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]
    from giveortake.plan import Domain, Expression, Relation
    from giveortake.synth.junction_tree import Columns


MOST_VALUES = 2_000  # of one column
FINE_BINS = 256  # of which bins by quantiles are made
_OF_MOMENTS = "add a column of dates to the table: moments have no bins"


def model_column(relation: Relation, name: str, edges: Sequence[Fraction] | None) -> ModelColumn:
    """The column of a model: with bins if it has edges, else with its declared values."""
    domain = _domain(relation, name)
    if edges is not None:
        return ModelColumn(name, domain.kind, None, tuple(edges), domain.nullable, domain.step)
    values = domain.keys()
    if values is None:
        raise InvalidParameter("columns", name, "has no declared values", hint=_how_to_list(name, domain))
    if len(values) > MOST_VALUES:
        raise InvalidParameter(
            "columns",
            name,
            f"has {len(values):,} values, more than {MOST_VALUES:,}",
            hint=f'say bins={{"{name}": 20}} for bins by quantiles, or list their edges',
        )
    if len(values) < 2:
        raise InvalidParameter(
            "columns", name, "has only one value, so nothing can be learned from it", hint="leave it out"
        )
    return ModelColumn(name, domain.kind, values, None, None in values, domain.step)


def key_column(column: ModelColumn) -> KeyColumn:
    """The key column that an engine counts by: the values themselves, or the indices of bins."""
    if column.edges is None:
        return KeyColumn(column.name, ColumnReference(column.name), column.categories)
    return KeyColumn(column.name, _bin_index(column), tuple(range(column.size)))


def _bin_index(column: ModelColumn) -> Expression:
    """The index of a number's bin: below the first edge the first, beyond the last edge the last; missing come last.

    An edge that is listed twice ends a bin that contains it.
    """
    assert column.edges is not None  # noqa: S101 (asked only then)
    reference: Expression = ColumnReference(column.name)
    arguments: list[Expression] = []
    if column.nullable:
        arguments += [Call("is_null", (reference,)), Literal(column.size - 1)]
    for index, (edge, alone) in enumerate(zip(column.edges[1:-1], column.alone(), strict=False)):
        arguments += [Call("le" if alone else "lt", (reference, _literal(edge, column.kind))), Literal(index)]
    last = Literal(len(column.edges) - 2)
    return Call("case", (*arguments, last)) if arguments else last


def _literal(edge: Fraction, kind: Kind) -> Literal:
    if kind is Kind.DATE:
        return Literal(dt.date.fromordinal(int(edge)))
    return Literal(edge.numerator if edge.denominator == 1 else edge)


def declared_edges(relation: Relation, name: str, stated_edges: Sequence[Any]) -> tuple[Fraction, ...]:
    """Edges of bins as they were stated: numbers or days in increasing order, twice for a bin of one number."""
    domain = _domain(relation, name)
    _require_binnable(name, domain)
    edges = [edge_of(f"bins[{name!r}]", domain.kind, edge) for edge in stated_edges]
    if len(edges) < 3 or edges != sorted(edges) or any(map(eq, edges, edges[2:])):
        raise InvalidParameter(
            f"bins[{name!r}]",
            list(stated_edges),
            "is not a list of increasing edges of two bins or more",
            hint="[0, 10, 100], or [0, 0, 10, 100], where exact zeros are a bin of their own",
        )
    if len(edges) - 1 > MOST_VALUES:
        raise InvalidParameter(f"bins[{name!r}]", len(edges) - 1, f"are more than {MOST_VALUES:,} bins")
    return tuple(edges)


def fine_edges(relation: Relation, name: str) -> tuple[Fraction, ...]:
    """The edges of many narrow bins of a bounded number, whole where its values are.

    0 and the bounds, at which values are clamped, are bins of their own: many rows may hold exactly these.
    """
    domain = _domain(relation, name)
    _require_binnable(name, domain)
    low, high = domain.low, domain.high
    if low is None or high is None or low >= high:
        raise InvalidParameter(
            f"bins[{name!r}]",
            name,
            "are bins by quantiles, which need declared bounds",
            hint=f'gt.protect(…, domains={{"{name}": (0, 100)}}), or list the edges',
        )
    step = domain.step or (Fraction(1) if domain.kind in {Kind.INTEGER, Kind.DATE} else None)
    width = (high - low) / FINE_BINS
    if step is not None:
        width = max(step, -(-width // step) * step)
    count = int(-(-(high - low) // width))
    often = {high} if width == step else {low, high, min(max(low, Fraction(0)), high)}
    return tuple(sorted([*{*(low + index * width for index in range(count)), *often}, *often]))


def quantile_edges(edges: Sequence[Fraction], counts: Sequence[float], bins: int) -> tuple[Fraction, ...]:
    """From narrow bins with noisy counts, the edges of at most `bins` bins of about equal counts.

    A narrow bin that alone has the share of a bin stays a bin, and the others share out what is left.
    """
    remaining = [max(0.0, count) for count in counts]
    last, cuts = len(remaining), set[int]()
    while True:
        left = bins - 1 - len(cuts)
        share = sum(remaining) / (left + 1)
        largest = max(range(last), key=remaining.__getitem__)
        around = {largest, largest + 1} - {0, last} - cuts
        if not 0 < share <= remaining[largest] or len(around) > left:
            break
        cuts |= around
        remaining[largest] = 0.0
    alone = [one == other for one, other in pairwise(edges)]
    reached, passed = 0.0, 0
    for index in range(last - 1 - alone[-1]):  # a bin of one number with less than a share joins the next bin, the last
        reached += remaining[index]  # one joins the bin before it
        if passed < left and 0 < share * (passed + 1) <= reached and not alone[index]:
            passed += 1
            cuts.add(index + 1)
    return tuple(edges[index] for index in sorted({0, *(cuts or {last // 2}), last}))


def stated_bins(bins: Mapping[str, Any] | None, columns: Sequence[str]) -> dict[str, Any]:
    """Check the bins stated for some of the columns: edges, or a number of bins."""
    if bins is not None and not isinstance(bins, Mapping):
        raise InvalidParameter("bins", bins, "does not say which column they are of", hint='bins={"age": 8}')
    bins_by_column = dict(bins or {})
    for name, column_bins in bins_by_column.items():
        if name not in columns:
            raise InvalidParameter(
                "bins", name, "is not one of the columns", hint=did_you_mean(str(name), columns) or None
            )
        is_count = isinstance(column_bins, int) and not isinstance(column_bins, bool)
        if not is_count and (isinstance(column_bins, str) or not isinstance(column_bins, Sequence | np.ndarray)):
            raise InvalidParameter(
                f"bins[{name!r}]",
                column_bins,
                "is neither a list of edges nor a number of bins",
                hint="[0, 10, 100], or 8",
            )
        if is_count and not 2 <= column_bins <= FINE_BINS // 2:
            raise InvalidParameter(
                f"bins[{name!r}]", column_bins, f"is not a number of bins from 2 to {FINE_BINS // 2}"
            )
    return bins_by_column


def _domain(relation: Relation, name: str) -> Domain:
    if name not in relation.schema:
        known = list(relation.schema)
        raise InvalidParameter(
            "columns",
            name,
            "is not a column here",
            hint=f"{did_you_mean(str(name), known)}the columns are {', '.join(known)}",
        )
    return relation.schema[name]


def _how_to_list(name: str, domain: Domain) -> str:
    """What to say of a column without declared values, by what it holds."""
    if domain.kind is Kind.TIMESTAMP:
        return _OF_MOMENTS
    declared = f'declare them: gt.protect(…, domains={{"{name}": […]}})'
    if not _is_binnable(domain):
        return declared
    edges = "[datetime.date(2024, 1, 1), …]" if domain.kind is Kind.DATE else "[0, 10, 100]"
    return f'bins={{"{name}": 8}} makes bins by quantiles, bins={{"{name}": {edges}}} by edges; or {declared}'


def _is_binnable(domain: Domain) -> bool:
    return (domain.kind.is_number or domain.kind is Kind.DATE) and domain.categories is None


def _require_binnable(name: str, domain: Domain) -> None:
    if not _is_binnable(domain):
        hint = _OF_MOMENTS if domain.kind is Kind.TIMESTAMP else None
        problem = "has no bins: numbers and dates with bounds do"
        raise InvalidParameter(f"bins[{name!r}]", str(domain.kind), problem, hint=hint)


Stated: TypeAlias = bool | int | float | str | Fraction | dt.datetime | dt.date | None  # a value in a stated zero


@final
@codec.stored("determines")
@dataclass(frozen=True, slots=True)
class FunctionalDependency:
    """One column determines another, value by value: `FunctionalDependency("zip", "state", {"10001": "NY", …})`."""

    column: str
    other: str
    values: Mapping[Stated, Stated]


Zero: TypeAlias = "Mapping[str, Any] | FunctionalDependency"


def zero_factors(zeros: Sequence[Zero], columns: Sequence[ModelColumn], most_cells: int) -> dict[Columns, Floats]:
    """Factors: 0 for possible cells, −∞ for impossible ones. Contradictions and too large tables are refused.

    A zero is a combination `{"age": 12, "married": "yes"}`; a list of values means each of them, and for bins
    `(low, high)` means those inside. Stated zeros are public: they come from knowledge of the world, not of rows.
    """
    column_indices = {column.name: column_index for column_index, column in enumerate(columns)}
    factors: dict[Columns, Floats] = {}
    for zero in zeros:
        for pattern in _patterns(zero, columns, column_indices):
            group = tuple(sorted(pattern))
            shape = [columns[column_index].size for column_index in group]
            if math.prod(shape) > most_cells:
                raise InvalidParameter(
                    "zeros",
                    [columns[column_index].name for column_index in group],
                    f"are a table of {math.prod(shape):,} cells, more than {most_cells:,}",
                    hint="state zeros of fewer columns at a time",
                )
            factor = factors.setdefault(group, np.zeros(shape))
            factor[np.ix_(*(pattern[column_index] for column_index in group))] = -math.inf
    _require_possible(factors, [column.size for column in columns], most_cells)
    return factors


@final
@codec.stored("one of")
@dataclass(frozen=True, slots=True)
class OneOf:
    """Any of several values."""

    values: tuple[Stated, ...]


@final
@codec.stored("between")
@dataclass(frozen=True, slots=True)
class Between:
    """All bins between two edges."""

    low: Stated
    high: Stated


@final
@codec.stored("never")
@dataclass(frozen=True, slots=True)
class Never:
    """A combination of values that cannot be, as a document has it."""

    values: Mapping[str, Stated | OneOf | Between]


def written_zero(zero: Zero) -> Never | FunctionalDependency:
    """A zero as it is written."""
    if isinstance(zero, FunctionalDependency):
        return zero
    if not isinstance(zero, Mapping):
        raise _no_combination(zero)
    return Never({str(name): _written(name, values) for name, values in zero.items()})


def _written(name: object, values: Any) -> Any:
    if isinstance(values, tuple) and len(values) != 2:
        raise InvalidParameter(f"zeros[{name!r}]", values, "is not a stretch of bins", hint="(low, high)")
    if isinstance(values, tuple):
        return Between(*values)
    return OneOf(tuple(values)) if isinstance(values, list | set | frozenset) else values


def zero_of(written: Never | FunctionalDependency) -> Zero:
    """The zero that was written."""
    if isinstance(written, FunctionalDependency):
        return written
    return {name: _read(values) for name, values in written.values.items()}


def _read(values: Any) -> Any:
    match values:
        case Between():
            return (values.low, values.high)
        case OneOf():
            return list(values.values)
    return values


def _no_combination(zero: object) -> InvalidParameter:
    return InvalidParameter("zeros", zero, "is not a combination", hint='zeros=[{"sex": "male", "pregnant": "yes"}]')


def _patterns(
    zero: Zero, columns: Sequence[ModelColumn], column_indices: Mapping[str, int]
) -> list[dict[int, list[int]]]:
    """For each combination, the indices of its columns and of the values that cannot be together."""
    if isinstance(zero, FunctionalDependency):
        column, other = (columns[_column_index(name, column_indices)] for name in (zero.column, zero.other))
        missing = [
            category for category in column.categories or () if category not in zero.values and category is not None
        ]
        if column.categories is None or other.categories is None or missing:
            raise InvalidParameter(
                "zeros", zero.column, "determines another column only if every category of it says which value"
            )
        return [
            {
                column_indices[column.name]: [column.index_of(value)],
                column_indices[other.name]: _other_indices(other, implied),
            }
            for value, implied in zero.values.items()
        ]
    if not zero:
        raise _no_combination(zero)
    pattern = {}
    for name, excluded in zero.items():
        column = columns[_column_index(name, column_indices)]
        pattern[column_indices[name]] = _excluded_indices(column, excluded)
    return [pattern]


def _column_index(name: str, column_indices: Mapping[str, int]) -> int:
    if name not in column_indices:
        raise InvalidParameter(
            "zeros", name, "is not a column of the table", hint=did_you_mean(str(name), column_indices) or None
        )
    return column_indices[name]


def _other_indices(column: ModelColumn, value: object) -> list[int]:
    value_index = column.index_of(value)
    return [index for index in range(column.size) if index != value_index]


def _excluded_indices(column: ModelColumn, excluded: object) -> list[int]:
    if column.edges is None:
        listed = excluded if isinstance(excluded, list | set | frozenset) else [excluded]
        return sorted({column.index_of(value) for value in listed})
    if excluded is None and column.nullable:
        return [column.size - 1]
    if not isinstance(excluded, tuple) or len(excluded) != 2:
        raise InvalidParameter(f"zeros[{column.name!r}]", excluded, "is not a stretch of bins", hint="(low, high)")
    low, high = (edge_of(f"zeros[{column.name!r}]", column.kind, end) for end in excluded)
    inside = [
        index
        for index, (first, last) in enumerate(pairwise(column.edges))
        if low <= first and last <= high and (first < high or low == high or last == column.edges[-1])
    ]
    if not inside:
        raise InvalidParameter(
            f"zeros[{column.name!r}]", excluded, "contains no whole bin", hint="move it to their edges"
        )
    return inside


def _require_possible(zeros: Mapping[Columns, Floats], sizes: Sequence[int], most_cells: int) -> None:
    if not zeros:
        return
    cells = Triangulation.from_groups(sizes, zeros).cells
    if cells > most_cells:
        raise InvalidParameter(
            "zeros",
            f"{len(zeros)} groups of columns",
            f"tie columns together that have {cells:,} cells, more than {most_cells:,}",
            hint="state fewer zeros, or zeros of fewer columns",
        )
    _, logarithm = JunctionTree.from_groups(sizes, zeros).calibrate(zeros)
    if logarithm == -math.inf:
        raise InvalidParameter(
            "zeros", f"{len(zeros)} groups of columns", "contradict each other: no row would be possible"
        )
