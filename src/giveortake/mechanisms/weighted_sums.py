"""How far to one side a weighted sum of rounded Laplace noises may lie, as in sums of many noisy counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats: TypeAlias = npt.NDArray[np.float64]

_TILTS = np.concatenate([np.geomspace(1e-3, 0.4, 12, endpoint=False), np.linspace(0.4, 0.99, 28)])
_SAFE = 1 + 1e-9  # more than what doubles lose on the way


def reach(weights: Floats, scale: float, miss: float) -> Floats:
    """For each row of weights w a t with P[Σ wᵢ·round(Zᵢ) > t] ≤ `miss`; the Zᵢ are Laplace noises of one scale.

    Guarantee (Chernoff): P[S > t] ≤ e^(−st)·E[e^(sS)] for every s > 0 where the mean exists, so that
    t = (ln(1/miss) + Σ ln E[e^(s·wᵢ·round(Z))]) / s is such a t, and so is the least of those over a grid of s. With
    u = e^(−1/(2b)), round(Z) is k with probability 1 − u at zero and sinh(1/(2b))·e^(−|k|/b) elsewhere, hence
    E[e^(x·round(Z))] = 1 − u + sinh(1/(2b))·(1/(e^(1/b − x) − 1) + 1/(e^(1/b + x) − 1)) for |x| < 1/b. Nothing is
    left to a normal approximation, and the rounding is part of the law.
    """
    rows = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    greatest = np.abs(rows).max(axis=1)
    found = np.zeros(len(rows))
    for place, (row, most) in enumerate(zip(rows, greatest, strict=True)):
        if most > 0:
            tilts = _TILTS / (scale * most)
            grown = _log_mean(tilts[:, np.newaxis] * np.abs(row[row != 0])[np.newaxis, :], scale).sum(axis=1)
            found[place] = ((np.log(1 / miss) + grown) / tilts).min() * _SAFE
    return found


def _log_mean(x: Floats, scale: float) -> Floats:
    """The logarithm of E[e^(x·round(Z))] for 0 ≤ x < 1/scale."""
    half, whole = 1 / (2 * scale), 1 / scale
    sinh = half + np.log(-np.expm1(-2 * half) / 2)
    below = sinh - (whole - x) - np.log(-np.expm1(x - whole))
    above = sinh - (whole + x) - np.log(-np.expm1(-x - whole))
    mean: Floats = np.logaddexp(np.log(-np.expm1(-half)), np.logaddexp(below, above))
    return np.maximum(mean, 0.0)
