"""Every sampler of integers has the law that its docstring states, and a law 30 % wider or narrower is caught."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

import statistics_of_draws as laws
from cases import all_cases
from giveortake import randomness
from giveortake.randomness.distributions import BLOCK
from recorded_entropy import RecordedEntropy
from statistics_of_draws import CLAIMS, are_uncorrelated, counts_are_plausible, fits
from tiers import tiered

if TYPE_CHECKING:
    from collections.abc import Callable

    from statistics_of_draws import Cdf, Draws

pytestmark = pytest.mark.statistical


class Sampler(NamedTuple):
    """A sampler, and its law written down independently."""

    draw: Callable[[Fraction, int, randomness.Entropy], Draws]
    law: Callable[[Fraction], Cdf]


SAMPLERS = {
    "rounded Laplace": Sampler(randomness.rounded_laplace, laws.rounded_laplace),
    "geometric": Sampler(randomness.geometric, laws.geometric),
    "two-sided geometric": Sampler(randomness.two_sided_geometric, laws.two_sided_geometric),
    "rounded normal": Sampler(randomness.rounded_normal, laws.rounded_normal),
    "discrete Gaussian": Sampler(randomness.discrete_gaussian, laws.discrete_gaussian),
}
SYMMETRIC = [name for name in SAMPLERS if name != "geometric"]
NARROW = [Fraction("0.3"), Fraction(1), Fraction(10), Fraction(10**4, 3), Fraction(2**20), Fraction(2**27)]
SCALES = tiered([Fraction(10)], NARROW)  # of arrays, the fast path
FEW = [Fraction("0.3"), Fraction(10), Fraction(2**27), Fraction(10**18)]
FEW_SCALES = tiered([Fraction(10)], FEW)  # of a few draws, the exact path
SIZE = 2 * BLOCK + 3  # two borders of blocks, and an odd number

every_sampler = all_cases("name", SAMPLERS)


@cache
def many(name: str, scale: Fraction) -> Draws:
    return SAMPLERS[name].draw(scale, SIZE, RecordedEntropy((name, scale)))


@cache
def few_at_a_time(name: str, scale: Fraction) -> Draws:
    """Draws made by twos, threes, fours and one by one: the path without arrays."""
    entropy = RecordedEntropy((name, scale, "few"))
    turns = 1000 if name == "discrete Gaussian" else tiered(1600, 2400)  # the slowest tells scales apart sooner
    return np.concatenate([SAMPLERS[name].draw(scale, 1 + turn % 4, entropy) for turn in range(turns)])


@every_sampler
@all_cases("scale", SCALES)
def test_an_array_of_draws_has_the_stated_scale_and_a_wrong_scale_is_caught(name: str, scale: Fraction) -> None:
    for claim, plausible in CLAIMS:
        assert fits(many(name, scale), SAMPLERS[name].law, scale * claim) is plausible


@every_sampler
@all_cases("scale", FEW_SCALES)
def test_draws_a_few_at_a_time_have_the_stated_scale_and_a_wrong_scale_is_caught(name: str, scale: Fraction) -> None:
    drawn = few_at_a_time(name, scale)
    for claim, plausible in CLAIMS:
        assert fits(drawn, SAMPLERS[name].law, scale * claim) is plausible


@every_sampler
@all_cases("size", tiered([7, BLOCK + 1], [5, 7, BLOCK - 1, BLOCK + 1]))
def test_the_ends_of_an_array_have_the_same_law_as_the_rest(name: str, size: int, entropy: RecordedEntropy) -> None:
    scale = Fraction(7)
    ends: list[int] = []
    for _ in range(400 if size < BLOCK - 1 else 80):
        drawn = SAMPLERS[name].draw(scale, size, entropy).tolist()
        ends += [drawn[0], drawn[-2], drawn[-1]]
    assert fits(np.array(ends), SAMPLERS[name].law, scale)
    assert not fits(np.array(ends), SAMPLERS[name].law, scale * 3)


@all_cases("name", SYMMETRIC)
@all_cases("scale", tiered(SCALES, [*SCALES, Fraction(10**18)]))
def test_both_signs_are_equally_likely(name: str, scale: Fraction) -> None:
    drawn = many(name, scale).tolist()
    positive, negative = sum(value > 0 for value in drawn), sum(value < 0 for value in drawn)
    assert counts_are_plausible([positive, negative], [0.5, 0.5])


@all_cases(
    ("name", "scale", "zero"),
    [
        ("rounded Laplace", Fraction(1, 10), -math.expm1(-5)),
        ("rounded Laplace", Fraction(3), -math.expm1(-1 / 6)),
        ("geometric", Fraction(1, 5), -math.expm1(-5)),
        ("two-sided geometric", Fraction(1, 4), math.tanh(2)),
        ("rounded normal", Fraction(1, 4), math.erf(2 / math.sqrt(2))),
        ("discrete Gaussian", Fraction(1, 2), 1 / (1 + 2 * math.exp(-2) + 2 * math.exp(-8))),
    ],
)
def test_zero_is_as_likely_as_the_law_says(name: str, scale: Fraction, zero: float, entropy: RecordedEntropy) -> None:
    size = 250_000
    zeros = int((SAMPLERS[name].draw(scale, size, entropy) == 0).sum())
    for claim, plausible in CLAIMS:
        missing = (1 - zero) * float(claim)
        assert counts_are_plausible([zeros, size - zeros], [1 - missing, missing]) is plausible


@every_sampler
@all_cases("scale", tiered([Fraction(10)], [Fraction(10), Fraction(2**27)]))
def test_neighbouring_draws_are_uncorrelated(name: str, scale: Fraction) -> None:
    drawn = many(name, scale)
    for lag in (1, 2, BLOCK // 2, BLOCK):  # the two halves of a normal pair lie half a block apart
        assert are_uncorrelated(drawn[:-lag], drawn[lag:])
        assert are_uncorrelated(np.abs(drawn[:-lag]), np.abs(drawn[lag:]))
        if name in SYMMETRIC:
            assert are_uncorrelated(np.sign(drawn[:-lag]), np.sign(drawn[lag:]))
    assert not are_uncorrelated(drawn[:-1] + drawn[1:], drawn[1:])


@all_cases("paths", ["array", "few"])
def test_the_two_halves_of_a_normal_pair_are_independent(paths: str, entropy: RecordedEntropy) -> None:
    sigma = Fraction(2**20)
    if paths == "array":
        drawn = randomness.rounded_normal(sigma, BLOCK, entropy)
        first, second = drawn[: BLOCK // 2], drawn[BLOCK // 2 :]
    else:
        pairs = np.array([randomness.rounded_normal(sigma, 2, entropy) for _ in range(2500)])
        first, second = pairs[:, 0], pairs[:, 1]
    quantiles = [-0.6744897501960817, 0.0, 0.6744897501960817]  # quarters of the standard normal law
    cuts = [quantile * float(sigma) for quantile in quantiles]
    cells = 4 * np.searchsorted(cuts, first.astype(float)) + np.searchsorted(cuts, second.astype(float))
    assert counts_are_plausible(np.bincount(cells, minlength=16).tolist(), [1 / 16] * 16)
    sorted_second = 4 * np.searchsorted(cuts, first.astype(float)) + np.searchsorted(cuts, first.astype(float))
    assert not counts_are_plausible(np.bincount(sorted_second, minlength=16).tolist(), [1 / 16] * 16)


@all_cases("bound", tiered([3, 10**18, 10**30], [2, 3, 10, 2**8 + 1, 2**20, 10**18, 2**63, 2**63 + 1, 10**30]))
def test_uniform_integers_are_uniform_below_their_bound(bound: int, entropy: RecordedEntropy) -> None:
    drawn = randomness.uniform_integers(bound, 20_000, entropy)
    for claim, plausible in CLAIMS:
        claimed = math.ceil(bound * claim)
        if claimed == bound and not plausible:
            claimed += 1 if claim > 1 else -1
        borders = [claimed * step // 40 - 1 for step in range(41)]

        def below(k: int, claimed: int = claimed) -> float:
            return min(max((k + 1) / claimed, 0.0), 1.0)

        assert laws.is_plausible(drawn, below, borders) is plausible


@all_cases("bound", tiered([3, 10**30], [3, 2**8 + 1, 2**63 + 1, 10**30]))
def test_the_lowest_bits_of_uniform_integers_are_uniform_too(bound: int, entropy: RecordedEntropy) -> None:
    drawn = randomness.uniform_integers(bound, 20_000, entropy) % 3
    shares = [len(range(residue, bound, 3)) / bound for residue in range(3)] if bound < 10**6 else [1 / 3] * 3
    assert counts_are_plausible(np.bincount(drawn.astype(np.int64), minlength=3).tolist(), shares)
