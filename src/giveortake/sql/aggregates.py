"""Read aggregates of rows, and GROUP BY."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from giveortake.errors import QueryRefused
from giveortake.plan import Aggregate, AggregateKind, ColumnReference, Expression, Literal
from giveortake.sql.expressions import Rows, number, unaliased
from giveortake.sql.functions import AGGREGATES, OUR_OWN_AGGREGATES, QUANTILES
from giveortake.sql.refusals import allow, refuse

if TYPE_CHECKING:
    from giveortake.sql.scope import Scope


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is an aggregate by its name; also for aggregates that are refused."""
    if isinstance(node, exp.Anonymous):
        return _own_name(node) in OUR_OWN_AGGREGATES
    return isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup | exp.Window | exp.IgnoreNulls)


def _own_name(node: exp.Anonymous) -> str:
    return str(node.this).upper()


def has_aggregate(node: exp.Expr) -> bool:
    """Whether a node contains an aggregate."""
    return any(is_aggregate(each) for each in node.walk())


def aggregate(node: exp.Expr, rows: Rows, *, feature: bool = False) -> tuple[Aggregate, str]:
    """An aggregate and its default name. A `feature` is computed from one person's rows: its extremes are exact."""
    only: Expression | None = None
    if type(node) is exp.Filter:
        allow(node, "this", "expression")
        allow(node.expression, "this")
        only, node = rows.expression(node.expression.this), node.this
    found, label = _plain(node, rows)
    if not feature:
        found = found.released(rows.scope.relation.person)
    name = "_".join([label, *(each.name for each in found.expressions if isinstance(each, ColumnReference))])
    return (found if only is None else found.where(only)), name


def _plain(node: exp.Expr, rows: Rows) -> tuple[Aggregate, str]:
    kind = type(node)
    if kind in AGGREGATES:
        names = ("this", "expression")[: AGGREGATES[kind].arguments]
        allow(node, *names)
        if any(node.args.get(name) is None for name in names):
            raise QueryRefused(
                f"{AGGREGATES[kind].sql[0]} takes {len(names)} arguments",
                hint="SELECT CORR(amount, age) AS c FROM trips",
            )
        return AGGREGATES[kind].of(*(rows.expression(node.args[name]) for name in names)), AGGREGATES[kind].label
    if isinstance(node, exp.Anonymous) and is_aggregate(node) and len(node.expressions) == 1:
        own = OUR_OWN_AGGREGATES[_own_name(node)]
        return own.of(rows.expression(node.expressions[0])), own.label
    if kind is exp.Count:
        return _count(node, rows)
    if kind in QUANTILES:
        allow(node, "this", QUANTILES[kind])
        fraction = node.args.get(QUANTILES[kind])
        if fraction is None:
            raise QueryRefused(
                "a quantile needs its fraction",
                hint="QUANTILE(x, 0.9), or PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)",
            )
        return Aggregate(AggregateKind.QUANTILE, rows.expression(node.this), _fraction(fraction)), "quantile"
    if kind is exp.WithinGroup:
        return _within_group(node, rows)
    if kind is exp.IgnoreNulls and type(node.this) not in AGGREGATES:
        refuse(node.this)
    return refuse(node)


def _count(node: exp.Expr, rows: Rows) -> tuple[Aggregate, str]:
    allow(node, "this", "big_int")
    of = node.args.get("this")
    if of is None:
        raise QueryRefused("COUNT() needs an argument", hint="COUNT(*)")
    if isinstance(of, exp.Star):
        allow(of)
        return Aggregate(AggregateKind.COUNT_ROWS), "count"
    if isinstance(of, exp.Distinct):
        allow(of, "expressions")
        if len(of.expressions) != 1:
            raise QueryRefused("COUNT(DISTINCT …) of several columns is not answered", hint="COUNT(DISTINCT a || b)")
        return Aggregate(AggregateKind.COUNT_DISTINCT, rows.expression(of.expressions[0])), "count_distinct"
    counted = rows.expression(of)
    if isinstance(counted, Literal) and counted.value is not None:
        return Aggregate(AggregateKind.COUNT_ROWS), "count"
    return Aggregate(AggregateKind.COUNT_VALUES, counted), "count"


def _within_group(node: exp.Expr, rows: Rows) -> tuple[Aggregate, str]:
    allow(node, "this", "expression")
    quantile, order = node.this, node.expression
    if type(quantile) not in {exp.PercentileCont, exp.PercentileDisc} or not isinstance(order, exp.Order):
        refuse(node)
    allow(quantile, "this")
    allow(order, "expressions")
    if len(order.expressions) != 1:
        raise QueryRefused("WITHIN GROUP orders by one expression", hint="WITHIN GROUP (ORDER BY x)")
    ordered = order.expressions[0]
    allow(ordered, "this")
    return Aggregate(AggregateKind.QUANTILE, rows.expression(ordered.this), _fraction(quantile.this)), "quantile"


def _fraction(node: exp.Expr) -> Fraction:
    if isinstance(node, exp.Literal) and not node.is_string:
        return Fraction(number(str(node.this)))
    raise QueryRefused("a quantile's fraction is a number from 0 to 1, written out", hint="QUANTILE(x, 0.9)")


def group_keys(node: exp.Expr) -> list[exp.Expr]:
    """The nodes that a SELECT groups by; DISTINCT groups by everything."""
    distinct, group = node.args.get("distinct"), node.args.get("group")
    if distinct is not None:
        allow(distinct)
        if group is not None or any(has_aggregate(item) for item in node.expressions):
            raise QueryRefused("DISTINCT together with aggregates is not answered", hint="GROUP BY alone")
        return [unaliased(item)[1] for item in node.expressions]
    if group is None:
        return []
    allow(group, "expressions")
    return [_by_position(each, node) for each in group.expressions]


def _by_position(key: exp.Expr, node: exp.Expr) -> exp.Expr:
    """The column of SELECT that a number in GROUP BY means; other keys unchanged."""
    if not isinstance(key, exp.Literal) or key.is_string:
        return key
    text = str(key.this)
    if not text.isdecimal() or len(text) > 6 or not 1 <= int(text) <= len(node.expressions):
        raise QueryRefused(f"GROUP BY {text[:20]} is not a column of SELECT", hint="name the column")
    return unaliased(node.expressions[int(text) - 1])[1]


def key_expression(node: exp.Expr, scope: Scope, aliases: dict[str, exp.Expr]) -> Expression:
    """The expression of a key: a column, an alias of SELECT, or an expression over columns."""
    if isinstance(node, exp.Column) and not node.table and not scope.matches(str(node.name)):
        node = aliases.get(str(node.name).casefold(), node)
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        raise QueryRefused("`*` is not answered here", hint="name the columns to group by")
    if has_aggregate(node):
        raise QueryRefused("an aggregate in GROUP BY is not answered", hint="group by columns")
    return Rows(scope).expression(node)
