"""Read WHERE x IN (SELECT … FROM public): a semi-join, which multiplies no row."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from sqlglot import exp

from giveortake.errors import QueryRefused
from giveortake.plan import Call, ColumnReference, Expression, Filter, PublicTable, Relation, SemiJoin
from giveortake.sql.expressions import Rows, column_name
from giveortake.sql.refusals import allow

if TYPE_CHECKING:
    from giveortake.plan import Schema
    from giveortake.sql.relations import Tables
    from giveortake.sql.scope import Scope


@final
class _PublicRows(Rows):
    """Reads expressions over the rows of a public table."""

    def __init__(self, scope: Scope, table: PublicTable, name: str) -> None:
        super().__init__(scope)
        self._table, self._name = table, name

    @property
    def schema(self) -> Schema:
        return self._table.schema

    def column(self, node: exp.Expr) -> ColumnReference:
        name, table = column_name(node)
        found = [each for each in self._table.schema if each.casefold() == name.casefold()]
        if not found or (table is not None and table.casefold() != self._name.casefold()):
            raise QueryRefused(
                f"there is no column `{name[:60]}` in the public table `{self._table.name}`",
                hint=f"the columns are {', '.join(self._table.schema)}; a subquery of IN reads no others",
            )
        return ColumnReference(found[0])


def filtered(scope: Scope, node: exp.Expr, tables: Tables) -> Relation:
    """The rows for which a condition is true; parts of it joined by AND may be IN with a public table."""
    parts = _conjuncts(node)
    looking = [part for part in parts if _membership(part) is not None]
    if not looking:
        return Filter(scope.relation, Rows(scope).expression(node))
    relation = scope.relation
    plain: Expression | None = None
    for part in parts:
        if _membership(part) is None:
            read = Rows(scope).expression(part)
            plain = read if plain is None else Call("and", (plain, read))
    if plain is not None:
        relation = Filter(relation, plain)
    for part in looking:
        relation = _semi_join(relation, scope, part, tables)
    return relation


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    if type(node) is exp.Paren:
        allow(node, "this")
        return _conjuncts(node.this)
    if type(node) is exp.And:
        allow(node, "this", "expression")
        return [*_conjuncts(node.this), *_conjuncts(node.expression)]
    return [node]


def _membership(node: exp.Expr) -> tuple[exp.Expr, bool] | None:
    """The node of an IN with a subquery, and whether it is negated; None for other nodes."""
    negated = False
    while type(node) in {exp.Paren, exp.Not}:
        negated = negated != (type(node) is exp.Not)
        node = node.this
    return (node, negated) if type(node) is exp.In and node.args.get("query") is not None else None


def _semi_join(relation: Relation, scope: Scope, part: exp.Expr, tables: Tables) -> SemiJoin:
    found = _membership(part)
    assert found is not None  # noqa: S101 (it was looked for)
    node, negated = found
    allow(node, "this", "query")
    query = node.args["query"]
    while type(query) is exp.Subquery:
        allow(query, "this")
        query = query.this
    table, name = _public(query, tables)
    rows = _PublicRows(scope, table, name)
    chosen = query.expressions[0] if len(query.expressions) == 1 else None
    if not isinstance(chosen, exp.Column):
        raise QueryRefused(
            "IN with a subquery takes one column of a public table",
            hint="SELECT COUNT(*) AS n FROM trips WHERE region IN (SELECT region FROM zones)",
        )
    where = query.args.get("where")
    if where is not None:
        allow(where, "this")
    condition = None if where is None else rows.expression(where.this)
    return SemiJoin(relation, table, Rows(scope).expression(node.this), rows.column(chosen).name, condition, negated)


def _public(query: exp.Expr, tables: Tables) -> tuple[PublicTable, str]:
    """The public table that a subquery of IN reads; a private one is refused: it would be an answer without noise."""
    allow(query, "expressions", "from_", "where", "distinct")
    first = query.args.get("from_")
    node = None if first is None else first.this
    if first is None or type(node) is not exp.Table or not isinstance(node.this, exp.Identifier):
        raise QueryRefused(
            "IN with a subquery reads one public table",
            hint="SELECT COUNT(*) AS n FROM trips WHERE region IN (SELECT region FROM zones)",
        )
    allow(first, "this")
    allow(node, "this", "alias")
    found = tables.find(str(node.name))
    if not isinstance(found, PublicTable):
        raise QueryRefused(
            "IN with a subquery of private rows is not answered: rows of one person would decide about another's",
            hint="SELECT COUNT(*) AS n FROM trips JOIN (SELECT DISTINCT user_id FROM trips) AS others USING (user_id)",
        )
    return found, str(node.alias or node.name)
