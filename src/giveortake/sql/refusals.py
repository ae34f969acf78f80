"""Refusals of SQL, with hints what to write instead: of clauses and functions by name, and of texts that do not parse.

Examples in hints are about a table `trips`; `about_own_table` rewrites them for a table of the session.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NoReturn

from sqlglot import exp

from giveortake.errors import QueryRefused
from giveortake.plan.functions import available

if TYPE_CHECKING:
    from sqlglot.errors import SqlglotError

    from giveortake.plan import Catalog


_EXAMPLE_NAMES = re.compile(r"\b(trips|user_id|amount|region)\b")


def about_own_table(hint: str, catalog: Catalog) -> str:
    """The hint for the first private table: its person, a bounded number, and a column with known values.

    Names without a counterpart, and names that the table has itself, stay as they are.
    """
    if not catalog.private:
        return hint
    table, relation = next(iter(catalog.private.items()))
    schema, person = relation.schema, relation.person
    columns = {name: domain for name, domain in schema.items() if name != person}
    counterparts = {
        "trips": table if "trips" not in catalog.private else None,
        "user_id": person,
        "amount": next((name for name, domain in columns.items() if domain.is_bounded), None),
        "region": next((name for name, domain in columns.items() if domain.categories is not None), None),
    }

    def own(match: re.Match[str]) -> str:
        name = counterparts[match[0]]
        return match[0] if name is None or match[0] in schema else in_sql(name)

    return _EXAMPLE_NAMES.sub(own, hint)


def name_without_quotes(text: str, catalog: Catalog) -> str | None:
    """A column with blanks in its name that a text names without quotes around it; None if there is none."""
    names = {name for relation in catalog.private.values() for name in relation.schema if " " in name.strip()}
    for name in sorted(names):
        if re.search(rf"(?<![\w\"'`]){re.escape(name)}(?![\w\"'`])", text, re.IGNORECASE):
            return name
    return None


def in_sql(name: str) -> str:
    """A name as SQL writes it, in quotes if needed.

    >>> in_sql("fee"), in_sql("Fee (EUR)")
    ('fee', '"Fee (EUR)"')
    """
    return name if name.isidentifier() else f'"{name.replace(chr(34), chr(34) * 2)}"'


_BY_REGION = "SELECT region, COUNT(*) AS n FROM trips GROUP BY region"
_WORKLOAD = f"a workload answers the same text, all sets together; one by one: {_BY_REGION}"
_TOP = "SELECT region, COUNT(*) AS n FROM trips GROUP BY region ORDER BY n DESC LIMIT 10"
_OF_PERSONS = "SELECT AVG(CLAMP(n, 0, 9)) AS mean FROM (SELECT user_id, COUNT(*) AS n FROM trips GROUP BY user_id)"
_JOIN = "SELECT zone, COUNT(*) AS n FROM trips JOIN zones USING (region) GROUP BY zone"
_COUNT = "SELECT COUNT(*) AS n FROM trips"
_AGGREGATE_EXAMPLE = (
    "SELECT COUNT(*) AS n, SUM(amount) AS total, AVG(amount) AS mean, MEDIAN(amount) AS median FROM trips"
)
_WRITTEN = "SELECT COUNT(*) AS n FROM trips WHERE amount > 100"
_DATED = "SELECT COUNT(*) AS n FROM trips WHERE day > DATE '2024-01-31'"
_LISTED = "SELECT COUNT(*) AS n FROM (SELECT user_id, region, amount FROM trips)"

# Each entry has a reason or advice, and then an example query that works: a test runs them all.
_CLAUSES = {
    "distinct": ("DISTINCT", f"group instead: {_BY_REGION}"),
    "qualify": ("QUALIFY", f"HAVING, ORDER BY and LIMIT work on the answer: {_TOP}"),
    "windows": (
        "WINDOW",
        "write it after OVER: SELECT region, SUM(COUNT(*)) OVER (ORDER BY region) AS n FROM trips GROUP BY region",
    ),
    "sample": ("a SAMPLE", f"leave it out, noise is added anyway: {_COUNT}"),
    "locks": ("FOR UPDATE", f"leave it out, nothing is changed: {_COUNT}"),
    "into": ("INTO", f"use the answer, nothing is written: {_COUNT}"),
    "laterals": ("LATERAL", f"join a public table, or a subquery on the person: {_JOIN}"),
    "offset": ("OFFSET", f"use LIMIT, and skip rows of the answer yourself: {_TOP}"),
    "order": ("ORDER BY inside a subquery", f"order the answer, outside: {_TOP}"),
    "limit": ("LIMIT inside a subquery, which depends on everybody's rows", f"limit the answer, outside: {_TOP}"),
    "recursive": (
        "WITH RECURSIVE",
        "use a plain WITH: WITH north AS (SELECT * FROM trips WHERE region = 'north') SELECT COUNT(*) AS n FROM north",
    ),
    "pivots": (
        "PIVOT",
        (
            "use one FILTER for each column: SELECT COUNT(*) FILTER (WHERE region = 'north') AS north, "
            "COUNT(*) FILTER (WHERE region = 'south') AS south FROM trips"
        ),
    ),
    "db": ("a schema before a table's name", f"write only the table's name: {_COUNT}"),
    "catalog": ("a catalog before a table's name", f"write only the table's name: {_COUNT}"),
    "joins": ("a join in parentheses", f"write joins one after another: {_JOIN}"),
    "columns": (
        "a list of column names after an alias",
        "name columns with AS inside: SELECT COUNT(a) AS n FROM (SELECT amount AS a FROM trips) AS t",
    ),
    "method": ("NATURAL, ASOF and other special joins", f"say which column: {_JOIN}"),
    "except_": ("EXCLUDE", f"list the columns: {_LISTED}"),
    "replace": ("REPLACE", f"list the columns: {_LISTED}"),
    "rename": ("RENAME", f"list the columns: {_LISTED}"),
    "rollup": ("ROLLUP", _WORKLOAD),
    "cube": ("CUBE", _WORKLOAD),
    "grouping_sets": ("GROUPING SETS", _WORKLOAD),
    "all": ("GROUP BY ALL", f"name the columns to group by: {_BY_REGION}"),
    "totals": ("WITH TOTALS", f"ask one more question: {_COUNT}"),
    "by_name": (
        "UNION BY NAME",
        (
            "list the columns in the same order on both sides: SELECT COUNT(*) AS n FROM "
            "(SELECT user_id, amount FROM trips UNION ALL SELECT user_id, amount FROM trips)"
        ),
    ),
    "limit_options": ("LIMIT with a percentage or ties", f"LIMIT and a number: {_TOP}"),
    "order_by": ("an ORDER BY inside an aggregate", f"leave it out, sums have no order: {_AGGREGATE_EXAMPLE}"),
    "query": (
        "IN with a subquery",
        (
            "over a public table, joined by AND, it is: SELECT COUNT(*) AS n FROM trips WHERE age > 3 AND region IN "
            "(SELECT region FROM zones)"
        ),
    ),
}
_HINTS: dict[str, str] = {
    "Window": f"over one person's rows it is, in a subquery that groups by the person: {_OF_PERSONS}",
    "AnyValue": f"group by the column, or take a quantile: {_BY_REGION}",
    "ArrayAgg": f"answers are numbers: {_AGGREGATE_EXAMPLE}",
    "List": f"answers are numbers: {_AGGREGATE_EXAMPLE}",
    "GroupConcat": f"answers are numbers: {_AGGREGATE_EXAMPLE}",
    "Subquery": f"join a public table, or a subquery on the person: {_JOIN}",
    "Exists": "a public table goes into IN: SELECT COUNT(*) AS n FROM trips WHERE region IN (SELECT region FROM zones)",
    "Rand": f"noise is added anyway: {_COUNT}",
    "ApproxDistinct": "COUNT(DISTINCT) answers it, with noise: SELECT COUNT(DISTINCT region) AS n FROM trips",
    "IntDiv": "SELECT SUM(FLOOR(amount / 10)) AS tens FROM trips",
    "Log": "SELECT AVG(LN(CLAMP(amount, 1, 500)) / LN(10)) AS mean FROM trips",
    "NullSafeEQ": "SELECT COUNT(*) AS n FROM trips WHERE region = 'north' OR region IS NULL",
    "NullSafeNEQ": "SELECT COUNT(*) AS n FROM trips WHERE region <> 'north' OR region IS NULL",
    "Interval": "SELECT COUNT(*) AS n FROM trips WHERE day + INTERVAL 7 DAY > DATE '2024-01-31'",
    "CurrentDate": f"write the date out, or the answer would change by itself: {_DATED}",
    "CurrentTimestamp": f"write the date out, or the answer would change by itself: {_DATED}",
    "Placeholder": f"write the value out: {_WRITTEN}",
    "Parameter": f"write the value out: {_WRITTEN}",
    "Star": f"name the columns and aggregate them: {_AGGREGATE_EXAMPLE}",
    "Escape": "LIKE knows only % and _: SELECT COUNT(*) AS n FROM trips WHERE region LIKE 'n%'",
    "Distinct": "other DISTINCT aggregates are not: SELECT COUNT(DISTINCT region) AS n FROM trips",
    "GroupingSets": _WORKLOAD,
    "Rollup": _WORKLOAD,
    "Cube": _WORKLOAD,
    "Order": f"leave it out, sums have no order: {_AGGREGATE_EXAMPLE}",
    "IgnoreNulls": f"aggregates leave missing values out anyway: {_AGGREGATE_EXAMPLE}",
    "Fetch": f"LIMIT and a number: {_TOP}",
    "RegexpLike": "SELECT COUNT(*) AS n FROM trips WHERE region LIKE 'n%' OR region IN ('south', 'east')",
    "SimilarTo": "SELECT COUNT(*) AS n FROM trips WHERE region LIKE 'n%' OR region IN ('south', 'east')",
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
    "Explode": "UNNEST",
    "Unnest": "UNNEST",
    "ReadCSV": "a table function (READ_CSV)",
    "ReadParquet": "a table function (READ_PARQUET)",
}


def allow(node: exp.Expr, *names: str) -> None:
    """Refuse a node that has any argument other than the given ones."""
    for name, value in node.args.items():
        if name in names or value is None or value is False or value == []:
            continue
        label, hint = _CLAUSES.get(name, (f"{named(node)} with {name.strip('_').replace('_', ' ').upper()}", None))
        raise QueryRefused(f"{label} is not answered", hint=hint)


def named(node: object) -> str:
    """The name of a node for people."""
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


_EXAMPLE = "an example: SELECT region, COUNT(*) AS n FROM trips GROUP BY region"
_CLAUSE_WORDS = ("SELECT", "FROM", "WHERE", "HAVING", "LIMIT", "JOIN", "USING", "BETWEEN", "DISTINCT", "AND", "LIKE")
_CLAUSE_KEYWORDS = {
    **{word: word for word in _CLAUSE_WORDS},
    **{word: f"{word.removesuffix('BY')} BY" for word in ("GROUP", "ORDER", "GROUPBY", "ORDERBY")},
}
_ALIKE = 0.6  # similarity from which a word is taken for a keyword
_NEAR = 80  # characters before the error in which a misspelt keyword is looked for
_WORD_BEFORE = re.compile(r"(\w+)\s*$")


def not_understood(text: str, error: SqlglotError) -> QueryRefused:
    """The refusal of a text that cannot be parsed: the wrong word, its place, and what may have been meant."""
    at_fault = _at_fault(text, error)
    if at_fault is None:
        closed = "" if text.count("'") % 2 == 0 else "a text is not closed: 'north'; "
        return QueryRefused("the query is not understood", hint=f"{closed}{_EXAMPLE}")
    start, word, meaning = at_fault
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    return QueryRefused(
        f"the query is not understood at `{word[:40]}` (line {line}, column {column})", hint=f"{meaning}{_EXAMPLE}"
    )


def _at_fault(text: str, error: SqlglotError) -> tuple[int, str, str] | None:
    """The place of the wrong word, the word, and the start of the hint; None if it is not found.

    A misspelt keyword may have been read as a name, so words before the error are checked too.
    """
    details = (getattr(error, "errors", None) or [{}])[0]
    line, end, word = details.get("line"), details.get("col"), details.get("highlight")
    if not line or not end or not word:
        return None
    start = sum(len(earlier_line) + 1 for earlier_line in text.split("\n")[: line - 1]) + end - len(word)
    previous_word = _WORD_BEFORE.search(text, max(start - _NEAR, 0), start)
    before = previous_word[1] if previous_word else ""
    if before.upper() in {"GROUP", "ORDER"}:
        return start, word, f"did you mean {before.upper()} BY? "
    slips = [(start, word), (start if previous_word is None else previous_word.start(), before)]
    position, slip = max(slips, key=lambda candidate: _keyword(candidate[1])[0])
    likeness, keyword = _keyword(slip)
    if likeness >= _ALIKE:
        return position, slip, f"did you mean {keyword}? "
    return start, word, "a parenthesis is not closed before it; " if details["description"] == "Expecting )" else ""


def _keyword(word: str) -> tuple[float, str]:
    """How much a word resembles a keyword, and which; 0 if it is spelled correctly."""
    if word.upper() in {"GROUP", "ORDER", *_CLAUSE_KEYWORDS.values()}:
        return 0, ""
    return max(
        (SequenceMatcher(None, spelling, word[:_NEAR].upper()).ratio(), keyword)
        for spelling, keyword in _CLAUSE_KEYWORDS.items()
    )
