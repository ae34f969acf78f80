"""Columns of an answer in SQL: aggregates and keys, functions of them, windows, HAVING and ORDER BY.

All that is computed from the noisy answer is post-processing, and so free.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from sqlglot import exp

from giveortake.errors import QueryRefused
from giveortake.plan import (
    Aggregate,
    AggregateKind,
    ColumnReference,
    Computed,
    Expression,
    Kind,
    Literal,
    Measured,
    Quotient,
    Window,
)
from giveortake.plan.expressions import COMPARISONS
from giveortake.plan.question import FUNCTIONS_OF_ANSWERS, Condition, Frame, Order
from giveortake.plan.times import moment
from giveortake.sql.refusals import allow, refuse
from giveortake.sql.rows import (
    AGGREGATES,
    OUR_OWN_AGGREGATES,
    QUANTILES,
    SCALARS,
    Rows,
    column_name,
    constant_of,
    number,
    unaliased,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from giveortake.plan.question import ConditionPart, Operation, Output
    from giveortake.sql.rows import Scope


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is an aggregate by its name; also for aggregates that are refused."""
    if isinstance(node, exp.Anonymous):
        return _own_name(node) in OUR_OWN_AGGREGATES
    return isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup | exp.Window | exp.IgnoreNulls)


def _own_name(node: exp.Anonymous) -> str:
    return str(node.this).upper()


def has_aggregate(node: exp.Expr) -> bool:
    """Whether a node contains an aggregate."""
    return any(is_aggregate(part) for part in node.walk())


def aggregate(node: exp.Expr, rows: Rows, *, feature: bool = False) -> tuple[Aggregate, str]:
    """An aggregate and its default name. A `feature` is computed from one person's rows: its extremes are exact."""
    only: Expression | None = None
    if type(node) is exp.Filter:
        allow(node, "this", "expression")
        allow(node.expression, "this")
        only, node = rows.expression(node.expression.this), node.this
    measure, label = _plain(node, rows)
    if not feature:
        measure = measure.released(rows.scope.relation.person)
    name = "_".join(
        [label, *(expression.name for expression in measure.expressions if isinstance(expression, ColumnReference))]
    )
    return (measure if only is None else measure.where(only)), name


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
        return AGGREGATES[kind].build(*(rows.expression(node.args[name]) for name in names)), AGGREGATES[kind].label
    if isinstance(node, exp.Anonymous) and is_aggregate(node) and len(node.expressions) == 1:
        own = OUR_OWN_AGGREGATES[_own_name(node)]
        return own.build(rows.expression(node.expressions[0])), own.label
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
    argument = node.args.get("this")
    if argument is None:
        raise QueryRefused("COUNT() needs an argument", hint="COUNT(*)")
    if isinstance(argument, exp.Star):
        allow(argument)
        return Aggregate(AggregateKind.COUNT_ROWS), "count"
    if isinstance(argument, exp.Distinct):
        allow(argument, "expressions")
        if len(argument.expressions) != 1:
            raise QueryRefused("COUNT(DISTINCT …) of several columns is not answered", hint="COUNT(DISTINCT a || b)")
        return Aggregate(AggregateKind.COUNT_DISTINCT, rows.expression(argument.expressions[0])), "count_distinct"
    counted = rows.expression(argument)
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
    return [_by_position(key, node) for key in group.expressions]


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


_ARITHMETIC: dict[type, Operation] = {exp.Add: "add", exp.Sub: "subtract", exp.Mul: "multiply", exp.Div: "divide"}
_OF_ONE = {
    node: reading.name
    for node, reading in SCALARS.items()
    if reading.arguments == ("this",) and reading.name in FUNCTIONS_OF_ANSWERS
}
_OF_SEVERAL = {
    node: reading.name for node, reading in SCALARS.items() if FUNCTIONS_OF_ANSWERS.get(reading.name, (0, 0))[1] is None
}
_REALS = {"DOUBLE", "FLOAT"}
_WHOLE = {"BIGINT", "INT", "INTEGER"}
_WINDOWS: dict[type, str] = {
    exp.Sum: "sum",
    exp.Avg: "mean",
    exp.Min: "minimum",
    exp.Max: "maximum",
    exp.RowNumber: "row_number",
    exp.Rank: "rank",
    exp.DenseRank: "dense_rank",
    exp.Lag: "lag",
    exp.Lead: "lead",
    exp.FirstValue: "first",
    exp.LastValue: "last",
}
_COMPUTED_EXAMPLE = (
    "SELECT ROUND(AVG(amount), 2) AS mean, COALESCE(SUM(amount) / NULLIF(COUNT(age), 0), 0) AS each, "
    "GREATEST(COUNT(*), 0) AS n FROM trips"
)
_INDICATOR = "SELECT region, COUNT(*) AS n, GREATEST(SIGN(COUNT(*) - 100), 0) AS is_large FROM trips GROUP BY region"
_INSTEAD: dict[type, str] = {
    exp.Case: f"a sign is 1 where a number is above another, and HAVING keeps such rows: {_INDICATOR}",
    exp.If: f"a sign is 1 where a number is above another, and HAVING keeps such rows: {_INDICATOR}",
    exp.Mod: "a remainder is a difference: SELECT COUNT(*) - 10 * FLOOR(COUNT(*) / 10) AS rest FROM trips",
}
_OVER_EXAMPLE = "SELECT region, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM trips GROUP BY region"


@final
@dataclass(frozen=True, slots=True)
class Outputs:
    """Reads columns of an answer, made from aggregates, keys by their expressions, and other columns by name."""

    rows: Rows
    keys: tuple[tuple[str, Expression], ...]
    named: Mapping[str, Output]

    def read(self, node: exp.Expr) -> Output:
        """An aggregate, a number, a function of those, or of rows of the answer."""
        kind = type(node)
        if kind is exp.Window:
            return self._window(node)
        if is_aggregate(node):
            return Measured(aggregate(node, self.rows)[0])
        if kind is exp.Paren:
            allow(node, "this")
            return self.read(node.this)
        if kind is exp.Subquery:
            return self.read(constant_of(node))
        if isinstance(node, exp.Literal) and not node.is_string:
            return Fraction(number(str(node.this)))
        if kind is exp.Neg:
            allow(node, "this")
            inside = self.read(node.this)
            return -inside if isinstance(inside, Fraction) else Quotient("multiply", Fraction(-1), inside)
        if kind in _ARITHMETIC:
            allow(node, "this", "expression", "typed", "safe")
            return Quotient(_ARITHMETIC[kind], self.read(node.this), self.read(node.expression))
        if kind in {exp.Cast, exp.TryCast}:
            return self._cast(node)
        if kind is exp.Column:
            return self._column(node)
        return self._function(node)

    def _column(self, node: exp.Expr) -> Output:
        known = {name.casefold(): output for name, output in self.named.items()}
        name, table = column_name(node)
        if table is None and name.casefold() in known:
            return known[name.casefold()]
        raise QueryRefused(
            f"`{name[:60]}` is neither grouped by nor inside an aggregate",
            hint="GROUP BY it, or aggregate it: SELECT region, AVG(amount) AS mean FROM trips GROUP BY region",
        )

    def _cast(self, node: exp.Expr) -> Output:
        """CAST to a real number changes nothing, to a whole one rounds, to a decimal one rounds to its digits."""
        allow(node, "this", "to", "safe")
        to = node.args["to"]
        kind = str(getattr(to.this, "value", to.this)).upper()
        inside = self.read(node.this)
        if kind == "DECIMAL" and len(to.expressions) == 2:
            digits = to.expressions[1].this
            return Computed("round", (inside,), Fraction(number(str(digits.this))))
        allow(to, "this", "nested")
        if kind in _REALS:
            return inside
        if kind in _WHOLE:
            return Computed("to_integer", (inside,))
        raise QueryRefused(
            f"CAST of an aggregate to {kind} is not answered: an answer is a number",
            hint="SELECT CAST(AVG(amount) AS DECIMAL(10, 2)) AS mean, CAST(COUNT(*) AS DOUBLE) AS n FROM trips",
        )

    def _function(self, node: exp.Expr) -> Output:
        kind = type(node)
        if kind in _OF_ONE:
            allow(node, "this")
            return Computed(_OF_ONE[kind], (self.read(node.this),))
        if kind in _OF_SEVERAL:
            allow(node, "this", "expressions", "ignore_nulls")
            return Computed(_OF_SEVERAL[kind], tuple(map(self.read, (node.this, *node.expressions))))
        if kind is exp.Nullif:
            allow(node, "this", "expression")
            return Computed("nullif", (self.read(node.this), self.read(node.expression)))
        if kind is exp.Round:
            allow(node, "this", "decimals")
            digits = node.args.get("decimals")
            return Computed("round", (self.read(node.this),), Fraction(0) if digits is None else self._constant(digits))
        if kind is exp.Pow:
            allow(node, "this", "expression")
            return Computed("power", (self.read(node.this),), self._constant(node.expression))
        if isinstance(node, exp.Anonymous) and str(node.this).upper() == "CLAMP" and len(node.expressions) == 3:
            value, low, high = map(self.read, node.expressions)
            return Computed("least", (Computed("greatest", (value, low)), high))
        why = ": noise would choose the branch, and no interval could say how surely"
        where = f"over aggregates{why if kind in {exp.Case, exp.If} else ''}"
        return refuse(node, where, hint=_INSTEAD.get(kind, _COMPUTED_EXAMPLE))

    def _constant(self, node: exp.Expr) -> Fraction:
        value = self.read(node)
        if isinstance(value, Fraction):
            return value
        raise QueryRefused(
            "digits and exponents are constants, written out", hint="SELECT ROUND(AVG(amount), 2) AS mean FROM trips"
        )

    # -- rows of the answer -------------------------------------------------------------------------------------

    def _window(self, node: exp.Expr) -> Window:
        allow(node, "this", "partition_by", "order", "spec", "over")
        function_node = node.this
        if type(function_node) is exp.IgnoreNulls or type(function_node) is exp.Filter:
            refuse(function_node, "with OVER", hint=_OVER_EXAMPLE)
        partition = tuple(self._key(key) for key in node.args.get("partition_by") or [])
        order = self._order(node.args.get("order"))
        frame = self._frame(node.args.get("spec"))
        if type(function_node) is exp.Count:
            allow(function_node, "this", "big_int")
            if not isinstance(function_node.this, exp.Star):
                raise QueryRefused("COUNT OVER counts rows of the answer", hint=_OVER_EXAMPLE)
            return Window("count", None, partition, order, frame)
        if type(function_node) is exp.Ntile:
            allow(function_node, "this")
            return Window(
                "ntile",
                None,
                partition,
                order,
                frame,
                self._whole(function_node.this, "NTILE takes a whole number of parts"),
            )
        function = _WINDOWS.get(type(function_node))
        if function is None:
            return refuse(
                function_node,
                "with OVER",
                hint="SELECT region, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM trips "
                "GROUP BY region",
            )
        if function_node.args.get("default") is not None:
            raise QueryRefused(
                "a DEFAULT inside LAG and LEAD is not answered",
                hint="SELECT region, COALESCE(LAG(COUNT(*)) OVER (ORDER BY region), 0) AS n FROM trips GROUP BY region",
            )
        allow(function_node, "this", "offset")
        inside = function_node.args.get("this")
        offset = function_node.args.get("offset")
        places = 1 if offset is None else self._whole(offset, "LAG and LEAD take a whole number of rows")
        return Window(function, None if inside is None else self._inside(inside), partition, order, frame, places)

    def _whole(self, node: exp.Expr, otherwise: str) -> int:
        """A literal whole number."""
        value = self._constant(node)
        if value.denominator != 1:
            raise QueryRefused(otherwise, hint=_OVER_EXAMPLE)
        return int(value)

    def _inside(self, node: exp.Expr) -> Output:
        if not has_aggregate(node) and any(
            self.rows.scope.matches(str(column.name)) for column in node.find_all(exp.Column)
        ):
            raise QueryRefused(
                "a window function (OVER) is computed from the noisy answer, not from people's rows",
                hint=_OVER_EXAMPLE,
            )
        return self.read(node)

    def _key(self, node: exp.Expr) -> str:
        name = self._key_name(node)
        if name is None:
            raise QueryRefused(
                "a window function (OVER) goes by keys that are grouped by and selected", hint=_OVER_EXAMPLE
            )
        return name

    def _key_name(self, node: exp.Expr) -> str | None:
        if has_aggregate(node):
            return None
        if isinstance(node, exp.Column) and not node.table:
            names = [name for name, _ in self.keys if name.casefold() == str(node.name).casefold()]
            if names:
                return names[0]
        if any(not self.rows.scope.matches(str(column.name)) for column in node.find_all(exp.Column)):
            return None
        expression = self.rows.expression(node)
        return next((name for name, key in self.keys if key == expression and not isinstance(key, Literal)), None)

    def _order(self, node: exp.Expr | None) -> tuple[Order, ...]:
        return order_of(node, self._key_name, self._inside)

    def _frame(self, node: exp.Expr | None) -> Frame | None:
        if node is None:
            return None
        allow(node, "kind", "start", "start_side", "end", "end_side")
        first, last = (self._end(node.args.get(end), node.args.get(f"{end}_side")) for end in ("start", "end"))
        by_rows = str(node.args.get("kind")).upper() == "ROWS"
        before = None if first is None else -first
        if not by_rows and (
            str(node.args.get("kind")).upper() != "RANGE" or before is not None or last not in {0, None}
        ):
            raise QueryRefused(
                "a frame counts ROWS, or is a RANGE from the first row on",
                hint="SELECT region, SUM(COUNT(*)) OVER (ORDER BY region ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) "
                "AS n FROM trips GROUP BY region",
            )
        return Frame(before, last, peers=not by_rows)

    def _end(self, bound: object, side: object) -> int | None:
        """The end of a frame, as a number of rows after the current one; None if it has no end."""
        if bound is None or bound == "CURRENT ROW":
            return 0
        if bound == "UNBOUNDED":
            return None
        if not isinstance(bound, exp.Expr):
            return refuse(bound)
        count = self._constant(bound)
        if count.denominator != 1:
            raise QueryRefused("a frame takes whole numbers of rows", hint=_OVER_EXAMPLE)
        return int(count) if str(side).upper() == "FOLLOWING" else -int(count)


def order_of(
    node: exp.Expr | None, named: Callable[[exp.Expr], str | None], computed: Callable[[exp.Expr], Output]
) -> tuple[Order, ...]:
    """The orders of ORDER BY: by columns of the answer, or by outputs computed for it."""
    if node is None:
        return ()
    allow(node, "expressions")
    orders = []
    for item in node.expressions:
        allow(item, "this", "desc", "nulls_first")
        name = named(item.this)
        terms = bool(item.args.get("desc")), bool(item.args.get("nulls_first"))
        orders.append(Order("", *terms, by=computed(item.this)) if name is None else Order(name, *terms))
    return tuple(orders)


_COMPARISONS = {node: reading.name for node, reading in SCALARS.items() if reading.name in COMPARISONS}
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
            operand = self._operand(node.this)
            low = self._compared("ge", operand, self._operand(node.args["low"]))
            return Condition("and", (low, self._compared("le", operand, self._operand(node.args["high"]))))
        if kind is exp.In:
            allow(node, "this", "expressions")
            operand = self._operand(node.this)
            parts = [self._compared("eq", operand, self._operand(item)).parts[1] for item in node.expressions]
            return Condition("in", (operand, *parts))
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
            return next((name for name, output in self.outputs if output == measured), None)
        if not all(self.scope.matches(*column_name(column)) for column in node.find_all(exp.Column)):
            return None
        key = rows.expression(node)
        return next((name for name, expression in self.keys if expression == key), None)

    def measured(self, node: exp.Expr) -> Output:
        """The output that a node computes from aggregates, and from columns of the answer by name."""
        return Outputs(Rows(self.scope), self.keys, dict(self.outputs)).read(node)

    def _named(self, node: exp.Expr) -> str | None:
        if not isinstance(node, exp.Column) or node.table:
            return None
        column = column_name(node)[0]
        names = [name for name, _ in (*self.keys, *self.outputs)]
        return next((name for name in names if name.casefold() == column.casefold()), None)

    def _operand(self, node: exp.Expr) -> ConditionPart:
        name = self.name_of(node) if not isinstance(node, exp.Literal | exp.Boolean | exp.Null | exp.Neg) else None
        if name is not None:
            if self._named(node) is not None and isinstance(node, exp.Column):
                self._require_one_meaning(node, name)
            output = dict(self.outputs).get(name)
            return ColumnReference(name) if output is None else output
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
        namesakes = [
            other for other, key in self.keys if inside and key == ColumnReference(inside[0]) and other != name
        ]
        if namesakes:
            raise QueryRefused(
                f"`{name}` in HAVING is ambiguous", hint="give the columns of the answer different names with AS"
            )

    def _compared(self, operation: str, one: ConditionPart, other: ConditionPart) -> Condition:
        return Condition(operation, (self._as_date(one, other), self._as_date(other, one)))

    def _as_date(self, value: ConditionPart, counterpart: object) -> ConditionPart:
        if not isinstance(value, str) or not isinstance(counterpart, ColumnReference):
            return value
        domain = dict(self.keys)[counterpart.name].domain(self.scope.relation.schema)
        return moment(value) if domain.kind in {Kind.DATE, Kind.TIMESTAMP} else value
