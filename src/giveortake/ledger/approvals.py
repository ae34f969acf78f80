"""Approvals: large spends that wait for the custodian, what they would ask, and what was decided about them.

A decision covers one question about one version of the data at one price. An approval lets it through once.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

from giveortake.errors import AllowanceExceeded, ApprovalDenied, NotFound
from giveortake.ledger.digests import approval_digests
from giveortake.ledger.events import event_from_dict
from giveortake.ledger.expiries import expiry, has_passed
from giveortake.ledger.registration import named

if TYPE_CHECKING:
    from giveortake.ledger.drafts import Draft
    from giveortake.ledger.entries import Json
    from giveortake.ledger.expiries import Expiry
    from giveortake.ledger.levels import Requested
    from giveortake.privacy.events import Event

State: TypeAlias = Literal["waiting", "approved", "denied", "expired", "used"]

_REQUESTS = 1 << 47
_WAITING = 100  # large spends of one analyst
_TOLD = ("analyst", "dataset", "event", "key", "question", "request", "version")


@final
@dataclass(frozen=True, slots=True)
class Approval:
    """A large spend that somebody asked for: what it asks, what it spends, by whom, and what became of it.

    `asked` is the question in words, `record` the exact question if it is known (see `ReleaseRecord`). `event` is what
    would be charged.
    """

    request: int
    state: State
    at: str
    analyst: str | None
    dataset: str
    version: str
    event: Event
    asked: str | None
    record: Any
    reason: str | None = None
    by: str | None = None
    decided: str | None = None
    expires: str | None = None


def listed(draft: Draft, *, analyst: str | None, waiting: bool) -> list[Approval]:
    """List the requests of everybody or of one analyst, oldest first; with `waiting`, only those that wait.

    Of each analyst's closed requests, only the last two hundred are listed; the entries hold all.
    """
    return [
        _approval(draft, each)
        for each in draft.book.requests_by_id.values()
        if (analyst is None or each.analyst == analyst) and (not waiting or each.state == "waiting")
    ]


def waiting(draft: Draft) -> list[int]:
    """The numbers of the requests that wait."""
    return sorted(each.id for each in draft.book.requests.values() if each.state == "waiting")


def _approval(draft: Draft, request: Requested) -> Approval:
    asked = draft.stored(request.number)
    decided = None if request.decision is None else draft.stored(request.decision)
    said: dict[str, Any] = {} if decided is None else dict(decided.content)
    content = asked.content
    return Approval(
        request.id,
        "expired" if _is_over(draft, request) else request.state,
        asked.at,
        content["analyst"],
        content["dataset"],
        content["version"],
        event_from_dict(content["event"]),
        content.get("asked"),
        content.get("record"),
        reason=said.get("reason"),
        by=said.get("by"),
        decided=None if decided is None else decided.at,
        expires=request.expires,
    )


def _is_over(draft: Draft, request: Requested) -> bool:
    return request.state == "approved" and has_passed(request.expires, draft.moment())


def approve(draft: Draft, request: int, reason: str, expires: Expiry | None) -> None:
    """Let one large spend through, once; also one that was denied before."""
    known = _open(draft, request)
    content = _decision(known, reason)
    if expires is not None:
        content["expires"] = expiry(expires, draft.moment())
    draft.add("approved", content)


def deny(draft: Draft, request: int, reason: str) -> None:
    """Refuse one large spend, also if it was approved and not used yet. Its asker is told so, and why."""
    known = _open(draft, request)
    draft.add("denied", _decision(known, reason))


def _decision(request: Requested, reason: str) -> dict[str, Json]:
    return {"request": request.digest, "analyst": request.analyst, "reason": named("reason", reason)}


def _open(draft: Draft, request: int) -> Requested:
    known = draft.book.requests_by_id.get(request) if type(request) is int else None
    if known is None or known.state == "used" or draft.book.requests.get(known.digest) is not known:
        raise NotFound(f"no request {request} waits for approval", hint=f"waiting: {waiting(draft) or 'none'}")
    return known


def decide(draft: Draft, content: dict[str, Any]) -> int | None:
    """Return None if a large spend is approved now; else the number of the request under which it waits.

    ApprovalDenied if the custodian has refused it. An expired approval is requested again. An approval covers what is
    asked, not its idempotency key: whoever asks again has another key. Only a question without a name is recognised by
    its key.
    """
    known = _known(draft, content)
    if known is not None and known.state == "denied":
        assert known.decision is not None  # noqa: S101 (an entry says so)
        reason = draft.stored(known.decision).content["reason"]
        raise ApprovalDenied(
            f"the custodian has denied this spend: {reason}; nothing was charged",
            request=known.id,
            reason=reason,
            hint="ask for less, or talk to the custodian",
        )
    if known is not None and known.state == "approved" and not _is_over(draft, known):
        return None
    if known is not None and known.state == "waiting":
        return known.id
    _require_patience(draft, content["analyst"])
    new = secrets.randbelow(_REQUESTS) + _REQUESTS  # a running number would tell how busy others are
    told = {name: content[name] for name in (*_TOLD, "asked", "record") if name in content}
    any_key = {} if content["question"] is None else {"any_key": True}
    draft.add("requested", {"id": new, **told, **any_key})
    return new


def is_approved(draft: Draft, content: dict[str, Any]) -> bool:
    """Whether a large spend was approved and may go through now."""
    known = _known(draft, content)
    return known is not None and known.state == "approved" and not _is_over(draft, known)


def _known(draft: Draft, content: dict[str, Any]) -> Requested | None:
    names = approval_digests(content)
    return next((draft.book.requests[name] for name in names if name in draft.book.requests), None)


def _require_patience(draft: Draft, analyst: str | None) -> None:
    """Refuse another request of an analyst with many waiting ones: each is an entry, and stays in memory."""
    if sum(each.analyst == analyst and each.state == "waiting" for each in draft.book.requests.values()) >= _WAITING:
        raise AllowanceExceeded(
            f"{_WAITING} of your large spends already wait for approval; nothing was charged",
            hint="wait until the custodian has decided about those, or ask for less at a time",
        )
