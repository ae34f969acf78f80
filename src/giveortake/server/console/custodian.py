"""The custodian's page: who may ask, with what budget, what failed, and whether the ledger is whole."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from giveortake.exact import rough_percent
from giveortake.server import custodian_routes
from giveortake.server.console.login import Notice, notice_of
from giveortake.server.console.views import amount, at, page, parsed_number, whole
from giveortake.server.responses import Refusal, malformed
from giveortake.server.routes import Call, Result, Route, object_of, text

_REASON = "by the custodian, in the console"
_DAYS = {"1": "a day", "7": "a week", "30": "30 days", "90": "90 days", "365": "a year"}
_SIGNS = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "mu": "μ"}
_PATIENCE = 5.0  # seconds after which a page does not wait for a check any more
_COUNTS = {"failures": "Failures at most", "questions": "Questions at most"}
_DATASET = re.compile(r"dataset-(.+)", re.DOTALL)


async def overview(call: Call) -> Result:
    """The page of everything that a custodian decides."""
    return await _custodian_page(call)


async def act(call: Call) -> Result:
    """Do one act, written to the ledger with who did it; then show the same page, with the result."""
    form = {name: value.strip() for name, value in call.body.items()}
    try:
        title, page_values = await _ACTS[form["do"]](call, form)
    except Refusal as refused:
        # The form stays open, as it was filled in.
        return await _custodian_page(call, notice=notice_of(refused), typed=form)
    return await _custodian_page(
        call,
        notice=Notice("done", title, "", "", "Written to the ledger, with your token's name.", calm=True),
        **page_values,
    )


async def _custodian_page(
    call: Call,
    *,
    notice: Notice | None = None,
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
    document = await call.service.ask_ledger(call, "populations", datasets=list(call.who.datasets))
    populations: dict[str, str] = document["populations"]
    return page(
        call,
        "custodian.html",
        here="custodian",
        dataset=None,
        notice=notice,
        typed=typed or {},
        secret=secret,
        checked=checked,
        populations=populations,
        ticked={name for name in populations if populations[name] == next(iter(populations.values()))},
        analysts=[_person(analyst) for analyst in people["analysts"]],
        levels=[_level(level) for level in budgets["levels"]],
        tokens=tokens["tokens"],
        waiting=len(waiting["approvals"]),
        failures=failed["failures"],
        revealed=failed["revealed"],
        check=call.service.check.progress(),
        days=_DAYS,
        service=failed["service"],
    )


# -- acts --------------------------------------------------------------------------------------------------------------


async def _add_analyst(call: Call, form: dict[str, str]) -> tuple[str, dict[str, Any]]:
    name = form.get("name", "")
    budget, large = _stated(form, "Their allotment"), _stated(form, "What is large", "above_", needed=False)
    numbers = {field: _whole(label, form[field]) for field, label in _COUNTS.items() if form.get(field)}
    datasets = [match[1] for field in form if (match := _DATASET.fullmatch(field))]
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


def _stated(form: dict[str, str], field: str, prefix: str = "", *, needed: bool = True) -> dict[str, str]:
    """The promise that a form states, in whichever currency; told in the words of the form if it is none."""
    promise = {name: form[prefix + name] for name in _SIGNS if form.get(prefix + name)}
    for name, number in promise.items():
        if parsed_number(number) is None:
            raise malformed(f"“{field}”: {_SIGNS[name]} is not a number", "write it with a point, as 0.2")
    currencies = [_SIGNS[name] for name in promise if name != "delta"]
    if (promise or needed) and (len(currencies) != 1 or ("delta" in promise and "epsilon" not in promise)):
        empty = (
            "nothing is filled in" if not promise else f"{', '.join(_SIGNS[name] for name in promise)} are filled in"
        )
        raise malformed(f"“{field}”: {empty}", "fill in ε, or ε and δ, or ρ, or μ")
    return promise


def _whole(field: str, number: str) -> int:
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        raise malformed(f"“{field}” is not a whole number")
    return int(number)


async def _issue_token(call: Call, form: dict[str, str]) -> tuple[str, dict[str, Any]]:
    name = form.get("name", "")
    body = {"role": "analyst", "name": name} if name else {"role": "custodian"}
    if form.get("days"):
        until = datetime.now(UTC) + timedelta(days=_whole("Lasts", form["days"]))
        body["expires"] = until.isoformat()
    issued: Any = await custodian_routes.issue_token(replace(at(call), body=body))
    return f"A token for {name or 'a custodian'}: it is shown this once", {"secret": issued["token"]}


async def _revoke_token(call: Call, form: dict[str, str]) -> tuple[str, dict[str, Any]]:
    revocation = at(call, path={"token": form.get("token", "")}, reason=form.get("reason") or _REASON)
    await custodian_routes.revoke_token(revocation)
    return "The token lets nobody in any more", {}


async def _revoke(call: Call, form: dict[str, str]) -> tuple[str, dict[str, Any]]:
    revocation = at(call, path={"analyst": form.get("name", "")}, reason=form.get("reason") or _REASON)
    await custodian_routes.revoke_analyst(revocation)
    return f"{form.get('name')} is told nothing more", {}


async def _readmit(call: Call, form: dict[str, str]) -> tuple[str, dict[str, Any]]:
    readmission = at(call, path={"analyst": form.get("name", "")}, reason=form.get("reason") or _REASON)
    await custodian_routes.readmit_analyst(readmission)
    return f"{form.get('name')} may ask again", {}


async def _change_budget(call: Call, form: dict[str, str]) -> tuple[str, dict[str, Any]]:
    change = at(
        call,
        path={"level": form.get("level", "")},
        budget="spent" if form.get("spent") else _stated(form, "The new promise"),
        reason=form.get("reason") or _REASON,
    )
    await custodian_routes.change_budget(change)
    return "A new promise is in place of the old one", {}


async def _reset_failures(call: Call, form: dict[str, str]) -> tuple[str, dict[str, Any]]:
    reset = at(call, path={"level": form.get("level", "")}, reason=form.get("reason") or _REASON)
    await custodian_routes.reset_failures(reset)
    return "As many failures are allowed again", {}


async def _check(call: Call, _form: dict[str, str]) -> tuple[str, dict[str, Any]]:
    verification = await call.service.check.run(_PATIENCE)
    if verification is None:
        return "The check goes on: look here again", {}
    return "The ledger was read again and recomputed", {"checked": verification}


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
        "levels": [_level(level) for level in analyst["levels"]],
    }


def _level(level: dict[str, Any]) -> dict[str, Any]:
    left, own, allotted = level.get("affordable"), level.get("own"), level.get("given")
    return {
        "number": level["number"],
        "kind": level.get("level") or level.get("kind"),
        "name": level["name"],
        "budget": whole(level) or "that of its people",
        "left": "–" if left is None else f"ε = {amount(left)}",
        "spent": "–" if own is None else rough_percent(own),
        "given": rough_percent(allotted) if allotted else "–",
        "closed": bool(level.get("closed")),
        "large": str(level.get("approval_above") or "").partition(" (")[0],
    }


_FORM = {
    **object_of(
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
    Route("GET", "/custodian", "custodian", "everything at one look", overview, page=True),
    Route("POST", "/custodian", "custodian", "one act", act, body=_FORM, page=True),
)
