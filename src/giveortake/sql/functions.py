"""sqlglot's classes for the plan's functions and aggregates: the allow-list itself, as tables.

A class that is in none of the tables is refused. Functions of one argument, and aggregates, are found by the SQL names
in the plan's own tables; for other functions and for operators, the tables here list the arguments to read, in order:
the parser stores them under names of its own. `quiet` arguments may be set, and are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from giveortake.plan import aggregates as plan
from giveortake.plan.functions import FUNCTIONS


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """The plan's function for a node, and the names of its arguments in the parser."""

    name: str
    arguments: tuple[str, ...] = ("this",)
    quiet: tuple[str, ...] = ()


_TWO = ("this", "expression")
_MANY = ("this", "expressions")

_SIGNS: dict[type, Reading] = {
    exp.Mul: Reading("multiply", _TWO),
    exp.Div: Reading("divide", _TWO, quiet=("typed", "safe")),
    exp.Mod: Reading("modulo", _TWO),
    exp.Neg: Reading("negate"),
    exp.EQ: Reading("eq", _TWO),
    exp.NEQ: Reading("ne", _TWO),
    exp.LT: Reading("lt", _TWO),
    exp.LTE: Reading("le", _TWO),
    exp.GT: Reading("gt", _TWO),
    exp.GTE: Reading("ge", _TWO),
    exp.In: Reading("in", _MANY),
    exp.And: Reading("and", _TWO),
    exp.Or: Reading("or", _TWO),
    exp.Not: Reading("not"),
    exp.DPipe: Reading("concat", _TWO, quiet=("safe",)),
}
_OF_SEVERAL: dict[type, Reading] = {
    exp.Greatest: Reading("greatest", _MANY, quiet=("ignore_nulls",)),
    exp.Least: Reading("least", _MANY, quiet=("ignore_nulls",)),
    exp.Coalesce: Reading("coalesce", _MANY),
    exp.Nullif: Reading("nullif", _TWO),
    exp.Pow: Reading("power", _TWO),
    exp.AddMonths: Reading("add_months", _TWO),
    exp.Concat: Reading("concat", ("expressions",), quiet=("safe", "coalesce")),
    exp.Substring: Reading("substring", ("this", "start", "length")),
}
_CLASSES: dict[str, type] = {  # the parser's classes by name; it takes VAR_SAMP for VARIANCE
    name: found for name, found in exp.FUNCTION_BY_NAME.items() if name != "VAR_SAMP"
}


@final
class Text(DuckDB):
    """The parser's DuckDB dialect, but with a difference between VARIANCE and VAR_SAMP."""

    class Parser(DuckDB.Parser):  # type: ignore[misc, valid-type]  # (the parser's own class of a dialect)
        """The parser, which keeps the name VAR_SAMP as it was written."""

        FUNCTIONS: ClassVar = {
            **DuckDB.Parser.FUNCTIONS,
            "VAR_SAMP": lambda arguments: exp.Anonymous(this="VAR_SAMP", expressions=arguments),
        }


PARSED = frozenset(Text.Parser.FUNCTIONS)  # all function names that the parser knows, answered or not
_OF_ONE: dict[type, Reading] = {
    _CLASSES[spelled]: Reading(name)
    for name, function in FUNCTIONS.items()
    for spelled in function.sql
    if function.most == 1 and spelled in _CLASSES
}
SCALARS = {**_SIGNS, **_OF_SEVERAL, **_OF_ONE}
PARTS = {
    "YEAR": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "WEEK": "week",
    "DAY": "day",
    "DAYOFWEEK": "dayofweek",
    "ISODOW": "dayofweek",
    "DAYOFYEAR": "dayofyear",
    "DOY": "dayofyear",
    "HOUR": "hour",
    "MINUTE": "minute",
}
OUR_OWN = {  # functions that the parser has no class for
    spelled: name for name, function in FUNCTIONS.items() for spelled in function.sql if spelled not in _CLASSES
}

AGGREGATES = {
    _CLASSES[spelled]: function
    for function in plan.AGGREGATES.values()
    for spelled in function.sql
    if spelled in _CLASSES
}
OUR_OWN_AGGREGATES = {
    spelled: function for function in plan.AGGREGATES.values() for spelled in function.sql if spelled not in _CLASSES
}
QUANTILES: dict[type, str] = {  # with the argument that holds the fraction
    exp.PercentileCont: "expression",
    exp.PercentileDisc: "expression",
    exp.Quantile: "quantile",
    exp.ApproxQuantile: "quantile",
}
