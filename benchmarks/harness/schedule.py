"""All benchmarks as one run: those that measure time run alone, those that count things run two at a time.

Each is a process of its own that saves what it found. One that takes too long is ended with everything it started, and
its `--quick` version runs in its place. Learning is among those that count: scores do not depend on the time.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from harness import results

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

ALONE = (  # they measure time; the shortest first
    *("import", "accounting", "filters", "latency", "noise", "verify", "surveys", "workloads", "command"),
    *("ledger", "service", "coming_from", "limits", "stream", "keys", "engines", "queries"),
)
BESIDE = (  # they count, measure CPU seconds of their own, or mostly wait; learning takes as long as several others
    *("learning", "truth", "house", "audit", "quantiles", "runs", "learning_coverage"),
    *("kills", "synthetic", "fuzz", "timing"),
)
AT_ONCE = 2
MOST = 30 * 60.0  # seconds: none may take all that is left; queries beside Tumult take 21 minutes
LEAST = 5.0  # nothing is begun with less
RESERVE = 0.15  # of the time: it is kept for the `--quick` versions of what has not come to its turn by then


@final
@dataclass(slots=True)
class Schedule:
    """One run of all benchmarks: its report, when it must be over, and how each is called."""

    folder: Path
    kept: Path  # where `ledger` leaves a million charges, for itself and for `service`
    report: str
    options: Sequence[str]
    seconds: float  # that all of it may take
    is_quick: bool
    say: Callable[[str], None]
    problems: dict[str, str] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def run(self, is_done: Callable[[str], bool]) -> dict[str, str]:
        """Run what is not done yet; what went wrong, by the name of the benchmark."""
        for names, workers in ((ALONE, 1), (BESIDE, AT_ONCE)):
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(self._measure, [name for name in names if not is_done(name)]))
        return self.problems

    def _measure(self, name: str) -> None:
        for quick in (True,) if self.is_quick else (False, True):
            started = time.monotonic()
            problem = self.measured(name, quick=quick)
            self.say(f"{name}{' --quick' if quick else ''}: {problem or f'{time.monotonic() - started:.0f} s'}")
            if not problem:
                return
            self.problems[name] = problem

    def measured(self, name: str, *, quick: bool) -> str:
        """Run one benchmark, which saves what it found; what went wrong, if anything did."""
        given = self.seconds if quick else (1 - RESERVE) * self.seconds
        limit = min(self.began + given - time.monotonic(), MOST)
        if limit < LEAST:
            return "the time was over"
        line = [sys.executable, "-m", "giveortake", "bench", name, *(["--quick"] if quick else []), "--save"]
        process = subprocess.Popen(  # noqa: S603 (ourselves)
            [*line, *self.options],
            cwd=self.folder.parent,
            env={"LEDGER_BENCH": str(self.kept), **os.environ, results.REPORT: self.report},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            _, told = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # servers and peers that it started as well
            process.communicate()
            return f"it took longer than {limit:.0f} s"
        last = (told.decode(errors="replace").strip().splitlines() or ["without a word"])[-1]
        return f"it failed: {last}" if process.returncode else ""
