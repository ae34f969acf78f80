"""DuckDB as an engine that can be chosen: for whatever is a file or a table in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from giveortake.engines.protocol import Engine, Limits


@final
class DuckDBBackend:
    """Tables in files, and in memory as pandas, Polars or Arrow have them."""

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
