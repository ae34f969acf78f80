"""A cluster that loses a worker in the middle of a question gives the same integers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spark_cluster import spark_cluster

pytestmark = pytest.mark.xdist_group("spark")  # run with --dist loadgroup

ASK = """
import json, sys, threading, time
from fractions import Fraction
from pyspark.sql import SparkSession
from giveortake.engines import KeyColumn, Keys, Summand, Tally
from giveortake.engines.duckdb import DuckDBEngine
from giveortake.engines.spark import SparkEngine
from giveortake.engines.tally import Bounding, Quantum
from giveortake.plan import Column, PrivateTable, Scan
from replay import Revealing
from spark_session import configured, quietly

url, folder = sys.argv[1:]
builder = configured(SparkSession.builder.master(url)).config("spark.executor.memory", "512m")
spark = quietly(builder.config("spark.sql.shuffle.partitions", "8").getOrCreate)
while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:
    time.sleep(0.1)
columns = "id * 7919 % 200003 AS p, concat('g', id * 31 % 40) AS g, (id % 1001) / 10.0D AS x"
spark.sql(f"SELECT {columns} FROM range(0, 3000000, 1, 16)").write.parquet(folder + "/t")
one, other = DuckDBEngine(threads=1), SparkEngine(spark)
columns = one.add("t", folder + "/t", {}).columns
assert other.add("t", spark.read.parquet(folder + "/t"), None).columns == columns
complete = tuple((name, domain.complete() if name == "p" else domain) for name, domain in columns)
scan = Scan(PrivateTable("t", complete, "p"))
keys = Keys((KeyColumn("g", Column("g"), tuple(f"g{n}" for n in range(40))),))
quantum = Quantum(Fraction(1, 1024), Fraction(0), Fraction(100))
tally = Tally(scan, keys, (Summand("rows", fineness=1024), Summand("sum", Column("x"), quantum)), Bounding(5, 3))
wanted = [each.tolist() for each in Revealing().release(one.tally(tally))]


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
found = [each.tolist() for each in Revealing().release(other.tally(tally))]
lost = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()
print(json.dumps({"same": found == wanted, "executors": lost - 1}), flush=True)
spark.stop()
"""


@pytest.mark.cluster
def test_a_worker_that_dies_in_the_middle_changes_no_integer(tmp_path: Path) -> None:
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
                assert asking.stdout.readline() == '{"same": true, "executors": 1}\n'
            finally:
                asking.kill()
