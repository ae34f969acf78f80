"""Fixed times: the moment at which a result is sent reveals nothing about rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Departure:
    """The moment when a result is sent, and how many fixed times that takes; more than one is an overrun."""

    at: float
    turns: int

    @property
    def is_overrun(self) -> bool:
        """Whether it took more than one fixed time."""
        return self.turns > 1


def departure(arrived: float, done: float, fixed: float) -> Departure:
    """When to send a result that was asked for at `arrived` and is ready at `done`.

    Guarantee: it leaves a whole number of times `fixed` after its request, whatever it is: an answer, a stored answer,
    a refusal or a failure. So its time tells that number alone, which is one unless it is an overrun. Who sees that
    k of N requests were overruns learns at most log₂ Σ_{j ≤ k} C(N, j) bits from which, as long as none takes twice.

    >>> departure(10.0, 10.3, 2.0), departure(10.0, 12.5, 2.0).is_overrun
    (Departure(at=12.0, turns=1), True)
    """
    turns = max(1, math.ceil((done - arrived) / fixed))
    return Departure(arrived + turns * fixed, turns)
