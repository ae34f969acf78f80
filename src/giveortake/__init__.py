"""giveortake: differential privacy as a system.

>>> import giveortake as gt
>>> print(gt.PureDP("0.1").repeat(3))
ε = 0.3 (pure): adding or removing one row changes the probability of any outcome by a factor of at most 1.3499.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from giveortake import accounting, errors, ledger, mechanisms, privacy
from giveortake.accounting import compose
from giveortake.mechanisms import exponential, gaussian, histogram, laplace, margin, randomized_response
from giveortake.privacy import (
    ROW,
    ZCDP,
    ApproxDP,
    ComputationalDP,
    GaussianDP,
    ProbabilisticDP,
    PureDP,
    RenyiDP,
    parallel,
    unit,
)

if TYPE_CHECKING:
    from types import ModuleType

    from giveortake import audit, plot, verify

__version__ = "0.1.0"

__all__ = [
    "ROW",
    "ZCDP",
    "ApproxDP",
    "ComputationalDP",
    "GaussianDP",
    "ProbabilisticDP",
    "PureDP",
    "RenyiDP",
    "__version__",
    "accounting",
    "audit",
    "compose",
    "errors",
    "exponential",
    "gaussian",
    "histogram",
    "laplace",
    "ledger",
    "margin",
    "mechanisms",
    "parallel",
    "plot",
    "privacy",
    "randomized_response",
    "unit",
    "verify",
]

_WHEN_FIRST_USED = {"audit", "plot", "verify"}


def __getattr__(name: str) -> ModuleType:
    """Rooms at the edge of the house are opened when somebody enters."""
    if name in _WHEN_FIRST_USED:
        return importlib.import_module(f"giveortake.{name}")
    raise AttributeError(f"module 'giveortake' has no attribute {name!r}")
