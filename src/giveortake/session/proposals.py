"""Proposals of spends: about the same noise in another currency, and what narrows an interval.

They are rounded, and promise nothing: a quote prices what is proposed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, final

from giveortake.exact import decimal_down, decimal_up, sqrt_down, sqrt_up
from giveortake.privacy import ZCDP, ApproxDP, GaussianDP, PureDP

if TYPE_CHECKING:
    from giveortake.privacy import Guarantee

Currency: TypeAlias = str  # "epsilon", "approximate" (ε with a δ), "rho" or "mu"

_USUAL_DELTA = Fraction(1, 10**9)
_LEAST = Fraction(1, 1000)  # an ε below which nothing is proposed
_WORTH = Fraction(9, 10)  # of a width: what narrows it less is not proposed


def currencies(budget: Guarantee | None) -> tuple[Currency, ...]:
    """The currencies in which a budget can be spent: a pure ε has no price for Gaussian noise, all others have."""
    is_pure = budget is None or isinstance(budget, PureDP)
    return ("epsilon",) if is_pure else ("epsilon", "approximate", "rho", "mu")


def usual_delta(budget: Guarantee | None) -> Fraction:
    """A δ for one question: a hundredth of the budget's, if it has one."""
    return budget.delta / 100 if isinstance(budget, ApproxDP) else _USUAL_DELTA


def converted(spend: Fraction, before: Currency, now: Currency) -> Fraction:
    """A spend of about the same noise in another currency: ρ is half the square of ε or μ.

    >>> from fractions import Fraction
    >>> converted(Fraction(1, 5), "epsilon", "rho"), float(converted(Fraction(1, 50), "rho", "mu"))
    (Fraction(1, 50), 0.2)
    """
    if (before == "rho") == (now == "rho"):
        return spend
    return spend**2 / 2 if now == "rho" else sqrt_up(2 * spend)


def greatest_spend(
    budget: Guarantee | None, currency: Currency, *, remaining: Fraction | None, affordable: Fraction | None
) -> Fraction | None:
    """The greatest spend in a currency that a budget still admits; None where no one number says it.

    `remaining` is what is left in the budget's own currency, and `affordable` the greatest ε that fits.
    """
    if currency == "epsilon":
        return affordable
    if remaining is None or not isinstance(budget, {"rho": ZCDP, "mu": GaussianDP}.get(currency, ())):
        return None
    return remaining if currency == "rho" else sqrt_down(remaining)  # μ² is what adds up


def rounded(spend: Fraction | None) -> Fraction | None:
    """A greatest spend in few digits, rounded down; None if it is unknown, or buys nothing."""
    return None if spend is None or spend < _LEAST else Fraction(decimal_down(spend, 3))


def needed(paid: Fraction, currency: Currency, part: Fraction, *, refines: bool) -> Fraction:
    """The spend that makes intervals about `part` as wide: of a new question, or in addition to what was paid.

    >>> from fractions import Fraction
    >>> half, one = Fraction(1, 2), Fraction(1)
    >>> needed(one, "epsilon", half, refines=False), needed(one, "rho", half, refines=True)
    (Fraction(2, 1), Fraction(3, 1))
    """
    whole = paid / part**2 if currency == "rho" else paid / part
    if not refines:
        return whole
    return whole - paid if currency == "rho" else sqrt_up(whole**2 - paid**2)


@final
@dataclass(frozen=True, slots=True)
class Narrowing:
    """A spend that makes intervals about `part` as wide: of a refinement, or of a new question."""

    refines: bool
    spend: Fraction
    part: Fraction


def narrowing(paid: Fraction, left: Fraction | None, currency: Currency, *, refinable: bool) -> Narrowing | None:
    """The spend that about halves intervals, or all that is left where that narrows them; None if that is too dear.

    Answers are averaged by their precision, so that a refinement halves a width for less than a new question does.
    """
    if left is None or left <= 0:
        return None
    half = Fraction(1, 2)
    more = Fraction(decimal_up(needed(paid, currency, half, refines=True), 2))
    if refinable and more <= left:
        return Narrowing(True, more, half)
    anew = needed(paid, currency, half, refines=False)
    if anew <= left:
        return Narrowing(False, anew, half)
    part = 1 / sqrt_down(1 + (left / paid) ** (1 if currency == "rho" else 2))
    return Narrowing(True, Fraction(decimal_down(left, 3)), part) if refinable and part <= _WORTH else None
