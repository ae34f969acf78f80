"""Prices of events: composition of charges declared together, and filters for charges chosen adaptively.

>>> from giveortake.accounting import compose, events
>>> print(compose([events.Laplace(10)] * 3))
ε = 0.3 (pure): adding or removing one row changes the probability of any outcome by a factor of at most 1.3499.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from giveortake.accounting.filters import (
    ApproxDPFilter,
    Filter,
    GaussianDPFilter,
    PureDPFilter,
    RenyiDPFilter,
    ZCDPFilter,
    filter,  # noqa: A004 (a held name)
)
from giveortake.accounting.pricing import Snapshot
from giveortake.privacy import events

if TYPE_CHECKING:
    from giveortake.accounting.composition import advanced_epsilon, calibrate, compose
    from giveortake.accounting.intervals import Interval, delta_interval, epsilon_interval, least_miss_rate
    from giveortake.accounting.odometers import ApproxOdometer, Odometer, PureOdometer, odometer

__all__ = [
    "ApproxDPFilter",
    "ApproxOdometer",
    "Filter",
    "GaussianDPFilter",
    "Interval",
    "Odometer",
    "PureDPFilter",
    "PureOdometer",
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

_HOME_OF = {  # names that a session does not need: loaded on first use
    "ApproxOdometer": "odometers",
    "Interval": "intervals",
    "Odometer": "odometers",
    "PureOdometer": "odometers",
    "advanced_epsilon": "composition",
    "calibrate": "composition",
    "compose": "composition",
    "delta_interval": "intervals",
    "epsilon_interval": "intervals",
    "least_miss_rate": "intervals",
    "odometer": "odometers",
}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"giveortake.accounting.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'giveortake.accounting' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
