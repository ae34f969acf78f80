"""The law behind every margin, against convolution and sampling laws written down elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from cases import all_cases
from giveortake.mechanisms import additive as tails
from giveortake.mechanisms.additive import LaplaceTail, NormalTail, Tail, chance, plausible, quantile


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
    "both, and little of one": [NormalTail(0.1), LaplaceTail(2.0)],
    "both, and little of the other": [NormalTail(3.0), LaplaceTail(0.1)],
    "several of both": [NormalTail(3.0), LaplaceTail(2.0), LaplaceTail(2.0), NormalTail(1.0), LaplaceTail(5.0)],
    "many and a normal one": [*[LaplaceTail(1.0)] * 12, NormalTail(2.0)],
    "many": [LaplaceTail(1.0)] * 12,
    "one that vanishes": [LaplaceTail(3.0), LaplaceTail(0.0)],
}
MIXED = {"many", "many and a normal one"}  # these are bounded, by moments; others are nearly exact


@all_cases("miss", [0.3, 0.05, 0.001])
@all_cases("name", SUMS)
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


def test_a_laplace_and_a_normal_noise_have_the_chance_that_integration_gives() -> None:
    x = np.concatenate([np.linspace(0, 30, 301), np.logspace(1.5, 8, 50)])
    assert tails._scaled_erfc(x) == pytest.approx(special.erfcx(x), rel=1e-12)
    for scale in (0.1, 1.0, 40.0):
        for t in (0.01, 3.0, 6.0):

            def density(normal: float, t: float = t, scale: float = scale) -> float:
                return float(stats.norm.pdf(normal) * stats.laplace.sf(t - normal, scale=scale))

            expected = 2 * integrate.quad(density, -40, 40, points=[-8, 0, t, 8], epsabs=0, epsrel=1e-11)[0]
            found = chance(np.array([t]), [LaplaceTail(np.array([scale])), NormalTail(np.array([1.0]))])
            assert found[0] == pytest.approx(expected, rel=1e-9, abs=1e-14)
    for laplace, normal in ((0.0, 1.0), (1e-300, 1.0), (1.0, 0.0), (1.0, 1e-300), (0.0, 0.0), (1e300, 1e299)):
        both = chance(np.array([0.0, 2.0]), [LaplaceTail(np.array([laplace])), NormalTail(np.array([normal]))])
        alone: Tail = LaplaceTail(np.array([laplace])) if laplace > normal else NormalTail(np.array([normal]))
        assert both == pytest.approx(chance(np.array([0.0, 2.0]), [alone]), rel=1e-8)


@all_cases("count", [2, 8])
@all_cases("ratio", np.geomspace(7e8, 1.5e9, 9).tolist())
def test_no_noise_is_left_out_of_some_parts_of_a_sum_alone(count: int, ratio: float) -> None:
    """Parts are large and of either sign: what is neglected in one, and not in another, does not cancel."""
    away = np.array([0.5, 2.0, 6.0])
    small: list[Tail] = [*[LaplaceTail(np.array([1 / ratio]))] * count, NormalTail(np.array([1.0]))]
    assert (chance(away, small) >= chance(away, [NormalTail(np.array([1.0]))]) * (1 - 1e-13)).all()
    assert chance(away, small) == pytest.approx(chance(away, [NormalTail(np.array([1.0]))]), rel=1e-3)
    alone: list[Tail] = [LaplaceTail(np.array([1.0]))] * count
    both: list[Tail] = [*alone, NormalTail(np.array([1 / ratio]))]
    assert (chance(away, both) >= chance(away, alone) * (1 - 1e-9)).all()
    assert chance(away, both) == pytest.approx(chance(away, alone), rel=1e-3)


def test_distances_are_judged_elementwise_and_zero_is_always_plausible() -> None:
    away = np.array([-1.0, 0.0, 1.0, 100.0])
    judged = plausible(away, [LaplaceTail(np.array([1.0, 0.0, 1.0, 1.0]))], 0.05)
    assert judged.tolist() == [True, True, True, False]
    assert plausible(np.array([1.0]), [LaplaceTail(np.array([0.0]))] * 2, 0.05).tolist() == [False]
