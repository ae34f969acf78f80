"""Public tables: what is in them, which everybody may know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from giveortake.engines.protocol import Source
    from giveortake.plan import Value

MOST_ROWS_SENT = 1_000_000  # of a public table that is sent to another engine


@final
@dataclass(frozen=True, slots=True)
class PublicColumn:
    """The values of a column, in order, and whether each occurs once and none is missing."""

    values: tuple[Value, ...]
    is_unique: bool


@final
@dataclass(frozen=True, slots=True)
class PublicContent:
    """A public table, and what is in each of its columns."""

    source: Source
    columns: Mapping[str, PublicColumn]


@final
@dataclass(frozen=True, slots=True)
class PublicRows:
    """A public table, its content and its rows, for engines that are somewhere else."""

    content: PublicContent
    rows: list[tuple[Value, ...]]


def read_public_table(name: str, source: object) -> PublicRows:
    """Read a public table here: a file or a table in memory. DuckDB reads it, in a database of its own."""
    from giveortake.engines.duckdb.public_tables import read_here  # noqa: PLC0415 (brings DuckDB)

    found = read_here(name, source, MOST_ROWS_SENT + 1)
    if len(found.rows) > MOST_ROWS_SENT:
        raise InvalidParameter("public", name, f"has more than {MOST_ROWS_SENT:,} rows")
    return found
