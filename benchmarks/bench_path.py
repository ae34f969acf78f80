"""How far one question walks through the source: files, rooms, and how often it leaves `session`.

Counted is the first `s.sql(text).answer(epsilon=…)` of a fresh process, after `gt.protect`:

- *files* of the package in which a function is called. What runs while a module is imported does not count; methods
  that Python generates for data classes have no file.
- *crossings*: calls, and generators taken up again, from a function of one room into one of another. Where another
  library lies between, the nearest function of the package counts as the caller.
- *exits of session*: those crossings that start in `session`.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import giveortake as gt

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from harness.report import Report

QUESTION = "SELECT region, COUNT(*) AS n, AVG(amount) AS mean FROM trips GROUP BY region"
REGIONS = ["north", "south", "east"]
ROOT = f"{Path(gt.__file__).parent}/"
MOST_FILES, MOST_EXITS = 45, 20


def run(report: Report) -> None:
    # A process of its own, so that nothing is remembered from earlier questions.
    child = subprocess.run(  # noqa: S603 (this file)
        [sys.executable, __file__], check=True, capture_output=True, text=True
    )
    found = json.loads(child.stdout)
    files, exits = len(found["files"]), sum(found["exits"].values())
    report.fact("files", str(files), goal=f"≤ {MOST_FILES}", met=files <= MOST_FILES)
    report.fact("crossings between rooms", str(found["crossings"]))
    report.fact("exits of session", str(exits), goal=f"≤ {MOST_EXITS}", met=exits <= MOST_EXITS)
    rooms = Counter(room_of(each) for each in found["files"])
    report.note("Files by room: " + ", ".join(f"{room} {count}" for room, count in rooms.most_common()) + ".")
    report.note("Exits: " + ", ".join(f"{name} ×{count}" for name, count in found["exits"].items()) + ".")


@final
class Walk:
    """Follows one thread through the package by `sys.setprofile`."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.crossings: Counter[tuple[str, str]] = Counter()  # the caller's room, the function called
        self._callers: list[str | None] = []  # the file of every function that runs, None outside the package
        self._imports = 0

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            self._enter(frame.f_code)
        elif event == "return" and self._callers:
            self._callers.pop()
            self._imports -= frame.f_code.co_name == "<module>"

    def _enter(self, code: CodeType) -> None:
        self._imports += code.co_name == "<module>"
        inside = code.co_filename.startswith(ROOT)
        file = code.co_filename.removeprefix(ROOT) if inside else None
        caller = next((each for each in reversed(self._callers) if each is not None), None)
        self._callers.append(file)
        if file is None or self._imports:
            return
        self.files.add(file)
        if caller is not None and room_of(caller) != room_of(file):
            self.crossings[room_of(caller), f"{file.removesuffix('.py')}:{code.co_qualname}"] += 1


def room_of(file: str) -> str:
    return file.partition("/")[0].removesuffix(".py")


def walk() -> dict[str, Any]:
    """One question, followed."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "trips.csv"
        with table.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["user_id", "region", "amount"])
            writer.writerows([f"u{row % 500}", REGIONS[row % 3], float(row % 90)] for row in range(2000))
        domains = {"region": REGIONS, "amount": (0, 100)}
        with gt.protect(
            table, unit="user_id", budget=gt.ApproxDP("5", "1e-6"), domains=domains, rows_per_person=4
        ) as session:
            followed = Walk()
            sys.setprofile(followed)
            try:
                session.sql(QUESTION).answer(epsilon="0.5")
            finally:
                sys.setprofile(None)
    return {
        "files": sorted(followed.files),
        "crossings": sum(followed.crossings.values()),
        "exits": {name: count for (room, name), count in followed.crossings.items() if room == "session"},
    }


if __name__ == "__main__":
    print(json.dumps(walk()))
