"""How much of the processors other programs took while something was measured."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import final

_STAT = Path("/proc/stat")  # on Linux: ticks of all processors, by what they were spent on
_IDLE = {3, 4}  # places of idle and waiting for a disk
_GUESTS = 8  # places from here on are counted in others already
_MUCH = 0.1  # the share of others from which on times may be too long


@final
class Watch:
    """Begins when it is made."""

    def __init__(self) -> None:
        self._began, self._busy, self._own = time.monotonic(), _busy_seconds(), _own_seconds()

    def seconds(self) -> float:
        """Since it was made."""
        return time.monotonic() - self._began

    def others(self) -> float | None:
        """The share of all processors that went to programs which this process neither is nor started and awaited.

        It is an upper bound: servers and virtual machines that end by themselves, such as Spark's, are among these.
        Where the system does not tell, None.
        """
        busy = _busy_seconds()
        if busy is None or self._busy is None:
            return None
        theirs = busy - self._busy - (_own_seconds() - self._own)
        return min(1.0, max(0.0, theirs / (max(self.seconds(), 1e-3) * (os.cpu_count() or 1))))


def disturbance(others: float | None) -> str:
    """A clause about other programs, for whoever reads a time; nothing if they took little.

    >>> disturbance(0.02), disturbance(0.43)
    ('', 'up to 43 % of the processors went to other programs, or to servers of its own')
    """
    if others is None:
        return "whether other programs took the processors away is not known"
    if others <= _MUCH:
        return ""
    return f"up to {100 * others:.0f} % of the processors went to other programs, or to servers of its own"


def _busy_seconds() -> float | None:
    if not _STAT.exists():
        return None
    ticks = [int(word) for word in _STAT.read_text(encoding="ascii").splitlines()[0].split()[1:]]
    return sum(each for place, each in enumerate(ticks[:_GUESTS]) if place not in _IDLE) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system
