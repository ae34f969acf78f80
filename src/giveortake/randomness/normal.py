"""The continuous normal law rounded to the integers.

P[k] = Φ((k+½)/σ) − Φ((k−½)/σ): the law of a continuous Gaussian release on a lattice, after rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from giveortake import exact
from giveortake.randomness import certified, wide
from giveortake.randomness.entropy import word, words
from giveortake.randomness.lazy import Uniform, settle

if TYPE_CHECKING:
    from fractions import Fraction

    from giveortake.randomness.certified import IntArray
    from giveortake.randomness.entropy import Entropy

_FEW = 4  # up to here arbitrary precision is faster than starting the array machinery
_MAGNITUDE = int(certified.MAGNITUDE)
_WORD_SUFFICES = 1 << 20  # deviations up to here rarely need more digits than the words have


def rounded_normal(sigma: Fraction, size: int, entropy: Entropy) -> IntArray:
    """Independent draws of a continuous normal variable of that standard deviation, rounded to the nearest integer."""
    if size <= _FEW:
        drawn: list[int] = []
        while len(drawn) < size:
            drawn.extend(_exact(sigma, word(entropy), word(entropy), entropy, rounding=True))
        return certified.integers(drawn[:size])
    if sigma > wide.WIDEST_NORMAL:
        return wide.normal(sigma, size, entropy)
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
            first, second = _exact(sigma, int(radii[index]), int(angles[index]), entropy, rounding=rounding)
            out = certified.put(out, start + index, first)
            out = certified.put(out, start + half + index, second)
    return out[:size]


def _exact(sigma: Fraction, distance: int, angle: int, entropy: Entropy, *, rounding: bool) -> tuple[int, int]:
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
