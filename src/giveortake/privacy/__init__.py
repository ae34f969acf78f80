"""Promises: what they protect, how they combine, convert and read, and the events that make them.

Everything here is a value. Rounding is upwards for what is promised, downwards for what attackers are left with.
"""

from giveortake.privacy import events
from giveortake.privacy.definitions import (
    ZCDP,
    ApproxDP,
    ComputationalDP,
    GaussianDP,
    ProbabilisticDP,
    PureDP,
    RenyiDP,
    gaussian_delta,
    gaussian_mu,
)
from giveortake.privacy.guarantee import ROW, Guarantee, Neighbours, Unit, parallel, sequential, unit

__all__ = [
    "ROW",
    "ZCDP",
    "ApproxDP",
    "ComputationalDP",
    "GaussianDP",
    "Guarantee",
    "Neighbours",
    "ProbabilisticDP",
    "PureDP",
    "RenyiDP",
    "Unit",
    "events",
    "gaussian_delta",
    "gaussian_mu",
    "parallel",
    "sequential",
    "unit",
]
