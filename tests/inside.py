"""What tests see of a session that analysts do not: its engine, its ledger, and measurements before they are paid."""

from __future__ import annotations

from typing import Any

from giveortake.compile import Caps, Measurement, Spend
from giveortake.ledger import Ledger
from giveortake.session import Session
from giveortake.session.quotes import Quote
from giveortake.session.session import mechanism_of


def engine_of(session: Session) -> Any:
    """The engine, with whatever it has besides the protocol."""
    return mechanism_of(session).engine


def ledger_of(session: Session) -> Ledger:
    return mechanism_of(session).ledger


def line_of(quote: Quote, *columns: str) -> dict[str, Any]:
    """The line of a table in the quote of a workload, by its columns."""
    (line,) = (line for line in quote.lines if line["of"] == "n" and set(line["table"]) == set(columns))
    return dict(line)


def measured(session: Session, text: str, spend: Spend, caps: Caps | None = None) -> Measurement:
    """The measurement that such a spend buys, under the custodian's caps unless others are stated."""
    mechanism = mechanism_of(session)
    return mechanism.measured(session.sql(text).question, caps or session.caps, spend)
