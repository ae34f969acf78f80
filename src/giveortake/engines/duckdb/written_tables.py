"""Tables written into DuckDB files of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from giveortake.engines.duckdb.database import open_database
from giveortake.engines.sql.dialect import single_quoted
from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from pathlib import Path


def write_table(table: Any, path: Path, name: str) -> None:
    """A table that offers an Arrow stream, as a table of a new DuckDB file."""
    import duckdb  # noqa: PLC0415 (heavy, and already there when a question was answered)

    if path.exists():
        raise InvalidParameter("path", str(path), "already exists", hint="name a new file")
    quoted = '"' + name.replace('"', '""') + '"'
    with open_database() as connection:
        connection.register("answer", table)
        try:
            connection.execute(f"ATTACH {single_quoted(str(path))} AS file")
            connection.execute(f"CREATE TABLE file.{quoted} AS SELECT * FROM answer")
            connection.execute("DETACH file")
        except duckdb.IOException:
            raise InvalidParameter("path", str(path), "cannot be written", hint="does its folder exist?") from None
