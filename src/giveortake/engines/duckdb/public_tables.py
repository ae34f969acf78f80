"""Public tables as DuckDB reads them: their rows, their values, and which columns are unique."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.engines.duckdb.database import open_database
from giveortake.engines.duckdb.dialect import DuckDBDialect
from giveortake.engines.duckdb.tables import load
from giveortake.engines.public_tables import PublicColumn, PublicContent, PublicRows
from giveortake.engines.sql.relations import Printer

if TYPE_CHECKING:
    import duckdb

    from giveortake.engines.duckdb.tables import Loaded
    from giveortake.plan import Domain

_printer = Printer(DuckDBDialect(), {})


def content_of(connection: duckdb.DuckDBPyConnection, loaded: Loaded) -> PublicContent:
    """What is in a public table that the connection can read."""
    columns = {name: _column(connection, loaded, name, domain) for name, domain in loaded.source.columns}
    return PublicContent(loaded.source, columns)


def _column(connection: duckdb.DuckDBPyConnection, loaded: Loaded, name: str, domain: Domain) -> PublicColumn:
    read = _printer.read(name, domain)  # unique as it is joined, not as it is stored
    text = f"SELECT {read}, count(*) FROM {loaded.text} GROUP BY 1 ORDER BY 1 NULLS LAST"
    rows = connection.execute(text).fetchall()
    return PublicColumn(
        tuple(value for value, _ in rows), all(count == 1 and value is not None for value, count in rows)
    )


def read_here(name: str, source: object, most: int) -> PublicRows:
    """Read a public table, and at most `most` of its rows, in a database of its own."""
    with open_database() as connection:
        loaded = load(connection, name, source, None, None)
        text = f"SELECT {_printer.read_all(loaded.source.columns)} FROM {loaded.text} AS t"
        return PublicRows(content_of(connection, loaded), connection.execute(text).fetchmany(most))
