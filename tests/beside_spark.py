"""DuckDB and Spark side by side, on the same file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from giveortake.engines import KeyColumn, Keys
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.questions import Bounding
from giveortake.engines.spark.engine import SparkEngine
from giveortake.plan import Call, ColumnReference, Expression, Literal, PrivateTable, Scan
from giveortake.plan.expressions import declared
from replay import Revealing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LATEST = 2**63 // 1_000_000  # milliseconds: moments further away than Spark's are not readable by it
Q = Keys((KeyColumn("q", ColumnReference("q"), None),))
BOUNDING = Bounding(2, 3)


def stored(table: pl.DataFrame, path: Path) -> Path:
    """As Parquet, with moments that every engine can read."""
    if "t" in table.columns:
        moments = pl.col("t").cast(pl.Int64).clip(-LATEST * 1000, LATEST * 1000).mul(1000)
        table = table.with_columns(moments.cast(pl.Datetime("us")))
    table.write_parquet(path)
    return path


@contextmanager
def both(spark: SparkSession, path: Path, **said: Any) -> Iterator[tuple[DuckDBEngine, SparkEngine, Scan]]:
    """Both engines on the same file, and the scan of it."""
    one, other = DuckDBEngine(threads=1), SparkEngine(spark)
    try:
        columns = one.add("t", path, {}).columns
        assert other.add("t", spark.read.parquet(str(path)), {}).columns == columns
        found = {name: declared(name, said[name], domain) if name in said else domain for name, domain in columns}
        person = "p" if "p" in found else None
        if person is not None:
            found["p"] = found["p"].complete()
        yield one, other, Scan(PrivateTable("t", tuple(found.items()), person))
    finally:
        one.close()
        other.close()


def opened(sensitive: Any) -> Any:
    """What an engine has found, exactly."""
    return Revealing().release(sensitive)


def listed_units(parts: Iterator[Any]) -> list[Any]:
    """Keys and their units, in order."""
    found = [opened(part) for part in parts]
    return sorted((pair for keys, units in found for pair in zip(keys, units.tolist(), strict=True)), key=repr)


def one_if(condition: Expression) -> Expression:
    """One where it holds, and missing elsewhere."""
    return Call("case", (condition, Literal(1), Literal(None)))
