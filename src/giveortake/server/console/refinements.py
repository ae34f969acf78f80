"""Refining a release: whether that can be done, what it would take and leave, and how sure the answer would be then."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from giveortake.plot.svg.scales import brief
from giveortake.server import analyst_routes
from giveortake.server.console.pages import at, patiently
from giveortake.server.console.spends import most_of, number_said
from giveortake.server.console.views import quote_view
from giveortake.server.refusals import malformed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from giveortake.answers import Answer
    from giveortake.server.console.forms import Form
    from giveortake.server.routes import Call


async def refinement(call: Call, form: Form, answer: Answer) -> dict[str, Any]:
    """What an additional spend on an answer would take and leave, and about its margins then. Nothing is spent.

    It is priced as the question by itself. That the very same question may be free does not hold for a refinement: it
    is drawn anew, and charged. Of a question that was no SQL only what it takes is known, and no margin.
    """
    if not form.sql:
        standing: Any = await patiently(analyst_routes.budget, at(call))
        most = most_of(standing, form.currency)
        more = number_said(form.spend)
        if more is None:
            raise malformed("the additional spend is no number", "write a number as 0.1")
        fits = most is None or more <= most
        return {"price": form.price, "spend": form.spend, "admitted": fits, "leaves": "", "margins": []}
    quote: Any = await patiently(analyst_routes.quote, at(call, sql=form.sql, terms=form.terms))
    standing = quote["standing"]
    if quote.get("paid"):
        used = float(standing.get("given") or 0) + float(standing.get("own") or 0) + float(quote["share"] or 0)
        quote = {**quote, "used_after": used, "admitted": used <= 1}
    view = quote_view(quote, form)
    leaves = view["leaves"].partition(" · ")[0]
    return {
        "price": form.price,
        "spend": form.spend,
        "admitted": quote["admitted"],
        "leaves": leaves if leaves.startswith("leaves") else "",
        "margins": list(_margins(answer, quote["margins"])),
    }


def _margins(answer: Answer, alone: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Names, the widest margin now, and about what it would be then: answers are averaged by their precision."""
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
