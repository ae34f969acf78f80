"""Read columns of an answer: aggregates, functions of them, and functions of the rows of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from sqlglot import exp

from giveortake.errors import QueryRefused
from giveortake.plan import Computed, Literal, Measured, Quotient, Window
from giveortake.plan.computed import Frame
from giveortake.plan.questions import Order
from giveortake.sql.aggregates import aggregate, has_aggregate, is_aggregate
from giveortake.sql.expressions import Rows, column_name, constant_of, number
from giveortake.sql.refusals import allow, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from giveortake.plan import Expression
    from giveortake.plan.questions import Output

_ARITHMETIC: dict[type, str] = {exp.Add: "add", exp.Sub: "subtract", exp.Mul: "multiply", exp.Div: "divide"}
_OF_ONE: dict[type, str] = {
    exp.Abs: "abs",
    exp.Sign: "sign",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
    exp.Sqrt: "sqrt",
    exp.Ln: "ln",
    exp.Exp: "exp",
}
_OF_SEVERAL: dict[type, str] = {exp.Coalesce: "coalesce", exp.Greatest: "greatest", exp.Least: "least"}
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
        known = {name.casefold(): each for name, each in self.named.items()}
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
            of, low, high = map(self.read, node.expressions)
            return Computed("least", (Computed("greatest", (of, low)), high))
        why = (
            ": noise would choose the branch, and no interval could say how surely"
            if kind in {exp.Case, exp.If}
            else ""
        )
        return refuse(node, f"over aggregates{why}", hint=_INSTEAD.get(kind, _COMPUTED_EXAMPLE))

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
        of = node.this
        if type(of) is exp.IgnoreNulls or type(of) is exp.Filter:
            refuse(of, "with OVER", hint=_OVER_EXAMPLE)
        partition = tuple(self._key(each) for each in node.args.get("partition_by") or [])
        order = self._order(node.args.get("order"))
        frame = self._frame(node.args.get("spec"))
        if type(of) is exp.Count:
            allow(of, "this", "big_int")
            if not isinstance(of.this, exp.Star):
                raise QueryRefused("COUNT OVER counts rows of the answer", hint=_OVER_EXAMPLE)
            return Window("count", None, partition, order, frame)
        if type(of) is exp.Ntile:
            allow(of, "this")
            return Window(
                "ntile", None, partition, order, frame, self._whole(of.this, "NTILE takes a whole number of parts")
            )
        function = _WINDOWS.get(type(of))
        if function is None:
            return refuse(
                of,
                "with OVER",
                hint="SELECT region, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM trips "
                "GROUP BY region",
            )
        if of.args.get("default") is not None:
            raise QueryRefused(
                "a DEFAULT inside LAG and LEAD is not answered",
                hint="SELECT region, COALESCE(LAG(COUNT(*)) OVER (ORDER BY region), 0) AS n FROM trips GROUP BY region",
            )
        allow(of, "this", "offset")
        inside = of.args.get("this")
        offset = of.args.get("offset")
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
            self.rows.scope.matches(str(each.name)) for each in node.find_all(exp.Column)
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
        if any(not self.rows.scope.matches(str(each.name)) for each in node.find_all(exp.Column)):
            return None
        found = self.rows.expression(node)
        return next((name for name, key in self.keys if key == found and not isinstance(key, Literal)), None)

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

    def _end(self, written: object, side: object) -> int | None:
        """The end of a frame, as a number of rows after the current one; None if it has no end."""
        if written is None or written == "CURRENT ROW":
            return 0
        if written == "UNBOUNDED":
            return None
        if not isinstance(written, exp.Expr):
            return refuse(written)
        count = self._constant(written)
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
    found = []
    for each in node.expressions:
        allow(each, "this", "desc", "nulls_first")
        name = named(each.this)
        terms = bool(each.args.get("desc")), bool(each.args.get("nulls_first"))
        found.append(Order("", *terms, by=computed(each.this)) if name is None else Order(name, *terms))
    return tuple(found)
