"""A cache of limited size, which drops what was not used for longest."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar, final

if TYPE_CHECKING:
    from collections.abc import Callable

Key = TypeVar("Key")
Thing = TypeVar("Thing")


@final
class Kept(Generic[Key, Thing]):
    """A cache of things by their keys, which keeps those that were used last.

    `most` bounds the sum of their sizes after `trim`, so that whoever asks for much once fills nobody else's memory.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._things: OrderedDict[Key, tuple[Thing, int]] = OrderedDict()
        self._size = 0

    def get(self, key: Key) -> Thing | None:
        """Return a thing, and note that it was used; None if it is not there."""
        found = self._things.get(key)
        if found is None:
            return None
        self._things.move_to_end(key)
        return found[0]

    def put(self, key: Key, thing: Thing, size: int) -> Thing:
        """Keep a new thing, at least until the next `trim`."""
        self._things[key] = thing, size
        self._size += size
        return thing

    def trim(self, let_go: Callable[[Thing], None] = lambda _thing: None) -> None:
        """Drop the least recently used things until the total size is at most `most`."""
        while self._size > self._most:
            thing, size = self._things.popitem(last=False)[1]
            self._size -= size
            let_go(thing)

    def clear(self) -> None:
        """Drop everything."""
        self._things.clear()
        self._size = 0
