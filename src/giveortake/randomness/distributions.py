"""Integer noise of exactly the stated distribution: rounded Laplace and normal, geometric, discrete Gaussian.

Three are functions of an exponential variable E = −ln U with U uniform. For a scale b,

* ±⌊bE + ½⌋ is a continuous Laplace variable rounded to the nearest integer: P[k] = F((k+½)/b) − F((k−½)/b);
* ⌊bE⌋ is geometric: P[G ≥ k] = e^(−k/b);
* the difference of two such G is two-sided geometric ("discrete Laplace"): P[k] ∝ e^(−|k|/b) [GRS12].

The rounded normal distribution has P[k] = Φ((k+½)/σ) − Φ((k−½)/σ): a continuous Gaussian release on a lattice, after
rounding. The discrete Gaussian [CKS20] has P[k] ∝ exp(−k² / 2σ²).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from giveortake import exact
from giveortake.randomness import certified, large_scales
from giveortake.randomness.bernoulli import survives
from giveortake.randomness.entropy import Uniform, settle, word, words

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from giveortake.exact import Ball
    from giveortake.randomness.certified import FloatArray, IntArray, WordArray
    from giveortake.randomness.entropy import Entropy


_FEW = 4  # up to here arbitrary precision is faster than starting the array machinery
_MAGNITUDE = int(certified.MAGNITUDE)
_WORD_SUFFICES = 1 << 20  # scales up to here rarely need more digits than a word has


def rounded_laplace(scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """Independent draws of a continuous Laplace variable of that scale, rounded to the nearest integer."""
    if size > _FEW and scale > large_scales.WIDEST_LAPLACE:
        return large_scales.laplace(scale, size, entropy)
    return _draw(scale, size, entropy, rounding=True)


def geometric(scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """Independent draws of a geometric variable: P[G ≥ k] = exp(−k / scale) for whole k ≥ 0."""
    if size > _FEW and scale > large_scales.WIDEST_LAPLACE:
        return large_scales.geometric(scale, size, entropy)
    return _draw(scale, size, entropy, rounding=False)


def two_sided_geometric(scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """Independent draws with P[k] ∝ exp(−|k| / scale) on the integers."""
    return geometric(scale, size, entropy) - geometric(scale, size, entropy)


def _draw(scale: Fraction, size: int, entropy: Entropy, *, rounding: bool) -> IntArray:
    """±⌊scale · E + ½⌋ if rounding, else ⌊scale · E⌋."""
    if size <= _FEW:
        return certified.integers(
            [_exact_laplace(scale, word(entropy), entropy, rounding=rounding) for _ in range(size)]
        )
    out: IntArray = np.empty(size, dtype=np.int64)
    b = float(scale)
    tolerance = 2 * b * certified.EXPONENTIAL_ERROR  # room for the roundings of scale, product and shift
    for start in range(0, size, certified.BLOCK):
        stop = min(start + certified.BLOCK, size)
        block = words(entropy, stop - start)
        magnitudes = block & certified.MAGNITUDE
        values = certified.exponential(magnitudes)
        values *= b
        if not rounding:
            values -= 0.5
        nearest, undecided = certified.rounded(values, tolerance)
        undecided |= magnitudes < certified.LEAST_WORD
        out[start:stop] = certified.with_sign(nearest, _signs(block, rounding=rounding))
        for index in np.flatnonzero(undecided):
            value = _exact_laplace(scale, int(block[index]), entropy, rounding=rounding)
            out = certified.put(out, start + int(index), value)
    return out


def _signs(block: WordArray, *, rounding: bool) -> WordArray:
    return block >> 63 if rounding else np.zeros_like(block)


def _exact_laplace(scale: Fraction, random_word: int, entropy: Entropy, *, rounding: bool) -> int:
    """What `_draw` makes of one word, with as many further digits as the decision needs."""
    uniform = Uniform(entropy, random_word & _MAGNITUDE, certified.WORD_BITS)
    if scale > _WORD_SUFFICES:
        uniform.refine(int(scale).bit_length())

    def decide() -> int | None:
        value = exact.enclosure(scale) * uniform.exponential()
        return exact.floor_if_certain(value + 0.5 if rounding else value)

    magnitude = settle(decide, uniform)
    return -magnitude if rounding and random_word < 0 else magnitude


def rounded_normal(sigma: Fraction, size: int, entropy: Entropy) -> IntArray:
    """Independent draws of a continuous normal variable of that standard deviation, rounded to the nearest integer."""
    if size <= _FEW:
        draws: list[int] = []
        while len(draws) < size:
            draws.extend(_exact_normal(sigma, word(entropy), word(entropy), entropy, rounding=True))
        return certified.integers(draws[:size])
    if sigma > large_scales.WIDEST_NORMAL:
        return large_scales.normal(sigma, size, entropy)
    return magnitudes(sigma, size, entropy, rounding=True)


def magnitudes(sigma: Fraction, size: int, entropy: Entropy, *, rounding: bool) -> IntArray:
    """Draws of ±⌊σ|Z| + ½⌋ if rounding, else of ⌊σ|Z|⌋, for standard normal Z."""
    out: IntArray = np.empty(size + size % 2, dtype=np.int64)
    scale = float(sigma)
    tolerance = 2 * scale * certified.NORMAL_ERROR
    for start in range(0, size, certified.BLOCK):
        half = min(certified.BLOCK, out.size - start) // 2
        block = words(entropy, 2 * half)
        radii, angles = block[:half], block[half:]
        *pair, undecided = certified.normal_pair(radii & certified.MAGNITUDE, angles)
        # The angle uses 62 bits of its word; the two left over are the signs.
        signs = (angles >> 63, (angles << 1) >> 63) if rounding else (np.zeros_like(angles),) * 2
        for offset, values, sign in zip((start, start + half), pair, signs, strict=True):
            np.multiply(values, scale, out=values)
            if not rounding:
                np.subtract(values, 0.5, out=values)
            nearest, doubtful = certified.rounded(values, tolerance)
            undecided |= doubtful
            out[offset : offset + half] = certified.with_sign(nearest, sign)
        for index in map(int, np.flatnonzero(undecided)):
            first, second = _exact_normal(sigma, int(radii[index]), int(angles[index]), entropy, rounding=rounding)
            out = certified.put(out, start + index, first)
            out = certified.put(out, start + half + index, second)
    return out[:size]


def _exact_normal(sigma: Fraction, distance: int, angle: int, entropy: Entropy, *, rounding: bool) -> tuple[int, int]:
    """What `magnitudes` makes of two words, with as many further digits as the decisions need."""
    length = Uniform(entropy, distance & _MAGNITUDE, certified.WORD_BITS)
    turn = Uniform(entropy, (angle + (1 << 61)) & ((1 << 62) - 1), 62)  # signed 62-bit word, moved to [0, 1)
    if sigma > _WORD_SUFFICES:
        length.refine(int(sigma).bit_length() + 1)
        turn.refine(int(sigma).bit_length())

    half = 0.5 if rounding else 0

    def decide() -> tuple[int, int] | None:
        radius = exact.enclosure(sigma) * length.exponential().sqrt()
        sine, cosine = (exact.pi() / 2 * (turn.ball() - 0.5)).sin_cos()
        first = exact.floor_if_certain(radius * (cosine - sine) + half)
        second = exact.floor_if_certain(radius * (cosine + sine) + half)
        return None if first is None or second is None else (first, second)

    first, second = settle(decide, length, turn)
    if not rounding:
        return first, second
    return (-first if angle < 0 else first), (-second if angle & (1 << 62) else second)


_FAR = 2.0**10  # beyond it γ exceeds 2^18 and an exponential in the fast path stays below 12: never kept
_LEAST_DOUBLE = float(np.finfo(np.float64).tiny)
_GAMMA_ERROR = 2.0**-29  # of ½(x − σ/t)² in doubles for x ≤ 2^10


def discrete_gaussian(sigma: Fraction, size: int, entropy: Entropy) -> IntArray:
    """Independent draws with P[k] ∝ exp(−k² / 2σ²).

    Two-sided geometric candidates Y of scale t = ⌊σ⌋ + 1 are kept with probability exp(−½(|Y|/σ − σ/t)²)
    [CKS20, algorithm 3]; more than two in five are.
    """
    scale = int(sigma) + 1
    centre = sigma / scale
    out: IntArray = np.zeros(size, dtype=np.int64)
    pending = np.arange(size)
    while pending.size:
        candidates = two_sided_geometric(exact.rational("scale", scale), pending.size, entropy)

        def gamma(index: int, candidates: IntArray = candidates) -> tuple[Callable[[], Ball]]:
            value = (abs(int(candidates[index])) / sigma - centre) ** 2 / 2
            return (lambda: exact.enclosure(value),)

        distance = np.minimum(_ratio(np.abs(candidates), sigma), _FAR) - float(centre)
        alive = survives(distance * distance / 2, _GAMMA_ERROR, gamma, entropy)
        if candidates.dtype == object and out.dtype != object:
            out = out.astype(object)
        out[pending[alive]] = candidates[alive]
        pending = pending[~alive]
    return certified.narrowed(out)


def _ratio(magnitudes: IntArray, sigma: Fraction) -> FloatArray:
    """|Y| / σ in doubles, to a relative 2^-51 up to `_FAR`; a σ below all normal doubles counts as the least of them.

    0 / σ is 0 however small σ is, and every other candidate is then far.
    """
    if magnitudes.dtype != object:
        with np.errstate(over="ignore"):
            return magnitudes.astype(np.float64) / max(float(sigma), _LEAST_DOUBLE)
    numerator, denominator = sigma.numerator, sigma.denominator
    return np.array([value * denominator / numerator for value in magnitudes.tolist()])
