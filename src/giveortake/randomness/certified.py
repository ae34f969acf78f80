"""Floating-point evaluation with a proved error bound: the fast path of every vector sampler.

Only +, −, ×, ÷, √, conversion of integers and rounding to an integer are used, which IEEE 754 defines to the last
bit; no library function whose accuracy depends on the platform is trusted. The bounds are derived in
`docs/adr/0003-exact-noise-at-array-speed.md` and checked against certified enclosures by
`tests/randomness/test_certified_bounds.py`. A draw that the bound cannot decide is handed to arbitrary precision
with the same random digits, so the outcome is that of exact real arithmetic in every case.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

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
