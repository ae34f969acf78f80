"""The profile: the error of a count against the cap on a person's rows, found privately and charged once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from giveortake.exact import shown
from giveortake.plot.svg.scales import brief
from giveortake.server import asking
from giveortake.server.console.forms import NONCE, kept_nonce, key_of
from giveortake.server.console.pages import at, page, patiently
from giveortake.server.console.profile_chart import profile_chart
from giveortake.server.console.states import Told, told
from giveortake.server.console.views import standing_view
from giveortake.server.refusals import Refused
from giveortake.server.routes import Call, Result, Route
from giveortake.server.schemas import of, text

_SPEND = "0.1"
_COLUMN = "column-"
_BOUNDED = frozenset({"integer", "real", "decimal"})


async def asked_for(call: Call) -> Result:
    """The form, before anything is paid."""
    return await _shown(call)


async def made(call: Call) -> Result:
    """A profile for a spend; the same press again gives the same one."""
    table, epsilon = call.body["table"], call.body["epsilon"].strip()
    columns = sorted(name.removeprefix(_COLUMN) for name in call.body if name.startswith(_COLUMN))
    key = key_of(kept_nonce(call.body), "profile", call.path["dataset"], table, epsilon, *columns)
    try:
        found: Any = await asking.profile(at(call, table=table, epsilon=epsilon, columns=columns, key=key))
    except Refused as refused:
        return await _shown(call, said=told(refused), epsilon=epsilon)
    return await _shown(call, profile=found, epsilon=epsilon)


async def _shown(call: Call, *, profile: Any = None, said: Told | None = None, epsilon: str = _SPEND) -> Result:
    it: Any = await patiently(asking.dataset, at(call))
    standing = standing_view(it["standing"])
    lines = [] if profile is None else profile["lines"]
    best = min(lines, key=lambda line: line["error"]) if lines else None
    return page(
        call,
        "profile.html",
        here="profile",
        dataset=call.path["dataset"],
        tables=[table["name"] for table in it["tables"]],
        unbounded=_unbounded(it),
        bounds=[(name, *map(brief, ends)) for name, ends in (profile or {}).get("bounds", {}).items()],
        nonce=kept_nonce(call.body),
        epsilon=epsilon,
        left=f"{standing['left']} of {standing['whole']}",
        profile=None if profile is None else {**profile, "epsilon": shown(Fraction(profile["epsilon"]))},
        chart=profile_chart(lines),
        lines=[_line(line, best) for line in lines],
        caps=", ".join(f"{name} = {cap:,}" for name, cap in (profile or {}).get("caps", {}).items()),
        persons=[f"{each:,.0f}" for each in (profile or {}).get("persons", ())],
        told=said,
    )


def _unbounded(it: Any) -> list[str]:
    """Columns of numbers of which nobody has said between which they lie."""
    columns = [column for table in it["tables"] for column in table["columns"] if column["name"] != it["unit"]]
    open_ones = (each for each in columns if each["kind"] in _BOUNDED and each["low"] is None)
    return list(dict.fromkeys(each["name"] for each in open_ones if each.get("categories") is None))


def _line(line: dict[str, float | None], best: Any) -> dict[str, Any]:
    told = {name: "no bound" if value is None else brief(value) for name, value in line.items() if name != "cap"}
    return {**told, "cap": f"{line['cap'] or 0:,.0f}", "best": line is best}


ROUTES = (
    Route("GET", "/profile/{dataset}", "analyst", "the form of a profile", asked_for, page=True),
    Route(
        *("POST", "/profile/{dataset}", "analyst", "make a profile", made),
        body={
            **of("epsilon", "table", epsilon=text(40), table=text(200), nonce=NONCE),
            "additionalProperties": text(10, 0),  # a box for each column, ticked or not there
            "maxProperties": 500,
        },
        page=True,
        touches=True,
    ),
)
