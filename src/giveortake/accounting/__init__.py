"""Events priced: composition of what is declared together, and guards for what is chosen adaptively.

>>> from giveortake.accounting import events
>>> print(compose([events.Laplace(10)] * 3))
ε = 0.3 (pure): adding or removing one row changes the probability of any outcome by a factor of at most 1.3499.
"""

from giveortake.accounting.calibration import calibrate
from giveortake.accounting.composition import advanced_epsilon, compose
from giveortake.accounting.filters import (
    Filter,
    GaussianDPFilter,
    PureDPFilter,
    Race,
    RenyiDPFilter,
    Snapshot,
    ZCDPFilter,
    filter,  # noqa: A004 (a held name)
)
from giveortake.accounting.interval import Interval
from giveortake.accounting.intervals import delta_interval, epsilon_interval, least_miss_rate
from giveortake.accounting.odometers import ApproxOdometer, Odometer, PureOdometer, odometer
from giveortake.privacy import events

__all__ = [
    "ApproxOdometer",
    "Filter",
    "GaussianDPFilter",
    "Interval",
    "Odometer",
    "PureDPFilter",
    "PureOdometer",
    "Race",
    "RenyiDPFilter",
    "Snapshot",
    "ZCDPFilter",
    "advanced_epsilon",
    "calibrate",
    "compose",
    "delta_interval",
    "epsilon_interval",
    "events",
    "filter",
    "least_miss_rate",
    "odometer",
]
