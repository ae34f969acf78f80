"""What a release measures, by what the ledger keeps of its question."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from giveortake.plan.aggregates import AggregateKind

if TYPE_CHECKING:
    from collections.abc import Iterator

_COUNTS = frozenset(each.value for each in AggregateKind if each.name.startswith("COUNT"))


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """What a release measures, by the names of its columns, and whether it can be refined."""

    quantiles: frozenset[str] = frozenset()
    counts: frozenset[str] = frozenset()
    refinable: bool = False


def measured_of(record: dict[str, Any], place: int = 0) -> Measured:
    """What the ledger keeps of a question says what is measured: no answer is looked at."""
    kept = record.get("record")
    questions = kept.get("questions") or [] if isinstance(kept, dict) else []
    if not 0 <= place < len(questions) or "plan" not in questions[place]:
        return Measured()
    outputs = json.loads(questions[place]["plan"])["outputs"]
    kinds = {name: set(_kinds(formula)) for name, formula in outputs}
    quantiles = frozenset(name for name, found in kinds.items() if AggregateKind.QUANTILE.value in found)
    counts = frozenset(name for name, found in kinds.items() if found and found <= _COUNTS)
    single = record.get("tables", 1) == 1 and "profile" not in (record["request"] or {})
    return Measured(quantiles, counts, single and not quantiles)  # quantiles do not average


def _kinds(formula: Any) -> Iterator[str]:
    """The aggregates that a formula is made of."""
    if isinstance(formula, list):
        if len(formula) > 1 and formula[0] == "measured" and isinstance(formula[1], list):
            yield str(formula[1][0])
        for each in formula:
            yield from _kinds(each)
