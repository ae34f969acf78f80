"""What is assumed of floating-point functions, and the margins that follow.

Addition, multiplication, division and square roots are rounded correctly (IEEE 754). Of `exp`, `expm1`, `log` and
`log1p` a relative error of 2^-48 is assumed, sixteen units in the last place; numpy tests its own to four, and
`tests/accounting/test_normal_tails.py` compares them with certified enclosures. Every margin below is larger than
what follows from these.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Complexes: TypeAlias = npt.NDArray[np.complex128]
Indices: TypeAlias = npt.NDArray[np.int64]

UNIT = 2.0**-53
FUNCTION_ERROR = 2.0**-48
TINY = 1e-290  # an absolute error that covers everything lost to underflow
WIDEST = 600.0  # a single loss beyond ±WIDEST is not put on a grid: e^600 is still a double


class NotResolved(Exception):
    """Floating-point numbers cannot tell; the caller falls back on cruder bounds."""


def exp_error(largest: float) -> float:
    """The relative error of e^x where x was computed with a few roundings from numbers of at most this size."""
    return 2 * FUNCTION_ERROR + 8 * UNIT * largest


def spaced(start: float, step: float, count: int) -> Floats:
    """The points start, start + step, and so on, each with two roundings."""
    return start + step * np.arange(count, dtype=np.float64)


def total(values: Floats) -> float:
    """The sum, in numpy's pairwise order. A dot product would start all threads of the linear algebra library."""
    return float(np.sum(values))


def norm(values: Floats) -> float:
    """The Euclidean norm."""
    return float(np.sqrt(np.sum(values * values)))
