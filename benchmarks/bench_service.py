"""A service on loopback and 32 clients: CPU and time of quotes and answers, beside a bare route of the same server.

With `LEDGER_BENCH=folder`, where `giveortake bench ledger` left a million charges, the same on that ledger. Every quote
asks for another ε, so that no price is remembered; clients share the processors with the service.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from served_tables import Served, many, serving

if TYPE_CHECKING:
    from collections.abc import Callable

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
