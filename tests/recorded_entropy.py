"""Sources of bytes that tests can replay. They are predictable, hence never part of the package."""

from __future__ import annotations

import hashlib
import itertools
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, final

from giveortake.randomness import SystemEntropy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@final
class RecordedEntropy:
    """Bytes that look random and are the same in every run: SHAKE-128 of the seed and the number of the read."""

    def __init__(self, seed: object) -> None:
        self._seed = repr(seed)
        self._reads = itertools.count(1)  # whose next is one step, whatever other threads do

    @property
    def name(self) -> str:
        return f"recorded bytes of {self._seed}"

    def read(self, count: int) -> bytes:
        return hashlib.shake_128(f"{self._seed} {next(self._reads)}".encode()).digest(count)


@contextmanager
def recorded_system(seed: object) -> Iterator[None]:
    """Let the system's source give recorded bytes in this process; others, started by a test, have the system's own."""
    system, recorded, process = SystemEntropy.read, RecordedEntropy(seed), os.getpid()

    def read(source: SystemEntropy, count: int) -> bytes | bytearray:
        return recorded.read(count) if os.getpid() == process else system(source, count)

    SystemEntropy.read = read  # type: ignore[assignment, method-assign]  # (put back below)
    try:
        yield
    finally:
        SystemEntropy.read = system  # type: ignore[method-assign]  # (as it was)


@final
class ScriptedEntropy:
    """The given 64-bit words first, then one byte repeated, or recorded bytes if no byte is given."""

    def __init__(self, words: Iterable[int], then: int | None = None) -> None:
        self._script = b"".join((word % 2**64).to_bytes(8, "little") for word in words)
        self._then = then
        self._recorded = RecordedEntropy("after the script")

    @property
    def name(self) -> str:
        return "scripted bytes"

    @property
    def left(self) -> int:
        """How many scripted bytes were not read yet."""
        return len(self._script)

    def read(self, count: int) -> bytes:
        head, self._script = self._script[:count], self._script[count:]
        missing = count - len(head)
        return head + (self._recorded.read(missing) if self._then is None else bytes([self._then]) * missing)
