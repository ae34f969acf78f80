"""Attribute names from other libraries that sessions, tables and questions lack, and what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.answers.answer import Answer
from giveortake.answers.terms import CAP_TERMS, TERMS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from giveortake.plan import Catalog

_ASK = 'table.agg({0}=gt.{0}("fee")).answer(epsilon=0.1)'
_NO_ROWS = "rows are never shown; ask for aggregates: table.agg(n=gt.count()).answer(epsilon=0.1)"
_COLUMNS = "print(table) lists the columns; table.agg(n=gt.count()).answer(epsilon=0.1) counts the rows"
_ORDERED = 'table.group_by("region").order_by("n").limit(10).agg(n=gt.count())'
_INSTEAD: Mapping[str, str] = {
    "groupby": 'table.group_by("region").agg(n=gt.count()).answer(epsilon=0.1)',
    "count": "table.agg(n=gt.count()).answer(epsilon=0.1)",
    **{name: _ASK.format(name) for name in ("mean", "sum", "median", "variance", "stddev")},
    **dict.fromkeys(("std", "var"), _ASK.format("stddev")),
    **dict.fromkeys(("head", "tail", "iloc", "loc", "to_pandas", "to_polars", "sample", "collect", "show"), _NO_ROWS),
    **dict.fromkeys(("columns", "dtypes", "shape", "size"), _COLUMNS),
    **dict.fromkeys(("assign", "with_columns"), 'table.derive(double=gt.col("fee") * 2)'),
    **dict.fromkeys(("query", "where"), 'table.filter(gt.col("fee") > 1)'),
    **dict.fromkeys(("answer", "quote"), "table.agg(n=gt.count()).answer(epsilon=0.1)"),
    **dict.fromkeys(("order_by", "sort_values", "sort", "limit"), _ORDERED),
    "merge": 'table.join("regions", on="region")',
    **dict.fromkeys(("min", "max"), 'table.agg(least=gt.minimum("fee"), most=gt.maximum("fee"))'),
    **dict.fromkeys(("n_unique", "nunique", "unique"), 'table.agg(n=gt.count_distinct("region"))'),
}
_OF_AGGREGATES: Mapping[str, str] = {
    **dict.fromkeys(("alias", "name", "label"), 'the name stands before it: table.agg(total=gt.sum("fee"))'),
    **dict.fromkeys(("answer", "quote", "collect"), 'table.agg(total=gt.sum("fee")).answer(epsilon=0.1)'),
    "over": 'gt.over("sum", gt.sum("fee"), by="region")',
    **dict.fromkeys(("filter", "where"), 'table.filter(gt.col("fee") > 1).agg(total=gt.sum("fee"))'),
}
_OF_MODULE: Mapping[str, str] = {
    "max": 'gt.maximum("fee")',
    "min": 'gt.minimum("fee")',
    **dict.fromkeys(("avg", "average"), 'gt.mean("fee")'),
    "std": 'gt.stddev("fee")',
    "var": 'gt.variance("fee")',
    **dict.fromkeys(("n_unique", "nunique", "distinct"), 'gt.count_distinct("region")'),
    **dict.fromkeys(("len", "size"), "gt.count()"),
    **dict.fromkeys(
        ("Session", "session_of", "open", "read_csv", "Table", "DataFrame"), "gt.protect(…) opens a session"
    ),
    **dict.fromkeys(
        ("Laplace", "Gaussian"), 'gt.laplace(1234, sensitivity=1, epsilon="0.1"); classes are in gt.mechanisms'
    ),
    "explain": "`giveortake explain` is a command; in Python, print(gt.PureDP(1)) says what it promises",
}
_OF_EXPRESSIONS: Mapping[str, str] = {
    **dict.fromkeys(("isna", "isnull"), 'gt.col("fee").is_null()'),
    **dict.fromkeys(("notna", "notnull", "is_not_null"), '~gt.col("fee").is_null()'),
    "dt": 'gt.col("day").month(), .year() and the like need no dt',
    "str": 'gt.col("name").lower(), .like("A%") and the like need no str',
    "is_in": 'gt.col("region").isin(["north", "south"])',
    **dict.fromkeys(("fillna", "fill_null", "fill_nan"), 'gt.col("fee").coalesce(0)'),
    **dict.fromkeys(("alias", "name"), 'the name stands before it: table.derive(double=gt.col("fee") * 2)'),
    "astype": 'gt.col("fee").cast("double")',
    "clip": 'gt.col("fee").clamp(0, 100)',
    **dict.fromkeys(("mean", "sum", "median", "count"), 'aggregates are functions: table.agg(mean=gt.mean("fee"))'),
}
_TABLES = "print(session) lists the tables and their columns"
_OF_SESSIONS: Mapping[str, str] = {
    **dict.fromkeys(("columns", "schema", "dtypes", "domains", "tables"), _TABLES),
    **dict.fromkeys(("query", "ask", "answer", "quote", "execute"), 'session.sql("SELECT …").answer(epsilon=0.1)'),
    **dict.fromkeys(("agg", "group_by", "groupby", "filter"), "session.table().agg(n=gt.count()).answer(epsilon=0.1)"),
    **dict.fromkeys(("epsilon", "delta", "budget_left", "balance"), "session.remaining, session.affordable"),
    **dict.fromkeys(("synthesize", "synthetic"), "gt.synth.synthesize(session, columns=[…], …)"),
    "fit": "gt.learn has the models: gt.learn.LinearRegression(…).fit(session)",
}
_OF_QUESTIONS: Mapping[str, str] = {
    **dict.fromkeys(
        ("order_by", "sort", "sort_values", "limit", "head", "having"),
        f"it is part of the question: ORDER BY n LIMIT 10 in SQL, or {_ORDERED}",
    ),
    **dict.fromkeys(("run", "execute", "collect", "fetchall", "df"), "query.answer(epsilon=0.1)"),
    **dict.fromkeys(("cost", "price", "margins"), "query.quote(epsilon=0.1) tells it, and spends nothing"),
}
TERMS_OF_ANSWERS: Mapping[str, str] = dict.fromkeys(
    (*TERMS, *CAP_TERMS, "key"),
    'it belongs to the answer: session.sql("SELECT …").answer(epsilon=0.1), and so for all that is asked',
)


def instead_of(name: str, columns: Mapping[str, object]) -> str | None:
    """What to write for an attribute that tables do not have; None if nobody knows what was meant."""
    return by_name(name) if name in columns else _INSTEAD.get(name)


def instead_of_expression(name: str) -> str | None:
    """What to write for an attribute that expressions do not have; None if nobody knows what was meant."""
    return _OF_EXPRESSIONS.get(name)


def instead_of_aggregate(name: str) -> str | None:
    """The same for aggregates."""
    return _OF_AGGREGATES.get(name)


def instead_in_module(name: str) -> str | None:
    """The same for the names of giveortake itself."""
    return _OF_MODULE.get(name)


def instead_of_session(name: str, catalog: Catalog | None = None) -> str | None:
    """The same for sessions, whose tables have names."""
    known = () if catalog is None else catalog.private
    return f'session.table("{name}")' if name in known else _OF_SESSIONS.get(name)


def instead_of_question(name: str) -> str | None:
    """What to write for an attribute that questions do not have; some of them belong to the answer."""
    if name in _OF_QUESTIONS or name.startswith("_") or not hasattr(Answer, name):
        return _OF_QUESTIONS.get(name)
    return f"a question is asked first: query.answer(epsilon=0.1).{name}"


def by_name(column: str) -> str:
    """A hint that shows how a question names a column."""
    return f'columns are named: table.agg(mean=gt.mean("{column}")), table.filter(gt.col("{column}") > 1)'
