"""Promises: what they protect, how they combine, convert and read, and the events that make them.

Everything here is a value. Rounding is upwards for what is promised, downwards for what attackers are left with.
"""

from giveortake.privacy import events
from giveortake.privacy.approximate import ApproxDP, ComputationalDP, ProbabilisticDP
from giveortake.privacy.composition import parallel, sequential
from giveortake.privacy.concentrated import ZCDP
from giveortake.privacy.gaussian import GaussianDP, gaussian_delta, gaussian_mu
from giveortake.privacy.guarantee import ROW, Guarantee, Neighbours, Unit, unit
from giveortake.privacy.pure import PureDP
from giveortake.privacy.renyi import RenyiDP

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
