"""Tokens: secrets that prove who is asking, each shown once; the ledger holds only its hash.

A token is `got_<id>_<secret>`: 64 random bits that name it, and 256 that prove it. The ledger holds the SHA-256 of its
text. Passwords need a slow hash because people choose them out of few; of 2²⁵⁶ secrets drawn by the operating system
nobody guesses one however fast the hash is, so that a slow one would only make every request slower.
"""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, TypeAlias, final

from giveortake.advice import Advice
from giveortake.errors import AccessDenied, InvalidParameter, NotFound
from giveortake.ledger.entries import digest
from giveortake.ledger.expiries import expiry, has_passed
from giveortake.ledger.registration import named

if TYPE_CHECKING:
    from datetime import datetime

    from giveortake.ledger.drafts import Draft
    from giveortake.ledger.expiries import Expiry
    from giveortake.ledger.levels import Token

Role: TypeAlias = Literal["custodian", "analyst"]

_TEXT = re.compile(r"got_([0-9a-f]{16})_[0-9a-f]{64}")
_USUAL = timedelta(days=90)
_NOBODY = digest("got_")  # compared with unknown tokens, so that they take as long


@final
@dataclass(frozen=True, slots=True)
class Principal:
    """Who is asking: a custodian, or an analyst of that name. `token` is the id, which is no secret."""

    token: str
    role: Role
    analyst: str | None = None
    revoked: bool = False  # whether the analyst was revoked


@final
@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A token as a custodian sees it, without its secret."""

    id: str
    role: Role
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


def issue(draft: Draft, role: Role, analyst: str | None, expires: Expiry | None) -> tuple[str, str]:
    """Issue a token; return its id and its text. The text is not stored: whoever loses it needs another."""
    if role not in {"custodian", "analyst"}:
        raise InvalidParameter("role", role, "is unknown", hint='role="custodian", or role="analyst"')
    if (role == "analyst") != (analyst is not None):
        raise InvalidParameter("analyst", analyst, f"does not go with the role {role}", hint=Advice("{analyst_token}"))
    if analyst is not None:
        _require_analyst(draft, analyst)
    name, secret = secrets.token_hex(8), secrets.token_hex(32)
    text = f"got_{name}_{secret}"
    until = expiry(_USUAL if expires is None else expires, draft.moment())
    draft.add("token", {"id": name, "role": role, "analyst": analyst, "hash": digest(text), "expires": until})
    return name, text


def _require_analyst(draft: Draft, analyst: str) -> None:
    if analyst in draft.book.revoked:
        raise AccessDenied(f"the analyst {analyst!r} was revoked", hint=Advice("{readmit} takes that back"))
    if not draft.book.grants_of(analyst):
        raise NotFound(f"the ledger has no analyst {analyst!r}", hint=Advice("{admit} lets somebody ask"))


def revoke(draft: Draft, token: str, reason: str) -> None:
    """Revoke a token: it lets nobody in from now on. A second time changes nothing."""
    known = draft.book.tokens.get(token)
    if known is None:
        raise NotFound("there is no such token", hint=Advice("{tokens} lists the ids"))
    if not known.revoked:
        draft.add("withdrawn", {"token": token, "reason": named("reason", reason)})


def authenticate(draft: Draft, text: object) -> Principal | None:
    """Whom a token lets in now, or None.

    Guarantee: a text is compared by its SHA-256, in a time that does not depend on where it differs; whether a token
    is unknown, revoked, expired or wrong cannot be told from the outcome. An analyst who was revoked is still known by
    name, and told so by whatever they ask.
    """
    given = text if isinstance(text, str) and text.isascii() else ""
    match = _TEXT.fullmatch(given)
    known = None if match is None else draft.book.tokens.get(match[1])
    matches = hmac.compare_digest(digest(given), _NOBODY if known is None else known.hash)
    if known is None or not matches or known.revoked or has_passed(known.expires, draft.moment()):
        return None
    is_revoked = known.analyst in draft.book.revoked
    return Principal(known.id, "custodian" if known.analyst is None else "analyst", known.analyst, is_revoked)


def listed(draft: Draft) -> list[TokenRecord]:
    """Every token, without secrets."""
    return [_record(draft, each, draft.moment()) for each in draft.book.tokens.values()]


def _record(draft: Draft, token: Token, now: datetime) -> TokenRecord:
    issued = draft.stored(token.number)
    return TokenRecord(
        token.id,
        "custodian" if token.analyst is None else "analyst",
        token.analyst,
        issued.at,
        issued.content.get("by"),
        token.expires,
        token.revoked,
        expired=has_passed(token.expires, now),
    )
