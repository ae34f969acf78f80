"""Read expressions over a row: the parser's nodes become the plan's expressions, by the tables in `functions`."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.exact import rational
from giveortake.plan import Call, ColumnReference, Expression, Literal, require_name
from giveortake.plan.functions import CASTS
from giveortake.plan.written_times import compared, moment
from giveortake.sql import times
from giveortake.sql.functions import OUR_OWN, PARTS, SCALARS
from giveortake.sql.refusals import allow, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.plan import Schema
    from giveortake.sql.scope import Scope

_INT64 = 1 << 63
_TIMESTAMPS = frozenset({"TIMESTAMP", "TIMESTAMPNTZ", "DATETIME"})


class Rows:
    """Reads expressions over the rows of a scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    @property
    def schema(self) -> Schema:
        """The columns that expressions may use."""
        return self.scope.relation.schema

    def expression(self, node: exp.Expr) -> Expression:
        """The plan's expression for a node, or a refusal."""
        special = SPECIAL.get(type(node))
        if special is not None:
            return special(self, node)
        reading = SCALARS.get(type(node))
        if reading is None:
            refuse(node, hint=_hint_about_aggregates(node))
        allow(node, *reading.arguments, *reading.quiet)
        parts: list[exp.Expr] = []
        for name in reading.arguments:
            value = node.args.get(name)
            parts.extend(value if isinstance(value, list) else [value] if value is not None else [])
        return self.call(reading.name, [self.expression(part) for part in parts])

    def call(self, name: str, arguments: list[Expression]) -> Expression:
        """A call of a function; literal texts that are compared with dates become dates."""
        if name == "negate" and isinstance(arguments[0], Literal) and _is_number(arguments[0].value):
            return Literal(-arguments[0].value)  # type: ignore[operator]  # (a number, as was asked)
        return Call(name, compared(name, arguments, self.schema))

    def column(self, node: exp.Expr) -> Expression:
        """The column that a node names."""
        name, table = column_name(node)
        if table is None and node.this.args.get("quoted") and not self.scope.matches(name):
            text = name.replace("'", "''")
            raise QueryRefused(
                f"there is no column `{name}` here",
                hint=f"{self.scope.meant(name)}texts stand in single quotes: '{text}'",
            )
        if table is None and not self.scope.matches(name) and self._is_category(name):
            raise QueryRefused(f"there is no column `{name}` here", hint=f"texts stand in single quotes: '{name}'")
        return ColumnReference(self.scope.column(name, table))

    def _is_category(self, name: str) -> bool:
        return any(name in (domain.categories or ()) for domain in self.schema.values())


def column_name(node: exp.Expr) -> tuple[str, str | None]:
    """The name of a column, and the table before it, if any."""
    if isinstance(node.this, exp.Star):
        refuse(node.this)
    if node.args.get("db") is not None or node.args.get("catalog") is not None:
        raise QueryRefused("a name of more than two parts is not answered here", hint="write table.column")
    allow(node, "this", "table")
    table = node.args.get("table")
    return str(node.name), None if table is None else str(table.name)


def number(text: str) -> int | Fraction:
    """The exact value of a written number.

    >>> number("10"), number("0.1"), number("1e2")
    (10, Fraction(1, 10), Fraction(100, 1))
    """
    try:
        value = rational("number", text.removesuffix("."))
    except InvalidParameter:
        raise QueryRefused(f"the number {text[:40]} is not understood", hint="write it out, with few digits") from None
    if abs(value) >= _INT64:
        raise QueryRefused(f"the number {text[:40]} does not fit into 64 bits")
    return value.numerator if text.isdecimal() else value


def _is_number(value: object) -> bool:
    return isinstance(value, int | Fraction) and not isinstance(value, bool)


def _hint_about_aggregates(node: exp.Expr) -> str | None:
    if isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup):
        return (
            "aggregates stand in SELECT, HAVING and ORDER BY; aggregates of aggregates need GROUP BY the person inside"
        )
    return None


# -- literals ---------------------------------------------------------------------------------------------------------


def _literal(_rows: Rows, node: exp.Expr) -> Expression:
    allow(node, "this", "is_string")
    return Literal(str(node.this) if node.args.get("is_string") else number(str(node.this)))


def _boolean(_rows: Rows, node: exp.Expr) -> Expression:
    allow(node, "this")
    return Literal(bool(node.this))


def _null(_rows: Rows, node: exp.Expr) -> Expression:
    allow(node)
    return Literal(None)


# -- special syntax ---------------------------------------------------------------------------------------------------


def _paren(rows: Rows, node: exp.Expr) -> Expression:
    allow(node, "this")
    return rows.expression(node.this)


def constant_of(node: exp.Expr) -> exp.Expr:
    """The one value that a subquery without a table selects: it is a literal in other words."""
    allow(node, "this")
    select = node.this
    if type(select) is not exp.Select or select.args.get("from_") is not None or len(select.expressions) != 1:
        raise QueryRefused(
            "a subquery as a value is not answered: over people's rows it would be one more answer, without noise",
            hint="ask for it first, and write the number: SELECT COUNT(*) AS n FROM trips WHERE amount > 100",
        )
    allow(select, "expressions")
    (only,) = select.expressions
    value: exp.Expr = only.this if isinstance(only, exp.Alias) else only
    if value.find(exp.Column) is not None:
        raise QueryRefused("a subquery as a value is a constant", hint="write the column without SELECT")
    return value


def _between(rows: Rows, node: exp.Expr) -> Expression:
    allow(node, "this", "low", "high")
    of = rows.expression(node.this)
    low = rows.call("ge", [of, rows.expression(node.args["low"])])
    return Call("and", (low, rows.call("le", [of, rows.expression(node.args["high"])])))


def _is(rows: Rows, node: exp.Expr) -> Expression:
    allow(node, "this", "expression")
    of, what = rows.expression(node.this), node.expression
    if isinstance(what, exp.Null):
        return Call("is_null", (of,))
    if isinstance(what, exp.Boolean):
        return Call("coalesce", (of if what.this else Call("not", (of,)), Literal(value=False)))
    return refuse(node, hint="IS NULL, IS NOT NULL, IS TRUE and IS FALSE are")


def _like(rows: Rows, node: exp.Expr) -> Expression:
    allow(node, "this", "expression", "negate")
    name = "ilike" if type(node) is exp.ILike else "like"
    found = rows.call(name, [rows.expression(node.this), rows.expression(node.expression)])
    return Call("not", (found,)) if node.args.get("negate") else found


def _case(rows: Rows, node: exp.Expr) -> Expression:
    allow(node, "this", "ifs", "default")
    of = None if node.args.get("this") is None else rows.expression(node.this)
    arguments: list[Expression] = []
    for branch in node.args["ifs"]:
        allow(branch, "this", "true")
        condition = rows.expression(branch.this)
        arguments.append(condition if of is None else rows.call("eq", [of, condition]))
        arguments.append(rows.expression(branch.args["true"]))
    default = node.args.get("default")
    arguments.append(Literal(None) if default is None else rows.expression(default))
    return Call("case", tuple(arguments))


def _if(rows: Rows, node: exp.Expr) -> Expression:
    allow(node, "this", "true", "false")
    default = node.args.get("false")
    otherwise = Literal(None) if default is None else rows.expression(default)
    return Call("case", (rows.expression(node.this), rows.expression(node.args["true"]), otherwise))


def _cast(rows: Rows, node: exp.Expr) -> Expression:
    allow(node, "this", "to", "safe")
    to = node.args["to"]
    kind = str(getattr(to.this, "value", to.this)).upper()
    if kind.lower() in CASTS or kind in _TIMESTAMPS:
        allow(to, "this", "nested")
    of = rows.expression(node.this)
    if isinstance(of, Literal) and isinstance(of.value, str) and (kind == "DATE" or kind in _TIMESTAMPS):
        found = moment(of.value)
        day = dt.date(found.year, found.month, found.day)
        whole = found if isinstance(found, dt.datetime) else dt.datetime.combine(day, dt.time())
        return Literal(day if kind == "DATE" else whole)
    if kind.lower() not in CASTS:
        raise QueryRefused(
            f"CAST to {kind} is not answered", hint="CAST to DOUBLE, BIGINT, INTEGER, VARCHAR and DATE is"
        )
    return Call(CASTS[kind.lower()], (of,))


def _round(rows: Rows, node: exp.Expr) -> Expression:
    allow(node, "this", "decimals")
    decimals = node.args.get("decimals")
    digits = Literal(0) if decimals is None else rows.expression(decimals)
    of = rows.expression(node.this)
    return Call("round", (of,) if digits == Literal(0) else (of, digits))


def _extract(rows: Rows, node: exp.Expr) -> Expression:
    allow(node, "this", "expression")
    return _part(rows, str(node.this.name), node.expression)


def _part(rows: Rows, part: str, of: exp.Expr) -> Expression:
    name = PARTS.get(part.upper())
    if name is None:
        raise QueryRefused(f"the date part {part.upper()[:40]} is not answered", hint=f"available: {', '.join(PARTS)}")
    return Call(name, (rows.expression(of),))


def _truncate(rows: Rows, node: exp.Expr) -> Expression:
    allow(node, "this", "unit", "unabbreviate", "input_type_preserved")
    unit = node.args["unit"]
    if not isinstance(unit, exp.Var | exp.Literal):
        refuse(unit)
    return Call("date_trunc", (Literal(str(unit.name).lower()), rows.expression(node.this)))


def _own(rows: Rows, node: exp.Expr) -> Expression:
    """Read a function that the parser has no class for."""
    allow(node, "this", "expressions")
    name = str(node.this).upper()
    if name == "DATE_PART" and len(node.expressions) == 2 and isinstance(node.expressions[0], exp.Literal):
        return _part(rows, str(node.expressions[0].this), node.expressions[1])
    if name == "DATE_SUB" and len(node.expressions) == 2 and isinstance(node.expressions[1], exp.Interval):
        return times.moved(rows, *node.expressions, back=True)
    if name not in OUR_OWN:
        refuse(node)
    return Call(OUR_OWN[name], tuple(rows.expression(each) for each in node.expressions))


SPECIAL: dict[type, Callable[[Rows, exp.Expr], Expression]] = {
    exp.Column: lambda rows, node: rows.column(node),
    exp.Literal: _literal,
    exp.Boolean: _boolean,
    exp.Null: _null,
    exp.Paren: _paren,
    exp.Subquery: lambda rows, node: rows.expression(constant_of(node)),
    exp.Between: _between,
    exp.Is: _is,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Case: _case,
    exp.If: _if,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Round: _round,
    exp.Extract: _extract,
    exp.DateTrunc: _truncate,
    exp.TimestampTrunc: _truncate,
    exp.Add: times.sum_or_difference,
    exp.Sub: times.sum_or_difference,
    exp.DateAdd: times.added,
    exp.DateDiff: times.difference,
    exp.Anonymous: _own,
}


def unaliased(item: exp.Expr) -> tuple[str | None, exp.Expr]:
    """The alias of an item, or None, and the item itself."""
    if isinstance(item, exp.Alias):
        allow(item, "this", "alias")
        return require_name(str(item.alias)), item.this
    return None, item
