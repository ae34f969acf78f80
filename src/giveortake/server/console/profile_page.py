"""Profiles: the error of a count against the cap on a person's rows, found privately, charged once, and kept."""

from __future__ import annotations

from fractions import Fraction
from typing import Any
from urllib.parse import quote as in_address

from giveortake.exact import shown
from giveortake.plot.svg.scales import brief
from giveortake.server import analyst_routes
from giveortake.server.console.forms import NONCE, kept_nonce, key_of
from giveortake.server.console.pages import at, page, patiently, see
from giveortake.server.console.profile_chart import profile_chart
from giveortake.server.console.states import Told, told
from giveortake.server.console.views import short, standing_view
from giveortake.server.refusals import Refused
from giveortake.server.routes import Call, Result, Route
from giveortake.server.schemas import of, text
from giveortake.server.shapes import RELEASE

_SPEND = "0.1"
_COLUMN, _BY = "column-", "by-"  # boxes of the form
_BOUNDED = frozenset({"integer", "real", "decimal"})


async def looked_at(call: Call) -> Result:
    """What was paid for, one of them drawn, the newest unless another is chosen; and the form."""
    return await _shown(call)


async def made(call: Call) -> Result:
    """A profile for a spend; the same press again gives the same one. It is kept, and shown by its id."""
    said = {name: call.body.get(name, "").strip() for name in ("table", "epsilon", "most_rows")}
    terms: dict[str, Any] = {"table": said["table"], "epsilon": said["epsilon"]}
    if said["most_rows"]:
        terms["most_rows"] = said["most_rows"]
    terms |= {"columns": _ticked(call, _COLUMN), "by": _ticked(call, _BY)}
    name = call.path["dataset"]
    key = key_of(kept_nonce(call.body), "profile", name, terms)
    try:
        found: Any = await analyst_routes.profile(at(call, **terms, key=key))
    except Refused as refused:
        return await _shown(call, said=told(refused), form=said)
    return see(f"/profile/{in_address(name, safe='')}?release={in_address(str(found['release_id']), safe='')}")


def _ticked(call: Call, before: str) -> list[str]:
    return sorted(name.removeprefix(before) for name in call.body if name.startswith(before))


async def _shown(call: Call, *, said: Told | None = None, form: dict[str, str] | None = None) -> Result:
    it: Any = await patiently(analyst_routes.dataset, at(call))
    kept: Any = await patiently(analyst_routes.profiles, at(call))
    found, wanted = kept["profiles"], call.query.get("release")
    profile = next((each for each in found if each["release_id"] == wanted), None)
    if wanted is None and found and said is None:
        profile = found[0]
    elif wanted is not None and profile is None:
        raise Refused("not_found")
    standing = standing_view(it["standing"])
    return page(
        call,
        "profile.html",
        here="profile",
        dataset=call.path["dataset"],
        profile=None if profile is None else _drawn(profile),
        paid=[_row(each, is_shown=each is profile) for each in found],
        tables=[table["name"] for table in it["tables"]],
        is_of_persons=it["unit"] is not None,
        unbounded=_unbounded(it),
        groupable=_groupable(it),
        nonce=kept_nonce(call.body),
        form={"epsilon": _SPEND, "most_rows": "", "table": "", **(form or {})},
        left=f"{standing['left']} of {standing['whole']}",
        told=said,
    )


def _drawn(profile: dict[str, Any]) -> dict[str, Any]:
    """One profile as the page draws it."""
    lines = profile["lines"]
    best = min(lines, key=lambda line: line["error"]) if lines else None
    return {
        "id": profile["release_id"],
        "epsilon": shown(Fraction(profile["epsilon"])),
        "what": _words(profile),
        "chart": profile_chart(lines),
        "lines": [_line(line, best) for line in lines],
        "caps": ", ".join(f"{name.replace('_', ' ')}: {cap:,}" for name, cap in profile["caps"].items()),
        "persons": [f"{each:,.0f}" for each in profile["persons"] or ()],
        "bounds": [(name, *map(brief, ends)) for name, ends in profile["bounds"].items()],
        "notes": profile["notes"],
    }


def _row(profile: dict[str, Any], *, is_shown: bool) -> dict[str, Any]:
    release = profile["release_id"]
    price = f"ε = {shown(Fraction(profile['epsilon']))}"
    return {"id": release, "short": short(release), "what": _words(profile), "price": price, "is_shown": is_shown}


def _words(profile: dict[str, Any]) -> str:
    parts = [profile["table"]]
    parts += [f"groups of {', '.join(profile['by'])}"] if profile["by"] else []
    parts += [f"bounds of {', '.join(profile['columns'])}"] if profile["columns"] else []
    parts += [] if profile["most_rows"] is None else [f"nobody has more than {profile['most_rows']:,} rows"]
    return "; ".join(parts)


def _unbounded(it: Any) -> list[str]:
    """Columns of numbers of which nobody has said between which they lie."""
    open_ones = (each for each in _columns(it) if each["kind"] in _BOUNDED and each["low"] is None)
    return list(dict.fromkeys(each["name"] for each in open_ones if each.get("categories") is None))


def _groupable(it: Any) -> list[str]:
    """Columns with declared values, which questions group by."""
    return list(dict.fromkeys(each["name"] for each in _columns(it) if each.get("categories")))


def _columns(it: Any) -> list[dict[str, Any]]:
    return [column for table in it["tables"] for column in table["columns"] if column["name"] != it["unit"]]


def _line(line: dict[str, float | None], best: Any) -> dict[str, Any]:
    told = {name: "no bound" if value is None else brief(value) for name, value in line.items() if name != "cap"}
    return {**told, "cap": f"{line['cap'] or 0:,.0f}", "best": line is best}


ROUTES = (
    Route(
        *("GET", "/profile/{dataset}", "analyst", "profiles that were paid for, and the form of one", looked_at),
        query={"release": RELEASE},
        page=True,
    ),
    Route(
        *("POST", "/profile/{dataset}", "analyst", "make a profile", made),
        body={
            **of("epsilon", "table", epsilon=text(40), table=text(200), most_rows=text(12, 0), nonce=NONCE),
            "additionalProperties": text(10, 0),  # a box for each column, ticked or not there
            "maxProperties": 500,
        },
        page=True,
        touches=True,
    ),
)
