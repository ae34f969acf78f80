"""Who is protected, and which two tables count as neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, final, get_args

from giveortake.errors import InvalidParameter

Neighbours: TypeAlias = Literal["add-remove", "change-one"]
"""`add-remove`: one unit more or less (the symmetric distance); `change-one`: one unit's data replaced (Hamming)."""


@final
@dataclass(frozen=True, slots=True)
class Unit:
    """What a promise protects: one row, or everything that shares one value of an identifying column.

    >>> print(ROW), print(unit("user_id"))
    one row
    one user_id
    (None, None)
    """

    column: str | None = None

    def __post_init__(self) -> None:
        if self.column is not None:
            _checked_column(self.column)

    def __str__(self) -> str:
        return f"one {self.column or 'row'}"

    def __repr__(self) -> str:
        return "ROW" if self.column is None else f"unit({self.column!r})"


ROW = Unit()


def unit(column: str) -> Unit:
    """Protect all rows that share one value of `column`, such as all rows of one person.

    >>> import giveortake as gt
    >>> gt.PureDP("1", unit=unit("person_id"))
    PureDP('1', unit=unit('person_id'))
    """
    return Unit(_checked_column(column))


def checked_unit(value: Unit) -> Unit:
    """Check that this is a unit, and return it."""
    if not isinstance(value, Unit):
        raise InvalidParameter("unit", value, "is not a unit", hint='write ROW or unit("user_id")')
    return value


def checked_neighbours(value: Neighbours) -> Neighbours:
    """Check that this is "add-remove" or "change-one", and return it."""
    if value not in get_args(Neighbours):
        raise InvalidParameter("neighbours", value, "is unknown", hint='write "add-remove" or "change-one"')
    return value


def difference(protected: Unit, neighbours: Neighbours) -> str:
    """What distinguishes two neighbours, in words.

    >>> difference(ROW, "add-remove"), difference(unit("user_id"), "change-one")
    ('adding or removing one row', 'changing one user_id')
    """
    return f"{'adding or removing' if neighbours == 'add-remove' else 'changing'} {protected}"


def _checked_column(column: object) -> str:
    if isinstance(column, str) and column.strip():
        return column
    raise InvalidParameter("unit", column, "is not the name of a column", hint='write ROW or unit("user_id")')
