"""The page of large spends that wait for the custodian: who asks what, at what price; and what was decided before."""

from __future__ import annotations

from typing import Any

from giveortake.exact import rough_percent
from giveortake.ledger.releases import minute
from giveortake.server.console.charts import meter
from giveortake.server.console.forms import perform_form
from giveortake.server.console.login import NOTHING, Notice, notice_of
from giveortake.server.console.views import page, price
from giveortake.server.custodian_routes import perform
from giveortake.server.responses import Refusal
from giveortake.server.routes import Call, Result, Route, object_of, text

DAYS = {"1": "for a day", "7": "for a week", "30": "for 30 days", "": "without an end"}


async def waiting(call: Call) -> Result:
    """The page of what waits, and what was decided before."""
    return await _approvals_page(call)


async def decided(call: Call) -> Result:
    """Approve once, or deny; then show the same page, with the result."""
    form = {name: value.strip() for name, value in call.body.items()}
    if form["do"] == "approval deny" and not form.get("reason"):
        why = "Whoever asks again is told the reason of a denial."
        return await _approvals_page(call, Notice("invalid", "Say why", why, "write it beside the button", NOTHING))
    try:
        document = await perform_form(call, form)
    except Refusal as refused:
        return await _approvals_page(call, notice_of(refused))
    words = "Written to the ledger, with your token's name."
    return await _approvals_page(call, Notice("done", document["message"], "", "", words, calm=True))


async def _approvals_page(call: Call, notice: Notice | None = None) -> Result:
    document = await perform(call, "approval list")
    views = [approval_view(approval) for approval in reversed(document["approvals"])]
    return page(
        call,
        "approvals.html",
        here="approvals",
        dataset=None,
        notice=notice,
        waiting=[approval for approval in reversed(views) if approval["state"] == "waiting"],
        decided=[approval for approval in views if approval["state"] != "waiting"],
        days=DAYS,
    )


def approval_view(approval: dict[str, Any]) -> dict[str, Any]:
    """One large spend as pages show it."""
    questions = approval.get("questions") or []
    share, after = approval.get("share"), approval.get("share_after")
    texts = [str(question["sql"]) for question in questions if question.get("sql")] or [approval["asked"] or "–"]
    return {
        "request": approval["request"],
        "state": approval["state"],
        "analyst": approval["analyst"] or "custodian",
        "dataset": approval["dataset"],
        "asked": texts,
        "line": "; ".join(" ".join(sql.split()) for sql in texts),
        "price": ", ".join(dict.fromkeys(price(question["spend"]) for question in questions))
        or approval.get("price")
        or "–",
        "caps": "; ".join(f"{name.replace('_', ' ')}: {cap}" for name, cap in _caps(questions)),
        "at": minute(approval["at"]),
        "meter": None if after is None else meter(share or 0.0, max(0.0, after - (share or 0.0))),
        "used": None if share is None else rough_percent(share),
        "takes": None if after is None or share is None else rough_percent(after - share),
        "left": None if after is None else rough_percent(max(0.0, 1 - after)),
        "fits": approval.get("fits"),
        "reason": approval["reason"] or "",
        "by": approval.get("by") or "",
        "decided": minute(approval["decided"] or ""),
        "until": minute(approval["expires"] or ""),
    }


def _caps(questions: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    caps = (questions[0].get("caps") or {}) if questions else {}
    return [(name, cap) for name, cap in caps.items() if isinstance(cap, int | str)]


_FORM = object_of(
    *("do", "request"),
    do={"type": "string", "enum": ["approval approve", "approval deny"]},
    request=text(16),
    reason=text(1000, 0),
    expires={"type": "string", "enum": list(DAYS)},
)
ROUTES = (
    Route("GET", "/approvals", "custodian", "large spends that wait, and what was decided", waiting, page=True),
    Route("POST", "/approvals", "custodian", "approve or deny one", decided, body=_FORM, page=True),
)
