"""Names: which column of which relation a name in the text means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from giveortake.errors import QueryRefused, meant
from giveortake.plan import require_few_steps
from giveortake.plan.tables import unasked_column
from giveortake.sql.examples import in_sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from giveortake.plan import Relation


@final
@dataclass(frozen=True, slots=True)
class View:
    """A table or a subquery: a relation, and the visible names of its columns."""

    relation: Relation
    columns: Mapping[str, str]

    def __post_init__(self) -> None:
        require_few_steps(self.relation)

    @staticmethod
    def of(relation: Relation) -> View:
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
        found = self.matches(name, table)
        if not found:
            for stored, kind in (each for own in self.relation.tables() for each in own.unasked):
                if _same(stored, name):
                    raise unasked_column(stored, kind)
            listed = ", ".join(dict.fromkeys(in_sql(each) for each, _ in self._shown(table)))
            raise QueryRefused(
                f"there is no column `{name}` here",
                hint=(
                    f"{self.meant(name, table)}the columns are {listed or 'none'}; "
                    "a subquery offers only what it selects"
                ),
            )
        if len(found) > 1 and not (table is None and name.casefold() in self.merged):
            owners = [owner for owner, columns in self.sources if any(_same(each, name) for each in columns)]
            raise QueryRefused(f"`{name}` is ambiguous", hint=f"write {owners[0]}.{name}")
        return found[0]

    def matches(self, name: str, table: str | None = None) -> list[str]:
        """All columns that a name may mean; an exact match of case excludes the others."""
        shown = self._shown(table)
        exact = [inside for each, inside in shown if each == name]
        return list(dict.fromkeys(exact or [inside for each, inside in shown if _same(each, name)]))

    def meant(self, name: str, table: str | None = None) -> str:
        """The start of a hint if an unknown name resembles that of a column; else empty."""
        return meant(name, dict.fromkeys(each for each, _ in self._shown(table)), in_sql)

    def shown(self, name: str, table: str | None = None) -> str:
        """A column's name as its table writes it."""
        inside = self.column(name, table)
        return next(each for each, other in self._shown(table) if other == inside and _same(each, name))

    def star(self) -> list[tuple[str, str]]:
        """All visible columns, with the relation's own names for them."""
        found: dict[str, tuple[str, str]] = {}
        for name, inside in self._shown(None):
            known = found.setdefault(name.casefold(), (name, inside))
            if known[1] != inside and name.casefold() not in self.merged:
                raise QueryRefused(
                    f"`*` has two columns `{name}`", hint="list the columns, and give them different names with AS"
                )
        return list(found.values())

    def _shown(self, table: str | None) -> list[tuple[str, str]]:
        if table is not None and not any(_same(owner, table) for owner, _ in self.sources):
            names = ", ".join(owner for owner, _ in self.sources)
            raise QueryRefused(f"there is no table `{table}` in FROM", hint=f"there are {names}")
        return [
            pair for owner, columns in self.sources if table is None or _same(owner, table) for pair in columns.items()
        ]


def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()
