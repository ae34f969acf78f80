"""Uniform integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from giveortake.exact import whole
from giveortake.randomness.entropy import integer, words

if TYPE_CHECKING:
    from giveortake.randomness.certified import IntArray
    from giveortake.randomness.entropy import Entropy


_BLOCK = 1 << 16


def uniform_integers(bound: int, size: int, entropy: Entropy) -> IntArray:
    """Independent draws, uniform on 0 … bound − 1: candidates that are too large are drawn again, not reduced."""
    bits = (whole("bound", bound) - 1).bit_length()
    if bits > 63:
        return _large(bound, bits, size, entropy)
    if not bits:
        return np.zeros(size, dtype=np.int64)
    out = np.empty(size, dtype=np.int64)
    for start in range(0, size, _BLOCK):  # so that the words stay in the processor's cache
        part = out[start : start + _BLOCK]
        part[:] = _candidates(bits, part.size, entropy)
    pending = np.flatnonzero(out >= bound) if bound < 1 << bits else out[:0]
    while pending.size:
        out[pending] = _candidates(bits, pending.size, entropy)
        pending = pending[out[pending] >= bound]
    return out


def _candidates(bits: int, size: int, entropy: Entropy) -> IntArray:
    return (words(entropy, size).view(np.uint64) >> np.uint64(64 - bits)).view(np.int64)


def _large(bound: int, bits: int, size: int, entropy: Entropy) -> IntArray:
    out = np.empty(size, dtype=object)
    for index in range(size):
        candidate = integer(entropy, bits)
        while candidate >= bound:
            candidate = integer(entropy, bits)
        out[index] = candidate
    return out
