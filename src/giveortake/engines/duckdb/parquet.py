"""Tables as Parquet files, which DuckDB writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from giveortake.engines.duckdb.database import open_database
from giveortake.engines.sql.dialect import single_quoted
from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from pathlib import Path


def write_parquet(table: Any, path: Path, told: str) -> None:
    """A table that offers an Arrow stream, as a Parquet file; `told` is its metadata `giveortake`.

    DuckDB writes it, in a database of its own.
    """
    import duckdb  # noqa: PLC0415 (heavy, and already there when a question was answered)

    with open_database() as connection:
        connection.register("answer", table)
        try:
            known = f"KV_METADATA {{giveortake: {single_quoted(told)}}}"
            connection.execute(f"COPY answer TO {single_quoted(str(path))} (FORMAT parquet, {known})")
        except duckdb.IOException:
            raise InvalidParameter("output", str(path), "cannot be written", hint="does its folder exist?") from None
