"""Standings of levels: what they may spend, what they have spent, and what analysts hold."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake.advice import Advice
from giveortake.answers import render
from giveortake.errors import InvalidParameter, LedgerMismatch
from giveortake.exact import shown
from giveortake.ledger.allotments import part_of
from giveortake.privacy import ApproxDP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.ledger.book import Book
    from giveortake.ledger.drafts import Draft
    from giveortake.ledger.levels import Level
    from giveortake.privacy import Guarantee, Unit


@final
@dataclass(frozen=True, slots=True, repr=False)
class Standing:
    """What a level may spend and has spent, at one moment. A level without a budget only counts.

    Of a population whose analysts have `allotments`, `remaining` is what the custodian holds. `given` is the part of
    the whole budget that was given to analysts, whether they have used it or not, and `own` the part that was charged
    for the custodian's own questions: with what is left they add up to 1. An allotment that was set aside and then
    raised, after the custodian's first question, was given twice, and counts so. `spent` and `share` are the filter's,
    in which an allotment counts as a charge once it is taken from a filter that has begun.
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
    given: Fraction = Fraction(0)
    own: Fraction | None = None

    @property
    def used(self) -> Fraction | None:
        """The part of the whole budget that was spent or given to analysts; None without a budget."""
        return None if self.own is None else self.given + self.own

    def __repr__(self) -> str:
        kind, name, protects, budget, spent, given = _row(self)
        told = f"{shown(100 * self.own, 3)} % spent" if self.own is not None and not self.closed else spent
        parts = [budget, f"protects {protects}", told, f"{given} given to analysts" if given else ""]
        return f"<Standing of {kind} {name}: {', '.join(filter(None, parts))}>"

    def _repr_html_(self) -> str:
        return standings_page([self])


@final
class Standings(list[Standing]):
    """Several standings, which a notebook shows as one table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return standings_page(self)


def standings_page(standings: Iterable[Standing]) -> str:
    """A table for notebooks: each level's budget, and how much of it was spent and given to analysts."""
    head = ("level", "name", "protects", "budget", "spent", "given to analysts")
    return render.table(head, [_row(each) for each in standings])


def _row(level: Standing) -> tuple[str, ...]:
    budget = "of its people" if level.budget is None else str(level.budget).partition(" (")[0]
    spent = "" if level.own is None else "closed" if level.closed else render.used(level.own)
    given = f"{shown(100 * level.given, 3)} %" if level.given else ""
    return level.kind, level.name, level.unit.column or "row", budget, spent, given


def meant(book: Book, standing: Standing) -> Level:
    """The level that a standing describes; a standing of another ledger is refused."""
    if not isinstance(standing, Standing):
        raise InvalidParameter("level", standing, "is not a standing", hint=Advice("{levels} lists them"))
    level = book.levels.get(standing.number)
    if level is None or (level.kind, level.name, level.unit) != (standing.kind, standing.name, standing.unit):
        raise LedgerMismatch(
            f"the {standing.kind} {standing.name!r} is not level {standing.number} of this ledger",
            hint="take the standing from the ledger whose budget is to change",
        )
    return level


def standing_of(draft: Draft, level: Level) -> Standing:
    """The standing of a level."""
    guard = draft.filter_of(level)
    given, own = _parts(level, None if guard is None else guard.share)
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
        given=given,
        own=own,
    )


def _parts(level: Level, share: Fraction | None) -> tuple[Fraction, Fraction | None]:
    """The parts of a budget that were given to analysts and spent; 0 and None for a level without a budget.

    Allotments of an (ε, δ) budget are set aside before its filter begins, which then guards the rest; all others are
    charges to the filter, `level.granted`. One that was set aside and raised later is both, and was given twice.
    """
    if share is None or level.budget is None:
        return Fraction(0), None
    used = used_of(level, share)
    charged = (part_of(level.budget, level.allotments[number]) for number in level.granted)
    given = min(used, _set_aside(level) + sum(charged, Fraction(0)))
    return given, used - given


def used_of(level: Level, share: Fraction) -> Fraction:
    """How much of a level's whole budget is spent or given to analysts, from the used share of its filter."""
    before = _set_aside(level)
    return before + share * (1 - before)


def _set_aside(level: Level) -> Fraction:
    """The part of a level's budget that its filter does not guard: only an (ε, δ) budget has one."""
    if not isinstance(level.budget, ApproxDP) or level.guarded is None:
        return Fraction(0)
    return 1 - part_of(level.budget, level.guarded)
