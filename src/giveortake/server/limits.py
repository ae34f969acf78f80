"""Limits on what one caller and one address may ask of the service, and who gets the next free worker.

None of them depends on rows.

- Rates, tokens that may be tried, requests under way, and the seconds of workers that are owed.
- The queues of a pool: a free worker goes to the caller who has used the fewest seconds of late.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, final

from giveortake.server.responses import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.server.workers.pool import Worker


_Name = TypeVar("_Name")
_WRONG_FOR = 60.0  # seconds
_MOST_OWED = 60.0  # seconds: nobody is kept out for longer
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
class Strangers:
    """A limit on how many different tokens, not known to be valid, an address may try.

    Room is taken while a token is looked up, once however often it is sent, and given back if it is valid. One that
    was wrong is refused for a minute without another look, and takes no further room.
    """

    rate: Rate
    _looking: Counter[tuple[str, str]] = field(default_factory=Counter, repr=False)
    _wrong: OrderedDict[tuple[str, str], float] = field(default_factory=OrderedDict, repr=False)

    def was_wrong(self, address: str, token: str) -> bool:
        """Whether this address has sent this token within the last minute, and it was wrong."""
        return self.rate.clock() < self._wrong.get((address, token), -math.inf) + _WRONG_FOR

    def enters(self, address: str, token: str) -> bool:
        """Whether a token may be looked up; then `leaves` has to be called."""
        if not self._looking[address, token] and not self.rate.takes(address):
            del self._looking[address, token]
            return False
        self._looking[address, token] += 1
        return True

    def leaves(self, address: str, token: str, *, wrong: bool) -> None:
        """End a look that `enters` let begin."""
        name = (address, token)
        if wrong:
            _remember(self._wrong, name, self.rate.clock())
        self._looking[name] -= 1
        if not self._looking[name]:
            del self._looking[name]
            if not self.was_wrong(*name):
                self.rate.gives_back(address)


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


@final
@dataclass(slots=True)
class Work:
    """What a request takes of workers: who asks, its place in line, and the seconds that it took so far.

    With a route it is counted by a `Backlog`, since the moment at which it has begun.
    """

    caller: str
    route: str = ""
    started_at: float = 0.0
    seconds: float = 0.0
    queued_at: float | None = None


@final
@dataclass(slots=True)
class Backlog:
    """A limit on the seconds of workers that one caller has under way, and owes.

    A request under way counts as what the caller's last ones by the same route took, and at most as half of `most`. A
    caller who uses one worker without end owes nothing; what is used beside that is owed, and time pays it, a second
    for a second. So whoever asks one thing after the other is never refused.
    """

    most: float
    clock: Callable[[], float] = time.monotonic
    _under_way: dict[str, Counter[str]] = field(default_factory=dict, repr=False)
    _settled: OrderedDict[str, float] = field(default_factory=OrderedDict, repr=False)  # when nothing is owed any more
    _usual: OrderedDict[tuple[str, str], float] = field(default_factory=OrderedDict, repr=False)

    def begin(self, caller: str, route: str) -> Work:
        """Let a request begin; then `end` has to be called. Refused if too much is under way or owed."""
        now, routes = self.clock(), self._under_way.get(caller, Counter())
        before = max(0.0, self._settled.get(caller, now) - now)
        before += sum(count * self._expected(caller, other_route) for other_route, count in routes.items())
        above = before + self._expected(caller, route) - self.most
        if before and above > 0:
            raise Refusal("too_many", retry_after=math.ceil(above))
        self._under_way.setdefault(caller, routes)[route] += 1
        return Work(caller, route, now)

    def end(self, work: Work) -> None:
        """End a request that `begin` let begin, and count the seconds that it took."""
        caller, name, routes = work.caller, (work.caller, work.route), self._under_way[work.caller]
        routes[work.route] -= 1
        if not routes.total():
            del self._under_way[caller]
        _remember(self._usual, name, (self._usual.get(name, work.seconds) + work.seconds) / 2)
        owed = max(work.started_at, self._settled.get(caller, 0.0)) + work.seconds
        _remember(self._settled, caller, min(owed, self.clock() + _MOST_OWED))

    def _expected(self, caller: str, route: str) -> float:
        return min(self._usual.get((caller, route), 0.0), self.most / 2)


def _remember(known: OrderedDict[_Name, float], name: _Name, value: float) -> None:
    known[name] = value
    known.move_to_end(name)
    if len(known) > _MOST_REMEMBERED:
        known.popitem(last=False)


_HALF_LIFE = 30.0  # seconds, after which half of what a caller has used is forgotten
_FORGOTTEN = 1e-3  # seconds of use


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Turn:
    """A request that waits for a worker."""

    queued_at: float
    slow: bool
    worker: asyncio.Future[Worker]


@final
@dataclass(slots=True)
class _Share:
    """One caller's part of a pool: requests that wait, workers that are busy, and the seconds used until a moment."""

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
    """A queue for each caller; a free worker goes to the caller who has used the fewest seconds of workers of late.

    Guarantee: of several workers, no caller but the service itself (the caller "") has all, and no slow requests have
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
        share = self._shares.setdefault(work.caller, _Share())
        if len(share.turns) >= self.waiting:
            raise Refusal("too_many")
        if work.queued_at is None:  # what is asked in parts keeps its place before the caller's later requests
            work.queued_at = self.clock()
        turn = _Turn(work.queued_at, slow, asyncio.get_running_loop().create_future())
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
        share, now = self._shares[work.caller], self.clock()
        share.used, share.until = share.used_at(now) + seconds, now
        share.busy -= 1
        self._slow -= slow
        self.serve()
        self._forget()

    def serve(self) -> None:
        """Give free workers to those whose turn it is."""
        while not self.idle.empty() and (next_turn := self._next()) is not None:
            share, turn = next_turn
            share.turns.remove(turn)
            share.busy += 1
            self._slow += turn.slow
            turn.worker.set_result(self.idle.get_nowait())

    def _forget(self) -> None:
        now = self.clock()
        for name, share in list(self._shares.items()):
            if not share.turns and not share.busy and share.used_at(now) < _FORGOTTEN:
                del self._shares[name]

    def _next(self) -> tuple[_Share, _Turn] | None:
        most, now = max(1, self.workers - 1), self.clock()
        candidates = [
            (share.used_at(now), turn.queued_at, share, turn)
            for name, share in self._shares.items()
            if share.busy < most or name == ""
            for turn in share.turns
            if not turn.worker.done() and (not turn.slow or self._slow < most)
        ]
        return min(candidates, key=lambda candidate: candidate[:2])[2:] if candidates else None
