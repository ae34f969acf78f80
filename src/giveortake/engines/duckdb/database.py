"""DuckDB databases, in the memory of this process or in a file, which look for nothing on a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from giveortake.engines.sql.dialect import single_quoted
from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import duckdb
    import numpy as np
    import numpy.typing as npt

_NO_EXTENSIONS = dict.fromkeys(  # a file of another kind would have them looked for on a network
    ("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions"), "false"
)


def open_database(folder: Path | None = None, *, file: Path | None = None) -> duckdb.DuckDBPyConnection:
    """An empty database, which uses files in the folder when memory is short; or the one in a file."""
    import duckdb  # noqa: PLC0415 (a heavy library, needed from here on)

    memory = {} if folder is None else {"temp_directory": str(folder)}
    return duckdb.connect(":memory:" if file is None else str(file), config={**memory, **_NO_EXTENSIONS})


def held(columns: Mapping[str, npt.NDArray[np.float64 | np.int64 | np.bool_ | np.str_]]) -> Any:
    """A table of arrays (numbers, truth values or texts) in this process, which can be protected."""
    arrays = dict(columns)  # by this name DuckDB finds them
    connection = open_database()
    connection.execute("SET threads = 1")
    table = connection.sql("SELECT * FROM arrays")
    assert arrays is not None  # noqa: S101 (it is read by its name, above)
    return table


def write_table(table: Any, path: Path, name: str) -> None:
    """Write a table that offers an Arrow stream into a new DuckDB file."""
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
