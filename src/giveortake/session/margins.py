"""The least spend that reaches a margin: decided before any row is read, and never adjusted afterwards."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake import accounting, exact
from giveortake.advice import Advice
from giveortake.caching import cached
from giveortake.compile.design import parts_of
from giveortake.compile.formulas import QuantileOf
from giveortake.compile.releases import without_data
from giveortake.errors import BudgetExceeded, QueryRefused, Unpriced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from giveortake.accounting.filters import Filter
    from giveortake.answers.terms import Confidence
    from giveortake.compile import Measurement, Spend, Terms
    from giveortake.compile.formulas import Formula
    from giveortake.compile.releases import Combined
    from giveortake.exact import Number
    from giveortake.privacy import Guarantee
    from giveortake.privacy.events import Event

_FINEST, _COARSEST = Fraction(1, 2**40), Fraction(2**10)


def column_margins(made: Measurement, confidence: Confidence, n: Number | None) -> dict[str, float | None]:
    """The margin of every column; None if it depends on rows, or if it is that of a mean and `n` is unknown."""
    measures = without_data(made.measures, made.noises)
    miss = quoted_miss(made, confidence)
    if miss is None:
        return {name: None for name, _ in made.formulas}
    number = None if n is None else float(exact.positive("n", n))
    return {name: formula.margin(measures, miss, number) for name, formula in made.formulas}


def quoted_miss(made: Measurement, confidence: Confidence) -> float | None:
    """The probability with which an interval may miss; None if all have to hold and their number is unknown."""
    if made.selection is not None and confidence.over == "answer":
        return None
    return confidence.miss(made.keys.size * len(made.formulas) if made.selection is None else 1)


def typical_width(made: Measurement, confidence: Confidence, n: Number | None) -> float:
    """The typical width of a measurement's intervals: the geometric mean over all columns whose width is known.

    Means count as if there were `n` rows, or one if `n` is unknown: the same for both kinds of noise.
    """
    measures = without_data(made.measures, made.noises)
    number = 1.0 if n is None else float(exact.positive("n", n))
    miss = quoted_miss(made, confidence) or float(1 - confidence)
    widths = [width for _, formula in made.formulas for width in _widths(formula, measures, miss, number)]
    known = [width for width in widths if width > 0]
    if not known:  # no column has a known width: compare the noise itself
        known = [float(noise.tail.variance) ** 0.5 for noise in made.noises]
    return math.exp(sum(math.log(width) for width in known) / len(known))


def _widths(formula: Formula, measures: Mapping[int, Combined], miss: float, number: float) -> Iterator[float]:
    """The margins of a formula: its own, or those of its parts; for a quantile, the margin of its rank."""
    own = formula.margin(measures, miss, number)
    if own is not None:
        yield own
    elif isinstance(formula, QuantileOf):
        distribution = measures[formula.measure].distribution
        if distribution is not None:
            yield distribution.rank_margin(formula.quantile, miss)
    else:
        for part in parts_of(formula):
            yield from _widths(part, measures, miss, number)


_SAY_N = "{pass} {n}, the number of rows if it is public or was released"


def least_spend(measure: Callable[[Spend], Measurement], kind: Spend, terms: Terms) -> Spend | None:
    """The least spend of a kind at which no column exceeds the wanted margin; None if no spend reaches it."""
    assert terms.margin is not None  # noqa: S101 (asked only then)
    reach = float(exact.positive("margin", terms.margin))

    def at(amount: Fraction) -> Spend:
        return replace(kind, epsilon=amount) if kind.epsilon is not None else replace(kind, mu=amount)

    def widest(amount: Fraction) -> float:
        margins = column_margins(measure(at(amount)), terms.confidence, terms.n)
        unknown = [name for name, each in margins.items() if each is None]
        if unknown:
            raise QueryRefused(
                f"the margin of `{unknown[0]}` depends on the data, so no spend can be chosen for it",
                hint=Advice(*([_SAY_N] if terms.n is None else []), "{state} {epsilon}", between="; or "),
            )
        return max(each for each in margins.values() if each is not None)

    low, high = _FINEST, _COARSEST
    if widest(high) > reach:
        return None
    while high / low > 1 + Fraction(1, 1000):
        middle = Fraction(float(low * high) ** 0.5).limit_denominator(10**12)
        if not low < middle < high:  # so near to zero, no number of few digits lies between
            break
        low, high = (low, middle) if widest(middle) <= reach else (middle, high)
    return at(high)


@cached(64)
def _fresh(budget: Guarantee) -> Filter:
    """A filter that has admitted nothing. It is shared: copy it before charging it."""
    return accounting.filter(budget)


def share_of_budget(budget: Guarantee, event: Event) -> Fraction | None:
    """How much of a fresh budget an event would use; None if it is more than there is."""
    guard = _fresh(budget).copy()
    try:
        guard.charge(event)
    except BudgetExceeded:
        return None
    return guard.share


NO_PRICE = "it has no price in this budget"
WITHOUT_DELTA = Advice("{epsilon}, without δ, asks for Laplace noise, which has a price", epsilon="0.1")


def no_price(share: Fraction | None, budget: Guarantee, event: Event, instead: str = WITHOUT_DELTA) -> tuple[str, ...]:
    """A remark if a budget has no price for an event of any size, such as Gaussian noise in a pure ε; else nothing.

    The remark says what to use `instead`. `share` is the result of `share_of_budget`.
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
    unpriced = any(each.startswith(NO_PRICE) for each in remarks)
    return f"the budget does not admit it: {NO_PRICE}" if unpriced else "it is more than the whole budget"
