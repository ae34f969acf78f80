"""Coins whose probability is any real number that can be enclosed, one by one or many in packed bits.

Eight independent coins, packed into a byte, have one of 256 outcomes. The unit interval is cut at their cumulated
probabilities; a uniform number falls into one of the pieces. Its first 16 bits decide that in all but at most 255 of
65,536 cases, by a table; the others draw 47 bits more, and the rare one that is still at a cut as many as it takes.
"""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from functools import partial
from math import ceil, floor
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from giveortake import exact
from giveortake.caching import cached
from giveortake.randomness import certified
from giveortake.randomness.entropy import Uniform, integer, settle, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.exact import Ball
    from giveortake.randomness.certified import BoolArray, FloatArray
    from giveortake.randomness.entropy import Entropy


def bernoulli(probability: Fraction, size: int, entropy: Entropy) -> BoolArray:
    """Independent coins that come up True with exactly that probability."""
    return bernoulli_real(partial(exact.enclosure, probability), size, entropy)


def bernoulli_exp(gamma: Fraction, size: int, entropy: Entropy) -> BoolArray:
    """Independent coins that come up True with probability exactly exp(−gamma), gamma ≥ 0."""

    def probability() -> Ball:
        return (-exact.enclosure(gamma)).exp()

    return bernoulli_real(probability, size, entropy)


def bernoulli_real(probability: Callable[[], Ball], size: int, entropy: Entropy) -> BoolArray:
    """Independent coins that come up True with the probability enclosed, evaluated at the ambient precision."""
    with exact.precision():
        ball = probability()
        surely = int(exact.probability_down(ball) * 2**certified.WORD_BITS)
        possibly = int(exact.probability_up(ball) * 2**certified.WORD_BITS)
    out = np.empty(size, dtype=np.bool_)
    for start in range(0, size, certified.BLOCK):
        block = words(entropy, min(certified.BLOCK, size - start)) & certified.MAGNITUDE
        coins = out[start : start + block.size]
        np.less(block, surely, out=coins)
        for index in np.flatnonzero((block >= surely) & (block <= possibly)):
            coins[index] = _exceeds(probability, Uniform(entropy, int(block[index]), certified.WORD_BITS))
    return out


def survives(
    gammas: FloatArray,
    error: float,
    exact_gamma: Callable[[int], tuple[Callable[[], Ball], *tuple[Uniform, ...]]],
    entropy: Entropy,
) -> BoolArray:
    """Independent coins, the i-th True with probability exactly exp(−γᵢ).

    `gammas` approximates every γᵢ within `error` · (1 + γᵢ); `exact_gamma(i)` gives an enclosure of γᵢ at the ambient
    precision, followed by the uniforms it is a function of. The coin is True when an exponential variable
    exceeds γᵢ.
    """
    block = words(entropy, gammas.size) & certified.MAGNITUDE
    margin = certified.exponential(block)
    margin -= gammas
    out: BoolArray = margin > 0
    undecided = np.abs(margin) <= error * (1 + gammas) + certified.EXPONENTIAL_ERROR
    undecided |= block < certified.LEAST_WORD
    for index in map(int, np.flatnonzero(undecided)):
        gamma, *sources = exact_gamma(index)
        out[index] = _outlives(gamma, Uniform(entropy, int(block[index]), certified.WORD_BITS), *sources)
    return out


def _exceeds(probability: Callable[[], Ball], uniform: Uniform) -> bool:
    return settle(lambda: exact.difference_is_positive(probability(), uniform.ball()), uniform)


def _outlives(gamma: Callable[[], Ball], uniform: Uniform, *sources: Uniform) -> bool:
    return settle(lambda: exact.difference_is_positive(uniform.exponential(), gamma()), uniform, *sources)


ByteArray: TypeAlias = "npt.NDArray[np.uint8]"

_FIRST, _MORE = 16, 47
_BLOCK = 1 << 17  # bytes of coins at a time, so that everything stays in the processor's cache
_UNDECIDED = 256


class _Pieces(NamedTuple):
    """Where the unit interval is cut, and what the first bits of a uniform number decide."""

    cuts: tuple[Fraction, ...]
    rounded: npt.NDArray[np.int64]  # ⌊cut · 2^63⌋
    table: npt.NDArray[np.uint16]


def packed_bernoulli(probability: Fraction, rows: int, columns: int, entropy: Entropy) -> ByteArray:
    """Independent coins, each True with exactly that probability: one row of bits each, the lowest bit first.

    Coin j of a row is bit j % 8 of byte j // 8; the bits after the last coin are zero.
    """
    width = -(-columns // 8)
    out = np.empty(rows * width, dtype=np.uint8)
    pieces = _pieces(probability)
    buffer = np.empty(_BLOCK, dtype=np.uint16)
    for start in range(0, out.size, _BLOCK):
        target = out[start : start + _BLOCK]
        first = np.frombuffer(entropy.read(2 * target.size), dtype="<u2")
        picked = buffer[: target.size]
        np.take(pieces.table, first, out=picked, mode="clip")
        target[:] = picked
        undecided = np.flatnonzero(picked == _UNDECIDED)
        target[undecided] = _decided(first[undecided], pieces, entropy)
    bits = out.reshape(rows, width)
    if columns % 8 and rows:
        bits[:, -1] &= (1 << (columns % 8)) - 1
    return bits


@cached(64)
def _pieces(probability: Fraction) -> _Pieces:
    chances = [probability**ones * (1 - probability) ** (8 - ones) for ones in range(9)]
    cuts, total = [], Fraction(0)
    for outcome in range(256):
        total += chances[outcome.bit_count()]
        cuts.append(total)
    table = np.full(1 << _FIRST, _UNDECIDED, dtype=np.uint16)
    for outcome, (low, high) in enumerate(zip([Fraction(0), *cuts], cuts, strict=False)):
        table[ceil(low * 2**_FIRST) : floor(high * 2**_FIRST)] = outcome
    rounded = np.array([floor(cut * 2 ** (_FIRST + _MORE)) for cut in cuts[:-1]], dtype=np.int64)
    return _Pieces(tuple(cuts[:-1]), rounded, table)


def _decided(first: npt.NDArray[np.uint16], pieces: _Pieces, entropy: Entropy) -> ByteArray:
    low_bits = words(entropy, first.size).view(np.uint64) >> np.uint64(64 - _MORE)
    numbers = ((first.astype(np.uint64) << np.uint64(_MORE)) | low_bits).astype(np.int64)
    below = np.searchsorted(pieces.rounded, numbers, side="left")
    out = below.astype(np.uint8)
    for index in np.flatnonzero(pieces.rounded.take(below, mode="clip") == numbers):
        out[index] = _settled(int(numbers[index]), pieces.cuts, entropy)
    return out


def _settled(number: int, cuts: tuple[Fraction, ...], entropy: Entropy) -> int:
    """The piece that a uniform number lies in; digits are drawn until it is on one side of every cut."""
    bits = _FIRST + _MORE
    while True:
        piece = bisect_right(cuts, Fraction(number, 1 << bits))
        if piece == len(cuts) or Fraction(number + 1, 1 << bits) <= cuts[piece]:
            return piece
        number, bits = (number << 64) | integer(entropy, 64), bits + 64
