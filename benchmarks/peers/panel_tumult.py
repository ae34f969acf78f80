"""Tables with several rows a person in Tumult Analytics, on a local Spark."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from typing import Any

from panel_questions import main
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
    "spark.driver.memory": "3g",
    "spark.sql.warehouse.dir": tempfile.gettempdir(),
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def session(task: Any, budget: Any) -> Session:
    return Session.from_dataframe(
        privacy_budget=budget,
        source_id="panel",
        dataframe=spark().read.parquet(task.path),
        protected_change=AddRowsWithID("person"),
    )


def capped(task: Any) -> QueryBuilder:
    return QueryBuilder("panel").enforce(MaxRowsPerID(task.cap))


def count(task: Any) -> Any:
    budget = PureDPBudget(task.epsilon)
    return session(task, budget).evaluate(capped(task).count(), budget)


def groups(task: Any) -> Any:
    budget = PureDPBudget(task.epsilon)
    keys = KeySet.from_dict({"key": task.keys})
    return session(task, budget).evaluate(capped(task).groupby(keys).count(), budget)


def total(task: Any) -> Any:
    budget = PureDPBudget(task.epsilon)
    return session(task, budget).evaluate(capped(task).sum("value", *task.bounds), budget)


def mean(task: Any) -> Any:
    budget = PureDPBudget(task.epsilon)
    return session(task, budget).evaluate(capped(task).average("value", *task.bounds), budget)


def discovered(task: Any) -> Any:
    half = task.epsilon / 2
    panel = session(task, ApproxDPBudget(task.epsilon, task.delta))
    names = capped(task).select(["person", "found"]).get_groups(["found"])
    keys = KeySet.from_dataframe(panel.evaluate(names, ApproxDPBudget(half, task.delta)))
    return panel.evaluate(capped(task).groupby(keys).count(), ApproxDPBudget(half, 0))


def spark() -> SparkSession:
    builder: Any = SparkSession.builder.master("local[2]")
    for name, setting in SETTINGS.items():
        builder = builder.config(name, setting)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def released(frame: Any) -> Any:
    rows = [tuple(row) for row in frame.collect()]
    return rows[0][0] if rows and len(rows[0]) == 1 else dict(rows)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    main({"count": count, "groups": groups, "sum": total, "mean": mean, "found": discovered}, released)
