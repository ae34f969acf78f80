"""Uniform integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from giveortake.exact import whole
from giveortake.randomness.entropy import integer, words

if TYPE_CHECKING:
    from giveortake.randomness.certified import IntArray
    from giveortake.randomness.entropy import Entropy


def uniform_integers(bound: int, size: int, entropy: Entropy) -> IntArray:
    """Independent draws, uniform on 0 … bound − 1: too large candidates are thrown away, none is folded back."""
    bits = (whole("bound", bound) - 1).bit_length()
    if bits > 63:
        return _large(bound, bits, size, entropy)
    out = np.zeros(size, dtype=np.int64)
    pending = np.arange(size if bits else 0)
    while pending.size:
        candidates = (words(entropy, pending.size).view(np.uint64) >> np.uint64(64 - bits)).astype(np.int64)
        out[pending] = candidates
        pending = pending[candidates >= bound]
    return out


def _large(bound: int, bits: int, size: int, entropy: Entropy) -> IntArray:
    out = np.empty(size, dtype=object)
    for index in range(size):
        candidate = integer(entropy, bits)
        while candidate >= bound:
            candidate = integer(entropy, bits)
        out[index] = candidate
    return out
