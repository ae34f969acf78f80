"""What cells without a type are read as, by what is said about their columns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from giveortake.plan import Domain, Kind
from giveortake.plan.domains import is_number, is_pair_of_dates
from giveortake.privacy import ROW

if TYPE_CHECKING:
    from giveortake.privacy import Unit


def kinds_of(said: Mapping[str, Any], whom: Unit) -> dict[str, Kind]:
    """What untyped cells are to be read as, by what is said about their columns."""
    return {column: _kind(value) for column, value in said.items() if whom == ROW or column != whom.column}


def _kind(said: Any) -> Kind:
    if isinstance(said, Domain):
        return said.kind
    if isinstance(said, Mapping):
        if said.get("integer"):
            return Kind.INTEGER
        if "bounds" in said:
            return _kind(tuple(said["bounds"]))
        return _kind(said["categories"]) if "categories" in said else Kind.TEXT
    first = (
        next((each for each in said if each is not None), None)
        if isinstance(said, Sequence | set | frozenset | range) and not isinstance(said, str)
        else None
    )
    if isinstance(first, bool):
        return Kind.BOOLEAN
    if isinstance(first, dt.datetime) and isinstance(said, tuple):
        return Kind.TIMESTAMP
    if isinstance(first, dt.date) or (isinstance(said, tuple) and is_pair_of_dates(said)):
        return Kind.DATE
    if isinstance(said, tuple) and is_number(first):
        return Kind.REAL
    if isinstance(first, int):
        return Kind.INTEGER
    return Kind.TEXT
