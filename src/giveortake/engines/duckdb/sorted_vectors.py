"""Dense vectors of persons by sorting: the same integers as the statement of `vector_statements`, several times faster.

A statement keeps a sum for each person and component, and writes them to files where memory is short. Here rows come
out of the engine as a person and the steps of each value; sorted, a person's rows lie side by side, and what follows
works on blocks of whole persons: sums of integers, the same operations on doubles in the same order as in the
statement, and the check on integers.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from giveortake.engines.duckdb.sorted_tallies import (
    BLOCK,
    MOST_BYTES,
    MOST_ROWS,
    of_each,
    packed,
    person_blocks,
    starts_of,
)
from giveortake.engines.sql.statements import LESS
from giveortake.engines.sql.vector_statements import fits_doubles, steps_statement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from giveortake.engines.sql.relations import Printer
    from giveortake.engines.vector_sums import VectorSum

    Integers: TypeAlias = npt.NDArray[np.integer[Any]]


def suits(asked: VectorSum) -> bool:
    """Whether this module can answer: dense vectors of persons, with small steps (a product has 20 bits at most)."""
    return fits_doubles(asked) and not asked.by_row


def most_rows(asked: VectorSum) -> int:
    """How many rows are sorted here; more would take too much memory."""
    return min(MOST_ROWS, MOST_BYTES // (24 + sum(width for _, width in _types(asked))))


def lines_statement(printer: Printer, asked: VectorSum) -> str:
    """Persons p and steps q0, q1 … of rows, at most one row more than `most_rows`."""
    steps = [f"CAST(q{place} AS {name}) AS q{place}" for place, (name, _) in enumerate(_types(asked))]
    return (
        f"SELECT {', '.join(['p', *steps])} FROM ({steps_statement(printer, asked)}) AS q LIMIT {most_rows(asked) + 1}"
    )


def _types(asked: VectorSum) -> list[tuple[str, int]]:
    """The narrowest integer type for each value's steps, and its bytes."""
    quanta = [each.quantum for each in asked.values]
    return [("SMALLINT", 2) if quantum and quantum.reach < 1 << 15 else ("INTEGER", 4) for quantum in quanta]


def person_sums(
    asked: VectorSum, rows: Mapping[str, Integers], *, threads: int | None, check: Callable[[], None]
) -> npt.NDArray[Any] | None:
    """One integer for each component; None if there are too many rows, or persons cannot be packed.

    `check` is called between steps, and raises once the time is over.
    """
    persons, *steps = rows.values()
    if not 2 <= persons.size <= most_rows(asked) or persons.dtype.kind not in "iu" or np.ma.isMaskedArray(persons):
        return None
    found = packed(persons, np.zeros(1, dtype=np.int64), 1)
    check()
    if found is None:
        return None
    order, shift = found
    total = np.zeros(len(asked.components), dtype=object)
    work = partial(_block_sums, asked=asked, shift=shift, steps=steps)
    for sums in of_each(person_blocks(order, shift, 1, BLOCK), work, threads, check):
        total += sums
    return total


def _block_sums(
    block: npt.NDArray[np.int64], *, asked: VectorSum, shift: int, steps: Sequence[Integers]
) -> npt.NDArray[np.int64]:
    """What the persons of a block add to each component: vectors, shortened where too long, and checked."""
    starts, lines = starts_of(block >> shift), block & ((1 << shift) - 1)
    values = [each[lines] for each in steps]
    vectors = np.empty((len(asked.components), starts.size))
    for place, component in enumerate(asked.components):
        product: Any = np.ones(1, dtype=np.int32)
        for factor in component.factors:
            product = product * values[factor]
        vectors[place] = np.add.reduceat(np.broadcast_to(product, lines.shape), starts, dtype=np.int64)
    weights = [each.weight for each in asked.components]
    length = sum(each * each * weight for each, weight in zip(vectors, weights, strict=True))
    short = length * (1 + 2.0**-40) <= float(asked.bound**2)
    with np.errstate(divide="ignore"):  # a vector of length 0 is short
        shortening = np.where(short, 1.0, asked.bound * LESS / np.sqrt(length))
    cut = np.trunc(vectors * shortening).astype(np.int64)
    is_short = (cut * cut * np.array(weights)[:, None]).sum(axis=0) <= asked.bound**2
    return np.asarray(cut[:, is_short].sum(axis=1))
