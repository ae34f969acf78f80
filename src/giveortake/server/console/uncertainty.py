"""What a release measures, which of its numbers are uncertain, and what spend would narrow them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake.answers.text import number_text, printable
from giveortake.exact import shown as shown_fraction
from giveortake.exact import shown_down, shown_up
from giveortake.plan.question import AggregateKind
from giveortake.plot.svg import brief
from giveortake.server.console.forms import CURRENCIES, most_of, needed, number_said

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from giveortake.answers import Answer
    from giveortake.server.console.forms import Form

_COUNTS = frozenset(each.value for each in AggregateKind if each.name.startswith("COUNT"))


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """What a release measures, by the names of its columns, and whether it can be refined."""

    quantiles: frozenset[str] = frozenset()
    counts: frozenset[str] = frozenset()
    refinable: bool = False


def measured_of(record: dict[str, Any], place: int = 0) -> Measured:
    """What a question measures, from the ledger's record alone: no answer is read."""
    kept = record.get("record")
    questions = kept.get("questions") or [] if isinstance(kept, dict) else []
    if not 0 <= place < len(questions) or "plan" not in questions[place]:
        return Measured()
    outputs = json.loads(questions[place]["plan"])["outputs"]
    kinds = {name: set(kinds_of(formula)) for name, formula in outputs}
    quantiles = frozenset(name for name, found in kinds.items() if AggregateKind.QUANTILE.value in found)
    counts = frozenset(name for name, found in kinds.items() if found and found <= _COUNTS)
    single = record.get("tables", 1) == 1 and "profile" not in (record["request"] or {})
    return Measured(quantiles, counts, single and not quantiles)  # quantiles do not average


def kinds_of(formula: Any) -> Iterator[str]:
    """The aggregates that a formula, or a whole plan, is made of."""
    waiting = [formula]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            if len(each) > 1 and each[0] == "measured" and isinstance(each[1], list):
                yield str(each[1][0])
            waiting += each


_TOLD = 3  # cells
_WORTH = 0.9  # of a margin: what narrows it less is not proposed


def uncertain(answer: Answer, form: Form, standing: Mapping[str, Any] | None, measured: Measured) -> list[str]:
    """Sentences about cells whose interval is as wide as the number, or unbounded, and what would narrow them.

    A quantile is included if its interval is wider than half of it: no noise is added to it, but ranks are far away.
    """
    percent = shown_fraction(100 * Fraction(answer.confidence))
    sure = f"with {percent} % confidence{'' if answer.confidence.over == 'cell' else ', all numbers together'}"
    keys = list(zip(*answer.keys, strict=True)) if answer.keys else [()] * len(answer)
    count, found = 0, []
    for column in answer.estimates:
        most = 0.5 if column.name in measured.quantiles else 1.0
        for key, (value, low, high) in zip(keys, column.triples(), strict=True):
            if not _is_uncertain(value, low, high, most):
                continue
            count += 1
            if count <= _TOLD:
                where = " · ".join(map(number_text, key))
                span = f"lies between {_end(low)} and {_end(high)} {sure}."
                found.append(f"{f'{where}: ' if where else ''}{printable(column.name)} {span}")
    if not found:
        return []
    rest = [f"… and {count - _TOLD:,} more."] * (count > _TOLD)
    return [*found, *rest, *advice(answer, form, standing, measured)]


def advice(answer: Answer, form: Form, standing: Mapping[str, Any] | None, measured: Measured) -> list[str]:
    """A spend that would about halve these intervals, or use all that is left to narrow them; empty if too dear.

    Answers are averaged by their precision, so that a refinement halves a margin for less than a new question does.
    """
    paid, left = _paid(answer, form), most_of(standing, form.currency)
    if paid is None or left is None or left <= 0:
        return []
    sign = CURRENCIES[form.currency]
    anew = needed(paid, form.currency, Fraction(1, 2), refines=False)
    more = needed(paid, form.currency, Fraction(1, 2), refines=True)
    if measured.refinable and Fraction(shown_up(more, 2)) <= left:
        return [f"A refinement for an additional {sign} = {shown_up(more, 2)} would about halve that."]
    if anew <= left:
        halves = "about halve that" if not measured.quantiles else "about halve how many ranks away its ends are"
        return [f"A new question for {sign} = {shown_fraction(anew, 4)} would {halves}."]
    power = 1 if form.currency == "rho" else 2
    narrowed = float(1 + (left / paid) ** power) ** -0.5
    if measured.refinable and narrowed <= _WORTH:
        least = f"{sign} = {shown_down(left, 3)}"
        return [f"A refinement for all that is left, {least}, would narrow that to about {100 * narrowed:.0f} % of it."]
    return []


def _paid(answer: Answer, form: Form) -> Fraction | None:
    """The whole cost of an answer in the form's currency, with what it refines; None if that is not known."""
    total = getattr(answer.guarantee, {"rho": "rho", "mu": "mu"}.get(form.currency, "epsilon"), None)
    said = number_said(form.spend)
    return said if total is None or total == said else None  # of several spends the sum does not say how sure it is


def _end(number: Any) -> str:
    return number_text(number) if isinstance(number, int) or math.isinf(number) else brief(number)


def _is_uncertain(value: Any, low: Any, high: Any, most: float) -> bool:
    numbers = [float(each) for each in (value, low, high) if isinstance(each, int | float) and not math.isnan(each)]
    if len(numbers) < 3:
        return False
    return math.isinf(numbers[2] - numbers[1]) or numbers[2] - numbers[1] > most * abs(numbers[0])
