"""A table behind `giveortake serve` in processes of its own, and clients that ask it, for benchmarks."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from giveortake import ledger as ledgers
from giveortake.configuration import from_toml
from giveortake.privacy import PureDP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAME = "trips"
PROCESSES = 5  # two workers, a spare and two clerks
TOML = """\
[trips]
source = "trips.csv"
unit = "person_id"
budget = {{ epsilon = "100" }}
ledger = {ledger}
new_population = "people of trips"
rows_per_person = 4
{mark}

[trips.domains]
region = ["north", "east", "south", "west", "coast", "islands"]
amount = {{ bounds = [0, 500] }}

[server]
{server}
"""
UNLIMITED = """\
requests_per_second = 1000000
burst = 1000000
in_flight = 64
waiting = 1000
worker_seconds = 1000000
"""
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Served:
    """A service that runs: its address, the token of an analyst, the front process, and another analyst's token."""

    address: str
    token: str
    pid: int
    other: str

    @property
    def workers(self) -> list[int]:
        """Workers and clerks."""
        text = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="ascii")
        return [int(each) for each in text.split()]

    @property
    def sessions(self) -> list[int]:
        """Workers that hold the table, warm ones too: clerks know no engine."""
        return [each for each in self.workers if "duckdb" in Path(f"/proc/{each}/maps").read_text(errors="replace")]

    def asked(self, method: str, path: str, body: Any = None) -> tuple[int, float]:
        """The status of one request over a new connection, and how long it took."""
        place = urlsplit(self.address)
        with closing(http.client.HTTPConnection(str(place.hostname), place.port, timeout=120)) as connection:
            return timed(connection, self.token, method, path, body)[:2]


@contextmanager
def serving(
    folder: Path,
    *,
    ledger: Path | None = None,
    table: str | None = None,
    server: str = UNLIMITED,
    budget: str = "50",
    source: str | None = None,
) -> Iterator[Served]:
    """Serve a table, the bundled one unless its CSV is given, on a new ledger or on one that is there.

    `source` is the folder of another version's source, which serves instead of this one.
    """
    if table is None:
        with as_file(files("giveortake").joinpath("data", "visits.csv")) as path:
            table = path.read_text(encoding="utf-8")
    (folder / "trips.csv").write_text(table, encoding="utf-8")
    where, mark = (folder / "trips.ledger", folder / "mark") if ledger is None else (ledger, None)
    said = "" if mark is None else f"mark = {json.dumps(str(mark))}"
    toml = folder / "giveortake.toml"
    toml.write_text(TOML.format(ledger=json.dumps(str(where)), mark=said, server=server), encoding="utf-8")
    with from_toml(toml):
        pass
    with ledgers.open(where, mark=mark) as book:
        tokens = []
        for analyst, given in ((f"bench {time.time_ns()}", budget), (f"other {time.time_ns()}", "1")):
            book.analyst(analyst, datasets=[NAME], budget=PureDP(given), failures=10**6)
            tokens.append(book.issue_token(role="analyst", analyst=analyst)[1])
    command = [sys.executable, "-m", "giveortake", "serve", str(toml), "--port", "0"]
    environment = dict(os.environ) if source is None else {**os.environ, "PYTHONPATH": source}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:  # noqa: S603 (our own)
        assert process.stdout is not None  # noqa: S101 (a pipe)
        try:
            served = Served(process.stdout.readline().rstrip().rpartition(" ")[2], tokens[0], process.pid, tokens[1])
            settled(served)
            yield served
        finally:
            process.terminate()
            process.wait()


def settled(served: Served) -> None:
    """Wait until every worker and spare has started, so that nothing but requests takes CPU.

    A worker that died while it was idle is missed when it is asked.
    """
    before = -1.0
    while len(served.workers) < PROCESSES or before != (before := sum(map(cpu, served.workers))):
        if len(served.workers) < PROCESSES:
            served.asked("GET", f"/v1/datasets/{NAME}")
        time.sleep(0.5)


def many(served: Served, clients: int, requests: int, make: Callable[[int], tuple[str, str, Any]]) -> dict[str, Any]:
    """Threads that ask one after the other, each over a connection that stays open: how fast, and at what price."""
    numbers, lock, times = iter(range(requests)), threading.Lock(), []
    place = urlsplit(served.address)

    def work() -> None:
        with closing(http.client.HTTPConnection(str(place.hostname), place.port, timeout=120)) as connection:
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                status, seconds, content, _ = timed(connection, served.token, *make(number))
                if status != 200:
                    raise RuntimeError(content.decode())
                times.append(seconds)

    front, others = cpu(served.pid), sum(map(cpu, served.workers))
    started = time.perf_counter()
    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken = time.perf_counter() - started
    if len(times) != requests:
        raise RuntimeError(f"{requests - len(times)} requests failed")
    return {
        "rate": requests / taken,
        "times": times,
        "front": (cpu(served.pid) - front) / requests,
        "others": (sum(map(cpu, served.workers)) - others) / requests,
    }


def timed(
    connection: http.client.HTTPConnection, token: str, method: str, path: str, body: Any
) -> tuple[int, float, bytes, str | None]:
    """The status of a request, how long it took, its content, and when it may be sent again."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    content = None if body is None else json.dumps(body)
    started = time.perf_counter()
    connection.request(method, path, content, headers)
    reply = connection.getresponse()
    found = reply.read()
    return reply.status, time.perf_counter() - started, found, reply.getheader("Retry-After")


def cpu(pid: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
