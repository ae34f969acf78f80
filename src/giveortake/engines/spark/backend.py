"""The backend that opens Spark, for its DataFrames, tables of its session and addresses of clusters."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from giveortake.engines.protocol import Engine, Limits

_TABLE_NAME = re.compile(r"\w+(\.\w+){0,2}")


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
        from giveortake.engines.spark.engine import SparkEngine  # noqa: PLC0415 (brings Spark)
        from giveortake.engines.spark.sessions import session_of  # noqa: PLC0415 (likewise)

        return SparkEngine(session_of(source), seconds=limits.seconds)


SPARK = SparkBackend()
