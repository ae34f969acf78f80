"""Floating-point functions with proved errors: what is assumed of them, and tails of the normal distribution.

Addition, multiplication, division and square roots are rounded correctly (IEEE 754). Of `exp`, `expm1`, `log` and
`log1p` a relative error of 2^-48 is assumed, sixteen units in the last place; numpy tests its own to four, and
`tests/accounting/test_losses_on_a_grid.py` compares them with certified enclosures. Every margin below is larger than
what follows from these.

`tail` and `narrow` are probabilities of a standard normal N for many points or narrow intervals at once.
Around the nearest node t = i/32 the tail is a Taylor series in d = x − t, |d| ≤ 1/64,

    P[N > t + d] = P[N > t] − φ(t) · Σ (−1)^n He_n(t) d^(n+1) / (n+1)!,

whose first term is a certified enclosure. Error: |He_n(t)| |d|^n / n! is at most the coefficient of z^n in
e^(t|d|z + d²z²/2) (generating function of the Hermite polynomials), t|d| ≤ 0.58, and φ(t)/P[N > t] ≤ t + 1, so at
t ≤ 37 the terms after n = 14 are below 2^-55 of the tail at t; all terms together are at most 2.1 times it and
the tail falls by less than e^0.6 between node and x, so the 15 steps of Horner's scheme lose below 2^-46.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from giveortake.exact import enclosure, midpoint, normal_cdf, precision

Floats: TypeAlias = npt.NDArray[np.float64]
Complexes: TypeAlias = npt.NDArray[np.complex128]
Indices: TypeAlias = npt.NDArray[np.int64]

UNIT = 2.0**-53
FUNCTION_ERROR = 2.0**-48
TINY = 1e-290  # an absolute error that covers everything lost to underflow
WIDEST = 600.0  # a single loss beyond ±WIDEST is not put on a grid: e^600 is still a double


class NotResolved(Exception):
    """Floating-point numbers cannot tell; the caller falls back on cruder bounds."""


def exp_error(largest: float) -> float:
    """The relative error of e^x where x was computed with a few roundings from numbers of at most this size."""
    return 2 * FUNCTION_ERROR + 8 * UNIT * largest


def spaced(start: float, step: float, count: int) -> Floats:
    """The points start, start + step, and so on, each with two roundings."""
    return start + step * np.arange(count, dtype=np.float64)


def total(values: Floats) -> float:
    """The sum, in numpy's pairwise order. A dot product would start all threads of the linear algebra library."""
    return float(np.sum(values))


def norm(values: Floats) -> float:
    """The Euclidean norm."""
    return float(np.sqrt(np.sum(values * values)))


FARTHEST = 37.0  # beyond it the tail is below 1e-299 and given as 0
TAIL_ERROR = 2.0**-45  # relative
NARROW = 0.125  # `narrow` is for intervals with half-width · (|middle| + 1) up to this
_PER_UNIT = 32
_TERMS = 15


def tail(x: Floats) -> Floats:
    """P[N > x], within a factor 1 ± TAIL_ERROR; 0 beyond FARTHEST."""
    size = np.minimum(np.abs(x), FARTHEST)
    nearest = np.rint(size * _PER_UNIT).astype(np.int64)
    distance = size - nearest / _PER_UNIT
    table = _table()
    result = table[_TERMS][nearest]
    for coefficients in table[_TERMS - 1 :: -1]:
        result *= distance
        result += coefficients[nearest]
    result[np.abs(x) > FARTHEST] = 0.0
    tails: Floats = np.where(x < 0, 1.0 - result, result)
    return tails


def narrow(middle: Floats, half: Floats) -> Floats:
    """P[|N − middle| ≤ half] for narrow intervals, within a factor 1 ± (TAIL_ERROR + 2^-49·middle²).

    It is 2φ(m)h·(1 + Σ He_2n(m) h^2n / (2n+1)!). |He_k(m)| h^k / k! is at most the coefficient of z^k in
    e^(|m|hz + h²z²/2); with h ≤ 1/8 and |m|h ≤ 1/8 those from z^12 on, divided by k + 1, are below 2^-54 together, and
    those kept lose a few roundings.
    """
    before, hermite = np.ones_like(middle), middle
    square, power, series = half * half, np.ones_like(half), np.ones_like(half)
    for n in range(1, 11):
        before, hermite = hermite, middle * hermite - n * before
        if n % 2:
            power = power * square / ((n + 1) * (n + 2))
            series += hermite * power
    result: Floats = np.exp(-0.5 * middle * middle) * (half * series * np.sqrt(2 / np.pi))
    return result


@lru_cache(maxsize=1)
def _table() -> list[Floats]:
    """The coefficients of 1, d, d² and so on for every node."""
    nodes = np.arange(int(FARTHEST) * _PER_UNIT + 1) / _PER_UNIT
    with precision(80):
        tails = [float(midpoint(normal_cdf(-enclosure(i) / _PER_UNIT))) for i in range(len(nodes))]
    density = np.exp(-nodes * nodes / 2) / np.sqrt(2 * np.pi)
    table = [np.array(tails)]
    before, hermite = np.zeros_like(nodes), np.ones_like(nodes)
    for n in range(_TERMS):
        table.append((-1.0) ** (n + 1) * density * hermite / (n + 1))
        before, hermite = hermite, (nodes * hermite - before) / (n + 1)
    return table
