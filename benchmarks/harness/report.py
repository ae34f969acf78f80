"""What a benchmark writes: cases with our time beside a peer's or a floor's, measured in turns in one run."""

from __future__ import annotations

import math
import os
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, TypeAlias, final

from rich.table import Table

from giveortake.errors import NotFound
from harness import results
from harness.peer import Peer, has_module
from harness.processors import Watch, disturbance

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from rich.console import Console

    from giveortake.progress import Progress
    from harness.terms import Terms

Stopwatch: TypeAlias = "Callable[[], float]"  # does the work once and returns the seconds it took for one unit
_SIGNIFICANT = 3
DATA = "GIVEORTAKE_BENCH_DATA"  # the variable that names a folder of tables


@final
@dataclass(frozen=True, slots=True)
class Goal:
    """What a case should reach, in words and as a test of our seconds and the other's."""

    text: str
    met: Callable[[float, float | None], bool]


def faster(times: float) -> Goal:
    """At least that many times faster than the other."""
    return Goal(f"≥ {times:g}× faster", lambda ours, other: other is not None and other >= times * ours)


def slower_at_most(times: float, plus: float = 0.0) -> Goal:
    """At most that many times the other's time, and perhaps some seconds more."""
    more = f" + {duration(plus)}" if plus else ""
    return Goal(f"≤ {times:g}× its time{more}", lambda ours, other: other is not None and ours <= times * other + plus)


def below(seconds: float) -> Goal:
    """Less than that many seconds."""
    return Goal(f"< {duration(seconds)}", lambda ours, _other: ours < seconds)


def above_floor(seconds: float) -> Goal:
    """Less than that many seconds more than the other."""
    return Goal(f"< {duration(seconds)} more", lambda ours, other: other is not None and ours - other < seconds)


@final
@dataclass(frozen=True, slots=True)
class Case:
    """One line of a report. `units` is how many units of work the printed times stand for."""

    name: str
    ours: Stopwatch
    other_name: str = ""
    other: Stopwatch | None = None
    goal: Goal | None = None
    units: int = 1


@final
@dataclass(frozen=True, slots=True)
class Row:
    """One measured line, as it is printed and saved."""

    case: str
    ours: str
    other: str = ""
    ratio: str = ""
    goal: str = ""
    met: bool | None = None
    ours_seconds: float | None = None
    other_seconds: float | None = None


@final
@dataclass(slots=True)
class Report:
    """Collects the lines of one benchmark, prints them, and saves them when asked."""

    name: str
    out: Console
    folder: Path
    quick: bool = False
    peer_pythons: Sequence[str] = ()
    table_rows: int | None = None
    table_folder: str | None = None
    progress: Progress | None = None
    without: Sequence[str] = ()  # peers and tables that the user leaves out
    terms: Sequence[Terms] = ()
    missing: list[str] = field(default_factory=list)  # what a peer that is there did not answer
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    watch: Watch = field(default_factory=Watch)
    _opened: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Report:
        return self

    def __exit__(self, *_exception: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._opened.close()

    def peer(self, name: str, script: str, package: str, *arguments: str) -> Peer:
        """A peer's script in `benchmarks/peers/`, run in its own process by the first interpreter that has the peer."""
        path = self.folder / "peers" / script
        if self.leaves_out(name):
            return Peer(path, package)
        for python in self.peer_pythons or [sys.executable]:
            found = self._opened.enter_context(Peer(path, package, python, *arguments))
            if found.installed:
                return found
        raise _missing(name, f"pip install {package}, and --peer-python")

    def python_with(self, name: str, *modules: str) -> str | None:
        """The first interpreter that has all of these, of this one and those that were named; None if left out."""
        if self.leaves_out(name):
            return None
        for python in (sys.executable, *self.peer_pythons):
            if all(has_module(python, each) for each in modules):
                return python
        raise _missing(name, f"--peer-python names an environment with {', '.join(modules)}")

    def file(self, name: str, file: str) -> Path | None:
        """A table that is not made here, in the folder that `--data` or GIVEORTAKE_BENCH_DATA names."""
        if self.leaves_out(name):
            return None
        folder = self.table_folder or os.environ.get(DATA)
        if folder is None or not (Path(folder) / file).is_file():
            raise _missing(name, f"--data FOLDER, or the variable {DATA}, names a folder with {file}")
        return Path(folder) / file

    def leaves_out(self, name: str) -> bool:
        """Whether the user leaves out this peer or table."""
        return name.casefold() in {each.casefold() for each in self.without}

    def unanswered(self, what: str) -> None:
        """Something that a peer should have answered and did not: the run is saved, and fails."""
        self.missing.append(what)

    def measure(self, cases: Sequence[Case], rounds: int = 7, *, warm_up: bool = True) -> None:
        """Run every case's contestants in turns, `rounds` times after a warm-up, and record the medians."""
        ours: list[list[float]] = [[] for _ in cases]
        others: list[list[float]] = [[] for _ in cases]
        for turn in range(0 if warm_up else 1, 1 + (min(3, rounds) if self.quick else rounds)):
            for index, case in enumerate(cases):
                if self.progress is not None:
                    self.progress.says(f"{self.name}, round {turn}: {case.name}")
                seconds = case.ours()
                other = None if case.other is None else case.other()
                if turn:
                    ours[index].append(seconds)
                    others[index].extend([] if other is None else [other])
        for case, mine, theirs in zip(cases, ours, others, strict=True):
            self._record(case, median(mine), median(theirs) if theirs else None)

    def fact(
        self, case: str, value: str, *, other: str = "", ratio: str = "", goal: str = "", met: bool | None = None
    ) -> None:
        """Record something that is not a duration."""
        self.rows.append(Row(case, value, other, ratio, goal, met))

    def note(self, text: str) -> None:
        """A sentence below the table."""
        self.notes.append(text)

    def print(self) -> None:
        """The lines as a table, and the notes below it."""
        table = Table("case", title=self.name, title_justify="left", title_style="bold", pad_edge=False, box=None)
        for heading in ("ours", "peer or floor", "ratio", "goal", "met?"):
            table.add_column(heading, justify="left" if heading in {"peer or floor", "met?"} else "right")
        for row in self.rows:
            met = {True: "[green]yes[/]", False: "[bold red]no[/]", None: ""}[row.met]
            table.add_row(row.case, row.ours, row.other, row.ratio, row.goal, met)
        self.out.print(table)
        beside = disturbance(self.watch.others())
        for note in [*self.notes, *([f"{beside[0].upper()}{beside[1:]}."] if beside else [])]:
            self.out.print(f"[dim]{note}[/]")
        self.out.print()

    def save(self) -> Path:
        """Write what was measured, and under which circumstances, to `benchmarks/results`, over the run before it."""
        return results.save(
            self.folder,
            self.name,
            quick=self.quick,
            watch=self.watch,
            found={
                "rows": [asdict(row) for row in self.rows],
                "notes": self.notes,
                "terms": [asdict(each) for each in self.terms],
                "missing": self.missing,
            },
        )

    def _record(self, case: Case, ours: float, other: float | None) -> None:
        name = case.other_name
        if other is not None and not math.isfinite(other):
            self.unanswered(f"{name}: {case.name}")
            name, other = f"{name} **failed**", None
        missing = other is None and bool(name)
        ratio = "" if other is None else comparison(ours, other)
        self.rows.append(
            Row(
                case=case.name,
                ours=duration(ours * case.units),
                other=name if other is None else f"{name} {duration(other * case.units)}",
                ratio=ratio,
                goal="" if case.goal is None else case.goal.text,
                met=None
                if case.goal is None or missing
                else case.goal.met(ours * case.units, _times(other, case.units)),
                ours_seconds=ours * case.units,
                other_seconds=_times(other, case.units),
            )
        )


def timed(work: Callable[[], object], *, units: int = 1, calls: int = 1, batches: int = 1) -> Stopwatch:
    """A stopwatch around work of so many units: the median of `batches` batches of `calls` calls.

    Short work is measured in many small batches, so that most of them fit between two turns of other programs.
    """

    def seconds() -> float:
        return median(batch() for _ in range(batches))

    def batch() -> float:
        started = time.perf_counter()
        for _ in range(calls):
            work()
        return (time.perf_counter() - started) / (calls * units)

    return seconds


def comparison(ours: float, other: float) -> str:
    """How two durations compare, for people.

    >>> comparison(1, 2.5), comparison(4, 2), comparison(1, 1234)
    ('2.5× faster', '2× slower', '1,234× faster')
    """
    ratio, word = (other / ours, "faster") if other >= ours else (ours / other, "slower")
    return f"{ratio:,.0f}× {word}" if ratio >= 100 else f"{ratio:.{_SIGNIFICANT}g}× {word}"


def duration(seconds: float) -> str:
    """Seconds for people.

    >>> duration(0.0000123), duration(0.25), duration(75)
    ('12.3 µs', '250 ms', '75 s')
    """
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if abs(seconds) < limit:
            return f"{seconds * factor:.{_SIGNIFICANT}g} {unit}"
    return f"{seconds:.{_SIGNIFICANT}g} s"


def _missing(name: str, how: str) -> NotFound:
    return NotFound(f"{name} is missing: no comparison without it", hint=f"{how}; or leave it out: --without {name!r}")


def _times(seconds: float | None, units: int) -> float | None:
    return None if seconds is None else seconds * units
