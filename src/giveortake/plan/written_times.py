"""Dates and times that a question writes as ISO texts: '2024-01-31', '2024-01-31 12:00'."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from giveortake.errors import QueryRefused
from giveortake.plan.expressions import Call, Literal
from giveortake.plan.times import MOMENTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.plan.expressions import Expression
    from giveortake.plan.tables import Schema

_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "in", "nullif"})
_DAY = len("2024-01-31")


def moment(text: str) -> dt.date:
    """The date or time that an ISO text writes.

    >>> moment("2024-01-31"), moment("2024-01-31 12:00")
    (datetime.date(2024, 1, 31), datetime.datetime(2024, 1, 31, 12, 0))
    """
    try:
        found = dt.date.fromisoformat(text) if len(text) == _DAY else dt.datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or (isinstance(found, dt.datetime) and found.tzinfo is not None):
        raise QueryRefused(
            "a date is compared with a text that is not a date",
            hint="write dates as '2024-01-31', times as '2024-01-31 12:00'",
        )
    return found


def as_moment(argument: Expression) -> Expression:
    """A literal text converted to the date or time that it writes; any other expression unchanged."""
    if isinstance(argument, Literal) and isinstance(argument.value, str):
        return Literal(moment(argument.value))
    return argument


def compared(name: str, arguments: Sequence[Expression], schema: Schema) -> tuple[Expression, ...]:
    """The arguments of a function; if it compares dates or times with literal texts, those are converted."""
    if name in _COMPARISONS and any(isinstance(each, Literal) and isinstance(each.value, str) for each in arguments):
        kinds = {each.domain(schema).kind for each in arguments}
        if kinds & MOMENTS:
            return tuple(map(as_moment, arguments))
    return tuple(arguments)


def with_moments(expression: Expression, schema: Schema) -> Expression:
    """An expression in which literal texts compared with dates or times are converted."""
    if not isinstance(expression, Call):
        return expression
    parts = compared(expression.name, [with_moments(each, schema) for each in expression.arguments], schema)
    return expression if parts == expression.arguments else Call(expression.name, parts)
