"""Bases: which measures the number and the sum of the same values are computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from giveortake.plan import Expression


@final
@dataclass(frozen=True, slots=True)
class Basis:
    """The sums that are centred at the middle of their bounds, and those computed from two sides with their number.

    `rows` are the values from whose sides the number of rows is computed. All bases give the same answers, apart from
    the noise.
    """

    centred: tuple[Expression, ...] = ()
    sided: tuple[Expression, ...] = ()
    rows: Expression | None = None


PLAIN = Basis()  # each number and each sum by itself; sums are centred only where only a mean is asked for
