"""Questions as SQL statements.

- Questions as statements: aggregates of rows, or of persons whose contributions are bounded first.
- The statement that finds keys by the weights that each person divides among their own keys.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from giveortake.engines.questions import Bins, Persons, Tally
from giveortake.engines.sql.printer import hash_of, mark
from giveortake.plan import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from giveortake.engines.questions import Bounding, Distinct, Keys, Quantum, Summand
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
    most = persons.groups
    rank = f"row_number() OVER (PARTITION BY p ORDER BY {order}) AS place"
    few = f"SELECT {names}, x.w AS w FROM counted AS c JOIN {table} AS x ON c.m = x.m"
    ranked = f"SELECT {names}, {rank} FROM counted WHERE m > {most}"
    many = f"SELECT {names}, {least_weight(persons)} AS w FROM ({ranked}) AS r WHERE place <= {most}"
    return f"WITH counted AS ({printer.dialect.with_groups(pairs)}) {few} UNION ALL {many}"


def least_weight(persons: Persons) -> str:
    """The weight that a person with more keys than count gives to each."""
    assert persons.weights is not None  # noqa: S101 (asked only then)
    return f"CAST({persons.weights[-1]} AS BIGINT)"


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
    """One row for each key that occurs: its values, and the number of units that it was kept for.

    Of each person the first `groups` keys count, by a hash of the person and the key's values, which nobody else
    decides. `declared` has a table of the values of each column whose values are known; others do not count. `weights`
    is the table of weights, if units are weighed.
    """
    joined = known_rows(printer, persons, declared)
    keys = [f"k{index}" for index in range(len(persons.keys.columns))]
    listed = ", ".join(f"r.{key} AS {key}" for key in keys)
    names = ", ".join(keys)
    if persons.relation.person is None:
        return f"SELECT {names}, count(*) AS n FROM (SELECT {listed} FROM {joined}) AS t GROUP BY {names}"
    lines = f"SELECT r.p AS p, {listed} FROM {joined}"
    if weights is not None:
        return weighted_statement(printer, persons, lines, weights)
    order = order_of_keys(printer, persons)
    ranked = (
        f"SELECT {names}, row_number() OVER (PARTITION BY p ORDER BY {order}) AS place "
        f"FROM (SELECT DISTINCT p, {names} FROM ({printer.dialect.by_person(lines)}) AS l) AS t"
    )
    return f"SELECT {names}, count(*) AS n FROM ({ranked}) AS t WHERE place <= {persons.groups} GROUP BY {names}"


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
