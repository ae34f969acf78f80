"""Questions as SQL statements: aggregates of rows, of persons whose contributions are bounded, and sums of vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from giveortake.engines.questions import MOST_OF_CELL, Bins, Persons, Tally
from giveortake.engines.sql.printer import hash_of, mark
from giveortake.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from fractions import Fraction

    from giveortake.engines.questions import Bounding, Component, Distinct, Keys, Quantum, Sample, Summand, VectorSum
    from giveortake.engines.sql.dialect import Dialect
    from giveortake.engines.sql.printer import Printer
    from giveortake.plan import Expression, Relation


def weighted_statement(printer: Printer, persons: Persons, lines: str, table: str) -> str:
    """One row for each key that occurs: its values k0, k1 … and the sum of the weights that persons give it.

    `lines` are rows (p, k0, k1 …), and `table` holds for each number m of keys the weight w of one of them. Only the
    keys of persons with more than may count are put in order, by a hash of the person and the key's values.
    """
    keys = [f"k{index}" for index in range(len(persons.keys.columns))]
    names = ", ".join(keys)
    pairs = f"SELECT DISTINCT p, {names} FROM ({printer.dialect.by_person(lines)}) AS l"
    weights = key_weights_statement(
        printer, persons, pairs, names=names, order=order_of_keys(printer, persons), table=table
    )
    return f"SELECT {names}, {total_weight(printer, persons)} AS n FROM ({weights}) AS g GROUP BY {names}"


def key_weights_statement(printer: Printer, persons: Persons, pairs: str, *, names: str, order: str, table: str) -> str:
    """Rows of a key and the weight that one person gives it; `pairs` are the distinct keys of each person p."""
    assert persons.weights is not None  # noqa: S101 (asked only then)
    most, least = persons.groups, f"CAST({persons.weights[-1]} AS BIGINT)"
    rank = f"row_number() OVER (PARTITION BY p ORDER BY {order}) AS place"
    few = f"SELECT {names}, x.w AS w FROM counted AS c JOIN {table} AS x ON c.m = x.m"
    ranked = f"SELECT {names}, {rank} FROM counted WHERE m > {most}"
    many = f"SELECT {names}, {least} AS w FROM ({ranked}) AS r WHERE place <= {most}"
    return f"WITH counted AS ({printer.dialect.with_groups(pairs)}) {few} UNION ALL {many}"


def total_weight(printer: Printer, persons: Persons) -> str:
    """The sum of weights."""
    assert persons.weights is not None  # noqa: S101 (asked only then)
    return printer.dialect.total("w", persons.weights[0])


def order_of_keys(printer: Printer, persons: Persons) -> str:
    """The order that decides which of a person's keys count: by a hash of person and key, then by the key's values."""
    schema = persons.relation.schema
    keys = [f"k{index}" for index in range(len(persons.keys.columns))]
    kinds = [column.expression.domain(schema).kind for column in persons.keys.columns]
    marks = [mark(printer.dialect, key, kind) for key, kind in zip(keys, kinds, strict=True)]
    hashed = hash_of(mark(printer.dialect, "p", schema[str(persons.relation.person)].kind), *marks)
    return ", ".join([hashed, *(f"{key} NULLS LAST" for key in keys)])


_SMALL, _LONG = 2**31, 2**62
LESS = 0.9999999999999964  # 1 − 2^-48


@final
@dataclass(frozen=True, slots=True)
class Coded:
    """Key columns as numbers: a table (code, value) for each, and perhaps one of the codes that are wanted."""

    dictionaries: tuple[str, ...]
    nullable: tuple[bool, ...]
    sizes: tuple[int, ...]
    wanted: str | None = None
    listed: str | None = None  # or a table (k0, k1, …, code) of all keys, instead of dictionaries

    @property
    def is_small(self) -> bool:
        """Whether codes fit into 31 bits."""
        return self.listed is None and math.prod(self.sizes) < _SMALL

    def names(self) -> list[str]:
        """The names of the key columns in statements."""
        return [f"k{index}" for index in range(len(self.nullable))]

    def code(self) -> str:
        """The position of a key in the product of all columns, or in the list of all keys."""
        if self.listed is not None:
            return "f.code"
        text = "0"
        for index, size in enumerate(self.sizes):
            text = f"(CAST({text} AS BIGINT) * {size} + d{index}.code)" if index else f"d{index}.code"
        return f"CAST({text} AS {'INTEGER' if self.is_small else 'BIGINT'})"

    def marks(self) -> list[str]:
        """The marks of a key, which its values alone decide, unlike its code."""
        return [f"d{index}.mark" for index in range(len(self.sizes))]

    def joins(self, printer: Printer, source: str) -> str:
        """The joins that find the codes of a source's columns k0, k1 and so on."""
        if self.listed is not None:
            keys = [(f"{source}.k{index}", f"f.k{index}", nullable) for index, nullable in enumerate(self.nullable)]
            return f" JOIN {self.listed} AS f ON {' AND '.join(equal(printer, *key) for key in keys)}"
        text = ""
        for index, (table, nullable) in enumerate(zip(self.dictionaries, self.nullable, strict=True)):
            text += f" JOIN {table} AS d{index} ON {equal(printer, f'{source}.k{index}', f'd{index}.value', nullable)}"
        if self.wanted is not None:
            text += f" JOIN {self.wanted} AS w ON {self.code()} = w.code"
        return text


def equal(printer: Printer, column: str, value: str, nullable: bool) -> str:
    """Whether a column equals a known value, which may be missing."""
    return printer.dialect.same(column, value) if nullable else f"{column} = {value}"


def statement_of(printer: Printer, question: Tally | Bins | Distinct, coded: Coded) -> str:
    """One row for each key that occurs: its code, and what is asked for."""
    if isinstance(question, Tally):
        return tally_statement(printer, question, coded)
    return (
        bins_statement(printer, question, coded)
        if isinstance(question, Bins)
        else distinct_statement(printer, question, coded)
    )


def tally_statement(printer: Printer, tally: Tally, coded: Coded) -> str:
    """One row for each key that occurs: its code and its integers."""
    if tally.bounding is None:
        return _rows(printer, tally, coded)
    return _bounded(printer, tally, coded, tally.bounding)


def _rows(printer: Printer, tally: Tally, coded: Coded) -> str:
    inner = rows_of(printer, tally)
    values = [f"{_row_sum(printer, tally.relation, summand, i)} AS a{i}" for i, summand in enumerate(tally.summands)]
    keys = coded.names()
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    grouped = f"SELECT {', '.join([*keys, *values])} FROM ({inner}) AS r{group}"
    answers = ", ".join(f"g.a{i}" for i in range(len(tally.summands)))
    return f"SELECT {coded.code()} AS code, {answers} FROM ({grouped}) AS g{coded.joins(printer, 'g')}"


def _person_sum(printer: Printer, relation: Relation, summand: Summand, index: int) -> str:
    if summand.quantum is None:
        return _row_sum(printer, relation, summand, index)
    steps, reach = steps_of(printer, relation, summand, index), _reach(summand)
    total = printer.dialect.narrow_total(steps) if reach < _SMALL else printer.dialect.total(steps, reach)
    return f"coalesce({total}, 0)"


def _row_sum(printer: Printer, relation: Relation, summand: Summand, index: int) -> str:
    match summand.kind:
        case "rows":
            return "count(*)"
        case "values":
            return f"count(v{index})"
        case "persons":
            return "count(DISTINCT p)"
        case "sum":
            steps = steps_of(printer, relation, summand, index)
            return f"coalesce({printer.dialect.total(steps, _reach(summand))}, 0)"


def steps_of(printer: Printer, relation: Relation, summand: Summand, index: int) -> str:
    """What each row adds to a summand, in steps of its lattice."""
    assert summand.expression is not None and summand.quantum is not None  # noqa: S101, PT018 (sums have both)
    return quantised(printer.dialect, f"v{index}", summand.expression.domain(relation.schema).kind, summand.quantum)


def _bounded(printer: Printer, tally: Tally, coded: Coded, bounding: Bounding) -> str:
    """Sums of each person and group, each scaled down to what the bounds allow (see `questions`)."""
    inner = rows_of(printer, tally)
    person_sums = [
        f"{_person_sum(printer, tally.relation, summand, i)} AS a{i}"
        for i, summand in enumerate(tally.summands)
        if summand.reads_values
    ]
    sums = "".join(f", {text}" for text in person_sums)
    code = coded.code()
    values = "".join(f", r.v{i} AS v{i}" for i, summand in enumerate(tally.summands) if summand.expression is not None)
    lines = f"SELECT r.p AS p, {code} AS code{values} FROM ({inner}) AS r{coded.joins(printer, 'r')}"
    few = tally.keys.size <= bounding.groups
    person_lines = lines if few else printer.dialect.by_person(lines)
    pairs = f"SELECT p, code, count(*) AS c{sums} FROM ({person_lines}) AS l GROUP BY p, code"
    parts = ", ".join(
        f"{printer.dialect.total(_part(printer, summand, i, bounding, few=few), _most(summand, bounding))} AS a{i}"
        for i, summand in enumerate(tally.summands)
    )
    return f"SELECT code, {parts} FROM ({pairs if few else printer.dialect.with_groups(pairs)}) AS t GROUP BY code"


def _part(printer: Printer, summand: Summand, index: int, bounding: Bounding, *, few: bool) -> str:
    """A person's contribution times min(1, rows/c) · min(1, groups/m), in steps, cut towards zero.

    The factor is computed in doubles and made smaller by more than their rounding, so that it is never too large. No
    product of c and m is made of whole numbers: of a person with very many rows it would overflow.
    """
    fine, less = summand.fineness, printer.dialect.double(LESS)
    rows, groups = bounding.rows, bounding.groups
    within, above, below = ("TRUE", "", "") if few else (f"m <= {groups}", f" * least(m, {groups})", " / m")
    match summand.kind:
        case "rows":
            whole, part = f"least(c, {rows}) * {fine}", f"least(c, {rows}) * {fine} * {less}{above}{below}"
        case "persons":
            whole, part = f"{fine}", f"{fine} * {less}{above}{below}"
        case _:
            within = f"c <= {rows} AND {within}"
            narrow = _most(summand, bounding) < _LONG
            person_total = f"a{index}" if narrow or fine == 1 else printer.dialect.wide(f"a{index}")
            whole = f"{person_total} * {fine}" if fine > 1 else person_total
            factor = f"(least(c, {rows}) * {fine} * {less}{above} / c{below})"
            part = f"({printer.dialect.real_sum(f'a{index}', _reach(summand))}) * {factor}"
    cut = printer.dialect.cut(part, _most(summand, bounding))
    return whole if within == "TRUE" else f"CASE WHEN {within} THEN {whole} ELSE {cut} END"


def _reach(summand: Summand) -> int:
    return summand.quantum.reach if summand.quantum is not None else 1


def _most(summand: Summand, bounding: Bounding) -> int:
    """How much one person contributes to one group at most."""
    return bounding.rows * summand.fineness * _reach(summand)


def bins_statement(printer: Printer, bins: Bins, coded: Coded) -> str:
    """One row for each key and bin that occur: code, bin, number."""
    kind = bins.expression.domain(bins.relation.schema).kind
    inner = rows_of(printer, bins)
    index = _bin_index(printer.dialect, printer.dialect.real("v0", kind), bins.low, bins.width, bins.count)
    keys = coded.names()
    if bins.bounding is None:
        listed = ", ".join([*keys, f"{index} AS b"])
        binned = f"SELECT {listed} FROM ({inner}) AS r WHERE v0 IS NOT NULL"
        names = ", ".join([*keys, "b"])
        grouped = f"SELECT {names}, count(*) AS n FROM ({binned}) AS r GROUP BY {names}"
        return f"SELECT {coded.code()} AS code, g.b, g.n FROM ({grouped}) AS g{coded.joins(printer, 'g')}"
    rows, groups, fine = bins.bounding.rows, bins.bounding.groups, bins.fineness
    part = f"least(c, {rows}) * {printer.dialect.double(LESS)} * least(m, {groups}) / c / m"
    weight = f"CASE WHEN c <= {rows} AND m <= {groups} THEN {printer.dialect.double(1)} ELSE {part} END"
    code = coded.code()
    joined = f"({inner}) AS r{coded.joins(printer, 'r')}"
    binned = f"SELECT r.p AS p, {code} AS code, {index} AS b FROM {joined} WHERE v0 IS NOT NULL"
    cells = f"SELECT p, code, b, count(*) AS n FROM ({printer.dialect.by_person(binned)}) AS t GROUP BY p, code, b"
    share = printer.dialect.total(printer.dialect.cut(f"n * {fine} * ({weight})", rows * fine), rows * fine)
    return f"SELECT code, b, {share} AS n FROM ({printer.dialect.with_counts(cells)}) AS t GROUP BY code, b"


def distinct_statement(printer: Printer, distinct: Distinct, coded: Coded) -> str:
    """One row for each key that occurs: code, number of distinct values."""
    inner = rows_of(printer, distinct)
    keys = coded.names()
    if distinct.bounding is None:
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        value = comparable(printer.dialect, "v0", distinct.expression.domain(distinct.relation.schema).kind)
        grouped = f"SELECT {', '.join([*keys, f'count(DISTINCT {value}) AS n'])} FROM ({inner}) AS r{group}"
        return f"SELECT {coded.code()} AS code, g.n FROM ({grouped}) AS g{coded.joins(printer, 'g')}"
    rows, groups = distinct.bounding.rows, distinct.bounding.groups
    schema = distinct.relation.schema
    code = coded.code()
    joined = f"({inner}) AS r{coded.joins(printer, 'r')} WHERE v0 IS NOT NULL"
    lines = f"SELECT r.p AS p, {code} AS code, r.v0 AS v FROM {joined}"
    triples = f"SELECT DISTINCT p, code, v FROM ({printer.dialect.by_person(lines)}) AS l"
    person = mark(printer.dialect, "p", schema[str(distinct.relation.person)].kind)
    group = mark(printer.dialect, "code", Kind.INTEGER)
    value = mark(printer.dialect, "v", distinct.expression.domain(schema).kind)
    by_group = f"dense_rank() OVER (PARTITION BY p ORDER BY {hash_of(person, group)}, code)"
    by_value = f"row_number() OVER (PARTITION BY p, code ORDER BY {hash_of(person, group, value)}, v)"
    ranked = f"SELECT code, v, {by_group} AS g, {by_value} AS r FROM ({triples}) AS t"
    return f"SELECT code, count(DISTINCT v) AS n FROM ({ranked}) AS t WHERE g <= {groups} AND r <= {rows} GROUP BY code"


def discovery_statement(
    printer: Printer, persons: Persons, declared: Mapping[int, str], weights: str | None = None
) -> str:
    """One row for each key that occurs: its values, and the number of units, or of rows, that it was kept for.

    Of each person the first `groups` keys count, by a hash of the person and the key's values, which nobody else
    decides. `declared` has a table of the values of each column whose values are known; others do not count. `weights`
    is the table of weights, if units are weighed.
    """
    joined = known_rows(printer, persons, declared)
    keys = [f"k{index}" for index in range(len(persons.keys.columns))]
    listed = ", ".join(f"r.{key} AS {key}" for key in keys)
    names = ", ".join(keys)
    if persons.relation.person is None or persons.counts_all_rows:
        return f"SELECT {names}, count(*) AS n FROM (SELECT {listed} FROM {joined}) AS t GROUP BY {names}"
    lines = f"SELECT r.p AS p, {listed} FROM {joined}"
    if weights is not None:
        return weighted_statement(printer, persons, lines, weights)
    order, lines = order_of_keys(printer, persons), printer.dialect.by_person(lines)
    total, part, pairs = "count(*)", "", f"SELECT DISTINCT p, {names} FROM ({lines}) AS l"
    if persons.rows > 1:
        counted = f"least(count(*), {persons.rows}) AS c"
        total, part = printer.dialect.total("c", persons.rows), ", c"
        pairs = f"SELECT p, {names}, {counted} FROM ({lines}) AS l GROUP BY p, {names}"
    rank = f"row_number() OVER (PARTITION BY p ORDER BY {order}) AS place"
    ranked = f"SELECT {names}{part}, {rank} FROM ({pairs}) AS t"
    return f"SELECT {names}, {total} AS n FROM ({ranked}) AS t WHERE place <= {persons.groups} GROUP BY {names}"


def known_rows(printer: Printer, persons: Persons, declared: Mapping[int, str]) -> str:
    """The rows r of a question about keys, without those whose values are not declared."""
    joined = f"({rows_of(printer, persons)}) AS r"
    for index, table in declared.items():
        nullable = None in (persons.keys.columns[index].values or ())
        joined += f" JOIN {table} AS d{index} ON {equal(printer, f'r.k{index}', f'd{index}.value', nullable)}"
    return joined


def rows_of(printer: Printer, question: Tally | Bins | Distinct | Persons) -> str:
    """The rows that a question is about: the part of its statement whose length grows with the question."""
    match question:
        case Tally():
            person = question.bounding is not None or any(summand.counts_persons for summand in question.summands)
            values = [summand.expression for summand in question.summands]
            return select_rows(printer, question.relation, question.keys, values, comparable if person else None)
        case Bins():
            return select_rows(
                printer,
                question.relation,
                question.keys,
                [question.expression],
                comparable if question.bounding is not None else None,
            )
        case Persons():
            return select_rows(printer, question.relation, question.keys, [], named)
        case _:
            return select_rows(
                printer,
                question.relation,
                question.keys,
                [question.expression],
                named if question.bounding is not None else None,
            )


def comparable(dialect: Dialect, column: str, kind: Kind) -> str:
    """A column that is only compared for equality: long texts may be replaced."""
    return dialect.brief(column) if kind is Kind.TEXT else column


def named(_dialect: Dialect, column: str, _kind: Kind) -> str:
    """A column as it is, because it is hashed."""
    return column


def select_rows(
    printer: Printer,
    relation: Relation,
    keys: Keys,
    values: Sequence[Expression | None],
    person: Callable[[Dialect, str, Kind], str] | None,
) -> str:
    """The rows of a relation as keys k0, k1 …, values v0, v1 … and, written by `person`, the person p."""
    schema = relation.schema
    columns = [f"{printer.expression(column.expression, schema)} AS k{i}" for i, column in enumerate(keys.columns)]
    columns += [f"{printer.expression(value, schema)} AS v{i}" for i, value in enumerate(values) if value is not None]
    if person is not None and relation.person is not None:
        name = printer.dialect.identifier(relation.person)
        columns.append(f"{person(printer.dialect, name, schema[relation.person].kind)} AS p")
    computed = [*(column.expression for column in keys.columns), *(value for value in values if value is not None)]
    source_columns = {column for expression in computed for column in expression.columns()}
    if person is not None and relation.person is not None:
        source_columns.add(relation.person)
    text = f"SELECT {', '.join(columns) or '1 AS one'} FROM ({printer.relation(relation, source_columns)}) AS t"
    return printer.fenced(text, computed)


def quantised(dialect: Dialect, column: str, kind: Kind, quantum: Quantum) -> str:
    """A column of numbers as whole steps: clamped, then moved to the lattice. Missing stays missing."""
    shift = f" - ({quantum.shift})" if quantum.shift else ""
    if quantum.is_whole and kind is Kind.INTEGER:
        low, high = quantum.least + quantum.shift, quantum.most + quantum.shift
        clamped = f"CAST({dialect.between(column, str(low), str(high))} AS BIGINT){shift}"
    else:
        real = dialect.between(dialect.real(column), dialect.double(quantum.low), dialect.double(quantum.high))
        stored = "INTEGER" if quantum.reach + abs(quantum.shift) < 2**31 - 1 else "BIGINT"
        clamped = f"CAST({dialect.lattice(real, quantum.granularity)} AS {stored}){shift}"
    return f"CASE WHEN {column} IS NULL THEN NULL ELSE {clamped} END"


def _bin_index(dialect: Dialect, real: str, low: Fraction, width: Fraction, count: int) -> str:
    """Which of `count` bins a double falls into; those beyond the ends fall into the first and the last."""
    from_low = dialect.subtract(real, dialect.double(low))
    quotient = dialect.divide(from_low, dialect.double(width))
    return f"CAST(floor({dialect.between(quotient, dialect.double(0), dialect.double(count - 1))}) AS INTEGER)"


_NARROW = 1 << 31
_MANY = 7  # components, from where rows of the same keys are added up before they are unfolded
SMALL = 1 << 20  # steps of a row, of which no table has enough rows to fill 64 bits
_EXACT = (1 << 53) // SMALL  # rows whose small steps doubles add up exactly, in any order


def vector_rows(printer: Printer, vector_sum: VectorSum) -> str:
    """The rows that a sum of vectors is about: keys k0, k1 …, values v0, v1 … and the person p, if that is needed."""
    person: Callable[[Dialect, str, Kind], str] | None = None if vector_sum.by_row else comparable
    if vector_sum.sample is not None and vector_sum.relation.person is not None:
        person = named
    return select_rows(
        printer, vector_sum.relation, vector_sum.keys, [summand.expression for summand in vector_sum.values], person
    )


def vector_statement(
    printer: Printer, vector_sum: VectorSum, dictionaries: Sequence[str], *, in_doubles: bool = False
) -> str:
    """One row (code, a0) for each cell that occurs; for dense vectors one row of all cells, a0, a1 and so on.

    `dictionaries` are tables (value, code) of the key columns' known values. With `in_doubles`, where `fits_doubles`,
    steps are held in doubles, which some engines multiply and add faster than integers. All that is computed of rows
    are whole numbers below 2⁵³ then, which doubles hold, so no order of rows changes them. Where there are too many
    rows for that, cells are missing; a person who has too many adds nothing, as one whose vector is too long.
    """
    rows = _steps(printer, vector_sum, dictionaries, in_doubles=in_doubles)
    if vector_sum.is_dense:
        return _dense(printer, vector_sum, rows, in_doubles=in_doubles)
    return (
        _cells_of_rows(printer, vector_sum, rows) if vector_sum.by_row else _cells_of_persons(printer, vector_sum, rows)
    )


def fits_doubles(vector_sum: VectorSum) -> bool:
    """Whether vectors are dense, with steps so small that doubles add up billions of rows exactly."""
    return (
        vector_sum.is_dense
        and vector_sum.sample is None
        and max(map(vector_sum.reach, vector_sum.components), default=0) <= SMALL
    )


def steps_statement(printer: Printer, vector_sum: VectorSum, dictionaries: Sequence[str] = ()) -> str:
    """Rows as steps q0, q1 … and codes of keys c0, c1 …, with the person p unless each row is cut for itself."""
    return _steps(printer, vector_sum, dictionaries)


def _steps(printer: Printer, vector_sum: VectorSum, dictionaries: Sequence[str], *, in_doubles: bool = False) -> str:
    """Values as steps q0, q1 …, 0 where one is missing, and the codes c0, c1 … of keys, NULL where one is unknown."""
    values = [
        f"{_in_steps(printer, vector_sum, i, in_doubles=in_doubles)} AS q{i}" for i in range(len(vector_sum.values))
    ]
    integer_codes = [_code_of_integer(vector_sum, i) for i in range(len(dictionaries))]
    codes = [f"{code or f'd{i}.code'} AS c{i}" for i, code in enumerate(integer_codes)]
    person = [] if vector_sum.by_row else ["r.p AS p"]
    text = (
        f"SELECT {', '.join([*person, *values, *codes]) or '1 AS one'} FROM ({vector_rows(printer, vector_sum)}) AS r"
    )
    for i, table in enumerate(dictionaries):
        if integer_codes[i] is not None:
            continue
        nullable = None in (vector_sum.columns[i].values or ())
        text += f" LEFT JOIN {table} AS d{i} ON {equal(printer, f'r.k{i}', f'd{i}.value', nullable)}"
    dialect = printer.dialect
    if vector_sum.sample is None:
        return dialect.fence(text)
    if vector_sum.relation.person is None:
        return _sampled_rows(dialect, vector_sum, vector_sum.sample, dialect.fence(text))
    return dialect.fence(f"{text} WHERE {_is_sampled(dialect, vector_sum.sample, dialect.to_text('r.p'))}")


def _in_steps(printer: Printer, vector_sum: VectorSum, value_index: int, *, in_doubles: bool) -> str:
    """A value as whole steps, 0 if it is missing: as `quantised` has it, by comparisons, at a quarter of the cost."""
    summand, dialect = vector_sum.values[value_index], printer.dialect
    quantum = summand.quantum
    assert summand.expression is not None and quantum is not None  # noqa: S101, PT018 (values have both)
    kind = summand.expression.domain(vector_sum.relation.schema).kind
    if quantum.is_whole or quantum.shift or quantum.reach >= _NARROW - 1:
        steps = f"coalesce({quantised(dialect, f'v{value_index}', kind, quantum)}, 0)"
        return dialect.real(steps) if in_doubles else steps
    real, low, high = dialect.real(f"v{value_index}"), dialect.double(quantum.low), dialect.double(quantum.high)
    steps = dialect.lattice(real, quantum.granularity)
    inside, most, least, none = f"{real} >= {low} AND {real} <= {high}", str(quantum.most), str(quantum.least), "0"
    if in_doubles:
        inside, none = f"{real} BETWEEN {low} AND {high}", dialect.double(0)
        most, least = dialect.double(quantum.most), dialect.double(quantum.least)
    else:
        steps = f"CAST({steps} AS INTEGER)"
    beyond = f"WHEN {real} > {high} THEN {most} WHEN {real} < {low} THEN {least}"
    return f"CASE WHEN {inside} THEN {steps} {beyond} ELSE {none} END"


def _code_of_integer(vector_sum: VectorSum, column_index: int) -> str | None:
    """The code of a key whose values are consecutive integers, without a dictionary; None for other keys."""
    column = vector_sum.columns[column_index]
    values = column.values or (None,)
    first = values[0]
    if column.expression.domain(vector_sum.relation.schema).kind is not Kind.INTEGER or type(first) is not int:
        return None
    if values != tuple(range(first, first + len(values))):
        return None
    key = f"r.k{column_index}"
    code = f"CAST({key} AS BIGINT) - {first}"  # in 64 bits: the column may be of 8, in which it would overflow
    return f"CASE WHEN {key} BETWEEN {first} AND {first + len(values) - 1} THEN {code} END"


def _is_sampled(dialect: Dialect, sample: Sample, name: str) -> str:
    number = dialect.digest(f"{dialect.text(sample.salt)} || {name}")
    return f"{number} {'>=' if sample.others else '<'} {sample.below}"


def _sampled_rows(dialect: Dialect, vector_sum: VectorSum, sample: Sample, rows: str) -> str:
    """Sample rows that are units: a row's name is what counts of it, and its number among equal rows."""
    parts = [f"q{i}" for i in range(len(vector_sum.values))] + [f"c{i}" for i in range(len(vector_sum.columns))] or [
        "one"
    ]
    number = f"row_number() OVER (PARTITION BY {', '.join(parts)} ORDER BY {parts[0]}) AS number"
    numbered = dialect.fence(f"SELECT *, {number} FROM ({rows}) AS q")
    texts = [f"coalesce({dialect.to_text(part)}, '')" for part in [*parts, "number"]]
    name = " || ',' || ".join(texts)
    return dialect.fence(f"SELECT * FROM ({numbered}) AS q WHERE {_is_sampled(dialect, sample, name)}")


def _total(dialect: Dialect, steps: str, reach: int) -> str:
    """A sum over all rows."""
    return dialect.short_total(steps) if reach <= SMALL else dialect.total(steps, reach)


def _narrow_total(dialect: Dialect, vector_sum: VectorSum, component_index: int) -> str:
    """A sum over the rows of a person, in 64 bits."""
    steps = _product(vector_sum.components[component_index])
    return (
        dialect.short_total(steps)
        if vector_sum.reach(vector_sum.components[component_index]) <= SMALL
        else dialect.narrow_total(steps)
    )


def _product(component: Component) -> str:
    """What a row adds to a component: at most 2³¹ steps, in integers of 32 bits or more."""
    return " * ".join(f"q{factor}" for factor in component.factors) or "1"


# -- dense vectors ----------------------------------------------------------------------------------------------


def _dense(printer: Printer, vector_sum: VectorSum, rows: str, *, in_doubles: bool) -> str:
    dialect, count = printer.dialect, len(vector_sum.components)
    products = [_product(component) for component in vector_sum.components]
    if vector_sum.is_uncut:
        reaches = [vector_sum.reach(component) for component in vector_sum.components]
        return _summed(dialect, zip(products, reaches, strict=True), rows, in_doubles=in_doubles)
    if vector_sum.by_row and vector_sum.is_gram:
        return _gram(dialect, vector_sum, rows, in_doubles=in_doubles)
    if vector_sum.by_row:
        vectors = f"SELECT {_listed(products, '{}')} FROM ({rows}) AS q"
    elif in_doubles:
        sums = [f"sum({product})" for product in products]
        vectors = f"SELECT p, {_listed(sums, '{}')} FROM ({rows}) AS q GROUP BY p HAVING count(*) <= {_EXACT}"
    else:
        sums = [_narrow_total(dialect, vector_sum, i) for i in range(count)]
        vectors = f"SELECT p, {_listed(sums, '{}')} FROM ({dialect.by_person(rows)}) AS q GROUP BY p"
    checked = _checked(dialect, vector_sum, vectors, [])
    sums = [dialect.total(f"w{i}", vector_sum.bound) for i in range(count)]
    return f"SELECT {_listed(sums, 'coalesce({}, 0)')} FROM ({checked}) AS u"


def _summed(dialect: Dialect, products: Iterable[tuple[str, int]], rows: str, *, in_doubles: bool) -> str:
    """Sums of products over rows that need no cut; each product comes with its greatest distance from zero."""
    if in_doubles:
        sums, form = (
            [f"sum({product})" for product, _ in products],
            f"CASE WHEN count(*) <= {_EXACT} THEN coalesce({{}}, 0) END",
        )
    else:
        sums, form = [_total(dialect, product, reach) for product, reach in products], "coalesce({}, 0)"
    return f"SELECT {_listed(sums, form)} FROM ({rows}) AS q"


def _checked(dialect: Dialect, vector_sum: VectorSum, vectors: str, cell_columns: list[str]) -> str:
    """Vectors a0, a1 … as w0, w1 …: shortened where they are too long, without those that are too long even then.

    The length is computed in doubles, by one expression for each vector; the check in integers of 64 bits.
    """
    indexes = range(len(vector_sum.components))
    reals = [f"CAST(a{i} AS {dialect.type_name(Kind.REAL)})" for i in indexes]
    doubles = dialect.fence(f"SELECT {', '.join([*cell_columns, _listed(reals, '{}', 'x')])} FROM ({vectors}) AS u")
    length = " + ".join(f"x{i} * x{i} * {component.weight}" for i, component in enumerate(vector_sum.components))
    measured = dialect.fence(f"SELECT *, {length} AS n FROM ({doubles}) AS u")
    scaled = dialect.fence(f"SELECT *, {_factor(dialect, vector_sum)} AS f FROM ({measured}) AS u")
    cut = [dialect.cut(f"x{i} * f", vector_sum.bound) for i in indexes]
    shorter = dialect.fence(f"SELECT {', '.join([*cell_columns, _listed(cut, '{}', 'w')])} FROM ({scaled}) AS u")
    check = " + ".join(f"w{i} * w{i} * {component.weight}" for i, component in enumerate(vector_sum.components))
    return f"SELECT * FROM ({shorter}) AS u WHERE {check} <= {vector_sum.bound**2}"


def _gram(dialect: Dialect, vector_sum: VectorSum, rows: str, *, in_doubles: bool) -> str:
    """Sums over rows whose values are shortened first, so that their products are short enough."""
    indexes = range(len(vector_sum.values))
    square = "{0} * {0}" if in_doubles else "CAST({0} AS BIGINT) * {0}"
    length = " + ".join(square.format(f"q{i}") for i in indexes)
    measured = dialect.fence(f"SELECT *, {length} AS n FROM ({rows}) AS q")
    ratio = f"sqrt({dialect.double(vector_sum.bound)} / {dialect.real('n')}) * {dialect.double(LESS)}"
    scaled = dialect.fence(
        f"SELECT *, CASE WHEN n <= {vector_sum.bound} THEN {dialect.double(1)} ELSE {ratio} END AS f "
        f"FROM ({measured}) AS q"
    )
    steps = [_shorter(dialect, vector_sum, f"q{i}", in_doubles=in_doubles) for i in indexes]
    shorter = dialect.fence(f"SELECT {_listed(steps, '{}', 'w')} FROM ({scaled}) AS q")
    check = " + ".join(square.format(f"w{i}") for i in indexes)
    checked = f"SELECT * FROM ({shorter}) AS q WHERE {check} <= {vector_sum.bound}"
    products = [
        (f"w{i} * w{j}", vector_sum.bound) for i, j in (component.factors for component in vector_sum.components)
    ]
    return _summed(dialect, products, checked, in_doubles=in_doubles)


def _shorter(dialect: Dialect, vector_sum: VectorSum, steps: str, *, in_doubles: bool) -> str:
    if in_doubles:
        return f"trunc({steps} * f)"
    cut = dialect.cut(f"{dialect.real(steps)} * f", vector_sum.bound)
    return f"CAST({cut} AS {'INTEGER' if vector_sum.bound < _NARROW else 'BIGINT'})"


# -- vectors with a cell for each key ---------------------------------------------------------------------------


def _cells_of_rows(printer: Printer, vector_sum: VectorSum, rows: str) -> str:
    """Sums by cell where rows are units: each row is in at most one cell of each component."""
    dialect, count = printer.dialect, len(vector_sum.components)
    products = [_product(component) for component in vector_sum.components]
    if vector_sum.is_uncut and count > _MANY and max(map(vector_sum.reach, vector_sum.components)) <= SMALL:
        rows, products = _together(dialect, vector_sum, rows, products)
    known_products = [
        _if_known(component, product) for component, product in zip(vector_sum.components, products, strict=True)
    ]
    cell_codes = [f"{_cell(vector_sum, i)} AS b{i}" for i in range(count)]
    vectors = dialect.fence(f"SELECT {_listed(known_products, '{}')}, {', '.join(cell_codes)} FROM ({rows}) AS q")
    if vector_sum.is_uncut:
        return _by_cell(dialect, vector_sum, vectors, [(f"b{i}", f"a{i}") for i in range(count)])
    checked = _checked(dialect, vector_sum, vectors, [f"b{i}" for i in range(count)])
    return _by_cell(dialect, vector_sum, checked, [(f"b{i}", f"w{i}") for i in range(count)])


def _together(dialect: Dialect, vector_sum: VectorSum, rows: str, products: list[str]) -> tuple[str, list[str]]:
    """Add up rows of the same keys first, where each would be unfolded into many: integers, in any order."""
    sums = {product: f"s{index}" for index, product in enumerate(dict.fromkeys(products))}
    codes = ", ".join(f"c{index}" for index in range(len(vector_sum.columns)))
    totals = ", ".join(f"{dialect.narrow_total(product)} AS {name}" for product, name in sums.items())
    grouped = dialect.fence(f"SELECT {codes}, {totals} FROM ({rows}) AS q GROUP BY {codes}")
    return grouped, [sums[product] for product in products]


def _by_cell(dialect: Dialect, vector_sum: VectorSum, vectors: str, pairs: list[tuple[str, str]]) -> str:
    lines = dialect.unfolded(vectors, [], [(code, value) for code, value in pairs], ("code", "a"))
    total = dialect.total("a", max(vector_sum.bound, 1))
    return f"SELECT code, {total} AS a0 FROM ({lines}) AS l WHERE code IS NOT NULL GROUP BY code"


def _cells_of_persons(printer: Printer, vector_sum: VectorSum, rows: str) -> str:
    """Sums by person and cell, then each person's length, then the shortened sums, then a check."""
    dialect = printer.dialect
    parts = [(_cell(vector_sum, i), _product(component)) for i, component in enumerate(vector_sum.components)]
    lines = dialect.unfolded(dialect.by_person(rows), ["p"], parts, ("code", "a"))
    pairs = (
        f"SELECT p, code, {dialect.narrow_total('a')} AS a FROM ({lines}) AS l WHERE code IS NOT NULL GROUP BY p, code"
    )
    weight, most = _weight_of_code(vector_sum), MOST_OF_CELL
    near = f"SELECT p, code, {dialect.between('coalesce(a, 0)', str(-most), str(most))} AS a FROM ({pairs}) AS t"
    measured = dialect.fence(dialect.with_sums(near, [(f"{weight} * {dialect.square('a')}", "n")]))
    scaled = dialect.fence(f"SELECT p, code, a, {_factor(dialect, vector_sum)} AS f FROM ({measured}) AS t")
    real = dialect.real("a")
    shorter = f"SELECT p, code, {dialect.cut(f'{real} * f', vector_sum.bound)} AS w FROM ({scaled}) AS t"
    checked = dialect.with_sums(shorter, [(f"{weight} * w * w", "m")])
    total = dialect.total("w", vector_sum.bound)
    return f"SELECT code, {total} AS a0 FROM ({checked}) AS t WHERE m <= {vector_sum.bound**2} GROUP BY code"


def _cell(vector_sum: VectorSum, component_index: int) -> str:
    """The place of a row's cell among all, or NULL where a key is unknown."""
    code = "0"
    for key in vector_sum.components[component_index].keys:
        size = len(vector_sum.columns[key].values or ())
        code = f"(CAST({code} AS BIGINT) * {size} + c{key})"
    return f"CAST({vector_sum.offsets()[component_index]} + {code} AS BIGINT)"


def _if_known(component: Component, product: str) -> str:
    known = " AND ".join(f"c{key} IS NOT NULL" for key in component.keys)
    return f"CASE WHEN {known} THEN {product} ELSE 0 END" if known else product


def _weight_of_code(vector_sum: VectorSum) -> str:
    """The weight of a cell, by its place."""
    if len({component.weight for component in vector_sum.components}) == 1:
        return str(vector_sum.components[0].weight)
    ends = zip(vector_sum.offsets(), vector_sum.sizes, vector_sum.components, strict=True)
    branches = " ".join(f"WHEN code < {start + size} THEN {component.weight}" for start, size, component in ends)
    return f"(CASE {branches} ELSE 1 END)"


# -- lengths ----------------------------------------------------------------------------------------------------


def _factor(dialect: Dialect, vector_sum: VectorSum) -> str:
    """The factor for a vector of length √n: 1, or just less than what makes it as short as the bound."""
    length = dialect.real("n")
    short = f"{length} * {dialect.double(1 + 2.0**-40)} <= {dialect.double(vector_sum.bound**2)}"
    return (
        f"CASE WHEN {short} THEN {dialect.double(1)} "
        f"ELSE {dialect.double(vector_sum.bound * LESS)} / sqrt({length}) END"
    )


def _listed(texts: Sequence[str], form: str, letter: str = "a") -> str:
    return ", ".join(f"{form.format(text)} AS {letter}{index}" for index, text in enumerate(texts))
