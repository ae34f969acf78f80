"""Window functions over the rows of a noisy answer, which are free."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from giveortake.errors import QueryRefused
from giveortake.frame.aggregates import Agg, Term, term
from giveortake.plan import Window
from giveortake.plan.computed import WINDOWS, Frame
from giveortake.plan.questions import Order

if TYPE_CHECKING:
    from collections.abc import Sequence

    Ordering: TypeAlias = "str | Agg | Sequence[str | Agg]"

__all__ = ["over"]


def over(
    function: str,
    of: Term | None = None,
    *,
    by: str | Sequence[str] = (),
    order_by: Ordering = (),
    descending: bool = False,
    rows: tuple[int | None, int | None] | None = None,
    places: int = 1,
) -> Agg:
    """A function of rows of the answer: `over("sum", count())` is the total, `over("rank", order_by=count())` the rank.

    `by` are keys to partition by; `order_by` are keys by name, or aggregates. With an order, a sum runs up to the row
    itself; `rows=(2, 0)` takes two rows before it and none after, and None means all. `places` is the offset of "lag"
    and "lead", and the number of parts of "ntile".
    """
    if function not in WINDOWS:
        raise QueryRefused(
            f"{function!r} is not a function of rows of an answer", hint=f"there are {', '.join(WINDOWS)}"
        )
    keys = (by,) if isinstance(by, str) else tuple(by)
    ordered = [order_by] if isinstance(order_by, str | Agg) else list(order_by)
    order = tuple(order_of(each, descending=descending) for each in ordered)
    frame = None if rows is None else Frame(*rows, peers=False)
    return Agg(Window(function, None if of is None else term(of), keys, order, frame, places))


def order_of(column: str | Agg, *, descending: bool, missing_first: bool = False) -> Order:
    """An order by a column of the answer, or by an aggregate."""
    if isinstance(column, Agg):
        return Order("", descending, missing_first, by=column.output)
    return Order(column, descending, missing_first)
