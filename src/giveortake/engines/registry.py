"""Which engine asks a table: the one that is where the table is."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import parse_qs

from giveortake.errors import HIDDEN, InvalidParameter

if TYPE_CHECKING:
    from giveortake.engines.duckdb.engine import DuckDBEngine
    from giveortake.engines.sql.remote import RemoteEngine

    Chosen: TypeAlias = DuckDBEngine | RemoteEngine

Place: TypeAlias = Literal["here", "postgresql", "spark"]

_SCHEMES: dict[str, Place] = {"postgresql": "postgresql", "postgres": "postgresql", "spark": "spark", "sc": "spark"}
_ADDRESS = re.compile(r"\s*(jdbc:|[^/\\]*://)", re.IGNORECASE)
_TABLE_NAME = re.compile(r"\w+(\.\w+){0,2}")


def open_engine(source: Any, *, memory: str, threads: int | None, seconds: float | None) -> Chosen:
    """An engine for a source, or for all of a dictionary of sources, which lie in one place then."""
    sources = list(source.values()) if isinstance(source, Mapping) else [source]
    places = {place_of(each) for each in sources}
    if len(places) > 1:
        raise InvalidParameter(
            "source", sorted(places), "are different places: tables that are asked together lie together"
        )
    match places.pop() if places else "here":
        case "postgresql":
            from giveortake.engines.postgres.engine import PostgresEngine  # noqa: PLC0415 (brings psycopg)

            return PostgresEngine(sources[0], seconds=seconds)
        case "spark":
            from giveortake.engines.spark.engine import SparkEngine, session_of  # noqa: PLC0415 (brings Spark)

            return SparkEngine(session_of(sources[0]), seconds=seconds)
        case _:
            from giveortake.engines.duckdb.engine import DuckDBEngine  # noqa: PLC0415 (brings DuckDB)

            return DuckDBEngine(memory=memory, threads=threads, seconds=seconds)


def place_of(source: object) -> Place:
    """Where a source is: in a server that its URL names, in Spark, or else here."""
    if type(source).__module__.partition(".")[0] == "pyspark":
        return "spark"
    if not isinstance(source, str):
        return "here"
    if is_address(source):
        scheme = source.partition("://")[0].strip().lower()
        if scheme not in _SCHEMES:
            raise InvalidParameter(
                "source",
                HIDDEN,
                "is an address of a kind that is not known",
                hint=f"{', '.join(f'{each}://' for each in _SCHEMES)}, or the path of a file",
            )
        return _SCHEMES[scheme]
    return "spark" if _is_table_of_spark(source) else "here"


def is_address(source: object) -> bool:
    """Whether a source is the URL of a server, known or not, which may hold a password and is never shown."""
    return isinstance(source, str) and _ADDRESS.match(source) is not None


def table_in(source: str) -> str | None:
    """The table that a URL names, without its schema."""
    named = parse_qs(source.partition("?")[2]).get("table")
    return named[-1].rpartition(".")[2] if named else None


def _is_table_of_spark(source: str) -> bool:
    """Whether a text names a table of the Spark session that is active; a file of that name goes first."""
    if "pyspark" not in sys.modules or not _TABLE_NAME.fullmatch(source) or Path(source).exists():
        return False
    session = sys.modules["pyspark.sql"].SparkSession.getActiveSession()
    return session is not None and bool(session.catalog.tableExists(source))
