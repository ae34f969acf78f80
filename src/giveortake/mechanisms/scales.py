"""The noise scale that a promise asks for; refused if it is beyond the supported range."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.errors import InvalidParameter
from giveortake.exact import GREATEST, at_least, spendable

if TYPE_CHECKING:
    from fractions import Fraction

    from giveortake.exact import Number


def scale_for(sensitivity: Number, epsilon: Number, *, factor: int = 1) -> Fraction:
    """Sensitivity / ε, times `factor`; refused if it is beyond the supported range."""
    scale = factor * at_least("sensitivity", sensitivity) / spendable("epsilon", epsilon)
    if scale > GREATEST:
        raise InvalidParameter(
            "epsilon", epsilon, "asks for noise beyond the supported range", hint="ask for more epsilon"
        )
    return scale
