"""What is computed from answers: functions of noisy numbers, and of the rows of the noisy answer.

All of it is post-processing: it reads what was released, and is free. SQL and frames both use the tables here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

from giveortake.errors import QueryRefused

if TYPE_CHECKING:
    from giveortake.plan.questions import Order, Output

MOST_DIGITS = 12
_MOST_PLACES = 1_000_000  # rows that a window, or LAG, may reach

# The least and greatest number of arguments of a function of answers; None: no limit.
FUNCTIONS_OF_ANSWERS: dict[str, tuple[int, int | None]] = {
    "abs": (1, 1),
    "sign": (1, 1),
    "floor": (1, 1),
    "ceil": (1, 1),
    "round": (1, 1),
    "to_integer": (1, 1),
    "sqrt": (1, 1),
    "ln": (1, 1),
    "exp": (1, 1),
    "power": (1, 1),
    "coalesce": (2, None),
    "nullif": (2, 2),
    "greatest": (2, None),
    "least": (2, None),
}
# Functions of the rows of an answer: whether each takes a number, and whether it needs an order.
WINDOWS: dict[str, tuple[bool, bool]] = {
    "sum": (True, False),
    "mean": (True, False),
    "minimum": (True, False),
    "maximum": (True, False),
    "count": (False, False),
    "row_number": (False, True),
    "rank": (False, True),
    "dense_rank": (False, True),
    "ntile": (False, True),
    "lag": (True, True),
    "lead": (True, True),
    "first": (True, True),
    "last": (True, True),
}
FRAMED = frozenset({"sum", "mean", "minimum", "maximum", "count", "first", "last"})
SHIFTED = frozenset({"lag", "lead"})
RANKED = frozenset({"row_number", "rank", "dense_rank"})


@final
@dataclass(frozen=True, slots=True)
class Computed:
    """A function of answers. `constant` is the digits of ROUND, or the exponent of POWER."""

    function: str
    parts: tuple[Output, ...]
    constant: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        least, most = FUNCTIONS_OF_ANSWERS[self.function]
        if len(self.parts) < least or (most is not None and len(self.parts) > most):
            raise QueryRefused(f"{self.function.upper()} does not take {len(self.parts)} answers")
        if self.function == "round" and (self.constant.denominator != 1 or abs(self.constant) > MOST_DIGITS):
            raise QueryRefused(
                f"ROUND takes up to {MOST_DIGITS} digits", hint="SELECT ROUND(AVG(amount), 2) AS mean FROM trips"
            )
        if self.function == "power" and abs(self.constant) > 32:
            raise QueryRefused(
                "POWER takes exponents up to 32", hint="SELECT POWER(AVG(amount), 2) AS square FROM trips"
            )


@final
@dataclass(frozen=True, slots=True)
class Frame:
    """The rows of a window around each row: how many before and after it in its order; None means all.

    With `peers`, rows that are equal in the order belong together, which is SQL's default.
    """

    before: int | None = None
    after: int | None = 0
    peers: bool = True

    def __post_init__(self) -> None:
        if any(end is not None and abs(end) > _MOST_PLACES for end in (self.before, self.after)):
            raise QueryRefused(f"a window reaches up to {_MOST_PLACES:,} rows")


@final
@dataclass(frozen=True, slots=True)
class Window:
    """A function of rows of the answer: those with equal keys `partition`, in an order, within a frame.

    It is computed from the rows that HAVING keeps, before ORDER BY and LIMIT. `places` is the offset of LAG and LEAD,
    and the number of parts of NTILE.
    """

    function: str
    of: Output | None = None
    partition: tuple[str, ...] = ()
    order: tuple[Order, ...] = ()
    frame: Frame | None = None
    places: int = 1

    def __post_init__(self) -> None:
        needs, ordered = WINDOWS[self.function]
        name = self.function.upper()
        if needs != (self.of is not None):
            without = f"takes no value{', but order_by=, in SQL OVER (ORDER BY …)' if ordered else ''}"
            raise QueryRefused(f"{name} OVER {'is of an aggregate' if needs else without}")
        if ordered and not self.order:
            raise QueryRefused(
                f"{name} needs an order",
                hint="SELECT region, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM trips GROUP BY region",
            )
        if self.frame is not None and (self.function not in FRAMED or not self.order):
            raise QueryRefused(f"{name} OVER takes no frame of rows without an order")
        if self.function == "ntile" and self.places < 1:
            raise QueryRefused(
                "NTILE takes at least one part",
                hint="SELECT region, NTILE(4) OVER (ORDER BY COUNT(*)) AS quarter FROM trips GROUP BY region",
            )
        if not 0 <= self.places <= _MOST_PLACES:
            raise QueryRefused(f"{name} goes up to {_MOST_PLACES:,} rows")
