"""Writing releases into a schema of a database: all of them or nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from giveortake.errors import InvalidParameter, safe_text
from giveortake.publication.tables import CATALOGUE, catalogue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from giveortake.answers import Answer
    from giveortake.publication.tables import LeftOut, PublishedTable

MARK = "published by giveortake"  # the last line of the comment of every table that is ours to replace
ABOUT = "What was released, the promise that came with it, and where its numbers are."
_MIXED = "has a table of that name that giveortake did not publish; nothing was written"


class Target(ABC):
    """A schema of a database, inside one transaction."""

    place: str

    @abstractmethod
    def held(self) -> Mapping[str, tuple[list[tuple[str, str]], str]]:
        """The tables that are there: the names and types of their columns, and their comments."""

    @abstractmethod
    def types(self, table: Answer) -> list[tuple[str, str]]:
        """The names and types of the columns that a table will have."""

    @abstractmethod
    def create(self, name: str, columns: Sequence[tuple[str, str]]) -> None:
        """Create an empty table."""

    @abstractmethod
    def empty(self, name: str) -> None:
        """Delete the rows of a table: what others have built on it stays."""

    @abstractmethod
    def drop(self, name: str) -> None:
        """Delete a table."""

    @abstractmethod
    def fill(self, name: str, table: Answer) -> None:
        """Add the rows of a table."""

    @abstractmethod
    def forget(self, release_ids: Sequence[str]) -> None:
        """Delete the rows of the catalogue about some releases."""

    @abstractmethod
    def comment(self, name: str, said: str, columns: Sequence[tuple[str, str]]) -> None:
        """Put comments on a table and its columns."""


def write(target: Target, tables: Sequence[PublishedTable], left: Sequence[LeftOut]) -> None:
    """Write tables and the catalogue into a schema. Published tables of the same name are replaced, others never."""
    held = target.held()
    for name in (CATALOGUE, *(each.name for each in tables)):
        if name in held and not held[name][1].endswith(MARK):
            raise InvalidParameter(
                "to", safe_text(target.place), f"{_MIXED}: {name}", hint='schema="answers", one of its own'
            )
    for each in tables:
        columns = target.types(each.table)
        if each.name in held and held[each.name][0] == columns:
            target.empty(each.name)
        else:
            if each.name in held:
                target.drop(each.name)
            target.create(each.name, columns)
        target.fill(each.name, each.table)
        target.comment(each.name, f"{each.comment}\n{MARK}", each.comments)
    listed, comments = catalogue(tables, left)
    if CATALOGUE in held:
        target.forget([*(each.record.id for each in tables), *(each.release_id for each in left)])
    else:
        target.create(CATALOGUE, target.types(listed))
    target.fill(CATALOGUE, listed)
    target.comment(CATALOGUE, f"{ABOUT}\n{MARK}", comments)
