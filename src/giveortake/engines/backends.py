"""The backends that open our own engines, which are imported when one is opened."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from giveortake.engines.protocol import Backend, Engine, Limits

_TABLE_NAME = re.compile(r"\w+(\.\w+){0,2}")


@final
class PostgresBackend:
    """The backend for tables that a URL of PostgreSQL names."""

    name = "postgresql"
    schemes: tuple[str, ...] = ("postgresql", "postgres")

    def claims(self, source: object) -> bool:
        return False

    def open(self, source: object, limits: Limits) -> Engine:
        from giveortake.engines.postgres.engine import PostgresEngine  # noqa: PLC0415 (brings psycopg)

        return PostgresEngine(str(source), seconds=limits.seconds)


@final
class SparkBackend:
    """The backend for tables of an active Spark session, or of one that a URL names."""

    name = "spark"
    schemes: tuple[str, ...] = ("spark", "sc")

    def claims(self, source: object) -> bool:
        """Whether it is a DataFrame, or names a table of the session that is active; a file of that name goes first."""
        if type(source).__module__.partition(".")[0] == "pyspark":
            return True
        if not isinstance(source, str) or "pyspark" not in sys.modules:
            return False
        if not _TABLE_NAME.fullmatch(source) or Path(source).exists():
            return False
        session = sys.modules["pyspark.sql"].SparkSession.getActiveSession()
        return session is not None and bool(session.catalog.tableExists(source))

    def open(self, source: object, limits: Limits) -> Engine:
        from giveortake.engines.spark.engine import SparkEngine, session_of  # noqa: PLC0415 (brings Spark)

        return SparkEngine(session_of(source), seconds=limits.seconds)


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


BUILT_IN: tuple[Backend, ...] = (PostgresBackend(), SparkBackend(), DuckDBBackend())  # whoever knows a source first
