"""The fast path, the exact path, and a third computation here give the same integer for the same digits.

Wherever the digits of a word alone settle the outcome, whatever digits follow, all three must agree.
"""

from __future__ import annotations

import math
import threading
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from flint import arb, arf, ctx, fmpq

from cases import all_cases
from giveortake import exact
from giveortake.randomness import (
    discrete_gaussian,
    distributions,
    geometric,
    rounded_laplace,
    rounded_normal,
)
from giveortake.randomness.entropy import words
from recorded_entropy import RecordedEntropy, ScriptedEntropy

if TYPE_CHECKING:
    from collections.abc import Iterator

SCALES = [
    Fraction(1, 1000),
    Fraction(1, 10),
    Fraction("0.3"),
    Fraction(1),
    Fraction(22, 7),
    Fraction(1000),
    Fraction(10**6 + 1, 3),
    Fraction(2**27),
]
LAPLACE_SCALES = [*SCALES, distributions.WIDEST_LAPLACE - Fraction(1, 3), distributions.WIDEST_LAPLACE]
NORMAL_SCALES = [*SCALES, distributions.WIDEST_NORMAL - Fraction(1, 3), distributions.WIDEST_NORMAL]
SIZE = 1500


@pytest.fixture(autouse=True)
def _many_bits() -> Iterator[None]:
    with ctx.workprec(256):
        yield


def interval(numerator: int, bits: int) -> arb:
    return arb(arf((2 * numerator + 1, -bits - 1)), arf((1, -bits - 1)))


def scaled(scale: Fraction, ball: arb) -> arb:
    return arb(fmpq(scale.numerator, scale.denominator)) * ball


def common_floor(ball: arb) -> int | None:
    """The floor of every number in the ball, if there is only one."""
    low, high = ball.lower().floor().unique_fmpz(), ball.upper().floor().unique_fmpz()
    return int(low) if low is not None and low == high else None


def laplace_of(scale: Fraction, word: int, *, rounding: bool) -> int | None:
    magnitude = word % 2**63
    if magnitude in (0, 2**63 - 1):
        return None
    value = common_floor(scaled(scale, -interval(magnitude, 63).log()) + (0.5 if rounding else 0))
    return -value if value is not None and rounding and word < 0 else value


def borderline_words(scale: Fraction) -> list[int]:
    """Words around the uniforms at which the rounded value, or the floor, changes."""
    found: list[int] = []
    for step in (0.5, 1.0, 1.5, 2.0, 7.0, 7.5):
        uniform = (-arb(step) / scaled(scale, arb(1))).exp() * 2**63
        centre = int(uniform.mid().floor().unique_fmpz() or 0)
        offsets = [-(2**20), -2000, -100, -2, -1, 0, 1, 2, 100, 2000, 2**20]
        found.extend(min(max(centre + offset, 1), 2**63 - 2) for offset in offsets)
    return found


def some_words(scale: Fraction, entropy: RecordedEntropy) -> list[int]:
    edges = [2**47 + offset for offset in (-2, -1, 0, 1)] + [1, 2, 3, 2**20, 2**63 - 2]
    chosen = [*borderline_words(scale), *edges]
    return [*chosen, *(word - 2**63 for word in chosen), *words(entropy, SIZE).tolist()]


@all_cases("rounding", [True, False], ids=["rounded Laplace", "geometric"])
@all_cases("scale", LAPLACE_SCALES)
def test_exponential_laws_agree_on_every_path(scale: Fraction, rounding: bool, entropy: RecordedEntropy) -> None:
    chosen = some_words(scale, entropy)
    expected = [laplace_of(scale, word, rounding=rounding) for word in chosen]
    sampler = rounded_laplace if rounding else geometric
    fast = sampler(scale, len(chosen), ScriptedEntropy(chosen)).tolist()
    slow = [distributions._exact_laplace(scale, word, entropy, rounding=rounding) for word in chosen]
    settled = [index for index, value in enumerate(expected) if value is not None]
    assert len(settled) > 0.9 * len(chosen)
    assert [fast[index] for index in settled] == [expected[index] for index in settled]
    assert [slow[index] for index in settled] == [expected[index] for index in settled]


def normal_of(sigma: Fraction, radius: int, angle: int, *, rounding: bool) -> tuple[int, int] | None:
    magnitude = radius % 2**63
    if magnitude in (0, 2**63 - 1):
        return None
    length = scaled(sigma, (-2 * interval(magnitude, 63).log()).sqrt())
    sine, cosine = (interval((angle + 2**61) % 2**62, 62) * arb.pi() / 2).sin_cos()
    shift = 0.5 if rounding else 0
    first, second = common_floor(length * cosine + shift), common_floor(length * sine + shift)
    if first is None or second is None:
        return None
    bits = angle % 2**64
    first_is_negative, second_is_negative = rounding and bits >= 2**63, rounding and bits % 2**63 >= 2**62
    return (-first if first_is_negative else first), (-second if second_is_negative else second)


def borderline_radii(sigma: Fraction, angle: int, turn: int) -> list[int]:
    """Words around the uniform at which one of the two rounded values, or of the two floors, changes."""
    sine, cosine = (interval((angle + 2**61) % 2**62, 62) * arb.pi() / 2).sin_cos()
    step = arb((turn // 2 % 5 + 1) / 2)
    exponential = (step / scaled(sigma, cosine if turn % 2 else sine)) ** 2 / 2
    centre = ((-exponential).exp() * 2**63).mid().floor().unique_fmpz()
    offsets = (-1000, -300, -100, -30, -10, -2, -1, 0, 1, 2, 10, 30, 100, 300, 1000)
    return [min(max(int(centre or 0) + offset, 1), 2**63 - 2) for offset in offsets]


@all_cases("rounding", [True, False], ids=["rounded normal", "floor of the magnitude"])
@all_cases("sigma", NORMAL_SCALES)
def test_normal_laws_agree_on_every_path(sigma: Fraction, rounding: bool, entropy: RecordedEntropy) -> None:
    radii = some_words(sigma, entropy)
    angles = words(entropy, len(radii)).tolist()
    corners = [0, 1, -1, 2**61 - 1, 2**61, 2**61 + 1, -(2**61), 2**62, -(2**62), -(2**63), 2**63 - 1]
    radii, angles = radii + [2**62 + 7] * len(corners), angles + corners
    for turn, angle in enumerate(words(entropy, 40).tolist()):
        near = borderline_radii(sigma, angle, turn)
        radii, angles = radii + near, angles + [angle] * len(near)
    half = len(radii)
    fast = distributions.magnitudes(sigma, 2 * half, ScriptedEntropy([*radii, *angles]), rounding=rounding).tolist()
    pairs = list(zip(radii, angles, strict=True))
    slow = [distributions._exact_normal(sigma, radius, angle, entropy, rounding=rounding) for radius, angle in pairs]
    settled = 0
    for index, (radius, angle) in enumerate(pairs):
        expected = normal_of(sigma, radius, angle, rounding=rounding)
        if expected is not None:
            settled += 1
            assert (fast[index], fast[half + index]) == expected
            assert slow[index] == expected
    assert settled > 0.9 * half


@all_cases("scale", [Fraction(1, 3), Fraction(10), Fraction(2**20)])
def test_a_few_draws_are_the_same_function_of_the_same_words(scale: Fraction, entropy: RecordedEntropy) -> None:
    chosen = words(entropy, 400).tolist()
    many = rounded_laplace(scale, len(chosen), ScriptedEntropy(chosen)).tolist()
    few = [value for word in chosen for value in rounded_laplace(scale, 1, ScriptedEntropy([word])).tolist()]
    assert few == many
    pairs = [rounded_normal(scale, 2, ScriptedEntropy(chosen[i : i + 2])).tolist() for i in range(0, 400, 2)]
    together = rounded_normal(scale, 400, ScriptedEntropy([*chosen[::2], *chosen[1::2]])).tolist()
    assert pairs == [[first, second] for first, second in zip(together[:200], together[200:], strict=True)]


def test_a_word_at_a_border_is_settled_by_the_digits_that_follow() -> None:
    scale = Fraction(3)
    border = math.floor(2**63 * math.exp(-0.5 / 3))
    at_border = [word for word in range(border - 2048, border + 2049) if laplace_of(scale, word, rounding=True) is None]
    assert len(at_border) == 1
    for draws in (1, 5):
        low = rounded_laplace(scale, draws, ScriptedEntropy(at_border * draws, then=0x00))
        high = rounded_laplace(scale, draws, ScriptedEntropy(at_border * draws, then=0xFF))
        assert low.tolist() == [1] * draws  # a smaller uniform is a larger exponential
        assert high.tolist() == [0] * draws


@all_cases("word", [1, 1000, 2**30, 2**45])
def test_the_digits_that_follow_a_tiny_word_matter_to_an_array_too(word: int) -> None:
    scale = Fraction(2**34)
    for then, uniform in ((0x00, word), (0xFF, word + 1)):
        drawn = geometric(scale, 6, ScriptedEntropy([word] * 6, then=then)).tolist()
        expected = scaled(scale, -(arb(uniform) / 2**63).log())
        assert all(abs(value - expected) < 2 for value in drawn)


def test_draws_are_the_same_while_another_thread_changes_the_precision(entropy: RecordedEntropy) -> None:
    chosen = words(entropy, 300).tolist()
    scale = Fraction(1000)
    quiet = [distributions._exact_laplace(scale, word, RecordedEntropy(word), rounding=True) for word in chosen]
    pairs = list(zip(chosen[::2], chosen[1::2], strict=True))
    quiet_pairs = [distributions._exact_normal(scale, *pair, RecordedEntropy(pair), rounding=True) for pair in pairs]
    stop = threading.Event()

    def hammer() -> None:
        while not stop.is_set():
            for bits in (2, 20, 500):
                with exact.precision(bits):
                    pass

    thread = threading.Thread(target=hammer)
    thread.start()
    try:
        for _ in range(3):
            assert [
                distributions._exact_laplace(scale, word, RecordedEntropy(word), rounding=True) for word in chosen
            ] == quiet
            assert [
                distributions._exact_normal(scale, *p, RecordedEntropy(p), rounding=True) for p in pairs
            ] == quiet_pairs
    finally:
        stop.set()
        thread.join()


def test_an_exact_draw_that_exceeds_64_bits_widens_the_array() -> None:
    scale = Fraction(2**62)
    for sampler, size in ((geometric, 1), (rounded_laplace, 1), (geometric, 3)):
        drawn = sampler(scale, size, ScriptedEntropy([0] * 6, then=0x55))
        assert drawn.dtype == object
        assert 2**63 < max(drawn.tolist()) < 2**62 * 6 * 64
        assert min(drawn.tolist()) >= 0


def test_the_first_word_of_all_zeros_is_a_large_draw_in_the_vector_path() -> None:
    scale = distributions.WIDEST_LAPLACE
    drawn = rounded_laplace(scale, 6, ScriptedEntropy([0, -(2**63), 2**62, 2**62, 2**62, 2**62, 0, 0, 0]))
    first, second, *rest = drawn.tolist()
    assert first > 63 * math.log(2) * 2**34
    assert second < -63 * math.log(2) * 2**34
    assert rest == pytest.approx([math.log(2) * 2**34] * 4)


def test_block_numbers_and_positions_are_put_together_exactly() -> None:
    scale = Fraction(2**40)  # blocks of 2^21, block numbers of scale 2^19
    half = 2**63
    blocks = [2**62] * 5  # U = 1/2: the block number is the floor of 2^19 ln 2
    positions = [0, 1, half, half + 2**42, 2**64 - 1]
    kept = [2**50] * 5  # far below exp(−γ)
    signs = [0, 0, 0, -1, 0]
    drawn = rounded_laplace(scale, 5, ScriptedEntropy([*blocks, *positions, *kept, *signs])).tolist()
    block = math.floor(2**19 * math.log(2)) * 2**21
    assert drawn == [block, block, block + 2**20, -(block + 2**20 + 1), block + 2**21]


@all_cases("scale", [Fraction(2**40), Fraction(2**41 - 1), Fraction(3**60)])
def test_a_position_is_kept_or_redrawn_at_exactly_its_density(scale: Fraction) -> None:
    shift = int(scale).bit_length() - 20
    width = -(-(shift + 1) // 64)
    position = [0] * (width - 1) + [2**63]  # V = 1/2
    gamma = arb(fmpq(1, 2)) * 2**shift / scaled(scale, arb(1))
    border = int(((-gamma).exp() * 2**63).floor().unique_fmpz() or 0)
    block = math.floor(scale / 2**shift * Fraction(math.log(2))) << shift
    for word, redrawn in ((border - 1, False), (border + 1, True)):
        others = position * 4
        script = [*[2**62] * 5, *position, *others, word, *[2**50] * 4]
        again = [*[0] * width, 2**50] if redrawn else []
        entropy = ScriptedEntropy([*script, *again, *[0] * 5])
        first, *rest = rounded_laplace(scale, 5, entropy).tolist()
        assert entropy.left == 0 or not redrawn
        assert first == (block if redrawn else block + 2 ** (shift - 1))
        assert rest == [block + 2 ** (shift - 1)] * 4


@all_cases("sigma", [Fraction(2**40), Fraction(2**41 - 1)])
def test_a_normal_position_is_kept_or_redrawn_at_exactly_its_density(sigma: Fraction) -> None:
    """Six magnitudes σ √ln 2, from three pairs with U = ½ and the angle in the middle of the quarter turn."""
    coarse = sigma / 2**21
    block = math.floor(coarse * Fraction(math.sqrt(math.log(2))))
    gamma = arb(fmpq(1, 2)) * (2 * block + arb(0.5)) / (2 * scaled(coarse, arb(1)) ** 2)
    border = int(((-gamma).exp() * 2**63).floor().unique_fmpz() or 0)
    pairs, positions, signs = [*[2**62] * 3, *[0] * 3], [2**63] * 6, [0] * 6
    for word, redrawn in ((border - 1, False), (border + 1, True)):
        again = [0, 2**50] if redrawn else []
        survivals = [word, *[2**50] * 5]
        drawn = rounded_normal(sigma, 6, ScriptedEntropy([*pairs, *positions, *survivals, *again, *signs]))
        middle = block * 2**21 + 2**20
        assert drawn.tolist() == [block * 2**21 if redrawn else middle, *[middle] * 5]


def test_a_discrete_gaussian_candidate_is_kept_or_redrawn_at_exactly_its_density() -> None:
    """Candidates 2 of scale 4 at σ = 3 are kept with probability exp(−½(2/3 − 3/4)²)."""
    border = int(((-arb(fmpq(1, 288))).exp() * 2**63).floor().unique_fmpz() or 0)
    two, zero = 2**62, 2**63 - 2**50  # ⌊−4 ln ½⌋ = 2, and a uniform near one
    candidates = [*[two] * 5, *[zero] * 5]
    for word, redrawn in ((border - 1, False), (border + 1, True)):
        again = [zero, zero, 2**50] if redrawn else []
        script = ScriptedEntropy([*candidates, word, *[2**50] * 4, *again])
        assert discrete_gaussian(Fraction(3), 5, script).tolist() == [0 if redrawn else 2, 2, 2, 2, 2]
        assert script.left == 0


def test_fast_draws_fill_an_array_of_any_size(entropy: RecordedEntropy) -> None:
    block = distributions.BLOCK
    for size in (0, 1, 2, 3, 4, 5, 6, 7, block - 1, block, block + 1, 2 * block + 1):
        for sampler in (rounded_laplace, geometric, rounded_normal):
            drawn = sampler(Fraction(5), size, entropy)
            assert drawn.shape == (size,)
            assert drawn.dtype == np.int64
            assert (np.abs(drawn) < 5 * 60).all()  # memory that was never written would hardly look like this
