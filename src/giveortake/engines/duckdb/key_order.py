"""Keys in the order of their values, when there are too many of them to be sorted in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from giveortake.engines.duckdb.database import open_database
from giveortake.engines.duckdb.dialect import parameters, sql_type
from giveortake.engines.failures import out_of_time
from giveortake.engines.time_limits import limit_of_question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    import duckdb

    from giveortake.plan import Domain, Value

Result = TypeVar("Result")

_AT_ONCE = 1 << 15  # keys that are sent at once: nothing interrupts that


def ordered(
    lists: Iterable[list[tuple[Value, ...]]], domains: Sequence[Domain], folder: Path, size: int
) -> Iterator[list[tuple[Value, ...]]]:
    """Yield all keys in order, `size` at a time. DuckDB sorts them, with files in the folder when memory is short.

    It is interrupted when the time of the question is over.
    """
    types = [sql_type(domain) for domain in domains]
    with open_database(folder) as connection:
        connection.execute("SET memory_limit = '256MB'")
        named = ", ".join(f"k{index} {kind}" for index, kind in enumerate(types))
        connection.execute(f"CREATE TABLE keys ({named})")
        places = ", ".join(f"CAST(unnest(?) AS {kind})" for kind in types)
        for rows in lists:
            for start in range(0, len(rows), _AT_ONCE):
                sent = parameters(rows[start : start + _AT_ONCE])
                _in_time(connection, lambda: connection.execute(f"INSERT INTO keys SELECT {places}", sent))  # noqa: B023 (called at once)
        order = ", ".join(f"k{index} NULLS LAST" for index in range(len(types)))
        _in_time(connection, lambda: connection.execute(f"SELECT * FROM keys ORDER BY {order}"))
        while rows := _in_time(connection, lambda: connection.fetchmany(size)):
            yield rows


def _in_time(connection: duckdb.DuckDBPyConnection, work: Callable[[], Result]) -> Result:
    """Run work of the database within the time of the question."""
    limit = limit_of_question()
    with limit.interrupting(connection.interrupt):
        try:
            return work()
        except Exception as error:
            kind = type(error)
            if not limit.is_over:
                raise
    raise out_of_time(kind)
