"""Questions in Python: the second front end to a plan, which builds the same questions as SQL.

>>> from giveortake import frame
>>> frame.col("amount") > 0
(amount > 0)
"""

from giveortake.frame import aggregates
from giveortake.frame.aggregates import *  # noqa: F403 (each of them, by its own list)
from giveortake.frame.aggregates import Agg, Check
from giveortake.frame.expressions import Expr, col, lit, when
from giveortake.frame.table import Grouped, Table

__all__ = ["Agg", "Check", "Expr", "Grouped", "Table", "col", "lit", "when"]
__all__ += aggregates.__all__
