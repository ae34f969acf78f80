"""What benchmarks measured, as JSON: the last whole run of each and the last quick one, in `benchmarks/results`.

Runs that `giveortake bench report` started know their report: the time at which it began.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from giveortake import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from harness.processors import Watch

REPORT = "GIVEORTAKE_BENCH_REPORT"  # the variable by which a benchmark is told its report
Run = dict[str, Any]
_EARLIER = {"report": "", "seconds": None, "others": None}  # what runs did not know before there were reports


def circumstances() -> Run:
    """When, with what and on what something is measured now."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"giveortake": __version__, "Python": platform.python_version(), "NumPy": np.__version__},
        "machine": f"{os.cpu_count()} processors, {platform.machine()}, {platform.system()}",
    }


def save(folder: Path, name: str, *, quick: bool, watch: Watch, found: Run) -> Path:
    """Write a run over the last one of its kind."""
    target = _place(folder, name, quick=quick)
    target.parent.mkdir(exist_ok=True)
    said = " ".join(["giveortake", *(word for word in _public(sys.argv[1:]) if word != "--save")])
    took = {"report": os.environ.get(REPORT, ""), "seconds": round(watch.seconds()), "others": watch.others()}
    run = {"name": name, "command": said, "quick": quick} | circumstances() | took | found
    target.write_text(json.dumps(run, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return target


def last(folder: Path, name: str) -> Run | None:
    """The run of the last report, else the last run outside of one: of this version, and a whole one before a quick."""
    places = [_place(folder, name, quick=quick) for quick in (False, True)]
    runs: list[Run] = [_EARLIER | json.loads(place.read_text(encoding="utf-8")) for place in places if place.exists()]
    mine = [run for run in runs if run["versions"]["giveortake"] == __version__]
    return max(mine, key=lambda run: (run["report"], not run["quick"]), default=None)


def _place(folder: Path, name: str, *, quick: bool) -> Path:
    return folder / "results" / f"{name}{'-quick' if quick else ''}.json"


def _public(words: list[str]) -> list[str]:
    """The command without the paths of this machine."""
    hidden = {"--peer-python": "PYTHON", "--data": "FOLDER"}
    said = [
        hidden.get(before, word) if not word.startswith("-") else word
        for before, word in zip(["", *words], words, strict=False)
    ]
    first = said.index("--peer-python") if "--peer-python" in said else len(said)
    return [*said[: first + 2], *_without_peers(said[first + 2 :])]


def _without_peers(words: list[str]) -> list[str]:
    """The rest of a command that has named one interpreter: others are said in the same way."""
    before = ["", *words]
    return [word for word, last in zip(words, before, strict=False) if "--peer-python" not in {word, last}]
