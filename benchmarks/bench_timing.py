"""Whether response times tell tables, stored answers, refusals and failures apart, with a fixed time and without.

Two services hold tables that differ by one heavy person. Requests are asked in pairs of two kinds, in random order, and
a Kolmogorov–Smirnov test compares their times on the wall. With a fixed time it should find nothing; without, that it
finds something shows that it would. `--quick` asks fewer.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from scipy import stats

from served_tables import Served, serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.report import Report

FIXED = 1.0  # seconds; several times what any of these requests takes
ALPHA = 1e-4
HEAVY = 200_000  # rows of one person
PEOPLE = 1_000
AT_ONCE = 4  # pairs


@dataclass
class Kinds:
    """Requests of each kind, at one or both of the two tables."""

    light: Served
    heavy: Served
    numbers: count[int] = field(default_factory=count)

    def answer(self, served: Served, epsilon: str = "1/100000", number: int | None = None) -> tuple[int, float]:
        number = next(self.numbers) if number is None else number
        sql = f"SELECT region, SUM(amount) AS total FROM trips WHERE amount > {number % 400} GROUP BY region"  # noqa: S608 (ours)
        body = {"sql": sql, "terms": {"epsilon": epsilon}, "key": f"timing {number} {epsilon}"}
        return served.asked("POST", "/v1/datasets/trips/answer", body)

    def new(self) -> float:
        return self._of(200, self.answer(self.light))

    def of_heavy(self) -> float:
        return self._of(200, self.answer(self.heavy))

    def stored(self) -> float:
        return self._of(200, self.answer(self.light, number=0))

    def refused(self) -> float:
        return self._of(402, self.answer(self.light, epsilon="1000"))

    def failed(self) -> float:
        """A worker that is stopped when it has the question, and then killed."""
        timer = threading.Timer(0.05, self._kill)
        timer.start()
        try:
            return self.answer(self.heavy)[1]
        finally:
            timer.join()
            while self.heavy.asked("GET", "/v1/datasets/trips")[0] != 200:
                time.sleep(0.2)

    def _kill(self) -> None:
        for pid in self.heavy.workers[:2]:
            os.kill(pid, signal.SIGKILL)

    @staticmethod
    def _of(wanted: int, found: tuple[int, float]) -> float:
        if found[0] != wanted:
            raise RuntimeError(f"status {found[0]}, not {wanted}")
        return found[1]


def run(report: Report) -> None:
    pairs = 60 if report.quick else 300
    for server, expected in ((f"[server.latency]\ntrips = {FIXED}", False), ("", True)):
        with ExitStack() as stack:
            tables = [serving(_folder(stack), table=csv(heavy), server=server) for heavy in (False, True)]
            light, heavy = (stack.enter_context(each) for each in tables)
            kinds = Kinds(light, heavy)
            for _ in range(4):
                kinds.new(), kinds.of_heavy(), kinds.stored()
            told = "without" if expected else f"{FIXED:g} s fixed"
            for name, one, other, times, threads in (
                ("one heavy person or not", kinds.new, kinds.of_heavy, pairs, AT_ONCE),
                ("stored or new", kinds.stored, kinds.new, pairs, AT_ONCE),
                ("refused or answered", kinds.refused, kinds.new, pairs, AT_ONCE),
                ("failed or answered", kinds.failed, kinds.of_heavy, pairs // 10, 1),
            ):
                if report.progress is not None:
                    report.progress.says(f"timing, {told}: {name}")
                tell(report, f"{told}: {name}", *asked(one, other, times, threads), expected=expected)
    report.note("Times are those of clients on the same machine. Overruns leave a whole time later, and are counted.")


def tell(report: Report, name: str, one: list[float], other: list[float], *, expected: bool) -> None:
    found = stats.ks_2samp(one, other)
    middle = [1000 * sorted(times)[len(times) // 2] for times in (one, other)]
    late = sum(each > 1.5 * FIXED for each in (*one, *other))
    report.fact(
        name,
        f"D = {found.statistic:.3f}, p = {found.pvalue:.2g}; medians {middle[0]:.1f} and {middle[1]:.1f} ms"
        + (f"; {late} of {len(one) + len(other)} late" if late and not expected else ""),
        goal=f"p {'<' if expected else '≥'} {ALPHA:g}",
        met=(found.pvalue < ALPHA) == expected,
    )


def asked(
    one: Callable[[], float], other: Callable[[], float], pairs: int, at_once: int
) -> tuple[list[float], list[float]]:
    """The times of both, asked in pairs of random order, some pairs at the same time."""
    found: tuple[list[float], list[float]] = ([], [])
    lock, left = threading.Lock(), iter(range(pairs))
    problems: list[BaseException] = []

    def work(seed: int) -> None:
        chosen = random.Random(seed)  # noqa: S311 (which is asked first)
        try:
            while True:
                with lock:
                    if next(left, None) is None or problems:
                        return
                order = [(0, one), (1, other)]
                chosen.shuffle(order)
                for place, ask in order:
                    found[place].append(ask())
        except BaseException as problem:  # noqa: BLE001 (told below)
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
    return found


def csv(heavy: bool) -> str:
    """Four rows of each of many people, and perhaps as many rows of one more as a table may have."""
    regions = ("north", "east", "south", "west")
    rows = [f"p{row % PEOPLE},{regions[row % 4]},{row % 500}" for row in range(4 * PEOPLE)]
    if heavy:
        rows += [f"heavy,{regions[row % 4]},{row % 500}" for row in range(HEAVY)]
    return "\n".join(["person_id,region,amount", *rows]) + "\n"


def _folder(stack: ExitStack) -> Path:
    return Path(stack.enter_context(tempfile.TemporaryDirectory()))
