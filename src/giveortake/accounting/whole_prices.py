"""Amounts that a filter does not round up when it prices them: whoever asks for all that is left gets it."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from giveortake.accounting import prices
from giveortake.accounting.currencies import short_down
from giveortake.exact import sqrt_up


def priced_within(amount: Fraction) -> Fraction:
    """The greatest amount, up to 2^-100, that is within a given one and is its own price.

    Guarantee: the price of what is returned, in grains, is at most the given amount, if that is at least 2^-100. Proof:
    a whole number of grains is its own price; a multiple of 2^-100 is one. ∎ Prices of parts add, so parts whose
    amounts add up to at most a budget fit it. Smaller amounts stay as they are, and a filter rounds them up.

    >>> priced_within(Fraction(1, 10)), Fraction(1, 1009) - priced_within(Fraction(1, 1009)) < Fraction(1, 2**100)
    (Fraction(1, 10), True)
    """
    if _is_exact(amount):
        return amount
    return short_down(amount) or amount


def noise_multiplier(squared_mu: Fraction) -> Fraction:
    """The least multiplier of Gaussian noise, rounded up, that costs no more than μ² and no more than ρ = μ²/2.

    Guarantee: with m for what is returned, the prices of 1/m² and of 1/(2m²), in grains, are at most μ² and μ²/2, if
    μ² is at least 2^-99. Proof: if μ is a fraction whose square and half square are whole numbers of grains, m = 1/μ
    has these prices exactly. Else let r be μ²/2 rounded down to a multiple of 2^-100, and m ≥ 1/√(2r). Then 1/(2m²) ≤ r
    and 1/m² ≤ 2r, and as r and 2r are multiples of 2^-100, rounding up to such a multiple stays below them. ∎ Below
    2^-99 noise is the least there is, and a filter rounds its price up.

    >>> noise_multiplier(Fraction(1, 100))
    Fraction(10, 1)
    >>> 0 < Fraction(1, 5) - 1 / noise_multiplier(Fraction(1, 5)) ** 2 < Fraction(1, 2**98)
    True
    """
    root = _root(squared_mu)
    if root is not None and _is_exact(squared_mu) and _is_exact(squared_mu / 2):
        return 1 / root
    return sqrt_up(1 / (2 * (short_down(squared_mu / 2) or squared_mu / 2)))


def _is_exact(amount: Fraction) -> bool:
    return prices.amount(prices.grains_up(amount)) == amount


def _root(square: Fraction) -> Fraction | None:
    """The square root of a fraction if it is rational, else None."""
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return root if root**2 == square else None
