"""A database of DuckDB, in the memory of this process or in a file, which looks for nothing on a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

_NO_EXTENSIONS = dict.fromkeys(  # a file of another kind would have them looked for on a network
    ("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions"), "false"
)


def open_database(folder: Path | None = None, *, file: Path | None = None) -> duckdb.DuckDBPyConnection:
    """An empty database, which uses files in the folder when memory is short; or the one in a file."""
    import duckdb  # noqa: PLC0415 (a heavy library, needed from here on)

    memory = {} if folder is None else {"temp_directory": str(folder)}
    return duckdb.connect(":memory:" if file is None else str(file), config={**memory, **_NO_EXTENSIONS})
