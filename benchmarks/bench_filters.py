"""Queries that filters admit at (1, 1e-6), and what admitting one costs after none and after a hundred thousand."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake.accounting.filters import ApproxDPFilter, Filter, filter  # noqa: A004
from giveortake.accounting.pricing import Currency, Epsilon, Rho
from giveortake.errors import BudgetExceeded
from giveortake.privacy import ApproxDP, events
from harness.report import Case, Report, Row, below, slower_at_most, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from giveortake.privacy.events import Event

BUDGET = ApproxDP("1", "1e-6")
EARLIER = 100_000
SMALL = events.Laplace(10**6)
WORKLOADS: dict[str, tuple[Sequence[Event], Event, int]] = {  # first, then again and again, and the goal
    "ε = 0.01 each": ((), events.Pure("0.01"), 460),
    "ε = 0.1 each": ((), events.Pure("0.1"), 10),
    "ε = 0.5 once, then 0.01": ((events.Pure("0.5"),), events.Pure("0.01"), 51),
    "Gaussian, σ = 100": ((), events.Gaussian(100), 460),
    "exponential, ε = 0.01": ((), events.Exponential("0.01"), 460),
    "5 Laplace ε = 0.02 + 5 Gaussian σ = 50": (
        (),
        events.Composed([*[events.Laplace(50)] * 5, *[events.Gaussian(50)] * 5]),
        1,
    ),
}


def run(report: Report) -> None:
    for name, (first, then, goal) in WORKLOADS.items():
        race = admitted(filter(BUDGET), first, then)
        others = {
            "basic": admitted(alone(Epsilon(), Fraction(0)), first, then),
            "advanced": advanced(first, then),
            "zCDP": admitted(alone(Rho(), BUDGET.delta), first, then),
        }
        told = ", ".join(f"{kind} {'–' if count is None else f'{count:,}'}" for kind, count in others.items())
        report.rows.append(Row(name, f"{race:,}", other=told, goal=f"≥ {goal}", met=race >= goal))
    fresh, used = filter(BUDGET), filter(BUDGET)
    for _ in range(1000 if report.quick else EARLIER):
        used.charge(SMALL)
    saved = used.snapshot()
    report.measure(
        [
            Case(
                f"one charge after {'1,000' if report.quick else '100,000'}",
                timed(lambda: used.charge(SMALL), calls=50, batches=9),
                "among the first",
                timed(lambda: fresh.charge(SMALL), calls=50, batches=9),
                slower_at_most(2),
            ),
            Case(
                "one charge never priced before",
                timed(charge_something_new(used), calls=20, batches=9),
                goal=below(1e-3),
            ),
            Case(
                "restore from a snapshot",
                timed(lambda: filter(BUDGET, snapshot=saved), calls=20, batches=9),
                goal=below(1e-3),
            ),
        ]
    )
    report.note("The race serves all lines with one filter; basic, advanced and zCDP are alternatives to it.")
    report.note("Advanced is [Rot11, Thm 6]: it needs all queries to be alike and declared beforehand.")


def alone(currency: Currency, delta: Fraction) -> ApproxDPFilter:
    """One contestant with the whole budget."""
    return ApproxDPFilter(BUDGET, keys=0, contestants=[(currency, delta)])


def admitted(guard: Filter, first: Sequence[Event], then: Event) -> int:
    """How many queries are admitted, those at the beginning included."""
    count = 0
    try:
        for event in first:
            guard.charge(event)
            count += 1
        while True:
            guard.charge(then)
            count += 1
    except BudgetExceeded:
        return count


def advanced(first: Sequence[Event], then: Event) -> int | None:
    """[Rot11, Thm 6], √(2k·ln(1/δ))·ε + kε(e^ε − 1) ≤ 1, for k queries of the same pure ε."""
    if first or not isinstance(then, events.Pure):
        return None
    epsilon, k = float(then.epsilon), 0
    while _advanced(k + 1, epsilon) <= BUDGET.epsilon:
        k += 1
    return k


def _advanced(k: int, epsilon: float) -> float:
    return math.sqrt(2 * k * math.log(1 / BUDGET.delta)) * epsilon + k * epsilon * math.expm1(epsilon)


def charge_something_new(guard: Filter) -> Callable[[], None]:
    """A charge whose price is in no cache."""

    def amounts() -> Iterator[Event]:
        denominator = 10**9
        while True:
            denominator += 1
            yield events.Pure(Fraction(1, denominator))

    fresh = amounts()
    return lambda: guard.charge(next(fresh))
