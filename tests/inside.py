"""What tests see of a session that analysts do not: its engine, its ledger, and measurements before they are paid."""

from __future__ import annotations

from typing import Any

from giveortake.compile import Measurement, Spend
from giveortake.ledger import Ledger
from giveortake.session import Session
from giveortake.session.session import mechanism_of


def engine_of(session: Session) -> Any:
    """The engine, with whatever it has besides the protocol."""
    return mechanism_of(session).engine


def ledger_of(session: Session) -> Ledger:
    return mechanism_of(session).ledger


def measured(session: Session, text: str, spend: Spend) -> Measurement:
    """The measurement that such a spend buys."""
    return mechanism_of(session).measure(session.sql(text).question, spend)
