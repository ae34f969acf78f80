"""The functions of a row that a question may use, in SQL and in frames, each with the domain of its result.

SQL and frames both use this table; that of aggregates is `AGGREGATES`.

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
from giveortake.plan import logic_and_text, numbers, times

if TYPE_CHECKING:
    from giveortake.plan.domains import Domain, Schema
    from giveortake.plan.expressions import Call
    from giveortake.plan.numbers import Rule


@final
@dataclass(frozen=True, slots=True)
class Function:
    """How many arguments a function takes, the domain of its value, and its names in SQL.

    Operators, and functions with a syntax of their own, have no name here.
    """

    least: int
    most: int | None
    rule: Rule
    sql: tuple[str, ...] = ()


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
    """A list of the available functions, for hints."""
    return "available: " + ", ".join(sorted(name.upper() for name in FUNCTIONS if name not in _WRITTEN_OTHERWISE))


_SIGNS = "add subtract multiply divide modulo negate eq ne lt le gt ge in and or not is_null case"
_CASTS = "to_real to_integer to_text to_date"
_WRITTEN_OTHERWISE = frozenset(f"{_SIGNS} {_CASTS}".split())

_ANY = None
FUNCTIONS: dict[str, Function] = {
    "add": Function(2, 2, numbers.add),
    "subtract": Function(2, 2, numbers.subtract),
    "multiply": Function(2, 2, numbers.multiply),
    "divide": Function(2, 2, numbers.divide),
    "modulo": Function(2, 2, numbers.modulo),
    "negate": Function(1, 1, numbers.negate),
    "abs": Function(1, 1, numbers.absolute, ("ABS",)),
    "floor": Function(1, 1, numbers.rounded(math.floor), ("FLOOR",)),
    "ceil": Function(1, 1, numbers.rounded(math.ceil), ("CEIL", "CEILING")),
    "round": Function(1, 2, numbers.rounded_to_digits),
    "power": Function(2, 2, numbers.power, ("POWER", "POW")),
    "sign": Function(1, 1, numbers.sign, ("SIGN",)),
    "sqrt": Function(1, 1, numbers.square_root, ("SQRT",)),
    "ln": Function(1, 1, numbers.logarithm, ("LN",)),
    "exp": Function(1, 1, numbers.exponential, ("EXP",)),
    "clamp": Function(3, 3, numbers.clamp, ("CLAMP",)),
    "greatest": Function(2, _ANY, numbers.extreme(max), ("GREATEST",)),
    "least": Function(2, _ANY, numbers.extreme(min), ("LEAST",)),
    "bucket": Function(2, 2, numbers.bucket, ("BUCKET",)),
    "eq": Function(2, 2, logic_and_text.compare),
    "ne": Function(2, 2, logic_and_text.compare),
    "lt": Function(2, 2, logic_and_text.compare),
    "le": Function(2, 2, logic_and_text.compare),
    "gt": Function(2, 2, logic_and_text.compare),
    "ge": Function(2, 2, logic_and_text.compare),
    "in": Function(2, _ANY, logic_and_text.compare),
    "and": Function(2, 2, logic_and_text.logic),
    "or": Function(2, 2, logic_and_text.logic),
    "not": Function(1, 1, logic_and_text.logic),
    "is_null": Function(1, 1, logic_and_text.is_null),
    "like": Function(2, 2, logic_and_text.like),
    "ilike": Function(2, 2, logic_and_text.like),
    "case": Function(3, _ANY, logic_and_text.case_of),
    "coalesce": Function(1, _ANY, logic_and_text.coalesce, ("COALESCE",)),
    "nullif": Function(2, 2, logic_and_text.null_if, ("NULLIF",)),
    "lower": Function(1, 1, logic_and_text.text_of, ("LOWER", "LCASE")),
    "upper": Function(1, 1, logic_and_text.text_of, ("UPPER", "UCASE")),
    "trim": Function(1, 1, logic_and_text.text_of, ("TRIM",)),
    "concat": Function(2, _ANY, logic_and_text.text_of, ("CONCAT",)),
    "substring": Function(2, 3, logic_and_text.substring, ("SUBSTR", "SUBSTRING")),
    "length": Function(1, 1, logic_and_text.length, ("LENGTH", "LEN", "CHAR_LENGTH", "CHARACTER_LENGTH")),
    "year": Function(1, 1, logic_and_text.year, ("YEAR",)),
    "quarter": Function(1, 1, logic_and_text.part(1, 4), ("QUARTER",)),
    "month": Function(1, 1, logic_and_text.part(1, 12), ("MONTH",)),
    "week": Function(1, 1, logic_and_text.part(1, 53), ("WEEK", "WEEKOFYEAR")),
    "day": Function(1, 1, logic_and_text.part(1, 31), ("DAY", "DAYOFMONTH")),
    "dayofweek": Function(1, 1, logic_and_text.part(1, 7), ("DAYOFWEEK", "ISODOW")),
    "dayofyear": Function(1, 1, logic_and_text.part(1, 366), ("DAYOFYEAR",)),
    "hour": Function(1, 1, logic_and_text.part(0, 23, of_time=True), ("HOUR",)),
    "minute": Function(1, 1, logic_and_text.part(0, 59, of_time=True), ("MINUTE",)),
    "date_trunc": Function(2, 2, logic_and_text.truncate),
    "dayname": Function(1, 1, times.name_of(times.DAYS), ("DAYNAME",)),
    "monthname": Function(1, 1, times.name_of(times.MONTHS), ("MONTHNAME",)),
    "add_days": Function(2, 2, times.moved, ("ADD_DAYS",)),
    "add_months": Function(2, 2, times.moved, ("ADD_MONTHS",)),
    "add_seconds": Function(2, 2, times.moved, ("ADD_SECONDS",)),
    "date_diff": Function(3, 3, times.difference),
    "to_real": Function(1, 1, logic_and_text.to_real),
    "to_integer": Function(1, 1, logic_and_text.to_integer),
    "to_text": Function(1, 1, logic_and_text.to_text),
    "to_date": Function(1, 1, logic_and_text.to_date),
}

CASTS = {  # names of types in SQL and frames, and the functions that convert to them
    "double": "to_real",
    "float": "to_real",
    "bigint": "to_integer",
    "integer": "to_integer",
    "int": "to_integer",
    "varchar": "to_text",
    "text": "to_text",
    "date": "to_date",
}
