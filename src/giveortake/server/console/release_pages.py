"""The pages of releases: the log, one release, refining it, and what changed between two of them."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as in_address

from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.exact import shown as shown_fraction
from giveortake.ledger.rules.releases import minute, price_of, request_text, without_repeats
from giveortake.plot.svg import brief
from giveortake.server import analyst_routes
from giveortake.server.console.approvals_page import approval_view
from giveortake.server.console.differences import Difference, difference
from giveortake.server.console.examples import snippets
from giveortake.server.console.forms import (
    CURRENCY,
    NONCE,
    Form,
    currency_of,
    fitting,
    kept_nonce,
    key_of,
    most_of,
    number_said,
    terms_of,
)
from giveortake.server.console.pages import asking_for, at, page, patiently, see
from giveortake.server.console.states import NOTHING, Told, told
from giveortake.server.console.uncertainty import measured_of, uncertain
from giveortake.server.console.views import answer_of, answer_view, exactly, quote_view, short, table_view
from giveortake.server.refusals import Refused, malformed
from giveortake.server.routes import Call, Result, Route
from giveortake.server.schemas import Schema, of, text
from giveortake.server.shapes import PLACE, RELEASE
from giveortake.wire.release_documents import release_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from giveortake.answers import Answer
    from giveortake.ledger import ReleaseRecord


async def refinement(call: Call, form: Form, answer: Answer, record: dict[str, Any]) -> dict[str, Any]:
    """What an additional spend on an answer would take and leave, and about what margins it would give; free.

    It is priced as the question by itself. The same question again may be free, but a refinement is not: it is drawn
    anew, and charged, unless that was done before. For a question that was not SQL only the price is known, and no
    margin.
    """
    if await _is_bought(call, form, record):
        return {"spend": form.spend, "paid": True}
    if not form.sql:
        standing: Any = await patiently(analyst_routes.budget, at(call))
        most = most_of(standing, form.currency)
        more = number_said(form.spend)
        if more is None:
            raise malformed("the additional spend is no number", "write a number as 0.1")
        fits = most is None or more <= most
        said = {"price": form.price, "spend": form.spend, "paid": False}
        return {**said, "admitted": fits, "leaves": "", "margins": []}
    quote: Any = await patiently(analyst_routes.quote, at(call, sql=form.sql, terms=form.terms))
    standing = quote["standing"]
    if quote.get("paid"):
        used = float(standing.get("given") or 0) + float(standing.get("own") or 0) + float(quote["share"] or 0)
        quote = {**quote, "used_after": used, "admitted": used <= 1, "paid": False}
    view = quote_view(quote, form)
    leaves = view["leaves"].partition(" · ")[0]
    return {
        "price": form.price,
        "spend": form.spend,
        "paid": False,
        "admitted": quote["admitted"],
        "leaves": leaves if leaves.startswith("leaves") else "",
        "margins": list(_margins(answer, quote["margins"])),
    }


async def _is_bought(call: Call, form: Form, record: dict[str, Any]) -> bool:
    """Whether a release was refined at this price before, and is read again. Only the newest releases are searched."""
    found: Any = await patiently(analyst_routes.releases, asking_for(call, order="newest", limit=_LOOKED_THROUGH))
    before = [*_refines(record), record["id"]]
    return any(
        _refines(each) == before and each["settled"] and price_of(release_of(each)) == form.price
        for each in found["releases"]
    )


def _refines(record: dict[str, Any]) -> list[str]:
    """The ids of the releases that one refines, the first one first."""
    request = record.get("request")
    references = (request.get("refines") if isinstance(request, dict) else None) or ()
    return [str(each) for each in references]


def _margins(answer: Answer, alone: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Column names, the widest margin now, and about what it would be: answers are averaged by their precision."""
    for column in answer.estimates:
        new = alone.get(column.name)
        widths = [_half(low, high) for _, low, high in column.triples()]
        if (
            not widths
            or not isinstance(new, int | float)
            or new <= 0
            or not all(0 < each < math.inf for each in widths)
        ):
            continue
        now = max(widths)
        then = (now**-2 + float(new) ** -2) ** -0.5
        yield column.name, f"± {brief(now)}", f"± {brief(then)}"


def _half(low: Any, high: Any) -> float:
    return float(high - low) / 2 if isinstance(low, int | float) and isinstance(high, int | float) else math.inf


_PAGE = 50
_LOOKED_THROUGH = 1000
_UNDECIDED = 10
_USUAL = "19/20"  # the confidence of an answer that states none
_PRESSED: Schema = {"type": "string", "enum": ["quote", "refine"]}


async def log(call: Call) -> Result:
    """The page of what was asked and paid for, the newest first; a search may narrow it."""
    wanted = call.query.get("q", "").strip()
    limit = _LOOKED_THROUGH if wanted else _PAGE
    further = {"after": call.query["after"]} if "after" in call.query else {}
    found: Any = await patiently(analyst_routes.releases, asking_for(call, order="newest", limit=limit, **further))
    rows = _rows(found["releases"])
    if wanted:
        rows = [row for row in rows if wanted.casefold() in f"{row['asked']} {row['id']}".casefold()]
    more = found["releases"][-1]["id"] if found["more"] and found["releases"] else ""
    waiting = [] if wanted or further else await _undecided(call)
    name = call.path["dataset"]
    told: Any = {"rows": rows, "q": wanted, "more": more, "waiting": waiting, "of_all": call.who.analyst is None}
    return page(call, "releases.html", here="releases", dataset=name, **told)


async def _undecided(call: Call) -> list[dict[str, Any]]:
    """The asker's own large spends that wait, or were decided and not asked again yet, the newest first."""
    if call.who.analyst is None:
        return []
    found: Any = await patiently(analyst_routes.approvals, at(call))
    return [approval_view(each) for each in reversed(found["approvals"]) if each["state"] != "used"][:_UNDECIDED]


async def one(call: Call) -> Result:
    """The page of one release."""
    return await _one(call, None)


async def _one(call: Call, said: Told | None, more: Form | None = None) -> Result:
    name, release = call.path["dataset"], call.path["release"]
    record = await record_of(call, release)
    tables = record.get("tables", 1)
    place = call.query.get("place", 0 if tables > 1 else None)
    which = {} if place is None else {"place": place}
    _, written = await patiently(analyst_routes.released, asking_for(call, **which))
    answer = await asyncio.to_thread(answer_of, written)
    form = asked_again(record, place or 0)
    standing: Any = await patiently(analyst_routes.budget, at(call))
    before, begun = await _begun(call, record)
    measured = measured_of(record, place or 0)
    again = form if before is None else replace(form, sql=_question(before, begun).get("sql") or "")
    quote = None
    if more is not None:
        again = replace(again, spend=more.spend, currency=more.currency, delta=more.delta)
        try:
            quote = await refinement(call, again, answer, record)
        except Refused as refused:
            said = told(refused)

    def rendered() -> Result:
        view = answer_view(answer, measured, uncertain(answer, form, standing, measured))
        price, profile = price_of(release_of(record)), "profile" in (record.get("request") or ())
        if profile:  # its bins are a chart on a page of their own, and the last of them has no end
            view |= {"figure": None, "apart": []}
        if tables > 1:
            view["cite"] += f" Table {(place or 0) + 1} of {tables}, which take {price} together."
        return page(
            call,
            "release.html",
            here="releases",
            dataset=name,
            answer=view,
            record={
                "asked": _asked(record, place or 0) if before is None else _asked(before, begun),
                "refines": None if before is None else {"id": before["id"], "short": short(before["id"])},
                "sql": form.sql,
                "tables": tables,
                "place": place,
                "price": price,
                "profile": profile,
            },
            refinable=measured.refinable,
            refinement=quote,
            fits=fitting(standing, again.currency),
            form=replace(again, nonce=kept_nonce(call.body)),
            snippets=snippets(name, form.sql, form.terms) if form.sql else [],
            told=said,
        )

    return await asyncio.to_thread(rendered)  # the loop is everybody's, and a large answer takes long


async def _begun(call: Call, record: dict[str, Any]) -> tuple[dict[str, Any] | None, int]:
    """The first release that a release refines, which has the question as it was written, and its place there."""
    references = _refines(record)
    if not references:
        return None, 0
    return await record_of(call, references[0]), int((record.get("record") or {}).get("refined") or 0)


async def refined(call: Call) -> Result:
    """Refine a release; first show the price, which is free."""
    name, release = call.path["dataset"], call.path["release"]
    if call.body.get("do") != "refine":
        return await _one(call, None, Form.of(call.body))
    said = {each: call.body.get(each, "").strip() for each in ("spend", "delta")}
    terms = terms_of(call.body.get("currency", "epsilon"), **said)
    key = key_of(kept_nonce(call.body), "refine", name, release, terms)
    try:
        release, _ = await analyst_routes.refined(at(call, terms=terms, key=key))
    except Refused as refused:
        return await _one(call, told(refused), Form.of(call.body))
    return see(f"/releases/{in_address(name, safe='')}/{in_address(release, safe='')}")


async def compared(call: Call) -> Result:
    """The page of what changed from one release to another."""
    name = call.path["dataset"]
    if name not in call.who.datasets:  # absent and forbidden are one and the same
        raise Refused("not_found")
    chosen = [call.query.get(each) for each in ("before", "after")]
    if None in chosen:
        said = Told("invalid", "Choose two releases", "One as before, one as after.", "", NOTHING, calm=True)
        return page(call, "compare.html", here="releases", dataset=name, told=said)
    written = [await patiently(analyst_routes.released, at(call, path={"release": str(each)})) for each in chosen]
    records = [await record_of(call, str(each)) for each in chosen]
    sides = [
        {"id": str(each), "short": short(str(each)), "asked": _asked(record)}
        for each, record in zip(chosen, records, strict=True)
    ]
    return await asyncio.to_thread(_side_by_side, call, [content for _, content in written], sides)


def _side_by_side(call: Call, written: list[bytes], sides: list[dict[str, str]]) -> Result:
    name = call.path["dataset"]
    try:
        found = difference(*map(answer_of, written))
    except (InvalidParameter, QueryRefused) as error:
        said = Told("invalid", "These two cannot be compared", error.message, error.hint or "", NOTHING, calm=True)
        return page(call, "compare.html", here="releases", dataset=name, told=said)
    view = table_view([*found.keys, *found.estimates])
    percent = shown_fraction(100 * found.confidence)
    return page(
        call,
        "compare.html",
        here="releases",
        dataset=name,
        told=None,
        before=sides[0],
        after=sides[1],
        answer={**view, "certainty": "", "counts": _held(found, percent), "apart": [], "notes": [], "uncertain": []},
        surely=_surely(found),
        lines=_lines(found),
    )


def _held(found: Difference, percent: str) -> str:
    each = "all together" if found.together else "each"
    return (
        f"The intervals of the differences hold with at least {percent} %, {each}: both noises are in them, and what "
        "either release may miss is added up."
    )


def _surely(found: Difference) -> str:
    certain = sum(found.certain)
    name = found.estimates[0].name
    return f"{certain:,} of {len(found):,} rows surely changed in {name}: their intervals do not hold zero."


def _lines(found: Difference) -> list[str]:
    lines = list(found.notes)
    if found.only_before or found.only_after:
        lines.append(
            f"{found.only_before:,} rows are in the first release alone, {found.only_after:,} in the second alone; "
            "where keys are found in the data, that may be noise."
        )
    if found.left_aside:
        lines.append(f"Not in both, or no numbers: {', '.join(found.left_aside)}.")
    return lines


async def record_of(call: Call, release: str) -> dict[str, Any]:
    """The ledger's record of a release."""
    return await patiently(_record, at(call, path={"release": release}))  # type: ignore[no-any-return]  # (a document)


async def _record(call: Call) -> Result:
    return await call.service.ask(call, "release_record", release=call.path["release"])


def asked_again(record: dict[str, Any], place: int = 0) -> Form:
    """A form that asks the same question again; for a batch, its question at a place."""
    said = _question(record, place)
    spend = said.get("spend") or {}
    caps = said.get("caps") or {}
    known = {
        name: _cap(caps[name]) for name in ("rows_per_person", "groups_per_person", "rows_per_group") if name in caps
    }
    sure = ((record.get("record") or {}).get("confidence") or [_USUAL])[0]
    known |= {} if sure == _USUAL else {"confidence": exactly(sure)}
    if not isinstance(spend, dict) or not spend:
        return Form(sql=said.get("sql") or "", **known)
    currency = currency_of(spend)
    amount = spend.get({"rho": "rho", "mu": "mu"}.get(currency, "epsilon"))
    delta = "" if spend.get("delta") is None else exactly(spend["delta"])
    return Form(sql=said.get("sql") or "", currency=currency, spend=exactly(amount), delta=delta, **known)


def _cap(said: Any) -> str:
    """A cap as a form's field holds it; of caps by table, the only one, else empty."""
    if isinstance(said, dict):
        return str(next(iter(said.values()))) if len(said) == 1 else ""
    return str(said)


def _rows(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Lines of the log; a refinement has the question of the release that it refines, where that is listed too."""
    rows = [_row(*each) for each in without_repeats([release_of(each) for each in documents])]
    asked = {row["id"]: row["asked"] for row in rows}
    return [{**row, "asked": asked.get(row["refines"], row["asked"])} for row in rows]


def _row(record: ReleaseRecord, repeats: int) -> dict[str, Any]:
    refines = record.request.get("refines") if isinstance(record.request, dict) else None
    return {
        "id": record.id,
        "short": short(record.id),
        "asked": " ".join(request_text(record).split()),
        "at": minute(record.at),
        "by": record.analyst or "custodian",
        "repeats": f"asked again {'once' if repeats == 1 else f'{repeats:,} times'}, free" if repeats else "",
        "price": price_of(record),
        "refines": str(refines[0]) if refines else "",
        "readable": record.readable,
        "single": record.tables == 1,
        "state": "failed" if record.failed else "ask again, free" if record.settled else "unfinished",
    }


def _asked(record: dict[str, Any], place: int = 0) -> str:
    """The question as it was written, or else in words."""
    return str(_question(record, place).get("sql") or record.get("asked") or "–")


def _question(record: dict[str, Any], place: int = 0) -> dict[str, Any]:
    """What was asked at a place; a workload or a counter is asked as a whole."""
    found: list[dict[str, Any]] = record.get("questions") or []
    return found[place] if place < len(found) else record.get("record") or {}


_RELEASE = "/releases/{dataset}/{release}"
ROUTES = (
    Route(
        *("GET", "/releases/{dataset}", "analyst", "the log of releases", log),
        query={"q": text(200, 0), "after": RELEASE},
        page=True,
    ),
    Route("GET", _RELEASE, "analyst", "one release", one, query={"place": PLACE}, page=True),
    Route(
        *("POST", f"{_RELEASE}/refine", "analyst", "refine a release", refined),
        body=of("spend", do=_PRESSED, spend=text(40), delta=text(40, 0), currency=CURRENCY, nonce=NONCE),
        page=True,
        touches=True,
    ),
    Route(
        *("GET", "/compare/{dataset}", "analyst", "what changed between two releases", compared),
        query={"before": RELEASE, "after": RELEASE},
        page=True,
    ),
)
