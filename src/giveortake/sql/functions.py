"""sqlglot's classes and the plan's functions: the allow-list itself, as tables.

A class that is in none of the tables is refused. Each entry lists the arguments that are read, in order; `quiet` ones
may be set and mean nothing here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from sqlglot import exp

from giveortake.plan import AggregateKind


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """Which function of the plan a node is, and where its arguments are."""

    name: str
    arguments: tuple[str, ...] = ("this",)
    quiet: tuple[str, ...] = ()


_TWO = ("this", "expression")
_MANY = ("this", "expressions")

SCALARS: dict[type, Reading] = {
    exp.Add: Reading("add", _TWO),
    exp.Sub: Reading("subtract", _TWO),
    exp.Mul: Reading("multiply", _TWO),
    exp.Div: Reading("divide", _TWO, quiet=("typed", "safe")),
    exp.Mod: Reading("modulo", _TWO),
    exp.Neg: Reading("negate"),
    exp.Abs: Reading("abs"),
    exp.Floor: Reading("floor"),
    exp.Ceil: Reading("ceil"),
    exp.Sqrt: Reading("sqrt"),
    exp.Ln: Reading("ln"),
    exp.Exp: Reading("exp"),
    exp.Greatest: Reading("greatest", _MANY, quiet=("ignore_nulls",)),
    exp.Least: Reading("least", _MANY, quiet=("ignore_nulls",)),
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
    exp.Coalesce: Reading("coalesce", _MANY),
    exp.Nullif: Reading("nullif", _TWO),
    exp.Lower: Reading("lower"),
    exp.Upper: Reading("upper"),
    exp.Trim: Reading("trim"),
    exp.Concat: Reading("concat", ("expressions",), quiet=("safe", "coalesce")),
    exp.DPipe: Reading("concat", _TWO, quiet=("safe",)),
    exp.Substring: Reading("substring", ("this", "start", "length")),
    exp.Length: Reading("length"),
    exp.Year: Reading("year"),
    exp.Quarter: Reading("quarter"),
    exp.Month: Reading("month"),
    exp.Week: Reading("week"),
    exp.WeekOfYear: Reading("week"),
    exp.Day: Reading("day"),
    exp.DayOfMonth: Reading("day"),
    exp.DayOfWeek: Reading("dayofweek"),
    exp.DayOfWeekIso: Reading("dayofweek"),
    exp.DayOfYear: Reading("dayofyear"),
    exp.Hour: Reading("hour"),
    exp.Minute: Reading("minute"),
}
COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "in", "nullif"})
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
CASTS = {
    "DOUBLE": "to_real",
    "FLOAT": "to_real",
    "BIGINT": "to_integer",
    "INT": "to_integer",
    "TEXT": "to_text",
    "VARCHAR": "to_text",
    "DATE": "to_date",
}
OUR_OWN = {"CLAMP": "clamp", "BUCKET": "bucket"}

AGGREGATES: dict[type, tuple[AggregateKind, str]] = {
    exp.Sum: (AggregateKind.SUM, "sum"),
    exp.Avg: (AggregateKind.MEAN, "avg"),
    exp.Variance: (AggregateKind.VARIANCE, "variance"),
    exp.VariancePop: (AggregateKind.VARIANCE, "variance"),
    exp.Stddev: (AggregateKind.DEVIATION, "stddev"),
    exp.StddevPop: (AggregateKind.DEVIATION, "stddev"),
    exp.StddevSamp: (AggregateKind.DEVIATION, "stddev"),
    exp.Min: (AggregateKind.MINIMUM, "min"),
    exp.Max: (AggregateKind.MAXIMUM, "max"),
}
QUANTILES: dict[type, str] = {  # and the argument that holds the fraction
    exp.PercentileCont: "expression",
    exp.PercentileDisc: "expression",
    exp.Quantile: "quantile",
    exp.ApproxQuantile: "quantile",
}
