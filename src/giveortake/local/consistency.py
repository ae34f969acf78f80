"""Shares made consistent with what everybody knows: none is negative, and together they are one [WLLL20].

All of this is post-processing of reports, and free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from giveortake.errors import InvalidParameter
from giveortake.exact import Number, open_probability
from giveortake.local.margins import FloatArray, quantile

if TYPE_CHECKING:
    from fractions import Fraction

Consistency: TypeAlias = Literal["clip", "norm-mul", "norm-sub", "base-cut"]


def made_consistent(shares: FloatArray, how: Consistency, spread: float, confidence: Number) -> FloatArray:
    """Make shares consistent in the way that `how` names.

    "clip" cuts each to [0, 1]; "norm-mul" cuts negative ones and rescales; "norm-sub" finds the nearest shares that are
    not negative and add up to one; "base-cut" keeps those that stand out from noise of standard
    deviation `spread` when all categories are looked at together.
    """
    if how not in get_args(Consistency):
        raise InvalidParameter("consistent", how, "is unknown", hint=f"write one of {', '.join(get_args(Consistency))}")
    if how == "clip":
        clipped: FloatArray = np.clip(shares, 0, 1)
        return clipped
    if how == "norm-mul":
        return rescaled(shares)
    if how == "norm-sub":
        return on_simplex(shares)
    missed: Fraction = 1 - open_probability("confidence", confidence)
    bar = quantile(1 - 2 * missed / max(2, shares.size)) * spread  # one-sided, shared by all categories
    standing_out: FloatArray = np.where(shares >= bar, np.clip(shares, 0, 1), 0.0)
    return standing_out


def rescaled(shares: FloatArray) -> FloatArray:
    """Negative shares cut, and the rest multiplied so that they add up to one; equal shares if nothing is left."""
    kept: FloatArray = np.maximum(shares, 0.0)
    total = float(kept.sum())
    return kept / total if total > 0 else np.full_like(shares, 1 / shares.size)


def on_simplex(shares: FloatArray) -> FloatArray:
    """The nearest point, by least squares, whose coordinates are not negative and add up to one.

    Subtract one number from all and cut at zero; the number is found from the sorted shares.

    >>> on_simplex(np.array([0.75, 0.5, -0.25])).tolist()
    [0.625, 0.375, 0.0]
    """
    falling = np.sort(shares)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, shares.size + 1)
    kept = int(np.flatnonzero(falling > excess)[-1])
    nearest: FloatArray = np.maximum(shares - excess[kept], 0.0)
    return nearest
