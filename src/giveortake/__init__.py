"""giveortake: differential privacy as a system.

`gt.protect(table, unit=…, budget=…)` puts a table behind a budget, and gives a session. `session.sql("SELECT …")` is a
question, and so is `session.table().agg(…)` in Python. `question.quote(epsilon=…)` says what an answer would cost and
how far off it would be, for free. `question.answer(epsilon=…)` charges it and answers: values with their intervals.
`print(session)` shows what is left of the budget.

>>> import giveortake as gt
>>> print(gt.PureDP("0.1").repeat(3))
ε = 0.3 (pure): adding or removing one row changes the probability of any outcome by a factor of at most 1.3499.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from giveortake import errors, privacy
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
    from giveortake import (
        accounting,
        answers,
        audit,
        client,
        frame,
        learn,
        ledger,
        local,
        mechanisms,
        plot,
        publication,
        session,
        synth,
        verify,
        workload,
    )
    from giveortake.accounting import compose
    from giveortake.client import connect
    from giveortake.frame import aggregates, col, lit, when
    from giveortake.frame.aggregates import *  # noqa: F403 (each of them, by its own list)
    from giveortake.mechanisms.functions import exponential, gaussian, histogram, laplace, margin, randomized_response
    from giveortake.publication import publish, report
    from giveortake.session.protection import protect

__version__ = "0.2.0"

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
    "client",
    "col",
    "compose",
    "connect",
    "errors",
    "exponential",
    "frame",
    "gaussian",
    "histogram",
    "laplace",
    "learn",
    "ledger",
    "lit",
    "local",
    "margin",
    "mechanisms",
    "parallel",
    "plot",
    "privacy",
    "protect",
    "publication",
    "publish",
    "randomized_response",
    "report",
    "session",
    "synth",
    "unit",
    "verify",
    "when",
    "workload",
]

if TYPE_CHECKING:
    __all__ += aggregates.__all__

# Packages that are imported when first used; other names are found in the package that has them, and those of
# aggregates and columns in `frame`.
_PACKAGES = frozenset(
    {
        "accounting",
        "answers",
        "audit",
        "client",
        "frame",
        "learn",
        "ledger",
        "local",
        "mechanisms",
        "plot",
        "publication",
        "session",
        "synth",
        "verify",
        "workload",
    }
)
_PACKAGE_OF = {
    "compose": "accounting",
    "connect": "client",
    "exponential": "mechanisms",
    "gaussian": "mechanisms",
    "histogram": "mechanisms",
    "laplace": "mechanisms",
    "margin": "mechanisms",
    "protect": "session",
    "publish": "publication",
    "report": "publication",
    "randomized_response": "mechanisms",
}
_ALIASES = {  # names that other libraries use
    "avg": "mean",
    "max": "maximum",
    "min": "minimum",
    "n_unique": "count_distinct",
    "nunique": "count_distinct",
    "std": "stddev",
    "var": "variance",
}


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"giveortake.{name}")
    public_name = _ALIASES.get(name, name)
    if public_name in _PACKAGE_OF:
        return getattr(import_module(f"giveortake.{_PACKAGE_OF[public_name]}"), public_name)
    if public_name in _frame_names():
        return getattr(import_module("giveortake.frame"), public_name)
    raise AttributeError(f"module 'giveortake' has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted({*__all__, *_frame_names(), *(name for name in globals() if name.startswith("__"))})


def _frame_names() -> list[str]:
    names: list[str] = import_module("giveortake.frame.aggregates").__all__
    return ["col", "lit", "when", *names]
