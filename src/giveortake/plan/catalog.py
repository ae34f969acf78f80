"""The tables that a question may name, and what columns are called when two tables meet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.plan.expressions import Column, Expression
from giveortake.plan.relations import JoinPersons, JoinPublic, Relation
from giveortake.plan.tables import PublicTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_MOST_STEPS = 200  # relations that one question is built of
_LONGEST_NAME = 100


@final
@dataclass(frozen=True, slots=True)
class Catalog:
    """Private relations and public tables by name. Names are found whatever their case."""

    private: Mapping[str, Relation]
    public: Mapping[str, PublicTable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = [name.casefold() for name in (*self.private, *self.public)]
        if len(set(names)) < len(names):
            raise InvalidParameter("catalog", sorted(names), "has two tables of one name", hint="rename one of them")

    def find(self, name: str) -> Relation | PublicTable:
        """The table of that name, or a refusal that lists the tables there are."""
        tables: dict[str, Relation | PublicTable] = {**self.private, **self.public}
        for known, table in tables.items():
            if known.casefold() == name.casefold():
                return table
        raise QueryRefused(f"there is no table `{name}`", hint=f"the tables are {', '.join(tables) or 'none'}")

    def find_public(self, name: str) -> PublicTable:
        """The public table of that name."""
        table = self.find(name)
        if isinstance(table, PublicTable):
            return table
        raise QueryRefused(
            f"`{name}` is a private table, and private tables are joined on the person",
            hint="frames: table.join_person(other)",
        )


def meet_public(
    source: Relation, public: PublicTable, on: Expression, column: str, *, optional: bool
) -> tuple[JoinPublic, dict[str, str]]:
    """The join with a public table, and what each of that table's columns is called in it.

    A name that is taken is written `table.column`. The column joined on is the left one where both are equal anyway.
    """
    names: dict[str, str] = {}
    for name in public.schema:
        if name == column and not optional and isinstance(on, Column):
            continue
        names[name] = free_name(name, public.name, (*source.schema, *names.values()))
    join = JoinPublic(source, public, on, column, tuple(names.items()), optional)
    if column not in names and isinstance(on, Column):
        names[column] = on.name
    return join, names


def meet_persons(left: Relation, right: Relation, *, optional: bool) -> tuple[JoinPersons, dict[str, str]]:
    """The join of two private relations on the person, and what each column of the right one is called in it."""
    names: dict[str, str] = {}
    prefix = right.tables()[0].name
    for name in right.schema:
        if name == right.person and not optional:
            continue
        names[name] = free_name(name, prefix, (*left.schema, *names.values()))
    join = JoinPersons(left, right, tuple(names.items()), optional)
    names.setdefault(str(right.person), str(left.person))
    return join, names


def require_few_steps(relation: Relation) -> None:
    """Refuse a relation of many steps. One that stands in two places counts twice, as an engine would compute it."""
    sizes: dict[int, int] = {}

    def size(node: Relation) -> int:
        if id(node) not in sizes:
            sizes[id(node)] = 1 + sum(map(size, node.sources))
        return sizes[id(node)]

    if size(relation) > _MOST_STEPS:
        raise QueryRefused(f"the question takes more than {_MOST_STEPS} steps", hint="ask a simpler one")


def require_name(name: str) -> str:
    """A name that every engine can write."""
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise QueryRefused(f"a column's name has 1 to {_LONGEST_NAME} printable characters", hint="take another name")
    return name


def free_name(name: str, prefix: str, taken: Iterable[str]) -> str:
    """The name itself, or `prefix.name`, or that with a number: the first that nothing else has, whatever its case.

    >>> free_name("zone", "zones", ["Zone"])
    'zones.zone'
    """
    used = {each.casefold() for each in taken}
    candidate, number = name, 1
    while candidate.casefold() in used:
        candidate = f"{prefix}.{name}" if number == 1 else f"{prefix}.{name}.{number}"
        number += 1
    return candidate
