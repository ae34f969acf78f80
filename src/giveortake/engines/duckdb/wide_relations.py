"""Relations with long texts that are grouped or ranked, made into tables before a question reads them.

DuckDB cannot always group or rank rows of thousands of characters when memory is short. So rows are copied into a
table, which spills; short substitutes for their texts are grouped or ranked, and the rows themselves are found by
number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.engines.duckdb.choices import Lines, sort_key
from giveortake.engines.sql.hashes import hash_of, mark
from giveortake.engines.sql.relations import unused
from giveortake.engines.sql.statements import told_apart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.engines.sql.relations import Printer
    from giveortake.plan import KeepParts, PerPerson


def part_lines(printer: Printer, relation: KeepParts) -> Lines:
    """The rows of the source as lines; of each person, those in the first parts count."""
    dialect, schema, names = printer.dialect, relation.schema, list(relation.schema)
    person, column = dialect.identifier(str(relation.person)), dialect.identifier(relation.column)
    whose, kind = schema[str(relation.person)].kind, schema[relation.column].kind
    columns = [
        f"{told_apart(dialect, person, whose)} AS p",
        f"{hash_of(mark(dialect, person, whose), mark(dialect, column, kind))} AS h",
        f"{sort_key([told_apart(dialect, column, kind)])} AS id",
        *_numbered(printer, names),
    ]
    select = f"SELECT {', '.join(columns)} FROM ({printer.relation(relation.source)}) AS t"
    return Lines(select, ("p",), "id", (f"c{names.index(relation.column)}",), relation.most)


def parts_statement(printer: Printer, relation: KeepParts, table: str, first: str) -> str:
    """The rows that count, under their column names."""
    columns = ", ".join(_named(printer, list(relation.schema)))
    return f"SELECT {columns} FROM {table} AS l SEMI JOIN {first} AS f ON l.p = f.p AND l.id = f.id"


def _read(relation: PerPerson) -> list[str]:
    """The columns of the source that are copied: the person, the keys and what features are made of."""
    inside = {column for each in relation.computed() for column in each.columns()}
    return [name for name in relation.source.schema if name in {str(relation.person), *relation.keys, *inside}]


def rows_statement(printer: Printer, relation: PerPerson) -> str:
    """The rows of the source, with the columns c0, c1 … of what is copied."""
    names = _read(relation)
    return f"SELECT {', '.join(_numbered(printer, names))} FROM ({printer.relation(relation.source, names)}) AS t"


def groups_statement(printer: Printer, relation: PerPerson, table: str) -> str:
    """For each person and their keys the number of one of their rows, and f0, f1 … of the features."""
    dialect, schema, names = printer.dialect, relation.source.schema, _read(relation)
    number = unused("row_number", names)
    rows = f"SELECT {', '.join(_named(printer, names))}, rowid AS {number} FROM {table} AS l"
    groups = (
        told_apart(dialect, dialect.identifier(key), schema[key].kind) for key in (str(relation.person), *relation.keys)
    )
    features = [f"{printer.feature(each, schema)} AS f{place}" for place, (_, each) in enumerate(relation.features)]
    listed = ", ".join([f"min({number}) AS number", *features])
    return f"SELECT {listed} FROM ({rows}) AS t GROUP BY {', '.join(groups)}"


def grouped_statement(printer: Printer, relation: PerPerson, table: str, groups: str) -> str:
    """One row for each person and their keys, under the names of the relation."""
    names, keys = _read(relation), (str(relation.person), *relation.keys)
    columns = [column for name, column in zip(names, _named(printer, names), strict=True) if name in keys]
    columns += [
        f"g.f{place} AS {printer.dialect.identifier(name)}" for place, (name, _) in enumerate(relation.features)
    ]
    return f"SELECT {', '.join(columns)} FROM {table} AS l JOIN {groups} AS g ON l.rowid = g.number"


def _numbered(printer: Printer, names: Sequence[str]) -> list[str]:
    return [f"{printer.dialect.identifier(name)} AS c{place}" for place, name in enumerate(names)]


def _named(printer: Printer, names: Sequence[str]) -> list[str]:
    return [f"l.c{place} AS {printer.dialect.identifier(name)}" for place, name in enumerate(names)]
