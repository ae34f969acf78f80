"""Random questions on neighbouring tables: whether a heavy person decides an outcome, and how well limits hold."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import giveortake as gt
from giveortake.errors import GiveOrTakeError, QueryFailed
from harness.report import Report, duration

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from evil_tables import DOMAINS, SCHEMA, VISITS_DOMAINS, VISITS_SCHEMA, Row, frame
from query_shapes import shapes_of
from random_questions import LITTLE, Fuzz, Questions, fuzz, light_rows
from replay import ZONES

if TYPE_CHECKING:
    from giveortake.session import Session

SECONDS = 0.2
ROWS = 400_000
AT_ONCE = 250  # questions between two lines of progress


def run(report: Report) -> None:
    count = 500 if report.quick else 10_000
    found = Fuzz()
    for start in range(0, count, AT_ONCE):
        some = fuzz(min(AT_ONCE, count - start), f"bench {start}")
        found.kinds.update(some.kinds)
        found.differences += some.differences
        if report.out.is_terminal:
            report.out.print(f"[dim]{start} questions, {len(found.differences)} differences[/]", end="\r")
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in found.kinds.most_common())
    report.fact(
        f"{count:,} questions, {LITTLE}: outcomes that differ",
        f"{len(found.differences)}",
        goal="0",
        met=not found.differences,
    )
    for each in found.differences[:10]:
        report.note(each)
    report.note(f"Without the heavy person: {kinds}.")
    exceed(report, 40 if report.quick else 400)


def exceed(report: Report, count: int) -> None:
    """Ask what takes longer than there is time: every shape, and random questions."""
    questions = Questions(random.Random("limits"))  # noqa: S311 (which questions are tried need not be secret)
    asked = {
        "every shape": list(shapes_of(by_person=True).values()),
        "random questions": [questions.text() for _ in range(count)],
    }
    with _large(ROWS // 4 if report.quick else ROWS) as session:
        _taken(session, "SELECT COUNT(*) AS n FROM data")  # what is imported when it is first needed
        for name, texts in asked.items():
            most, ended = 0.0, {"answered": 0, "failed": 0, "refused": 0}
            for text in texts:
                taken, outcome = _taken(session, text)
                ended[outcome] += 1
                most = max(most, taken - SECONDS)
            report.fact(f"{name}: the most beyond {duration(SECONDS)}", duration(most), goal="< 1 s", met=most < 1)
            report.note(f"{name}: " + ", ".join(f"{number} {outcome}" for outcome, number in ended.items()) + ".")


def _taken(session: Session, text: str) -> tuple[float, str]:
    """How long a question took, from its text to its end, and how it ended."""
    started = time.perf_counter()
    spend: dict[str, Any] = {"epsilon": 1}
    outcome = "answered"
    try:
        question = session.sql(text)
        question.answer(**spend, **({"key_delta": "1e-9"} if question.question.finds_keys else {}))
    except QueryFailed as failed:
        outcome = "failed"
        if failed.cause != "time":
            raise
    except GiveOrTakeError:
        outcome = "refused"
    return time.perf_counter() - started, outcome


def _large(rows: int) -> Session:
    """The rows of evil tables, over and over, as those of many persons."""
    few, few_visits = light_rows(random.Random("large"))  # noqa: S311 (which rows are tried need not be secret)
    return gt.protect(
        {"data": _repeated(few, SCHEMA, rows), "visits": _repeated(few_visits, VISITS_SCHEMA, rows)},
        unit="p",
        budget=gt.ApproxDP(10**9, "1e-3"),
        domains={"data": DOMAINS, "visits": VISITS_DOMAINS},
        public={"zones": ZONES},
        groups_per_person=5,
        rows_per_group=5,
        failures=10**6,
        seconds=SECONDS,
    )


def _repeated(rows: list[Row], schema: dict[str, Any], count: int) -> pl.DataFrame:
    """So many rows; each time that they are repeated, persons and texts are others."""
    times = -(-count // len(rows))
    table = frame(rows, schema)
    return pl.concat(
        [
            table.with_columns(
                pl.col("p") + 1_000_000 * turn,
                *([pl.concat_str([pl.col("q"), pl.lit(f" {turn}")])] if "q" in schema else []),
            )
            for turn in range(times)
        ]
    ).head(count)
