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
    ApproxOdometer,
    Filter,
    GaussianDPFilter,
    Odometer,
    PureDPFilter,
    PureOdometer,
    RenyiDPFilter,
    ZCDPFilter,
    filter,  # noqa: A004 (a held name)
    odometer,
)
from giveortake.accounting.pricing import Snapshot
from giveortake.privacy import events

if TYPE_CHECKING:
    from giveortake.accounting.composition import (
        Interval,
        advanced_epsilon,
        calibrate,
        compose,
        delta_interval,
        epsilon_interval,
        least_miss_rate,
    )

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


def __getattr__(name: str) -> Any:
    """A name that a session does not need is loaded on first use."""
    if name in __all__:
        return getattr(import_module("giveortake.accounting.composition"), name)
    raise AttributeError(f"module 'giveortake.accounting' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
