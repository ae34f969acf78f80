"""The budget of whoever asks: what was granted, what is spent and left, and what a next request may cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from giveortake import exact
from giveortake.answers import render
from giveortake.errors import LedgerUnavailable

if TYPE_CHECKING:
    from fractions import Fraction

    from giveortake.ledger import BudgetStatus
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event
    from giveortake.session.mechanism import InteractiveMechanism


@final
class Budget:
    """A budget as it is now: `granted`, `spent` and `left`, by the filter that guards it.

    It is an analyst's own, else that of the population. An (ε, δ) budget is guarded by a race of several sums, of which
    no single number is left: `used` is the part of it that is used in one of them, the `meter`.
    """

    def __init__(self, mechanism: InteractiveMechanism) -> None:
        self._mechanism = mechanism

    def status(self) -> BudgetStatus:
        """The state of the level that decides about the next request."""
        return self._mechanism.standing()

    @property
    def granted(self) -> Guarantee:
        """The promise that all answers together keep."""
        return self._mechanism.granted

    @property
    def spent(self) -> Any:
        """How much of it is used; for a population it may include what was `given` to analysts."""
        return self.status().spent

    @property
    def left(self) -> Any:
        """How much of it is left."""
        return self.status().remaining

    @property
    def used(self) -> Fraction | None:
        """The part of it that is used, in its meter."""
        return self.status().share

    @property
    def meter(self) -> str | None:
        """The currency in which shares of it are measured, such as "sum of ε"; None if the first charge will fix it."""
        return self.status().meter

    @property
    def given(self) -> Fraction:
        """The part of it that the custodian has given to analysts, used or not; 0 for an analyst's own."""
        return self.status().given

    @property
    def affordable(self) -> Fraction | None:
        """The greatest pure ε, up to rounding, that a next request may cost."""
        return self._mechanism.rest()[1]

    @property
    def key_delta(self) -> Fraction | None:
        """The δ set aside for discovered groups, if it has a δ."""
        return self._mechanism.key_pot

    def admits(self, event: Event) -> bool:
        """Whether every level would admit an event now."""
        return self._mechanism.admits(event)

    def _facts(self) -> list[tuple[str, str]]:
        try:
            status, left = self._mechanism.rest()
        except LedgerUnavailable:
            return [("budget", "its ledger is closed")]
        facts = [("granted", str(self.granted))]
        if status.share is not None:
            meter = "" if status.meter is None else f" ({status.meter})"
            facts.append(("used", f"{exact.percent(status.share, 3)}{meter}"))
        return [*facts, ("left", str(status.remaining) if left else "nothing")]

    def __repr__(self) -> str:
        return "\n".join(["Budget", *(f"  {name}: {text}" for name, text in self._facts())])

    def _repr_html_(self) -> str:
        return render.card("Budget", render.fact_list(self._facts()))
