"""Exponential laws on the integers: the rounded Laplace law, the geometric law and the two-sided geometric law.

All three are functions of an exponential variable E = −ln U with U uniform. For a scale b,

* ±⌊bE + ½⌋ is a continuous Laplace variable rounded to the nearest integer: P[k] = F((k+½)/b) − F((k−½)/b);
* ⌊bE⌋ is geometric: P[G ≥ k] = e^(−k/b);
* the difference of two such G is two-sided geometric ("discrete Laplace"): P[k] ∝ e^(−|k|/b) [GRS12].
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

    from giveortake.randomness.certified import IntArray, WordArray
    from giveortake.randomness.entropy import Entropy

_FEW = 4  # up to here arbitrary precision is faster than starting the array machinery
_MAGNITUDE = int(certified.MAGNITUDE)
_WORD_SUFFICES = 1 << 20  # scales up to here rarely need more digits than a word has


def rounded_laplace(scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """Independent draws of a continuous Laplace variable of that scale, rounded to the nearest integer."""
    if size > _FEW and scale > wide.WIDEST_LAPLACE:
        return wide.laplace(scale, size, entropy)
    return _draw(scale, size, entropy, rounding=True)


def geometric(scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """Independent draws of a geometric variable: P[G ≥ k] = exp(−k / scale) for whole k ≥ 0."""
    if size > _FEW and scale > wide.WIDEST_LAPLACE:
        return wide.geometric(scale, size, entropy)
    return _draw(scale, size, entropy, rounding=False)


def two_sided_geometric(scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """Independent draws with P[k] ∝ exp(−|k| / scale) on the integers."""
    return geometric(scale, size, entropy) - geometric(scale, size, entropy)


def _draw(scale: Fraction, size: int, entropy: Entropy, *, rounding: bool) -> IntArray:
    """±⌊scale · E + ½⌋ if rounding, else ⌊scale · E⌋."""
    if size <= _FEW:
        return certified.integers([_exact(scale, word(entropy), entropy, rounding=rounding) for _ in range(size)])
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
            value = _exact(scale, int(block[index]), entropy, rounding=rounding)
            out = certified.put(out, start + int(index), value)
    return out


def _signs(block: WordArray, *, rounding: bool) -> WordArray:
    return block >> 63 if rounding else np.zeros_like(block)


def _exact(scale: Fraction, drawn: int, entropy: Entropy, *, rounding: bool) -> int:
    """What `_draw` makes of one word, with as many further digits as the decision needs."""
    uniform = Uniform(entropy, drawn & _MAGNITUDE, certified.WORD_BITS)
    if scale > _WORD_SUFFICES:
        uniform.refine(int(scale).bit_length())

    def decide() -> int | None:
        value = exact.enclosure(scale) * uniform.exponential()
        return exact.floor_if_certain(value + 0.5 if rounding else value)

    magnitude = settle(decide, uniform)
    return -magnitude if rounding and drawn < 0 else magnitude
