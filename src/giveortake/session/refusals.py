"""Refusals of charges, explained in the terms in which the question was asked."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from giveortake import accounting
from giveortake.accounting.filters import admitted_rho
from giveortake.accounting.pricing import noise_multiplier
from giveortake.caching import cached
from giveortake.errors import BudgetExceeded, InvalidParameter, NotFound, Unpriced
from giveortake.exact import decimal, decimal_down, decimal_up
from giveortake.privacy import ApproxDP, PureDP, events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from giveortake.accounting.filters import Filter
    from giveortake.compile import Measurement, Spend
    from giveortake.ledger.budget_status import BudgetStatus
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event
    from giveortake.session.mechanism import InteractiveMechanism

_CLOSE = 1 + Fraction(1, 5000)
_HALVINGS = 30
_DIGITS = 4
OTHER_BUDGET = 'use a budget that prices it: gt.ApproxDP("1", "1e-6"), or gt.ZCDP("1/10")'


@cached(64)
def _fresh(budget: Guarantee) -> Filter:
    """A filter that has admitted nothing. It is shared: copy it before charging it."""
    return accounting.filter(budget)


RAISE = "the custodian can raise the budget"
NO_PRICE = "it has no price in this budget"
WITHOUT_DELTA = 'epsilon="0.1", without δ, asks for Laplace noise, which has a price'


def no_price(share: Fraction | None, budget: Guarantee, event: Event, instead: str = WITHOUT_DELTA) -> tuple[str, ...]:
    """A remark if a budget has no price for an event of any size, such as Gaussian noise in a pure ε; else nothing.

    The remark says what to use `instead`. `share` is that of the quote.
    """
    if share is None:
        try:
            _fresh(budget).copy().charge(event)
        except Unpriced:
            return (f"{NO_PRICE}: {instead}",)
        except BudgetExceeded:
            return ()
    return ()


def unfitting(share: Fraction | None, remarks: tuple[str, ...]) -> str:
    """Why the budget does not admit a quoted charge, in words."""
    if share is not None:
        return "the budget does not admit it any more"
    unpriced = any(remark.startswith(NO_PRICE) for remark in remarks)
    return f"the budget does not admit it: {NO_PRICE}" if unpriced else "it is more than the whole budget"


def gaussian_event(spend: Spend) -> Event:
    """The most that Gaussian noise at a spend is charged as."""
    return events.Gaussian(1 / spend.gaussian())


def rounded_gaussian_event(spend: Spend) -> Event:
    """The most that Gaussian noise at a spend is charged as if it was rounded up to few digits."""
    return events.Gaussian((1 + Fraction(1, 2**28)) / spend.gaussian())


def too_dear(
    mechanism: InteractiveMechanism,
    costs: str,
    spend: Spend,
    event: Event,
    refusal: BudgetExceeded,
    *,
    needed: Fraction = Fraction(0),
    event_at: Callable[[Spend], Event] = gaussian_event,
    instead: str | None = None,
) -> BudgetExceeded:
    """The ledger's refusal of a charge, in the terms of the questions; `needed` is the δ for finding keys.

    `event_at` gives the event for another spend in the same currency. `instead` is advice for a budget that has no
    price for such a charge at all; by default, to ask for Laplace noise.
    """
    standing = mechanism.standing()
    left = mechanism.ledger.affordable(standing) or Fraction(0)
    exceeds_whole_budget = not _fresh(standing.budget or mechanism.budget).admits(event)
    verdict = "is more than the whole budget of" if exceeds_whole_budget else "no longer fits the budget of"
    budget_owner = f"the {mechanism.population}" if mechanism.analyst is None else f"the analyst {mechanism.analyst!r}"
    message = f"{costs} {verdict} {budget_owner}; nothing was charged"
    keys = missing_for_keys(standing, needed)
    if isinstance(refusal, Unpriced) and mechanism.part is not None:
        message, hint = refusal.message, refusal.hint or ""
    elif isinstance(refusal, Unpriced):
        message = f"{costs} has no price in what is left of the budget of {budget_owner}; nothing was charged"
        if isinstance(standing.budget or mechanism.budget, PureDP) and not spend.is_pure:
            message = f"a pure ε budget cannot pay for Gaussian noise ({costs}); nothing was charged"
        laplace = f'epsilon="{decimal_down(left, _DIGITS)}", without δ, asks for Laplace noise, which has a price'
        hint = instead or laplace
    elif keys:
        message = f"{keys[0]}; nothing was charged"
        hint = "declare the domain of the grouping columns, or pass a smaller key_delta="
    else:
        hint = f"{_what_fits(mechanism, spend, left, event_at)}; {RAISE}"
    return type(refusal)(message, cost=refusal.cost, remaining=refusal.remaining, hint=hint)


def deltas_of(measurements: Iterable[Measurement]) -> Fraction:
    """The δ that finding the keys of some measurements takes."""
    return sum(
        (measurement.selection.event().delta for measurement in measurements if measurement.selection is not None),
        Fraction(0),
    )


def missing_for_keys(standing: BudgetStatus, needed: Fraction) -> list[str]:
    """A sentence if there is not enough δ left for finding keys; else nothing."""
    pot = standing.remaining.get("δ") if isinstance(standing.remaining, dict) else None
    if pot is None or needed <= pot:
        return []
    return [f"finding keys takes δ = {decimal(needed)}, and only δ = {decimal(pot)} is left for it"]


def _what_fits(
    mechanism: InteractiveMechanism, spend: Spend, pure: Fraction, event_at: Callable[[Spend], Event]
) -> str:
    """The most that would be admitted now, in words, in the currency of a spend; `pure` is the most in pure ε."""
    if spend.is_pure or mechanism.part is not None:
        return f"a pure ε of up to {decimal_down(pure, _DIGITS)} would fit" if pure else "nothing is left"
    name, sign = next((name, sign) for name, sign in _SIGNS if getattr(spend, name) is not None)
    low = high = getattr(spend, name)

    def fits(amount: Fraction) -> bool:
        amounts: Any = {name: amount}
        try:
            return mechanism.admits(event_at(replace(spend, **amounts)))
        except InvalidParameter:  # too little to buy anything
            return False

    for _ in range(_HALVINGS):
        low, high = low / 2, low
        if fits(low):
            break
    else:
        return "nothing more would fit"
    while high > low * _CLOSE:
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    round_one = Fraction(decimal(high, 3))
    low = round_one if round_one > low and fits(round_one) else low
    suffix = "" if spend.delta is None else " at the same δ"
    return f"{sign} of up to {decimal_down(low, _DIGITS)}{suffix} would fit"


_SIGNS = (("rho", "ρ"), ("mu", "μ"), ("epsilon", "ε"))


def run_too_dear(
    mechanism: InteractiveMechanism, spend: Spend, rho: Fraction, refusal: BudgetExceeded
) -> BudgetExceeded:
    """The refusal of a run, which is charged as ZCDP(ρ); of an (ε, δ) that was stated, ρ is what it is worth."""
    stated, costs = spend.delta, f"ρ = {decimal_up(rho, _DIGITS)}"
    costs = costs if stated is None else f"{spend} (a charge of {costs})"

    def event_at(other: Spend) -> Event:
        if stated is None:
            return events.ZCDP(other.squared_mu() / 2)
        return events.ZCDP(admitted_rho(ApproxDP(other.epsilon or 0, stated)))

    return too_dear(mechanism, costs, spend, events.ZCDP(rho), refusal, event_at=event_at, instead=OTHER_BUDGET)


def fit_too_dear(
    mechanism: InteractiveMechanism, spend: Spend, event: Event, refusal: BudgetExceeded
) -> BudgetExceeded:
    """The refusal of a fit, which is charged as one Gaussian release."""

    def event_at(other: Spend) -> Event:
        return events.Gaussian(noise_multiplier(other.squared_mu()))

    return too_dear(mechanism, str(spend), spend, event, refusal, event_at=event_at, instead=OTHER_BUDGET)


def samples_too_dear(spend: Spend | None, refusal: BudgetExceeded) -> BudgetExceeded:
    """The refusal of sums over samples, which cost a budget a little more than the spend they were calibrated for."""
    hint = "ask for a tenth less of ε, or for fewer steps: budgets add up sampled noise by Rényi orders"
    message = f"{spend} in samples is more than what is left of the budget; nothing was charged"
    return type(refusal)(message, cost=refusal.cost, remaining=refusal.remaining, hint=hint)


def no_share(mechanism: InteractiveMechanism, spend: Spend, refusal: str, hint: str | None) -> BudgetExceeded:
    """The refusal of a share that exceeds what is left of the budget, or would end its meter."""
    standing = mechanism.standing()
    is_left = standing.share is not None and standing.share < 1
    hint = hint or f"{'a smaller share fits' if is_left else 'nothing is left'}; {RAISE}"
    return BudgetExceeded(f"{refusal}; nothing was charged", cost=spend, remaining=standing.remaining, hint=hint)


def unanswered(release_id: str) -> NotFound:
    """The refusal to read what was charged and has no answer yet."""
    return NotFound(
        f"the release {release_id!r} was charged, but has no answer yet", hint="ask it again: it is not charged again"
    )
