"""The page of large spends that wait for the custodian: who asks what, at what price; and what was decided before."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from giveortake.ledger.rules.releases import minute
from giveortake.server import custodian_routes
from giveortake.server.console.charts import meter
from giveortake.server.console.login import NOTHING, Told, told
from giveortake.server.console.views import asking_for, at, page, price
from giveortake.server.responses import Refused
from giveortake.server.routes import Call, Result, Route, of, text

DAYS = {"1": "for a day", "7": "for a week", "30": "for 30 days", "": "without an end"}
_APPROVED = "by the custodian, in the console"


async def waiting(call: Call) -> Result:
    """The page of what waits, and what was decided before."""
    return await _shown(call)


async def decided(call: Call) -> Result:
    """Approve once, or deny; then show the same page, with the result."""
    said = {name: value.strip() for name, value in call.body.items()}
    reason, path = said.get("reason", ""), {"request": said["request"]}
    if said["do"] == "deny" and not reason:
        why = "Whoever asks again is told the reason of a denial."
        return await _shown(call, Told("invalid", "Say why", why, "write it beside the button", NOTHING))
    try:
        if said["do"] == "deny":
            await custodian_routes.deny(at(call, path=path, reason=reason))
            done = "Denied: whoever asks this again is told so, with the reason"
        else:
            await custodian_routes.approve(
                at(call, path=path, reason=reason or _APPROVED, **_end(said.get("days", "")))
            )
            done = f"Approved, once, {DAYS[said.get('days', '')]}: it goes through when it is asked again"
    except Refused as refused:
        return await _shown(call, told(refused))
    return await _shown(call, Told("done", done, "", "", "Written to the ledger, with your token's name.", calm=True))


def _end(days: str) -> dict[str, str]:
    return {} if not days else {"expires": (datetime.now(UTC) + timedelta(days=int(days))).isoformat()}


async def _shown(call: Call, said: Told | None = None) -> Result:
    found: Any = await custodian_routes.approvals(asking_for(call, state="all"))
    listed = [approval_view(each) for each in reversed(found["approvals"])]
    return page(
        call,
        "approvals.html",
        here="approvals",
        dataset=None,
        told=said,
        waiting=[each for each in reversed(listed) if each["state"] == "waiting"],
        decided=[each for each in listed if each["state"] != "waiting"],
        days=DAYS,
    )


def approval_view(asked: dict[str, Any]) -> dict[str, Any]:
    """One large spend as pages show it."""
    questions = asked.get("questions") or []
    share, after = asked.get("share"), asked.get("share_after")
    said = [str(each["sql"]) for each in questions if each.get("sql")] or [asked["asked"] or "–"]
    return {
        "request": asked["request"],
        "state": asked["state"],
        "analyst": asked["analyst"] or "custodian",
        "dataset": asked["dataset"],
        "asked": said,
        "line": "; ".join(" ".join(each.split()) for each in said),
        "price": ", ".join(dict.fromkeys(price(each["spend"]) for each in questions)) or asked.get("price") or "–",
        "caps": "; ".join(f"{name.replace('_', ' ')}: {cap}" for name, cap in _caps(questions)),
        "at": minute(asked["at"]),
        "meter": None if after is None else meter(share or 0.0, max(0.0, after - (share or 0.0))),
        "used": None if share is None else f"{100 * share:.3g} %",
        "takes": None if after is None or share is None else f"{100 * (after - share):.3g} %",
        "left": None if after is None else f"{100 * max(0.0, 1 - after):.3g} %",
        "fits": asked.get("fits"),
        "reason": asked["reason"] or "",
        "by": asked.get("by") or "",
        "decided": minute(asked["decided"] or ""),
        "until": minute(asked["expires"] or ""),
    }


def _caps(questions: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    caps = (questions[0].get("caps") or {}) if questions else {}
    return [(name, cap) for name, cap in caps.items() if isinstance(cap, int | str)]


_FORM = of(
    *("do", "request"),
    do={"type": "string", "enum": ["approve", "deny"]},
    request=text(16),
    reason=text(1000, 0),
    days={"type": "string", "enum": list(DAYS)},
)
ROUTES = (
    Route("GET", "/approvals", "custodian", "large spends that wait, and what was decided", waiting, page=True),
    Route("POST", "/approvals", "custodian", "approve or deny one", decided, body=_FORM, page=True),
)
