"""How long a question may take: all statements of its engine together, and what is computed between and after them.

Noise, and putting keys in order, count too (`own_work`), and end at the same moment: they come in portions. The time
that others take is not counted: who waits for another's question loses nothing by it, and is told nothing.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, final

from giveortake.engines.failures import out_of_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Item = TypeVar("Item")

_AGAIN = 0.1  # seconds between two interruptions: one that comes between two statements is lost


@final
@dataclass(slots=True)
class _Clock:
    """The time spent on a question so far, and since when it is being worked on again."""

    used: float = 0.0
    since: float | None = None
    is_limited: bool = True
    seconds: float | None = None  # that there are, as soon as an engine was asked


_clock: ContextVar[_Clock | None] = ContextVar("clock", default=None)


@contextmanager
def one_question() -> Iterator[None]:
    """Treat everything that engines are asked in this block as one question with one limit; blocks may be nested."""
    if _clock.get() is not None:
        yield
        return
    token = _clock.set(_Clock())
    try:
        yield
    finally:
        _clock.reset(token)


def as_one_question(work: Callable[[], Item]) -> Item:
    """Do some work as one question."""
    with one_question():
        return work()


@contextmanager
def no_question() -> Iterator[None]:
    """Run what engines do in this block without a limit: it is for no question."""
    token = _clock.set(_Clock(is_limited=False))
    try:
        yield
    finally:
        _clock.reset(token)


@contextmanager
def own_work() -> Iterator[None]:
    """Count our own work in this block against the question's time; it is not begun if that is over."""
    limit = limit_of_question()
    limit.check()()
    with limit.counted():
        yield


def in_own_time(items: Iterable[Item]) -> Iterator[Item]:
    """The same items; each is made in the time of the question, and none once that is over."""
    found = iter(items)
    while True:
        with own_work():
            try:
                item = next(found)
            except StopIteration:
                return
        yield item


def limit_of_question() -> TimeLimit:
    """The time limit of this question, from the engine that was asked; none outside of questions."""
    clock = _clock.get()
    return TimeLimit(None if clock is None else clock.seconds)


@final
class TimeLimit:
    """The seconds allowed for each question; None if they are not limited."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds

    @property
    def left(self) -> float | None:
        """The seconds that are left for this question, below zero if it is over; None if they are not limited."""
        if self._seconds is None:
            return None
        clock = _clock.get() or _Clock()
        if not clock.is_limited:
            return None
        return self._seconds - clock.used - (0.0 if clock.since is None else time.monotonic() - clock.since)

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return self.left is not None and self.left <= 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the time of this block against the question, once even if blocks are nested."""
        with one_question():
            clock = _clock.get()
            if clock is not None:
                clock.seconds = self._seconds
            if clock is None or clock.since is not None:
                yield
                return
            clock.since = time.monotonic()
            try:
                yield
            finally:
                clock.used += time.monotonic() - clock.since
                clock.since = None

    def check(self) -> Callable[[], None]:
        """A function that raises once the time is over, in any thread; call it between uninterruptible steps."""
        left = self.left
        end = None if left is None else time.monotonic() + left

        def require_time() -> None:
            if end is not None and time.monotonic() >= end:
                raise out_of_time()

        return require_time

    @contextmanager
    def interrupting(self, interrupt: Callable[[], object], *, grace: float = 0.0) -> Iterator[None]:
        """Interrupt the block once the time (and a grace) is over, again and again until it has ended."""
        with self.counted():
            self.check()()
            left = self.left
            if left is None:
                yield
                return
            ended = threading.Event()
            watch = threading.Thread(target=_watch, args=(ended, left + grace, interrupt), daemon=True)
            watch.start()
            try:
                yield
            finally:
                ended.set()
                watch.join()  # so that no interruption reaches what comes next


def _watch(ended: threading.Event, seconds: float, interrupt: Callable[[], object]) -> None:
    while not ended.wait(seconds):
        interrupt()
        seconds = _AGAIN
