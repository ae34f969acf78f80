"""Expiry of tokens and approvals: the only thing in a ledger that the clock decides."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import TypeAlias

from giveortake.advice import Advice
from giveortake.errors import InvalidParameter

Expiry: TypeAlias = "datetime | timedelta | str"

_HINT = Advice("{moment}")


def expiry(said: Expiry, now: datetime) -> str:
    """The moment of an expiry as an entry holds it, in UTC. A day alone means its end; the past is refused.

    >>> expiry("2027-01-31", datetime(2026, 12, 1, tzinfo=UTC))
    '2027-01-31T23:59:59.999999+00:00'
    """
    try:
        found = _moment(said, now)
    except (ValueError, OverflowError):
        found = None
    if found is None:
        raise InvalidParameter("expires", said, "is not a date or a time", hint=_HINT)
    if found <= now:
        raise InvalidParameter("expires", said, "is in the past", hint=_HINT)
    return found.isoformat()


def has_passed(expires: str | None, now: datetime) -> bool:
    """Whether an expiry has passed; None never does."""
    return expires is not None and datetime.fromisoformat(expires) <= now


def _moment(said: object, now: datetime) -> datetime | None:
    if isinstance(said, timedelta):
        return now + said
    if isinstance(said, str):
        found = datetime.fromisoformat(said)
        said = found.date() if len(said) <= len("2027-01-31") else found
    if isinstance(said, datetime):
        return None if said.tzinfo is None else said.astimezone(UTC)
    return datetime.combine(said, time.max, UTC) if isinstance(said, date) else None
