"""Why a question is not charged, in the terms in which it was asked."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake.errors import BudgetExceeded, Unpriced
from giveortake.exact import shown
from giveortake.session.margins import share_of_budget

if TYPE_CHECKING:
    from giveortake.privacy.events import Event
    from giveortake.session.mechanism import InteractiveMechanism, Priced


def too_dear(
    mechanism: InteractiveMechanism, costs: str, event: Event, needed: Fraction, refusal: BudgetExceeded
) -> BudgetExceeded:
    """The refusal of a charge by the ledger, in the terms of the questions; `needed` is the δ for finding keys."""
    standing = mechanism.standing()
    left = mechanism.ledger.affordable(standing) or Fraction(0)
    whole = share_of_budget(standing.budget or mechanism.budget, event) is None
    does = "is more than the whole budget of" if whole else "does not fit any more into the budget of"
    message = f"{costs} {does} the {mechanism.population}; nothing was charged"
    hint = f"a pure ε of up to {shown(left, 4)} would fit; the owner can raise the budget"
    pot = standing.remaining.get("δ") if isinstance(standing.remaining, dict) else None
    if isinstance(refusal, Unpriced) or mechanism.analyst is not None:  # whose own cap it may be
        message, hint = refusal.message, refusal.hint or ""
    elif pot is not None and needed > pot:
        message = f"finding keys takes δ = {shown(needed)}, and {shown(pot)} of that is left; nothing was charged"
        hint = "declare the domain of the grouping columns, or pass a smaller key_delta="
    return type(refusal)(message, cost=refusal.cost, remaining=refusal.remaining, hint=hint)


def no_share(mechanism: InteractiveMechanism, asked: Priced, refusal: str) -> BudgetExceeded:
    """The refusal of a share of the budget that is not left."""
    standing = mechanism.standing()
    left = mechanism.ledger.affordable(standing) or Fraction(0)
    hint = f"a smaller share fits, or a pure ε of up to {shown(left, 4)}; the owner can raise the budget"
    return BudgetExceeded(f"{refusal}; nothing was charged", cost=asked.spend, remaining=standing.remaining, hint=hint)
