"""What other frames call the things that a table has, and what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

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
}
_OF_EXPRESSIONS: Mapping[str, str] = {
    **dict.fromkeys(("isna", "isnull"), 'gt.col("fee").is_null()'),
    **dict.fromkeys(("notna", "notnull", "is_not_null"), '~gt.col("fee").is_null()'),
    "dt": 'gt.col("day").month(), .year() and the like need no dt',
    "str": 'gt.col("name").lower(), .like("A%") and the like need no str',
    "is_in": 'gt.col("region").isin(["north", "south"])',
    "astype": 'gt.col("fee").cast("double")',
    "clip": 'gt.col("fee").clamp(0, 100)',
    **dict.fromkeys(("mean", "sum", "median", "count"), 'aggregates are functions: table.agg(mean=gt.mean("fee"))'),
}


def instead_of(name: str, columns: Mapping[str, object]) -> str | None:
    """What to write for an attribute that tables do not have; None if nobody knows what was meant."""
    return by_name(name) if name in columns else _INSTEAD.get(name)


def instead_of_expression(name: str) -> str | None:
    """What to write for an attribute that expressions do not have; None if nobody knows what was meant."""
    return _OF_EXPRESSIONS.get(name)


def by_name(column: str) -> str:
    """How a column is named in a question."""
    return f'columns are named: table.agg(mean=gt.mean("{column}")), table.filter(gt.col("{column}") > 1)'
