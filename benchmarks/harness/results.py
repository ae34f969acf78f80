"""What benchmarks measured, as JSON: the last whole run of each and the last quick one, in `benchmarks/results`."""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from giveortake import __version__

if TYPE_CHECKING:
    from pathlib import Path

Run = dict[str, Any]


def circumstances() -> Run:
    """When, with what, and beside how much other work something is measured now."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"giveortake": __version__, "Python": platform.python_version(), "NumPy": np.__version__},
        "machine": f"{os.cpu_count()} processors, {platform.machine()}, {platform.system()}",
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else 0.0,
    }


def save(folder: Path, name: str, *, quick: bool, found: Run) -> Path:
    """Write a run over the last one of its kind."""
    target = _place(folder, name, quick=quick)
    target.parent.mkdir(exist_ok=True)
    said = " ".join(["giveortake", *(word for word in _public(sys.argv[1:]) if word != "--save")])
    run = {"name": name, "command": said, "quick": quick} | circumstances() | found
    target.write_text(json.dumps(run, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return target


def last(folder: Path, name: str) -> Run | None:
    """The last whole run of this version, else the last quick one of it, else nothing."""
    for quick in (False, True):
        place = _place(folder, name, quick=quick)
        if place.exists():
            run: Run = json.loads(place.read_text(encoding="utf-8"))
            if run["versions"]["giveortake"] == __version__:
                return run
    return None


def is_younger(run: Run, hours: float) -> bool:
    """Whether a run is at most so old."""
    return datetime.now(UTC) - datetime.fromisoformat(run["time"]) <= timedelta(hours=hours)


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
