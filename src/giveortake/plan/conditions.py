"""Checks of HAVING: which comparisons there are, and between what."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake.errors import QueryRefused
from giveortake.plan.computed import Computed
from giveortake.plan.domains import Kind
from giveortake.plan.expressions import ColumnReference, Expression, Literal
from giveortake.plan.questions import Condition, Measured, Quotient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from giveortake.plan.tables import Schema

_JOINED = {"and": 2, "or": 2, "not": 1}
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})


def require_condition(condition: Condition, keys: Mapping[str, Expression], schema: Schema) -> None:
    """Refuse a condition that could not be evaluated on every row of an answer, before anything is charged."""
    parts = condition.parts
    if condition.operation in _JOINED:
        inner = [part for part in parts if isinstance(part, Condition)]
        if len(inner) != len(parts) or len(parts) != _JOINED[condition.operation]:
            raise QueryRefused(f"{condition.operation.upper()} joins conditions, one or two")
        for part in inner:
            require_condition(part, keys, schema)
        return
    kinds = [_kind(part, keys, schema) for part in parts]
    known = [kind for kind in kinds if kind is not None]
    if condition.operation == "is_null" and len(parts) == 1:
        return
    if not (condition.operation in _COMPARISONS and len(parts) == 2) and not (
        condition.operation == "in" and len(parts) > 1
    ):
        raise QueryRefused(
            f"HAVING knows no {condition.operation!r} of {len(parts)}",
            hint="comparisons, IN and IS NULL are answered",
        )
    families = {_FAMILIES.get(kind, kind) for kind in known}
    if len(families) > 1:
        raise unlike(known[0], known[-1])


def unlike(one: Kind, other: Kind) -> QueryRefused:
    """The refusal of a comparison between values of two kinds."""
    return QueryRefused(
        f"a {one} value cannot be compared with a {other} value",
        hint="numbers are written 10, texts 'north', dates DATE '2024-01-31', truth values TRUE",
    )


_FAMILIES = {
    Kind.INTEGER: Kind.REAL,
    Kind.DECIMAL: Kind.REAL,
    Kind.TIMESTAMP: Kind.DATE,
}


def _kind(part: object, keys: Mapping[str, Expression], schema: Schema) -> Kind | None:
    """The kind of value that a part has on every row; None if it is NULL."""
    match part:
        case None:
            return None
        case ColumnReference() if part.name in keys:
            return keys[part.name].domain(schema).kind
        case Measured() | Quotient() | Computed() | Fraction():
            return Kind.REAL
        case bool() | str() | dt.date():
            return Literal(part).domain({}).kind
    raise QueryRefused("HAVING compares only aggregates, keys and values", hint="conditions on rows go into WHERE")
