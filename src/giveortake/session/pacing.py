"""A pace for a session that somebody serves: see `giveortake.ledger.paces`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.ledger.paces import Pace

if TYPE_CHECKING:
    from giveortake.session.session import Session


def keep_pace(session: Session, seconds: float) -> None:
    """Write what becomes of this session's charges, and its analysts', on a beat. One question is asked at a time."""
    session._mechanism.ledger.pace = Pace(seconds)  # noqa: SLF001 (the one way in)
