"""What is refused, by name, and what to write instead. Everything that is not allowed ends here."""

from __future__ import annotations

from typing import NoReturn

from sqlglot import exp

from giveortake.errors import QueryRefused
from giveortake.plan.functions import available

_CLAUSES = {
    "distinct": ("DISTINCT", "SELECT region, COUNT(*) … GROUP BY region"),
    "qualify": ("QUALIFY", "HAVING filters the answer"),
    "windows": ("WINDOW", "GROUP BY the person in a subquery"),
    "sample": ("a SAMPLE", "leave it out: noise is added anyway"),
    "locks": ("FOR UPDATE", "leave it out"),
    "into": ("INTO", "use the answer"),
    "laterals": ("LATERAL", "join a public table, or a subquery on the person"),
    "offset": ("OFFSET", "LIMIT alone, and cut the answer"),
    "order": ("ORDER BY inside a subquery", "order the answer, outside"),
    "limit": ("LIMIT inside a subquery, which depends on everybody's rows", "limit the answer, outside"),
    "recursive": ("WITH RECURSIVE", "use plain WITH"),
    "pivots": ("PIVOT", "SUM(x) FILTER (WHERE …), one for each column"),
    "db": ("a schema before a table's name", "use the table's name alone"),
    "catalog": ("a catalog before a table's name", "use the table's name alone"),
    "joins": ("a join in parentheses", "write the joins one after another, or a subquery"),
    "columns": ("a list of column names after an alias", "name columns with AS inside"),
    "method": ("NATURAL, ASOF and other special joins", "JOIN … USING (column)"),
    "except_": ("EXCLUDE", "list the columns"),
    "replace": ("REPLACE", "list the columns"),
    "rename": ("RENAME", "list the columns"),
    "rollup": ("ROLLUP", "ask one question for each level"),
    "cube": ("CUBE", "ask one question for each level"),
    "grouping_sets": ("GROUPING SETS", "ask one question for each of them"),
    "all": ("GROUP BY ALL", "name the columns to group by"),
    "totals": ("WITH TOTALS", "ask one more question"),
    "by_name": ("UNION BY NAME", "list the columns in one order on both sides"),
    "limit_options": ("LIMIT with a percentage or ties", "LIMIT and a number"),
    "order_by": ("an ORDER BY inside an aggregate", "leave it out"),
    "query": ("IN with a subquery", "JOIN on the person, or list the values"),
}
_HINTS: dict[str, str] = {
    "Window": "GROUP BY the person in a subquery, and aggregate outside",
    "AnyValue": "group by the column, or take a quantile",
    "ArrayAgg": "answers are numbers: COUNT, SUM, AVG, quantiles",
    "List": "answers are numbers: COUNT, SUM, AVG, quantiles",
    "GroupConcat": "answers are numbers: COUNT, SUM, AVG, quantiles",
    "Subquery": "join a public table, or a subquery on the person",
    "Exists": "join on the person instead",
    "Rand": "noise is added anyway",
    "ApproxDistinct": "COUNT(DISTINCT x)",
    "IntDiv": "FLOOR(a / b)",
    "Log": "LN(x), and divide it by LN of the base",
    "NullSafeEQ": "x = y OR (x IS NULL AND y IS NULL)",
    "NullSafeNEQ": "x <> y, and IS NULL where that matters",
    "Interval": "compare with dates written out: DATE '2024-01-31'",
    "CurrentDate": "write the date out: DATE '2024-01-31'",
    "CurrentTimestamp": "write the date out: DATE '2024-01-31'",
    "Placeholder": "write the value out",
    "Parameter": "write the value out",
    "Star": "name the columns and aggregate them: COUNT(*), SUM(x)",
    "Escape": "LIKE without ESCAPE",
    "Distinct": "COUNT(DISTINCT x) is available, other DISTINCT aggregates are not",
    "GroupingSets": "ask one question for each of them",
    "Rollup": "ask one question for each level",
    "Cube": "ask one question for each level",
    "Order": "leave ORDER BY out of the aggregate",
    "IgnoreNulls": "aggregates leave missing values out anyway",
    "Fetch": "LIMIT and a number",
    "RegexpLike": "LIKE, or IN with the values listed",
    "SimilarTo": "LIKE, or IN with the values listed",
}
_NAMES = {
    "Window": "a window function (OVER)",
    "Subquery": "a subquery as a value",
    "Select": "a subquery as a value",
    "Exists": "EXISTS",
    "Star": "`*`",
    "Rand": "RANDOM()",
    "IntDiv": "the operator //",
    "NullSafeEQ": "IS NOT DISTINCT FROM",
    "NullSafeNEQ": "IS DISTINCT FROM",
    "Placeholder": "a parameter",
    "Tuple": "a row of several values",
    "Bracket": "an element of a list",
    "GroupConcat": "STRING_AGG",
    "ArrayAgg": "ARRAY_AGG or LIST",
    "AnyValue": "ANY_VALUE",
    "GroupingSets": "GROUPING SETS",
    "Explode": "UNNEST",
    "Values": "VALUES",
    "Lateral": "LATERAL",
    "Unnest": "UNNEST",
    "ReadCSV": "a table function (READ_CSV)",
    "ReadParquet": "a table function (READ_PARQUET)",
}


def allow(node: exp.Expr, *names: str) -> None:
    """Refuse a node that has anything else than these arguments."""
    for name, value in node.args.items():
        if name in names or value is None or value is False or value == []:
            continue
        label, hint = _CLAUSES.get(name, (f"{named(node)} with {name.strip('_').replace('_', ' ').upper()}", None))
        raise QueryRefused(f"{label} is not answered", hint=hint)


def named(node: object) -> str:
    """What a reader would call a node."""
    kind = type(node).__name__
    if kind in _NAMES:
        return _NAMES[kind]
    if isinstance(node, exp.Anonymous):
        return f"the function {str(node.this).upper()[:60]}"
    if isinstance(node, exp.Func):
        return f"the function {node.sql_name()}"
    spelled = "".join(f" {letter}" if letter.isupper() and i else letter for i, letter in enumerate(kind))
    return spelled.upper() if len(kind) > 2 else kind


def refuse(node: object, where: str = "here", *, hint: str | None = None) -> NoReturn:
    """Refuse a construct, and say what to write instead."""
    if isinstance(node, exp.IgnoreNulls):
        node = node.this
    hint = hint or _HINTS.get(type(node).__name__)
    if hint is None and isinstance(node, exp.Func) and not isinstance(node, exp.AggFunc):
        hint = available()
    raise QueryRefused(f"{named(node)} is not answered {where}".rstrip(), hint=hint)
