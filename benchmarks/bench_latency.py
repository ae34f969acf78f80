"""What a quote and a small answer cost a process that is warm, in CPU time, beside two durable commits.

Every quote asks for another ε, so that no price, no tail of noise and no share of a budget is remembered; texts are. A
*new text* is read and planned from the beginning. The floor of an answer is `reserve` and `settle` of a bare event on
the same ledger: two transactions that are on the disk, and their marks. Its ratio is by the clock on the wall, because
most of it is waiting for the disk.
"""

from __future__ import annotations

import tempfile
import time
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import polars as pl

import giveortake as gt
from giveortake.ledger import Charge
from giveortake.privacy.events import Laplace
from harness.report import Case, Report, below, slower_at_most, timed

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.ledger import Ledger
    from giveortake.session import Session
    from harness.report import Stopwatch

COUNT = "SELECT region, COUNT(*) AS n FROM trips GROUP BY region"
MEANS = "SELECT region, COUNT(*) AS n, AVG(amount) AS mean FROM trips GROUP BY region"
FOUND = "SELECT note, COUNT(*) AS n FROM trips GROUP BY note"
REGIONS = ["north", "south", "east"]
MOST = 0.005  # seconds of a quote
AT_MOST = slower_at_most(3)


def run(report: Report) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        gt.ledger.open(Path(folder) / "trips.ledger") as book,
        protected(book) as s,
    ):
        measure(report, s, book)


def protected(book: Ledger) -> Session:
    """Two thousand rows of five hundred people."""
    rows = pl.DataFrame(
        {
            "user_id": [f"u{row % 500}" for row in range(2000)],
            "region": [REGIONS[row % 3] for row in range(2000)],
            "amount": [float(row % 90) for row in range(2000)],
            "note": [f"note {row % 7}" for row in range(2000)],
        }
    )
    said: Any = {"domains": {"region": REGIONS, "amount": (0, 100)}, "rows_per_person": 4, "name": "trips"}
    return gt.protect(rows, unit="user_id", budget=gt.ApproxDP("1000", "1e-6"), ledger=book, **said)


def measure(report: Report, s: Session, book: Ledger) -> None:
    numbers = count(10**6)

    def quote(text: str, **more: Any) -> None:
        s.sql(text).quote(epsilon=f"0.{next(numbers)}", **more)

    def quote_new_text() -> None:
        s.sql(f"{COUNT} HAVING COUNT(*) > {next(numbers)}").quote(epsilon=f"0.{next(numbers)}")

    def answer() -> None:
        s.sql(COUNT).answer(epsilon=f"0.00{next(numbers)}")

    def commits() -> None:
        book.settle(book.reserve(Charge(Laplace(next(numbers)), dataset="trips")), {"n": [41, 43, 47]})

    def quote_curve() -> None:
        for _ in range(9):
            quote(COUNT)

    quotes: dict[str, Callable[[], None]] = {
        "a quote, COUNT by region": partial(quote, COUNT),
        "a quote, COUNT and AVG": partial(quote, MEANS),
        "the same with Gaussian noise": partial(quote, MEANS, delta="1e-9"),
        "a quote, keys to be found": partial(quote, FOUND, delta="1e-9"),
        "a quote of a new text": quote_new_text,
        "nine quotes of one text": quote_curve,
    }
    goals = {name: below(9 * MOST if name.startswith("nine") else MOST) for name in quotes}
    report.measure([Case(name, cpu(work), goal=goals[name]) for name, work in quotes.items()])
    report.measure(
        [
            Case("an answer to COUNT by region, CPU", cpu(answer), "two commits, CPU", cpu(commits)),
            Case(
                "the same, on the wall",
                timed(answer, calls=5),
                "two commits",
                timed(commits, calls=5),
                slower_at_most(3),
            ),
        ]
    )


def cpu(work: Callable[[], object], calls: int = 8, batches: int = 3) -> Stopwatch:
    """A stopwatch of this process's CPU time: the median of some batches."""

    def seconds() -> float:
        return median(batch() for _ in range(batches))

    def batch() -> float:
        started = time.process_time()
        for _ in range(calls):
            work()
        return (time.process_time() - started) / calls

    return seconds
