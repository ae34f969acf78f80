"""giveortake: differential privacy as a system.

>>> import giveortake as gt
>>> print(gt.PureDP("0.1").repeat(3))
ε = 0.3 (pure): adding or removing one row changes the probability of any outcome by a factor of at most 1.3499.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from giveortake import accounting, answers, errors, ledger, mechanisms, privacy
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
    from giveortake import audit, frame, local, plot, session, verify
    from giveortake.frame import (
        col,
        count,
        count_distinct,
        count_if,
        lit,
        maximum,
        mean,
        median,
        minimum,
        quantile,
        stddev,
        sum,  # noqa: A004 (read as gt.sum)
        variance,
        when,
    )
    from giveortake.session import protect

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
    "answers",
    "audit",
    "col",
    "compose",
    "count",
    "count_distinct",
    "count_if",
    "errors",
    "exponential",
    "frame",
    "gaussian",
    "histogram",
    "laplace",
    "ledger",
    "lit",
    "local",
    "margin",
    "maximum",
    "mean",
    "mechanisms",
    "median",
    "minimum",
    "parallel",
    "plot",
    "privacy",
    "protect",
    "quantile",
    "randomized_response",
    "session",
    "stddev",
    "sum",
    "unit",
    "variance",
    "verify",
    "when",
]

_ROOMS = frozenset({"audit", "frame", "local", "plot", "session", "verify"})  # entered when somebody needs them


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"giveortake.{name}")
    if name == "protect":
        return import_module("giveortake.session").protect
    if name in __all__:  # and not found above: a word of the frames
        return getattr(import_module("giveortake.frame"), name)
    raise AttributeError(f"module 'giveortake' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
