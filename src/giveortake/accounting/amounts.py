"""What a race has used and has left, in words: as numbers of questions, not as percentages of five accounts."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, final

from giveortake.accounting import prices
from giveortake.exact import LEAST, shown
from giveortake.privacy import events

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from giveortake.accounting.balances import Account
    from giveortake.privacy import ApproxDP


@final
class Amounts(dict[str, Fraction]):
    """Exact amounts by their symbols, which print as a sentence; `dict(amounts)` prints them one by one."""

    __slots__ = ("_told",)

    def __init__(self, amounts: Mapping[str, Fraction], told: Callable[[], str] | None = None) -> None:
        super().__init__(amounts)
        self._told = told

    def __repr__(self) -> str:
        return super().__repr__() if self._told is None else self._told()

    __str__ = __repr__


def told_as_left(budget: ApproxDP, accounts: Sequence[Account], pot: Account) -> str:
    """Say how many questions of two sizes still fit if nothing else is asked, and the δ left for finding keys.

    >>> gt.accounting.filter(gt.ApproxDP(1, "1e-6")).remaining
    about 10 more questions at ε = 0.1, or 466 at ε = 0.01; δ = 1e-7 for finding keys
    """
    large, small = budget.epsilon / 10, budget.epsilon / 100
    keys = f"δ = {shown(pot.remaining)} for finding keys"
    if small < LEAST:  # for example if the budget's ε is 0
        return keys
    most = [_times(budget, accounts, size) for size in (large, small)]
    if not most[1]:
        return f"nothing for questions; {keys}"
    few, many = map(int, most)
    if not many:
        return f"less than one question at ε = {shown(small)}; {keys}"
    questions = "question" if few == 1 else "questions"
    return f"about {few:,} more {questions} at ε = {shown(large)}, or {many:,} at ε = {shown(small)}; {keys}"


def told_as_used(accounts: Sequence[Account], pot: Account) -> str:
    """Say how much of the budget is used, in the contestant that has most left, and how much δ for finding keys.

    >>> gt.accounting.filter(gt.ApproxDP(1, "1e-6")).spent
    0 % of the budget, and δ = 0 of 1e-7 for finding keys
    """
    used = min((each.spent / each.limit for each in accounts if each.alive and each.limit), default=Fraction(1))
    return f"{shown(100 * used, 3)} % of the budget, and δ = {shown(pot.spent)} of {shown(pot.limit)} for finding keys"


def _times(budget: ApproxDP, accounts: Sequence[Account], epsilon: Fraction) -> Fraction:
    """How many pure charges of size ε the contestant that lasts longest can still pay, as a fraction."""
    most = Fraction(0)
    for account in accounts:
        price = prices.price(events.Pure(epsilon), account.currency, budget.neighbours)
        if account.alive and price:
            most = max(most, account.remaining / prices.amount(price))
    return most
