"""Answers, quotes and standings as templates show them: numbers with margins, and the sentences beside them."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

from giveortake.answers import Answer
from giveortake.answers.answer import told_without_key
from giveortake.answers.column import NUMBERS
from giveortake.answers.render import shown_cells
from giveortake.answers.terms import LeftOut
from giveortake.answers.text import printable
from giveortake.exact import shown as shown_fraction
from giveortake.ledger.rules.releases import stated
from giveortake.plot.svg import MOST_ROWS, bars, brief, figure
from giveortake.server.console.charts import USUAL_ROWS, margin_number, meter
from giveortake.server.console.forms import number_said
from giveortake.server.console.pages import sentence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from giveortake.answers.column import Column
    from giveortake.server.console.forms import Form
    from giveortake.server.console.uncertainty import Measured

_EXHAUSTED = 0.001  # an ε that is left and buys nothing
_RANKS = re.compile(r"([\d,.]+) ranks")
_WITH_BARS = 2  # estimates that get bars beside their numbers
_LONGEST = 40  # signs of a number in a form
_FIRST_ROWS = 30  # that are shown at once; the rest is unfolded
_BELOW_ZERO = "Noise can take a small count below zero; it is left as it is, so that sums stay right."


def answer_of(written: bytes) -> Answer:
    """Read the answer that a worker wrote. A large one takes a while: read it outside the event loop."""
    return Answer.from_json(written.decode())


def short(release: str) -> str:
    """A shortened id, which fits beside a title."""
    return printable(release if len(release) <= 12 else f"{release[:4]}·{release[-4:]}")


def answer_view(answer: Answer, measured: Measured, unsure: Sequence[str] = ()) -> dict[str, Any]:
    """Everything that a page shows of an answer, with the sentences about uncertain numbers."""
    percent = shown_fraction(100 * Fraction(answer.confidence))
    lies = "the number without noise lies" if answer.confidence.over == "cell" else "all numbers without noise lie"
    caps = str(answer.caps or "everything of a person counts")
    counted = "" if any(caps in note for note in answer.notes) else sentence(caps)
    covered = f"Intervals cover the noise{'' if answer.caps is None else '; what caps leave out is not in them'}."
    cost = "" if answer.guarantee is None else sentence(str(answer.guarantee).partition(":")[0])
    release = answer.release_id or ""
    return {
        "id": release,
        "short": short(release),
        **table_view(answer.columns, figure_of=answer),
        "certainty": f"In {percent} of 100 cases {lies} within the bar{'s' * (answer.confidence.over != 'cell')}.",
        "counts": printable(" ".join(part for part in (cost, covered, counted) if part)),
        "apart": told_without_key(answer.columns, _FIRST_ROWS),
        "notes": list(dict.fromkeys((*([_BELOW_ZERO] * _is_below_zero(answer, measured)), *answer.notes))),
        "promise": "" if answer.guarantee is None else str(answer.guarantee),
        "citations": list(answer.citations),
        "uncertain": list(unsure),
        "cite": _citation(answer),
    }


def _is_below_zero(answer: Answer, measured: Measured) -> bool:
    """Whether a count is negative."""
    counts = (column for column in answer.estimates if column.name in measured.counts)
    return any(isinstance(value, int | float) and value < 0 for column in counts for value in column)


def is_exhausted(left: float | None) -> bool:
    """Whether the ε that is left buys nothing."""
    return left is not None and left < _EXHAUSTED


def table_view(columns: Sequence[Column], *, figure_of: Answer | None = None) -> dict[str, Any]:
    """The rows of a table, each estimate with its margin, and bars beside the first of them."""
    estimates = [column for column in columns if column.has_interval]
    drawn = {column.name: bars(column) for column in estimates[:_WITH_BARS]}
    first = estimates[0].name if estimates else None
    cells = [_cells(column, drawn.get(column.name), first=column.name == first) for column in columns]
    rows, whole = len(columns[0]), "" if figure_of is None else ", a download has all"
    return {
        "figure": None if figure_of is None else figure(figure_of),
        "columns": [
            {
                "name": column.name,
                "estimate": column.has_interval,
                "number": column.kind in NUMBERS,
                "bars": drawn.get(column.name),
                "first": column.name == first,
            }
            for column in columns
        ],
        "rows": (lines := list(zip(*cells, strict=True)))[:_FIRST_ROWS],
        "rest": lines[_FIRST_ROWS:],
        "hidden": f"{max(0, rows - _FIRST_ROWS):,}",
        "more": f"The page has the first {MOST_ROWS} of {rows:,} rows{whole}." if rows > MOST_ROWS else "",
    }


def _cells(column: Column, drawn: Any, *, first: bool) -> list[dict[str, Any]]:
    found = []
    rows = list(islice(column.triples(), MOST_ROWS))
    for place, (value, margin) in enumerate(shown_cells(column, rows)):
        bar = None if drawn is None else drawn.rows[place]
        found.append(
            {
                "estimate": column.has_interval,
                "number": column.kind in NUMBERS,
                "value": value,
                "margin": "" if value == "–" else margin,
                "bar": bar,
                "first": first,
            }
        )
    return found


def _citation(answer: Answer) -> str:
    percent = shown_fraction(100 * Fraction(answer.confidence))
    caps = "" if answer.caps is None else f" {sentence(str(answer.caps))}"
    promise = "" if answer.guarantee is None else f" {sentence(str(answer.guarantee))}"
    return f"Release {answer.release_id}, made with giveortake; intervals of {percent} %.{promise}{caps}"


def quote_view(quote: Mapping[str, Any], form: Form) -> dict[str, Any]:
    """A quote as the workbench shows it."""
    left_out = None if quote.get("left_out") is None else LeftOut.from_json(quote["left_out"])
    spans = quote.get("spans", {})
    return {
        "admitted": quote["admitted"],
        "paid": is_paid(quote),
        "approval": bool(quote.get("approval")),
        "margins": [(name, margin_in_words(each, spans.get(name))) for name, each in quote["margins"].items()],
        "percent": shown_fraction(100 * Fraction(quote["confidence"])),
        "over": "each",
        "of_rows": any(str(each).endswith(" / n") for each in quote["margins"].values()),
        "counts": quote.get("contributions") or "",
        "keyed": "" if quote["keys"] == "none" else quote["keys"],
        "worthless": quote.get("worthless") or quote.get("doubt") or "",
        "notes": [*quote.get("notes", ()), *(f"cheaper: {each}" for each in quote.get("advice", ()))],
        "left_out": "" if left_out is None else str(left_out),
        "lines": [] if left_out is None else list(map(str, left_out.lines)),
        "leaves": _leaves(quote, form),
    }


def is_paid(quote: Mapping[str, Any]) -> bool:
    """Whether the asker has an answer to this at this price already, so that it is free."""
    return bool(quote.get("paid"))


def _leaves(quote: Mapping[str, Any], form: Form) -> str:
    """What asking would leave of the budget; for a question that was answered, that it is free."""
    if is_paid(quote):
        return "it was answered at this price: asking for it again is free"
    standing, again = quote["standing"], "the same question again is free"
    left, used = standing.get("affordable"), quote.get("used_after")
    if form.currency == "epsilon" and left is not None and _symbol(standing) == "ε":
        after, about = max(0.0, left - float(number_said(form.spend) or 0)), "" if _is_pure(standing) else "about "
        return f"leaves {about}ε = {amount(after)} of {whole(standing)} · {again}"
    if used is None:
        return again
    return f"leaves about {_percent(max(0.0, 1 - used))} of {whole(standing)} · {again}"


def standing_view(
    standing: Mapping[str, Any], quote: Mapping[str, Any] | None = None, price: str = ""
) -> dict[str, Any]:
    """A budget: what is spent, what was given to analysts, what a question would take, and what is left."""
    given, own = float(standing.get("given") or 0.0), float(standing.get("own") or 0.0)
    used = given + own
    after = used if quote is None else float(quote.get("used_after") or used)
    share = max(0.0, after - used)
    return {
        "promise": standing.get("budget"),
        "words": str((standing.get("remaining") or {}).get("words", "")),
        "left": left_of(standing),
        "whole": whole(standing),
        "meter": meter(own, share, given),
        "spent": _percent(own),
        "given": _percent(given) if given else "",
        "asked": price if share else "",
        "free": _percent(max(0.0, 1 - used)),
        "after": _percent(max(0.0, 1 - after)) if share else "",
        "closed": bool(standing.get("closed")),
    }


def left_of(standing: Mapping[str, Any]) -> str:
    """What is left of a budget, in its own currency where one number says it; else the greatest pure ε that fits."""
    exactly, symbol = (standing.get("remaining") or {}).get("exactly"), _symbol(standing)
    if exactly is not None and symbol in {"ρ", "μ"}:
        rest = float(Fraction(exactly))
        return amount(rest if symbol == "ρ" else math.sqrt(rest))  # μ² is what adds up
    left = standing.get("affordable")
    return "–" if left is None else amount(left)


def _symbol(standing: Mapping[str, Any]) -> str:
    """The sign of a budget's currency: ε, ρ or μ."""
    return whole(standing)[:1]


def price(spend: Any) -> str:
    """A spend as it was stated, in signs.

    >>> price({"epsilon": "1/10", "delta": "1/1000000"}), price(None)
    ('ε = 0.1, δ = 0.000001', '–')
    """
    if not isinstance(spend, dict):
        return "–" if spend is None else str(spend)
    return stated(spend)


def exactly(number: Any) -> str:
    """An exact number as people write it: with few digits if they are exact, else as a fraction.

    >>> exactly("1/10"), exactly("1/3"), exactly("much")
    ('0.1', '1/3', 'much')
    """
    said = number_said(str(number))
    if said is None:
        return str(number)
    short = shown_fraction(said)
    return short if number_said(short) == said or len(str(said)) > _LONGEST else str(said)


def whole(standing: Mapping[str, Any]) -> str:
    """A whole budget in short, as ε = 1."""
    return printable(str(standing.get("budget") or "").partition(":")[0].partition(" (")[0])


def amount(number: float) -> str:
    """A spend that is left: rounded down, so that it can be spent."""
    digits = 3 if number < 10 else 1
    return f"{math.floor(number * 10**digits + 1e-9) / 10**digits:g}"


def _is_pure(standing: Mapping[str, Any]) -> bool:
    return "δ" not in whole(standing)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def margin_in_words(margin: object, span: float | None = None) -> str:
    """The margin of a quote, in a few signs; ranks are whole numbers. That of a mean is told for a usual group.

    >>> margin_in_words("the values up to 1,206.3 ranks away"), margin_in_words(12.0), margin_in_words("375 / n")
    ('the values up to 1,207 ranks away', '± 12', '± 0.375 if a group has 1,000 rows')
    """
    if isinstance(margin, int | float):
        return f"± {brief(float(margin))}" if margin < 1000 else f"± {margin:,.0f}"
    if margin is None:
        return "by the data"
    part = margin_number(margin, span)
    if part is not None:
        return f"± {brief(part)} if a group has {USUAL_ROWS:,} rows"
    said = _RANKS.sub(lambda found: f"{math.ceil(float(found[1].replace(',', ''))):,} ranks", printable(str(margin)))
    return f"± {said}" if said[:1].isdigit() else said
