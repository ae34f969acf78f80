"""Answers from Spark and PostgreSQL: beside Tumult on the same Spark, and how cost grows with rows, people and keys.

Every measurement is a process of its own, which warms up on a small table and then works once. There are four million
rows unless `--rows` says otherwise; of more, one question is enough. Growth is kept in `docs/figures/growth.json`, from
which the chart is drawn.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from harness.report import Case, faster

if TYPE_CHECKING:
    from harness.report import Report

FOLDER = Path(__file__).parent
sys.path += [str(FOLDER), str(FOLDER / "queries")]

from table import folder, payments  # noqa: E402 (beside this file)

import bench_queries  # noqa: E402 (likewise)
from bench_queries import SMALL, Contest, Contestant, sides  # noqa: E402 (likewise)

QUICK, USUAL = 1_000_000, 4_000_000
ON_SPARK, ON_POSTGRES = "ours_on_spark.py", "ours_on_postgres.py"
GROWTH = FOLDER.parent / "docs" / "figures" / "growth.json"
BASE = 4_000_000  # rows while something else grows
TASKS = {task: bench_queries.TASKS[task] for task in ("persons", "discovered", "count")}
TERMS = [each for task in TASKS for each in sides(task) if each.side != "OpenDP"]


def run(report: Report) -> None:
    beside_peers(report, report.table_rows or (QUICK if report.quick else USUAL))
    if not report.quick:
        growth(report)


def beside_peers(report: Report, rows: int) -> None:
    contest = Contest(report, rows)
    cases = []
    watched = {}
    for task, name in list(TASKS.items())[: None if rows <= USUAL else 1]:
        mine = watched[name] = contest.contestant(ON_SPARK, task)
        cases.append(
            Case(f"Spark, {rows:,} rows: {name}", mine, *contest.tumult(task, faster(5) if task == "persons" else None))
        )
        if rows <= USUAL:
            cases.append(Case("  the same", mine.last, "ours on DuckDB", contest.contestant("ours.py", task)))
    if rows <= USUAL:
        few = Contest(report, min(rows, QUICK))  # every process writes the table first
        cases.extend(
            Case(
                f"PostgreSQL, {min(rows, QUICK):,} rows: {name}",
                few.contestant(ON_POSTGRES, task),
                "ours on DuckDB",
                few.contestant("ours.py", task),
            )
            for task, name in TASKS.items()
        )
    cases.append(Case("Spark: protect (one scan for the fingerprint)", contest.contestant(ON_SPARK, "protect")))
    report.measure(cases, rounds=3 if rows <= USUAL else 1, warm_up=False)
    for name, mine in watched.items():
        report.note(
            f"{rows:,} rows, {name}: driver and JVM together at most {max(mine.peaks, default=0) / 2**30:.1f} GB"
        )


def growth(report: Report) -> None:
    """One thing grows fourfold at a time; the time of each, once."""
    where = folder(report.table_folder)
    small = payments(SMALL, where)
    found = []
    for what, size, options, task in variants():
        table = payments(options.pop("rows", BASE), where, **options)
        seconds = Contestant(ON_SPARK, task, table, small, sys.executable)()
        found.append({"what": what, "size": size, "seconds": seconds})
        report.fact(f"Spark, {what} {size:,}", f"{seconds:.2f} s")
    GROWTH.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def variants() -> list[tuple[str, int, dict[str, int], str]]:
    rows = [BASE // 4, BASE, 4 * BASE]
    people = [BASE // 640, BASE // 160, BASE // 40, BASE // 10, BASE // 2]
    categories = [40, 200, 1_000, 4_000]
    return [
        *(("rows", each, {"rows": each}, "persons") for each in rows),
        *(("people", each, {"people": each}, "persons") for each in people),
        *(("possible keys", 365 * each, {"categories": each}, "discovered") for each in categories),
    ]
