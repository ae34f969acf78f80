"""Whether response times tell tables, stored answers, refusals and failures apart, with a fixed time and without.

Two services hold tables that differ by one heavy person. Requests are asked in pairs of two kinds, in random order, and
a Kolmogorov–Smirnov test compares their times on the wall. With a fixed time it should find nothing; that it would is
shown twice: without a fixed time it finds something, and the same times, of which one kind is moved by a little, are
told apart: the least such shift is reported. It takes 8 minutes on a quiet machine; `--quick` asks a fifth.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
import threading
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from scipy import stats

from served_tables import UNLIMITED, Served, serving, settled

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.report import Report

FIXED = 0.4  # seconds; several times what any of these requests takes on a quiet machine
ALPHA = 1e-4
HEAVY = 200_000  # rows of one person
PEOPLE = 1_000
PAIRS, FAILURES = 200, 15
AT_ONCE = 2  # pairs
TOLD_LATE = 0.05  # seconds after which workers are killed


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
        """A question whose worker is stopped before it, and killed a moment after."""
        workers = self.heavy.sessions
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        timer = threading.Timer(TOLD_LATE, self._kill, [workers])
        timer.start()
        try:
            return self._of(503, self.answer(self.heavy))
        finally:
            timer.join()
            settled(self.heavy)

    @staticmethod
    def _kill(workers: list[int]) -> None:
        for pid in workers:
            os.kill(pid, signal.SIGKILL)

    @staticmethod
    def _of(wanted: int, found: tuple[int, float]) -> float:
        if found[0] != wanted:
            raise RuntimeError(f"status {found[0]}, not {wanted}")
        return found[1]


def run(report: Report) -> None:
    pairs, failures = (PAIRS // 5, FAILURES // 5) if report.quick else (PAIRS, FAILURES)
    for server, expected in ((f"[server.latency]\ntrips = {FIXED}", False), ("", True)):
        with ExitStack() as stack:
            tables = [serving(_folder(stack), table=csv(heavy), server=UNLIMITED + server) for heavy in (False, True)]
            light, heavy = (stack.enter_context(each) for each in tables)
            kinds = Kinds(light, heavy)
            for _ in range(4):
                kinds.new(), kinds.of_heavy(), kinds.stored()
            told = "without" if expected else f"{FIXED:g} s fixed"
            for name, one, other, times, threads in (
                ("one heavy person or not", kinds.new, kinds.of_heavy, pairs, AT_ONCE),
                ("stored or new", kinds.stored, kinds.new, pairs, AT_ONCE),
                ("refused or answered", kinds.refused, kinds.new, pairs, AT_ONCE),
                ("failed or answered", kinds.failed, kinds.of_heavy, failures, 1),
            ):
                if report.progress is not None:
                    report.progress.says(f"timing, {told}: {name}")
                tell(report, f"{told}: {name}", *asked(one, other, times, threads), expected=expected)
    report.note(
        "Times are those of clients on the same machine. Overruns leave a whole time later, are counted by the service "
        "and are left out here: what they tell is bounded by their number (docs/http.md)."
    )


def tell(report: Report, name: str, one: list[float], other: list[float], *, expected: bool) -> None:
    count = len(one)
    if not expected:
        one, other = ([each for each in times if each < 1.5 * FIXED] for times in (one, other))
    late = 2 * count - len(one) - len(other)
    if not one or not other:
        report.fact(name, "every request was an overrun", goal="none is", met=False)
        return
    found = stats.ks_2samp(one, other)
    middle = [1000 * sorted(times)[len(times) // 2] for times in (one, other)]
    report.fact(
        name,
        f"{count} pairs: D = {found.statistic:.3f}, p = {found.pvalue:.2g}; medians {middle[0]:.1f} and "
        f"{middle[1]:.1f} ms; a shift of {1000 * least_shift(one, other):.1f} ms would be seen"
        + (f"; {late} overruns" if late else ""),
        goal=f"p {'<' if expected else '≥'} {ALPHA:g}",
        met=bool(found.pvalue < ALPHA) == expected,
    )


def least_shift(one: list[float], other: list[float]) -> float:
    """The least time by which all of one kind would have to be later, so that the test tells both kinds apart.

    Both kinds are first moved to the same median: what is there already is not counted.
    """
    moved = (
        [each - sorted(one)[len(one) // 2] for each in one],
        [each - sorted(other)[len(other) // 2] for each in other],
    )
    low, high = 0.0, 1e-4
    while stats.ks_2samp(moved[0], [each + high for each in moved[1]]).pvalue >= ALPHA:
        low, high = high, 2 * high
        if high > 100:
            return float("inf")  # so few pairs tell nothing apart
    for _ in range(10):
        middle = (low + high) / 2
        is_seen = stats.ks_2samp(moved[0], [each + middle for each in moved[1]]).pvalue < ALPHA
        low, high = (low, middle) if is_seen else (middle, high)
    return high


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
