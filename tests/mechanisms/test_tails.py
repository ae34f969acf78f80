"""The law behind every margin, against convolution and sampling laws written down elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from giveortake.mechanisms.tails import LaplaceTail, NormalTail, Tail, plausible, quantile


def _tail(terms: list[Tail], t: float) -> float:
    """P[|Σ| > t] by convolving densities on a fine grid, cut off far out."""
    reach, count = 60 * sum(term.scale for term in terms), 2**16
    grid = (np.arange(count) - count // 2) * (2 * reach / count)
    transform = np.ones(count, dtype=complex)
    for term in terms:
        law = stats.laplace(scale=term.scale) if isinstance(term, LaplaceTail) else stats.norm(scale=term.scale)
        step = grid[1] - grid[0]
        mass = law.cdf(grid + step / 2) - law.cdf(grid - step / 2)
        transform *= np.fft.fft(np.fft.ifftshift(mass))
    density = np.fft.fftshift(np.fft.ifft(transform).real)
    return float(density[np.abs(grid) > t].sum())


SUMS: dict[str, list[Tail]] = {
    "one Laplace": [LaplaceTail(3.0)],
    "one normal": [NormalTail(3.0)],
    "equal Laplace": [LaplaceTail(2.0), LaplaceTail(2.0)],
    "five equal Laplace": [LaplaceTail(1.0)] * 5,
    "apart": [LaplaceTail(1.0), LaplaceTail(7.0), LaplaceTail(0.2)],
    "nearly equal": [LaplaceTail(1.0), LaplaceTail(1.001), LaplaceTail(1.002)],
    "normal": [NormalTail(3.0), NormalTail(4.0)],
    "both": [NormalTail(3.0), LaplaceTail(2.0)],
    "many": [LaplaceTail(1.0)] * 12,
    "one that vanishes": [LaplaceTail(3.0), LaplaceTail(0.0)],
}
MIXED = {"both", "many"}  # these are bounded, by a union bound and by moments; the others are nearly exact


@pytest.mark.parametrize("miss", [0.3, 0.05, 0.001])
@pytest.mark.parametrize("name", SUMS)
def test_a_quantile_is_never_too_small_and_seldom_much_too_large(name: str, miss: float) -> None:
    terms = SUMS[name]
    t = quantile(terms, miss)
    present = [term for term in terms if term.scale > 0]
    reached = _tail(present, t)
    assert reached <= miss * (1 + 1e-2) + 1e-6  # the grid's own error
    if name in MIXED:
        assert _tail(present, t / 2) >= miss
    else:
        assert reached >= miss * 0.6


def test_known_quantiles() -> None:
    assert quantile([NormalTail(3.0), NormalTail(4.0)], 0.05) == pytest.approx(5 * stats.norm.isf(0.025), rel=1e-9)
    assert quantile([LaplaceTail(2.0)], 0.05) == pytest.approx(2 * math.log(20), rel=1e-9)
    assert quantile([], 0.05) == 0


def test_distances_are_judged_elementwise_and_zero_is_always_plausible() -> None:
    away = np.array([-1.0, 0.0, 1.0, 100.0])
    judged = plausible(away, [LaplaceTail(np.array([1.0, 0.0, 1.0, 1.0]))], 0.05)
    assert judged.tolist() == [True, True, True, False]
    assert plausible(np.array([1.0]), [LaplaceTail(np.array([0.0]))] * 2, 0.05).tolist() == [False]
