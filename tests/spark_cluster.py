"""A Spark cluster on this machine: a master and workers, each in a process of its own that can be killed."""

from __future__ import annotations

import functools
import os
import signal
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, final

from spark_session import SHORT_LIVED

if TYPE_CHECKING:
    from collections.abc import Iterator

_MASTER, _WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
_PATIENCE = 60.0


@final
@dataclass
class Cluster:
    """Where the master listens, and the processes of the workers."""

    url: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def kill_worker(self, place: int = 0) -> None:
        """End a worker and its executors at once, without a chance to say goodbye."""
        os.killpg(self.workers[place].pid, signal.SIGKILL)


@contextmanager
def spark_cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master and workers with one core and 1 GiB each; they are gone afterwards, whatever happens."""
    port = _free_port()
    cluster = Cluster(f"spark://127.0.0.1:{port}")
    master = _started(folder / "master", _MASTER, "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
    try:
        _wait_for(port)
        for place in range(workers):
            own = folder / f"worker-{place}"
            options = ("--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g")
            cluster.workers.append(_started(own, _WORKER, *options, "--work-dir", str(own / "work"), cluster.url))
        yield cluster
    finally:
        for process in (*cluster.workers, master):
            _end(process)


def _started(folder: Path, name: str, *options: str) -> subprocess.Popen[bytes]:
    """A process in a group of its own, to which the executors that it starts belong."""
    folder.mkdir(parents=True)
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [*_command(), name, *options], env=_environment(), stdout=log, stderr=log, start_new_session=True
        )


@functools.cache
def _command() -> tuple[str, ...]:
    """How Java starts a part of a cluster. Spark's launcher tells it, which takes as long to start as the part."""
    home = Path(_environment()["SPARK_HOME"])
    launcher = [_java(), "-cp", str(home / "jars" / "*"), "org.apache.spark.launcher.Main", _MASTER]
    told = subprocess.run(launcher, env=_environment(), check=True, capture_output=True, text=True).stdout
    words = [word.strip() for word in told.split("\0") if word.strip()]
    return tuple(words[: words.index(_MASTER)])


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


@functools.cache
def _environment() -> dict[str, str]:
    from pyspark.find_spark_home import _find_spark_home  # noqa: PLC0415 (a heavy library)

    return {
        **os.environ,
        "SPARK_HOME": str(_find_spark_home()),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": SHORT_LIVED,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SCALA_VERSION": "2.13",
    }


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        with socket.socket() as trying:
            if trying.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError("the master of the cluster did not start")
