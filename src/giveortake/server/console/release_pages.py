"""Releases: the log, one release, refining it, and what changed between two of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import quote as in_address

from giveortake.errors import InvalidParameter
from giveortake.exact import shown as shown_fraction
from giveortake.ledger.listings import asked_of, minute, price_of
from giveortake.server import analyst_routes
from giveortake.server.console.approvals_page import approval_view
from giveortake.server.console.differences import Difference, difference
from giveortake.server.console.forms import CURRENCY, NONCE, Form, kept_nonce, key_of
from giveortake.server.console.measured import measured_of
from giveortake.server.console.pages import asking_for, at, page, patiently, see
from giveortake.server.console.refinements import refinement
from giveortake.server.console.snippets import snippets
from giveortake.server.console.spends import currency_of, fitting, terms_of
from giveortake.server.console.states import NOTHING, Told, told
from giveortake.server.console.uncertainty import uncertain
from giveortake.server.console.views import answer_of, answer_view, decimal, short, table_view
from giveortake.server.refusals import Refused
from giveortake.server.routes import Call, Result, Route
from giveortake.server.schemas import Schema, of, text
from giveortake.server.shapes import PLACE, RELEASE
from giveortake.wire.release_documents import release_of

_PAGE = 50
_LOOKED_THROUGH = 1000
_UNDECIDED = 10
_PRESSED: Schema = {"type": "string", "enum": ["quote", "refine"]}


async def log(call: Call) -> Result:
    """What was asked and paid for, the newest first; words find some of them."""
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
    return page(call, "releases.html", here="releases", dataset=name, rows=rows, q=wanted, more=more, waiting=waiting)


async def _undecided(call: Call) -> list[dict[str, Any]]:
    """The asker's own large spends that wait, or were decided and not asked again yet, the newest first."""
    if call.who.analyst is None:
        return []
    found: Any = await patiently(analyst_routes.approvals, at(call))
    return [approval_view(each) for each in reversed(found["approvals"]) if each["state"] != "used"][:_UNDECIDED]


async def one(call: Call) -> Result:
    """One release, for good."""
    return await _one(call, None)


async def _one(call: Call, said: Told | None, more: Form | None = None) -> Result:
    name, release = call.path["dataset"], call.path["release"]
    record = await record_of(call, release)
    tables = record.get("tables", 1)
    place = call.query.get("place", 0 if tables > 1 else None)
    which = {} if place is None else {"place": place}
    document: Any = await patiently(analyst_routes.release, asking_for(call, **which))
    form = asked_again(record, place or 0)
    standing: Any = await patiently(analyst_routes.budget, at(call))
    before, begun = await _begun(call, record)
    measured, answer = measured_of(record, place or 0), answer_of(document)
    again = form if before is None else replace(form, sql=_question(before, begun).get("sql") or "")
    quote = None
    if more is not None:
        again = replace(again, spend=more.spend, currency=more.currency, delta=more.delta)
        try:
            quote = await refinement(call, again, answer)
        except Refused as refused:
            said = told(refused)
    return page(
        call,
        "release.html",
        here="releases",
        dataset=name,
        answer=answer_view(answer, measured, uncertain(answer, form, standing, measured)),
        record={
            "asked": _asked(record, place or 0) if before is None else _asked(before, begun),
            "refines": None if before is None else {"id": before["id"], "short": short(before["id"])},
            "sql": form.sql,
            "tables": tables,
            "place": place,
        },
        refinable=measured.refinable,
        refinement=quote,
        fits=fitting(standing, again.currency),
        form=replace(again, nonce=kept_nonce(call.body)),
        snippets=snippets(name, form.sql, form.terms) if form.sql else [],
        told=said,
    )


async def _begun(call: Call, record: dict[str, Any]) -> tuple[dict[str, Any] | None, int]:
    """The first release that a release refines, which has the question as it was written, and its place there."""
    references = (record.get("request") or {}).get("refines") if isinstance(record.get("request"), dict) else None
    if not references:
        return None, 0
    first = str(references[0])
    name = f"{call.path['dataset']}/{first}" if first.isdigit() else first
    try:
        return await record_of(call, name), int((record.get("record") or {}).get("refined") or 0)
    except Refused:  # of an older ledger: then it is told in words
        return None, 0


async def refined(call: Call) -> Result:
    """Spend more on it, and keep what was paid; first the price, which is free."""
    name, release = call.path["dataset"], call.path["release"]
    if call.body.get("do") != "refine":
        return await _one(call, None, Form.of(call.body))
    said = {each: call.body.get(each, "").strip() for each in ("spend", "delta")}
    terms = terms_of(call.body.get("currency", "epsilon"), **said)
    key = key_of(kept_nonce(call.body), "refine", name, release, terms)
    try:
        found: Any = await analyst_routes.refine(at(call, terms=terms, key=key))
    except Refused as refused:
        return await _one(call, told(refused), Form.of(call.body))
    return see(f"/releases/{in_address(name, safe='')}/{in_address(str(found['release_id']), safe='')}")


async def compared(call: Call) -> Result:
    """Two releases, and what changed from one to the other."""
    name = call.path["dataset"]
    if name not in call.who.datasets:  # absent and forbidden are one and the same
        raise Refused("not_found")
    chosen = [call.query.get(each) for each in ("before", "after")]
    if None in chosen:
        said = Told("invalid", "Choose two releases", "One as before, one as after.", "", NOTHING, calm=True)
        return page(call, "compare.html", here="releases", dataset=name, told=said)
    documents: list[Any] = [
        await patiently(analyst_routes.release, at(call, path={"release": str(each)})) for each in chosen
    ]
    before, after = map(answer_of, documents)
    try:
        found = difference(before, after)
    except InvalidParameter as error:
        said = Told("invalid", "These two cannot be compared", error.message, error.hint or "", NOTHING, calm=True)
        return page(call, "compare.html", here="releases", dataset=name, told=said)
    records = [await record_of(call, str(each)) for each in chosen]
    sides = [
        {"id": str(each), "short": short(str(each)), "asked": _asked(record)}
        for each, record in zip(chosen, records, strict=True)
    ]
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
        answer={**view, "certainty": "", "counts": _held(found, percent), "notes": [], "uncertain": []},
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
    """What the ledger says of a release."""
    return await patiently(_record, at(call, path={"release": release}))  # type: ignore[no-any-return]  # (a document)


async def _record(call: Call) -> Result:
    return await call.service.ask(call, "release_record", release=call.path["release"])


def asked_again(record: dict[str, Any], place: int = 0) -> Form:
    """The form that would ask the same; of a batch, its question at a place."""
    said = _question(record, place)
    spend = said.get("spend") or {}
    caps = said.get("caps") or {}
    plain = {name: str(value) for name, value in caps.items() if isinstance(value, int | str)}
    known = {name: plain[name] for name in ("rows_per_person", "groups_per_person", "rows_per_group") if name in plain}
    if not isinstance(spend, dict) or not spend:
        return Form(sql=said.get("sql") or "", **known)
    currency = currency_of(spend)
    amount = spend.get({"rho": "rho", "mu": "mu"}.get(currency, "epsilon"))
    delta = "" if spend.get("delta") is None else decimal(spend["delta"])
    return Form(sql=said.get("sql") or "", currency=currency, spend=decimal(amount), delta=delta, **known)


def _rows(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Lines of the log; a refinement has the question of the release that it refines, where that is listed too."""
    rows = [_row(each) for each in documents]
    asked = {row["id"]: row["asked"] for row in rows}
    return [{**row, "asked": asked.get(row["refines"], row["asked"])} for row in rows]


def _row(document: dict[str, Any]) -> dict[str, Any]:
    record = release_of(document)
    refines = record.request.get("refines") if isinstance(record.request, dict) else None
    return {
        "id": record.id,
        "short": short(record.id),
        "asked": " ".join(asked_of(record).split()),
        "at": minute(record.at),
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
