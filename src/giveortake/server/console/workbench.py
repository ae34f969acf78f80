"""The workbench: a question, its price on a curve before anything is paid, and the answer with its intervals."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any
from urllib.parse import quote as in_address

from giveortake.answers.terms import CAP_TERMS
from giveortake.exact import decimal
from giveortake.hints import FIELDS
from giveortake.server import analyst_routes
from giveortake.server.console.charts import curve_chart, curve_table, in_percent
from giveortake.server.console.login import EDITED, EXHAUSTED, NO_LONGER_FREE, Notice, notice_of
from giveortake.server.console.release_pages import Measured, form_of_question, measured_of, record_of, uncertain
from giveortake.server.console.views import (
    ASKED,
    CURRENCY,
    FIRST,
    NAMES,
    Balance,
    Form,
    answer_of,
    answer_view,
    at,
    cap_of_examples,
    examples,
    is_exhausted,
    is_paid,
    page,
    parsed_number,
    patiently,
    proposed,
    quote_view,
    see,
    snippets,
    standing_view,
    version_digest,
    words,
)
from giveortake.server.responses import Refusal
from giveortake.server.routes import RELEASE, Call, Result, Route, text
from giveortake.session.proposals import currencies, usual_delta

_FREE = "free"


async def opened(call: Call) -> Result:
    """The page of the workbench, empty or with a release on it."""
    outline: Any = await patiently(analyst_routes.outline, at(call))
    release = call.query.get("release")
    if release is None:
        return await asyncio.to_thread(_workbench_page, call, outline, replace(_first(outline), **_way(call)))
    _, content = await patiently(analyst_routes.released, at(call, path={"release": release}))
    record = await record_of(call, release)
    paid_form = form_of_question(record)
    if paid_form.rows_per_person == str((outline["caps"] or {}).get("rows_per_person")):
        paid_form = replace(paid_form, rows_per_person="")  # what holds for all questions need not be said again
    form = replace(paid_form, **_way(call))
    priced = await _price(call, form, with_curve=True)
    shown = {"answer": content, "measured": measured_of(record), "paid_form": paid_form}
    return await asyncio.to_thread(_workbench_page, call, outline, form, **shown, **priced)


def _way(call: Call) -> dict[str, str]:
    """The way to pay that an address states, so that it stays the same after an answer."""
    currency = call.query.get("currency")
    return {} if currency is None else {"currency": currency, "spend": call.query.get("spend") or proposed(currency)}


async def pressed(call: Call) -> Result:
    """Quote or ask, as the pressed button says, and show the workbench again."""
    form, do = Form.from_body(call.body), call.body["do"]
    name = call.path["dataset"]
    if form.currency == "approximate" and not form.delta:
        described: Any = await patiently(analyst_routes.outline, at(call))
        budget = Balance.of_standing({"promise": described["promise"]}).budget
        form = replace(form, delta=decimal(usual_delta(budget)))
    if do == "fit":
        described = await patiently(analyst_routes.outline, at(call))
        form = replace(form, spend=Balance.of_standing(described["standing"]).fitting(form.currency) or form.spend)
    refusal = unseen = None
    if do == "ask":
        try:
            unseen = await _unseen(call, form)
            if unseen is None:  # whoever pays has seen the price and the margins of this very question
                question_call = at(call, sql=form.sql, terms=form.terms, key=form.key("answer", name, _quoted(call)[1]))
                release, _ = await analyst_routes.answered(question_call)
                way = (
                    f"&currency={form.currency}&spend={in_address(form.spend, safe='')}"
                    if form.currency in FIRST
                    else ""
                )
                return see(f"/ask/{in_address(name, safe='')}?release={in_address(release, safe='')}{way}")
        except Refusal as refused:
            refusal = refused
    outline = await patiently(analyst_routes.outline, at(call))
    priced = await _price(call, form, with_curve=do != "exact") if form.sql else {}
    notice = priced.get("notice") if refusal is None else _notice_of(refusal, outline)
    if unseen is not None and "quote" in priced and priced["quote"]["admitted"]:
        notice = unseen
    return await asyncio.to_thread(_workbench_page, call, outline, form, **{**priced, "notice": notice})


async def _unseen(call: Call, form: Form) -> Notice | None:
    """Why the caller has not seen the quote of what would be asked now; None if they have."""
    price, version = _quoted(call)
    if call.body.get("quoted") != form.quote_name(call.path["dataset"], version, price):
        return EDITED
    if price == _FREE:
        quote: Any = await patiently(analyst_routes.quote, at(call, sql=form.sql, terms=form.terms))
        return None if is_paid(quote) else NO_LONGER_FREE
    return None


def _quoted(call: Call) -> tuple[str, str]:
    """The price of the quote that the page showed, free or charged, and the digest of the table's version then."""
    price, _, rest = call.body.get("quoted", "").partition("-")
    return price, rest.partition("-")[0]


async def _price(call: Call, form: Form, *, with_curve: bool) -> dict[str, Any]:
    """The quote at the spend of a form, and the curve around it; or why there is none. Nothing is spent."""
    priced: dict[str, Any] = {}
    if not form.sql:
        return priced
    paid_by = {"epsilon", "rho", "mu", "share", "margin"}
    others = {name: value for name, value in form.terms.items() if name not in paid_by}
    currency = "epsilon" if form.currency == "approximate" else form.currency
    try:
        priced["quote"] = await patiently(analyst_routes.quote, at(call, sql=form.sql, terms=form.terms))
        if with_curve and currency != "margin":
            curve: Any = await patiently(analyst_routes.curve, at(call, sql=form.sql, terms=others, currency=currency))
            priced["curve"] = in_percent(curve) if currency == "share" else curve
    except Refusal as refused:
        outline: Any = await patiently(analyst_routes.outline, at(call))
        priced["notice"] = _notice_of(refused, outline)
    return priced


def _workbench_page(call: Call, outline: Any, form: Form, **parts: Any) -> Result:
    quote, curve, content = parts.get("quote"), parts.get("curve"), parts.get("answer")
    standing = outline["standing"] if quote is None else quote["standing"]
    notice = parts.get("notice")
    if notice is None and content is None and quote is not None and is_exhausted(standing.get("affordable")):
        notice = EXHAUSTED
    affordable = standing["affordable"] if form.currency == "epsilon" else None
    return page(
        call,
        "workbench.html",
        here="ask",
        dataset=call.path["dataset"],
        it={**outline, "name": call.path["dataset"]},
        form=form,
        currencies={name: NAMES[name] for name in (*FIRST, *currencies(Balance.of_standing(outline).budget))},
        words=json.dumps(words(outline)),
        examples=examples(outline),
        cap=cap_of_examples(outline),
        quote=None if quote is None else quote_view(quote, form),
        quoted=None if quote is None else _named(quote, form, call.path["dataset"]),
        curve=None if curve is None else curve_chart({**curve, "affordable": affordable}, _number(form)),
        curve_table=None if curve is None else curve_table(curve),
        standing=standing_view(standing, None if quote is None or is_paid(quote) else quote, form.price),
        answer=None if content is None else _answered(content, parts["paid_form"], standing, parts["measured"]),
        paid_form=parts.get("paid_form"),
        fits=Balance.of_standing(standing).fitting(form.currency),
        refinable=content is not None and parts["measured"].refinable,
        snippets=snippets(call.path["dataset"], form.sql, form.terms),
        notice=notice,
        capping=form.capped or (notice is not None and _names_a_cap(notice.hint)),
    )


def _answered(content: bytes, form: Form, standing: Any, measured: Measured) -> dict[str, Any]:
    answer = answer_of(content)
    return answer_view(answer, measured, uncertain(answer, form, standing, measured))


def _named(quote: Any, form: Form, dataset: str) -> str:
    return form.quote_name(dataset, version_digest(quote["version"]), _FREE if is_paid(quote) else "charged")


def _names_a_cap(hint: str) -> bool:
    """Whether a hint names a field in the section about caps, which is then unfolded."""
    return any(f"“{FIELDS[name]}”" in hint for name in CAP_TERMS if name in FIELDS)


def _notice_of(refused: Refusal, outline: Any) -> Any:
    return notice_of(refused, exhausted=is_exhausted(outline["standing"].get("affordable")))


def _first(outline: Any) -> Form:
    """An empty form with a share of the budget: five percent, or an eighth of what is left if that is less."""
    free = Balance.of_standing(outline["standing"]).greatest("share")
    least = parsed_number(proposed("share"))
    small = free is not None and least is not None and 0 < free < 8 * least
    return Form(currency="share", spend=decimal(free / 8, 1) if small and free is not None else proposed("share"))


def _number(form: Form) -> str | None:
    number = parsed_number(form.spend)
    return str(float(number)) if number is not None and number > 0 and form.currency != "margin" else None


_OPENED = {"release": RELEASE, "currency": CURRENCY, "spend": text(40)}
ROUTES = (
    Route("GET", "/ask/{dataset}", "analyst", "the workbench", opened, query=_OPENED, page=True),
    Route("POST", "/ask/{dataset}", "analyst", "quote or ask", pressed, body=ASKED, page=True, touches=True),
)
