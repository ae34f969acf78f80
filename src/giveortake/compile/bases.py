"""Bases: in which measures the number and the sum of the same values are measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from giveortake.plan import Expression


@final
@dataclass(frozen=True, slots=True)
class Basis:
    """Which sums count from the middle of their bounds, and which are read from two sides together with their number.

    `rows` are the values from whose sides the number of rows is read. Any basis gives the same answers, apart from
    the noise.
    """

    centred: tuple[Expression, ...] = ()
    sided: tuple[Expression, ...] = ()
    rows: Expression | None = None


PLAIN = Basis()  # every number and every sum by itself; sums from the middle only where nothing but a mean is asked for
