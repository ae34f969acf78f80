"""Expressions over a row in SQL: names, functions, literals and dates become expressions of the plan.

The tables of sqlglot's classes are the allow-list: a class that is in none of them is refused. Functions of one
argument, and aggregates, are found by the SQL names in the plan's own tables; for other functions and for operators,
the tables here list the arguments to read, in order: the parser stores them under names of its own. `quiet` arguments
may be set, and are ignored.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, final

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from giveortake.errors import InvalidParameter, QueryRefused, did_you_mean
from giveortake.exact import rational
from giveortake.plan import Call, ColumnReference, Expression, Kind, Literal, require_few_steps, require_name
from giveortake.plan.functions import CASTS, FUNCTIONS
from giveortake.plan.relations import AGGREGATES as AGGREGATE_FUNCTIONS
from giveortake.plan.relations import unasked_column
from giveortake.plan.times import MOMENTS, UNITS, as_moment, compared, moment
from giveortake.sql.refusals import allow, in_sql, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from giveortake.plan import Relation, Schema


@final
@dataclass(frozen=True, slots=True)
class View:
    """A table or a subquery: a relation, and the visible names of its columns."""

    relation: Relation
    columns: Mapping[str, str]

    def __post_init__(self) -> None:
        require_few_steps(self.relation)

    @staticmethod
    def of_relation(relation: Relation) -> View:
        """The view of a relation with every column under its own name."""
        return View(relation, {name: name for name in relation.schema})


@final
@dataclass(frozen=True, slots=True)
class Scope:
    """The columns available after FROM: one relation, with the columns of each source. USING has joined `merged`."""

    relation: Relation
    sources: tuple[tuple[str, Mapping[str, str]], ...]
    merged: frozenset[str] = frozenset()

    def column(self, name: str, table: str | None = None) -> str:
        """The relation's own name for a column."""
        columns = self.matches(name, table)
        if not columns:
            for stored, kind in (column for own in self.relation.tables() for column in own.unasked):
                if _same(stored, name):
                    raise unasked_column(stored, kind)
            listed = ", ".join(dict.fromkeys(in_sql(visible) for visible, _ in self._visible_columns(table)))
            raise QueryRefused(
                f"there is no column `{name}` here",
                hint=(
                    f"{self.spelling_hint(name, table)}the columns are {listed or 'none'}; "
                    "a subquery offers only what it selects"
                ),
            )
        if len(columns) > 1 and not (table is None and name.casefold() in self.merged):
            owners = [owner for owner, names in self.sources if any(_same(own_name, name) for own_name in names)]
            raise QueryRefused(f"`{name}` is ambiguous", hint=f"write {owners[0]}.{name}")
        return columns[0]

    def matches(self, name: str, table: str | None = None) -> list[str]:
        """All columns that a name may mean; an exact match of case excludes the others."""
        pairs = self._visible_columns(table)
        exact = [inside for visible, inside in pairs if visible == name]
        return list(dict.fromkeys(exact or [inside for visible, inside in pairs if _same(visible, name)]))

    def spelling_hint(self, name: str, table: str | None = None) -> str:
        """The start of a hint if an unknown name resembles that of a column; else empty."""
        return did_you_mean(name, dict.fromkeys(visible for visible, _ in self._visible_columns(table)), in_sql)

    def displayed_name(self, name: str, table: str | None = None) -> str:
        """A column's name as its table writes it."""
        inside = self.column(name, table)
        return next(
            visible for visible, own_name in self._visible_columns(table) if own_name == inside and _same(visible, name)
        )

    def star(self) -> list[tuple[str, str]]:
        """All visible columns, with the relation's own names for them."""
        columns: dict[str, tuple[str, str]] = {}
        for name, inside in self._visible_columns(None):
            known = columns.setdefault(name.casefold(), (name, inside))
            if known[1] != inside and name.casefold() not in self.merged:
                raise QueryRefused(
                    f"`*` has two columns `{name}`", hint="list the columns, and give them different names with AS"
                )
        return list(columns.values())

    def _visible_columns(self, table: str | None) -> list[tuple[str, str]]:
        if table is not None and not any(_same(owner, table) for owner, _ in self.sources):
            names = ", ".join(owner for owner, _ in self.sources)
            raise QueryRefused(f"there is no table `{table}` in FROM", hint=f"there are {names}")
        return [
            pair for owner, columns in self.sources if table is None or _same(owner, table) for pair in columns.items()
        ]


def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """The plan's function for a node, and the names of its arguments in the parser."""

    name: str
    arguments: tuple[str, ...] = ("this",)
    quiet: tuple[str, ...] = ()


_TWO = ("this", "expression")
_MANY = ("this", "expressions")

_SIGNS: dict[type, Reading] = {
    exp.Mul: Reading("multiply", _TWO),
    exp.Div: Reading("divide", _TWO, quiet=("typed", "safe")),
    exp.Mod: Reading("modulo", _TWO),
    exp.Neg: Reading("negate"),
    exp.EQ: Reading("eq", _TWO),
    exp.NEQ: Reading("ne", _TWO),
    exp.LT: Reading("lt", _TWO),
    exp.LTE: Reading("le", _TWO),
    exp.GT: Reading("gt", _TWO),
    exp.GTE: Reading("ge", _TWO),
    exp.In: Reading("in", _MANY),
    exp.And: Reading("and", _TWO),
    exp.Or: Reading("or", _TWO),
    exp.Not: Reading("not"),
    exp.DPipe: Reading("concat", _TWO, quiet=("safe",)),
}
_OF_SEVERAL: dict[type, Reading] = {
    exp.Greatest: Reading("greatest", _MANY, quiet=("ignore_nulls",)),
    exp.Least: Reading("least", _MANY, quiet=("ignore_nulls",)),
    exp.Coalesce: Reading("coalesce", _MANY),
    exp.Nullif: Reading("nullif", _TWO),
    exp.Pow: Reading("power", _TWO),
    exp.AddMonths: Reading("add_months", _TWO),
    exp.Concat: Reading("concat", ("expressions",), quiet=("safe", "coalesce")),
    exp.Substring: Reading("substring", ("this", "start", "length")),
}
_CLASSES: dict[str, type] = {  # the parser's classes by name; it takes VAR_SAMP for VARIANCE
    name: function_class for name, function_class in exp.FUNCTION_BY_NAME.items() if name != "VAR_SAMP"
}


@final
class Text(DuckDB):
    """The parser's DuckDB dialect, but with a difference between VARIANCE and VAR_SAMP."""

    class Parser(DuckDB.Parser):  # type: ignore[misc, valid-type]  # (the parser's own class of a dialect)
        """The parser, which keeps the name VAR_SAMP as it was written."""

        FUNCTIONS: ClassVar = {
            **DuckDB.Parser.FUNCTIONS,
            "VAR_SAMP": lambda arguments: exp.Anonymous(this="VAR_SAMP", expressions=arguments),
        }


PARSED = frozenset(Text.Parser.FUNCTIONS)  # all function names that the parser knows, answered or not
_OF_ONE: dict[type, Reading] = {
    _CLASSES[spelled]: Reading(name)
    for name, function in FUNCTIONS.items()
    for spelled in function.sql
    if function.most == 1 and spelled in _CLASSES
}
SCALARS = {**_SIGNS, **_OF_SEVERAL, **_OF_ONE}
PARTS = {
    "YEAR": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "WEEK": "week",
    "DAY": "day",
    "DAYOFWEEK": "dayofweek",
    "ISODOW": "dayofweek",
    "DAYOFYEAR": "dayofyear",
    "DOY": "dayofyear",
    "HOUR": "hour",
    "MINUTE": "minute",
}
OUR_OWN = {  # functions that the parser has no class for
    spelled: name for name, function in FUNCTIONS.items() for spelled in function.sql if spelled not in _CLASSES
}

AGGREGATES = {
    _CLASSES[spelled]: function
    for function in AGGREGATE_FUNCTIONS.values()
    for spelled in function.sql
    if spelled in _CLASSES
}
OUR_OWN_AGGREGATES = {
    spelled: function
    for function in AGGREGATE_FUNCTIONS.values()
    for spelled in function.sql
    if spelled not in _CLASSES
}
QUANTILES: dict[type, str] = {  # with the argument that holds the fraction
    exp.PercentileCont: "expression",
    exp.PercentileDisc: "expression",
    exp.Quantile: "quantile",
    exp.ApproxQuantile: "quantile",
}


_WRITTEN_OUT = "an interval is a whole number and a unit, written out"
_EXAMPLE = "SELECT COUNT(*) AS n FROM trips WHERE day + INTERVAL 7 DAY > DATE '2024-01-31'"


def moved(rows: Rows, operand: exp.Expr, by: exp.Expr, *, back: bool) -> Expression:
    """A date or time plus or minus an interval."""
    if not isinstance(by, exp.Interval):
        return rows.call("subtract" if back else "add", [rows.expression(operand), rows.expression(by)])
    name, count = _interval(rows, by)
    return Call(name, (rows.expression(operand), Literal(-count if back else count)))


def _interval(rows: Rows, node: exp.Expr) -> tuple[str, int]:
    allow(node, "this", "unit")
    unit, amount = node.args.get("unit"), node.this
    name = str(unit.name).lower().removesuffix("s") if isinstance(unit, exp.Var) else ""
    if name not in UNITS:
        raise QueryRefused(f"{_WRITTEN_OUT}; units are {', '.join(UNITS)}", hint=_EXAMPLE)
    function, factor = UNITS[name]
    if isinstance(amount, exp.Literal) and amount.is_string:
        text = str(amount.this).strip()
        if not text.isascii() or not text.removeprefix("-").isdecimal() or len(text) > 15:
            raise QueryRefused(_WRITTEN_OUT, hint=_EXAMPLE)
        return function, factor * int(text)
    count = rows.expression(amount)
    if not isinstance(count, Literal) or type(count.value) is not int:
        raise QueryRefused(_WRITTEN_OUT, hint=_EXAMPLE)
    return function, factor * count.value


def added(rows: Rows, node: exp.Expr) -> Expression:
    """Read DATE_ADD(day, INTERVAL 7 DAY)."""
    allow(node, "this", "expression")
    return moved(rows, node.this, node.expression, back=False)


def sum_or_difference(rows: Rows, node: exp.Expr) -> Expression:
    """Read + and −, of numbers and of dates."""
    allow(node, "this", "expression")
    one, other = node.this, node.expression
    back = type(node) is exp.Sub
    if isinstance(one, exp.Interval) and not back:
        one, other = other, one
    if isinstance(one, exp.Interval):
        refuse(one)
    return moved(rows, one, other, back=back)


def difference(rows: Rows, node: exp.Expr) -> Expression:
    """Read DATE_DIFF('day', from, to)."""
    allow(node, "this", "expression", "unit", "date_part_boundary")
    unit = node.args.get("unit")
    if not isinstance(unit, exp.Var | exp.Literal):
        raise QueryRefused(
            "DATE_DIFF begins with a unit, written out",
            hint="SELECT AVG(DATE_DIFF('day', DATE '2024-01-01', day)) AS days FROM trips",
        )
    return days_between(rows, str(unit.name).lower(), rows.expression(node.expression), rows.expression(node.this))


def days_between(rows: Rows, unit: str, first: Expression, last: Expression) -> Expression:
    """A difference of dates, in which literal texts beside dates become dates."""
    ends = [first, last]
    if {end.domain(rows.schema).kind for end in ends} & MOMENTS and any(
        end.domain(rows.schema).kind is Kind.TEXT for end in ends
    ):
        ends = [as_moment(end) for end in ends]
    return Call("date_diff", (Literal(unit), *ends))


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
                hint=f"{self.scope.spelling_hint(name)}texts stand in single quotes: '{text}'",
            )
        if (
            table is None
            and not self.scope.matches(name)
            and any(name in (domain.categories or ()) for domain in self.schema.values())
        ):
            raise QueryRefused(f"there is no column `{name}` here", hint=f"texts stand in single quotes: '{name}'")
        return ColumnReference(self.scope.column(name, table))


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
    operand = rows.expression(node.this)
    low = rows.call("ge", [operand, rows.expression(node.args["low"])])
    return Call("and", (low, rows.call("le", [operand, rows.expression(node.args["high"])])))


def _is(rows: Rows, node: exp.Expr) -> Expression:
    allow(node, "this", "expression")
    operand, truth = rows.expression(node.this), node.expression
    if isinstance(truth, exp.Null):
        return Call("is_null", (operand,))
    if isinstance(truth, exp.Boolean):
        return Call("coalesce", (operand if truth.this else Call("not", (operand,)), Literal(value=False)))
    return refuse(node, hint="IS NULL, IS NOT NULL, IS TRUE and IS FALSE are")


def _like(rows: Rows, node: exp.Expr) -> Expression:
    allow(node, "this", "expression", "negate")
    name = "ilike" if type(node) is exp.ILike else "like"
    call = rows.call(name, [rows.expression(node.this), rows.expression(node.expression)])
    return Call("not", (call,)) if node.args.get("negate") else call


def _case(rows: Rows, node: exp.Expr) -> Expression:
    allow(node, "this", "ifs", "default")
    subject = None if node.args.get("this") is None else rows.expression(node.this)
    arguments: list[Expression] = []
    for branch in node.args["ifs"]:
        allow(branch, "this", "true")
        condition = rows.expression(branch.this)
        arguments.append(condition if subject is None else rows.call("eq", [subject, condition]))
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
    operand = rows.expression(node.this)
    if isinstance(operand, Literal) and isinstance(operand.value, str) and (kind == "DATE" or kind in _TIMESTAMPS):
        time = moment(operand.value)
        day = dt.date(time.year, time.month, time.day)
        whole = time if isinstance(time, dt.datetime) else dt.datetime.combine(day, dt.time())
        return Literal(day if kind == "DATE" else whole)
    if kind.lower() not in CASTS:
        raise QueryRefused(
            f"CAST to {kind} is not answered", hint="CAST to DOUBLE, BIGINT, INTEGER, VARCHAR and DATE is"
        )
    return Call(CASTS[kind.lower()], (operand,))


def _round(rows: Rows, node: exp.Expr) -> Expression:
    allow(node, "this", "decimals")
    decimals = node.args.get("decimals")
    digits = Literal(0) if decimals is None else rows.expression(decimals)
    operand = rows.expression(node.this)
    return Call("round", (operand,) if digits == Literal(0) else (operand, digits))


def _extract(rows: Rows, node: exp.Expr) -> Expression:
    allow(node, "this", "expression")
    return _part(rows, str(node.this.name), node.expression)


def _part(rows: Rows, part: str, operand: exp.Expr) -> Expression:
    name = PARTS.get(part.upper())
    if name is None:
        raise QueryRefused(f"the date part {part.upper()[:40]} is not answered", hint=f"available: {', '.join(PARTS)}")
    return Call(name, (rows.expression(operand),))


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
        return moved(rows, *node.expressions, back=True)
    if name not in OUR_OWN:
        refuse(node)
    return Call(OUR_OWN[name], tuple(rows.expression(argument) for argument in node.expressions))


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
    exp.Add: sum_or_difference,
    exp.Sub: sum_or_difference,
    exp.DateAdd: added,
    exp.DateDiff: difference,
    exp.Anonymous: _own,
}


def unaliased(item: exp.Expr) -> tuple[str | None, exp.Expr]:
    """The alias of an item, or None, and the item itself."""
    if isinstance(item, exp.Alias):
        allow(item, "this", "alias")
        return require_name(str(item.alias)), item.this
    return None, item
