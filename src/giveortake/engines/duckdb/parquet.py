"""Tables as Parquet files, which DuckDB writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from giveortake.engines.duckdb.database import open_database
from giveortake.engines.sql.dialect import single_quoted
from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from pathlib import Path


def write_parquet(table: Any, path: Path) -> None:
    """A table that offers an Arrow stream, as a Parquet file. DuckDB writes it, in a database of its own."""
    import duckdb  # noqa: PLC0415 (heavy, and already there when a question was answered)

    with open_database() as connection:
        connection.register("answer", table)
        try:
            connection.execute(f"COPY answer TO {single_quoted(str(path))} (FORMAT parquet)")
        except duckdb.IOException:
            raise InvalidParameter("output", str(path), "cannot be written", hint="does its folder exist?") from None
