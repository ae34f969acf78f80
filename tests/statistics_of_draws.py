"""Do these draws look as if they came from that law?

Every test of this kind has the false-alarm probability ALPHA, and is run on both sides: the law drawn from must be
accepted, and the same law at a scale 30 % off must be rejected. The laws are written down here from their
definitions, without a line of the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special, stats

ALPHA = 1e-9  # false alarms of one statistical test; the suite's total is their sum

CLAIMS = [(Fraction(1), True), (Fraction("0.7"), False), (Fraction("1.3"), False)]  # about a scale, and their truth

Draws: TypeAlias = npt.NDArray[Any]
Cdf: TypeAlias = Callable[[int], float]  # P[X ≤ k]

_LEAST_EXPECTED = 10.0  # draws in a cell, for the chi-square law to be a good approximation
_GRID = [Fraction(step, 4) for step in range(-48, 49)]  # cell borders, in units of the scale


def counts_are_plausible(observed: Sequence[int], probabilities: Sequence[float]) -> bool:
    """Pearson's chi-square test; neighbouring cells are pooled until each expects at least ten draws."""
    total = sum(observed)
    if any(count > 0 and probability <= 0 for count, probability in zip(observed, probabilities, strict=True)):
        return False
    cells: list[tuple[float, float]] = []
    count, expected = 0.0, 0.0
    for more, probability in zip(observed, probabilities, strict=True):
        count, expected = count + more, expected + total * probability
        if expected >= _LEAST_EXPECTED:
            cells.append((count, expected))
            count, expected = 0.0, 0.0
    if cells:
        cells[-1] = (cells[-1][0] + count, cells[-1][1] + expected)
    if len(cells) < 2:  # nearly everything is expected in one place: count what lies elsewhere, exactly
        likeliest = int(np.argmax(probabilities))
        elsewhere = math.fsum(probabilities[:likeliest]) + math.fsum(probabilities[likeliest + 1 :])
        return bool(stats.binomtest(total - observed[likeliest], total, elsewhere).pvalue >= ALPHA)
    statistic = math.fsum((count - expected) ** 2 / expected for count, expected in cells)
    return bool(stats.chi2.sf(statistic, len(cells) - 1) >= ALPHA)


def is_plausible(draws: Draws, cdf: Cdf, borders: Iterable[int]) -> bool:
    """Whether integers look drawn from a law, given P[X ≤ k] and where to cut the line into cells."""
    cuts = sorted(set(borders))
    narrow = draws.dtype == np.int64 and cuts[0] >= -(2**63) and cuts[-1] < 2**63
    cells = np.searchsorted(np.array(cuts, dtype=np.int64 if narrow else object), draws, side="left")
    observed = np.bincount(cells.astype(np.int64), minlength=len(cuts) + 1).tolist()
    below = [0.0, *map(cdf, cuts), 1.0]
    return counts_are_plausible(observed, [high - low for low, high in pairwise(below)])


def fits(draws: Draws, law: Callable[[Fraction], Cdf], scale: Fraction) -> bool:
    """Whether integers look drawn from a law of that scale, with cells a quarter of the scale wide."""
    return is_plausible(draws, law(scale), (math.floor(scale * step) for step in _GRID))


def follows(values: npt.NDArray[np.float64], cdf: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]) -> bool:
    """Kolmogorov and Smirnov's test against a continuous law."""
    return bool(stats.kstest(values, cdf).pvalue >= ALPHA)


def are_uncorrelated(first: Draws, second: Draws) -> bool:
    """Whether the correlation of independent pairs is as near to zero as chance makes it."""
    correlation = float(np.corrcoef(first.astype(np.float64), second.astype(np.float64))[0, 1])
    return abs(correlation) * math.sqrt(len(first)) < float(stats.norm.isf(ALPHA / 2))


def are_uniform(draws: Draws, bound: int) -> bool:
    """Whether integers look uniform on 0 … bound − 1, for a small bound."""
    values: list[int] = draws.tolist()
    if not all(0 <= value < bound for value in values):
        return False
    return counts_are_plausible(np.bincount(values, minlength=bound).tolist(), [1 / bound] * bound)


# The laws --------------------------------------------------------------------------------------------------------


def rounded_laplace(scale: Fraction) -> Cdf:
    """F((k + ½) / b) for the Laplace distribution function F."""

    def cdf(k: int) -> float:
        x = float(Fraction(2 * k + 1, 2) / scale)
        return 1 - math.exp(-x) / 2 if x >= 0 else math.exp(x) / 2

    return cdf


def geometric(scale: Fraction) -> Cdf:
    """1 − exp(−(k + 1) / b) for whole k ≥ 0."""
    return lambda k: -math.expm1(float(-(k + 1) / scale)) if k >= 0 else 0.0


def two_sided_geometric(scale: Fraction) -> Cdf:
    """Sums of P[k] = (1 − q) / (1 + q) · q^|k| with q = exp(−1 / b)."""
    both = 1 + math.exp(float(-1 / scale))

    def cdf(k: int) -> float:
        return 1 - math.exp(float(-(k + 1) / scale)) / both if k >= 0 else math.exp(float(k / scale)) / both

    return cdf


def rounded_normal(sigma: Fraction) -> Cdf:
    """Φ((k + ½) / σ)."""
    return lambda k: float(special.ndtr(float(Fraction(2 * k + 1, 2) / sigma)))


@cache
def discrete_gaussian(sigma: Fraction) -> Cdf:
    """Sums of P[k] ∝ exp(−k² / 2σ²); beyond σ = 1000 they are those of the rounded normal law to eight digits."""
    if sigma > 1000:
        return rounded_normal(sigma)
    reach = 40 * (int(sigma) + 1)
    weights = [math.exp(-float(k * k / (2 * sigma * sigma))) for k in range(-reach, reach + 1)]
    sums = np.cumsum(weights) / math.fsum(weights)
    return lambda k: 0.0 if k < -reach else float(sums[min(k, reach) + reach])
