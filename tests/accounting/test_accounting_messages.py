"""What is said when a budget is spent, and what is left of it."""

from __future__ import annotations

import pytest

from giveortake.accounting import filter  # noqa: A004 (its name)
from giveortake.errors import BudgetExceeded
from giveortake.privacy import ApproxDP, PureDP, events, unit


def test_a_refusal_says_what_it_costs_what_is_left_and_what_to_do() -> None:
    guard = filter(PureDP("0.3", unit=unit("user_id")))
    guard.charge(events.Pure("0.2"))
    with pytest.raises(BudgetExceeded) as refused:
        guard.charge(events.Pure("0.2"))
    assert str(refused.value) == (
        "this charge costs ε = 0.2, but only ε = 0.1 is left (one user_id)\n\n"
        "  hint: a smaller charge may fit: `.affordable()` says which ε does"
    )
    guard.charge(events.Pure("0.1"))
    with pytest.raises(BudgetExceeded, match=r"(?s)nothing is left.*used up"):
        guard.charge(events.Pure("0.1"))


def test_a_race_says_what_is_spent_and_when_little_or_nothing_is_left() -> None:
    guard = filter(ApproxDP(1, "1e-6"))
    assert str(guard.spent) == "0 % of the budget, and δ = 0 of 1e-7 for finding keys"
    for epsilon in ("0.1", "0.01"):
        while guard.admits(events.Pure(epsilon)):
            guard.charge(events.Pure(epsilon))
    assert str(guard.remaining) == "0 % of the budget, and δ = 1e-7 for finding keys"
    whole = filter(ApproxDP(1, "1e-6"))
    whole.charge(events.Pure(1))
    assert str(whole.remaining) == str(guard.remaining)
