"""What `import giveortake` costs beyond `import numpy`, in fresh processes, and what it loads."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from harness.report import Case, Report, above_floor

HEAVY = {
    "altair",
    "cryptography",
    "duckdb",
    "fastapi",
    "flask",
    "jinja2",
    "matplotlib",
    "opendp",
    "pandas",
    "polars",
    "psycopg",
    "pyarrow",
    "pyspark",
    "rich",
    "scipy",
    "sklearn",
    "sqlglot",
    "uvicorn",
}
TIMED = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
LOADED = "import sys, giveortake; print(*{{name.partition('.')[0] for name in sys.modules}} & {heavy!r})"


def run(report: Report) -> None:
    report.measure(
        [
            Case(
                "import giveortake",
                partial(seconds_to_import, "giveortake"),
                "import numpy",
                partial(seconds_to_import, "numpy"),
                above_floor(0.20),
            )
        ],
        rounds=15,
    )
    difference = (report.rows[-1].ours_seconds or 0) - (report.rows[-1].other_seconds or 0)
    report.fact("difference", f"{1000 * difference:.0f} ms")
    loaded = fresh(LOADED.format(heavy=HEAVY))
    report.fact("heavy modules loaded", loaded or "none", goal="none", met=not loaded)


def seconds_to_import(module: str) -> float:
    return float(fresh(TIMED.format(module)))


def fresh(code: str) -> str:
    """What a fresh interpreter prints when it runs this code."""
    child = subprocess.run(  # noqa: S603 (our own code)
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    return child.stdout.strip()
