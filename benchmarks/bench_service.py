"""A service on loopback and 32 clients: CPU and time of quotes and answers, beside a bare route of the same server."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from giveortake import ledger as ledgers
from giveortake.privacy import PureDP
from giveortake.server import demo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from harness.report import Report

CLIENTS = 32
QUOTE = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
ANSWER = "SELECT COUNT(*) AS n FROM visits WHERE amount > {}"
LIMITS = """
[server]
requests_per_second = 1000000
burst = 1000000
in_flight = 64
waiting = 1000
"""
_TICKS = os.sysconf("SC_CLK_TCK")


def run(report: Report) -> None:
    requests = 320 if report.quick else 1600
    with serving() as (address, token, pid):
        client = Clients(address, token, pid)
        client.ask(64, lambda n: ("POST", "/v1/datasets/visits/quote", quote(n)))  # warm
        bare = client.ask(requests, lambda _: ("GET", "/health/live", None))
        _tell(report, "bare route", bare, bare)
        _tell(report, "quote", client.ask(requests, lambda n: ("POST", "/v1/datasets/visits/quote", quote(n))), bare)
        _tell(
            report,
            "answer",
            client.ask(requests // 4, lambda n: ("POST", "/v1/datasets/visits/answer", answer(n))),
            bare,
        )
        _tell(
            report,
            "the same again",
            client.ask(requests // 4, lambda n: ("POST", "/v1/datasets/visits/answer", answer(n))),
            bare,
        )


def _tell(report: Report, name: str, found: dict[str, Any], bare: dict[str, Any]) -> None:
    times = np.percentile(found["times"], [50, 95, 99]) * 1000
    report.fact(
        name,
        f"{found['rate']:,.0f} a second ({found['rate'] / bare['rate']:.1%} of the bare route); CPU each: front "
        f"{found['front'] * 1000:.2f} ms, workers and clerks {found['others'] * 1000:.2f} ms; "
        f"p50 {times[0]:.0f}, p95 {times[1]:.0f}, p99 {times[2]:.0f} ms",
    )


def quote(_number: int) -> dict[str, Any]:
    return {"sql": QUOTE, "terms": {"epsilon": "0.1"}}


def answer(number: int) -> dict[str, Any]:
    return {"sql": ANSWER.format(number), "terms": {"epsilon": "1/10000"}, "key": f"bench {number}"}


@contextmanager
def serving() -> Iterator[tuple[str, str, int]]:
    """`giveortake serve` in a process of its own; its address, a token and its id."""
    with tempfile.TemporaryDirectory() as folder:
        settings = demo.prepared(Path(folder)).settings
        with settings.toml.open("a", encoding="utf-8") as file:
            file.write(LIMITS)
        with ledgers.open(settings.ledger, mark=settings.mark) as book:
            book.analyst("bench", datasets=["visits"], budget=PureDP("1"))
            token = book.issue_token(role="analyst", analyst="bench")[1]
        command = [sys.executable, "-m", "giveortake", "serve", str(settings.toml), "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 (our own)
            assert process.stdout is not None  # noqa: S101 (a pipe)
            try:
                yield process.stdout.readline().rstrip().rpartition(" ")[2], token, process.pid
            finally:
                process.terminate()
                process.wait()


class Clients:
    """Threads that ask one after the other, each over a connection that stays open."""

    def __init__(self, address: str, token: str, pid: int) -> None:
        self.place, self.token, self.pid = urlsplit(address), token, pid

    def ask(self, requests: int, make: Callable[[int], tuple[str, str, Any]]) -> dict[str, Any]:
        numbers, lock, times = iter(range(requests)), threading.Lock(), []

        def work() -> None:
            connection = http.client.HTTPConnection(str(self.place.hostname), self.place.port, timeout=120)
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    connection.close()
                    return
                method, path, body = make(number)
                started = time.perf_counter()
                connection.request(method, path, None if body is None else json.dumps(body), headers)
                reply = connection.getresponse()
                content = reply.read()
                times.append(time.perf_counter() - started)
                if reply.status != 200:
                    raise RuntimeError(content.decode())

        front, others = cpu(self.pid), sum(map(cpu, children(self.pid)))
        started = time.perf_counter()
        threads = [threading.Thread(target=work) for _ in range(CLIENTS)]
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
            "front": (cpu(self.pid) - front) / requests,
            "others": (sum(map(cpu, children(self.pid))) - others) / requests,
        }


def cpu(pid: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(each) for each in text.split()]
