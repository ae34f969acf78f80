"""The same tables in every place where they can be asked."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from postgres_server import stored
from spark_session import spark_session

_MOST_MOMENT = 2**63 // 1001
SPARK = pytest.param("spark", marks=pytest.mark.xdist_group("spark"))  # one Spark for all tests
OTHERS = ["postgresql", SPARK]
EVERYWHERE = ["duckdb", *OTHERS]


def place(name: str, request: pytest.FixtureRequest) -> Callable[[str, pl.DataFrame], Any]:
    """A function that puts tables there."""
    if name == "duckdb":
        return lambda _, frame: frame
    if name == "postgresql":
        address = request.getfixturevalue("server")
        return lambda table, frame: stored(address, table, frame)
    folder = Path(tempfile.mkdtemp(prefix="spark-tables-"))

    def written(table: str, frame: pl.DataFrame) -> Any:
        path = folder / f"{table}-{len(list(folder.iterdir()))}.parquet"
        moments = pl.col(pl.Datetime("ms"))  # Spark cannot read a file with those that microseconds of 64 bits miss
        inside = moments.to_physical().clip(-_MOST_MOMENT, _MOST_MOMENT).cast(pl.Datetime("ms"))
        frame.with_columns(inside).write_parquet(path)
        return spark_session().read.parquet(str(path))

    return written


__all__ = ["EVERYWHERE", "OTHERS", "place"]
