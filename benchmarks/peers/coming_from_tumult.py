"""The five questions in Tumult Analytics, on a local Spark."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from typing import Any

from five_questions import main
from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddRowsWithID,
    ApproxDPBudget,
    KeySet,
    MaxRowsPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)

SETTINGS = {
    "spark.sql.warehouse.dir": tempfile.gettempdir(),
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def visits(table: str, budget: Any) -> Session:
    return Session.from_dataframe(
        privacy_budget=budget,
        source_id="visits",
        dataframe=spark().read.csv(table, header=True, inferSchema=True),
        protected_change=AddRowsWithID("person_id"),
    )


def capped() -> QueryBuilder:
    return QueryBuilder("visits").enforce(MaxRowsPerID(4))


def count(table: str) -> Any:
    return visits(table, PureDPBudget(1)).evaluate(capped().count(), PureDPBudget(1))


def mean(table: str) -> Any:
    return visits(table, PureDPBudget(1)).evaluate(capped().average("amount", 0, 500), PureDPBudget(1))


def regions(table: str) -> Any:
    keys = KeySet.from_dict({"region": ["north", "east", "south", "west", "coast", "islands"]})
    return visits(table, PureDPBudget(1)).evaluate(capped().groupby(keys).count(), PureDPBudget(1))


def reasons(table: str) -> Any:
    session = visits(table, ApproxDPBudget(1, 1e-6))
    names = capped().select(["person_id", "reason"]).get_groups(["reason"])
    keys = KeySet.from_dataframe(session.evaluate(names, ApproxDPBudget(0.5, 1e-6)))
    return session.evaluate(capped().groupby(keys).count(), ApproxDPBudget(0.5, 0))


def median(table: str) -> Any:
    return visits(table, PureDPBudget(1)).evaluate(capped().median("amount", 0, 500), PureDPBudget(1))


def spark() -> SparkSession:
    builder: Any = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def released(frame: Any) -> Any:
    rows = [tuple(row) for row in frame.collect()]
    return rows[0][0] if len(rows[0]) == 1 else dict(rows)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    asked = {"count": count, "mean": mean, "regions": regions, "reasons": reasons, "median": median}
    main("tmlt.analytics", asked, released, {})
