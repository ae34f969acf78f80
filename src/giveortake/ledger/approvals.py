"""Approvals: large spends that wait for the custodian, what they would ask, and what was decided about them.

A decision covers one question about one version of the data at one price. An approval lets it through once.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

from giveortake.errors import AllowanceExceeded, ApprovalDenied, NotFound
from giveortake.ledger.chain.entries import approval_digests, event_from_dict, named
from giveortake.ledger.tokens import expiry, has_passed

if TYPE_CHECKING:
    from giveortake.ledger.chain.chain import Transaction
    from giveortake.ledger.chain.entries import Json
    from giveortake.ledger.chain.state import ApprovalRequest
    from giveortake.ledger.tokens import Expiry
    from giveortake.privacy.events import Event


ApprovalState: TypeAlias = Literal["waiting", "approved", "denied", "expired", "used"]

_REQUESTS = 1 << 47
_WAITING = 100  # large spends of one analyst
_FIELDS = ("analyst", "dataset", "event", "key", "name", "version")


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


def listed(transaction: Transaction, *, analyst: str | None, waiting: bool) -> list[Approval]:
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
        content.get("description"),
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
    asked, not its idempotency key: whoever asks again has another key. Only a charge without a name is recognised by
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
    fields = {name: content[name] for name in (*_FIELDS, "description", "record") if name in content}
    any_key = {} if content["name"] is None else {"any_key": True}
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
