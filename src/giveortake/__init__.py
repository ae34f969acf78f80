"""giveortake: differential privacy as a system.

>>> import giveortake as gt
>>> print(gt.PureDP("0.1").repeat(3))
ε = 0.3 (pure): adding or removing one row changes the probability of any outcome by a factor of at most 1.3499.
"""

from giveortake import accounting, answers, errors, ledger, mechanisms, privacy, session
from giveortake.accounting import compose
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
    "col",
    "compose",
    "count",
    "count_distinct",
    "count_if",
    "errors",
    "exponential",
    "gaussian",
    "histogram",
    "laplace",
    "ledger",
    "lit",
    "margin",
    "maximum",
    "mean",
    "mechanisms",
    "median",
    "minimum",
    "parallel",
    "privacy",
    "protect",
    "quantile",
    "randomized_response",
    "session",
    "stddev",
    "sum",
    "unit",
    "variance",
    "when",
]
