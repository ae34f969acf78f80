"""The statements of every shape of question in every dialect, laid out so that a change can be read.

The golden files beside this one hold them. After a change that is meant, write them anew and read the difference:

    python tests/engines/golden_statements.py

Neither a server nor Spark is needed: statements are printed, not run. How the tables are read is printed once, at the
top; where a statement reads one, its name stands in brackets. Tables of keys are named by what they hold.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from giveortake import sql
from giveortake.audit.cases import OF_PERSONS_WITH_FEW_ROWS, shapes_of
from giveortake.compile import Caps, Measurement, Spend, measurement
from giveortake.engines import (
    Bins,
    Component,
    Distinct,
    KeyColumn,
    Persons,
    Quantum,
    Summand,
    Tally,
    VectorSum,
)
from giveortake.engines.duckdb import engine as of_duckdb
from giveortake.engines.duckdb import fast_paths
from giveortake.engines.duckdb.dialect import DuckDBDialect
from giveortake.engines.duckdb.fast_paths import row_tally_statement
from giveortake.engines.postgres.dialect import PostgresDialect
from giveortake.engines.spark import groups as of_spark
from giveortake.engines.spark.dialect import SparkDialect
from giveortake.engines.sql import statements
from giveortake.engines.sql.dialect import Dialect
from giveortake.engines.sql.printer import Printer, bounded_name
from giveortake.engines.sql.statements import Coded, fits_doubles, vector_statement
from giveortake.plan import Catalog, ColumnReference, Domain, Kind, PrivateTable, PublicTable, Relation, Scan
from giveortake.plan.expressions import declared

GOLDEN = Path(__file__).with_name("golden")
DIALECTS: dict[str, Dialect] = {"duckdb": DuckDBDialect(), "postgres": PostgresDialect(), "spark": SparkDialect()}
SPEND = Spend(epsilon=Fraction(1), keys=Fraction(1, 10**6))
GAUSSIAN = Spend(mu=Fraction(1), keys=Fraction(1, 10**6), aim="groups")
_COLUMNS: dict[str, tuple[Domain, Any]] = {
    "p": (Domain(Kind.INTEGER), None),
    "x": (Domain(Kind.REAL), (-3, 7)),
    "y": (Domain(Kind.REAL), {"bounds": (10, 12), "nullable": False}),
    "i": (Domain(Kind.INTEGER), (-5, 300)),
    "w": (Domain(Kind.INTEGER), None),
    "r": (Domain(Kind.TEXT), ["north", "south", "øst"]),
    "n": (Domain(Kind.TEXT), ["a", "b", None]),
    "q": (Domain(Kind.TEXT), None),
    "b": (Domain(Kind.BOOLEAN), None),
    "d": (Domain(Kind.DATE), None),
    "e": (Domain(Kind.DATE), (dt.date(2024, 1, 1), dt.date(2024, 1, 5))),
    "t": (Domain(Kind.TIMESTAMP), None),
    "c": (Domain(Kind.DECIMAL, step=Fraction(1, 100)), (0, 100)),
}
_VISITS: dict[str, tuple[Domain, Any]] = {
    "p": (Domain(Kind.INTEGER), None),
    "k": (Domain(Kind.TEXT), ["u", "v"]),
    "v": (Domain(Kind.REAL), (0, 5)),
}
_ZONES = PublicTable(
    "zones",
    (
        ("zone", Domain(Kind.TEXT, categories=("north", "south", "west"), nullable=False)),
        ("weight", Domain(Kind.REAL, Fraction(-1), Fraction(4), nullable=False)),
        ("part", Domain(Kind.TEXT, categories=("down", "up"), nullable=False)),
        ("code", Domain(Kind.INTEGER, Fraction(1), Fraction(3), categories=(1, 2, 3), nullable=False)),
    ),
    frozenset({"zone", "weight", "code"}),
)


def _table(name: str, columns: dict[str, tuple[Domain, Any]], person: str | None) -> PrivateTable:
    domains = (
        (each, domain if said is None else declared(each, said, domain)) for each, (domain, said) in columns.items()
    )
    return PrivateTable(
        name, tuple((each, domain.complete() if each == person else domain) for each, domain in domains), person
    )


DATA = Scan(_table("data", _COLUMNS, None))


@final
@dataclass(frozen=True)
class Mode:
    """Who is protected, and how their contributions are bounded."""

    name: str
    person: str | None
    caps: Caps

    def catalog(self) -> Catalog:
        tables = {"data": _COLUMNS, **({} if self.person is None else {"visits": _VISITS})}
        scans: dict[str, Relation] = {
            name: Scan(_table(name, columns, self.person), self.caps.rows_in(name)) for name, columns in tables.items()
        }
        return Catalog(scans, {"zones": _ZONES})

    def shapes(self) -> dict[str, str]:
        """Every question that can be asked; with few rows of each person, those that are printed as nowhere else."""
        if self.caps.rows_per_person is None:
            return shapes_of(by_person=self.person is not None)
        return {**OF_PERSONS_WITH_FEW_ROWS, "rows by declared": "SELECT r, COUNT(*) AS n FROM data GROUP BY r"}


MODES = [
    Mode("rows", None, Caps()),
    Mode("persons with caps", "p", Caps(2, 3)),
    Mode("persons with few rows", "p", Caps(rows_per_person=5)),
]


@functools.cache  # several claims are about the same statements
def sections(mode: Mode, dialect: Dialect) -> list[tuple[str, str]]:
    """How the tables are read, then each statement of each shape, with a heading."""
    return list(_printed(mode, dialect))


def _printed(mode: Mode, dialect: Dialect) -> Iterator[tuple[str, str]]:
    catalog = mode.catalog()
    scans = [each for each in catalog.private.values() if isinstance(each, Scan)]
    sources: dict[object, str] = {name: f"table_{name}" for name in (*catalog.private, *catalog.public)}
    sources |= {bounded_name(scan): f"few_rows_of_{scan.table.name}" for scan in scans if scan.most_rows_of_person}
    printer = Printer(dialect, sources)
    read = {name: printer.relation(relation) for name, relation in catalog.private.items()}
    for scan in scans:
        if scan.most_rows_of_person is not None:
            is_own = isinstance(dialect, DuckDBDialect)
            text = of_duckdb.capped_rows_statement(printer, scan) if is_own else printer.capped_rows(scan)
            yield f"few_rows_of_{scan.table.name}", text
    yield from ((f"[{name}]", text) for name, text in read.items())
    for shape, text in sorted(mode.shapes().items()):
        question = sql.parse(text, catalog)
        made = measurement(question, mode.caps, "add-remove", SPEND)
        printed = list(_statements(printer, made))
        if made.selection is not None and mode.person is not None:
            printed += _weights(printer, measurement(question, mode.caps, "add-remove", GAUSSIAN))
        for what, statement in printed:
            for name, inner in read.items():
                statement = statement.replace(inner, f"[{name}]")  # noqa: PLW2901 (one after another)
            yield f"{shape}: {what}", statement
    for what, asked in _vectors(catalog.private["data"]).items():
        known = [f"values_of_key_{place}" for place in range(len(asked.columns))]
        yield f"vectors: {what}", vector_statement(printer, asked, known).replace(read["data"], "[data]")
        if isinstance(dialect, DuckDBDialect) and fits_doubles(asked):
            in_doubles = vector_statement(printer, asked, known, in_doubles=True)
            yield f"vectors in doubles: {what}", in_doubles.replace(read["data"], "[data]")
        if isinstance(dialect, DuckDBDialect) and fast_paths.suits_counted_cells(asked):
            in_arrays = fast_paths.cells_statement(printer, asked, known)
            yield f"vectors in arrays: {what}", in_arrays.replace(read["data"], "[data]")
        if isinstance(dialect, DuckDBDialect) and fast_paths.suits_sorted_vectors(asked):
            lines = fast_paths.lines_statement(printer, asked)
            yield f"vectors by sorting: {what}", lines.replace(read["data"], "[data]")


def _vectors(relation: Relation) -> dict[str, VectorSum]:
    """Sums of vectors of each kind: products, sums, and sums by keys."""
    values = tuple(
        Summand("sum", ColumnReference(name), Quantum(Fraction(1, 8), Fraction(low), Fraction(high)))
        for name, low, high in (("x", -3, 7), ("y", 10, 12))
    )
    keys = (KeyColumn("r", ColumnReference("r"), ("north", "south")), KeyColumn("n", ColumnReference("n"), ("a", None)))
    gram = tuple(Component(pair, weight=1 + (pair[0] != pair[1])) for pair in [(0, 0), (0, 1), (1, 1)])
    return {
        "gram": VectorSum(relation, values, (), gram, 500),
        "sums": VectorSum(relation, values, (), (Component((0,)), Component((0, 1)), Component()), 500),
        "short sums": VectorSum(relation, values[:1], (), (Component((0,)),), 500),
        "cells": VectorSum(relation, values, keys, (Component((0,), (0,)), Component((), (0, 1), 2)), 500),
    }


def _weights(printer: Printer, made: Measurement) -> Iterator[tuple[str, str]]:
    asked = next(made.asked())
    assert isinstance(asked, Persons)
    known = {i: f"values_of_key_{i}" for i, each in enumerate(asked.keys.columns) if each.values is not None}
    if isinstance(printer.dialect, SparkDialect):
        yield "persons of many keys", of_spark.heavy_statement(printer, asked, known)
        yield "weights of keys", of_spark.weighted_statement(printer, asked, known, "weights", "persons_of_many_keys")
    else:
        yield "weights of keys", statements.discovery_statement(printer, asked, known, "weights")


def _statements(printer: Printer, made: Measurement) -> Iterator[tuple[str, str]]:
    for asked in made.asked():
        columns = asked.keys.columns
        coded = Coded(
            tuple(f"values_of_key_{place}" for place in range(len(columns))),
            tuple(column.values is None or None in column.values for column in columns),
            tuple(7 if column.values is None else len(column.values) for column in columns),
            None if made.selection is None else "wanted_keys",
        )
        match asked:
            case Persons():
                known = {i: f"values_of_key_{i}" for i, column in enumerate(columns) if column.values is not None}
                yield "units of keys", statements.discovery_statement(printer, asked, known)
                if isinstance(printer.dialect, DuckDBDialect):
                    yield "units of keys, by codes", of_duckdb.persons_statement(printer, asked, coded)
            case Tally() if isinstance(printer.dialect, DuckDBDialect) and asked.bounding is None:
                yield "tally", row_tally_statement(printer, asked, coded)
            case Tally():
                yield "tally", statements.tally_statement(printer, asked, coded)
            case Bins():
                yield "bins", statements.bins_statement(printer, asked, coded)
            case Distinct():
                yield "distinct", statements.distinct_statement(printer, asked, coded)


_PIECES = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|[()]|[^'\"`()]+")
_CLAUSE = re.compile(r" (?=(?:FROM|WHERE|GROUP BY|JOIN|LEFT JOIN|UNION ALL|OFFSET) |SELECT )")


def laid_out(statement: str) -> str:
    """A statement with a line for each clause and each column, indented by how deep it is; nothing else is changed."""
    pieces = _PIECES.findall(statement)
    queries = [True]  # for each bracket that is open, whether it encloses a query
    lines = ""
    for piece, following in zip(pieces, [*pieces[1:], ""], strict=True):
        if piece == "(":
            queries.append(following.startswith(("SELECT ", "WITH ")))
        elif piece == ")":
            queries.pop()
        elif queries[-1] and piece[0] not in "'\"`":
            clause = "\n" + "  " * (sum(queries) - 1)
            piece = _CLAUSE.sub(clause, piece).replace(", ", f",{clause}    ")  # noqa: PLW2901 (laid out)
        lines += piece
    return lines


def on_one_line(text: str) -> str:
    """What was laid out, as it is printed."""
    return re.sub("\n *", " ", text)


@functools.cache
def golden(name: str) -> str:
    """The content of the golden file of a dialect."""
    written = [f"-- Statements as {name} gets them; see tests/engines/golden_statements.py\n"]
    for mode in MODES:
        written.append(f"\n-- ==== {mode.name} ====\n")
        written += [f"\n-- {heading}\n{laid_out(text)}\n" for heading, text in sections(mode, DIALECTS[name])]
    return "".join(written)


def write(folder: Path) -> str:
    """Write every golden file anew, and say how many differ from what was there."""
    folder.mkdir(exist_ok=True)
    changed = 0
    for name in DIALECTS:
        file, content = folder / f"{name}.sql", golden(name)
        changed += not file.exists() or file.read_text(encoding="utf-8") != content
        file.write_text(content, encoding="utf-8")
    return f"{len(DIALECTS)} files, {changed} changed"


if __name__ == "__main__":
    sys.stdout.write(f"{write(GOLDEN)}\n")
