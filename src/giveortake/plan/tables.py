"""Tables as a custodian declares them: private tables with their persons, and public tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Never, TypeAlias, final

from giveortake.errors import QueryRefused
from giveortake.plan.domains import Domain

Schema: TypeAlias = Mapping[str, Domain]

_STORED_INSTEAD = {
    "TIMESTAMP WITH TIME ZONE": 'without a zone (pandas: df["{0}"].dt.tz_convert(None))',
    "INTERVAL": 'as a number (pandas: df["{0}"].dt.total_seconds())',
}


def store_instead(column: str, kind: str) -> str:
    """The hint for a column of a type that cannot be asked about."""
    return f"store it {_STORED_INSTEAD.get(kind, 'as numbers, texts, dates or times').format(column)}"


def unasked_column(column: str, kind: str) -> QueryRefused:
    """The refusal of a column that exists, but has a type that cannot be asked about."""
    return QueryRefused(
        f"`{column}` cannot be asked about: its type is {kind or 'unknown'}", hint=store_instead(column, kind)
    )


@final
@dataclass(frozen=True, slots=True)
class PrivateTable:
    """A table in which every row belongs to one person, named by the column `person`; if None, each row is a unit.

    `unasked` are the columns of types that cannot be asked about, and these types.
    """

    name: str
    columns: tuple[tuple[str, Domain], ...]
    person: str | None
    unasked: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)

    @property
    def schema(self) -> dict[str, Domain]:
        """Every column and its domain."""
        return _Columns(self.columns, self.unasked)


@final
class _Columns(dict[str, Domain]):
    """Columns by name; looking up one of a type that cannot be asked about raises a refusal that says so."""

    def __init__(self, columns: tuple[tuple[str, Domain], ...], unasked: tuple[tuple[str, str], ...]) -> None:
        super().__init__(columns)
        self._unasked = unasked

    def __missing__(self, name: str) -> Never:
        kind = dict(self._unasked).get(name)
        raise KeyError(name) if kind is None else unasked_column(name, kind)


@final
@dataclass(frozen=True, slots=True)
class PublicTable:
    """A table that everybody may know.

    `unique` lists the columns whose values occur once each: a join on one of them multiplies no rows. `fingerprint`
    identifies its content, so that a question about other content is another question.
    """

    name: str
    columns: tuple[tuple[str, Domain], ...]
    unique: frozenset[str]
    fingerprint: str = ""

    @property
    def schema(self) -> dict[str, Domain]:
        """Every column and its domain; for text and whole numbers with the values that occur, which are public."""
        return dict(self.columns)
