"""The functions that a question may use, each with the domain of its result.

Guarantee: the domain of a call contains its value on every row whose columns keep their domains, so bounds that are
derived here may be used as sensitivities; what they are used for is clamped to them once more all the same. Every
function is total: where mathematics has no answer (division by zero, the logarithm of nothing, a text that is no
date) the value is missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from giveortake.errors import QueryRefused
from giveortake.plan import arithmetic, choices, texts

if TYPE_CHECKING:
    from giveortake.plan.arithmetic import Rule
    from giveortake.plan.domains import Domain
    from giveortake.plan.expressions import Call
    from giveortake.plan.tables import Schema


@final
@dataclass(frozen=True, slots=True)
class Function:
    """How many arguments a function takes, and the domain of its value."""

    least: int
    most: int | None
    rule: Rule


def domain_of_call(call: Call, schema: Schema) -> Domain:
    """The domain of a function's value, or a refusal."""
    function = FUNCTIONS.get(call.name)
    if function is None:
        raise QueryRefused(f"the function {call.name.upper()} is not available", hint=available())
    count = len(call.arguments)
    if count < function.least or (function.most is not None and count > function.most):
        raise QueryRefused(f"{call.name.upper()} does not take {count} argument{'s' if count != 1 else ''}")
    return function.rule(call, [argument.domain(schema) for argument in call.arguments])


def available() -> str:
    """The functions that there are, for hints."""
    return "available: " + ", ".join(sorted(name.upper() for name in FUNCTIONS if name not in _WRITTEN_OTHERWISE))


_SIGNS = "add subtract multiply divide modulo negate eq ne lt le gt ge in and or not is_null case"
_CASTS = "to_real to_integer to_text to_date"
_WRITTEN_OTHERWISE = frozenset(f"{_SIGNS} {_CASTS}".split())

_ANY = None
FUNCTIONS: dict[str, Function] = {
    "add": Function(2, 2, arithmetic.add),
    "subtract": Function(2, 2, arithmetic.subtract),
    "multiply": Function(2, 2, arithmetic.multiply),
    "divide": Function(2, 2, arithmetic.divide),
    "modulo": Function(2, 2, arithmetic.modulo),
    "negate": Function(1, 1, arithmetic.negate),
    "abs": Function(1, 1, arithmetic.absolute),
    "floor": Function(1, 1, arithmetic.rounded(math.floor)),
    "ceil": Function(1, 1, arithmetic.rounded(math.ceil)),
    "round": Function(1, 1, arithmetic.rounded(arithmetic.half_up)),
    "sqrt": Function(1, 1, arithmetic.square_root),
    "ln": Function(1, 1, arithmetic.logarithm),
    "exp": Function(1, 1, arithmetic.exponential),
    "clamp": Function(3, 3, arithmetic.clamp),
    "greatest": Function(2, _ANY, arithmetic.extreme(max)),
    "least": Function(2, _ANY, arithmetic.extreme(min)),
    "bucket": Function(2, 2, arithmetic.bucket),
    "eq": Function(2, 2, choices.compare),
    "ne": Function(2, 2, choices.compare),
    "lt": Function(2, 2, choices.compare),
    "le": Function(2, 2, choices.compare),
    "gt": Function(2, 2, choices.compare),
    "ge": Function(2, 2, choices.compare),
    "in": Function(2, _ANY, choices.compare),
    "and": Function(2, 2, choices.logic),
    "or": Function(2, 2, choices.logic),
    "not": Function(1, 1, choices.logic),
    "is_null": Function(1, 1, choices.is_null),
    "like": Function(2, 2, choices.like),
    "ilike": Function(2, 2, choices.like),
    "case": Function(3, _ANY, choices.case_of),
    "coalesce": Function(1, _ANY, choices.coalesce),
    "nullif": Function(2, 2, choices.null_if),
    "lower": Function(1, 1, texts.text_of),
    "upper": Function(1, 1, texts.text_of),
    "trim": Function(1, 1, texts.text_of),
    "concat": Function(2, _ANY, texts.text_of),
    "substring": Function(2, 3, texts.substring),
    "length": Function(1, 1, texts.length),
    "year": Function(1, 1, texts.year),
    "quarter": Function(1, 1, texts.part(1, 4)),
    "month": Function(1, 1, texts.part(1, 12)),
    "week": Function(1, 1, texts.part(1, 53)),
    "day": Function(1, 1, texts.part(1, 31)),
    "dayofweek": Function(1, 1, texts.part(1, 7)),
    "dayofyear": Function(1, 1, texts.part(1, 366)),
    "hour": Function(1, 1, texts.part(0, 23, of_time=True)),
    "minute": Function(1, 1, texts.part(0, 59, of_time=True)),
    "date_trunc": Function(2, 2, texts.truncate),
    "to_real": Function(1, 1, texts.to_real),
    "to_integer": Function(1, 1, texts.to_integer),
    "to_text": Function(1, 1, texts.to_text),
    "to_date": Function(1, 1, texts.to_date),
}
