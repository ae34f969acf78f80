"""Found keys streamed from a local Spark, in a process of its own: what Python and the virtual machine held at most."""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import SparkSession

import giveortake as gt
from bench_stream import peak_memory

PERSONS_OF_KEY = 3  # of one key each, at an ε at which they are enough
SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


class Heap:
    """The most that is left of the virtual machine's heap after a collection, about each second.

    A local Spark is driver and workers in one. `held` is the most while no stage ran: what the driver holds. `peak` has
    what running tasks took besides, which Spark bounds by its own settings, and writes to disk beyond.
    """

    def __init__(self, spark: Any) -> None:
        self._machine = spark._jvm  # noqa: SLF001 (Spark tells it nowhere else)
        self._stages = spark.sparkContext.statusTracker().getActiveStageIds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.peak = self.held = 0

    def __enter__(self) -> Heap:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        runtime = self._machine.java.lang.Runtime.getRuntime()
        while not self._over.wait(1):
            idle = not self._stages()
            runtime.gc()
            used = runtime.totalMemory() - runtime.freeMemory()
            self.peak = max(self.peak, used)
            if idle and not self._stages():
                self.held = max(self.held, used)


def stream(keys: int, folder: Path) -> dict[str, float]:
    """Ask for so many keys, write them to a file, and count them there."""
    builder: Any = SparkSession.builder
    builder = builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    columns = f"i AS person, printf('key %09d', i % {keys}) AS k, i % 101 AS x"
    rows = f"SELECT {columns} FROM range({keys * PERSONS_OF_KEY}) AS t(i)"  # noqa: S608 (numbers)
    duckdb.execute(f"COPY ({rows}) TO '{folder / 't.parquet'}'")
    table = spark.read.parquet(str(folder / "t.parquet"))
    caps = {"groups_per_person": 1, "rows_per_group": 1}
    said: dict[str, Any] = {"unit": "person", "caps": caps, "domains": {"x": (0, 100)}}
    session = gt.protect(table, name="t", budget=gt.ApproxDP(1000, "1e-5"), ledger=folder / "ledger.db", **said)
    with session, Heap(spark) as heap:
        started = time.perf_counter()
        parts = session.sql("SELECT k, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY k").stream(epsilon=100, delta="1e-6")
        parts.to_parquet(folder / "answer.parquet")
        seconds = time.perf_counter() - started
    told = duckdb.read_parquet(str(folder / "answer.parquet")).project("k, lag(k) OVER () AS before")
    ((found, in_order),) = told.aggregate("count(*), coalesce(bool_and(k > before), true)").fetchall()
    if not 0.99 * keys < found <= keys or not in_order:  # noise keeps a few of them back
        raise ValueError(f"{found} keys of {keys}, or in another order than theirs")
    return {"seconds": seconds, "python": peak_memory(), "driver": heap.held, "machine": heap.peak}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        print(json.dumps(stream(int(sys.argv[1]), Path(made))))
