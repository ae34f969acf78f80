"""Draws of exactly the stated distributions, at array speed: coins, integer noise, and the greatest noisy score.

Doubles with a proved error bound decide nearly all draws; a draw that the bound cannot decide is handed to arbitrary
precision with the same random digits, so the outcome is that of exact real arithmetic in every case. Of doubles only +,
−, ×, ÷, √, conversion of integers and rounding to an integer are used, which IEEE 754 defines to the last bit; the
bounds are derived in `docs/adr/0003-exact-noise-at-array-speed.md` and checked against certified enclosures.

* With U uniform, E = −ln U is an exponential variable, and ±⌊bE + ½⌋ a continuous Laplace variable of scale b, rounded
  to the nearest integer: P[k] = F((k+½)/b) − F((k−½)/b).
* ⌊bE⌋ is geometric, P[G ≥ k] = e^(−k/b), and the difference of two such G is two-sided geometric ("discrete Laplace"),
  P[k] ∝ e^(−|k|/b) [GRS12].
* The rounded normal distribution has P[k] = Φ((k+½)/σ) − Φ((k−½)/σ), the discrete Gaussian [CKS20] P[k] ∝ e^(−k²/2σ²).

Eight independent coins, packed into a byte, have one of 256 outcomes: the unit interval is cut at their cumulated
probabilities, and a uniform number falls into one of the pieces. Its first 16 bits decide that in all but at most 255
of 65,536 cases, by a table; the others draw 47 bits more, and the rare one that is still at a cut as many as it takes.

Far beyond double precision a variable X ≥ 0 is split at blocks of 2^j: X = 2^j (H + V) with H = ⌊X / 2^j⌋ and V in
[0, 1). H has the same kind of distribution at a scale that doubles handle. Given H, the density of V falls by less than
one part in 2^15 across the block, so V is drawn uniformly, with as many digits as the result needs, and accepted with
the probability that the density asks for.

argmax of xᵢ + Nᵢ with Gumbel noise has probabilities proportional to exp(xᵢ) (the exponential mechanism), exponential
noise gives permute-and-flip [DKX+21], Laplace noise report-noisy-max.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from functools import partial
from math import ceil, floor
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from giveortake import exact
from giveortake.caching import cached
from giveortake.randomness.entropy import Uniform, integer, settle, word, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.exact import Ball
    from giveortake.randomness.entropy import Entropy


FloatArray: TypeAlias = npt.NDArray[np.float64]
WordArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
IntArray: TypeAlias = npt.NDArray[Any]  # int64, or Python integers where those do not fit

BLOCK = 1 << 14  # draws handled at once: the scratch arrays stay in the processor's cache
WORD_BITS = 63  # digits of a uniform that a word carries; the remaining bit is a sign
MAGNITUDE = np.int64(2**63 - 1)

LEAST_WORD = np.int64(1 << 47)  # words below it (one in 2^16) leave the exponential too uncertain
EXPONENTIAL_ERROR = 2.0**-45  # |computed − true| for words of at least LEAST_WORD
LEAST_EXPONENTIAL = 2.0**-16  # below it the square root, and the logarithm, lose too many digits
ROOT_ERROR = 2.0**-41  # of √E for E ≥ LEAST_EXPONENTIAL
GUMBEL_ERROR = 2.0**-32  # of −ln E for E ≥ LEAST_EXPONENTIAL
NORMAL_ERROR = 2.0**-39  # of a standard normal magnitude

_MIDDLE = math.sqrt(2)  # any double near √2 serves: what matters is its own logarithm
_LOG_MIDDLE = 0.3465735902799727  # ln of the double above, correctly rounded
_LOG_2 = 0.6931471805599453
_ATANH = tuple(2 / (2 * j + 1) for j in range(9))  # 2 artanh(s) = s (2 + 2/3 s² + 2/5 s⁴ + …)
_SINE = tuple((-1) ** j / math.factorial(2 * j + 1) for j in range(8))
_COSINE = tuple((-1) ** j / math.factorial(2 * j) for j in range(9))
_ANGLE_UNIT = math.pi * 2.0**-63  # a signed 62-bit word times this is uniform on [−π/4, π/4)

_MANTISSA = np.int64((1 << 52) - 1)
_EXPONENT_OF_ONE = np.int64(1023 << 52)


def log_ratio(x: FloatArray, exponent: int) -> FloatArray:
    """ln(x / 2^exponent) for positive normal x; overwrites x.

    With x = 2^e m and 1 ≤ m < 2 it is (e − exponent) ln 2 + ln c + 2 artanh((m − c)/(m + c)), c near √2, and the
    series is cut after s^17, s² < 0.0295.
    """
    bits = x.view(np.int64)
    whole = (bits >> 52).astype(np.float64)
    bits &= _MANTISSA
    bits |= _EXPONENT_OF_ONE
    square = x + _MIDDLE
    x -= _MIDDLE
    x /= square
    np.multiply(x, x, out=square)
    series = _polynomial(_ATANH, square)
    series *= x
    whole -= 1023.0 + exponent
    whole *= _LOG_2
    whole += _LOG_MIDDLE
    whole += series
    return whole


def exponential(magnitudes: WordArray) -> FloatArray:
    """−ln U for uniforms U whose first 63 digits are given, within EXPONENTIAL_ERROR."""
    result = log_ratio(magnitudes.astype(np.float64), WORD_BITS)
    np.negative(result, out=result)
    return result


def normal_pair(magnitudes: WordArray, angles: WordArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Two independent standard normal magnitudes from each pair of words, within NORMAL_ERROR, and where that fails.

    Box and Muller: √(2E) cos φ and √(2E) sin φ with φ uniform on a quarter turn. With φ = π/4 + a these are
    √E (cos a − sin a) and √E (cos a + sin a), and a lies in [−π/4, π/4), where Taylor's series converge fast.
    """
    root = exponential(magnitudes)
    failed = magnitudes < LEAST_WORD
    failed |= root < LEAST_EXPONENTIAL
    np.maximum(root, LEAST_EXPONENTIAL, out=root)
    np.sqrt(root, out=root)
    angle = ((angles << 2) >> 2).astype(np.float64)
    angle *= _ANGLE_UNIT
    square = angle * angle
    sine = _polynomial(_SINE, square)
    sine *= angle
    cosine = _polynomial(_COSINE, square)
    cosine *= root
    sine *= root
    return cosine - sine, cosine + sine, failed


def rounded(values: FloatArray, tolerance: float) -> tuple[FloatArray, BoolArray]:
    """The nearest integers, and where a value within `tolerance` might round differently; overwrites values."""
    nearest = np.rint(values)
    values -= nearest
    np.abs(values, out=values)
    return nearest, values > 0.5 - tolerance


def with_sign(magnitudes: FloatArray, signs: WordArray) -> WordArray:
    """Whole magnitudes as integers, negated where the sign word is −1 and kept where it is 0."""
    result = magnitudes.astype(np.int64)
    result ^= signs
    result -= signs
    return result


def put(out: IntArray, index: int, value: int) -> IntArray:
    """Store an exact integer, widening the array to Python integers when int64 cannot hold it."""
    if out.dtype != object and not -(2**63) <= value < 2**63:
        out = out.astype(object)
    out[index] = value
    return out


def narrowed(values: IntArray) -> IntArray:
    """An array of integers as int64 if every one of them fits, else unchanged."""
    if values.dtype != object:
        return values
    try:
        return values.astype(np.int64)
    except OverflowError:
        return values


def integers(numbers: list[int]) -> IntArray:
    """Python integers as an array: int64 if every one of them fits."""
    try:
        return np.array(numbers, dtype=np.int64)
    except OverflowError:
        return np.array(numbers, dtype=object)


def _polynomial(coefficients: tuple[float, ...], x: FloatArray) -> FloatArray:
    result = x * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        result += coefficient
        result *= x
    result += coefficients[0]
    return result


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
        surely = int(exact.probability_down(ball) * 2**WORD_BITS)
        possibly = int(exact.probability_up(ball) * 2**WORD_BITS)
    out = np.empty(size, dtype=np.bool_)
    for start in range(0, size, BLOCK):
        block = words(entropy, min(BLOCK, size - start)) & MAGNITUDE
        coins = out[start : start + block.size]
        np.less(block, surely, out=coins)
        for index in np.flatnonzero((block >= surely) & (block <= possibly)):
            coins[index] = _exceeds(probability, Uniform(entropy, int(block[index]), WORD_BITS))
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
    block = words(entropy, gammas.size) & MAGNITUDE
    margin = exponential(block)
    margin -= gammas
    out: BoolArray = margin > 0
    undecided = np.abs(margin) <= error * (1 + gammas) + EXPONENTIAL_ERROR
    undecided |= block < LEAST_WORD
    for index in map(int, np.flatnonzero(undecided)):
        gamma, *sources = exact_gamma(index)
        out[index] = _outlives(gamma, Uniform(entropy, int(block[index]), WORD_BITS), *sources)
    return out


def _exceeds(probability: Callable[[], Ball], uniform: Uniform) -> bool:
    return settle(lambda: exact.difference_is_positive(probability(), uniform.ball()), uniform)


def _outlives(gamma: Callable[[], Ball], uniform: Uniform, *sources: Uniform) -> bool:
    return settle(lambda: exact.difference_is_positive(uniform.exponential(), gamma()), uniform, *sources)


ByteArray: TypeAlias = "npt.NDArray[np.uint8]"

_FIRST_BITS, _LATER_BITS = 16, 47
_BYTES_AT_ONCE = 1 << 17  # bytes of coins at a time, so that everything stays in the processor's cache
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
    buffer = np.empty(_BYTES_AT_ONCE, dtype=np.uint16)
    for start in range(0, out.size, _BYTES_AT_ONCE):
        target = out[start : start + _BYTES_AT_ONCE]
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
    table = np.full(1 << _FIRST_BITS, _UNDECIDED, dtype=np.uint16)
    for outcome, (low, high) in enumerate(zip([Fraction(0), *cuts], cuts, strict=False)):
        table[ceil(low * 2**_FIRST_BITS) : floor(high * 2**_FIRST_BITS)] = outcome
    rounded = np.array([floor(cut * 2 ** (_FIRST_BITS + _LATER_BITS)) for cut in cuts[:-1]], dtype=np.int64)
    return _Pieces(tuple(cuts[:-1]), rounded, table)


def _decided(first: npt.NDArray[np.uint16], pieces: _Pieces, entropy: Entropy) -> ByteArray:
    low_bits = words(entropy, first.size).view(np.uint64) >> np.uint64(64 - _LATER_BITS)
    numbers = ((first.astype(np.uint64) << np.uint64(_LATER_BITS)) | low_bits).astype(np.int64)
    below = np.searchsorted(pieces.rounded, numbers, side="left")
    out = below.astype(np.uint8)
    for index in np.flatnonzero(pieces.rounded.take(below, mode="clip") == numbers):
        out[index] = _settled(int(numbers[index]), pieces.cuts, entropy)
    return out


def _settled(number: int, cuts: tuple[Fraction, ...], entropy: Entropy) -> int:
    """The piece that a uniform number lies in; digits are drawn until it is on one side of every cut."""
    bits = _FIRST_BITS + _LATER_BITS
    while True:
        piece = bisect_right(cuts, Fraction(number, 1 << bits))
        if piece == len(cuts) or Fraction(number + 1, 1 << bits) <= cuts[piece]:
            return piece
        number, bits = (number << 64) | integer(entropy, 64), bits + 64


_FEW = 4  # up to here arbitrary precision is faster than starting the array machinery
_MAGNITUDE = int(MAGNITUDE)
_WORD_SUFFICES = 1 << 20  # scales up to here rarely need more digits than a word has


def rounded_laplace(scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """Independent draws of a continuous Laplace variable of that scale, rounded to the nearest integer."""
    if size > _FEW and scale > WIDEST_LAPLACE:
        return _signed(_wide_exponential(scale, size, entropy, rounding=True), entropy)
    return _draw(scale, size, entropy, rounding=True)


def geometric(scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """Independent draws of a geometric variable: P[G ≥ k] = exp(−k / scale) for whole k ≥ 0."""
    if size > _FEW and scale > WIDEST_LAPLACE:
        return narrowed(_wide_exponential(scale, size, entropy, rounding=False))
    return _draw(scale, size, entropy, rounding=False)


def two_sided_geometric(scale: Fraction, size: int, entropy: Entropy) -> IntArray:
    """Independent draws with P[k] ∝ exp(−|k| / scale) on the integers."""
    return geometric(scale, size, entropy) - geometric(scale, size, entropy)


def _draw(scale: Fraction, size: int, entropy: Entropy, *, rounding: bool) -> IntArray:
    """±⌊scale · E + ½⌋ if rounding, else ⌊scale · E⌋."""
    if size <= _FEW:
        return integers([_exact_laplace(scale, word(entropy), entropy, rounding=rounding) for _ in range(size)])
    out: IntArray = np.empty(size, dtype=np.int64)
    b = float(scale)
    tolerance = 2 * b * EXPONENTIAL_ERROR  # room for the roundings of scale, product and shift
    for start in range(0, size, BLOCK):
        stop = min(start + BLOCK, size)
        block = words(entropy, stop - start)
        magnitudes = block & MAGNITUDE
        values = exponential(magnitudes)
        values *= b
        if not rounding:
            values -= 0.5
        nearest, undecided = rounded(values, tolerance)
        undecided |= magnitudes < LEAST_WORD
        out[start:stop] = with_sign(nearest, _signs(block, rounding=rounding))
        for index in np.flatnonzero(undecided):
            value = _exact_laplace(scale, int(block[index]), entropy, rounding=rounding)
            out = put(out, start + int(index), value)
    return out


def _signs(block: WordArray, *, rounding: bool) -> WordArray:
    return block >> 63 if rounding else np.zeros_like(block)


def _exact_laplace(scale: Fraction, random_word: int, entropy: Entropy, *, rounding: bool) -> int:
    """What `_draw` makes of one word, with as many further digits as the decision needs."""
    uniform = Uniform(entropy, random_word & _MAGNITUDE, WORD_BITS)
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
        return integers(draws[:size])
    if sigma > WIDEST_NORMAL:
        return _wide_normal(sigma, size, entropy)
    return magnitudes(sigma, size, entropy, rounding=True)


def magnitudes(sigma: Fraction, size: int, entropy: Entropy, *, rounding: bool) -> IntArray:
    """Draws of ±⌊σ|Z| + ½⌋ if rounding, else of ⌊σ|Z|⌋, for standard normal Z."""
    out: IntArray = np.empty(size + size % 2, dtype=np.int64)
    scale = float(sigma)
    tolerance = 2 * scale * NORMAL_ERROR
    for start in range(0, size, BLOCK):
        half = min(BLOCK, out.size - start) // 2
        block = words(entropy, 2 * half)
        radii, angles = block[:half], block[half:]
        *pair, undecided = normal_pair(radii & MAGNITUDE, angles)
        # The angle uses 62 bits of its word; the two left over are the signs.
        signs = (angles >> 63, (angles << 1) >> 63) if rounding else (np.zeros_like(angles),) * 2
        for offset, values, sign in zip((start, start + half), pair, signs, strict=True):
            np.multiply(values, scale, out=values)
            if not rounding:
                np.subtract(values, 0.5, out=values)
            nearest, doubtful = rounded(values, tolerance)
            undecided |= doubtful
            out[offset : offset + half] = with_sign(nearest, sign)
        for index in map(int, np.flatnonzero(undecided)):
            first, second = _exact_normal(sigma, int(radii[index]), int(angles[index]), entropy, rounding=rounding)
            out = put(out, start + index, first)
            out = put(out, start + half + index, second)
    return out[:size]


def _exact_normal(sigma: Fraction, distance: int, angle: int, entropy: Entropy, *, rounding: bool) -> tuple[int, int]:
    """What `magnitudes` makes of two words, with as many further digits as the decisions need."""
    length = Uniform(entropy, distance & _MAGNITUDE, WORD_BITS)
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
    return narrowed(out)


def _ratio(magnitudes: IntArray, sigma: Fraction) -> FloatArray:
    """|Y| / σ in doubles, to a relative 2^-51 up to `_FAR`; a σ below all normal doubles counts as the least of them.

    0 / σ is 0 however small σ is, and every other candidate is then far.
    """
    if magnitudes.dtype != object:
        with np.errstate(over="ignore"):
            return magnitudes.astype(np.float64) / max(float(sigma), _LEAST_DOUBLE)
    numerator, denominator = sigma.numerator, sigma.denominator
    return np.array([value * denominator / numerator for value in magnitudes.tolist()])


WIDEST_LAPLACE = Fraction(1 << 34)  # up to these scales the fast path decides all but one draw in 500
WIDEST_NORMAL = Fraction(1 << 28)
_COARSE_BITS = 20  # scale of the block numbers: between 2^19 and 2^20
_FLOAT_ERROR = 2.0**-50


def _wide_normal(sigma: Fraction, size: int, entropy: Entropy) -> IntArray:
    """±⌊sigma · |Z| + ½⌋ for standard normal Z."""
    shift, coarse = _split(sigma)
    blocks = magnitudes(coarse, size, entropy, rounding=False)
    factor = 1 / (2 * coarse * coarse)

    def exact_gamma(block: int, position: Ball) -> Ball:  # ((H + V)² − H²) / 2s²
        return position * (2 * block + position) * exact.enclosure(factor)

    def gammas(blocks: FloatArray, positions: FloatArray) -> FloatArray:
        return positions * (2 * blocks + positions) * float(factor)

    positions = _positions(blocks, shift, gammas, exact_gamma, entropy)
    return _signed(_assembled(blocks, positions, shift, rounding=True), entropy)


def _wide_exponential(scale: Fraction, size: int, entropy: Entropy, *, rounding: bool) -> IntArray:
    """⌊scale · E + ½⌋ if rounding, else ⌊scale · E⌋, for exponential E."""
    shift, coarse = _split(scale)
    blocks = geometric(coarse, size, entropy)

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
    return narrowed(magnitudes)


Noise: TypeAlias = Literal["gumbel", "exponential", "laplace"]

Scores: TypeAlias = "list[Fraction] | FloatArray | WordArray"

_NOISE_ERROR = 4 * GUMBEL_ERROR  # of the noise and of the sum, which is of moderate size where it matters
_SCORE_ERROR = 2.0**-49  # of (score − top) / scale, relative to (|score| + |top|) / scale


def noisy_argmax(scores: Scores, scale: Fraction, noise: Noise, entropy: Entropy) -> int:
    """The index i of the greatest scores[i] / scale + Nᵢ."""
    sources = _Sources(len(scores), noise, entropy)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows stays a contender and is compared exactly
        approximate = np.asarray(scores, dtype=np.float64)
        top = float(approximate.max())
        error = (np.abs(approximate) + abs(top)) / float(scale) * _SCORE_ERROR + _NOISE_ERROR
        total = (approximate - top) / float(scale) + sources.noises
        bar = np.nanmax(total - error)
        contenders = [int(index) for index in np.flatnonzero(~(total + error < bar))]
    if len(contenders) == 1:
        return contenders[0]
    exactly = {index: exact_score(scores, index) for index in contenders}
    best = max(exactly.values())
    distances = {index: (score - best) / scale for index, score in exactly.items()}
    uniforms = {index: sources.uniform(index) for index in contenders}

    def winner() -> int | None:
        totals = {i: exact.enclosure(distances[i]) + sources.ball(i, uniforms[i]) for i in contenders}
        leader = max(contenders, key=lambda i: exact.midpoint(totals[i]))
        beaten = all(exact.difference_is_positive(totals[leader], totals[i]) for i in contenders if i != leader)
        return leader if beaten else None

    return settle(winner, *uniforms.values())


def exact_score(scores: Scores, index: int) -> Fraction:
    """A score as an exact fraction."""
    score = scores[index]
    return score if isinstance(score, Fraction) else Fraction(score.item())


class _Sources:
    """The noise of every candidate: in doubles within _NOISE_ERROR, and on demand with all the digits it needs."""

    def __init__(self, size: int, noise: Noise, entropy: Entropy) -> None:
        self._noise = noise
        self._entropy = entropy
        self._words = words(entropy, size)
        self._uniforms: dict[int, Uniform] = {}
        magnitudes = self._words & MAGNITUDE
        noises = exponential(magnitudes)
        uncertain = magnitudes < LEAST_WORD
        if noise == "gumbel":
            uncertain |= noises < LEAST_EXPONENTIAL
            noises = -log_ratio(np.maximum(noises, LEAST_EXPONENTIAL), 0)
        elif noise == "laplace":
            np.negative(noises, out=noises, where=self._words < 0)
        for index in map(int, np.flatnonzero(uncertain)):
            noises[index] = self._evaluated(index)
        self.noises = noises

    def uniform(self, index: int) -> Uniform:
        """The uniform behind one candidate's noise, with the digits drawn so far."""
        if index not in self._uniforms:
            magnitude = int(self._words[index]) & int(MAGNITUDE)
            self._uniforms[index] = Uniform(self._entropy, magnitude, WORD_BITS)
        return self._uniforms[index]

    def ball(self, index: int, uniform: Uniform) -> Ball:
        """The noise of one candidate, as far as the digits of its uniform tell."""
        if self._noise == "gumbel":
            return -uniform.exponential().log()
        return -uniform.exponential() if self._noise == "laplace" and self._words[index] < 0 else uniform.exponential()

    def _evaluated(self, index: int) -> float:
        uniform = self.uniform(index)
        return settle(lambda: exact.float_if_within(self.ball(index, uniform), GUMBEL_ERROR), uniform)
