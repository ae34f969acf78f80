"""The custodian's page: who may ask, with what budget, what failed, and whether the ledger is whole."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from giveortake.server import custodian_routes
from giveortake.server.console.login import Told, told
from giveortake.server.console.views import amount, at, number_said, page, whole
from giveortake.server.responses import Refused, malformed
from giveortake.server.routes import Call, Result, Route, of, text

_REASON = "by the custodian, in the console"
_DAYS = {"1": "a day", "7": "a week", "30": "30 days", "90": "90 days", "365": "a year"}
_SIGNS = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "mu": "μ"}
_PATIENCE = 5.0  # seconds after which a page does not wait for a check any more
_COUNTS = {"failures": "Failures at most", "questions": "Questions at most"}
_DATASET = re.compile(r"dataset-(.+)", re.DOTALL)


async def desk(call: Call) -> Result:
    """The page of everything that a custodian decides."""
    return await _shown(call)


async def act(call: Call) -> Result:
    """Do one act, written to the ledger with who did it; then show the same page, with the result."""
    said = {name: value.strip() for name, value in call.body.items()}
    try:
        done, more = await _ACTS[said["do"]](call, said)
    except Refused as refused:
        return await _shown(call, said=told(refused), typed=said)  # the form stays open, as it was filled in
    return await _shown(
        call, said=Told("done", done, "", "", "Written to the ledger, with your token's name.", calm=True), **more
    )


async def _shown(
    call: Call,
    *,
    said: Told | None = None,
    secret: str = "",
    checked: Any = None,
    typed: dict[str, str] | None = None,
) -> Result:
    empty = at(call)
    people: Any = await custodian_routes.analysts(empty)
    budgets: Any = await custodian_routes.levels(empty)
    tokens: Any = await custodian_routes.tokens(empty)
    waiting: Any = await custodian_routes.approvals(empty)
    failed: Any = await custodian_routes.failures(empty)
    return page(
        call,
        "custodian.html",
        here="custodian",
        dataset=None,
        told=said,
        typed=typed or {},
        secret=secret,
        checked=checked,
        datasets=list(call.who.datasets),
        analysts=[_person(each) for each in people["analysts"]],
        levels=[_level(each) for each in budgets["levels"]],
        tokens=tokens["tokens"],
        waiting=len(waiting["approvals"]),
        failures=failed["failures"],
        revealed=failed["revealed"],
        check=call.service.check.progress(),
        days=_DAYS,
        service=failed["service"],
    )


# -- acts --------------------------------------------------------------------------------------------------------------


async def _add_analyst(call: Call, said: dict[str, str]) -> tuple[str, dict[str, Any]]:
    name = said.get("name", "")
    budget, large = _stated(said, "Their allotment"), _stated(said, "What is large", "above_", needed=False)
    numbers = {each: _whole(words, said[each]) for each, words in _COUNTS.items() if said.get(each)}
    datasets = [found[1] for each in said if (found := _DATASET.fullmatch(each))]
    if not datasets:
        raise malformed("no data set is ticked", "tick what they may ask")
    body = {
        "name": name,
        "datasets": datasets,
        "budget": budget,
        **({"approval_above": large} if large else {}),
        **numbers,
    }
    await custodian_routes.add_analyst(replace(at(call), body=body))
    return f"{name} may ask now; a token lets them in", {}


def _stated(said: dict[str, str], field: str, before: str = "", *, needed: bool = True) -> dict[str, str]:
    """The promise that a form states, in whichever currency; told in the words of the form if it is none."""
    found = {name: said[before + name] for name in _SIGNS if said.get(before + name)}
    for name, number in found.items():
        if number_said(number) is None:
            raise malformed(f"“{field}”: {_SIGNS[name]} is not a number", "write it with a point, as 0.2")
    stated = [_SIGNS[name] for name in found if name != "delta"]
    if (found or needed) and (len(stated) != 1 or ("delta" in found and "epsilon" not in found)):
        empty = "nothing is filled in" if not found else f"{', '.join(_SIGNS[name] for name in found)} are filled in"
        raise malformed(f"“{field}”: {empty}", "fill in ε, or ε and δ, or ρ, or μ")
    return found


def _whole(field: str, said: str) -> int:
    if not (said.isascii() and said.isdigit() and len(said) < 10):
        raise malformed(f"“{field}” is not a whole number")
    return int(said)


async def _issue_token(call: Call, said: dict[str, str]) -> tuple[str, dict[str, Any]]:
    name = said.get("name", "")
    body = {"role": "analyst", "name": name} if name else {"role": "custodian"}
    if said.get("days"):
        until = datetime.now(UTC) + timedelta(days=_whole("Lasts", said["days"]))
        body["expires"] = until.isoformat()
    made: Any = await custodian_routes.issue_token(replace(at(call), body=body))
    return f"A token for {name or 'a custodian'}: it is shown this once", {"secret": made["token"]}


async def _revoke_token(call: Call, said: dict[str, str]) -> tuple[str, dict[str, Any]]:
    there = at(call, path={"token": said.get("token", "")}, reason=said.get("reason") or _REASON)
    await custodian_routes.revoke_token(there)
    return "The token lets nobody in any more", {}


async def _revoke(call: Call, said: dict[str, str]) -> tuple[str, dict[str, Any]]:
    there = at(call, path={"analyst": said.get("name", "")}, reason=said.get("reason") or _REASON)
    await custodian_routes.revoke_analyst(there)
    return f"{said.get('name')} is told nothing more", {}


async def _readmit(call: Call, said: dict[str, str]) -> tuple[str, dict[str, Any]]:
    there = at(call, path={"analyst": said.get("name", "")}, reason=said.get("reason") or _REASON)
    await custodian_routes.readmit_analyst(there)
    return f"{said.get('name')} may ask again", {}


async def _change_budget(call: Call, said: dict[str, str]) -> tuple[str, dict[str, Any]]:
    there = at(
        call,
        path={"level": said.get("level", "")},
        budget="spent" if said.get("spent") else _stated(said, "The new promise"),
        reason=said.get("reason") or _REASON,
    )
    await custodian_routes.change_budget(there)
    return "A new promise is in place of the old one", {}


async def _reset_failures(call: Call, said: dict[str, str]) -> tuple[str, dict[str, Any]]:
    there = at(call, path={"level": said.get("level", "")}, reason=said.get("reason") or _REASON)
    await custodian_routes.reset_failures(there)
    return "As many failures are allowed again", {}


async def _check(call: Call, _said: dict[str, str]) -> tuple[str, dict[str, Any]]:
    found = await call.service.check.run(_PATIENCE)
    if found is None:
        return "The check goes on: look here again", {}
    return "The ledger was read again and recomputed", {"checked": found}


_ACTS = {
    "add_analyst": _add_analyst,
    "issue_token": _issue_token,
    "revoke_token": _revoke_token,
    "revoke": _revoke,
    "readmit": _readmit,
    "change_budget": _change_budget,
    "reset_failures": _reset_failures,
    "check": _check,
}


# -- views -------------------------------------------------------------------------------------------------------------


def _person(analyst: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": analyst["name"],
        "datasets": analyst["datasets"],
        "revoked": analyst["revoked"],
        "levels": [_level(each) for each in analyst["levels"]],
    }


def _level(level: dict[str, Any]) -> dict[str, Any]:
    left, own, given = level.get("affordable"), level.get("own"), level.get("given")
    return {
        "number": level["number"],
        "kind": level.get("level") or level.get("kind"),
        "name": level["name"],
        "budget": whole(level) or "that of its people",
        "left": "–" if left is None else f"ε = {amount(left)}",
        "spent": "–" if own is None else f"{100 * own:.3g} %",
        "given": f"{100 * given:.3g} %" if given else "–",
        "closed": bool(level.get("closed")),
        "large": str(level.get("approval_above") or "").partition(" (")[0],
    }


_FORM = {
    **of(
        "do",
        do={"type": "string", "enum": list(_ACTS)},
        **{name: text(1000, 0) for name in ("name", "token", "reason", "level", "failures", "questions")},
        **{f"{before}{name}": text(40, 0) for before in ("", "above_") for name in ("epsilon", "delta", "rho", "mu")},
        days={"type": "string", "enum": list(_DAYS)},
    ),
    "additionalProperties": text(10, 0),  # a box for each data set, ticked or not there
    "maxProperties": 60,
}

ROUTES = (
    Route("GET", "/custodian", "custodian", "everything at one look", desk, page=True),
    Route("POST", "/custodian", "custodian", "one act", act, body=_FORM, page=True),
)
