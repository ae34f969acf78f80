"""The page of profiles: the error of a count against the cap on a person's rows, found privately and charged once."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as in_address

from giveortake.answers.terms import least_error
from giveortake.exact import decimal
from giveortake.plot.svg import Markup, Plane, Scale, brief, percent, tag
from giveortake.server import analyst_routes
from giveortake.server.console.login import Notice, notice_of
from giveortake.server.console.views import (
    NONCE,
    at,
    key_of,
    nonce_of,
    page,
    patiently,
    quoted,
    see,
    short,
    standing_view,
)
from giveortake.server.responses import Refusal
from giveortake.server.routes import RELEASE, Call, Result, Route, object_of, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def profile_chart(lines: Sequence[Mapping[str, Any]]) -> Markup | None:
    """Noise, rows left out, and both together, for every cap, on logarithmic scales; the least error has a mark.

    If a cap above all of these may have a smaller error, nothing is marked.
    """
    if len(lines) < 2:
        return None
    caps = [float(line["cap"]) for line in lines]
    most = max(line["error"] for line in lines)
    least = max(1.0, min(line["noise"] for line in lines) / 2)
    x, y = Scale(caps[0], caps[-1], "log"), Scale(least, max(most, 2 * least) * 1.2, "log")
    plane = Plane(x, y, height=256)
    best, is_open = least_error(lines)
    at = percent(x.at(best["cap"]))
    highs = [most if line["high"] is None else min(most, max(least, line["high"])) for line in lines]
    band = [(cap, max(least, line["low"]), high) for cap, line, high in zip(caps, lines, highs, strict=True)]
    mark = [
        tag("line", x1=at, x2=at, y1=percent(1 - y.at(best["error"])), y2="100%", class_="guide"),
        tag("circle", cx=at, cy=percent(1 - y.at(best["error"])), r=6, class_="dot"),
    ]
    words = (
        f"The error of a count falls up to {best['cap']:,.0f} rows, the last cap tried, where it is about "
        f"{brief(best['error'])} rows; a larger cap may be better"
        if is_open
        else f"The error of a count is least, about {brief(best['error'])} rows, at a cap of {best['cap']:,.0f} rows"
    )
    return plane.chart(
        plane.band(band, class_="area"),
        plane.line([(float(line["cap"]), line["noise"]) for line in lines], class_="line other"),
        plane.line([(float(line["cap"]), max(least, line["bias"])) for line in lines], class_="line dotted"),
        plane.line([(float(line["cap"]), line["error"]) for line in lines], class_="line"),
        *([] if is_open else mark),
        label=words,
        title="rows",
        x_title="rows of a person that count →",
        x_ticks=_caps(caps),
    )


def _caps(caps: Sequence[float]) -> list[tuple[float, str]]:
    every = math.ceil(len(caps) / 6)
    return [(cap, f"{cap:,.0f}") for cap in caps[::every]]


_SPEND = "0.1"
_COLUMN, _BY = "column-", "by-"  # boxes of the form
_NUMBERS = frozenset({"integer", "real", "decimal"})


async def looked_at(call: Call) -> Result:
    """The page of paid profiles and the form; the newest profile is drawn, unless another is chosen."""
    return await _profiles_page(call)


async def create_profile(call: Call) -> Result:
    """Make a profile for a spend, and show it by its id; the same press again gives the same one."""
    form = {name: call.body.get(name, "").strip() for name in ("table", "epsilon", "most_rows")}
    terms: dict[str, Any] = {"table": form["table"], "epsilon": form["epsilon"]}
    if form["most_rows"]:
        terms["most_rows"] = int(form["most_rows"]) if form["most_rows"].isdecimal() else form["most_rows"]
    terms |= {"columns": _ticked(call, _COLUMN), "by": _ticked(call, _BY)}
    name = call.path["dataset"]
    key = key_of(nonce_of(call.body), "profile", name, terms)
    spend = terms.pop("epsilon")
    wanted = {"request": {"kind": "profile", **terms}, "terms": {"epsilon": spend}}
    try:
        if call.body.get("quoted") != key:  # whoever pays has seen how precise it will be
            quote: Any = await patiently(analyst_routes.quote, at(call, **wanted))
            return await _profiles_page(call, form=form, quote={"key": key, "words": "; ".join(quote["notes"])})
        release, _ = await analyst_routes.answered(at(call, **wanted, key=key))
    except Refusal as refused:
        return await _profiles_page(call, notice=notice_of(refused), form=form)
    return see(f"/profile/{in_address(name, safe='')}?release={in_address(release, safe='')}")


def _ticked(call: Call, prefix: str) -> list[str]:
    return sorted(name.removeprefix(prefix) for name in call.body if name.startswith(prefix))


async def _profiles_page(
    call: Call, *, notice: Notice | None = None, form: dict[str, str] | None = None, quote: dict[str, str] | None = None
) -> Result:
    outline: Any = await patiently(analyst_routes.outline, at(call))
    document: Any = await patiently(analyst_routes.profiles, at(call))
    profiles, wanted = document["profiles"], call.query.get("release")
    profile = next((paid_profile for paid_profile in profiles if paid_profile["release_id"] == wanted), None)
    if wanted is None and profiles and notice is None and quote is None:
        profile = profiles[0]
    elif wanted is not None and profile is None:
        raise Refusal("not_found")
    standing = standing_view(outline["standing"])
    return page(
        call,
        "profile.html",
        here="profile",
        dataset=call.path["dataset"],
        profile=None if profile is None else _drawn(profile, outline),
        paid=[_row(paid_profile, is_shown=paid_profile is profile) for paid_profile in profiles],
        tables=[table["name"] for table in outline["tables"]],
        is_of_persons=outline["unit"] is not None,
        numbers=_numbers(outline),
        groupable=_groupable(outline),
        nonce=nonce_of(call.body),
        form={"epsilon": _SPEND, "most_rows": "", "table": "", **(form or {})},
        ticked=frozenset(call.body),
        left=f"{standing['left']} of {standing['whole']}",
        notice=notice,
        quote=quote,
    )


def _drawn(profile: dict[str, Any], outline: Any) -> dict[str, Any]:
    """One profile as the page draws it."""
    lines, declared = profile["lines"], {column["name"]: column for column in _columns(outline)}
    best, is_open = least_error(lines) if lines else (None, False)
    return {
        "id": profile["release_id"],
        "epsilon": decimal(Fraction(profile["epsilon"])),
        "what": _words(profile),
        "chart": profile_chart(lines),
        "lines": [_line(line, None if is_open else best) for line in lines],
        "open": f"{best['cap']:,.0f}" if is_open and best is not None else "",
        "caps": ", ".join(f"{name.replace('_', ' ')}: {cap:,}" for name, cap in profile["caps"].items()),
        "persons": [f"{count:,.0f}" for count in profile["persons"] or ()],
        "bounds": [bounds_view(name, ends, declared.get(name, {})) for name, ends in profile["bounds"].items()],
        "notes": profile["notes"],
    }


def bounds_view(name: str, bounds: list[float], declared: dict[str, Any]) -> dict[str, str]:
    """Rough bounds of a column, in words and, where they are narrower than the declared ones, as SQL and TOML."""
    low, high = bounds
    least, most = (float(Fraction(declared.get(end) or unknown)) for end, unknown in (("low", low), ("high", high)))
    narrow = (max(low, least), min(high, most))
    ends = ", ".join(map(_bound_text, narrow))
    known = declared.get("low") is not None and narrow == (least, most)
    return {
        "name": name,
        "low": brief(low),
        "high": brief(high),
        "clamp": "" if known else f"CLAMP({quoted(name)}, {ends})",
        "declared": f"{name if name.isidentifier() else json.dumps(name)} = {{ bounds = [{ends}] }}",
    }


def _bound_text(end: float) -> str:
    """A bound as SQL and TOML read it: powers of two are written out.

    >>> _bound_text(-4.0), _bound_text(0.25), _bound_text(2.0**40)
    ('-4', '0.25', '1099511627776')
    """
    return str(int(end)) if end == int(end) else repr(end)


def _row(profile: dict[str, Any], *, is_shown: bool) -> dict[str, Any]:
    release = profile["release_id"]
    price = f"ε = {decimal(Fraction(profile['epsilon']))}"
    return {"id": release, "short": short(release), "what": _words(profile), "price": price, "is_shown": is_shown}


def _words(profile: dict[str, Any]) -> str:
    parts = [profile["table"]]
    parts += [f"groups of {', '.join(profile['by'])}"] if profile["by"] else []
    parts += [f"bounds of {', '.join(profile['columns'])}"] if profile["columns"] else []
    parts += [] if profile["most_rows"] is None else [f"nobody has more than {profile['most_rows']:,} rows"]
    return "; ".join(parts)


def _numbers(outline: Any) -> list[tuple[str, str]]:
    """Columns of numbers, with what is declared about them."""
    columns = (
        column for column in _columns(outline) if column["kind"] in _NUMBERS and column.get("categories") is None
    )
    return list({column["name"]: (column["name"], column["words"]) for column in columns}.values())


def _groupable(outline: Any) -> list[str]:
    """Columns with declared values, which questions group by."""
    return list(dict.fromkeys(column["name"] for column in _columns(outline) if column.get("categories")))


def _columns(outline: Any) -> list[dict[str, Any]]:
    return [column for table in outline["tables"] for column in table["columns"] if column["name"] != outline["unit"]]


def _line(line: dict[str, float | None], best: Any) -> dict[str, Any]:
    texts = {name: "no bound" if value is None else brief(value) for name, value in line.items() if name != "cap"}
    return {**texts, "cap": f"{line['cap'] or 0:,.0f}", "best": line is best}


ROUTES = (
    Route(
        *("GET", "/profile/{dataset}", "analyst", "profiles that were paid for, and the form of one", looked_at),
        query={"release": RELEASE},
        page=True,
    ),
    Route(
        *("POST", "/profile/{dataset}", "analyst", "make a profile", create_profile),
        body={
            **object_of(
                "epsilon",
                "table",
                epsilon=text(40),
                table=text(200),
                most_rows=text(12, 0),
                nonce=NONCE,
                quoted=text(100, 0),
            ),
            "additionalProperties": text(10, 0),  # a box for each column, ticked or not there
            "maxProperties": 500,
        },
        page=True,
        touches=True,
    ),
)
