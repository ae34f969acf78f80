"""The stated laws of the mechanisms' noise, enclosed independently of the samplers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TypeAlias

from giveortake import exact
from statistics_of_draws import counts_are_plausible

Law: TypeAlias = Callable[[int], Fraction]


def rounded_laplace(scale: Fraction) -> Law:
    def probability(k: int) -> Fraction:
        if k == 0:
            return 1 - exact.exp_up(-1 / (2 * scale))
        far, near = -(abs(k) + Fraction(1, 2)) / scale, -(abs(k) - Fraction(1, 2)) / scale
        return (exact.exp_up(near) - exact.exp_up(far)) / 2

    return probability


def rounded_normal(sigma: Fraction) -> Law:
    def probability(k: int) -> Fraction:
        near, far = (abs(k) - Fraction(1, 2)) / sigma, (abs(k) + Fraction(1, 2)) / sigma
        return exact.normal_cdf_up(-near) - exact.normal_cdf_up(-far)

    return probability


def two_sided_geometric(scale: Fraction) -> Law:
    q = exact.exp_up(-1 / scale)
    return lambda k: (1 - q) / (1 + q) * q ** abs(k)


def discrete_gaussian(sigma: Fraction) -> Law:
    reach = int(40 * sigma) + 2
    weights = {k: exact.exp_up(-Fraction(k * k) / (2 * sigma * sigma)) for k in range(reach)}
    total = 2 * sum(weights.values()) - weights[0]
    return lambda k: weights.get(abs(k), Fraction(0)) / total


def looks_like(draws: Iterable[int], law: Callable[[int], float | Fraction], reach: int = 400) -> bool:
    """Whether integers look drawn from a law given by its probabilities; what lies beyond `reach` is one cell."""
    found = Counter(max(-reach - 1, min(reach + 1, int(draw))) for draw in draws)
    inner = list(range(-reach, reach + 1))
    probabilities = [float(law(k)) for k in inner]
    observed = [found[k] for k in inner]
    beyond = found[-reach - 1] + found[reach + 1]
    return counts_are_plausible([*observed, beyond], [*probabilities, max(1e-300, 1 - sum(probabilities))])


def excess(law: Law, shift: int, epsilon: Fraction, reach: int) -> Fraction:
    """δ(ε) between the law and the law shifted: the sum of what p exceeds e^ε p′ by."""
    factor = exact.exp_up(epsilon)
    gaps = (law(k) - factor * law(k - shift) for k in range(-reach, reach + 1))
    return sum((gap for gap in gaps if gap > 0), Fraction(0))
