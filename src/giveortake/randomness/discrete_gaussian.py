"""The discrete Gaussian law on the integers [CKS20]: P[k] ∝ exp(−k² / 2σ²)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from giveortake import exact
from giveortake.randomness import certified
from giveortake.randomness.bernoulli import survives
from giveortake.randomness.laplace import two_sided_geometric

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from giveortake.exact import Ball
    from giveortake.randomness.certified import FloatArray, IntArray
    from giveortake.randomness.entropy import Entropy

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
