"""Spending the least that reaches a margin: decided before any row is read, and never tried again."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from giveortake import accounting, exact
from giveortake.compile import Spend, measurement
from giveortake.compile.outputs import Linear, Ratio, margin, ratio_margin
from giveortake.compile.releases import without_data
from giveortake.errors import BudgetExceeded, InvalidParameter, QueryRefused
from giveortake.privacy import PureDP

if TYPE_CHECKING:
    from giveortake.compile import Measurement
    from giveortake.exact import Number
    from giveortake.session.query import Query

_FINEST, _COARSEST = Fraction(1, 2**40), Fraction(2**10)


def spend_for_margin(
    query: Query, wanted: Number, confidence: Number, key_delta: Number | None, n: Number | None
) -> Spend:
    """The cheapest spend, of Laplace and Gaussian noise, at which no column's margin exceeds the one wanted."""
    reach = float(exact.positive("margin", wanted))
    sure = exact.open_probability("confidence", confidence)
    keys = None if key_delta is None else exact.open_probability("key_delta", key_delta)
    if keys is None and query.session.key_pot is not None:
        keys = query.session.key_pot / 10
    kinds = ["epsilon"] if isinstance(query.session.budget, PureDP) else ["epsilon", "mu"]
    found = [
        each for kind in kinds if (each := _least(query, kind, reach, confidence=sure, keys=keys, n=n)) is not None
    ]
    if not found:
        raise InvalidParameter("margin", wanted, "is not reached by any amount of noise", hint="ask for a wider margin")
    priced = [(share, spend) for spend in found if (share := _share(query, spend)) is not None]
    return min(priced, key=lambda pair: pair[0])[1] if priced else found[0]


def column_margins(made: Measurement, confidence: Fraction, n: Number | None) -> dict[str, float | None]:
    """The margin of every column where no row decides it; of a mean only if n is known; None where it stays open."""
    measures = without_data(made.measures, made.noises)
    miss = float(1 - confidence)
    number = None if n is None else float(exact.positive("n", n))
    found: dict[str, float | None] = {}
    for name, formula in made.formulas:
        if isinstance(formula, Linear):
            half = margin(formula, measures, miss)
            split = any(made.measures[index].granularity != 1 for index in formula.weights)
            found[name] = math.floor(half + 1.5) if formula.whole and split else half  # both ends are rounded outwards
        elif isinstance(formula, Ratio) and number is not None:
            found[name] = ratio_margin(formula, measures, miss, number)
        else:
            found[name] = None
    return found


def _least(
    query: Query, kind: str, reach: float, *, confidence: Fraction, keys: Fraction | None, n: Number | None
) -> Spend | None:
    def widest(amount: Fraction) -> float:
        spend = Spend(epsilon=amount, keys=keys) if kind == "epsilon" else Spend(mu=amount, keys=keys)
        session = query.session
        made = measurement(query.question, session.caps, session.budget.neighbours, spend)
        margins = column_margins(made, confidence, n)
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
    return Spend(epsilon=high, keys=keys) if kind == "epsilon" else Spend(mu=high, keys=keys)


def _share(query: Query, spend: Spend) -> Fraction | None:
    """How much of a fresh budget it would use."""
    guard = accounting.filter(query.session.budget)
    try:
        guard.charge(query.measured(query.with_keys(spend)).event)
    except BudgetExceeded:
        return None
    return guard.share
