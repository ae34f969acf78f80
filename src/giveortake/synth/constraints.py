"""Impossible cells: combinations of values that no row has, and columns that others determine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from giveortake.errors import InvalidParameter, meant
from giveortake.synth.junction_tree import JunctionTree, Triangulation
from giveortake.synth.model import edge_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from giveortake.synth.junction_tree import Columns
    from giveortake.synth.model import ModelColumn

    Floats: TypeAlias = npt.NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True)
class Determines:
    """One column says what another is, for each of its values: `Determines("zip", "state", {"10001": "NY", …})`."""

    column: str
    other: str
    values: Mapping[Any, Any]


Zero: TypeAlias = "Mapping[str, Any] | Determines"


def zero_factors(zeros: Sequence[Zero], columns: Sequence[ModelColumn], most_cells: int) -> dict[Columns, Floats]:
    """Factors: 0 for possible cells, −∞ for impossible ones. Contradictions and too large tables are refused.

    A zero is a combination `{"age": 12, "married": "yes"}`; a list of values means each of them, and for bins
    `(low, high)` means those inside. Stated zeros are public: they come from knowledge of the world, not of rows.
    """
    places = {column.name: place for place, column in enumerate(columns)}
    found: dict[Columns, Floats] = {}
    for zero in zeros:
        for pattern in _patterns(zero, columns, places):
            names = tuple(sorted(pattern))
            shape = [columns[place].size for place in names]
            if math.prod(shape) > most_cells:
                raise InvalidParameter(
                    "zeros",
                    [columns[place].name for place in names],
                    f"are a table of {math.prod(shape):,} cells, more than {most_cells:,}",
                    hint="state zeros of fewer columns at a time",
                )
            factor = found.setdefault(names, np.zeros(shape))
            factor[np.ix_(*(pattern[place] for place in names))] = -math.inf
    _require_possible(found, [column.size for column in columns], most_cells)
    return found


def zero_to_json(zero: Zero) -> list[Any]:
    """A zero as ledgers keep it."""
    if isinstance(zero, Determines):
        pairs = ([_stated(value), _stated(other)] for value, other in zero.values.items())
        return ["determines", zero.column, zero.other, *sorted(pairs)]
    if not isinstance(zero, Mapping):
        raise _no_combination(zero)
    return ["never", *sorted([str(name), _stated(values)] for name, values in zero.items())]


def _stated(value: object) -> list[Any]:
    """A value, a list of values or a pair of bounds as ledgers keep it."""
    if isinstance(value, tuple | list):
        return ["between" if isinstance(value, tuple) else "one of", *map(_stated, value)]
    return ["text" if isinstance(value, str) else "value", str(value)]


def _no_combination(zero: object) -> InvalidParameter:
    return InvalidParameter("zeros", zero, "is not a combination", hint='zeros=[{"sex": "male", "pregnant": "yes"}]')


def _patterns(zero: Zero, columns: Sequence[ModelColumn], places: Mapping[str, int]) -> list[dict[int, list[int]]]:
    """For each combination, the places of its columns and of the values that cannot be together."""
    if isinstance(zero, Determines):
        column, other = (columns[_place(name, places)] for name in (zero.column, zero.other))
        missing = [each for each in column.categories or () if each not in zero.values and each is not None]
        if column.categories is None or other.categories is None or missing:
            raise InvalidParameter(
                "zeros", zero.column, "determines another column only if every category of it says which value"
            )
        return [
            {places[column.name]: [column.place_of(value)], places[other.name]: _others(other, implied)}
            for value, implied in zero.values.items()
        ]
    if not zero:
        raise _no_combination(zero)
    pattern = {}
    for name, said in zero.items():
        column = columns[_place(name, places)]
        pattern[places[name]] = _chosen(column, said)
    return [pattern]


def _place(name: str, places: Mapping[str, int]) -> int:
    if name not in places:
        raise InvalidParameter("zeros", name, "is not a column of the table", hint=meant(str(name), places) or None)
    return places[name]


def _others(column: ModelColumn, value: object) -> list[int]:
    kept = column.place_of(value)
    return [place for place in range(column.size) if place != kept]


def _chosen(column: ModelColumn, said: object) -> list[int]:
    if column.edges is None:
        listed = said if isinstance(said, list | set | frozenset) else [said]
        return sorted({column.place_of(value) for value in listed})
    if said is None and column.nullable:
        return [column.size - 1]
    if not isinstance(said, tuple) or len(said) != 2:
        raise InvalidParameter(f"zeros[{column.name!r}]", said, "is not a stretch of bins", hint="(low, high)")
    low, high = (edge_of(f"zeros[{column.name!r}]", column.kind, end) for end in said)
    inside = [
        place
        for place, (first, last) in enumerate(pairwise(column.edges))
        if low <= first and last <= high and (first < high or low == high or last == column.edges[-1])
    ]
    if not inside:
        raise InvalidParameter(f"zeros[{column.name!r}]", said, "contains no whole bin", hint="move it to their edges")
    return inside


def _require_possible(zeros: Mapping[Columns, Floats], sizes: Sequence[int], most_cells: int) -> None:
    if not zeros:
        return
    cells = Triangulation.of(sizes, zeros).cells
    if cells > most_cells:
        raise InvalidParameter(
            "zeros",
            f"{len(zeros)} groups of columns",
            f"tie columns together that have {cells:,} cells, more than {most_cells:,}",
            hint="state fewer zeros, or zeros of fewer columns",
        )
    _, logarithm = JunctionTree.of(sizes, zeros).calibrate(zeros)
    if logarithm == -math.inf:
        raise InvalidParameter(
            "zeros", f"{len(zeros)} groups of columns", "contradict each other: no row would be possible"
        )
