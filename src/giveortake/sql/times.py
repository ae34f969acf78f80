"""Read dates and times that are moved by a constant, and differences between two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from giveortake.errors import QueryRefused
from giveortake.plan import Call, Kind, Literal
from giveortake.plan.times import MOMENTS, UNITS
from giveortake.plan.written_times import as_moment
from giveortake.sql.refusals import allow, refuse

if TYPE_CHECKING:
    from giveortake.plan import Expression
    from giveortake.sql.expressions import Rows

_WRITTEN_OUT = "an interval is a whole number and a unit, written out"
_EXAMPLE = "SELECT COUNT(*) AS n FROM trips WHERE day + INTERVAL 7 DAY > DATE '2024-01-31'"


def moved(rows: Rows, of: exp.Expr, by: exp.Expr, *, back: bool) -> Expression:
    """A date or time plus or minus an interval."""
    if not isinstance(by, exp.Interval):
        return rows.call("subtract" if back else "add", [rows.expression(of), rows.expression(by)])
    name, count = _interval(rows, by)
    return Call(name, (rows.expression(of), Literal(-count if back else count)))


def _interval(rows: Rows, node: exp.Expr) -> tuple[str, int]:
    allow(node, "this", "unit")
    unit, written = node.args.get("unit"), node.this
    name = str(unit.name).lower().removesuffix("s") if isinstance(unit, exp.Var) else ""
    if name not in UNITS:
        raise QueryRefused(f"{_WRITTEN_OUT}; units are {', '.join(UNITS)}", hint=_EXAMPLE)
    function, each = UNITS[name]
    if isinstance(written, exp.Literal) and written.is_string:
        text = str(written.this).strip()
        if not text.isascii() or not text.removeprefix("-").isdecimal() or len(text) > 15:
            raise QueryRefused(_WRITTEN_OUT, hint=_EXAMPLE)
        return function, each * int(text)
    count = rows.expression(written)
    if not isinstance(count, Literal) or type(count.value) is not int:
        raise QueryRefused(_WRITTEN_OUT, hint=_EXAMPLE)
    return function, each * count.value


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
    if {each.domain(rows.schema).kind for each in ends} & MOMENTS and any(
        each.domain(rows.schema).kind is Kind.TEXT for each in ends
    ):
        ends = [as_moment(each) for each in ends]
    return Call("date_diff", (Literal(unit), *ends))
