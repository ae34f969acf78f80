"""Why a charge was refused, in words that say what it costs and what is left."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake.accounting import prices
from giveortake.errors import BudgetExceeded, Unpriced
from giveortake.privacy import ApproxDP, events
from giveortake.privacy.wording import bound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.accounting.balances import Total
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event


def refusal(
    budget: Guarantee,
    event: Event,
    *,
    totals: Sequence[Total],
    costs: Sequence[int | None],
    pots: Sequence[Total],
    failure: int,
) -> BudgetExceeded:
    """The error that says which limit an event would exceed, or that it has no price."""
    if failure and not pots:
        return Unpriced(
            f"a `{event.kind}` event spends δ, and {budget!r} allows none",
            hint="guard what spends δ by an ApproxDP budget",
        )
    overdrawn = [(pot, failure) for pot in pots if not pot.fits(failure)]
    if overdrawn:
        return _exceeded(budget, overdrawn, "declare the keys, or publish them, and nothing is spent on finding them")
    exceeded = [
        (total, cost)
        for total, cost in zip(totals, costs, strict=True)
        if total.alive and cost is not None and not total.fits(cost)
    ]
    if not exceeded:
        return _unpriced(budget, event, [total for total in totals if total.alive])
    if any(total.spent < total.limit for total, _ in exceeded):
        return _exceeded(budget, exceeded, "a smaller charge may fit: `.affordable()` says which ε does")
    return _exceeded(budget, exceeded, "this budget is used up; stored answers may be asked for again at no cost")


def _exceeded(budget: Guarantee, exceeded: list[tuple[Total, int]], hint: str) -> BudgetExceeded:
    left = {total.currency.symbol: prices.amount(total.limit - total.spent) for total, _ in exceeded}
    needed = {total.currency.symbol: prices.amount(cost) for total, cost in exceeded}
    clauses = [f"{symbol} = {bound(cost)}, but {_left(symbol, left[symbol])}" for symbol, cost in needed.items()]
    return BudgetExceeded(
        f"this charge costs {'; or '.join(clauses)} ({budget.unit})",
        cost=_only(needed),
        remaining=_only(left),
        hint=hint,
    )


def _unpriced(budget: Guarantee, event: Event, totals: list[Total]) -> Unpriced:
    if budget.neighbours == "change-one" and _has_parallel(event):
        return Unpriced(
            "a changed row may leave one part and enter another, so parts priced under change-one do not combine",
            hint='guard parallel releases by a budget with neighbours="add-remove"',
        )
    names = " or ".join(total.currency.symbol for total in totals)
    return Unpriced(
        f"a `{event.kind}` event has no price in {names}, the currency of what is left of this budget",
        hint=None if isinstance(budget, ApproxDP) else "guard events of many kinds by an ApproxDP budget",
    )


def _has_parallel(event: Event) -> bool:
    match event:
        case events.Parallel():
            return True
        case events.Composed():
            return any(_has_parallel(part) for part in event.events)
        case events.Repeated():
            return _has_parallel(event.event)
        case _:
            return False


def _left(symbol: str, left: Fraction) -> str:
    return f"only {symbol} = {_never_above(left)} is left" if left else "nothing is left"


def _never_above(number: Fraction, digits: int = 6) -> str:
    """A short decimal that is never above the number: what is left must not be overstated."""
    text = bound(number)
    if Fraction(text) == number:
        return text
    scale = Fraction(10) ** (digits + len(str(number.denominator)) - len(str(number.numerator)))
    return bound((number * scale).__floor__() / scale)


def _only(amounts: dict[str, Fraction]) -> Fraction | dict[str, Fraction]:
    """The amount itself if there is one, otherwise all of them by symbol."""
    return amounts if len(amounts) > 1 else next(iter(amounts.values()))
