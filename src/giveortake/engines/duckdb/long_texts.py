"""Questions about long texts, answered in little memory: no person's texts are sorted, compared or held together.

DuckDB writes to disk what does not fit into memory, but not well if lines are thousands of characters long: one person
who has stored many of them would make a question fail. So lines are copied into a table once. From then on a line is
represented by little: its person, the hash that orders a person's lines, and a short identity. Where the border between
lines that count and others runs between two of the same hash, their whole content decides; then these lines are read
one after another, and no more of them are held than may count. Relations that are grouped or ranked are made into
tables in the same way, before a question reads them.

Nobody can tell by an answer that it was computed this way: the same rows, keys and values count as by the statements of
`giveortake.engines.sql.statements`. Tables that are made on the way are gone when the answer is there.
"""

from __future__ import annotations

from bisect import bisect_left
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, final

from giveortake.engines.duckdb.dialect import parameters, sql_type
from giveortake.engines.duckdb.tables import open_database
from giveortake.engines.runtime import limit_of_question, out_of_time
from giveortake.engines.sql.printer import hash_of, hash_with_ordinal, mark, unused
from giveortake.engines.sql.statements import comparable, known_rows, rows_of, total_weight
from giveortake.plan import KeepParts, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import duckdb

    from giveortake.engines.questions import Distinct, Persons
    from giveortake.engines.sql.printer import Printer
    from giveortake.engines.sql.statements import Coded
    from giveortake.plan import Domain, Expression, PerPerson, Relation, Scan, Value


Line: TypeAlias = "tuple[int, bytes | int, bytes]"  # the number of its border, its identity, its content


@final
@dataclass(frozen=True, slots=True)
class Lines:
    """A table of lines, made by `select`. For each value of `by` the first `most` count, by h and then by `content`.

    It has the columns p, h, those of `by` and of `content`. Lines with an equal `identity` count once. If `groups` is
    stated, p has at most so many codes, the first by the column g.
    """

    select: str
    by: tuple[str, ...]
    identity: str
    content: tuple[str, ...]
    most: int
    groups: int | None = None
    is_repeated: bool = True  # several lines may have one identity; else that is the number of a row

    def with_ordinals(self, printer: Printer, table: str) -> str:
        """Give equal lines of a person different hashes, as `Printer.capped_rows` does; SHA-256 stands for content."""
        lines = f"SELECT p, h, {self.identity} AS id, sha256({sort_key(self.content)}) AS digest FROM {table}"
        ordinals = "row_number() OVER (PARTITION BY p, h, digest ORDER BY id) AS ordinal"
        numbered = f"SELECT id, {ordinals} FROM ({lines}) AS l"
        hashed = hash_with_ordinal(printer.dialect, "h", "n.ordinal")
        repeated = f"n.ordinal > 1 AND {table}.{self.identity} = n.id"
        return f"UPDATE {table} SET h = {hashed} FROM ({numbered}) AS n WHERE {repeated}"

    def first(self, table: str) -> str:
        """The lines that count, as far as hashes decide; `following` is the hash of the line that comes next."""
        by = ", ".join(self.by)
        grouped = "" if self.groups is None else ", g"
        once = "DISTINCT " if self.is_repeated else ""
        lines = f"SELECT {once}{by}{grouped}, h, {self.identity} AS id FROM {table}"
        rank = "" if self.groups is None else ", dense_rank() OVER (PARTITION BY p ORDER BY g, code) AS place_of_group"
        placed = (
            f"SELECT {by}, h, id, row_number() OVER w AS place, lead(h) OVER w AS following{rank} FROM ({lines}) AS l "
            f"WINDOW w AS (PARTITION BY {by} ORDER BY h, id)"
        )
        few = "" if self.groups is None else f" AND place_of_group <= {self.groups}"
        return f"SELECT {by}, h, id, place, following FROM ({placed}) AS l WHERE place <= {self.most}{few}"

    def borders(self, first: str) -> str:
        """The hashes shared by lines that count and lines that do not, numbered, with how many of their lines count."""
        by, same = ", ".join(self.by), self._same("b", "f")
        torn = f"SELECT {by}, h FROM {first} WHERE place = {self.most} AND following = h"
        lines = f"SELECT {by}, h FROM {first} AS f SEMI JOIN ({torn}) AS b ON {same}"
        counted = f"SELECT {by}, h, count(*) AS most FROM ({lines}) AS l GROUP BY {by}, h"
        return f"SELECT row_number() OVER () AS number, * FROM ({counted}) AS c"

    def contents(self, table: str, borders: str) -> str:
        """Every line with these hashes: the number of its border, its identity, and a sort key of its content."""
        content = sort_key(self.content)
        lines = f"SELECT {', '.join(self.by)}, h, {self.identity} AS id, {content} AS content FROM {table}"
        return f"SELECT b.number, l.id, l.content FROM ({lines}) AS l JOIN {borders} AS b ON {self._same('b', 'l')}"

    def without(self, first: str, borders: str) -> str:
        """Leave out the lines of these hashes."""
        return f"DELETE FROM {first} AS f USING {borders} AS b WHERE {self._same('b', 'f')}"

    def chosen(self, borders: str) -> str:
        """The lines with these hashes that count; parameters are the numbers of borders and the identities."""
        by, kind = ", ".join(f"b.{column}" for column in self.by), "BLOB" if self.is_repeated else "BIGINT"
        chosen_lines = f"SELECT CAST(unnest(?) AS BIGINT) AS number, CAST(unnest(?) AS {kind}) AS id"
        return f"SELECT {by}, b.h, c.id, 0, NULL FROM ({chosen_lines}) AS c JOIN {borders} AS b ON b.number = c.number"

    def _same(self, one: str, other: str) -> str:
        return " AND ".join(f"{one}.{column} = {other}.{column}" for column in (*self.by, "h"))


def least(lines: Iterable[Line], most: Mapping[int, int]) -> list[tuple[int, bytes | int]]:
    """For each border the first lines by content, `most` of them. No more than these are held."""
    least_lines: dict[int, list[tuple[bytes, bytes | int]]] = {}
    for number, identity, content in lines:
        border_lines, line = least_lines.setdefault(number, []), (content, identity)
        index = bisect_left(border_lines, line)
        if index < len(border_lines) and border_lines[index] == line:
            continue
        border_lines.insert(index, line)
        del border_lines[most[number] :]
    return [(number, identity) for number, border_lines in least_lines.items() for _, identity in border_lines]


def sort_key(columns: Sequence[str]) -> str:
    """Several columns as one blob that sorts like them, missing values last; different values have different blobs."""
    ordered = ", ".join(f"{column}, 'ASC NULLS LAST'" for column in columns)
    return f"create_sort_key({ordered})"


def key_lines(printer: Printer, persons: Persons, declared: Mapping[int, str]) -> Lines:
    """The keys of each person, with the columns id and k0, k1 … of the keys."""
    schema, dialect = persons.relation.schema, printer.dialect
    kinds = [column.expression.domain(schema).kind for column in persons.keys.columns]
    names = [f"k{index}" for index in range(len(kinds))]
    person = schema[str(persons.relation.person)].kind
    hashed = hash_of(
        mark(dialect, "r.p", person), *(mark(dialect, f"r.{n}", k) for n, k in zip(names, kinds, strict=True))
    )
    columns = [
        f"{comparable(dialect, 'r.p', person)} AS p",
        f"{hashed} AS h",
        f"{sort_key([comparable(dialect, f'r.{n}', k) for n, k in zip(names, kinds, strict=True)])} AS id",
        *(f"r.{name} AS {name}" for name in names),
    ]
    select = f"SELECT {', '.join(columns)} FROM {known_rows(printer, persons, declared)}"
    return Lines(select, ("p",), "id", tuple(names), persons.groups)


def units_statement(printer: Printer, persons: Persons, table: str, first: str, weights: str | None) -> str:
    """For the identity of each key, the number of persons or rows that it counts for, or the sum of their weights."""
    if persons.rows > 1:
        lines = f"{table} AS l SEMI JOIN {first} AS f ON l.p = f.p AND l.id = f.id"
        counted = f"SELECT l.id AS id, least(count(*), {persons.rows}) AS c FROM {lines} GROUP BY l.p, l.id"
        return f"SELECT id, {printer.dialect.total('c', persons.rows)} AS n FROM ({counted}) AS t GROUP BY id"
    if weights is None:
        return f"SELECT id, count(*) AS n FROM {first} GROUP BY id"
    counted = f"SELECT id, count(*) OVER (PARTITION BY p) AS m FROM {first}"
    weight_rows = f"SELECT c.id, x.w FROM ({counted}) AS c JOIN {weights} AS x ON c.m = x.m"
    return f"SELECT id, {total_weight(printer, persons)} AS n FROM ({weight_rows}) AS g GROUP BY id"


def value_lines(printer: Printer, distinct: Distinct, coded: Coded) -> Lines:
    """The distinct values of each person in each group, with the columns code, id and v."""
    assert distinct.bounding is not None  # noqa: S101 (asked only then)
    schema, dialect = distinct.relation.schema, printer.dialect
    person, kind = schema[str(distinct.relation.person)].kind, distinct.expression.domain(schema).kind
    source = f"({rows_of(printer, distinct)}) AS r{coded.joins(printer, 'r')} WHERE v0 IS NOT NULL"
    lines = f"SELECT r.p AS p, {coded.code()} AS code, r.v0 AS v FROM {source}"
    person_mark, group = mark(dialect, "p", person), mark(dialect, "code", Kind.INTEGER)
    columns = [
        f"{comparable(dialect, 'p', person)} AS p",
        "code",
        f"{hash_of(person_mark, group)} AS g",
        f"{hash_of(person_mark, group, mark(dialect, 'v', kind))} AS h",
        f"{sort_key([comparable(dialect, 'v', kind)])} AS id",
        "v",
    ]
    select = f"SELECT {', '.join(columns)} FROM ({lines}) AS l"
    return Lines(select, ("p", "code"), "id", ("v",), distinct.bounding.rows, distinct.bounding.groups)


def row_lines(printer: Printer, scan: Scan) -> Lines:
    """The rows of each person, with the columns c0, c1 … of the table, and the hash of their content."""
    assert scan.most_rows_of_person is not None  # noqa: S101 (asked only then)
    dialect, table_columns = printer.dialect, scan.table.columns
    person = dialect.identifier(str(scan.table.person))
    columns = [
        f"{comparable(dialect, person, scan.table.schema[str(scan.table.person)].kind)} AS p",
        f"{printer.hash_of_row(scan)} AS h",
        "h AS row_hash",
        *(f"{dialect.identifier(name)} AS c{index}" for index, (name, _) in enumerate(table_columns)),
    ]
    select = f"SELECT {', '.join(columns)} FROM ({printer.stored(scan)}) AS t WHERE {person} IS NOT NULL"
    content = ("row_hash", *(f"c{index}" for index in range(len(table_columns))))
    return Lines(select, ("p",), "rowid", content, scan.most_rows_of_person, is_repeated=False)


Result = TypeVar("Result")

_AT_ONCE = 1 << 15  # keys that are sent at once: nothing interrupts that


def ordered(
    lists: Iterable[list[tuple[Value, ...]]], domains: Sequence[Domain], folder: Path, size: int
) -> Iterator[list[tuple[Value, ...]]]:
    """Yield all keys in order, `size` at a time. DuckDB sorts them, with files in the folder when memory is short.

    It is interrupted when the time of the question is over.
    """
    types = [sql_type(domain) for domain in domains]
    with open_database(folder) as connection:
        connection.execute("SET memory_limit = '256MB'")
        column_definitions = ", ".join(f"k{index} {kind}" for index, kind in enumerate(types))
        connection.execute(f"CREATE TABLE keys ({column_definitions})")
        placeholders = ", ".join(f"CAST(unnest(?) AS {kind})" for kind in types)
        for rows in lists:
            for start in range(0, len(rows), _AT_ONCE):
                batch = parameters(rows[start : start + _AT_ONCE])
                _in_time(connection, lambda: connection.execute(f"INSERT INTO keys SELECT {placeholders}", batch))  # noqa: B023 (called at once)
        order = ", ".join(f"k{index} NULLS LAST" for index in range(len(types)))
        _in_time(connection, lambda: connection.execute(f"SELECT * FROM keys ORDER BY {order}"))
        while rows := _in_time(connection, lambda: connection.fetchmany(size)):
            yield rows


def _in_time(connection: duckdb.DuckDBPyConnection, work: Callable[[], Result]) -> Result:
    """Run work of the database within the time of the question."""
    limit = limit_of_question()
    with limit.interrupting(connection.interrupt):
        try:
            return work()
        except Exception as error:
            kind = type(error)
            if not limit.is_over:
                raise
    raise out_of_time(kind)


def part_lines(printer: Printer, relation: KeepParts) -> Lines:
    """The rows of the source as lines; of each person, those in the first parts count."""
    dialect, schema, names = printer.dialect, relation.schema, list(relation.schema)
    parted = [str(relation.person), *relation.columns]
    (person, *values), kinds = [dialect.identifier(name) for name in parted], [schema[name].kind for name in parted]
    hashed = hash_of(*(mark(dialect, column, kind) for column, kind in zip([person, *values], kinds, strict=True)))
    content = [comparable(dialect, value, kind) for value, kind in zip(values, kinds[1:], strict=True)]
    columns = [
        f"{comparable(dialect, person, kinds[0])} AS p",
        f"{hashed} AS h",
        f"{sort_key(content)} AS id",
        *_numbered(printer, names),
    ]
    select = f"SELECT {', '.join(columns)} FROM ({printer.relation(relation.source)}) AS t"
    return Lines(select, ("p",), "id", tuple(f"c{names.index(name)}" for name in relation.columns), relation.most)


def _read(relation: PerPerson) -> list[str]:
    """The columns of the source that are copied: the person, the keys and what features are made of."""
    feature_columns = {column for expression in relation.computed() for column in expression.columns()}
    return [name for name in relation.source.schema if name in {str(relation.person), *relation.keys, *feature_columns}]


def person_rows_statement(printer: Printer, relation: PerPerson) -> str:
    """The rows of the source, with the columns c0, c1 … of what is copied."""
    names = _read(relation)
    return f"SELECT {', '.join(_numbered(printer, names))} FROM ({printer.relation(relation.source, names)}) AS t"


def groups_statement(printer: Printer, relation: PerPerson, table: str) -> str:
    """For each person and their keys the number of one of their rows, and f0, f1 … of the features."""
    dialect, schema, names = printer.dialect, relation.source.schema, _read(relation)
    number = unused("row_number", names)
    rows = f"SELECT {', '.join(_named(printer, names))}, rowid AS {number} FROM {table} AS l"
    groups = (
        comparable(dialect, dialect.identifier(key), schema[key].kind) for key in (str(relation.person), *relation.keys)
    )
    features = [
        f"{printer.feature(feature, schema)} AS f{index}" for index, (_, feature) in enumerate(relation.features)
    ]
    select_list = ", ".join([f"min({number}) AS number", *features])
    return f"SELECT {select_list} FROM ({rows}) AS t GROUP BY {', '.join(groups)}"


def grouped_statement(printer: Printer, relation: PerPerson, table: str, groups: str) -> str:
    """One row for each person and their keys, under the names of the relation."""
    names, keys = _read(relation), (str(relation.person), *relation.keys)
    columns = [column for name, column in zip(names, _named(printer, names), strict=True) if name in keys]
    columns += [
        f"g.f{index} AS {printer.dialect.identifier(name)}" for index, (name, _) in enumerate(relation.features)
    ]
    return f"SELECT {', '.join(columns)} FROM {table} AS l JOIN {groups} AS g ON l.rowid = g.number"


def _numbered(printer: Printer, names: Sequence[str]) -> list[str]:
    return [f"{printer.dialect.identifier(name)} AS c{index}" for index, name in enumerate(names)]


def _named(printer: Printer, names: Sequence[str]) -> list[str]:
    return [f"l.c{index} AS {printer.dialect.identifier(name)}" for index, name in enumerate(names)]


NARROW = 255  # bytes of a line that DuckDB sorts and compares well when memory is short
_NUMBER = 8  # bytes of a value that is no text


@final
@dataclass(frozen=True, slots=True)
class Tables:
    """The calls by which an engine runs statements: it reads rows, all or one by one, and makes and drops tables."""

    rows: Callable[[str], list[tuple[Any, ...]]]
    one_by_one: Callable[[str, Callable[[Iterator[Any]], Any]], Any]
    execute: Callable[[str, list[Any] | None], None]
    make: Callable[[str, str], None]
    drop: Callable[[str], None]


@final
class WideRows:
    """Answers questions about rows that DuckDB may fail to sort or group when memory is short."""

    def __init__(self, printer: Printer, tables: Tables) -> None:
        self._printer = printer
        self._tables = tables
        self._numbers = count()

    # -- whether rows are wide ----------------------------------------------------------------------------------

    def has_wide_keys(self, persons: Persons) -> bool:
        """Whether the keys of some person are long."""
        keys = [column.expression for column in persons.keys.columns]
        return persons.relation.person is not None and self._is_wide(persons, "k", keys)

    def has_wide_values(self, distinct: Distinct) -> bool:
        """Whether the values of some person are long."""
        return distinct.bounding is not None and self._is_wide(distinct, "v", [distinct.expression])

    def has_wide_rows(self, scan: Scan) -> bool:
        """Whether the rows of a table are long."""
        columns = [(self._name(name), domain.kind) for name, domain in scan.table.columns]
        return self._any_wide(self._printer.stored(scan), columns)

    def is_wide(self, relation: KeepParts | PerPerson) -> bool:
        """Whether the rows that a relation ranks are long, or what it groups by beside the person."""
        schema = relation.source.schema
        names = list(schema) if isinstance(relation, KeepParts) else [str(relation.person), *relation.keys]
        columns = [(self._name(name), schema[name].kind) for name in names]
        return len(names) > 1 and self._any_wide(self._printer.relation(relation.source, names), columns)

    def _is_wide(self, question: Persons | Distinct, letter: str, expressions: Sequence[Expression]) -> bool:
        schema = question.relation.schema
        columns = [(f"{letter}{index}", expression.domain(schema).kind) for index, expression in enumerate(expressions)]
        columns.append(("p", schema[str(question.relation.person)].kind))
        return self._any_wide(rows_of(self._printer, question), columns)

    def _any_wide(self, source: str, columns: Sequence[tuple[str, Kind]]) -> bool:
        """Whether a row of a source is too wide for DuckDB to sort when memory is short."""
        texts = [f"coalesce(strlen({column}), 0)" for column, kind in columns if kind is Kind.TEXT]
        numbers = _NUMBER * (len(columns) - len(texts))
        if not texts and numbers <= NARROW:
            return False  # whatever is in them
        width = " + ".join([str(numbers), *texts])
        ((is_wide,),) = self._tables.rows(f"SELECT coalesce(max({width}), 0) > {NARROW} FROM ({source}) AS r")
        return bool(is_wide)

    # -- questions ----------------------------------------------------------------------------------------------

    def keys(self, persons: Persons, declared: Mapping[int, str], weights: str | None) -> list[tuple[Any, ...]]:
        """The keys that count for somebody, each with the number of persons, or the sum of their weights."""
        lines = key_lines(self._printer, persons, declared)
        with (
            self._first(lines) as (table, first),
            self._temporary_table(units_statement(self._printer, persons, table, first, weights)) as units,
        ):
            columns = enumerate(persons.keys.columns)
            names = ", ".join(f"any_value(l.k{index}) AS k{index}" for index, _ in columns)
            counted = f"{table} AS l JOIN {units} AS u ON l.id = u.id GROUP BY u.id"
            return self._tables.rows(f"SELECT {names}, any_value(u.n) AS n FROM {counted}")

    def numbers(self, distinct: Distinct, coded: Coded) -> list[tuple[Any, ...]]:
        """Codes, each with the number of distinct values that count."""
        with self._first(value_lines(self._printer, distinct, coded)) as (_, first):
            return self._tables.rows(f"SELECT code, count(DISTINCT id) AS n FROM {first} GROUP BY code")

    # -- relations ----------------------------------------------------------------------------------------------

    def make_capped_rows(self, scan: Scan, target: str) -> None:
        """Make a table of the rows that count."""
        with self._first(row_lines(self._printer, scan), with_ordinals=scan.first_by is None) as (table, first):
            columns = ", ".join(_named(self._printer, [name for name, _ in scan.table.columns]))
            counted = f"{table} AS l SEMI JOIN {first} AS f ON l.rowid = f.id"
            self._tables.make(target, f"SELECT {columns} FROM {counted}")

    def make_relation(self, relation: KeepParts | PerPerson, target: str) -> None:
        """Make a table of a relation."""
        if isinstance(relation, KeepParts):
            with self._first(part_lines(self._printer, relation)) as (table, first):
                columns = ", ".join(_named(self._printer, list(relation.schema)))
                counted = f"{table} AS l SEMI JOIN {first} AS f ON l.p = f.p AND l.id = f.id"
                self._tables.make(target, f"SELECT {columns} FROM {counted}")
            return
        with (
            self._temporary_table(person_rows_statement(self._printer, relation)) as rows,
            self._temporary_table(groups_statement(self._printer, relation, rows)) as groups,
        ):
            self._tables.make(target, grouped_statement(self._printer, relation, rows, groups))

    # -- inside -------------------------------------------------------------------------------------------------

    @contextmanager
    def _first(self, lines: Lines, *, with_ordinals: bool = False) -> Iterator[tuple[str, str]]:
        """Make a table of lines and one of those that count, for a while."""
        with self._temporary_table(lines.select) as table:
            if with_ordinals:
                self._tables.execute(lines.with_ordinals(self._printer, table), None)
            with self._temporary_table(lines.first(table)) as first:
                with self._temporary_table(lines.borders(first)) as borders:
                    most = dict(self._tables.rows(f"SELECT number, most FROM {borders}"))
                    if most:
                        self._settle(lines, table, first, borders, most)
                yield table, first

    def _settle(self, lines: Lines, table: str, first: str, borders: str, most: Mapping[int, int]) -> None:
        """Decide by content which lines count, where some lines of one hash do and others do not."""
        chosen_lines = self._tables.one_by_one(lines.contents(table, borders), lambda read: least(read, most))
        numbers, identities = ([line[index] for line in chosen_lines] for index in range(2))
        self._tables.execute(lines.without(first, borders), None)
        self._tables.execute(f"INSERT INTO {first} {lines.chosen(borders)}", [numbers, identities])

    @contextmanager
    def _temporary_table(self, select: str) -> Iterator[str]:
        """Make a table by a SELECT, and drop it afterwards."""
        table = f"passing_{next(self._numbers)}"
        self._tables.make(table, select)
        try:
            yield table
        finally:
            self._tables.drop(table)

    def _name(self, column: str) -> str:
        return self._printer.dialect.identifier(column)


def ranked_or_grouped(relation: Relation) -> Iterator[Relation]:
    """Yield all relations inside of one, and itself, sources first."""
    for source in relation.sources:
        yield from ranked_or_grouped(source)
    yield relation
