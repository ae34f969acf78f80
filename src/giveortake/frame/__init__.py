"""Questions in Python: the other front end to a plan, which builds the same questions as SQL.

>>> from giveortake import frame
>>> frame.col("amount") > 0
(amount > 0)
"""

from giveortake.frame.aggregates import (
    Agg,
    Check,
    count,
    count_distinct,
    count_if,
    maximum,
    mean,
    median,
    minimum,
    quantile,
    stddev,
    sum,  # noqa: A004 (read as gt.sum)
    variance,
)
from giveortake.frame.expressions import Expr, col, lit, when
from giveortake.frame.table import Grouped, Table

__all__ = [
    "Agg",
    "Check",
    "Expr",
    "Grouped",
    "Table",
    "col",
    "count",
    "count_distinct",
    "count_if",
    "lit",
    "maximum",
    "mean",
    "median",
    "minimum",
    "quantile",
    "stddev",
    "sum",
    "variance",
    "when",
]
