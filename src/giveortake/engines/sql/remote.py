"""Engines whose tables stay where they are: what is public is sent to them, and nothing but aggregates comes back."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from giveortake.engines.sql.engine import SQLEngine
from giveortake.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from giveortake.engines.protocol import Source
    from giveortake.engines.sql.relations import Printer
    from giveortake.plan import Kind, Value

_MOST_PUBLIC_ROWS = 1_000_000


class RemoteEngine(SQLEngine):
    """An engine that is somewhere else. Public tables are read here, by DuckDB, and sent there as constants."""

    identity: str

    def __init__(self, dialect: type[Printer]) -> None:
        super().__init__(dialect)
        self._public_values: dict[tuple[str, str], tuple[list[Value], bool]] = {}

    @abstractmethod
    def add(self, name: str, source: object, kinds: Mapping[str, Kind] | None, *, table: str | None = None) -> Source:
        """Find a table and read its columns' types; its rows stay where they are."""

    def add_public(self, name: str, source: object) -> Source:
        """Read a table that everybody may know, and send it to where the others are."""
        from giveortake.engines.duckdb.engine import DuckDBEngine  # noqa: PLC0415 (brings DuckDB)

        reader = DuckDBEngine()
        try:
            found = reader.add_public(name, source)
            rows = reader.content(name)
            if len(rows) > _MOST_PUBLIC_ROWS:
                raise InvalidParameter("public", name, f"has more than {_MOST_PUBLIC_ROWS:,} rows")
            for column, _ in found.columns:
                self._public_values[name, column] = reader.values(name, column)
        finally:
            reader.close()
        self._sources[name] = self._constants(found.columns, rows or [(None,) * len(found.columns)])
        return found

    def values(self, name: str, column: str) -> tuple[list[Value], bool]:
        """The values of a public table's column, and whether each occurs once."""
        return self._public_values[name, column]

    def lock(self) -> None:
        """All tables are there."""

    @abstractmethod
    def unchanged(self) -> bool:
        """Whether the data is still what it was when it was registered."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the data."""
