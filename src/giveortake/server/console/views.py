"""Answers, quotes and standings as templates show them: numbers with their margins, and the one line of what counts."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

from giveortake.answers import Answer
from giveortake.answers.column import NUMBERS
from giveortake.answers.numbers import shown, shown_with_margin
from giveortake.answers.printable import printable
from giveortake.exact import shown as shown_fraction
from giveortake.ledger.listings import stated
from giveortake.plot.svg.intervals import MOST_ROWS, bars, figure
from giveortake.plot.svg.scales import brief
from giveortake.server.console.burn_chart import meter
from giveortake.server.console.curve_chart import coefficient
from giveortake.server.console.pages import sentence
from giveortake.server.console.spends import halving

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from giveortake.answers.column import Column
    from giveortake.server.console.forms import Form

_EXHAUSTED = 0.001  # an ε that is left and buys nothing
_WITH_BARS = 2  # estimates that get bars beside their numbers
_UNCERTAIN = 3  # cells that are told


def answer_of(document: Mapping[str, Any]) -> Answer:
    """The answer that a handler gave as a document."""
    return Answer.from_json(json.dumps(document))


def short(release: str) -> str:
    """An id that fits beside a title."""
    return printable(release if len(release) <= 12 else f"{release[:4]}·{release[-4:]}")


def answer_view(answer: Answer, form: Form, standing: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Everything that a page shows of an answer; more is proposed only if the budget, where it is known, has it."""
    percent = shown_fraction(100 * Fraction(answer.confidence))
    each = "Each bar holds its number" if answer.confidence.over == "cell" else "All bars together hold their numbers"
    caps = str(answer.caps or "everything of a person counts")
    counted = "" if any(caps in note for note in answer.notes) else sentence(caps)
    covered = f"Intervals cover the noise{'' if answer.caps is None else '; what caps leave out is not in them'}."
    cost = "" if answer.guarantee is None else sentence(str(answer.guarantee).partition(":")[0])
    release = answer.release_id or ""
    more = halving(form.spend, form.currency) if _is_of_one_spend(answer, form) and _has_more(standing, form) else None
    return {
        "id": release,
        "short": short(release),
        **table_view(answer.columns, figure_of=answer),
        "certainty": f"{each} without noise {percent} times in 100.",
        "counts": printable(" ".join(part for part in (cost, covered, counted) if part)),
        "notes": list(dict.fromkeys(answer.notes)),
        "promise": "" if answer.guarantee is None else str(answer.guarantee),
        "citations": list(answer.citations),
        "uncertain": uncertain(answer, more),
        "cite": _citation(answer),
    }


def _is_of_one_spend(answer: Answer, form: Form) -> bool:
    """Whether an answer has cost what the form says; one that was refined has cost more, and is surer than that."""
    total = getattr(answer.guarantee, {"rho": "rho", "mu": "mu"}.get(form.currency, "epsilon"), None)
    try:
        return total is None or total == Fraction(form.spend)
    except (ValueError, ZeroDivisionError):
        return False


def _has_more(standing: Mapping[str, Any] | None, form: Form) -> bool:
    """Whether as much as the form says can be spent once more, as far as that is known."""
    left = None if standing is None else standing.get("affordable")
    if left is None or is_exhausted(left):
        return left is None
    try:
        return form.currency != "epsilon" or bool(left >= float(Fraction(form.spend)))
    except (ValueError, ZeroDivisionError, OverflowError):
        return False


def is_exhausted(left: float | None) -> bool:
    """Whether the ε that is left buys nothing."""
    return left is not None and left < _EXHAUSTED


def table_view(columns: Sequence[Column], *, figure_of: Answer | None = None) -> dict[str, Any]:
    """The rows of a table, each estimate with its margin, and bars beside the first of them."""
    estimates = [column for column in columns if column.has_interval]
    drawn = {column.name: bars(column) for column in estimates[:_WITH_BARS]}
    first = estimates[0].name if estimates else None
    cells = [_cells(column, drawn.get(column.name), first=column.name == first) for column in columns]
    rows = len(columns[0])
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
        "rows": list(zip(*cells, strict=True)),
        "more": f"{rows - MOST_ROWS:,} more rows are in the download." if rows > MOST_ROWS else "",
    }


def _cells(column: Column, drawn: Any, *, first: bool) -> list[dict[str, Any]]:
    found = []
    for place, row in enumerate(islice(column.triples(), MOST_ROWS)):
        value, margin = shown_with_margin(*row)
        if not column.has_interval and type(row[0]) is int:
            value = str(row[0])  # a key: a year, or a number of something
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


def uncertain(answer: Answer, spend: str | None) -> list[str]:
    """Cells whose margin is as large as half of the number, or has no end, and what would make them surer."""
    found = []
    percent = shown_fraction(100 * Fraction(answer.confidence))
    sure = f"with {percent} % confidence{'' if answer.confidence.over == 'cell' else ', all numbers together'}"
    keys = list(zip(*answer.keys, strict=True)) if answer.keys else [()] * len(answer)
    for column in answer.estimates:
        for key, (value, low, high) in zip(keys, column.triples(), strict=True):
            if not _is_uncertain(value, low, high):
                continue
            where = " · ".join(map(shown, key))
            found.append(
                f"{f'{where}: ' if where else ''}{printable(column.name)} lies between {_end(low)} and {_end(high)} "
                f"{sure}.{f' A spend of {spend} would about halve that.' if spend else ''}"
            )
    return found[:_UNCERTAIN] + [f"… and {len(found) - _UNCERTAIN:,} more."] * (len(found) > _UNCERTAIN)


def _end(number: Any) -> str:
    return shown(number) if isinstance(number, int) or math.isinf(number) else brief(number)


def _is_uncertain(value: Any, low: Any, high: Any) -> bool:
    numbers = [float(each) for each in (value, low, high) if isinstance(each, int | float) and not math.isnan(each)]
    if len(numbers) < 3:
        return False
    return math.isinf(numbers[2] - numbers[1]) or numbers[2] - numbers[1] > abs(numbers[0])


def _citation(answer: Answer) -> str:
    percent = shown_fraction(100 * Fraction(answer.confidence))
    caps = "" if answer.caps is None else f" {sentence(str(answer.caps))}"
    promise = "" if answer.guarantee is None else f" {sentence(str(answer.guarantee))}"
    return f"Release {answer.release_id}, made with giveortake; intervals of {percent} %.{promise}{caps}"


def quote_view(quote: Mapping[str, Any], form: Form, *, paid: bool = False) -> dict[str, Any]:
    """A quote beside its curve."""
    return {
        "admitted": quote["admitted"],
        "margins": [(name, _margin(each)) for name, each in quote["margins"].items()],
        "percent": shown_fraction(100 * Fraction(quote["confidence"])),
        "over": "each",
        "of_rows": any(str(each).endswith(" / n") for each in quote["margins"].values()),
        "counts": quote.get("contributions") or "",
        "keyed": "" if quote["keys"] == "none" else quote["keys"],
        "worthless": quote.get("worthless") or quote.get("doubt") or "",
        "notes": [*quote.get("notes", ()), *(f"cheaper: {each}" for each in quote.get("advice", ()))],
        "leaves": _leaves(quote, form, paid=paid),
    }


def _leaves(quote: Mapping[str, Any], form: Form, *, paid: bool) -> str:
    """What asking would leave; of a question whose answer is there, that it is free."""
    if paid:
        return "this answer is paid for: asking for it again is free"
    standing, again = quote["standing"], "the same question again is free"
    left, used = standing.get("affordable"), quote.get("used_after")
    if form.currency == "epsilon" and left is not None and _symbol(standing) == "ε":
        after, about = max(0.0, left - float(Fraction(form.spend))), "" if _is_pure(standing) else "about "
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


def decimal(number: Any) -> str:
    """A number that was written exactly, as people write it."""
    try:
        return shown_fraction(Fraction(str(number)))
    except (ValueError, ZeroDivisionError):
        return str(number)


def whole(standing: Mapping[str, Any]) -> str:
    """A whole budget in a few signs."""
    return printable(str(standing.get("budget") or "").partition(":")[0].partition(" (")[0])


def amount(number: float) -> str:
    """A spend that is left: rounded down, so that it can be spent."""
    digits = 3 if number < 10 else 1
    return f"{math.floor(number * 10**digits + 1e-9) / 10**digits:g}"


def _is_pure(standing: Mapping[str, Any]) -> bool:
    return "δ" not in whole(standing)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _margin(margin: object) -> str:
    if isinstance(margin, int | float):
        return f"± {brief(float(margin))}" if margin < 1000 else f"± {margin:,.0f}"
    if margin is None:
        return "by the data"
    part = coefficient(margin)
    if part is not None:
        return f"± {part:,.0f} / n rows" if part >= 100 else f"± {part:.3g} / n rows"
    said = printable(str(margin))
    return f"± {said}" if said[:1].isdigit() else said
