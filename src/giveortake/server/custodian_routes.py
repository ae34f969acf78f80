"""Routes of custodians. Every act is in the ledger, with the token that did it."""

from __future__ import annotations

from giveortake.server import routes
from giveortake.server.responses import Refusal
from giveortake.server.routes import (
    NAMES,
    OBJECT,
    TEXT,
    TRUTH,
    WHOLE,
    Call,
    Result,
    Role,
    Route,
    Schema,
    listed,
    maybe,
    object_of,
    text,
)


async def analysts(call: Call) -> Result:
    """The analysts, and what is left to them."""
    return await call.service.ask_ledger(call, "analysts", datasets=list(call.service.pools))


async def add_analyst(call: Call) -> Result:
    """Let an analyst ask."""
    return await call.service.ask_ledger(call, "add_analyst", **call.body)


async def revoke_analyst(call: Call) -> Result:
    """Revoke an analyst."""
    return await call.service.ask_ledger(call, "revoke_analyst", name=call.path["analyst"], **call.body)


async def readmit_analyst(call: Call) -> Result:
    """Take the revocation of an analyst back."""
    return await call.service.ask_ledger(call, "readmit_analyst", name=call.path["analyst"], **call.body)


async def tokens(call: Call) -> Result:
    """Every token, without secrets."""
    return await call.service.ask_ledger(call, "tokens")


async def issue_token(call: Call) -> Result:
    """Issue a new token."""
    return await call.service.ask_ledger(call, "issue_token", **call.body)


async def revoke_token(call: Call) -> Result:
    """Revoke a token: this process stops trusting it at once, others within a second."""
    done = await call.service.ask_ledger(call, "revoke_token", token=call.path["token"], **call.body)
    call.service.expire_tokens()
    return done


async def levels(call: Call) -> Result:
    """Every budget, and what is left of it."""
    return await call.service.ask_ledger(call, "levels")


async def change_budget(call: Call) -> Result:
    """Replace a promise by a new one."""
    return await call.service.ask_ledger(call, "change_budget", level=_number(call, "level"), **call.body)


async def approvals(call: Call) -> Result:
    """Large spends that wait, or all of them."""
    waiting = call.query.get("state", "waiting") == "waiting"
    return await call.service.ask_ledger(call, "approvals", waiting=waiting)


async def approve(call: Call) -> Result:
    """Let one large spend through, once."""
    return await call.service.ask_ledger(call, "approve", request=_number(call, "request"), **call.body)


async def deny(call: Call) -> Result:
    """Refuse one large spend."""
    return await call.service.ask_ledger(call, "deny", request=_number(call, "request"), **call.body)


async def failures(call: Call) -> Result:
    """The failures of each caller and what they can reveal, and the losses of the service itself."""
    document = await call.service.ask_ledger(call, "failures")
    metrics = call.service.metrics
    service = {"losses": metrics.losses, "last": list(metrics.lost), "overruns": dict(metrics.overruns)}
    return {**document, "service": service}


async def reset_failures(call: Call) -> Result:
    """Allow as many failures again."""
    return await call.service.ask_ledger(call, "reset_failures", level=_number(call, "level"), **call.body)


async def entries(call: Call) -> Result:
    """A page of the ledger's entries."""
    limit, after = call.query.get("limit", 100), call.query.get("after", 0)
    return await call.service.ask_ledger(call, "entries", slow=True, after=after, limit=limit)


async def all_releases(call: Call) -> Result:
    """A page of everybody's releases."""
    limit, after = call.query.get("limit", 100), call.query.get("after")
    return await call.service.ask_ledger(call, "all_releases", slow=True, after=after, limit=limit)


async def verify(call: Call) -> Result:
    """Verify the ledger: derive everything in it anew, however long that takes."""
    verification = await call.service.check.run()
    assert verification is not None  # noqa: S101 (it was waited for)
    return verification


async def progress(call: Call) -> Result:
    """How far the check of the ledger is, or what the last one found."""
    return call.service.check.progress()


def _number(call: Call, name: str) -> int:
    number = call.path[name]
    if not (number.isascii() and number.isdigit() and len(number) < 16):
        raise Refusal("not_found")
    return int(number)


_BECAUSE = object_of("reason", reason=routes.REASON)
_NAME = text(200)
_BUDGET_OR_SPENT: Schema = {"anyOf": [routes.BUDGET, {"type": "string", "enum": ["spent"]}]}
_EXPIRES = text(40)
_ANALYST = object_of(
    *("name", "datasets"),
    name=_NAME,
    datasets=NAMES,
    budget=routes.BUDGET,
    approval_above=routes.BUDGET,
    failures=routes.COUNT,
    questions=routes.COUNT,
)
_TOKEN = object_of("role", role={"type": "string", "enum": ["analyst", "custodian"]}, name=_NAME, expires=_EXPIRES)
_STATES = {"state": {"type": "string", "enum": ["waiting", "all"]}}
_ENTRIES = {"after": routes.NUMBER_OF_ENTRY, "limit": routes.LIMIT}
_VERIFIED = object_of("entries", entries=WHOLE, ledger=TEXT, reservations=WHOLE, answers=WHOLE, levels=WHOLE, head=TEXT)
_CHECKS: Schema = {"type": "string", "enum": ["none", "running", "holds", "failed"]}
_OWNER: Role = "custodian"

ROUTES = (
    Route("GET", "/v1/analysts", _OWNER, "who may ask, and what is left to them", analysts),
    Route("POST", "/v1/analysts", _OWNER, "let somebody ask, within an allotment", add_analyst, body=_ANALYST),
    Route("POST", "/v1/analysts/{analyst}/revoke", _OWNER, "they are told nothing more", revoke_analyst, _BECAUSE),
    Route("POST", "/v1/analysts/{analyst}/readmit", _OWNER, "take a revocation back", readmit_analyst, _BECAUSE),
    Route("GET", "/v1/tokens", _OWNER, "every token, without secrets", tokens),
    Route(
        *("POST", "/v1/tokens", _OWNER, "a new token, whose text is told this once", issue_token, _TOKEN),
        result=object_of("id", "token", id=TEXT, token=TEXT),
    ),
    Route("POST", "/v1/tokens/{token}/revoke", _OWNER, "a token lets nobody in any more", revoke_token, _BECAUSE),
    Route("GET", "/v1/budgets", _OWNER, "every budget, and what is left of it", levels),
    Route(
        *("POST", "/v1/budgets/{level}", _OWNER, "a new promise in place of an old one", change_budget),
        body=object_of("budget", "reason", budget=_BUDGET_OR_SPENT, reason=routes.REASON),
    ),
    Route("GET", "/v1/approvals", _OWNER, "large spends that wait, or all there were", approvals, query=_STATES),
    Route(
        *("POST", "/v1/approvals/{request}/approve", _OWNER, "let one large spend through, once", approve),
        body=object_of("reason", reason=routes.REASON, expires=_EXPIRES),
    ),
    Route("POST", "/v1/approvals/{request}/deny", _OWNER, "refuse one large spend", deny, _BECAUSE),
    Route("GET", "/v1/failures", _OWNER, "what failed or took too long, and what that can tell", failures),
    Route("POST", "/v1/failures/{level}/reset", _OWNER, "allow as many failures again", reset_failures, _BECAUSE),
    Route(
        *("GET", "/v1/ledger/entries", _OWNER, "the ledger, page after page", entries),
        query=_ENTRIES,
        result=object_of("entries", "more", entries=listed(OBJECT), more=TRUTH),
    ),
    Route(
        *("GET", "/v1/ledger/releases", _OWNER, "what everybody has paid for, the newest first", all_releases),
        query={"after": routes.RELEASE, "limit": routes.LIMIT},
        result=object_of("releases", "more", releases=listed(routes.RELEASED), more=TRUTH),
    ),
    Route(
        *("POST", "/v1/ledger/check", _OWNER, "derive everything in the ledger anew; joins a check that runs", verify),
        result=_VERIFIED,
    ),
    Route(
        *("GET", "/v1/ledger/check", _OWNER, "how far the check is, or what the last one found", progress),
        result=object_of(
            "state", "checked", "entries", state=_CHECKS, checked=WHOLE, entries=WHOLE, result=maybe(_VERIFIED)
        ),
    ),
)
