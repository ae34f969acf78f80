"""Every golden question is something that the engine can run, and reading SQL costs nothing until it is needed."""

from __future__ import annotations

import subprocess
import sys

import duckdb
import pytest

from asked_tables import CATALOG, ROWS, TRIPS, VISITS, ZONES
from giveortake import sql
from giveortake.engines.duckdb.dialect import DuckDBDialect
from giveortake.engines.sql.printer import Printer, bounded_name
from giveortake.plan import Kind, Scan
from paired_questions import PAIRS

_TYPES = {
    Kind.INTEGER: "BIGINT",
    Kind.REAL: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
    Kind.BOOLEAN: "BOOLEAN",
}


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect()
    for each in (TRIPS, VISITS, ROWS, ZONES):
        columns = ", ".join(
            f"{DuckDBDialect().identifier(name)} {_TYPES[domain.kind]}" for name, domain in each.columns
        )
        found.execute(f"CREATE TABLE {each.name} ({columns})")
    return found


def test_the_engine_runs_what_was_read(connection: duckdb.DuckDBPyConnection) -> None:
    scans = [scan for scan in CATALOG.private.values() if isinstance(scan, Scan)]
    sources = {table.name: table.name for table in (TRIPS, VISITS, ROWS, ZONES)}
    printer = Printer(DuckDBDialect(), sources | {bounded_name(scan): scan.table.name for scan in scans})
    for text, _ in PAIRS:
        question = sql.parse(text, CATALOG)
        values = [key for _, key in question.keys]
        values += [aggregate.expression for aggregate in question.aggregates() if aggregate.expression is not None]
        columns = ", ".join(printer.expression(value, question.relation.schema) for value in values) or "1"
        statement = f"SELECT {columns} FROM ({printer.relation(question.relation)})"
        assert connection.execute(statement).fetchall() == [], text


def test_the_parser_is_imported_when_it_is_first_needed() -> None:
    program = "import sys, giveortake.sql, giveortake.frame; print('sqlglot' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
