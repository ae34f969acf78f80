"""A Spark cluster on this machine, of which a worker can be killed."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from spark_session import SHORT_LIVED, stop_session

if TYPE_CHECKING:
    from collections.abc import Iterator

_HERE = "127.0.0.1"


@final
@dataclass
class Cluster:
    """Where the master listens, and the process of a worker."""

    url: str
    worker: subprocess.Popen[bytes]
    is_killed: bool = False

    def kill_worker(self) -> None:
        """End it and its executor at once, without a chance to say goodbye."""
        os.killpg(self.worker.pid, signal.SIGKILL)
        self.is_killed = True


@contextmanager
def spark_cluster(folder: Path) -> Iterator[Cluster]:
    """A master and two workers with one core and 1 GiB each; they are gone afterwards, whatever happens.

    The master and the worker that lives are in the virtual machine that the tests have anyhow, which takes a third of
    the time of processes of their own. Its session is stopped before; whoever needs one later gets another. Executors
    are processes of their own.
    """
    machine = stop_session()
    settings = machine.SparkConf().set("spark.master.rest.enabled", "false")
    master = machine.org.apache.spark.deploy.master.Master.startRpcEnvAndEndpoint(_HERE, 0, 0, settings)._1()
    url = f"spark://{_HERE}:{master.address().port()}"
    parts = [master]
    worker = None
    try:
        parts.insert(0, _worker_within(machine, settings, url, folder / "worker-within"))
        worker = _worker_outside(machine, url, folder / "worker-outside")
        yield Cluster(url, worker)
    finally:
        if worker is not None:
            with suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
        for part in parts:  # the master last: a worker that loses it ends its virtual machine
            part.shutdown()
            part.awaitTermination()


def _worker_within(machine: Any, settings: Any, url: str, folder: Path) -> Any:
    from pyspark import SparkContext  # noqa: PLC0415 (a heavy library)

    gateway: Any = SparkContext._gateway
    masters = gateway.new_array(machine.java.lang.String, 1)
    masters[0] = url
    nothing = machine.scala.Option.empty()
    start = machine.org.apache.spark.deploy.worker.Worker.startRpcEnvAndEndpoint
    return start(_HERE, 0, 0, 1, 1024, masters, str(folder), nothing, settings, nothing)


def _worker_outside(machine: Any, url: str, folder: Path) -> subprocess.Popen[bytes]:
    """A process in a group of its own, to which the executor that it starts belongs."""
    from pyspark.find_spark_home import _find_spark_home  # noqa: PLC0415 (a heavy library)

    folder.mkdir(parents=True)
    home, java = str(_find_spark_home()), os.environ.get("JAVA_HOME")
    needed = str(machine.org.apache.spark.launcher.JavaModuleOptions.defaultModuleOptions()).split()
    command = [str(Path(java) / "bin" / "java") if java else "java", "-cp", str(Path(home) / "jars" / "*"), "-Xmx256m"]
    command += [*SHORT_LIVED.split(), *needed, "org.apache.spark.deploy.worker.Worker", "--host", _HERE]
    command += ["--webui-port", "0", "--cores", "1", "--memory", "1g", "--work-dir", str(folder / "work"), url]
    around = {**os.environ, "SPARK_HOME": home, "SPARK_LOCAL_IP": _HERE, "SPARK_SCALA_VERSION": "2.13"}
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(command, env=around, stdout=log, stderr=log, start_new_session=True)
