"""Forked processes: no fork happens in the middle of a transaction, and no child uses its parent's connection."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

if TYPE_CHECKING:
    from threading import RLock


class Forkable(Protocol):
    """Something with a lock that a child process must not share."""

    lock: RLock

    def after_fork(self) -> None:
        """Drop everything that belongs to the parent process."""
        ...


_watched: WeakSet[Forkable] = WeakSet()
_held: list[Forkable] = []
_registered: list[bool] = []


def watch(thing: Forkable) -> None:
    """From now on, a fork waits for the thing's lock, and the child starts with a new one."""
    _watched.add(thing)
    if not _registered and hasattr(os, "register_at_fork"):
        _registered.append(True)
        os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)


def _before() -> None:
    for thing in list(_watched):
        thing.lock.acquire()
        _held.append(thing)


def _in_parent() -> None:
    while _held:
        _held.pop().lock.release()


def _in_child() -> None:
    while _held:
        _held.pop().after_fork()
