"""The error bounds of the fast path, checked against certified enclosures over every continuation of the digits.

A word says which interval of width 2^-63 the uniform lies in; the double computed from it must be within the stated
bound of the function's value everywhere on that interval. Enclosures are computed with 256 bits.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from flint import arb, arf, ctx
from hypothesis import given
from hypothesis import strategies as st

from cases import all_cases, some_examples
from giveortake.randomness import distributions
from giveortake.randomness.entropy import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from giveortake.randomness.distributions import FloatArray, WordArray
    from recorded_entropy import RecordedEntropy

LAST = 2**63 - 1
LEAST = int(distributions.LEAST_WORD)
RANDOM = 4000


@pytest.fixture(autouse=True)
def _many_bits() -> Iterator[None]:
    with ctx.workprec(256):
        yield


def interval(word: int, bits: int) -> arb:
    return arb(arf((2 * word + 1, -bits - 1)), arf((1, -bits - 1)))


def true_exponential(word: int) -> arb:
    if word == LAST:  # the last interval ends at 1, where the enclosure would reach beyond
        return -interval(word, 63).log().union(arb(0))
    return -interval(word, 63).log()


def adversarial_magnitudes() -> list[int]:
    """Near powers of two, near the double that separates series, near LEAST_WORD, and near one."""
    found = {LEAST, LEAST + 1, LEAST + 2, LAST, LAST - 1, LAST - 511, LAST - 512, LAST - 513, LAST - 1024}
    for exponent in range(47, 63):
        found.update(2**exponent + offset for offset in (-1, 0, 1, 2, 1023, 1024, 1025))
        middle = int(math.sqrt(2) * 2**52) * 2**exponent // 2**52
        found.update(middle + offset for offset in (-1025, -2, -1, 0, 1, 2, 1025))
    for exponent in range(1, 62):  # uniforms near one, where the exponential is small
        found.update(LAST - 2**exponent + offset for offset in (-1, 0, 1))
    for exponent in range(47, 63):  # halves between doubles, where the conversion of the word rounds furthest
        step = max(1, 2 ** (exponent - 52))
        found.update(2**exponent + k * step + step // 2 + offset for k in (1, 2, 3, 12345) for offset in (-1, 0, 1))
    return sorted(word for word in found if LEAST <= word <= LAST)


def magnitudes(entropy: RecordedEntropy) -> WordArray:
    """Adversarial words, uniform words, and words whose logarithm is uniform, down to LEAST_WORD."""
    uniform = words(entropy, RANDOM) & distributions.MAGNITUDE
    spread = [int(word) >> shift for word, shift in zip(uniform, words(entropy, RANDOM) % 17, strict=True)]
    near_one = [LAST - (int(word) >> shift) for word, shift in zip(uniform, words(entropy, RANDOM) % 60, strict=True)]
    chosen = [*adversarial_magnitudes(), *uniform.tolist(), *spread, *near_one]
    return np.array([word for word in chosen if word >= LEAST], dtype=np.int64)


def worst(computed: FloatArray, truths: list[arb]) -> float:
    """The greatest distance between a double and any point of its enclosure."""
    return max(float(abs(truth - value).upper()) for value, truth in zip(computed.tolist(), truths, strict=True))


def test_exponentials_are_within_their_bound(entropy: RecordedEntropy) -> None:
    chosen = magnitudes(entropy)
    truths = [true_exponential(word) for word in chosen.tolist()]
    assert worst(distributions.exponential(chosen), truths) < distributions.EXPONENTIAL_ERROR


def test_arithmetic_alone_takes_little_of_the_bound_of_exponentials(entropy: RecordedEntropy) -> None:
    chosen = magnitudes(entropy)
    truths = [-arb(arf((word, -63))).log() for word in chosen.tolist()]
    assert worst(distributions.exponential(chosen), truths) < distributions.EXPONENTIAL_ERROR / 8


@all_cases(
    ("approximate", "exactly", "bound"),
    [
        (np.sqrt, lambda e: e.sqrt(), distributions.ROOT_ERROR),
        (lambda e: -distributions.log_ratio(e.copy(), 0), lambda e: -e.log(), distributions.GUMBEL_ERROR),
    ],
    ids=["square root", "Gumbel"],
)
def test_functions_of_exponentials_are_within_their_bounds(
    approximate: Callable[[FloatArray], FloatArray],
    exactly: Callable[[arb], arb],
    bound: float,
    entropy: RecordedEntropy,
) -> None:
    chosen = magnitudes(entropy)
    exponentials = distributions.exponential(chosen)
    usable = exponentials >= distributions.LEAST_EXPONENTIAL
    truths = [exactly(true_exponential(word)) for word in chosen[usable].tolist()]
    assert worst(approximate(exponentials[usable]), truths) < bound / 8


def adversarial_angles() -> list[int]:
    near = (-2, -1, 0, 1, 2)
    centres = [0, 2**61, -(2**61), 2**60, -(2**60), 2**62, -(2**62), 2**63 - 3, -(2**63) + 3, 2**53, 2**61 // 3]
    return [min(max(centre + offset, -(2**63)), 2**63 - 1) for centre in centres for offset in near]


def true_normal_pair(magnitude: int, angle: int) -> tuple[arb, arb]:
    """√(2E) cos φ and √(2E) sin φ for φ on a quarter turn: the definition, without the package's rearrangement."""
    digits = (angle + 2**61) % 2**62
    radius = (2 * true_exponential(magnitude)).sqrt()
    sine, cosine = (interval(digits, 62) * arb.pi() / 2).sin_cos()
    return radius * cosine, radius * sine


def test_normal_pairs_are_within_their_bound(entropy: RecordedEntropy) -> None:
    lengths = magnitudes(entropy)
    angles = words(entropy, lengths.size).copy()
    crossed = [(length, angle) for length in adversarial_magnitudes()[::7] for angle in adversarial_angles()]
    lengths = np.concatenate([lengths, np.array([length for length, _ in crossed])])
    angles = np.concatenate([angles, np.array([angle for _, angle in crossed])])
    first, second, failed = distributions.normal_pair(lengths, angles)
    decided = ~failed
    truths = [true_normal_pair(*pair) for pair in zip(lengths[decided].tolist(), angles[decided].tolist(), strict=True)]
    assert len(truths) > RANDOM
    assert worst(first[decided], [truth for truth, _ in truths]) < distributions.NORMAL_ERROR / 8
    assert worst(second[decided], [truth for _, truth in truths]) < distributions.NORMAL_ERROR / 8


def test_a_normal_pair_fails_exactly_where_the_bounds_do_not_reach() -> None:
    least_exponential = round(2**63 * math.exp(-distributions.LEAST_EXPONENTIAL))
    lengths = np.array([0, 1, LEAST - 1, LEAST, LAST, least_exponential + 2**30, least_exponential - 2**30, 2**62])
    _, _, failed = distributions.normal_pair(lengths, np.zeros_like(lengths))
    assert failed.tolist() == [True, True, True, False, True, True, False, False]


def test_the_quarter_turn_is_covered_from_end_to_end() -> None:
    lengths = np.full(3, 2**62)
    radius = math.sqrt(2 * math.log(2))
    first, second, _ = distributions.normal_pair(lengths, np.array([-(2**61), 0, 2**61 - 1]))
    assert first == pytest.approx([radius, radius / math.sqrt(2), 0], abs=1e-12)
    assert second == pytest.approx([0, radius / math.sqrt(2), radius], abs=1e-12)


@some_examples
@given(st.floats(-(2.0**40), 2.0**40), st.integers(2, 50))
def test_a_value_is_undecided_exactly_when_a_neighbour_within_tolerance_rounds_differently(
    value: float, bits: int
) -> None:
    tolerance = Fraction(1, 2**bits)
    nearest, undecided = distributions.rounded(np.array([value]), float(tolerance))
    centre = Fraction(value)
    assert abs(centre - int(nearest[0])) <= Fraction(1, 2)
    assert bool(undecided[0]) == (abs(centre - int(nearest[0])) > Fraction(1, 2) - tolerance)
    if not undecided[0]:
        for neighbour in (centre - tolerance, centre + tolerance):
            assert abs(neighbour - int(nearest[0])) <= Fraction(1, 2)


@some_examples
@given(st.integers(0, 2**30), st.integers(-60, 60), st.integers(3, 20))
def test_values_at_a_half_are_always_undecided(whole: int, offset: int, bits: int) -> None:
    value = whole + 0.5 + offset * 2.0**-30
    _, undecided = distributions.rounded(np.array([value, -value]), 2.0**-bits)
    assert undecided.all()


@some_examples
@given(st.integers(-(2**52), 2**52), st.booleans())
def test_a_sign_is_put_on_a_whole_magnitude(whole: int, negative: bool) -> None:
    signs = np.array([-1 if negative else 0])
    assert distributions.with_sign(np.array([float(whole)]), signs).tolist() == [-whole if negative else whole]


@some_examples
@given(st.lists(st.integers(-(2**70), 2**70) | st.integers(-(2**63) - 1, -(2**63)) | st.integers(2**63 - 1, 2**63)))
def test_integers_are_narrowed_only_if_all_of_them_fit(values: list[int]) -> None:
    fit = all(-(2**63) <= value < 2**63 for value in values)
    for narrow in (distributions.narrowed(np.array(values, dtype=object)), distributions.integers(values)):
        assert narrow.tolist() == values
        assert (narrow.dtype == np.int64) == fit


@all_cases("value", [2**63, -(2**63) - 1, 2**64, 10**300, -(10**300)])
def test_an_array_widens_rather_than_wraps(value: int) -> None:
    before = np.array([1, -(2**63), 2**63 - 1, 4])
    after = distributions.put(before, 3, value)
    assert after.tolist() == [1, -(2**63), 2**63 - 1, value]
    after[0:2] = np.array([7, 8])  # the next block of the fast path lands in the widened array
    assert distributions.put(after, 2, 5).tolist() == [7, 8, 5, value]


@all_cases("value", [2**63 - 1, -(2**63), 0])
def test_an_array_stays_narrow_while_its_integers_fit(value: int) -> None:
    after = distributions.put(np.zeros(2, dtype=np.int64), 1, value)
    assert after.dtype == np.int64
    assert after.tolist() == [0, value]
