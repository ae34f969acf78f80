"""Paces: entries about a charge are written at moments that do not depend on rows."""

from __future__ import annotations

import math
import time
from typing import final


@final
class Pace:
    """A beat that starts with a charge; what becomes of the charge is written on it.

    Guarantee: an answer, a draw or a failure is written (k − ½)·t seconds after its charge, for a whole number k. So
    whoever reads the ledger meanwhile, its times and the order of its entries, learns k alone, which is one unless the
    question took longer than t/2. Whoever waits for the process that answers learns nothing else either, because it
    is not free before. One process answers one question at a time.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._begun: float | None = None

    def begin(self) -> None:
        """Start the beat: something was charged just now."""
        self._begun = time.monotonic()

    def wait(self, since: float | None = None) -> None:
        """Wait for the next beat after the last charge, or after `since`, a moment of the same clock."""
        now = time.monotonic()
        begun = (now if self._begun is None else self._begun) if since is None else since
        time.sleep(max(0.0, beat(begun, now, self.seconds) - now))


def beat(begun: float, done: float, seconds: float) -> float:
    """The first moment half-way between two multiples of `seconds` after `begun` that is not before `done`.

    >>> beat(10.0, 10.3, 2.0), beat(10.0, 11.5, 2.0), beat(10.0, 13.0, 2.0)
    (11.0, 13.0, 13.0)
    """
    turns = max(1, math.ceil((done - begun) / seconds + 0.5))
    return begun + (turns - 0.5) * seconds
