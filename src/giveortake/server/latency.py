"""Fixed times: when a result leaves tells nothing about the rows that it took to make it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Departure:
    """When a result leaves, and how many times the fixed time that is; more than once is an overrun."""

    at: float
    turns: int

    @property
    def is_overrun(self) -> bool:
        """Whether it took longer than once."""
        return self.turns > 1


def departure(arrived: float, done: float, fixed: float) -> Departure:
    """When a result leaves that was asked for at `arrived` and is there at `done`.

    Guarantee: it leaves a whole number of times `fixed` after its request, whatever it is: an answer, a stored answer,
    a refusal or a failure. So its time tells that number alone, which is one unless it is an overrun. Who sees that
    k of N requests were overruns learns at most log₂ Σ_{j ≤ k} C(N, j) bits from which, as long as none takes twice.

    >>> departure(10.0, 10.3, 2.0), departure(10.0, 12.5, 2.0).is_overrun
    (Departure(at=12.0, turns=1), True)
    """
    turns = max(1, math.ceil((done - arrived) / fixed))
    return Departure(arrived + turns * fixed, turns)
