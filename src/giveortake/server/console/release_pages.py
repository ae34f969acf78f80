"""The pages of releases: the list, one release, refining it, and what changed between two.

- What a release measures, which of its numbers are uncertain, and what spend would narrow them.
- The pages themselves.
"""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final
from urllib.parse import quote as in_address

from giveortake.answers.answer import Difference, difference
from giveortake.answers.render import covers_truncation, legend, number_text, printable
from giveortake.codec import fraction_text
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.exact import decimal, percent
from giveortake.ledger.releases import minute, price_of, request_text, without_repeats
from giveortake.plan.relations import AggregateKind
from giveortake.plot.svg import brief
from giveortake.server import analyst_routes
from giveortake.server.console.approvals import approval_view
from giveortake.server.console.login import NOTHING, Notice, notice_of
from giveortake.server.console.views import (
    CURRENCY,
    NONCE,
    Balance,
    Form,
    answer_of,
    answer_view,
    asking_for,
    at,
    currency_of,
    exactly,
    key_of,
    nonce_of,
    page,
    parsed_number,
    patiently,
    quote_view,
    see,
    sentence,
    short,
    snippets,
    table_view,
    terms_of,
)
from giveortake.server.responses import Refusal, malformed
from giveortake.server.routes import PLACE, RELEASE, Call, Result, Route, Schema, object_of, text
from giveortake.session.proposals import narrowing
from giveortake.wire.documents import quote_of, release_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from giveortake.answers import Answer
    from giveortake.ledger import ReleaseRecord


_COUNTS = frozenset(kind.value for kind in AggregateKind if kind.name.startswith("COUNT"))


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """What a release measures, by the names of its columns, and whether it can be refined."""

    quantiles: frozenset[str] = frozenset()
    counts: frozenset[str] = frozenset()
    refinable: bool = False


def measured_of(record: dict[str, Any], index: int = 0) -> Measured:
    """What a question measures, from the ledger's record alone: no answer is read."""
    request = _request(record)
    if request.get("kind") == "refinement":
        return Measured(refinable=True)
    queries = request.get("queries", [request])
    if not 0 <= index < len(queries) or "question" not in queries[index]:
        return Measured()
    outputs = queries[index]["question"]["outputs"]
    kinds = {name: set(kinds_of(formula)) for name, formula in outputs}
    quantiles = frozenset(name for name, aggregates in kinds.items() if AggregateKind.QUANTILE.value in aggregates)
    counts = frozenset(name for name, aggregates in kinds.items() if aggregates and aggregates <= _COUNTS)
    single = record.get("tables", 1) == 1 and "profile" not in (record["request"] or {})
    return Measured(quantiles, counts, single and not quantiles)  # quantiles do not average


def _request(record: dict[str, Any]) -> dict[str, Any]:
    """The request of a release, as the ledger has it; empty if it keeps none."""
    content = record.get("record")
    request: dict[str, Any] = json.loads(content["request"]) if isinstance(content, dict) else {}
    return request


def kinds_of(formula: Any) -> Iterator[str]:
    """The aggregates that a formula, or a whole plan, is made of."""
    stack = [formula]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if node.get("kind") == "measured":
                yield str(node["aggregate"]["kind"])
            stack += node.values()
        elif isinstance(node, list):
            stack += node


_TOLD = 3  # cells
_BY_CAPS = "What comes from rows that caps may cut gets no narrower so: higher caps, or a profile with more ε, would."


def uncertain(answer: Answer, form: Form, standing: Mapping[str, Any] | None, measured: Measured) -> list[str]:
    """Sentences about cells whose interval is as wide as the number, or unbounded, and what would narrow them.

    A quantile is included if its interval is wider than half of it: no noise is added to it, but ranks are far away.
    """
    together = "" if answer.confidence.over == "cell" else ", all numbers together"
    sure = f"with {percent(Fraction(answer.confidence))} confidence{together}"
    keys = list(zip(*answer.keys, strict=True)) if answer.keys else [()] * len(answer)
    count, sentences, reasons = 0, [], set()
    for column in answer.estimates:
        most = 0.5 if column.name in measured.quantiles else 1.0
        scope = " of the rows that count" if any(column.open_sides) else ""
        for key, (value, low, high), noise in zip(keys, column.triples(), column.noise_ends(), strict=True):
            if not _is_uncertain(value, low, high, most):
                continue
            count += 1
            reasons.add("noise" if _is_uncertain(value, *noise, most) else "caps")
            if count <= _TOLD:
                label = " · ".join(map(number_text, key))
                span = f"lies between {_end(low)} and {_end(high)} {sure}."
                sentences.append(f"{f'{label}: ' if label else ''}{printable(column.name)}{scope} {span}")
    if not sentences:
        return []
    remainder = [f"… and {count - _TOLD:,} more."] * (count > _TOLD)
    narrower = advice(answer, form, standing, measured) if "noise" in reasons else []
    return [*sentences, *remainder, *narrower, *[_BY_CAPS] * ("caps" in reasons)]


def advice(answer: Answer, form: Form, standing: Mapping[str, Any] | None, measured: Measured) -> list[str]:
    """A spend that would about halve these intervals, or use all that is left to narrow them; empty if too dear.

    Answers are averaged by their precision, so that a refinement halves a margin for less than a new question does.
    """
    paid = _paid(answer, form)
    left = None if standing is None else Balance.of_standing(standing).greatest(form.currency)
    way = None if paid is None else narrowing(paid, left, form.currency, refinable=measured.refinable)
    if way is None:
        return []
    if not way.refines:
        halves = "about halve that" if not measured.quantiles else "about halve how many ranks away its ends are"
        return [f"A new question for {form.priced(decimal(way.spend, 4))} would {halves}."]
    if way.part == Fraction(1, 2):
        return [f"A refinement for an additional {form.priced(decimal(way.spend))} would about halve that."]
    least = form.priced(decimal(way.spend))
    part = f"{float(100 * way.part):.0f} %"
    return [f"A refinement for all that is left, {least}, would narrow that to about {part} of it."]


def _paid(answer: Answer, form: Form) -> Fraction | None:
    """The whole cost of an answer in the form's currency, with what it refines; None if that is not known."""
    total = getattr(answer.guarantee, {"rho": "rho", "mu": "mu"}.get(form.currency, "epsilon"), None)
    spend = parsed_number(form.spend)
    return spend if total is None or total == spend else None  # of several spends the sum does not say how sure it is


def _end(number: Any) -> str:
    return number_text(number) if isinstance(number, int) or math.isinf(number) else brief(number)


def _is_uncertain(value: Any, low: Any, high: Any, most: float) -> bool:
    numbers = [
        float(number) for number in (value, low, high) if isinstance(number, int | float) and not math.isnan(number)
    ]
    if len(numbers) < 3:
        return False
    return math.isinf(numbers[2] - numbers[1]) or numbers[2] - numbers[1] > most * abs(numbers[0])


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
        most = Balance.of_standing(standing).greatest(form.currency)
        additional = parsed_number(form.spend)
        if additional is None:
            raise malformed("the additional spend is no number", "write a number as 0.1")
        fits = most is None or additional <= most
        fields = {"price": form.price, "spend": form.spend, "paid": False}
        return {**fields, "admitted": fits, "leaves": "", "margins": []}
    quote: Any = await patiently(analyst_routes.quote, at(call, sql=form.sql, terms=form.terms))
    standing = quote["standing"]
    if quote.get("paid"):
        used = (
            float(standing.get("given") or 0) + float(standing.get("own") or 0) + float(Fraction(quote["share"] or 0))
        )
        quote = {**quote, "used_after": fraction_text(Fraction(used)), "admitted": used <= 1, "paid": False}
    view = quote_view(quote, form)
    leaves = view["leaves"].partition(" · ")[0]
    return {
        "price": form.price,
        "spend": form.spend,
        "paid": False,
        "admitted": quote["admitted"],
        "leaves": leaves if leaves.startswith("leaves") else "",
        "margins": list(_margins(answer, quote_of(quote).margins)),
    }


async def _is_bought(call: Call, form: Form, record: dict[str, Any]) -> bool:
    """Whether a release was refined at this price before, and is read again. Only the newest releases are searched."""
    document: Any = await patiently(analyst_routes.releases, asking_for(call, order="newest", limit=_LOOKED_THROUGH))
    before = [*_refines(record), record["id"]]
    return any(
        _refines(release) == before and release["settled"] and price_of(release_of(release)) == form.price
        for release in document["releases"]
    )


def _refines(record: dict[str, Any]) -> list[str]:
    """The ids of the releases that one refines, the first one first."""
    request = record.get("request")
    references = (request.get("refines") if isinstance(request, dict) else None) or ()
    return [str(release_id) for release_id in references]


def _margins(answer: Answer, quoted_margins: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Column names, the widest margin of noise now, and about what it would be: answers are averaged by precision."""
    for column in answer.estimates:
        new = quoted_margins.get(column.name)
        widths = [_half(low, high) for low, high in column.noise_ends()]
        if (
            not widths
            or not isinstance(new, int | float)
            or new <= 0
            or not all(0 < width < math.inf for width in widths)
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
    document: Any = await patiently(analyst_routes.releases, asking_for(call, order="newest", limit=limit, **further))
    rows = _rows(document["releases"])
    if wanted:
        rows = [row for row in rows if wanted.casefold() in f"{row['asked']} {row['id']}".casefold()]
    last_id = document["releases"][-1]["id"] if document["more"] and document["releases"] else ""
    waiting = [] if wanted or further else await _undecided(call)
    name = call.path["dataset"]
    page_values: Any = {
        "rows": rows,
        "q": wanted,
        "more": last_id,
        "waiting": waiting,
        "of_all": call.who.analyst is None,
    }
    return page(call, "releases.html", here="releases", dataset=name, **page_values)


async def _undecided(call: Call) -> list[dict[str, Any]]:
    """The caller's own large spends that wait, or were decided and not asked again yet, the newest first."""
    if call.who.analyst is None:
        return []
    document: Any = await patiently(analyst_routes.approvals, at(call))
    return [approval_view(approval) for approval in reversed(document["approvals"]) if approval["state"] != "used"][
        :_UNDECIDED
    ]


async def one(call: Call) -> Result:
    """The page of one release."""
    return await _release_page(call, None)


async def _release_page(call: Call, notice: Notice | None, spend_form: Form | None = None) -> Result:
    name, release = call.path["dataset"], call.path["release"]
    record = await record_of(call, release)
    tables = record.get("tables", 1)
    table_index = call.query.get("place", 0 if tables > 1 else None)
    query = {} if table_index is None else {"place": table_index}
    _, content = await patiently(analyst_routes.released, asking_for(call, **query))
    answer = await asyncio.to_thread(answer_of, content)
    form = form_of_question(record, table_index or 0)
    standing: Any = await patiently(analyst_routes.budget, at(call))
    first_release, first_index = await _first_release(call, record)
    measured = measured_of(record, table_index or 0)
    refining_form = (
        form if first_release is None else replace(form, sql=_question(first_release, first_index).get("sql") or "")
    )
    quote = None
    if spend_form is not None:
        refining_form = replace(
            refining_form, spend=spend_form.spend, currency=spend_form.currency, delta=spend_form.delta
        )
        try:
            quote = await refinement(call, refining_form, answer, record)
        except Refusal as refused:
            notice = notice_of(refused)

    def rendered() -> Result:
        view = answer_view(answer, measured, uncertain(answer, form, standing, measured))
        price, profile = price_of(release_of(record)), "profile" in (record.get("request") or ())
        if profile:  # its bins are a chart on a page of their own, and the last of them has no end
            view |= {"figure": None, "apart": []}
        if tables > 1:
            view["cite"] += f" Table {(table_index or 0) + 1} of {tables}, which take {price} together."
        return page(
            call,
            "release.html",
            here="releases",
            dataset=name,
            answer=view,
            record={
                "asked": _question_text(record, table_index or 0)
                if first_release is None
                else _question_text(first_release, first_index),
                "refines": None
                if first_release is None
                else {"id": first_release["id"], "short": short(first_release["id"])},
                "sql": form.sql,
                "tables": tables,
                "place": table_index,
                "price": price,
                "profile": profile,
            },
            refinable=measured.refinable,
            refinement=quote,
            fits=Balance.of_standing(standing).fitting(refining_form.currency),
            form=replace(refining_form, nonce=nonce_of(call.body)),
            snippets=snippets(name, form.sql, form.terms) if form.sql else [],
            notice=notice,
        )

    return await asyncio.to_thread(rendered)  # the loop is everybody's, and a large answer takes long


async def _first_release(call: Call, record: dict[str, Any]) -> tuple[dict[str, Any] | None, int]:
    """The first release that a release refines, which has the question as it was written, and its place there."""
    references = _refines(record)
    if not references:
        return None, 0
    return await record_of(call, references[0]), int(_request(record).get("index", 0))


async def refined(call: Call) -> Result:
    """Refine a release; first show the price, which is free."""
    name, release = call.path["dataset"], call.path["release"]
    if call.body.get("do") != "refine":
        return await _release_page(call, None, Form.from_body(call.body))
    spend = {field: call.body.get(field, "").strip() for field in ("spend", "delta")}
    terms = terms_of(call.body.get("currency", "epsilon"), **spend)
    key = key_of(nonce_of(call.body), "refine", name, release, terms)
    try:
        release, _ = await analyst_routes.refined(at(call, terms=terms, key=key))
    except Refusal as refused:
        return await _release_page(call, notice_of(refused), Form.from_body(call.body))
    return see(f"/releases/{in_address(name, safe='')}/{in_address(release, safe='')}")


async def compared(call: Call) -> Result:
    """The page of what changed from one release to another."""
    name = call.path["dataset"]
    if name not in call.who.datasets:  # absent and forbidden are one and the same
        raise Refusal("not_found")
    chosen = [call.query.get(side) for side in ("before", "after")]
    if None in chosen:
        notice = Notice("invalid", "Choose two releases", "One as before, one as after.", "", NOTHING, calm=True)
        return page(call, "compare.html", here="releases", dataset=name, notice=notice)
    files = [await patiently(analyst_routes.released, at(call, path={"release": str(release)})) for release in chosen]
    records = [await record_of(call, str(release)) for release in chosen]
    sides = [
        {"id": str(release), "short": short(str(release)), "asked": _question_text(record)}
        for release, record in zip(chosen, records, strict=True)
    ]
    return await asyncio.to_thread(_side_by_side, call, [content for _, content in files], sides)


def _side_by_side(call: Call, contents: list[bytes], sides: list[dict[str, str]]) -> Result:
    name = call.path["dataset"]
    try:
        change = difference(*map(answer_of, contents))
    except (InvalidParameter, QueryRefused) as error:
        notice = Notice("invalid", "These two cannot be compared", error.message, error.hint or "", NOTHING, calm=True)
        return page(call, "compare.html", here="releases", dataset=name, notice=notice)
    view = table_view([*change.keys, *change.estimates])
    return page(
        call,
        "compare.html",
        here="releases",
        dataset=name,
        notice=None,
        before=sides[0],
        after=sides[1],
        answer={
            **view,
            "certainty": _confidence_text(change),
            "counts": "",
            "apart": [],
            "notes": [],
            "uncertain": [],
        },
        surely=_surely(change),
        lines=_lines(change),
    )


def _confidence_text(change: Difference) -> str:
    scope = "all together" if change.together else "each"
    parts = f"both noises{' and the rows that caps may cut' * covers_truncation(change.estimates)}"
    sure = f"the intervals of the differences hold with at least {percent(change.confidence)}, {scope}: {parts} are in "
    added = "them, and what either release may miss is added up"
    return " ".join(map(sentence, (*change.notes, sure + added, *legend(change.estimates))))


def _surely(change: Difference) -> str:
    certain = sum(change.certain)
    name = change.estimates[0].name
    return f"{certain:,} of {len(change):,} rows surely changed in {name}: their intervals do not hold zero."


def _lines(change: Difference) -> list[str]:
    lines = []
    if change.only_before or change.only_after:
        lines.append(
            f"{change.only_before:,} rows are in the first release alone, {change.only_after:,} in the second alone; "
            "where keys are found in the data, that may be noise."
        )
    if change.left_aside:
        lines.append(f"Not in both, or no numbers: {', '.join(change.left_aside)}.")
    return lines


async def record_of(call: Call, release: str) -> dict[str, Any]:
    """The ledger's record of a release."""
    return await patiently(_record, at(call, path={"release": release}))  # type: ignore[no-any-return]  # (a document)


async def _record(call: Call) -> Result:
    return await call.service.ask(call, "release_record", release=call.path["release"])


def form_of_question(record: dict[str, Any], index: int = 0) -> Form:
    """A form that asks the same question again; for a batch, its question at a place."""
    question = _question(record, index)
    spend = question.get("spend") or {}
    caps = question.get("caps") or {}
    known = {
        name: _cap(caps[name]) for name in ("rows_per_person", "groups_per_person", "rows_per_group") if name in caps
    }
    sure = str((record.get("record") or {}).get("confidence") or _USUAL).partition(" ")[0]
    known |= {} if sure == _USUAL else {"confidence": exactly(sure)}
    if not isinstance(spend, dict) or not spend:
        return Form(sql=question.get("sql") or "", **known)
    currency = currency_of(spend)
    amount = spend.get({"rho": "rho", "mu": "mu"}.get(currency, "epsilon"))
    delta = "" if spend.get("delta") is None else exactly(spend["delta"])
    return Form(sql=question.get("sql") or "", currency=currency, spend=exactly(amount), delta=delta, **known)


def _cap(cap: Any) -> str:
    """A cap as a form's field holds it; of caps by table, the only one, else empty."""
    if isinstance(cap, dict):
        return str(next(iter(cap.values()))) if len(cap) == 1 else ""
    return str(cap)


def _rows(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Lines of the log; a refinement has the question of the release that it refines, where that is listed too."""
    rows = [
        _row(record, repeats) for record, repeats in without_repeats([release_of(document) for document in documents])
    ]
    questions = {row["id"]: row["asked"] for row in rows}
    return [{**row, "asked": questions.get(row["refines"], row["asked"])} for row in rows]


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
        "readable": record.tables > 0,
        "single": record.tables == 1,
        "state": "failed" if record.failed else "ask again, free" if record.settled else "unfinished",
    }


def _question_text(record: dict[str, Any], index: int = 0) -> str:
    """The question as it was written, or else in words."""
    return str(_question(record, index).get("sql") or record.get("asked") or "–")


def _question(record: dict[str, Any], index: int = 0) -> dict[str, Any]:
    """What was asked at a place; a workload or a counter is asked as a whole."""
    questions: list[dict[str, Any]] = record.get("questions") or []
    return questions[index] if index < len(questions) else record.get("record") or {}


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
        body=object_of("spend", do=_PRESSED, spend=text(40), delta=text(40, 0), currency=CURRENCY, nonce=NONCE),
        page=True,
        touches=True,
    ),
    Route(
        *("GET", "/compare/{dataset}", "analyst", "what changed between two releases", compared),
        query={"before": RELEASE, "after": RELEASE},
        page=True,
    ),
)
