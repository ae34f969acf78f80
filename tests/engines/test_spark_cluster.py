"""A cluster that loses a worker in the middle of a question: one charge, one answer, the right integers."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import giveortake as gt
from spark_cluster import Cluster, spark_cluster
from spark_session import configured, quietly

pytestmark = [
    pytest.mark.xdist_group("spark"),  # run with --dist loadgroup
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # the gateway leaves its sockets to the collector
]
COLUMNS = "i * 7919 % 50021 AS p, concat('g', i * 31 % 40) AS g, (i % 1001) / 10::DOUBLE AS x"
QUESTION, PRICE = "SELECT g, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY g", 10**7  # hardly any noise
SAID: dict[str, Any] = {
    "unit": "p",
    "budget": gt.ApproxDP(10**8, "1e-6"),
    "domains": {"g": [f"g{n}" for n in range(40)], "x": (0, 100)},
    "groups_per_person": 5,
    "rows_per_group": 3,
    "name": "t",
}
PATIENCE = 120.0


def _executors(spark: Any) -> int:
    """How many processes work for the driver."""
    return int(spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1


def _session_of_two(url: str) -> Any:
    from pyspark.sql import SparkSession  # noqa: PLC0415 (a heavy library)

    builder = configured(SparkSession.builder.master(url)).config("spark.executor.memory", "512m")
    builder = builder.config("spark.shuffle.io.retryWait", "100ms")  # for what the dead worker held; else 5 s, thrice
    spark = quietly(builder.config("spark.sql.shuffle.partitions", "8").getOrCreate)
    _wait_for_executors(spark, 2)
    return spark


def _wait_for_executors(spark: Any, number: int) -> None:
    """Until the driver knows of as many: that one has come, or is gone, it is told some time after that."""
    deadline = time.monotonic() + PATIENCE
    while (found := _executors(spark)) != number:
        assert time.monotonic() < deadline, f"{found} workers are there, and not {number}"
        time.sleep(0.1)


def _kill_in_the_middle(spark: Any, cluster: Cluster, is_over: threading.Event) -> None:
    """As soon as a task of a stage runs, or is done, and not all are."""
    tracker = spark.sparkContext.statusTracker()
    while not is_over.is_set():
        jobs = [found for found in map(tracker.getJobInfo, tracker.getActiveJobsIds()) if found is not None]
        stages = [stage for job in jobs for stage in job.stageIds]
        found = [each for each in map(tracker.getStageInfo, stages) if each is not None]
        if any(each.numActiveTasks or each.numCompletedTasks for each in found):
            cluster.kill_worker()
            return
        time.sleep(0.01)


@pytest.mark.cluster
def test_a_worker_that_dies_in_the_middle_changes_neither_integers_nor_the_charge(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    for part in range(16):  # each a task of its own; Spark would take longer to write them than to be asked
        rows = f"SELECT {COLUMNS} FROM range({part * 100_000}, {(part + 1) * 100_000}) AS t(i)"
        duckdb.sql(f"COPY ({rows}) TO '{folder}/{part}.parquet'")
    with gt.protect(str(folder), **SAID) as session:
        wanted = session.sql(QUESTION).answer(epsilon=PRICE)
    with spark_cluster(tmp_path) as cluster:
        spark = _session_of_two(cluster.url)
        is_over = threading.Event()
        killing = threading.Thread(target=_kill_in_the_middle, args=(spark, cluster, is_over))
        try:
            with gt.protect(spark.read.parquet(str(folder)), ledger=tmp_path / "t.ledger", **SAID) as session:
                killing.start()
                found = session.sql(QUESTION).answer(epsilon=PRICE)
                is_over.set()
                killing.join()
                assert cluster.is_killed
                _wait_for_executors(spark, 1)
                assert session.sql(QUESTION).answer(epsilon=PRICE).to_dict() == found.to_dict()
                assert sum(entry.kind == "reserved" for entry in session.history()) == 1
        finally:
            is_over.set()
            if killing.ident is not None:  # it was started
                killing.join()
            spark.stop()
    assert list(found["n"]) == list(wanted["n"])
    assert np.allclose(np.array(found["s"], float), np.array(wanted["s"], float), rtol=0, atol=0.02)
