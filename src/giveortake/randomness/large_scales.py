"""Draws at scales far beyond double precision, still at array speed.

A continuous variable X ≥ 0 is split at blocks of 2^j: X = 2^j (H + V) with H = ⌊X / 2^j⌋ and V in [0, 1). The
block number H has the same kind of law at a scale that the certified fast path handles. Given H, the density of V
falls by less than one part in 2^15 across the block, so V is drawn uniformly, with as many digits as the result
needs, and kept with the probability that the density asks for.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from giveortake import exact
from giveortake.randomness import certified
from giveortake.randomness.bernoulli import survives
from giveortake.randomness.entropy import Uniform, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.exact import Ball
    from giveortake.randomness.certified import FloatArray, IntArray
    from giveortake.randomness.entropy import Entropy


WIDEST_LAPLACE = Fraction(1 << 34)  # up to these scales the fast path decides all but one draw in 500
WIDEST_NORMAL = Fraction(1 << 28)
_COARSE_BITS = 20  # scale of the block numbers: between 2^19 and 2^20
_FLOAT_ERROR = 2.0**-50


def laplace(scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """±⌊scale · E + ½⌋ for exponential E."""
    return _signed(_exponential(scale, size, entropy, rounding=True), entropy)


def geometric(scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """⌊scale · E⌋ for exponential E."""
    return certified.narrowed(_exponential(scale, size, entropy, rounding=False))


def normal(sigma: Fraction, size: int, entropy: Entropy) -> IntArray:
    """±⌊sigma · |Z| + ½⌋ for standard normal Z."""
    from giveortake.randomness.distributions import magnitudes  # noqa: PLC0415  (the two files complete each other)

    shift, coarse = _split(sigma)
    blocks = magnitudes(coarse, size, entropy, rounding=False)
    factor = 1 / (2 * coarse * coarse)

    def exact_gamma(block: int, position: Ball) -> Ball:  # ((H + V)² − H²) / 2s²
        return position * (2 * block + position) * exact.enclosure(factor)

    def gammas(blocks: FloatArray, positions: FloatArray) -> FloatArray:
        return positions * (2 * blocks + positions) * float(factor)

    positions = _positions(blocks, shift, gammas, exact_gamma, entropy)
    return _signed(_assembled(blocks, positions, shift, rounding=True), entropy)


def _exponential(scale: Fraction, size: int, entropy: Entropy, *, rounding: bool) -> IntArray:
    from giveortake.randomness.distributions import geometric as narrow_geometric  # noqa: PLC0415  (as above)

    shift, coarse = _split(scale)
    blocks = narrow_geometric(coarse, size, entropy)

    def exact_gamma(_block: int, position: Ball) -> Ball:
        return position / exact.enclosure(coarse)

    def gammas(_blocks: FloatArray, positions: FloatArray) -> FloatArray:
        return positions / float(coarse)

    positions = _positions(blocks, shift, gammas, exact_gamma, entropy)
    return _assembled(blocks, positions, shift, rounding=rounding)


def _split(scale: Fraction) -> tuple[int, Fraction]:
    shift = int(scale).bit_length() - _COARSE_BITS
    return shift, scale / (1 << shift)


def _positions(
    blocks: IntArray,
    shift: int,
    gammas: Callable[[FloatArray, FloatArray], FloatArray],
    exact_gamma: Callable[[int, Ball], Ball],
    entropy: Entropy,
) -> list[int]:
    """For each block, the first shift + 1 binary digits of a V that is kept with probability exp(−γ(block, V))."""
    bits = -(-(shift + 1) // 64) * 64
    positions: list[int] = [0] * blocks.size
    pending = np.arange(blocks.size)
    while pending.size:
        raw = words(entropy, pending.size * (bits // 64)).reshape(pending.size, bits // 64)
        digits = [int.from_bytes(row.tobytes(), "little") for row in raw]
        leading = raw[:, -1].view(np.uint64).astype(np.float64) * 2.0**-64
        chosen = blocks[pending].astype(np.float64)

        def position(
            index: int, digits: list[int] = digits, pending: IntArray = pending
        ) -> tuple[Callable[[], Ball], Uniform]:
            uniform = Uniform(entropy, digits[index], bits)
            block = int(blocks[pending[index]])
            return (lambda: exact_gamma(block, uniform.ball())), uniform

        alive = survives(gammas(chosen, leading), _FLOAT_ERROR, position, entropy)
        for index in map(int, np.flatnonzero(alive)):
            positions[int(pending[index])] = digits[index] >> (bits - shift - 1)
        pending = pending[~alive]
    return positions


def _assembled(blocks: IntArray, positions: list[int], shift: int, *, rounding: bool) -> IntArray:
    half = 1 if rounding else 0  # ⌊2^shift V + ½⌋ from shift + 1 digits of V, or ⌊2^shift V⌋
    pairs = zip(blocks.tolist(), positions, strict=True)
    out = np.empty(blocks.size, dtype=object)
    out[:] = [(block << shift) + ((digits + half) >> 1) for block, digits in pairs]
    return out


def _signed(magnitudes: IntArray, entropy: Entropy) -> IntArray:
    negative = words(entropy, magnitudes.size) < 0
    magnitudes[negative] = -magnitudes[negative]
    return certified.narrowed(magnitudes)
