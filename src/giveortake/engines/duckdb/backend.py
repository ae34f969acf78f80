"""The backend that opens DuckDB, for files and for tables in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from giveortake.engines.protocol import Engine, Limits


@final
class DuckDBBackend:
    """The backend for files, and for tables of pandas, Polars or Arrow in memory."""

    name = "here"
    schemes: tuple[str, ...] = ()

    def claims(self, source: object) -> bool:
        if isinstance(source, str | Path | Sequence) or type(source).__module__.partition(".")[0] == "pandas":
            return True
        return hasattr(source, "__arrow_c_stream__") or type(source).__name__ == "LazyFrame"

    def open(self, source: object, limits: Limits) -> Engine:
        from giveortake.engines.duckdb.engine import DuckDBEngine  # noqa: PLC0415 (brings DuckDB)

        return DuckDBEngine(memory=limits.memory, threads=limits.threads, seconds=limits.seconds, cache=limits.cache)


DUCKDB = DuckDBBackend()
