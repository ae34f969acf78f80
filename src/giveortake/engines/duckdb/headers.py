"""The columns of a file by its header and its types alone: no row is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.engines.duckdb import csv_files, tables
from giveortake.engines.duckdb.database import open_database
from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from pathlib import Path

    from giveortake.plan import Kind


def columns_of(path: Path, table: str | None = None) -> dict[str, Kind | None]:
    """The name and kind of every column that can be asked about; the kind is None where cells are untyped text.

    Guarantee: nothing depends on any row. Of a CSV file the first record is read, of Parquet files and databases what
    they say about their types.
    """
    if not path.is_file():
        raise tables.absent(path, "`giveortake init` takes one CSV, Parquet or DuckDB file")
    separator = tables.told_without_content(path, lambda: csv_files.separator_of(path))
    if separator is not None:
        return tables.told_without_content(path, lambda: dict.fromkeys(csv_files.header(path, separator)))
    with open_database() as connection:
        found = tables.told_without_content(path, lambda: tables.typed_columns(connection, path, table))
    if not found:
        raise InvalidParameter("file", path.name, "has no column of a type that can be asked about")
    return {name: domain.kind for name, domain in found}
