"""Our answers, each with a durable ledger in a file of its own. Other engines' scripts say what they read instead."""

from __future__ import annotations

import tempfile
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import questions
from contestant import main
from table import CATEGORIES, GREATEST, REGIONS

import giveortake as gt

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.session.session import Session

REGION = {"region": [f"region_{index:02d}" for index in range(REGIONS)]}
CATEGORY = {"category": [f"category_{index:04d}" for index in range(CATEGORIES)]}
AMOUNT = {"amount": (0, GREATEST)}
PERSON: dict[str, Any] = {
    "unit": "user_id",
    "groups_per_person": questions.GROUPS,
    "rows_per_group": questions.ROWS,
    "domains": REGION | CATEGORY | AMOUNT,
}
ONE_ROW_EACH: dict[str, Any] = PERSON | {"rows_per_group": 1, "domains": AMOUNT}
FEW_ROWS: dict[str, Any] = {
    "unit": "user_id",
    "rows_per_person": questions.KEPT_ROWS,
    "domains": REGION | CATEGORY | AMOUNT,
}
ROW: dict[str, Any] = {"unit": gt.ROW, "domains": REGION | CATEGORY | AMOUNT}


_TURN = count(1)


def protect(source: Any, options: dict[str, Any]) -> Session:
    ledger = Path(tempfile.mkdtemp(prefix="giveortake-bench-")) / "ledger.db"
    return gt.protect(source, name="payments", budget=gt.ApproxDP("100", "1e-6"), ledger=ledger, **options)


def price() -> str:
    """Another ε each time, so that nothing is remembered of an earlier question, nor of the warm-up."""
    return f"1.{next(_TURN)}"


def ask(session: Session, text: str, **options: Any) -> int:
    return len(session.sql(text).answer(epsilon=price(), **options))


SUMS = questions.by_category(questions.OURS)
OTHER = questions.by_other_key(questions.OURS)
FILTERED = questions.by_category(questions.OURS, f"WHERE {questions.FILTER}")


def tasks(source: Callable[[str], Any] = str) -> dict[str, Callable[[str], Callable[[], int]]]:
    """What can be timed; `source` makes of a file's path what is protected."""

    def task(
        options: dict[str, Any], text: str, first: str | None = None, **more: Any
    ) -> Callable[[str], Callable[[], int]]:
        """Protect, perhaps answer another question, and then be timed."""

        def prepared(path: str) -> Callable[[], int]:
            session = protect(source(path), options)
            if first is not None:
                ask(session, first, **more)
            return partial(ask, session, text, **more)

        return prepared

    def quote(path: str) -> Callable[[], int]:
        session = protect(source(path), PERSON)
        return lambda: len(str(session.sql(SUMS).quote(epsilon=price())))

    def protected(path: str) -> Callable[[], int]:
        return lambda: len(repr(protect(source(path), PERSON)))

    def found(path: str) -> Callable[[], int]:
        """How many keys are shown at the very promise that OpenDP is asked for."""
        session = protect(source(path), ONE_ROW_EACH)
        return lambda: len(session.sql(questions.by_category_and_day()).answer(epsilon="1", delta="1e-7"))

    return {
        "count": task(ROW, questions.by_region()),
        "sums": task(ROW, SUMS),
        "persons": task(PERSON, SUMS),
        "persons again": task(PERSON, SUMS, first=SUMS),
        "persons other": task(PERSON, OTHER, first=SUMS),
        "prepared first": task(FEW_ROWS, SUMS),
        "prepared other": task(FEW_ROWS, OTHER, first=SUMS),
        "prepared filtered": task(FEW_ROWS, FILTERED, first=OTHER),
        "discovered": task(ONE_ROW_EACH, questions.by_category_and_day(), key_delta="1e-7"),
        "found": found,
        "quantiles": task(ROW, questions.quantiles("QUANTILE")),
        "protect": protected,
        "quote": quote,
    }


if __name__ == "__main__":
    main(tasks())
