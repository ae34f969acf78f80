"""The stated laws of the mechanisms' noise, enclosed independently of the samplers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from typing import TypeAlias

import numpy as np

from giveortake import exact
from statistics_of_draws import counts_are_plausible

Law: TypeAlias = Callable[[int], Fraction]


@cache
def rounded_laplace(scale: Fraction) -> Law:
    @cache
    def probability(distance: int) -> Fraction:
        if distance == 0:
            return 1 - exact.exp_up(-1 / (2 * scale))
        far, near = -(distance + Fraction(1, 2)) / scale, -(distance - Fraction(1, 2)) / scale
        return (exact.exp_up(near) - exact.exp_up(far)) / 2

    return lambda k: probability(abs(k))


@cache
def rounded_normal(sigma: Fraction) -> Law:
    @cache
    def probability(distance: int) -> Fraction:
        near, far = (distance - Fraction(1, 2)) / sigma, (distance + Fraction(1, 2)) / sigma
        return exact.normal_cdf_up(-near) - exact.normal_cdf_up(-far)

    return lambda k: probability(abs(k))


@cache
def two_sided_geometric(scale: Fraction) -> Law:
    q = exact.exp_up(-1 / scale)

    @cache
    def probability(distance: int) -> Fraction:
        return (1 - q) / (1 + q) * q**distance

    return lambda k: probability(abs(k))


@cache
def discrete_gaussian(sigma: Fraction) -> Law:
    reach = int(40 * sigma) + 2
    weights = {k: exact.exp_up(-Fraction(k * k) / (2 * sigma * sigma)) for k in range(reach)}
    total = 2 * sum(weights.values()) - weights[0]
    return lambda k: weights.get(abs(k), Fraction(0)) / total


def looks_like(draws: Iterable[int], law: Callable[[int], float | Fraction], reach: int = 400) -> bool:
    """Whether integers look drawn from a law given by its probabilities.

    What lies beyond `reach` is one cell, and so is what lies beyond all draws.
    """
    values = np.clip(np.asarray(list(draws)), -reach - 1, reach + 1).astype(np.int64)
    end = min(reach, int(np.abs(values).max()))
    counts = np.bincount(np.clip(values, -end - 1, end + 1) + end + 1, minlength=2 * end + 3).tolist()
    probabilities = [float(law(k)) for k in range(-end, end + 1)]
    beyond = max(1e-300, 1 - sum(probabilities))
    return counts_are_plausible([*counts[1:-1], counts[0] + counts[-1]], [*probabilities, beyond])


def excess(law: Law, shift: int, epsilon: Fraction, reach: int) -> Fraction:
    """δ(ε) between the law and the law shifted: the sum of what p exceeds e^ε p′ by."""
    factor = exact.exp_up(epsilon)
    gaps = (law(k) - factor * law(k - shift) for k in range(-reach, reach + 1))
    return sum((gap for gap in gaps if gap > 0), Fraction(0))
