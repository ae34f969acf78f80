"""Our answers, each with a durable ledger in a file of its own. Other engines' scripts say what they read instead."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, final

import questions
from contestant import main
from table import CATEGORIES, GREATEST, REGIONS

import giveortake as gt

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.answers import Answer
    from giveortake.session.session import Session

REGION = {"region": [f"region_{index:02d}" for index in range(REGIONS)]}
CATEGORY = {"category": [f"category_{index:04d}" for index in range(CATEGORIES)]}
AMOUNT = {"amount": (0, GREATEST)}
PERSON: dict[str, Any] = {
    "unit": "user_id",
    "caps": {"groups_per_person": questions.GROUPS, "rows_per_group": questions.ROWS},
    "domains": REGION | CATEGORY | AMOUNT,
}
ONE_ROW_EACH: dict[str, Any] = PERSON | {"caps": PERSON["caps"] | {"rows_per_group": 1}, "domains": AMOUNT}
TWO_ROWS: dict[str, Any] = PERSON | {"caps": {"groups_per_person": 2, "rows_per_group": 1}, "domains": AMOUNT}
FEW_ROWS: dict[str, Any] = {
    "unit": "user_id",
    "rows_per_person": questions.KEPT_ROWS,
    "domains": REGION | CATEGORY | AMOUNT,
}
ROW: dict[str, Any] = {"unit": gt.ROW, "domains": REGION | CATEGORY | AMOUNT}
EPSILON: dict[str, Any] = {"epsilon": questions.EPSILON}
KEY_DELTA: dict[str, Any] = EPSILON | {"key_delta": questions.KEY_DELTA}
WEIGHTS: dict[str, Any] = EPSILON | {"delta": questions.KEY_DELTA, "aim": "groups"}

SUMS = questions.by_category(questions.OURS)
OTHER = questions.by_other_key(questions.OURS)
FILTERED = questions.by_category(questions.OURS, f"WHERE {questions.FILTER}")


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """One answer that is timed: how the table is protected, the text, its price, and what was asked before."""

    options: dict[str, Any]
    text: str
    price: dict[str, Any] = field(default_factory=EPSILON.copy)
    first: str | None = None


ANSWERS = {
    "count": Asked(ROW, questions.by_region()),
    "sums": Asked(ROW, SUMS),
    "persons": Asked(PERSON, SUMS),
    "persons again": Asked(PERSON, SUMS, first=SUMS),
    "persons other": Asked(PERSON, OTHER, first=SUMS),
    "prepared first": Asked(FEW_ROWS, SUMS),
    "prepared other": Asked(FEW_ROWS, OTHER, first=SUMS),
    "prepared filtered": Asked(FEW_ROWS, FILTERED, first=OTHER),
    "discovered": Asked(ONE_ROW_EACH, questions.by_category_and_day(), KEY_DELTA),
    "two groups": Asked(TWO_ROWS, questions.by_category_and_day(), KEY_DELTA),
    "weights": Asked(ONE_ROW_EACH, questions.by_category_and_day(), WEIGHTS),
    "quantiles": Asked(ROW, questions.quantiles("QUANTILE")),
}
_TURN = count(1)


def protect(source: Any, options: dict[str, Any]) -> Session:
    ledger = Path(tempfile.mkdtemp(prefix="giveortake-bench-")) / "ledger.db"
    return gt.protect(source, name="payments", budget=gt.ApproxDP("100", "1e-5"), ledger=ledger, **options)


def other_price() -> str:
    """Another ε each time for what is not timed, so that nothing of it is remembered when the stated ε is asked."""
    return f"1.{next(_TURN)}"


def answer(session: Session, asked: Asked, **price: Any) -> Answer:
    """The answer to a question, at the stated price unless another one is named."""
    return session.sql(asked.text).answer(**asked.price | price)


def shape(found: Answer) -> dict[str, Any]:
    """How many rows were released, and half of the mean width of the intervals of their numbers."""
    columns: dict[str, Any] = found.to_dict()
    widths = [high - low for low, high in zip(columns.get("n_low", ()), columns.get("n_high", ()), strict=True)]
    return {"rows": len(found), "margin": fmean(widths) / 2 if widths else None}


def tasks(
    source: Callable[[str], Any] = str, *, is_warm_up: bool = False
) -> dict[str, Callable[[str], Callable[[], Any]]]:
    """What can be timed; `source` makes of a file's path what is protected."""

    def task(asked: Asked, path: str) -> Callable[[], Callable[[], dict[str, Any]]]:
        """Protect, perhaps answer another question, and then be timed."""
        session = protect(source(path), asked.options)
        if asked.first is not None:
            session.sql(asked.first).answer(epsilon=other_price())
        price = {"epsilon": other_price()} if is_warm_up else {}

        def work() -> Callable[[], dict[str, Any]]:
            return partial(shape, answer(session, asked, **price))

        return work

    def quote(path: str) -> Callable[[], int]:
        session = protect(source(path), PERSON)
        return lambda: len(str(session.sql(SUMS).quote(epsilon=other_price())))

    def protected(path: str) -> Callable[[], int]:
        return lambda: len(repr(protect(source(path), PERSON)))

    answers = {name: partial(task, asked) for name, asked in ANSWERS.items()}
    return answers | {"protect": protected, "quote": quote}


if __name__ == "__main__":
    main(tasks(), tasks(is_warm_up=True))
