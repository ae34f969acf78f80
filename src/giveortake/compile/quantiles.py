"""Quantiles from one noisy tree of bins, with a band around the distribution function.

The bins are the leaves of a binary tree; every level of it is released with noise of its own. The number of values
below any border is a sum of at most one node from each level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from giveortake.mechanisms import tails

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy.typing as npt

    from giveortake.compile.releases import Combined

    Floats: TypeAlias = npt.NDArray[np.float64]


def quantile_band(bins: Combined, quantile: Fraction, miss: float) -> tuple[Floats, Floats, Floats]:
    """Low, value and high of a quantile, for every key.

    Guarantee: a true quantile x has (1−q)·#(values left of the border above x) ≥ q·#(values right of it), and the
    other way round for the border below. Descend the tree: at each node, compare the noisy difference
    D = (1−q)·left − q·right at the border in its middle with zero, give or take a margin m. As long as the descent is
    on the path to x, it can leave it to the wrong side only if the noise of D exceeds m, which the union bound over
    the levels of that one path allows with probability at most miss/2 for each end.
    """
    q = float(quantile)
    levels = bins.levels
    margin = rank_margin(bins, miss)
    ends = [_descend(levels, q, shift) for shift in (margin, 0.0, -margin)]
    low = bins.low + ends[0] * bins.width
    high = bins.low + (ends[2] + 1) * bins.width
    value = bins.low + (ends[1] + 0.5) * bins.width
    if bins.width == 1:  # whole numbers: a bin is one of them
        value, high = bins.low + ends[1], bins.low + ends[2]
    return np.minimum(low, value), value, np.maximum(high, value)


def rank_margin(bins: Combined, miss: float) -> float:
    """By how many values the count at a border may be off, so that both ends of a quantile hold: no row decides it."""
    depth = len(bins.levels)
    nodes = depth + 1  # that the difference at a border takes: one of each level and one more, weighted by at most one
    return tails.quantile([tail for tail in bins.tails for _ in range(nodes)], miss / depth) + bins.slack * 2 * depth


def _descend(levels: list[Floats], q: float, shift: float) -> Floats:
    """The leaf reached when going right wherever D + shift < 0."""
    keys = levels[0].shape[0]
    rows = np.arange(keys)
    total = levels[0].sum(axis=1)
    below = np.zeros(keys)
    position = np.zeros(keys, dtype=np.int64)
    for level in levels:
        left = level[rows, 2 * position]
        at_border = below + left
        difference = (1 - q) * at_border - q * (total - at_border)
        right = difference + shift < 0
        below = np.where(right, at_border, below)
        position = 2 * position + right
    return position.astype(np.float64)
