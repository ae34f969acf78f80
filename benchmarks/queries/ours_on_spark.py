"""Our answers from a local Spark with two cores, with the settings of the peer that runs on Spark too."""

from __future__ import annotations

import tempfile
from typing import Any

from contestant import main
from ours import tasks
from pyspark.sql import SparkSession

SETTINGS = {
    "spark.driver.memory": "8g",
    "spark.sql.warehouse.dir": tempfile.gettempdir(),
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


def payments(path: str) -> Any:
    builder: Any = SparkSession.builder
    builder = builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark.read.parquet(path)


if __name__ == "__main__":
    main(tasks(payments), tasks(payments, is_warm_up=True))
