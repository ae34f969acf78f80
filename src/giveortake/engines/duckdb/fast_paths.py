"""Faster ways to the integers of `engines.sql.statements`, computed in this process from sorted or counted rows.

*Sorting*: rows come out of the engine as a person, a code and the steps of each summand. Person, code and row number
are packed into one integer of 64 bits; sorted, a person's rows of a group lie side by side, and a person's groups too.
What follows works on blocks of whole persons that stay in the processor's cache: the same operations on doubles, in the
same order, as in the statement. Hashes of keys are computed here, because only persons with more keys than count need
them. Where memory is short, the statement would write its sums to files.

*Counting*: the cells of a vector with keys are sums of products by code. Doubles hold them: a product is a whole number
of 20 bits at most, of 2²⁴ rows at most.

*Sharing*: what several summands of a tally of rows have in common is computed once for each row. The integers are those
of `tally_statement`, whatever the rows, because

- Σ (s − shift) is Σ s − shift · (how many s there are), in integers; 128 bits hold both, for each is below 2⁶³ times
  the number of rows, which is below 2⁶³ too;
- a number that is moved into bounds, and then into narrower ones, could be moved into the narrower ones at once;
- steps are missing where the value is, and nowhere else, so that either may be counted; the other rows lack it.

Values are compared with bounds, which leaves what is missing missing: `least` and `greatest` take twice as long.
"""

from __future__ import annotations

import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, final

import numpy as np

from giveortake.engines.sql.printer import hashes_of
from giveortake.engines.sql.statements import LESS, SMALL, comparable, fits_doubles, select_rows, steps_statement
from giveortake.plan import Call, Kind, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from giveortake.engines.questions import Bounding, Component, Persons, Quantum, Summand, Tally, VectorSum
    from giveortake.engines.sql.dialect import Dialect
    from giveortake.engines.sql.printer import Printer
    from giveortake.engines.sql.statements import Coded
    from giveortake.plan import Expression, Schema

    Integers: TypeAlias = npt.NDArray[np.integer[Any]]
    Totals: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
    Weights: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]
    Array: TypeAlias = npt.NDArray[Any]


BlockResult = TypeVar("BlockResult")
FEWEST_ROWS, MOST_ROWS = 1 << 17, 1 << 24  # fewer are not worth it; more would take too much memory
MOST_BYTES = 1 << 29
BLOCK = 1 << 16
_EXACT = 1 << 53


def suits_sorted_tally(tally: Tally, rows: int) -> bool:
    """Whether so many rows can be tallied here: neither too few nor too many, and no sum leaves 62 bits."""
    if tally.bounding is None or not FEWEST_ROWS <= rows <= MOST_ROWS:
        return False
    if rows * (12 + 8 * len(tally.summands)) > MOST_BYTES:
        return False
    return all(
        rows * _reach(summand) * summand.fineness < 1 << 62 and rows**2 * summand.fineness < 1 << 63
        for summand in tally.summands
    )


def unlimited() -> None:
    """Never raise: the `check` of work without a time limit."""


def bounded_sums(
    tally: Tally,
    persons: Integers,
    codes: Integers,
    steps: dict[int, Integers],
    *,
    threads: int | None = None,
    check: Callable[[], None] = unlimited,
) -> list[npt.NDArray[Any]] | None:
    """For each summand an array with a sum for each key; None if persons are spread too widely to be packed.

    `steps` has for each sum the steps of every row, and for each number of values whether a row has one. `check` is
    called between steps, and raises once the time is over.
    """
    assert tally.bounding is not None  # noqa: S101 (asked only then)
    shift = _bits_of_rows(persons)
    order = packed(persons, codes, tally.keys.product, shift)
    check()
    if order is None:
        return None
    totals = [np.zeros(tally.keys.size, dtype=np.int64) for _ in tally.summands]
    wanted = None if tally.keys.wanted is None else np.array(tally.keys.wanted, dtype=np.int64)
    blocks = person_blocks(order, shift, tally.keys.product, max(BLOCK, tally.keys.size))
    work = partial(_block_sums, tally=tally, bounding=tally.bounding, shift=shift, steps=steps, wanted=wanted)
    for sums in map_blocks(blocks, work, threads, check):
        for index, summand_sums in enumerate(sums):
            totals[index] += summand_sums
    return totals


def map_blocks(
    blocks: Iterator[npt.NDArray[np.int64]],
    work: Callable[[npt.NDArray[np.int64]], BlockResult],
    threads: int | None,
    check: Callable[[], None],
) -> Iterator[BlockResult]:
    """Yield the result of each block, in order; work that has not begun when the time is over never begins."""
    with ThreadPoolExecutor(threads) as pool:  # numpy lets other threads run while it computes
        try:
            for block_result in pool.map(work, blocks):
                check()
                yield block_result
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _block_sums(
    block: npt.NDArray[np.int64],
    *,
    tally: Tally,
    bounding: Bounding,
    shift: int,
    steps: dict[int, Integers],
    wanted: npt.NDArray[np.int64] | None,
) -> list[npt.NDArray[np.int64]]:
    key = block >> shift
    starts = starts_of(key)
    pairs = key[starts]
    person = pairs // tally.keys.product
    code = pairs - person * tally.keys.product
    c = lengths_of(starts, key.size)
    few = tally.keys.size <= bounding.groups
    m = np.ones_like(c) if few else _repeated(lengths_of(starts_of(person), person.size))
    indexes = code if wanted is None else np.searchsorted(wanted, code)
    lines = block & ((1 << shift) - 1)
    totals = []
    for index, summand in enumerate(tally.summands):
        a = np.add.reduceat(steps[index][lines], starts, dtype=np.int64) if index in steps else None
        totals.append(_summed(indexes, _part(summand, a, c, m, bounding), tally.keys.size))
    return totals


def packed(persons: Integers, codes: Integers, product: int, shift: int) -> npt.NDArray[np.int64] | None:
    """Person, code and, in `shift` bits, row number packed into one integer each, sorted; None if they do not fit."""
    least, most = int(persons.min()), int(persons.max())
    if (most - least + 1) * product >= 1 << (63 - shift) or most >= 1 << 63:
        return None
    order = persons.astype(np.int64)
    order -= least
    order *= product
    order += codes
    order <<= shift
    for start in range(0, order.size if shift else 0, BLOCK):
        part = order[start : start + BLOCK]
        part += np.arange(start, start + part.size)
    order.sort()
    return order


def _bits_of_rows(persons: Integers) -> int:
    """The bits of a row's number."""
    return max(persons.size - 1, 1).bit_length()


def person_blocks(order: npt.NDArray[np.int64], shift: int, product: int, rows: int) -> Iterator[npt.NDArray[np.int64]]:
    """Yield stretches of about `rows` rows; no person is in two of them."""
    firsts = ((order[::rows] >> shift) // product * product) << shift
    borders = np.unique(np.append(np.searchsorted(order, firsts), order.size))
    for start, end in itertools.pairwise(borders):
        yield order[start:end]


def starts_of(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Where stretches of equal values begin."""
    changed = np.empty(values.size, dtype=np.bool_)
    changed[0] = True
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    return np.flatnonzero(changed)


def lengths_of(starts: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """The lengths of the stretches that begin there."""
    return np.diff(starts, append=size)


def _repeated(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.repeat(lengths, lengths)


def _part(
    summand: Summand,
    a: npt.NDArray[np.int64] | None,
    c: npt.NDArray[np.int64],
    m: npt.NDArray[np.int64],
    bounding: Bounding,
) -> npt.NDArray[np.int64]:
    """Each person's bounded contribution, by the same operations in the same order as in the statement."""
    fine, rows, groups = summand.fineness, bounding.rows, bounding.groups
    within = m <= groups
    if a is None:
        whole: npt.NDArray[np.int64] = np.full_like(c, fine) if summand.counts_persons else np.minimum(c, rows) * fine
        if within.all():
            return whole
        part: npt.NDArray[np.float64] = whole * LESS * np.minimum(m, groups) / m
    else:
        within &= c <= rows
        whole = a * fine
        part = a.astype(np.float64) * (np.minimum(c, rows) * fine * LESS * np.minimum(m, groups) / c / m)
    return np.where(within, whole, np.trunc(part).astype(np.int64))


def _summed(indexes: npt.NDArray[np.int64], parts: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """Sums of parts by place; doubles add integers exactly below 2^53."""
    if int(np.abs(parts).max()) * parts.size < _EXACT:
        return np.bincount(indexes, weights=parts, minlength=size).astype(np.int64)
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, indexes, parts)
    return total


def _reach(summand: Summand) -> int:
    return 1 if summand.quantum is None else max(summand.quantum.reach, 1)


def counted(summands: Sequence[Summand]) -> list[int]:
    """The indexes of summands that need a number from every row."""
    return [index for index, summand in enumerate(summands) if summand.reads_values]


_DENSE = 1 << 22  # codes that are added up as an array of all of them


def key_totals(
    question: Persons,
    persons: Integers,
    codes: Integers,
    marks: Sequence[npt.NDArray[np.int64]],
    *,
    threads: int | None = None,
    check: Callable[[], None] = unlimited,
) -> Totals | None:
    """The codes that occur among each person's first `groups` by hash and code, and the total of each.

    `marks` has the mark of every value of each key column. None if persons are spread too widely to be packed.
    """
    product, least = _product(marks), int(persons.min())
    pairs = packed(persons, codes, product, 0)
    check()
    if pairs is None:
        return None
    key_weights = np.array(question.weights or [1], dtype=np.float64)  # doubles add integers exactly below 2^53
    keep = partial(_weights_of_block, question=question, key_weights=key_weights, least=least, marks=marks)
    if product > _DENSE:
        blocks = person_blocks(pairs, 0, product, BLOCK // 2)
        return _sparse_total(list(map_blocks(blocks, keep, threads, check)))
    blocks = person_blocks(pairs, 0, product, max(BLOCK // 2, product))
    return _dense_total(map_blocks(blocks, partial(_dense_of_block, keep, product), threads, check), product)


def _dense_of_block(
    keep: Callable[[npt.NDArray[np.int64]], Weights], product: int, block: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The sum of weights of each code up to `product`."""
    parts = [keep(part) for part in person_blocks(block, 0, product, BLOCK // 2)]
    code, weights = (np.concatenate([part[index] for part in parts]) for index in range(2))
    return np.bincount(code, weights=weights, minlength=product).astype(np.int64)


def _dense_total(sums: Iterable[npt.NDArray[np.int64]], product: int) -> Totals:
    total = np.zeros(product, dtype=np.int64)
    for part in sums:
        total += part
    codes = np.flatnonzero(total)
    return codes, total[codes]


def _sparse_total(parts: Sequence[Weights]) -> Totals:
    code, weights = (np.concatenate([part[index] for part in parts]) for index in range(2))
    order = np.argsort(code, kind="stable")
    starts = starts_of(code[order])
    totals = np.add.reduceat(weights[order], starts).astype(np.int64)
    return code[order][starts][totals > 0], totals[totals > 0]


def _weights_of_block(
    block: npt.NDArray[np.int64],
    *,
    question: Persons,
    key_weights: npt.NDArray[np.float64],
    least: int,
    marks: Sequence[npt.NDArray[np.int64]],
) -> Weights:
    """The code of every key of each person, and its weight, or how many of its rows count: 0 if it does not count.

    Only the keys of persons with more than count are ordered by hash.
    """
    starts, product, groups = starts_of(block), _product(marks), question.groups
    pairs = block[starts]
    person = pairs // product
    code = pairs - person * product
    lengths = lengths_of(starts_of(person), person.size)
    weights = np.repeat(key_weights[np.minimum(lengths, key_weights.size) - 1], lengths)
    if question.rows > 1:
        weights *= np.minimum(lengths_of(starts, block.size), question.rows)
    if int(lengths.max()) > groups:
        many = np.flatnonzero(np.repeat(lengths > groups, lengths))
        hashes = hashes_of(person[many] + least, _marks_of(code[many], marks))
        weights[np.delete(many, _first(groups, lengths[lengths > groups], hashes))] = 0
    return code, weights


def _product(marks: Sequence[npt.NDArray[np.int64]]) -> int:
    """How many codes there are."""
    return math.prod(column_marks.size for column_marks in marks)


def _marks_of(code: npt.NDArray[np.int64], marks: Sequence[npt.NDArray[np.int64]]) -> list[npt.NDArray[np.int64]]:
    """The marks of the values behind codes, column by column; the last column's place varies fastest."""
    code_marks: list[npt.NDArray[np.int64]] = []
    for column_marks in reversed(marks):
        quotients = code // column_marks.size
        code_marks.append(column_marks[code - quotients * column_marks.size])
        code = quotients
    return code_marks[::-1]


def _first(groups: int, lengths: npt.NDArray[np.int64], hashes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The places of each person's first `groups` keys, by hash and then by code."""
    number = np.repeat(np.arange(lengths.size), lengths)
    if hashes.size <= 1 << 16:  # person, hash and place in one number
        indexes = ((number << 47) + (hashes.astype(np.int64) << 16) + np.arange(hashes.size)).copy()
        indexes.sort()
        indexes &= (1 << 16) - 1
    else:
        indexes = np.lexsort((hashes, number))
    rank = np.arange(hashes.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    first_indexes: npt.NDArray[np.int64] = indexes[rank < groups]
    return first_indexes


def suits_sorted_vectors(vector_sum: VectorSum) -> bool:
    """Whether this module can answer: dense vectors of persons, with small steps (a product has 20 bits at most)."""
    return fits_doubles(vector_sum) and not vector_sum.by_row


def most_vector_rows(vector_sum: VectorSum) -> int:
    """How many rows are sorted here; more would take too much memory."""
    return min(MOST_ROWS, MOST_BYTES // (24 + sum(width for _, width in _types(vector_sum))))


def lines_statement(printer: Printer, vector_sum: VectorSum) -> str:
    """Persons p and steps q0, q1 … of rows, at most one row more than `most_rows`."""
    steps = [f"CAST(q{index} AS {name}) AS q{index}" for index, (name, _) in enumerate(_types(vector_sum))]
    rows = f"({steps_statement(printer, vector_sum)}) AS q LIMIT {most_vector_rows(vector_sum) + 1}"
    return f"SELECT {', '.join(['p', *steps])} FROM {rows}"


def _types(vector_sum: VectorSum) -> list[tuple[str, int]]:
    """The narrowest integer type for each value's steps, and its bytes."""
    quanta = [summand.quantum for summand in vector_sum.values]
    return [("SMALLINT", 2) if quantum and quantum.reach < 1 << 15 else ("INTEGER", 4) for quantum in quanta]


def person_sums(
    vector_sum: VectorSum, rows: Mapping[str, Integers], *, threads: int | None, check: Callable[[], None]
) -> npt.NDArray[Any] | None:
    """One integer for each component; None if there are too many rows, or persons cannot be packed.

    `check` is called between steps, and raises once the time is over.
    """
    persons, *steps = rows.values()
    if (
        not 2 <= persons.size <= most_vector_rows(vector_sum)
        or persons.dtype.kind not in "iu"
        or np.ma.isMaskedArray(persons)
    ):
        return None
    shift = _bits_of_rows(persons)
    order = packed(persons, np.zeros(1, dtype=np.int64), 1, shift)
    check()
    if order is None:
        return None
    total = np.zeros(len(vector_sum.components), dtype=object)
    work = partial(_vector_block_sums, vector_sum=vector_sum, shift=shift, steps=steps)
    for sums in map_blocks(person_blocks(order, shift, 1, BLOCK), work, threads, check):
        total += sums
    return total


def _vector_block_sums(
    block: npt.NDArray[np.int64], *, vector_sum: VectorSum, shift: int, steps: Sequence[Integers]
) -> npt.NDArray[np.int64]:
    """What the persons of a block add to each component: vectors, shortened where too long, and checked."""
    starts, lines = starts_of(block >> shift), block & ((1 << shift) - 1)
    values = [value_steps[lines] for value_steps in steps]
    vectors = np.empty((len(vector_sum.components), starts.size))
    for index, component in enumerate(vector_sum.components):
        product: Any = np.ones(1, dtype=np.int32)
        for factor in component.factors:
            product = product * values[factor]
        vectors[index] = np.add.reduceat(np.broadcast_to(product, lines.shape), starts, dtype=np.int64)
    weights = [component.weight for component in vector_sum.components]
    length = sum(vector * vector * weight for vector, weight in zip(vectors, weights, strict=True))
    short = length * (1 + 2.0**-40) <= float(vector_sum.bound**2)
    with np.errstate(divide="ignore"):  # a vector of length 0 is short
        shortening = np.where(short, 1.0, vector_sum.bound * LESS / np.sqrt(length))
    cut = np.trunc(vectors * shortening).astype(np.int64)
    is_short = (cut * cut * np.array(weights)[:, None]).sum(axis=0) <= vector_sum.bound**2
    return np.asarray(cut[:, is_short].sum(axis=1))


_UNKNOWN = -1


def suits_counted_cells(vector_sum: VectorSum) -> bool:
    """Whether this module can answer: rows are not cut, they have keys, and their steps are small."""
    return (
        vector_sum.is_uncut and not vector_sum.is_dense and max(map(vector_sum.reach, vector_sum.components)) <= SMALL
    )


def most_cell_rows(vector_sum: VectorSum) -> int:
    """How many rows are added up here; more would take too much memory."""
    return min(MOST_ROWS, MOST_BYTES // (8 * (len(vector_sum.values) + len(vector_sum.columns))))


def cells_statement(printer: Printer, vector_sum: VectorSum, dictionaries: Sequence[str]) -> str:
    """Steps q0, q1 … and codes c0, c1 … of rows, at most one row more than `most_rows`."""
    steps = [f"q{index}" for index in range(len(vector_sum.values))]
    codes = [f"CAST(coalesce(c{index}, {_UNKNOWN}) AS INTEGER) AS c{index}" for index in range(len(vector_sum.columns))]
    rows = steps_statement(printer, vector_sum, dictionaries)
    return f"SELECT {', '.join([*steps, *codes])} FROM ({rows}) AS q LIMIT {most_cell_rows(vector_sum) + 1}"


def cell_sums(vector_sum: VectorSum, rows: Mapping[str, Array], check: Callable[[], None]) -> npt.NDArray[Any]:
    """One integer for each cell. `check` is called between components, and raises once the time is over."""
    sizes = [len(column.values or ()) for column in vector_sum.columns]
    sums = []
    for component, size in zip(vector_sum.components, vector_sum.sizes, strict=True):
        check()
        code, known = _codes(component, rows, sizes)
        steps = _steps(component, rows, len(code))
        if not known.all():
            code, steps = code[known], steps[known]
        sums.append(np.bincount(code, weights=steps, minlength=size).astype(np.int64))
    return np.concatenate(sums).astype(object)


def _codes(component: Component, rows: Mapping[str, Array], sizes: Sequence[int]) -> tuple[Array, Array]:
    """The cell of each row among those of a component, and whether all its keys are known."""
    length = len(next(iter(rows.values())))
    code, known = np.zeros(length, dtype=np.int64), np.ones(length, dtype=np.bool_)
    for key in component.keys:
        column_codes = rows[f"c{key}"]
        known &= column_codes != _UNKNOWN
        code *= sizes[key]
        code += column_codes
    return code, known


def _steps(component: Component, rows: Mapping[str, Array], length: int) -> npt.NDArray[np.float64]:
    steps = np.ones(length)
    for factor in component.factors:
        steps *= rows[f"q{factor}"]
    return steps


def row_tally_statement(printer: Printer, tally: Tally, coded: Coded) -> str:
    """One row for each key that occurs: its code and its integers, of rows that all count in full."""
    wanted = _Aggregates(printer, tally)
    answers = [f"{wanted.answer(summand)} AS a{index}" for index, summand in enumerate(tally.summands)]
    keys = coded.names()
    person = comparable if any(summand.counts_persons for summand in tally.summands) else None
    rows = select_rows(printer, tally.relation, tally.keys, list(wanted.values.values()), person)
    names = [*keys, *(["p"] if person is not None else []), *wanted.values_counted()]
    computed = [*names, *(f"{text} AS {name}" for text, name in wanted.steps.items())]
    aggregates = [*keys, *(f"{text} AS {name}" for text, name in wanted.aggregates.items())]
    lines = f"SELECT {', '.join(computed) or '1 AS one'} FROM ({rows}) AS r"
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    grouped = f"SELECT {', '.join(aggregates)} FROM ({lines}) AS s{group}"
    return f"SELECT {coded.code()} AS code, {', '.join(answers)} FROM ({grouped}) AS g{coded.joins(printer, 'g')}"


@final
class _Aggregates:
    """Values v0, v1 … of rows, steps s0, s1 … of values, and aggregates t0, t1 … of either, none of them twice.

    Each is known by its text: equal constants may be of different types, equal texts are not.
    """

    def __init__(self, printer: Printer, tally: Tally) -> None:
        self._printer = printer
        self._schema = tally.relation.schema
        self.values: dict[str, Expression] = {}
        self.steps: dict[str, str] = {}
        self.aggregates: dict[str, str] = {}
        self._counted: dict[str, str] = {}  # a column that is missing where a value is
        for summand in tally.summands:
            if summand.quantum is not None:
                self._steps(summand, summand.quantum)

    def values_counted(self) -> list[str]:
        """The values that are aggregated themselves."""
        return [name for name in self._counted.values() if name.startswith("v")]

    def answer(self, summand: Summand) -> str:
        """A summand, computed from the aggregates."""
        match summand.kind:
            case "rows":
                return self._aggregate("count(*)")
            case "persons":
                return self._aggregate("count(DISTINCT p)")
            case "values":
                assert summand.expression is not None  # noqa: S101 (values have it)
                lacking = _lacking(summand.expression)
                if lacking is None:
                    return self._count(summand.expression)
                return f"{self._aggregate('count(*)')} - {self._count(lacking)}"
            case "sum":
                assert summand.quantum is not None  # noqa: S101 (sums have it)
                steps, shift = self._steps(summand, summand.quantum), summand.quantum.shift
                total = self._aggregate(f"coalesce(sum({steps}), 0)")
                if not shift:
                    return total
                return f"{total} - CAST({self._aggregate(f'count({steps})')} AS HUGEINT) * ({shift})"

    def _count(self, expression: Expression) -> str:
        """How many rows have a value, by steps that are made of it, if there are some."""
        expression = _never_moved(expression)
        text = self._text(expression)
        if text not in self._counted:
            self._counted[text] = self._value(expression)
        return self._aggregate(f"count({self._counted[text]})")

    def _steps(self, summand: Summand, quantum: Quantum) -> str:
        assert summand.expression is not None  # noqa: S101 (sums have it)
        expression = _moved_once(summand.expression, quantum, self._schema)
        text = steps_before_shift(
            self._printer.dialect, self._value(expression), expression.domain(self._schema).kind, quantum
        )
        steps = self.steps.setdefault(text, f"s{len(self.steps)}")
        self._counted.setdefault(self._text(_never_moved(expression)), steps)
        return steps

    def _value(self, expression: Expression) -> str:
        text = self._text(expression)
        self.values.setdefault(text, expression)
        return f"v{list(self.values).index(text)}"

    def _aggregate(self, text: str) -> str:
        return f"g.{self.aggregates.setdefault(text, f't{len(self.aggregates)}')}"

    def _text(self, expression: Expression) -> str:
        return self._printer.expression(expression, self._schema)


def _lacking(expression: Expression) -> Expression | None:
    """The expression that is missing exactly where a value is present, if it has that form (`compile.measures`)."""
    match expression:
        case Call("case", (Call("is_null", (inner,)), Literal(constant), Literal(None))) if constant is not None:
            return inner
    return None


def _never_moved(expression: Expression) -> Expression:
    """An expression without its outermost clamps, which leave missing values missing."""
    while isinstance(expression, Call) and expression.name == "clamp":
        expression = expression.arguments[0]
    return expression


def _moved_once(expression: Expression, quantum: Quantum, schema: Schema) -> Expression:
    """An expression without outermost clamps that are no narrower than the bounds of its steps."""
    while isinstance(expression, Call) and expression.name == "clamp":
        outer, inner = expression.domain(schema), expression.arguments[0].domain(schema)
        is_whole = outer.kind is Kind.INTEGER
        if is_whole is not (inner.kind is Kind.INTEGER) or outer.low is None or outer.high is None:
            return expression
        if is_whole and quantum.is_whole:
            low, high = int(outer.low), int(outer.high)
            if quantum.least + quantum.shift < low or high < quantum.most + quantum.shift:
                return expression
        elif is_whole or float(quantum.low) < float(outer.low) or float(outer.high) < float(quantum.high):
            return expression
        expression = expression.arguments[0]
    return expression


def steps_before_shift(dialect: Dialect, column: str, kind: Kind, quantum: Quantum) -> str:
    """A column of numbers in whole steps, before these are shifted. Missing stays missing."""
    least, most = quantum.least + quantum.shift, quantum.most + quantum.shift
    if quantum.is_whole and kind is Kind.INTEGER:
        return f"CAST({_into_bounds(column, str(least), str(most))} AS BIGINT)"
    real = _into_bounds(dialect.real(column), dialect.double(quantum.low), dialect.double(quantum.high))
    stored = "INTEGER" if -(2**31) < least <= most < 2**31 else "BIGINT"
    return f"CAST({dialect.lattice(real, quantum.granularity)} AS {stored})"


def _into_bounds(number: str, low: str, high: str) -> str:
    within = f"WHEN {number} BETWEEN {low} AND {high} THEN {number}"
    return f"CASE {within} WHEN {number} < {low} THEN {low} WHEN {number} > {high} THEN {high} END"
