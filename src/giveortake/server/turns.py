"""Turns: who gets the next free worker of a pool."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from giveortake.server.refusals import Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.server.limits import Work
    from giveortake.server.pool import Worker

_HALF_LIFE = 30.0  # seconds, after which half of what an asker has used is forgotten
_FORGOTTEN = 1e-3  # seconds of use


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Turn:
    """A request that waits for a worker."""

    since: float
    slow: bool
    worker: asyncio.Future[Worker]


@final
@dataclass(slots=True)
class _Share:
    """One asker's part of a pool: requests that wait, workers that are busy, and the seconds used until a moment."""

    turns: list[_Turn] = field(default_factory=list)
    busy: int = 0
    used: float = 0.0
    until: float = 0.0

    def used_at(self, now: float) -> float:
        """The seconds that were used, of which half are forgotten after each half-life."""
        return float(self.used * 0.5 ** ((now - self.until) / _HALF_LIFE))


@final
@dataclass(slots=True)
class Turns:
    """A queue for each asker; a free worker goes to the asker who has used the fewest seconds of workers of late.

    Guarantee: of several workers, no asker but the service itself (the asker "") has all, and no slow requests have
    all, so one is always left, or soon free, for others and for what is quick. Nobody's queue holds more than `waiting`
    requests, and nobody is refused because of another's.
    """

    idle: asyncio.Queue[Worker]
    workers: int
    waiting: int
    clock: Callable[[], float] = time.monotonic
    _shares: dict[str, _Share] = field(default_factory=dict, repr=False)
    _slow: int = 0

    async def worker(self, work: Work, *, slow: bool) -> Worker:
        """Wait for a worker; `end` has to be called with the same arguments when it is not needed any more."""
        share = self._shares.setdefault(work.asker, _Share())
        if len(share.turns) >= self.waiting:
            raise Refused("too_many")
        if work.since is None:  # what is asked in parts keeps its place before the asker's later requests
            work.since = self.clock()
        turn = _Turn(work.since, slow, asyncio.get_running_loop().create_future())
        share.turns.append(turn)
        self.serve()
        try:
            return await turn.worker
        except BaseException:  # nobody waits any more
            if turn in share.turns:
                share.turns.remove(turn)
                self._forget()
            else:
                self.idle.put_nowait(turn.worker.result())
                self.end(work, slow=slow)
            raise

    def end(self, work: Work, *, slow: bool, seconds: float = 0.0) -> None:
        """Count the seconds that a worker was in use, and serve whoever is next."""
        share, now = self._shares[work.asker], self.clock()
        share.used, share.until = share.used_at(now) + seconds, now
        share.busy -= 1
        self._slow -= slow
        self.serve()
        self._forget()

    def serve(self) -> None:
        """Give free workers to those whose turn it is."""
        while not self.idle.empty() and (found := self._next()) is not None:
            share, turn = found
            share.turns.remove(turn)
            share.busy += 1
            self._slow += turn.slow
            turn.worker.set_result(self.idle.get_nowait())

    def _forget(self) -> None:
        now = self.clock()
        for name, each in list(self._shares.items()):
            if not each.turns and not each.busy and each.used_at(now) < _FORGOTTEN:
                del self._shares[name]

    def _next(self) -> tuple[_Share, _Turn] | None:
        most, now = max(1, self.workers - 1), self.clock()
        found = [
            (share.used_at(now), turn.since, share, turn)
            for name, share in self._shares.items()
            if share.busy < most or name == ""
            for turn in share.turns
            if not turn.worker.done() and (not turn.slow or self._slow < most)
        ]
        return min(found, key=lambda each: each[:2])[2:] if found else None
