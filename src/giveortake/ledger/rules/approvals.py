"""Approvals and access tokens, and when they expire.

- Expiry of tokens and approvals: the only thing in a ledger that the clock decides.
- Approvals: large spends that wait for the custodian, what they would ask, and what was decided about them.
- A decision covers one question about one version of the data at one price. An approval lets it through once.
- Tokens: secrets that prove who is asking, each shown once; the ledger holds only its hash.

A token is `got_<id>_<secret>`: 64 random bits that name it, and 256 that prove it. The ledger holds the SHA-256 of its
text. Passwords need a slow hash because people choose them out of few; of 2²⁵⁶ secrets drawn by the operating system
nobody guesses one however fast the hash is, so that a slow one would only make every request slower.
"""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

from giveortake.advice import Advice
from giveortake.errors import AccessDenied, AllowanceExceeded, ApprovalDenied, InvalidParameter, NotFound
from giveortake.ledger.chain.entries import approval_digests, digest, event_from_dict
from giveortake.ledger.rules.registration import named

if TYPE_CHECKING:
    from giveortake.ledger.chain.chain import Transaction
    from giveortake.ledger.chain.entries import Json
    from giveortake.ledger.state.state import ApprovalRequest, Token
    from giveortake.privacy.events import Event


Expiry: TypeAlias = "datetime | timedelta | str"

_HINT = Advice("{moment}")


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
        raise InvalidParameter("expires", expires, "is not a date or a time", hint=_HINT)
    if moment <= now:
        raise InvalidParameter("expires", expires, "is in the past", hint=_HINT)
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


ApprovalState: TypeAlias = Literal["waiting", "approved", "denied", "expired", "used"]

_REQUESTS = 1 << 47
_WAITING = 100  # large spends of one analyst
_TOLD = ("analyst", "dataset", "event", "key", "question", "request", "version")


@final
@dataclass(frozen=True, slots=True)
class Approval:
    """A large spend that somebody asked for: what it asks, what it spends, by whom, and what became of it.

    `description` is the question in words, `record` the exact question if it is known (see `ReleaseRecord`). `event` is
    what would be charged.
    """

    request: int
    state: ApprovalState
    at: str
    analyst: str | None
    dataset: str
    version: str
    event: Event
    description: str | None
    record: Any
    reason: str | None = None
    by: str | None = None
    decided: str | None = None
    expires: str | None = None


def listed_approvals(transaction: Transaction, *, analyst: str | None, waiting: bool) -> list[Approval]:
    """List the requests of everybody or of one analyst, oldest first; with `waiting`, only those that wait.

    Of each analyst's closed requests, only the last two hundred are listed; the entries hold all.
    """
    return [
        _approval(transaction, request)
        for request in transaction.state.requests_by_id.values()
        if (analyst is None or request.analyst == analyst) and (not waiting or request.state == "waiting")
    ]


def waiting(transaction: Transaction) -> list[int]:
    """The numbers of the requests that wait."""
    return sorted(request.id for request in transaction.state.requests.values() if request.state == "waiting")


def _approval(transaction: Transaction, request: ApprovalRequest) -> Approval:
    entry = transaction.stored(request.number)
    decided = None if request.decision is None else transaction.stored(request.decision)
    decision: dict[str, Any] = {} if decided is None else dict(decided.content)
    content = entry.content
    return Approval(
        request.id,
        "expired" if _is_over(transaction, request) else request.state,
        entry.at,
        content["analyst"],
        content["dataset"],
        content["version"],
        event_from_dict(content["event"]),
        content.get("asked"),
        content.get("record"),
        reason=decision.get("reason"),
        by=decision.get("by"),
        decided=None if decided is None else decided.at,
        expires=request.expires,
    )


def _is_over(transaction: Transaction, request: ApprovalRequest) -> bool:
    return request.state == "approved" and has_passed(request.expires, transaction.moment())


def approve(transaction: Transaction, request: int, reason: str, expires: Expiry | None) -> None:
    """Let one large spend through, once; also one that was denied before."""
    waiting_request = _open(transaction, request)
    content = _decision(waiting_request, reason)
    if expires is not None:
        content["expires"] = expiry(expires, transaction.moment())
    transaction.add("approved", content)


def deny(transaction: Transaction, request: int, reason: str) -> None:
    """Refuse one large spend, also if it was approved and not used yet. Its asker is told so, and why."""
    waiting_request = _open(transaction, request)
    transaction.add("denied", _decision(waiting_request, reason))


def _decision(request: ApprovalRequest, reason: str) -> dict[str, Json]:
    return {"request": request.digest, "analyst": request.analyst, "reason": named("reason", reason)}


def _open(transaction: Transaction, request: int) -> ApprovalRequest:
    waiting_request = transaction.state.requests_by_id.get(request) if type(request) is int else None
    if (
        waiting_request is None
        or waiting_request.state == "used"
        or transaction.state.requests.get(waiting_request.digest) is not waiting_request
    ):
        raise NotFound(f"no request {request} waits for approval", hint=f"waiting: {waiting(transaction) or 'none'}")
    return waiting_request


def decide(transaction: Transaction, content: dict[str, Any]) -> int | None:
    """Return None if a large spend is approved now; else the number of the request under which it waits.

    ApprovalDenied if the custodian has refused it. An expired approval is requested again. An approval covers what is
    asked, not its idempotency key: whoever asks again has another key. Only a question without a name is recognised by
    its key.
    """
    earlier = _known(transaction, content)
    if earlier is not None and earlier.state == "denied":
        assert earlier.decision is not None  # noqa: S101 (an entry says so)
        reason = transaction.stored(earlier.decision).content["reason"]
        raise ApprovalDenied(
            f"the custodian has denied this spend: {reason}; nothing was charged",
            request=earlier.id,
            reason=reason,
            hint="ask for less, or talk to the custodian",
        )
    if earlier is not None and earlier.state == "approved" and not _is_over(transaction, earlier):
        return None
    if earlier is not None and earlier.state == "waiting":
        return earlier.id
    _require_patience(transaction, content["analyst"])
    new = secrets.randbelow(_REQUESTS) + _REQUESTS  # a running number would tell how busy others are
    fields = {name: content[name] for name in (*_TOLD, "asked", "record") if name in content}
    any_key = {} if content["question"] is None else {"any_key": True}
    transaction.add("requested", {"id": new, **fields, **any_key})
    return new


def is_approved(transaction: Transaction, content: dict[str, Any]) -> bool:
    """Whether a large spend was approved and may go through now."""
    earlier = _known(transaction, content)
    return earlier is not None and earlier.state == "approved" and not _is_over(transaction, earlier)


def _known(transaction: Transaction, content: dict[str, Any]) -> ApprovalRequest | None:
    names = approval_digests(content)
    return next((transaction.state.requests[name] for name in names if name in transaction.state.requests), None)


def _require_patience(transaction: Transaction, analyst: str | None) -> None:
    """Refuse another request of an analyst with many waiting ones: each is an entry, and stays in memory."""
    if (
        sum(
            request.analyst == analyst and request.state == "waiting" for request in transaction.state.requests.values()
        )
        >= _WAITING
    ):
        raise AllowanceExceeded(
            f"{_WAITING} of your large spends already wait for approval; nothing was charged",
            hint="wait until the custodian has decided about those, or ask for less at a time",
        )


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


def issue(transaction: Transaction, role: Role, analyst: str | None, expires: Expiry | None) -> tuple[str, str]:
    """Issue a token; return its id and its text. The text is not stored: whoever loses it needs another."""
    if role not in {"custodian", "analyst"}:
        raise InvalidParameter("role", role, "is unknown", hint='role="custodian", or role="analyst"')
    if (role == "analyst") != (analyst is not None):
        raise InvalidParameter("analyst", analyst, f"does not go with the role {role}", hint=Advice("{analyst_token}"))
    if analyst is not None:
        _require_analyst(transaction, analyst)
    name, secret = secrets.token_hex(8), secrets.token_hex(32)
    text = f"got_{name}_{secret}"
    until = expiry(_USUAL if expires is None else expires, transaction.moment())
    transaction.add("token", {"id": name, "role": role, "analyst": analyst, "hash": digest(text), "expires": until})
    return name, text


def _require_analyst(transaction: Transaction, analyst: str) -> None:
    if analyst in transaction.state.revoked:
        raise AccessDenied(f"the analyst {analyst!r} was revoked", hint=Advice("{readmit} takes that back"))
    if not transaction.state.grants_of(analyst):
        raise NotFound(f"the ledger has no analyst {analyst!r}", hint=Advice("{admit} lets somebody ask"))


def revoke(transaction: Transaction, token: str, reason: str) -> None:
    """Revoke a token: it lets nobody in from now on. A second time changes nothing."""
    record = transaction.state.tokens.get(token)
    if record is None:
        raise NotFound("there is no such token", hint=Advice("{tokens} lists the ids"))
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
    return Principal(token.id, "custodian" if token.analyst is None else "analyst", token.analyst, is_revoked)


def listed_tokens(transaction: Transaction) -> list[TokenRecord]:
    """Every token, without secrets."""
    return [_record(transaction, token, transaction.moment()) for token in transaction.state.tokens.values()]


def _record(transaction: Transaction, token: Token, now: datetime) -> TokenRecord:
    issued = transaction.stored(token.number)
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
