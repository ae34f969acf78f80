"""Tables as a custodian declares them: whose rows they hold, or that they are public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, final

from giveortake.plan.domains import Domain

Schema: TypeAlias = Mapping[str, Domain]


@final
@dataclass(frozen=True, slots=True)
class PrivateTable:
    """A table in which every row belongs to one person, named by the column `person`, or stands for itself (None)."""

    name: str
    columns: tuple[tuple[str, Domain], ...]
    person: str | None

    @property
    def schema(self) -> dict[str, Domain]:
        """Every column and its domain."""
        return dict(self.columns)


@final
@dataclass(frozen=True, slots=True)
class PublicTable:
    """A table that everybody may know.

    `unique` lists the columns whose values occur once each: a join on one of them multiplies no rows. `fingerprint`
    tells its content from others, so that a question about other content is another question.
    """

    name: str
    columns: tuple[tuple[str, Domain], ...]
    unique: frozenset[str]
    fingerprint: str = ""

    @property
    def schema(self) -> dict[str, Domain]:
        """Every column and its domain; text and whole numbers with the values that occur, which are no secret."""
        return dict(self.columns)
