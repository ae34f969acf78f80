"""Sums of vectors by keys, added up here: the same integers as the statement of `vector_statements`, in half the time.

Rows come out of the engine as the codes of their keys and their values in steps. A component's cells are the sums of
its products by code. Doubles hold them: a product is a whole number of 20 bits at most, of 2²⁴ rows at most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from giveortake.engines.duckdb.sorted_tallies import MOST_BYTES, MOST_ROWS
from giveortake.engines.sql.vector_statements import SMALL, steps_statement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from giveortake.engines.sql.relations import Printer
    from giveortake.engines.vector_sums import Component, VectorSum

    Array: TypeAlias = npt.NDArray[Any]

_UNKNOWN = -1


def suits(asked: VectorSum) -> bool:
    """Whether this module can answer: rows are not cut, they have keys, and their steps are small."""
    return asked.is_uncut and not asked.is_dense and max(map(asked.reach, asked.components)) <= SMALL


def most_rows(asked: VectorSum) -> int:
    """How many rows are added up here; more would take too much memory."""
    return min(MOST_ROWS, MOST_BYTES // (8 * (len(asked.values) + len(asked.columns))))


def cells_statement(printer: Printer, asked: VectorSum, dictionaries: Sequence[str]) -> str:
    """Steps q0, q1 … and codes c0, c1 … of rows, at most one row more than `most_rows`."""
    steps = [f"q{place}" for place in range(len(asked.values))]
    codes = [f"CAST(coalesce(c{place}, {_UNKNOWN}) AS INTEGER) AS c{place}" for place in range(len(asked.columns))]
    rows = steps_statement(printer, asked, dictionaries)
    return f"SELECT {', '.join([*steps, *codes])} FROM ({rows}) AS q LIMIT {most_rows(asked) + 1}"


def cell_sums(asked: VectorSum, rows: Mapping[str, Array], check: Callable[[], None]) -> npt.NDArray[Any]:
    """One integer for each cell. `check` is called between components, and raises once the time is over."""
    sizes = [len(column.values or ()) for column in asked.columns]
    found = []
    for component, size in zip(asked.components, asked.sizes, strict=True):
        check()
        code, known = _codes(component, rows, sizes)
        steps = _steps(component, rows, len(code))
        if not known.all():
            code, steps = code[known], steps[known]
        found.append(np.bincount(code, weights=steps, minlength=size).astype(np.int64))
    return np.concatenate(found).astype(object)


def _codes(component: Component, rows: Mapping[str, Array], sizes: Sequence[int]) -> tuple[Array, Array]:
    """The cell of each row among those of a component, and whether all its keys are known."""
    length = len(next(iter(rows.values())))
    code, known = np.zeros(length, dtype=np.int64), np.ones(length, dtype=np.bool_)
    for key in component.keys:
        each = rows[f"c{key}"]
        known &= each != _UNKNOWN
        code *= sizes[key]
        code += each
    return code, known


def _steps(component: Component, rows: Mapping[str, Array], length: int) -> npt.NDArray[np.float64]:
    steps = np.ones(length)
    for place in component.factors:
        steps *= rows[f"q{place}"]
    return steps
