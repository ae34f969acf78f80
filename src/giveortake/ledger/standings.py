"""How levels stand: what they may spend, have spent, and who holds what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from giveortake.answers import html
from giveortake.errors import InvalidParameter, LedgerMismatch

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from giveortake.ledger.book import Book
    from giveortake.ledger.drafts import Draft
    from giveortake.ledger.levels import Level
    from giveortake.privacy import Guarantee, Unit


@final
@dataclass(frozen=True, slots=True)
class Standing:
    """What a level may spend and has spent, at the moment it was asked for. Without a budget it only counts.

    Of a population whose analysts have `allotments`, `spent` and `remaining` are those of the rest that the custodian
    holds.
    """

    number: int
    kind: str
    name: str
    unit: Unit
    budget: Guarantee | None
    spent: Any
    remaining: Any
    share: Fraction | None
    closed: bool
    allotted: bool = False
    allotments: tuple[Guarantee, ...] = ()
    approval_above: Guarantee | None = None  # what costs more waits for the custodian

    def _repr_html_(self) -> str:
        return standings_page([self])


@final
class Standings(list[Standing]):
    """Several standings, which a notebook shows as one table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return standings_page(self)


def standings_page(standings: Iterable[Standing]) -> str:
    """Who may spend what, and how much of it is used, as a notebook shows it."""
    head = ("level", "name", "protects", "budget", "used")
    return html.table(head, [_row(each) for each in standings])


def _row(level: Standing) -> tuple[str, ...]:
    budget = "of its people" if level.budget is None else str(level.budget).partition(" (")[0]
    spent = "" if level.share is None else "closed" if level.closed else html.used(level.share)
    return level.kind, level.name, level.unit.column or "row", budget, spent


def meant(book: Book, standing: Standing) -> Level:
    """The level that a standing speaks of; one that another ledger gave out is refused."""
    if not isinstance(standing, Standing):
        raise InvalidParameter("level", standing, "is not a standing", hint="`ledger.levels()` lists them")
    level = book.levels.get(standing.number)
    if level is None or (level.kind, level.name, level.unit) != (standing.kind, standing.name, standing.unit):
        raise LedgerMismatch(
            f"the {standing.kind} {standing.name!r} is not level {standing.number} of this ledger",
            hint="take the standing from the ledger whose budget is to change",
        )
    return level


def standing_of(draft: Draft, level: Level) -> Standing:
    """A level as it stands."""
    guard = draft.filter_of(level)
    return Standing(
        number=level.number,
        kind=level.kind,
        name=level.name,
        unit=level.unit,
        budget=level.budget,
        spent=None if guard is None else guard.spent,
        remaining=None if guard is None else guard.remaining,
        share=None if guard is None else guard.share,
        closed=level.closed is not None,
        allotted=level.allotted,
        allotments=tuple(level.allotments.values()),
        approval_above=level.approval,
    )
