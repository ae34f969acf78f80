"""What tests see of a session that analysts do not: its engine, its ledger, and measurements before they are paid."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

from giveortake.answers import Answer
from giveortake.codec import stored
from giveortake.compile import Caps, Measurement, Spend, Terms
from giveortake.learn.noisy_sums import FitRequest, Fitting
from giveortake.ledger import Ledger
from giveortake.session import Session
from giveortake.session.kinds.learning_data import LearningData
from giveortake.session.kinds.runs import AdaptiveRun, BoundPlan, PlannedRun, Run
from giveortake.session.quotes import Quote
from giveortake.session.releases import released_tables
from giveortake.session.requests import Priced
from giveortake.session.session import mechanism_of


def engine_of(session: Session) -> Any:
    """The engine, with whatever it has besides the protocol."""
    return mechanism_of(session).engine


def ledger_of(session: Session) -> Ledger:
    return mechanism_of(session).ledger


def tables_of(session: Session, release_id: str) -> list[Answer]:
    """All tables of a release."""
    return list(released_tables(mechanism_of(session), release_id))


def line_of(quote: Quote, *columns: str) -> dict[str, Any]:
    """The line of a table in the quote of a workload, by its columns."""
    (line,) = (line for line in quote.lines if line["of"] == "n" and set(line["table"]) == set(columns))
    return dict(line)


def measured(session: Session, text: str, spend: Spend, caps: Caps | None = None) -> Measurement:
    """The measurement that such a spend buys, under the custodian's caps unless others are stated."""
    mechanism = mechanism_of(session)
    return mechanism.measured(session.sql(text).question, caps or session.describe().caps, spend)


@final
@stored("steered run")
@dataclass(frozen=True)
class SteeredRun(Fitting):
    """A run that is not planned, but steered from outside."""

    def planned(self, data: LearningData, spend: Spend, n: int | None = None) -> PlannedRun:
        raise NotImplementedError


@contextmanager
def begun(run: Run, key: str | None = None) -> Iterator[AdaptiveRun]:
    """A run that a test steers: it is charged, and what it drew before is there."""
    request = FitRequest(SteeredRun(), run.relation)
    bound = BoundPlan(request, run.mechanism, lambda _: PlannedRun(run, lambda adaptive_run: adaptive_run))
    with run.mechanism.steps(Priced(bound, bound.at(run.spend)), Terms.of({}), key) as steps:
        yield AdaptiveRun(run, steps)
