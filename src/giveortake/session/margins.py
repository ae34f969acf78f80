"""Spending the least that reaches a margin: decided before any row is read, and never tried again."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake import accounting, exact
from giveortake.answers.confidence import miss_of
from giveortake.compile import Spend
from giveortake.compile.releases import without_data
from giveortake.errors import BudgetExceeded, InvalidParameter, QueryRefused
from giveortake.privacy import PureDP

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.compile import Caps, Measurement, Rules, Terms
    from giveortake.exact import Number
    from giveortake.plan import Question
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event
    from giveortake.session.mechanism import InteractiveMechanism

_FINEST, _COARSEST = Fraction(1, 2**40), Fraction(2**10)


def spend_for_margin(
    mechanism: InteractiveMechanism, question: Question, caps: Caps, terms: Terms, rules: Rules
) -> Spend:
    """The cheapest spend, of Laplace and Gaussian noise, at which no column's margin exceeds the one wanted."""
    assert terms.margin is not None  # noqa: S101 (asked only then)
    reach = float(exact.positive("margin", terms.margin))
    keys = terms.key_delta
    if keys is None and mechanism.key_pot is not None:
        keys = mechanism.key_pot / 10
    pure = isinstance(mechanism.budget, PureDP)

    def measure(spend: Spend) -> Measurement:
        return mechanism.measure(question, caps, spend, rules=rules)

    starts = [Spend(epsilon=_COARSEST, keys=keys), *([] if pure else [Spend(mu=_COARSEST, keys=keys)])]
    found = [each for start in starts if (each := _least(measure, start, reach, terms)) is not None]
    if not found:
        raise InvalidParameter(
            "margin", terms.margin, "is not reached by any amount of noise", hint="ask for a wider margin"
        )
    bought = [measure(mechanism.with_key_delta(question, each, rules)) for each in found]
    shares = [share_of_budget(mechanism.budget, made.event) for made in bought]
    affordable = [(share, each) for share, each in zip(shares, found, strict=True) if share is not None]
    return min(affordable, key=lambda pair: pair[0])[1] if affordable else found[0]


def column_margins(made: Measurement, confidence: Fraction, n: Number | None) -> dict[str, float | None]:
    """The margin of every column where no row decides it; of a mean only if n is known; None where it stays open."""
    measures = without_data(made.measures, made.noises)
    miss = quoted_miss(made, confidence)
    if miss is None:
        return {name: None for name, _ in made.formulas}
    number = None if n is None else float(exact.positive("n", n))
    return {name: formula.margin(measures, miss, number) for name, formula in made.formulas}


def quoted_miss(made: Measurement, confidence: Fraction) -> float | None:
    """With which probability an interval may miss; None if all shall hold and nobody knows how many there are."""
    if made.selection is not None and getattr(confidence, "over", "cell") == "answer":
        return None
    return miss_of(confidence, made.keys().size * len(made.formulas) if made.selection is None else 1)


def _least(measure: Callable[[Spend], Measurement], start: Spend, reach: float, terms: Terms) -> Spend | None:
    """The least spend in the currency of `start` that reaches the margin, if that much does."""

    def at(amount: Fraction) -> Spend:
        return replace(start, epsilon=amount) if start.epsilon is not None else replace(start, mu=amount)

    def widest(amount: Fraction) -> float:
        margins = column_margins(measure(at(amount)), terms.confidence, terms.n)
        unknown = [name for name, each in margins.items() if each is None]
        if unknown:
            raise QueryRefused(
                f"how sure `{unknown[0]}` is depends on the data, so no spend can be chosen for its margin",
                hint="pass n=, the number of rows if it is public or was released; or state epsilon=",
            )
        return max(each for each in margins.values() if each is not None)

    low, high = _FINEST, _COARSEST
    if widest(high) > reach:
        return None
    while high / low > 1 + Fraction(1, 1000):
        middle = Fraction(float(low * high) ** 0.5).limit_denominator(10**12) or low
        low, high = (low, middle) if widest(middle) <= reach else (middle, high)
    return at(high)


def share_of_budget(budget: Guarantee, event: Event) -> Fraction | None:
    """How much of a fresh budget an event would use; None if it is more than there is."""
    guard = accounting.filter(budget)
    try:
        guard.charge(event)
    except BudgetExceeded:
        return None
    return guard.share
