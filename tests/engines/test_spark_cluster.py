"""A cluster that loses a worker in the middle of a question: one charge, one answer, the right integers."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import giveortake as gt
from giveortake.configuration import protection_arguments
from spark_cluster import Cluster, spark_cluster
from spark_session import configured, quietly
from waiting import until

pytestmark = [
    pytest.mark.xdist_group("spark"),  # run with --dist loadgroup
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # the gateway leaves its sockets to the collector
]
COLUMNS = "i * 7919 % 50021 AS p, concat('g', i * 31 % 40) AS g, (i % 1001) / 10::DOUBLE AS x"
QUESTION, PRICE = "SELECT g, COUNT(*) AS n, SUM(x) AS s FROM t WHERE x >= {} GROUP BY g", 10**7  # hardly any noise
SAID: dict[str, Any] = {
    "unit": "p",
    "budget": gt.ApproxDP(10**12, "1e-6"),
    "domains": {"g": [f"g{n}" for n in range(40)], "x": (0, 100)},
    "groups_per_person": 5,
    "rows_per_group": 3,
    "name": "t",
}


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
    until(lambda: _executors(spark) == number, f"{number} workers are there")


def _kill_in_the_middle(spark: Any, cluster: Cluster, is_over: threading.Event) -> None:
    """As soon as a task of a stage runs, or is done, and not all are."""
    tracker = spark.sparkContext.statusTracker()

    def is_under_way() -> bool:
        jobs = [job for job in map(tracker.getJobInfo, tracker.getActiveJobsIds()) if job is not None]
        stages = [tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds]
        return any(stage.numActiveTasks or stage.numCompletedTasks for stage in stages if stage is not None)

    until(lambda: is_over.is_set() or is_under_way(), "a task of the question runs")
    if not is_over.is_set():
        cluster.kill_worker()


def _answered_while_a_worker_is_killed(asked: Any, spark: Any, cluster: Cluster) -> Any:
    is_over = threading.Event()
    killing = threading.Thread(target=_kill_in_the_middle, args=(spark, cluster, is_over))
    killing.start()
    try:
        return asked.answer(epsilon=PRICE)
    finally:
        is_over.set()
        killing.join()


@pytest.mark.long
@pytest.mark.cluster
def test_a_worker_that_dies_in_the_middle_changes_neither_integers_nor_the_charge(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    for part in range(16):  # each a task of its own; Spark would take longer to write them than to be asked
        rows = f"SELECT {COLUMNS} FROM range({part * 100_000}, {(part + 1) * 100_000}) AS t(i)"
        duckdb.sql(f"COPY ({rows}) TO '{folder}/{part}.parquet'")
    with gt.protect(str(folder), **protection_arguments(SAID)) as session:
        wanted = session.sql(QUESTION.format(0)).answer(epsilon=PRICE)
    with spark_cluster(tmp_path) as cluster:
        spark = _session_of_two(cluster.url)
        asked: Any = None
        found: Any = None
        try:
            with gt.protect(
                spark.read.parquet(str(folder)), **protection_arguments({**SAID, "ledger": tmp_path / "t.ledger"})
            ) as session:
                tries = 0
                while not cluster.is_killed:  # by then one was hit in the middle: the first, on any usual machine
                    tries += 1
                    asked = session.sql(QUESTION.format(-tries))
                    found = _answered_while_a_worker_is_killed(asked, spark, cluster)
                _wait_for_executors(spark, 1)
                assert asked.answer(epsilon=PRICE).to_dict() == found.to_dict()
                assert sum(entry.kind == "reserved" for entry in session.history()) == tries
        finally:
            spark.stop()
    assert list(found["n"]) == list(wanted["n"])
    assert np.allclose(np.array(found["s"], float), np.array(wanted["s"], float), rtol=0, atol=0.02)
