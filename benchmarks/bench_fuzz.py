"""Random questions on neighbouring tables: whether a heavy person decides an outcome."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from random_questions import LITTLE, LONG, ROWS_OF_HEAVIEST, ROWS_OF_HEAVY, Fuzz, fuzz

if TYPE_CHECKING:
    from harness.report import Report

AT_ONCE = 250  # questions between two lines of progress


def run(report: Report) -> None:
    ask(report, 500 if report.quick else 10_000, ROWS_OF_HEAVY)
    ask(report, 50 if report.quick else 1_000, ROWS_OF_HEAVIEST)


def ask(report: Report, count: int, rows: int) -> None:
    """So many questions; the heavy person has so many rows, each with a text that is longer than what is read."""
    found = Fuzz()
    for start in range(0, count, AT_ONCE):
        some = fuzz(min(AT_ONCE, count - start), f"bench {start}", rows=rows)
        found.kinds.update(some.kinds)
        found.differences += some.differences
        if report.out.is_terminal:
            report.out.print(f"[dim]{start} questions, {len(found.differences)} differences[/]", end="\r")
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in found.kinds.most_common())
    report.fact(
        f"{count:,} questions, {rows:,} rows × {LONG:,} characters of one person, {LITTLE}: outcomes that differ",
        f"{len(found.differences)}",
        goal="0",
        met=not found.differences,
    )
    for each in found.differences[:10]:
        report.note(each)
    report.note(f"Without the heavy person: {kinds}.")
