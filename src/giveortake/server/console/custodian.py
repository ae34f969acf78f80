"""The custodian's page: who may ask, with what budget, what failed, and whether the ledger is whole."""

from __future__ import annotations

from typing import Any

from giveortake.exact import rough_percent
from giveortake.operations import OPERATIONS
from giveortake.server.console.forms import DAYS, form_of, perform_form
from giveortake.server.console.login import Notice, notice_of
from giveortake.server.console.views import amount, page, whole
from giveortake.server.custodian_routes import perform
from giveortake.server.responses import Refusal
from giveortake.server.routes import Call, Result, Route, object_of, text

_FORMS = ("analyst add", "analyst revoke", "analyst readmit", "budget change", "budget limit", "token issue")
_PATIENCE = 5.0  # seconds after which a page does not wait for a check any more


async def overview(call: Call) -> Result:
    """The page of everything that a custodian decides."""
    return await _custodian_page(call)


async def act(call: Call) -> Result:
    """Do one operation, written to the ledger with who did it; then show the same page, with what became of it."""
    form = {name: value.strip() for name, value in call.body.items()}
    try:
        document = await (_verified(call) if form["do"] == "ledger verify" else perform_form(call, form))
    except Refusal as refused:
        # The form stays open, as it was filled in.
        return await _custodian_page(call, notice=notice_of(refused), typed=form)
    title, _, more = document["message"].partition("\n")
    notice = Notice("done", title, more, "", "Written to the ledger, with your token's name.", calm=True)
    return await _custodian_page(call, notice=notice, secret=document.get("token", ""), checked=document.get("checked"))


async def _verified(call: Call) -> dict[str, Any]:
    verification = await call.service.check.run(_PATIENCE)
    if verification is None:
        return {"message": "The check goes on: look here again"}
    return {"message": "The ledger was read again and recomputed", "checked": verification}


async def _custodian_page(
    call: Call,
    *,
    notice: Notice | None = None,
    secret: str = "",
    checked: Any = None,
    typed: dict[str, str] | None = None,
) -> Result:
    names = ("analyst list", "budget list", "token list", "approval list", "failures show", "dataset list")
    people, budgets, tokens, large, failed, tables = [await perform(call, name) for name in names]
    served = [table for table in tables["datasets"] if table["name"] in call.who.datasets]
    populations = {table["name"]: table["population"] for table in served}
    first = {table["name"] for table in served if table["population"] == served[0]["population"]}
    choices = {
        "analyst": [(analyst["name"], analyst["name"]) for analyst in people["analysts"]],
        "level": [(str(level["number"]), f"{level['level']} {level['name']}") for level in budgets["levels"]],
        "datasets": [
            (name, name if len(first) == len(served) else f"{name} ({populations[name]})") for name in populations
        ],
    }
    return page(
        call,
        "custodian.html",
        here="custodian",
        dataset=None,
        notice=notice,
        forms={name: form_of(name, typed or {}, choices) for name in _FORMS},
        sent="" if typed is None else typed["do"],
        secret=secret,
        checked=checked,
        populations=populations,
        ticked=first,
        analysts=[_person(analyst) for analyst in people["analysts"]],
        levels=[_level(level) for level in budgets["levels"]],
        tokens=tokens["tokens"],
        waiting=sum(approval["state"] == "waiting" for approval in large["approvals"]),
        failures=failed["failures"],
        revealed=failed["revealed"],
        check=call.service.check.progress(),
        days=DAYS,
        metrics=call.service.metrics,
    )


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
    **object_of("do", do={"type": "string", "enum": [operation.name for operation in OPERATIONS]}),
    "additionalProperties": text(1000, 0),
    "maxProperties": 1000,
}

ROUTES = (
    Route("GET", "/custodian", "custodian", "everything at one look", overview, page=True),
    Route("POST", "/custodian", "custodian", "one operation", act, body=_FORM, page=True),
)
