"""At scales far beyond double precision the law still holds, in the leading digits and in the last."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

import statistics_of_draws as laws
from cases import all_cases
from giveortake import randomness
from giveortake.randomness import distributions
from recorded_entropy import RecordedEntropy
from statistics_of_draws import CLAIMS, are_uniform, fits, follows
from tiers import tiered

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from statistics_of_draws import Cdf, Draws

pytestmark = pytest.mark.statistical

SAMPLERS: dict[str, tuple[Callable[[Fraction, int, randomness.Entropy], Draws], Callable[[Fraction], Cdf]]] = {
    "rounded Laplace": (randomness.rounded_laplace, laws.rounded_laplace),
    "geometric": (randomness.geometric, laws.geometric),
    "two-sided geometric": (randomness.two_sided_geometric, laws.two_sided_geometric),
    "rounded normal": (randomness.rounded_normal, laws.rounded_normal),
    "discrete Gaussian": (randomness.discrete_gaussian, laws.discrete_gaussian),
}
LIMITS = {
    "rounded Laplace": stats.laplace.cdf,
    "geometric": stats.expon.cdf,
    "two-sided geometric": stats.laplace.cdf,
    "rounded normal": stats.norm.cdf,
    "discrete Gaussian": stats.norm.cdf,
}
WIDE = [
    distributions.WIDEST_NORMAL,
    distributions.WIDEST_NORMAL + Fraction(1, 3),
    Fraction(2**30),
    distributions.WIDEST_LAPLACE,
    distributions.WIDEST_LAPLACE + Fraction(1, 3),
    Fraction(2**35 - 1),
    Fraction(10**18),
    Fraction(2**63),
    Fraction(10**300),
]
SCALES = tiered([Fraction(10**18)], WIDE)
SEAMS = tiered(SCALES, [Fraction(2**40), Fraction(10**18), Fraction(10**300)])
SIZE = 12_000

every_sampler = all_cases("name", SAMPLERS)
every_scale = all_cases("scale", SCALES)


@cache
def draws(name: str, scale: Fraction) -> Draws:
    sampler, _ = SAMPLERS[name]
    return sampler(scale, SIZE, RecordedEntropy((name, scale)))


@cache
def in_units_of_the_scale(name: str, scale: Fraction) -> npt.NDArray[np.float64]:
    numerator, denominator = scale.numerator, scale.denominator
    return np.array([value * denominator / numerator for value in draws(name, scale).tolist()])


@every_sampler
@every_scale
def test_a_wide_law_has_the_stated_scale_and_a_wrong_scale_is_caught(name: str, scale: Fraction) -> None:
    for claim, plausible in CLAIMS:
        assert fits(draws(name, scale), SAMPLERS[name][1], scale * claim) is plausible
        assert follows(in_units_of_the_scale(name, scale) / float(claim), LIMITS[name]) is plausible


@every_sampler
@every_scale
def test_the_last_digits_of_a_wide_draw_are_fair(name: str, scale: Fraction) -> None:
    magnitudes = [abs(value) for value in draws(name, scale).tolist()]
    for shift in (0, 3):
        low = np.array([(value >> shift) & 255 for value in magnitudes])
        assert are_uniform(low, 256)
    assert not are_uniform(np.array([value // 2 * 2 & 255 for value in magnitudes]), 256)


@every_sampler
@all_cases("scale", SEAMS)
def test_the_digits_at_the_seam_of_block_and_position_are_fair(name: str, scale: Fraction) -> None:
    seam = int(scale).bit_length() - 20
    magnitudes = [abs(value) for value in draws(name, scale).tolist()]
    for shift in (seam - 8, seam - 4, seam):
        assert are_uniform(np.array([(value >> shift) & 255 for value in magnitudes]), 256)


@all_cases("name", [name for name in SAMPLERS if name != "geometric"])
@every_scale
def test_wide_draws_are_as_often_negative_as_positive(name: str, scale: Fraction) -> None:
    negative = np.array([int(value < 0) for value in draws(name, scale).tolist()])
    assert are_uniform(negative, 2)


@every_sampler
def test_integers_beyond_64_bits_are_kept_whole(name: str) -> None:
    drawn = SAMPLERS[name][0](Fraction(10**300), 2000, RecordedEntropy(name))
    assert drawn.dtype == object
    assert all(type(value) is int for value in drawn.tolist())
    assert len(set(drawn.tolist())) == 2000


@every_sampler
@all_cases("size", [0, 1, 3, 4, 5, 500])
@all_cases("scale", [Fraction(1, 10**300), Fraction(10**300)], ids=["1e-300", "1e300"])
def test_every_sampler_returns_at_the_ends_of_the_supported_range(
    name: str, size: int, scale: Fraction, entropy: RecordedEntropy
) -> None:
    drawn = SAMPLERS[name][0](scale, size, entropy)
    assert drawn.shape == (size,)
    if scale < 1:  # anything but zero has probability below exp(−10^299)
        assert not drawn.any()
    else:
        assert all(0 < abs(value) < 10**303 for value in drawn.tolist())


@all_cases("zeros", [300, 308, 324, 400])
def test_a_standard_deviation_below_every_double_draws_zeros_and_comes_to_an_end(zeros: int) -> None:
    sigma = Fraction(1, 10**zeros)
    assert randomness.discrete_gaussian(sigma, 1000, randomness.SYSTEM_ENTROPY).tolist() == [0] * 1000
