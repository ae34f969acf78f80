"""Read GROUP BY with ROLLUP, CUBE and GROUPING SETS: one question by all keys, and the requested sets of keys."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from sqlglot import exp

from giveortake.errors import QueryRefused
from giveortake.plan import ColumnReference
from giveortake.sql.reading import parsed_select, question_of
from giveortake.sql.refusals import allow

if TYPE_CHECKING:
    from giveortake.plan import Catalog, Question

_EXAMPLE = "SELECT region, sex, COUNT(*) AS n FROM people GROUP BY CUBE (region, sex)"
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)


def read_grouping_sets(text: str, catalog: Catalog) -> tuple[Question, tuple[tuple[str, ...], ...]]:
    """The question by all keys together, and every set of key columns, each once, in the order of SQL.

    The sets have the table's names of columns; the names that the query gives to keys are in the question.
    """
    node = parsed_select(text)
    group = node.args.get("group")
    if group is None or not any(isinstance(each, _SETS) for each in group.expressions):
        raise QueryRefused("a workload in SQL has ROLLUP, CUBE or GROUPING SETS", hint=_EXAMPLE)
    allow(group, "expressions")
    parts = [_sets_of(each) if isinstance(each, _SETS) else [_columns(each)] for each in group.expressions]
    combined = [tuple(itertools.chain(*each)) for each in itertools.product(*parts)]
    every = list({each.sql(): each for each in itertools.chain(*combined)}.values())
    plain = exp.Group(expressions=[each.copy() for each in every])
    node.set("group", plain if every else None)
    question = question_of(node, catalog)
    if question.having is not None or question.order or question.limit is not None:
        raise QueryRefused("a workload has no HAVING, ORDER BY or LIMIT", hint="sort and filter what is answered")
    columns = {name: key.name for name, key in question.keys if isinstance(key, ColumnReference)}
    if len(columns) < len(question.keys):
        raise QueryRefused("a workload is grouped by columns as they are", hint=_EXAMPLE)
    known = {name.casefold(): column for name, column in columns.items()}
    known |= {column.casefold(): column for column in columns.values()}
    found = [tuple(dict.fromkeys(known[each.name.casefold()] for each in one)) for one in combined]
    return question, tuple(dict.fromkeys(found))


def _sets_of(node: exp.Expr) -> list[tuple[exp.Expr, ...]]:
    """The sets of keys that one item of GROUP BY means."""
    if isinstance(node, exp.GroupingSets):
        listed = [_sets_of(each) if isinstance(each, _SETS) else [_columns(each)] for each in node.expressions]
        return list(itertools.chain(*listed))
    keys = [_columns(each) for each in node.expressions]
    if isinstance(node, exp.Rollup):
        return [tuple(itertools.chain(*keys[:length])) for length in range(len(keys), -1, -1)]
    several = (each for length in range(len(keys), -1, -1) for each in itertools.combinations(keys, length))
    return [tuple(itertools.chain(*each)) for each in several]


def _columns(node: exp.Expr) -> tuple[exp.Expr, ...]:
    """The columns of one set: several in parentheses, or a single one."""
    if isinstance(node, exp.Paren):
        return _columns(node.this)
    if isinstance(node, exp.Tuple):
        return tuple(itertools.chain(*(_columns(each) for each in node.expressions)))
    if not isinstance(node, exp.Column):
        raise QueryRefused("ROLLUP, CUBE and GROUPING SETS are made of columns", hint=_EXAMPLE)
    return (node,)
