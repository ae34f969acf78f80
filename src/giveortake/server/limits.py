"""Limits on how much one token and one address may ask of the service. They do not depend on rows."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_REMEMBERED = 10_000  # names; the one that was seen longest ago is forgotten


@final
@dataclass(slots=True)
class Rate:
    """A token bucket for each name, which holds up to `burst` requests and is filled by `each_second`."""

    each_second: float
    burst: float
    clock: Callable[[], float] = time.monotonic
    _buckets: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict, repr=False)

    def takes(self, name: str, cost: float = 1.0) -> bool:
        """Take room for one more request, and return whether there was any."""
        now = self.clock()
        left, at = self._buckets.pop(name, (self.burst, now))
        left = min(self.burst, left + (now - at) * self.each_second)
        allowed = left >= cost
        self._buckets[name] = (left - cost if allowed else left, now)
        if len(self._buckets) > _MOST_REMEMBERED:
            self._buckets.popitem(last=False)
        return allowed

    def gives_back(self, name: str) -> None:
        """Give back room that was not needed."""
        self.takes(name, -1.0)


@final
@dataclass(slots=True)
class InFlight:
    """A limit on how many requests of one name are under way at the same time."""

    most: int
    _counts: dict[str, int] = field(default_factory=dict, repr=False)

    def enters(self, name: str) -> bool:
        """Whether one more request may begin; then `leaves` has to be called."""
        count = self._counts.get(name, 0)
        if count >= self.most:
            return False
        self._counts[name] = count + 1
        return True

    def leaves(self, name: str) -> None:
        """End a request that `enters` let begin."""
        count = self._counts.pop(name) - 1
        if count:
            self._counts[name] = count
