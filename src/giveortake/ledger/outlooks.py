"""What a ledger says about the next question."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake.ledger import reservations
from giveortake.ledger.standings import standing_of, used_of
from giveortake.ledger.trials import trial_of

if TYPE_CHECKING:
    from giveortake.ledger.drafts import Draft
    from giveortake.ledger.levels import Level
    from giveortake.ledger.standings import Standing
    from giveortake.privacy.events import Event


@final
@dataclass(frozen=True, slots=True)
class Outlook:
    """The level that decides about a question, whether all levels would admit it now, and paid profiles.

    `profiles` are those of the asker's own levels, as `Ledger.profiles` tells them. `used_after` is how much of that
    level's budget would be spent or given away once the question is charged; None if it is not admitted. `paid` says
    that there is an answer to exactly this, for which the asker's own levels paid: it is free. What others paid for is
    not told, and what was charged and has no answer is free only under the same key. `waits` says that it is large, and
    has to be approved first.
    """

    standing: Standing
    admitted: bool
    profiles: list[tuple[Any, str, Any]]
    used_after: Fraction | None
    paid: bool = False
    waits: bool = False


def outlook(
    draft: Draft,
    event: Event,
    *,
    dataset: str,
    analyst: str | None,
    version: str,
    request: object = None,
    question: str | None = None,
) -> Outlook:
    """Everything that a quote asks a ledger; with `question`, also whether that was paid for."""
    where: Any = {"dataset": dataset, "analyst": analyst, "question": question}
    level = deciding(draft, dataset, analyst)
    trial = trial_of(draft, level, draft.book.dataset_for(dataset, analyst))
    after = None if trial is None else trial.after(event)
    return Outlook(
        standing_of(draft, level),
        admits(draft, event, dataset=dataset, analyst=analyst),
        reservations.profiles(draft, dataset, analyst, version),
        None if after is None else used_of(level, after.share),
        question is not None and reservations.is_answered(draft, event, **where),
        reservations.would_wait(draft, event, request=request, **where),
    )


def deciding(draft: Draft, dataset: str, analyst: str | None) -> Level:
    """The level that decides about the next question: the analyst's cap with least left, else the population."""
    asked = draft.book.dataset_for(dataset, analyst)
    own = [] if analyst is None else [grant.level for grant in draft.book.grants_of(analyst, dataset)]
    capped = [level for level in own if level.budget is not None]
    if len(capped) > 1:
        return min(capped, key=lambda level: affordable(draft, level) or Fraction(0))
    return capped[0] if capped else draft.book.population(asked.population)


def affordable(draft: Draft, level: Level) -> Fraction | None:
    """The greatest ε, up to rounding, of a pure release that a level would admit now; None if it has no cap."""
    if level.closed is not None:
        return Fraction(0)
    return draft.affordable(level)


def admits(draft: Draft, event: Event, *, dataset: str, analyst: str | None) -> bool:
    """Whether every level would admit an event now."""
    asked = draft.book.dataset_for(dataset, analyst)
    return all(
        level.closed is None
        and ((guard := draft.filter_of(level)) is None or guard.admits(reservations.level_event(event, level, asked)))
        for level in reservations.levels_of(draft.book, asked, analyst)
    )
