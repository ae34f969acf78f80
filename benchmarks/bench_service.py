"""A service on loopback and 32 clients: CPU and time of quotes and answers, beside a bare route of the same server.

Then one analyst's flood, of the service with the limits that it has by default: eight connections on which curves of
199 sums are asked for without end, and refused ones sent again at once, beside another analyst who asks one thing after
the other. With `FLOOD_BEFORE=folder`, of another version's source, the same on that version in turns with this one.

With `LEDGER_BENCH=folder`, where `giveortake bench ledger` left a million charges, the same on that ledger. Every quote
asks for another ε, so that no price is remembered; clients share the processors with the service.
"""

from __future__ import annotations

import http.client
import os
import tempfile
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from served_tables import Served, many, serving, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from harness.report import Report

CLIENTS = 32
MOST = 0.005  # seconds of the server's CPU for a quote
COUNT = "SELECT region, COUNT(*) AS n FROM trips GROUP BY region"
MEANS = "SELECT region, COUNT(*) AS n, AVG(amount) AS mean FROM trips GROUP BY region"
ANSWER = "SELECT COUNT(*) AS n FROM trips WHERE amount > {}"


def run(report: Report) -> None:
    requests = 320 if report.quick else 1600
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as served:
        measure(report, "", served, requests)
    for version, source in (("before: ", os.environ.get("FLOOD_BEFORE")), ("", None)):
        if source is not None or not version:
            with tempfile.TemporaryDirectory() as folder, serving(Path(folder), server="", source=source) as served:
                flood(report, version, served, 12 if version else 50 if report.quick else 400)  # few if they wait
    kept = os.environ.get("LEDGER_BENCH")
    ledgers = (
        [] if kept is None else sorted(Path(kept).glob("*.checkpoints.ledger"), key=lambda path: path.stat().st_size)
    )
    if not ledgers:
        report.note("LEDGER_BENCH names no folder with a ledger: nothing was measured with a million charges behind.")
        return
    os.environ["GIVEORTAKE_STATE"] = f"{kept}/state"
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), ledger=ledgers[-1]) as served:
        measure(report, f"{int(ledgers[-1].name.partition('.')[0]):,} charges behind: ", served, requests)


def measure(report: Report, place: str, served: Served, requests: int) -> None:
    def asked(name: str, share: int, make: Callable[[int], tuple[str, str, Any]]) -> dict[str, Any]:
        if report.progress is not None:
            report.progress.says(f"service: {place}{name}")
        return many(served, CLIENTS, requests // share, make)

    asked("warm", 8, lambda number: quote(COUNT, number))
    bare = asked("bare", 1, lambda _: ("GET", "/health/live", None))
    tell(report, f"{place}bare route", bare, bare)
    tell(report, f"{place}quote, COUNT", asked("quote", 1, lambda number: quote(COUNT, number)), bare, MOST)
    tell(report, f"{place}quote, COUNT and AVG", asked("means", 1, lambda number: quote(MEANS, number)), bare, MOST)
    for name in ("answer", "the same again"):
        tell(report, f"{place}{name}", asked(name, 4, answer), bare)


def tell(report: Report, name: str, found: dict[str, Any], bare: dict[str, Any], most: float | None = None) -> None:
    times = np.percentile(found["times"], [50, 95, 99]) * 1000
    each = found["front"] + found["others"]
    report.fact(
        name,
        f"{found['rate']:,.0f} a second ({found['rate'] / bare['rate']:.1%} of the bare route); "
        f"CPU {each * 1000:.2f} ms, of which the front {found['front'] * 1000:.2f}; "
        f"p50 {times[0]:.0f}, p95 {times[1]:.0f}, p99 {times[2]:.0f} ms",
        goal="" if most is None else f"CPU ≤ {most * 1000:.0f} ms",
        met=None if most is None else each <= most,
    )


def quote(sql: str, number: int) -> tuple[str, str, Any]:
    return "POST", "/v1/datasets/trips/quote", {"sql": sql, "terms": {"epsilon": f"0.1{number:06}"}}


def answer(number: int) -> tuple[str, str, Any]:
    body = {"sql": ANSWER.format(number), "terms": {"epsilon": "1/10000"}, "key": f"bench {number}"}
    return "POST", "/v1/datasets/trips/answer", body


FLOODING = 8  # connections
QUOTE_GOAL = (0.05, 0.25)  # seconds at p50 and p99


def flood(report: Report, version: str, served: Served, requests: int) -> None:
    """Quotes and answers of another analyst, without and beside the flood."""
    numbers = iter(range(10**9))
    quiet = [alone(served, requests, make, numbers) for make in (other_quote, answer)]
    told: Counter[tuple[int, bool]] = Counter()
    stop = threading.Event()
    threads = [threading.Thread(target=flooding, args=(served, number, told, stop)) for number in range(FLOODING)]
    for thread in threads:
        thread.start()
    try:
        beside = [alone(served, requests // share, make, numbers) for make, share in ((other_quote, 1), (answer, 4))]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    for name, goal, before, after in zip(("quotes", "answers"), (QUOTE_GOAL, None), quiet, beside, strict=True):
        (p50, p99), (q50, q99) = np.percentile(after, [50, 99]), np.percentile(before, [50, 99])
        report.fact(
            f"{version}another's {name} beside a flood",
            f"p50 {p50 * 1000:.0f}, p99 {p99 * 1000:.0f} ms; without it p50 {q50 * 1000:.0f}, p99 {q99 * 1000:.0f} ms "
            f"({p50 / q50:.1f}× and {p99 / q99:.1f}×)",
            goal="" if goal is None else f"p50 ≤ {goal[0] * 1000:.0f}, p99 ≤ {goal[1] * 1000:.0f} ms",
            met=None if goal is None or version else bool(p50 <= goal[0] and p99 <= goal[1]),
        )
    refused = sum(count for (status, _), count in told.items() if status == 429)
    report.fact(
        f"{version}the flood itself",
        f"{sum(count for (status, _), count in told.items() if status == 200):,} curves, {refused:,} × 429",
        goal="429 with Retry-After",
        met=None if version else refused > 0 and told[429, False] == 0,
    )


def alone(
    served: Served, requests: int, make: Callable[[int], tuple[str, str, Any]], numbers: Iterator[int]
) -> list[float]:
    """How long the other analyst's requests take, one after the other."""
    place = urlsplit(served.address)
    times: list[float] = []
    with closing(http.client.HTTPConnection(str(place.hostname), place.port, timeout=120)) as connection:
        while len(times) < requests:
            status, seconds, content = timed(connection, served.other, *make(next(numbers)))[:3]
            if status == 200:
                times.append(seconds)
            elif status != 429:  # the rate of requests, which is not what is measured here
                raise RuntimeError(content.decode())
            stop_for(0.05)
    return times


def stop_for(seconds: float) -> None:
    threading.Event().wait(seconds)


def flooding(served: Served, first: int, told: Counter[tuple[int, bool]], stop: threading.Event) -> None:
    place, number = urlsplit(served.address), first
    with closing(http.client.HTTPConnection(str(place.hostname), place.port, timeout=120)) as connection:
        while not stop.is_set():
            sums = ", ".join(f"SUM(amount + {number}{place:03}) AS s{place}" for place in range(199))
            body = {"sql": f"SELECT {sums} FROM trips", "terms": {}}  # noqa: S608 (our own numbers)
            status, _, _, after = timed(connection, served.token, "POST", "/v1/datasets/trips/curve", body)
            told[status, after is not None] += 1
            number += FLOODING * (status == 200)


def other_quote(number: int) -> tuple[str, str, Any]:
    return quote(COUNT, number)
