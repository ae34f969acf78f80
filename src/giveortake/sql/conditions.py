"""Read HAVING and ORDER BY: they act on the noisy answer, and so are free."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from sqlglot import exp

from giveortake.errors import QueryRefused
from giveortake.plan import Call, ColumnReference, Computed, Expression, Kind, Literal, Measured, Quotient, Window
from giveortake.plan.conditions import unlike
from giveortake.plan.questions import Condition
from giveortake.plan.written_times import moment
from giveortake.sql.aggregates import has_aggregate
from giveortake.sql.expressions import Rows, column_name
from giveortake.sql.outputs import Outputs
from giveortake.sql.refusals import allow, refuse

if TYPE_CHECKING:
    from giveortake.plan.questions import Output
    from giveortake.sql.scope import Scope

_COMPARISONS: dict[type, str] = {
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
}
_JOINED: dict[type, str] = {exp.And: "and", exp.Or: "or"}


@final
@dataclass(frozen=True, slots=True)
class Answers:
    """The columns of an answer, as conditions see them."""

    scope: Scope
    keys: tuple[tuple[str, Expression], ...]
    outputs: tuple[tuple[str, Output], ...]

    def condition(self, node: exp.Expr) -> Condition:
        """The condition of HAVING, over keys by name, outputs by value, and literals."""
        kind = type(node)
        if kind is exp.Paren:
            allow(node, "this")
            return self.condition(node.this)
        if kind in _JOINED:
            allow(node, "this", "expression")
            return Condition(_JOINED[kind], (self.condition(node.this), self.condition(node.expression)))
        if kind is exp.Not:
            allow(node, "this")
            return Condition("not", (self.condition(node.this),))
        if kind in _COMPARISONS:
            allow(node, "this", "expression")
            return self._compared(_COMPARISONS[kind], self._operand(node.this), self._operand(node.expression))
        if kind is exp.Between:
            allow(node, "this", "low", "high")
            of = self._operand(node.this)
            low = self._compared("ge", of, self._operand(node.args["low"]))
            return Condition("and", (low, self._compared("le", of, self._operand(node.args["high"]))))
        if kind is exp.In:
            allow(node, "this", "expressions")
            of = self._operand(node.this)
            parts = [self._compared("eq", of, self._operand(each)).parts[1] for each in node.expressions]
            return Condition("in", (of, *parts))
        if kind is exp.Is and isinstance(node.expression, exp.Null):
            allow(node, "this", "expression")
            return Condition("is_null", (self._operand(node.this),))
        if kind is exp.Column:
            return self._compared("eq", self._operand(node), True)
        return refuse(
            node, "in HAVING", hint="comparisons, BETWEEN, IN and IS NULL are; conditions on rows go into WHERE"
        )

    def name_of(self, node: exp.Expr) -> str | None:
        """The name of the answer's column that a node means; None if it is not one."""
        while isinstance(node, exp.Paren):
            node = node.this
        rows = Rows(self.scope)
        named = self._named(node)
        if named is not None:
            return named
        if has_aggregate(node):
            measured = self.measured(node)
            return next((name for name, each in self.outputs if each == measured), None)
        if not all(self.scope.matches(*column_name(each)) for each in node.find_all(exp.Column)):
            return None
        key = rows.expression(node)
        return next((name for name, each in self.keys if each == key), None)

    def measured(self, node: exp.Expr) -> Output:
        """The output that a node computes from aggregates, and from columns of the answer by name."""
        return Outputs(Rows(self.scope), self.keys, dict(self.outputs)).read(node)

    def _named(self, node: exp.Expr) -> str | None:
        if not isinstance(node, exp.Column) or node.table:
            return None
        written = column_name(node)[0]
        names = [name for name, _ in (*self.keys, *self.outputs)]
        return next((name for name in names if name.casefold() == written.casefold()), None)

    def _operand(self, node: exp.Expr) -> object:
        name = self.name_of(node) if not isinstance(node, exp.Literal | exp.Boolean | exp.Null | exp.Neg) else None
        if name is not None:
            if self._named(node) is not None and isinstance(node, exp.Column):
                self._require_one_meaning(node, name)
            found = dict(self.outputs).get(name)
            return ColumnReference(name) if found is None else found
        if has_aggregate(node) or node.find(exp.Column) is not None:
            return self.measured(node)
        value = Rows(self.scope).expression(node)
        if not isinstance(value, Literal):
            raise QueryRefused(
                "HAVING compares only aggregates, keys and values", hint="conditions on rows go into WHERE"
            )
        if isinstance(value.value, int | Fraction) and not isinstance(value.value, bool):
            return Fraction(value.value)
        return value.value

    def _require_one_meaning(self, node: exp.Expr, name: str) -> None:
        """Refuse a name of the answer that is also the column of another key: it is ambiguous."""
        inside = self.scope.matches(str(node.name))
        others = [other for other, key in self.keys if inside and key == ColumnReference(inside[0]) and other != name]
        if others:
            raise QueryRefused(
                f"`{name}` in HAVING is ambiguous", hint="give the columns of the answer different names with AS"
            )

    def _compared(self, operation: str, one: object, other: object) -> Condition:
        one, other = self._as_date(one, other), self._as_date(other, one)
        kinds = [self._kind(each) for each in (one, other)]
        if kinds[0] is not None and kinds[1] is not None:
            numbers = all(kind.is_number for kind in kinds if kind is not None)
            moments = set(kinds) <= {Kind.DATE, Kind.TIMESTAMP}
            if kinds[0] is not kinds[1] and not numbers and not moments:
                raise unlike(kinds[0], kinds[1])
        return Condition(operation, (one, other))

    def _as_date(self, value: object, beside: object) -> object:
        dated = isinstance(beside, ColumnReference) and self._kind(beside) in {Kind.DATE, Kind.TIMESTAMP}
        return moment(value) if dated and isinstance(value, str) else value

    def _kind(self, value: object) -> Kind | None:
        match value:
            case None:
                return None
            case ColumnReference():
                return dict(self.keys)[value.name].domain(self.scope.relation.schema).kind
            case Measured() | Quotient() | Computed() | Window() | Fraction():
                return Kind.REAL
            case bool() | str() | dt.date():
                return Literal(value).domain({}).kind
            case Call() | _:
                raise QueryRefused("HAVING compares only aggregates, keys and values")
