"""Questions about long texts, answered so that no person's texts are sorted, compared or held together.

Nobody can tell by an answer that it was found this way: the same rows, keys and values count as by the statements of
`giveortake.engines.sql.statements`. Tables that are made on the way are gone when the answer is there.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, final

from giveortake.engines.duckdb import choices, wide_relations
from giveortake.engines.sql.statements import rows_of
from giveortake.plan import KeepParts, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from giveortake.engines.duckdb.choices import Lines
    from giveortake.engines.questions import Distinct, Persons
    from giveortake.engines.sql.relations import Printer
    from giveortake.engines.sql.statements import Coded
    from giveortake.plan import Expression, PerPerson, Relation, Scan

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
        return distinct.bounding is not None and self._is_wide(distinct, "v", [distinct.of])

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

    def _is_wide(self, asked: Persons | Distinct, letter: str, of: Sequence[Expression]) -> bool:
        schema = asked.relation.schema
        columns = [(f"{letter}{place}", each.domain(schema).kind) for place, each in enumerate(of)]
        columns.append(("p", schema[str(asked.relation.person)].kind))
        return self._any_wide(rows_of(self._printer, asked), columns)

    def _any_wide(self, source: str, columns: Sequence[tuple[str, Kind]]) -> bool:
        if _is_never_wide(columns):
            return False
        ((is_wide,),) = self._tables.rows(_is_wide_statement(source, columns))
        return bool(is_wide)

    # -- questions ----------------------------------------------------------------------------------------------

    def keys(self, persons: Persons, declared: Mapping[int, str], weights: str | None) -> list[tuple[Any, ...]]:
        """The keys that count for somebody, each with the number of persons, or the sum of their weights."""
        lines = choices.key_lines(self._printer, persons, declared)
        with (
            self._first(lines) as (table, first),
            self._made(choices.units_statement(self._printer, persons, first, weights)) as units,
        ):
            return self._tables.rows(choices.keys_statement(table, units, len(persons.keys.columns)))

    def numbers(self, distinct: Distinct, coded: Coded) -> list[tuple[Any, ...]]:
        """Codes, each with the number of distinct values that count."""
        with self._first(choices.value_lines(self._printer, distinct, coded)) as (_, first):
            return self._tables.rows(choices.numbers_statement(first))

    # -- relations ----------------------------------------------------------------------------------------------

    def make_few_rows(self, scan: Scan, made: str) -> None:
        """Make a table of the rows that count."""
        with self._first(choices.row_lines(self._printer, scan)) as (table, first):
            self._tables.make(made, choices.rows_statement(self._printer, scan, table, first))

    def make_relation(self, relation: KeepParts | PerPerson, made: str) -> None:
        """Make a table of a relation."""
        if isinstance(relation, KeepParts):
            with self._first(wide_relations.part_lines(self._printer, relation)) as (table, first):
                self._tables.make(made, wide_relations.parts_statement(self._printer, relation, table, first))
            return
        with (
            self._made(wide_relations.rows_statement(self._printer, relation)) as rows,
            self._made(wide_relations.groups_statement(self._printer, relation, rows)) as groups,
        ):
            self._tables.make(made, wide_relations.grouped_statement(self._printer, relation, rows, groups))

    # -- inside -------------------------------------------------------------------------------------------------

    @contextmanager
    def _first(self, lines: Lines) -> Iterator[tuple[str, str]]:
        """Make a table of lines and one of those that count, for a while."""
        with self._made(lines.select) as table, self._made(lines.first(table)) as first:
            with self._made(lines.borders(first)) as borders:
                most = dict(self._tables.rows(f"SELECT number, most FROM {borders}"))
                if most:
                    self._settle(lines, table, first, borders, most)
            yield table, first

    def _settle(self, lines: Lines, table: str, first: str, borders: str, most: Mapping[int, int]) -> None:
        """Decide by content which lines count, where some lines of one hash do and others do not."""
        found = self._tables.one_by_one(lines.contents(table, borders), lambda read: choices.least(read, most))
        numbers, identities = ([line[place] for line in found] for place in range(2))
        self._tables.execute(lines.without(first, borders), None)
        self._tables.execute(f"INSERT INTO {first} {lines.chosen(borders)}", [numbers, identities])

    @contextmanager
    def _made(self, select: str) -> Iterator[str]:
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


def _is_never_wide(columns: Sequence[tuple[str, Kind]]) -> bool:
    """Whether rows of these columns are short, whatever is in them."""
    return all(kind is not Kind.TEXT for _, kind in columns) and _NUMBER * len(columns) <= NARROW


def _is_wide_statement(source: str, columns: Sequence[tuple[str, Kind]]) -> str:
    """Whether a row of a source is too wide for DuckDB to sort when memory is short."""
    texts = [f"coalesce(strlen({column}), 0)" for column, kind in columns if kind is Kind.TEXT]
    numbers = _NUMBER * (len(columns) - len(texts))
    return f"SELECT coalesce(max({' + '.join([str(numbers), *texts])}), 0) > {NARROW} FROM ({source}) AS r"
