"""Tables as Parquet files, which DuckDB writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from giveortake.engines.duckdb.database import open_database
from giveortake.engines.sql.dialect import single_quoted
from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def write_parquet(table: Any, path: Path, told: str) -> None:
    """Write a table that offers an Arrow stream to a Parquet file; `told` is its metadata `giveortake`."""
    write_parquets([(path, table, told)])


def write_parquets(files: Iterable[tuple[Path, Any, str]]) -> None:
    """Write several Parquet files: the path, the table and the metadata of each."""
    import duckdb  # noqa: PLC0415 (heavy, and already there when a question was answered)

    with open_database() as connection:
        for path, table, told in files:
            connection.register("answer", table)
            try:
                known = f"KV_METADATA {{giveortake: {single_quoted(told)}}}"
                connection.execute(f"COPY answer TO {single_quoted(str(path))} (FORMAT parquet, {known})")
            except duckdb.IOException:
                raise InvalidParameter(
                    "output", str(path), "cannot be written", hint="does its folder exist?"
                ) from None
            connection.unregister("answer")


def without_metadata(paths: Iterable[Path]) -> Path | None:
    """The first of some files that does not have this metadata; None if all have it."""
    import duckdb  # noqa: PLC0415 (as above)

    asked = "SELECT 1 FROM parquet_kv_metadata(?) WHERE key = 'giveortake'::BLOB"
    with open_database() as connection:
        for path in paths:
            try:
                found = connection.execute(asked, [str(path)]).fetchone()
            except duckdb.Error:
                return path
            if found is None:
                return path
    return None
