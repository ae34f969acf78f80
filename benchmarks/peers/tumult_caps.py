"""Tumult on capped rows of aircraft: reads `table question cap epsilon turns`, writes the mean error of a cell."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from typing import Any, NamedTuple

DISTANCES = (0, 5000)
BY = {"count": [], "sum": [], "carriers": ["carrier"], "months": ["carrier", "month"]}
SETTINGS = {
    "spark.driver.memory": "3g",
    "spark.sql.warehouse.dir": tempfile.gettempdir(),
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


class Asked(NamedTuple):
    """One line of what is asked for."""

    path: str
    question: str
    cap: int
    epsilon: float
    turns: int

    @classmethod
    def read(cls, line: str) -> Asked:
        path, question, cap, epsilon, turns = line.split()
        return cls(path, question, int(cap), float(epsilon), int(turns))


def spark() -> Any:
    from pyspark.sql import SparkSession  # noqa: PLC0415 (it may be missing)

    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def mean_error(ta: Any, line: Asked) -> float:
    """The mean distance of released cells from the truth without any cap."""
    by = BY[line.question]
    frame = spark().read.parquet(line.path).cache()
    session = ta.Session.from_dataframe(
        privacy_budget=ta.PureDPBudget(float("inf")),
        source_id="flights",
        dataframe=frame,
        protected_change=ta.AddRowsWithID("tailnum"),
    )
    kept = ta.QueryBuilder("flights").enforce(ta.MaxRowsPerID(line.cap))
    table = frame.toPandas()
    errors: list[float] = []
    for _ in range(line.turns):
        if by:
            keys = ta.KeySet.from_dict({name: sorted(table[name].unique().tolist()) for name in by})
            found = session.evaluate(kept.groupby(keys).count(), ta.PureDPBudget(line.epsilon)).toPandas()
            noisy = found.set_index(by)["count"]
            truth = table.groupby(by).size().reindex(noisy.index, fill_value=0)
            errors.append(float((noisy - truth).abs().mean()))
        else:
            counts = line.question == "count"
            asked = kept.count() if counts else kept.sum("distance", *DISTANCES)
            found = session.evaluate(asked, ta.PureDPBudget(line.epsilon)).toPandas()
            errors.append(abs(float(found.iloc[0, 0]) - float(len(table) if counts else table["distance"].sum())))
    frame.unpersist()
    return sum(errors) / len(errors)


def main() -> None:
    warnings.filterwarnings("ignore")
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    try:
        from tmlt import analytics as ta  # noqa: PLC0415 (it may be missing)
    except ImportError:
        print("missing", flush=True)
        return
    spark()
    print("ready", flush=True)
    for line in sys.stdin:
        print(mean_error(ta, Asked.read(line)), flush=True)


if __name__ == "__main__":
    main()
