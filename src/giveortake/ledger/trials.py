"""Trials: what charges would do to a level; nothing is written to the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from giveortake.errors import BudgetExceeded
from giveortake.ledger.reservations import level_event

if TYPE_CHECKING:
    from fractions import Fraction

    from giveortake.accounting.filters import Filter
    from giveortake.accounting.pricing import Account, Currency
    from giveortake.ledger.drafts import Draft
    from giveortake.ledger.levels import DataSet, Level
    from giveortake.privacy.events import Event


@final
@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A copy of a level's filter, on which charges to one data set can be tried."""

    _guard: Filter
    _level: Level
    _asked: DataSet

    @property
    def accounts(self) -> tuple[Account, ...]:
        """Every running total of the filter, with its limit."""
        return self._guard.accounts

    @property
    def pot(self) -> Account | None:
        """The δ set aside for finding keys, if the budget has any."""
        return self._guard.pot

    @property
    def share(self) -> Fraction:
        """How much of the budget is used, in the account that has most left."""
        return self._guard.share

    def cost(self, event: Event, currency: Currency) -> Fraction | None:
        """What an event by itself costs in a currency; None if it has no price there."""
        return self._guard.cost(level_event(event, self._level, self._asked), currency)

    def part_of_rest(self, event: Event) -> Fraction | None:
        """How large a part of what is left an event would take; None if it does not fit."""
        return self._guard.part_of_rest(level_event(event, self._level, self._asked))

    def after(self, event: Event) -> Trial | None:
        """The trial after one more charge; None if it does not fit."""
        twin = self._guard.copy()
        try:
            twin.charge(level_event(event, self._level, self._asked))
        except BudgetExceeded:
            return None
        return Trial(twin, self._level, self._asked)


def trial_of(draft: Draft, level: Level, asked: DataSet) -> Trial | None:
    """A trial of a level as it stands; None if it has no cap of its own."""
    guard = draft.filter_of(level)
    return None if guard is None else Trial(guard.copy(), level, asked)
