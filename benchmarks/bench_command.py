"""A question on the command line, asked again of a CSV file of 31 MB, with and without its loaded copy."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from harness.report import Case, Report, below, faster

BYTES = 31_000_000
QUESTION = "SELECT carrier, COUNT(*) AS n, AVG(delay) AS mean FROM flights GROUP BY carrier"
OTHER = "SELECT carrier, COUNT(*) AS n FROM flights WHERE delay > {} GROUP BY carrier"
SAID = (
    *("--unit", "tailnum", "--budget", "1000", "--epsilon", "0.1", "--rows-per-person", "200"),
    *("--domain", "carrier=AA,B6,DL,EV,UA", "--domain", "delay=0:100"),
)
LIBRARIES = "import duckdb, numpy, sqlglot, sqlglot.dialects.duckdb"


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_flights(Path(folder) / "flights.csv")
        asked = partial(seconds_of, path, QUESTION)
        report.fact("the file", f"{path.stat().st_size / 1e6:.0f} MB of CSV")
        report.fact("the first call, which also keeps the copy", f"{asked():.2f} s")
        report.measure(
            [
                Case("the same question again", asked, "--no-cache", partial(asked, "--no-cache"), below(1.0)),
                Case("the same again", asked, "the libraries alone", partial(seconds_of_libraries, path.parent)),
            ],
            rounds=7,
        )
        new = iter(range(10**6))
        report.measure(
            [
                Case(
                    "another question",
                    lambda: seconds_of(path, OTHER.format(next(new))),
                    "--no-cache",
                    lambda: seconds_of(path, OTHER.format(next(new)), "--no-cache"),
                    faster(1),
                )
            ],
            rounds=5,
        )


def write_flights(path: Path) -> Path:
    """Flights of 4,043 aircraft, drawn by numpy: carrier, aircraft, day, delay, distance."""
    draw = np.random.default_rng(14)
    rows = BYTES // 42
    carriers = np.array(["AA", "B6", "DL", "EV", "UA"])[draw.integers(0, 5, rows)]
    days = (np.datetime64("2013-01-01") + draw.integers(0, 365, rows)).astype(str)
    columns = (
        np.char.add("N", draw.integers(10_000, 14_043, rows).astype(str)),
        carriers,
        days,
        np.char.mod("%.3f", draw.normal(10, 30, rows)),
        draw.integers(50, 3000, rows).astype(str),
        draw.integers(0, 2400, rows).astype(str),
    )
    with path.open("w", encoding="utf-8") as file:
        file.write("tailnum,carrier,day,delay,distance,at\n")
        file.writelines(",".join(row) + "\n" for row in zip(*columns, strict=True))
    return path


def seconds_of(path: Path, question: str, *options: str) -> float:
    command = [sys.executable, "-m", "giveortake", "query", str(path), question, *SAID, *options]
    return _seconds(command, path.parent)


def seconds_of_libraries(folder: Path) -> float:
    return _seconds([sys.executable, "-c", LIBRARIES], folder)


def _seconds(command: list[str], folder: Path) -> float:
    """The time of a command, whose modules are compiled as an installation's are."""
    names = ("GIVEORTAKE_STATE", "XDG_CACHE_HOME", "PYTHONPYCACHEPREFIX")
    environment = os.environ | {name: str(folder / name) for name in names}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)  # noqa: S603 (our own)
    return time.perf_counter() - started
