"""Impossible cells: combinations of values that no row has, and columns that others determine."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake import codec
from giveortake.errors import InvalidParameter, did_you_mean
from giveortake.synth.junction_tree import JunctionTree, Triangulation
from giveortake.synth.model import edge_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.synth.junction_tree import Columns
    from giveortake.synth.model import ModelColumn

    Floats: TypeAlias = npt.NDArray[np.float64]


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


def zero_to_json(zero: Zero) -> list[Any]:
    """A zero as ledgers keep it."""
    if isinstance(zero, FunctionalDependency):
        pairs = ([_stated(value), _stated(other)] for value, other in zero.values.items())
        return ["determines", zero.column, zero.other, *sorted(pairs)]
    if not isinstance(zero, Mapping):
        raise _no_combination(zero)
    return ["never", *sorted([str(name), _stated(values)] for name, values in zero.items())]


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


def _stated(value: object) -> list[Any]:
    """A value, a list of values or a pair of bounds as ledgers keep it."""
    if isinstance(value, tuple | list):
        return ["between" if isinstance(value, tuple) else "one of", *map(_stated, value)]
    return ["text" if isinstance(value, str) else "value", str(value)]


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
