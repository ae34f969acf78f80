"""Keys in the order of their values, when there are too many of them to be sorted in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.engines.duckdb.database import open_database
from giveortake.engines.duckdb.dialect import parameters, sql_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from giveortake.plan import Domain, Value


def ordered(
    lists: Iterable[list[tuple[Value, ...]]], domains: Sequence[Domain], folder: Path, size: int
) -> Iterator[list[tuple[Value, ...]]]:
    """All of them, `size` at a time. DuckDB sorts them, with files in the folder when memory is short."""
    types = [sql_type(domain) for domain in domains]
    with open_database(folder) as connection:
        connection.execute("SET memory_limit = '1GB'")
        named = ", ".join(f"k{index} {kind}" for index, kind in enumerate(types))
        connection.execute(f"CREATE TABLE keys ({named})")
        places = ", ".join(f"CAST(unnest(?) AS {kind})" for kind in types)
        for rows in lists:
            if rows:
                connection.execute(f"INSERT INTO keys SELECT {places}", parameters(rows))
        order = ", ".join(f"k{index} NULLS LAST" for index in range(len(types)))
        found = connection.execute(f"SELECT * FROM keys ORDER BY {order}")
        while rows := found.fetchmany(size):
            yield rows
