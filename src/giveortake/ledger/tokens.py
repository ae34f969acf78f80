"""Access tokens, and when they and approvals expire, which is all that the clock decides in a ledger.

A token is `got_<id>_<secret>`: 64 random bits that name it, and 256 that prove who is asking. It is shown once; the
ledger holds the SHA-256 of its text. Passwords need a slow hash because people choose them out of few; of 2²⁵⁶ secrets
drawn by the operating system nobody guesses one however fast the hash is, so that a slow one would only make every
request slower.
"""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, TypeAlias, final, get_args

from giveortake.errors import AccessDenied, InvalidParameter, NotFound
from giveortake.ledger.chain.entries import digest, named
from giveortake.ledger.chain.state import TokenRole

if TYPE_CHECKING:
    from giveortake.ledger.chain.chain import Transaction
    from giveortake.ledger.chain.state import Token


Expiry: TypeAlias = "datetime | timedelta | str"

_MOMENT = 'expires="2027-01-31", or expires="2027-01-31T12:00:00+00:00"'


def expiry(expires: Expiry, now: datetime) -> str:
    """The moment of an expiry as an entry holds it, in UTC. A day alone means its end; the past is refused.

    >>> expiry("2027-01-31", datetime(2026, 12, 1, tzinfo=UTC))
    '2027-01-31T23:59:59.999999+00:00'
    """
    try:
        moment = _moment(expires, now)
    except (ValueError, OverflowError):
        moment = None
    if moment is None:
        raise InvalidParameter("expires", expires, "is not a date or a time", hint=_MOMENT)
    if moment <= now:
        raise InvalidParameter("expires", expires, "is in the past", hint=_MOMENT)
    return moment.isoformat()


def has_passed(expires: str | None, now: datetime) -> bool:
    """Whether an expiry has passed; None never does."""
    return expires is not None and datetime.fromisoformat(expires) <= now


def _moment(expires: object, now: datetime) -> datetime | None:
    if isinstance(expires, timedelta):
        return now + expires
    if isinstance(expires, str):
        moment = datetime.fromisoformat(expires)
        expires = moment.date() if len(expires) <= len("2027-01-31") else moment
    if isinstance(expires, datetime):
        return None if expires.tzinfo is None else expires.astimezone(UTC)
    return datetime.combine(expires, time.max, UTC) if isinstance(expires, date) else None


_TEXT = re.compile(r"got_([0-9a-f]{16})_[0-9a-f]{64}")
_USUAL = timedelta(days=90)
_NOBODY = digest("got_")  # compared with unknown tokens, so that they take as long


@final
@dataclass(frozen=True, slots=True)
class Principal:
    """Who is asking: the role, and the name of an analyst. `token` is the id, which is no secret."""

    token: str
    role: TokenRole
    analyst: str | None = None
    revoked: bool = False  # whether the analyst was revoked


@final
@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A token as a custodian sees it, without its secret."""

    id: str
    role: TokenRole
    analyst: str | None
    issued: str
    by: str | None
    expires: str
    revoked: bool
    expired: bool

    @property
    def is_valid(self) -> bool:
        """Whether the token lets anybody in now."""
        return not (self.revoked or self.expired)


def issue(transaction: Transaction, role: TokenRole, analyst: str | None, expires: Expiry | None) -> tuple[str, str]:
    """Issue a token; return its id and its text. The text is not stored: whoever loses it needs another."""
    if role not in get_args(TokenRole):
        raise InvalidParameter("role", role, "is unknown", hint=f"one of {', '.join(get_args(TokenRole))}")
    if (role == "analyst") != (analyst is not None):
        raise InvalidParameter(
            "analyst", analyst, f"does not go with the role {role}", hint='role="analyst" has analyst="ann"'
        )
    if analyst is not None:
        _require_analyst(transaction, analyst)
    name, secret = secrets.token_hex(8), secrets.token_hex(32)
    text = f"got_{name}_{secret}"
    until = expiry(_USUAL if expires is None else expires, transaction.moment())
    transaction.add("token", {"id": name, "role": role, "analyst": analyst, "hash": digest(text), "expires": until})
    return name, text


def _require_analyst(transaction: Transaction, analyst: str) -> None:
    if analyst in transaction.state.revoked:
        raise AccessDenied(f"the analyst {analyst!r} was revoked", hint="the custodian can readmit them")
    if not transaction.state.grants_of(analyst):
        raise NotFound(
            f"the ledger has no analyst {analyst!r}",
            hint="the custodian can let them ask",
        )


def revoke(transaction: Transaction, token: str, reason: str) -> None:
    """Revoke a token: it lets nobody in from now on. A second time changes nothing."""
    record = transaction.state.tokens.get(token)
    if record is None:
        raise NotFound("there is no such token", hint="the ids of tokens are listed (`giveortake admin token list`)")
    if not record.revoked:
        transaction.add("withdrawn", {"token": token, "reason": named("reason", reason)})


def authenticate(transaction: Transaction, text: object) -> Principal | None:
    """Whom a token lets in now, or None.

    Guarantee: a text is compared by its SHA-256, in a time that does not depend on where it differs; whether a token
    is unknown, revoked, expired or wrong cannot be told from the outcome. An analyst who was revoked is still known by
    name, and told so by whatever they ask.
    """
    token_text = text if isinstance(text, str) and text.isascii() else ""
    match = _TEXT.fullmatch(token_text)
    token = None if match is None else transaction.state.tokens.get(match[1])
    matches = hmac.compare_digest(digest(token_text), _NOBODY if token is None else token.hash)
    if token is None or not matches or token.revoked or has_passed(token.expires, transaction.moment()):
        return None
    is_revoked = token.analyst in transaction.state.revoked
    return Principal(token.id, token.role, token.analyst, is_revoked)


def listed(transaction: Transaction) -> list[TokenRecord]:
    """Every token, without secrets."""
    return [_record(transaction, token, transaction.moment()) for token in transaction.state.tokens.values()]


def _record(transaction: Transaction, token: Token, now: datetime) -> TokenRecord:
    issued = transaction.stored(token.number)
    return TokenRecord(
        token.id,
        token.role,
        token.analyst,
        issued.at,
        issued.content.get("by"),
        token.expires,
        token.revoked,
        expired=has_passed(token.expires, now),
    )
