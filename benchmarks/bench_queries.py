"""Answers from ten million rows, beside plain DuckDB, bounding written by hand, OpenDP and Tumult.

Every measurement is a process of its own, which warms up on a small table and then works once. `--rows` changes the
size; `--rows 100000000` asks about one person's rows only, of ours and of DuckDB, and compares with a tenth of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, final

import giveortake as gt
from harness.report import Case, Report, below, faster, slower_at_most
from harness.terms import Terms, body, call

if TYPE_CHECKING:
    from harness.report import Goal, Stopwatch

FOLDER = Path(__file__).parent / "queries"
sys.path.append(str(FOLDER))

import questions  # noqa: E402 (beside this file)
from ours import ANSWERS  # noqa: E402 (likewise)
from table import folder, payments  # noqa: E402 (likewise)

SMALL, QUICK, USUAL, MANY = 20_000, 1_000_000, 10_000_000, 50_000_000
LEDGER = 0.050  # seconds that a durable charge may take
GIGABYTES = 2
PATIENCE = 40.0  # a contestant whose process takes longer is measured once

Rival = tuple[str, "Contestant | None", "Goal | None"]


@final
@dataclass(slots=True)
class Contestant:
    """A script that does one task in a fresh process. One that fails takes forever, which fails the run."""

    script: str
    task: str
    table: Path
    small: Path
    python: str = sys.executable
    peaks: list[int] = field(default_factory=list)
    shown: list[int] = field(default_factory=list)  # keys
    margins: list[float] = field(default_factory=list)  # of ours
    readings: list[float] = field(default_factory=list)
    is_slow: bool = False

    def __call__(self) -> float:
        if self.is_slow:
            return self.readings[-1]
        started = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="giveortake-bench-", ignore_cleanup_errors=True) as scratch:
            child = subprocess.run(  # noqa: S603 (a script of this checkout, an interpreter that the user named)
                [self.python, str(FOLDER / self.script), self.task, str(self.table), str(self.small)],
                check=False,
                capture_output=True,
                text=True,
                env={**os.environ, "TMPDIR": scratch},
            )
        self.is_slow = time.perf_counter() - started > PATIENCE
        lines = [line for line in child.stdout.splitlines() if line.startswith('{"seconds"')]
        if not lines:
            last = (child.stderr.strip().splitlines() or ["it said nothing"])[-1]
            print(f"{self.script} {self.task} failed: {last}", file=sys.stderr)
            self.readings.append(float("inf"))
            return self.readings[-1]
        found = json.loads(lines[-1])
        self.peaks.append(found["peak"])
        self.shown.append(found["rows"])
        self.margins += [found["margin"]] if found.get("margin") is not None else []
        self.readings.append(found["seconds"])
        return self.readings[-1]

    def last(self) -> float:
        """The latest reading once more, for another line of the same round."""
        return self.readings[-1]


@final
class Contest:
    """Tasks on one table: ours beside each rival, in turns."""

    def __init__(self, report: Report, rows: int) -> None:
        where = folder(report.table_folder)
        self.report = report
        self.table, self.small = payments(rows, where), payments(SMALL, where)
        self.cases: list[Case] = []
        self.ours: dict[str, Contestant] = {}
        self.others: list[tuple[str, Contestant]] = []

    def add(self, name: str, task: str, *rivals: Rival) -> None:
        """A task of ours, and a line for each rival that is there."""
        mine = self.ours[name] = self.contestant("ours.py", task)
        stopwatch: Stopwatch = mine
        for called, rival, goal in rivals or (("", None, None),):
            if rival is not None:
                self.others.append((f"{called}: {name}", rival))
            self.cases.append(Case(name, stopwatch, called, rival, goal))
            stopwatch = mine.last

    def contestant(self, script: str, task: str, python: str | None = sys.executable) -> Contestant:
        return Contestant(script, task, self.table, self.small, python or sys.executable)

    def duckdb(self, task: str, goal: Goal | None = None, called: str = "plain DuckDB") -> Rival:
        return called, self.contestant("duckdb_floor.py", task), goal

    def by_hand(self, task: str, goal: Goal | None = None) -> Rival:
        python = self.report.python_with("Polars", "polars")
        rival = self.contestant("polars_floor.py", task, python) if python else None
        return "Polars by hand" if rival else "Polars left out", rival, goal

    def peers(self, task: str, goal: Goal | None = None, other: Goal | None = None) -> list[Rival]:
        return [self.opendp(task, goal), self.tumult(task, other)]

    def opendp(self, task: str, goal: Goal | None = None) -> Rival:
        return self._peer("OpenDP", "opendp_peer.py", task, goal, "opendp", "polars")

    def tumult(self, task: str, goal: Goal | None = None) -> Rival:
        return self._peer("Tumult", "tumult_peer.py", task, goal, "tmlt.analytics")

    def _peer(self, name: str, script: str, task: str, goal: Goal | None, *modules: str) -> Rival:
        python = self.report.python_with(name, *modules)
        rival = self.contestant(script, task, python) if python else None
        return name if rival else f"{name} left out", rival, goal

    def run(self, rounds: int) -> None:
        self.report.measure(self.cases, rounds, warm_up=False)

    def memory(self, *names: str) -> None:
        for name in names:
            peak = max(self.ours[name].peaks, default=0) / 2**30
            self.report.fact(f"peak memory: {name}", f"{peak:.2f} GB", goal=f"< {GIGABYTES} GB", met=peak < GIGABYTES)
        for name, rival in self.others:
            if rival.peaks and not name.startswith("plain"):
                self.report.note(f"peak memory of {name}: {max(rival.peaks) / 2**30:.2f} GB")


def ours(task: str) -> Terms:
    """What ours is asked, as it is."""
    asked = ANSWERS[task]
    unit = "unit=gt.ROW" if asked.options["unit"] is gt.ROW else f"unit={asked.options['unit']!r}"
    caps = {**asked.options.get("caps", {}), **{name: asked.options[name] for name in CAPS if name in asked.options}}
    protect = call("gt.protect", "…", unit, **caps)
    text = f"{protect}.sql({asked.text!r}).{call('answer', **asked.price)}"
    delta = asked.price.get("key_delta", asked.price.get("delta", "0"))
    side = {"weights": "ours, by weights", "two groups": "ours, two keys of a person"}.get(task, "ours")
    return Terms(TASKS[task], side, text, asked.price["epsilon"], delta)


def sides(task: str) -> list[Terms]:
    """Both sides of a task that peers have too."""
    terms = ours(task)
    price = questions.EPSILON, questions.KEY_DELTA if task == "discovered" else "0"  # which their scripts spend
    remarks = {"discovered": "at most 5 rows of a person, instead of 1 row in each of 5 groups"}
    return [
        terms,
        Terms(terms.comparison, "OpenDP", body("queries/opendp_peer.py", task), *price),
        Terms(
            *(terms.comparison, "Tumult", body("queries/tumult_peer.py", task), *price),
            remark=remarks.get(task, ""),
        ),
    ]


TASKS = {
    "count": "rows: COUNT by region",
    "sums": "rows: COUNT, SUM, AVG by category",
    "persons": "persons: COUNT, SUM, AVG by category",
    "discovered": "persons: found keys, category × day",
    "two groups": "persons: found keys, category × day",
    "weights": "persons: found keys, category × day",
    "quantiles": "rows: four quantiles by region",
}
CAPS = ("rows_per_person",)
TERMS = [each for task in ("count", "sums", "persons", "discovered", "quantiles") for each in sides(task)]


def run(report: Report) -> None:
    rows = report.table_rows or (QUICK if report.quick else USUAL)
    if rows >= MANY:
        many(report, rows)
        return
    first = slower_at_most(1.3, LEDGER)
    contest = Contest(report, rows)
    add, duckdb = contest.add, contest.duckdb
    add("rows: COUNT by region", "count", duckdb("count", first), *contest.peers("count"))
    add("rows: COUNT, SUM, AVG by category", "sums", duckdb("sums", first), *contest.peers("sums"))
    add(
        "persons: the same, first time",
        "persons",
        duckdb("windows", slower_at_most(1.2), "DuckDB windows"),
        duckdb("preaggregated", slower_at_most(1.2), "DuckDB by hand"),
        contest.by_hand("preaggregated", slower_at_most(1.2)),
        *contest.peers("persons", faster(8), faster(8)),
    )
    add("persons: the same again", "persons again", duckdb("sums", slower_at_most(1, LEDGER)))
    other = contest.contestant("ours.py", "persons")
    add(
        "persons: other filter and key",
        "persons other",
        ("ours, first time", other, slower_at_most(1)),
        duckdb("sums other"),
    )
    add("rows_per_person: first time", "prepared first", duckdb("windows", None, "DuckDB windows"))
    add("  prepared, other filter and key", "prepared other", duckdb("sums other", slower_at_most(1, LEDGER)))
    add("  prepared, other filter", "prepared filtered", duckdb("sums filtered", slower_at_most(1, LEDGER)))
    add(
        "persons: found keys, category × day",
        "discovered",
        duckdb("discovered", None, "DuckDB by hand"),
        contest.by_hand("discovered"),
        *contest.peers("discovered", faster(10), faster(10)),
    )
    add(
        "rows: four quantiles by region",
        "quantiles",
        duckdb("quantiles", slower_at_most(3)),
        *contest.peers("quantiles"),
    )
    add("quote", "quote", ("", None, below(0.020)))
    add("protect", "protect")
    contest.run(rounds=5)
    report.measure([Case("giveortake demo", demo, goal=below(5))], rounds=3, warm_up=False)
    contest.memory("persons: the same, first time", "persons: found keys, category × day")
    report.note(f"{rows:,} rows of {rows // 10:,} people; every time is that of a fresh session, imports not counted.")
    report.note(f"A contestant whose process takes more than {PATIENCE:.0f} s is measured once.")


def many(report: Report, rows: int) -> None:
    """Time grows as the rows do, and memory does not."""
    tenth, all_of_them = Contest(report, rows // 10), Contest(report, rows)
    for task, name in (("persons", "COUNT, SUM, AVG by category"), ("discovered", "found keys")):
        rival = tenth.contestant("ours.py", task)
        all_of_them.add(f"persons: {name}, {rows:,} rows", task, (f"{rows // 10:,} rows", rival, slower_at_most(12)))
    all_of_them.add(
        "rows: COUNT, SUM, AVG by category", "sums", all_of_them.duckdb("sums", slower_at_most(1.3, LEDGER))
    )
    all_of_them.run(rounds=1)
    all_of_them.memory(*all_of_them.ours)


def demo() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "giveortake", "demo"], check=True, capture_output=True)
    return time.perf_counter() - started
