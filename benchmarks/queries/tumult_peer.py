"""Tumult Analytics on a local Spark with two cores; the start of the JVM is not timed.

Where it needs several queries, ε is split evenly among them; its session holds no more than the whole.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from typing import TYPE_CHECKING, Any

import questions
from contestant import main
from table import CATEGORIES, GREATEST, REGIONS

if TYPE_CHECKING:
    from collections.abc import Callable

warnings.filterwarnings("ignore")
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable

from pyspark.sql import SparkSession  # noqa: E402 (after the interpreter of its workers is named)
from tmlt import analytics as ta  # noqa: E402

SETTINGS = {
    "spark.driver.memory": "8g",
    "spark.sql.warehouse.dir": tempfile.gettempdir(),
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
BY_REGION = ta.KeySet.from_dict({"region": [f"region_{index:02d}" for index in range(REGIONS)]})
BY_CATEGORY = ta.KeySet.from_dict({"category": [f"category_{index:04d}" for index in range(CATEGORIES)]})
WHOLE = ta.PureDPBudget(int(questions.EPSILON))
KEYS = ["category", "day"]


def spark() -> Any:
    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    return found


def part(count: int) -> Any:
    """The part of ε that each of so many queries gets."""
    return int(questions.EPSILON) / count


def session(path: str, change: Any, budget: Any = WHOLE) -> Any:
    return ta.Session.from_dataframe(
        privacy_budget=budget,
        source_id="payments",
        dataframe=spark().read.parquet(path),
        protected_change=change,
    )


def rows() -> Any:
    return ta.QueryBuilder("payments")


def count(path: str) -> Any:
    return session(path, ta.AddOneRow()).evaluate(rows().groupby(BY_REGION).count(), WHOLE).toPandas()


def sums(path: str, change: Any = None, bounded: Callable[[], Any] = rows) -> Any:
    protected = session(path, change or ta.AddOneRow())
    half = ta.PureDPBudget(part(2))
    number = protected.evaluate(bounded().groupby(BY_CATEGORY).count(), half).toPandas()
    total = protected.evaluate(bounded().groupby(BY_CATEGORY).sum("amount", 0, 100), half).toPandas()
    found = number.merge(total, on="category")
    found["mean"] = found["amount_sum"] / found["count"]
    return found


def persons(path: str) -> Any:
    def bounded() -> Any:
        few = rows().enforce(ta.MaxGroupsPerID("category", questions.GROUPS))
        return few.enforce(ta.MaxRowsPerGroupPerID("category", questions.ROWS))

    return sums(path, ta.AddRowsWithID("user_id"), bounded)


def discovered(path: str) -> Any:
    """Two queries: keys above a threshold, then counts of the keys that were found."""
    delta = float(questions.KEY_DELTA)
    protected = session(path, ta.AddRowsWithID("user_id"), ta.ApproxDPBudget(int(questions.EPSILON), delta))

    def bounded() -> Any:
        return rows().select(["user_id", *KEYS]).enforce(ta.MaxRowsPerID(questions.GROUPS))

    shown = protected.evaluate(bounded().get_groups(KEYS), ta.ApproxDPBudget(part(2), delta))
    counts = bounded().groupby(ta.KeySet.from_dataframe(shown)).count()
    return protected.evaluate(counts, ta.ApproxDPBudget(part(2), 0)).toPandas()


def quantiles(path: str) -> Any:
    protected = session(path, ta.AddOneRow())
    found = None
    for level in questions.QUANTILES:
        asked = rows().groupby(BY_REGION).quantile("amount", level, 0, GREATEST, name=f"q{100 * level:.0f}")
        each = protected.evaluate(asked, ta.PureDPBudget(part(len(questions.QUANTILES)))).toPandas()
        found = each if found is None else found.merge(each, on="region")
    return found


def task(work: Callable[[str], Any]) -> Callable[[str], Callable[[], int]]:
    return lambda path: lambda: len(work(path))


if __name__ == "__main__":
    main({each.__name__: task(each) for each in (count, sums, persons, discovered, quantiles)})
