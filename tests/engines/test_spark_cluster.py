"""A cluster that loses a worker in the middle of a question: one charge, one answer, the right integers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spark_cluster import spark_cluster

pytestmark = pytest.mark.xdist_group("spark")  # run with --dist loadgroup

ASK = """
import json, os, sys, threading, time
import duckdb
from pyspark.sql import SparkSession
import giveortake as gt
from spark_session import configured, quietly

url, folder = sys.argv[1:]
builder = configured(SparkSession.builder.master(url)).config("spark.executor.memory", "512m")
builder = builder.config("spark.shuffle.io.retryWait", "100ms")  # for what the dead worker held; else 5 s, thrice
spark = quietly(builder.config("spark.sql.shuffle.partitions", "8").getOrCreate)
while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:
    time.sleep(0.1)
columns = "i * 7919 % 50021 AS p, concat('g', i * 31 % 40) AS g, (i % 1001) / 10::DOUBLE AS x"
os.mkdir(folder + "/t")
for part in range(16):  # each a task of its own; Spark would take longer to write them than to be asked
    rows = f"SELECT {columns} FROM range({part * 100_000}, {(part + 1) * 100_000}) AS t(i)"
    duckdb.sql(f"COPY ({rows}) TO '{folder}/t/{part}.parquet'")
said = {
    "unit": "p", "budget": gt.ApproxDP(10**8, "1e-6"), "domains": {"g": [f"g{n}" for n in range(40)], "x": (0, 100)},
    "groups_per_person": 5, "rows_per_group": 3, "name": "t",
}
question, price = "SELECT g, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY g", {"epsilon": 10**7}  # hardly any noise
wanted = gt.protect(folder + "/t", **said).sql(question).answer(**price)
session = gt.protect(spark.read.parquet(folder + "/t"), ledger=folder + "/t.ledger", **said)


def announce():
    tracker = spark.sparkContext.statusTracker()
    while True:
        for job in tracker.getActiveJobsIds():
            for stage in tracker.getJobInfo(job).stageIds:
                info = tracker.getStageInfo(stage)
                if info is not None and info.numCompletedTasks >= 2:
                    print("in the middle", flush=True)
                    return
        time.sleep(0.01)


threading.Thread(target=announce, daemon=True).start()
found = session.sql(question).answer(**price)
executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
again = session.sql(question).answer(**price)
sums = zip(found["s"], wanted["s"])
print(json.dumps({
    "counts": list(found["n"]) == list(wanted["n"]),
    "sums": all(abs(one - other) < 0.02 for one, other in sums),
    "executors": executors,
    "charges": sum(entry.kind == "reserved" for entry in session.history()),
    "kept": again.to_dict() == found.to_dict(),
}), flush=True)
spark.stop()
"""
TOLD = '{"counts": true, "sums": true, "executors": 1, "charges": 1, "kept": true}\n'


@pytest.mark.cluster
def test_a_worker_that_dies_in_the_middle_changes_neither_integers_nor_the_charge(tmp_path: Path) -> None:
    with spark_cluster(tmp_path) as cluster:
        asking = subprocess.Popen(
            [sys.executable, "-c", ASK, cluster.url, str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        with asking:
            try:
                assert asking.stdout is not None
                assert asking.stdout.readline() == "in the middle\n"
                cluster.kill_worker()
                assert asking.stdout.readline() == TOLD
            finally:
                asking.kill()
