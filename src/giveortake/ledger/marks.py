"""The mark: how far the ledger has come, kept apart from it, so that a ledger that lost entries is noticed.

The order is always: commit, then mark, then release. A ledger ahead of its mark crashed between the first two, and
the mark is moved; a ledger behind its mark has lost entries whose answers may be out, and is refused.
"""

from __future__ import annotations

import json
import secrets
from contextlib import contextmanager, suppress
from dataclasses import asdict
from threading import Lock
from typing import TYPE_CHECKING, Protocol, final

from giveortake.errors import LedgerDamaged, LedgerUnavailable
from giveortake.ledger.entries import RESTORE, Point, canonical, digest
from giveortake.ledger.files import content_of, locked, sync, write_once
from giveortake.ledger.store import silent

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from giveortake.ledger.store import Notice

_SECRET = 32  # bytes
_SLOT = 512  # one sector: a write of it is whole or not there on nearly all disks, and checked where it is not


class Mark(Protocol):
    """A place that remembers one point. Writers of one ledger are serialised by its own lock, copies of it are not."""

    def read(self) -> Point | None:
        """The point, or None if there never was one."""
        ...

    def begin(self, point: Point) -> Point:
        """Remember a first point, unless another process was faster; whichever is remembered is returned."""
        ...

    def move(self, before: Point, point: Point) -> bool:
        """Replace one point by another, durably and in one step; False if something else is remembered."""
        ...

    def replace(self, point: Point) -> None:
        """Begin anew at a point that the custodian has acknowledged."""
        ...

    def secret(self, *, create: bool) -> bytes | None:
        """The secret that keys fingerprints. It lies beside the mark, never in the ledger; None if there is none."""
        ...

    def inherit(self, secret: bytes) -> None:
        """Take over the secret of the mark that this one replaces."""
        ...

    def turn(self, name: str) -> AbstractContextManager[bool]:
        """Hold a lock that one thread of one process can hold; it is released when the process ends.

        It yields whether somebody else held it.
        """
        ...

    def remove(self) -> None:
        """Forget everything: another mark replaces this one."""
        ...

    def abandon(self) -> None:
        """Forget what belongs to the parent process."""
        ...

    def close(self) -> None:
        """Close whatever is open."""
        ...


@final
class MemoryMark:
    """The mark of a ledger that lives in memory and ends with it."""

    def __init__(self) -> None:
        self._point: Point | None = None
        self._secret = secrets.token_bytes(_SECRET)
        self._turns: dict[str, Lock] = {}
        self._lock = Lock()

    def read(self) -> Point | None:
        return self._point

    def begin(self, point: Point) -> Point:
        self._point = self._point or point
        return self._point

    def move(self, before: Point, point: Point) -> bool:
        with self._lock:
            if self._point != before:
                return False
            self._point = point
            return True

    def replace(self, point: Point) -> None:
        self._point = point

    def secret(self, *, create: bool) -> bytes | None:
        return self._secret

    def inherit(self, secret: bytes) -> None:
        self._secret = secret

    @contextmanager
    def turn(self, name: str) -> Iterator[bool]:
        with self._lock:
            held = self._turns.setdefault(name, Lock())
        waited = not held.acquire(blocking=False)
        if waited:
            held.acquire()
        try:
            yield waited
        finally:
            held.release()

    def remove(self) -> None:
        self._point = None

    def abandon(self) -> None:
        """Do nothing: it was copied with the process."""

    def close(self) -> None:
        """Do nothing: nothing is open."""


@final
class FileMark:
    """A file with two slots that are written in turns, each with a checksum.

    Guarantee: after `move` returns, the point survives a power failure. A write that is torn spoils the older slot
    only, so that the point before it remains, which is behind the ledger and will be moved.
    """

    def __init__(self, path: Path, at: Notice = silent) -> None:
        self.path = path
        self._secret = path.with_name(f"{path.name}.secret")
        self._at = at
        self._last: tuple[bytes, Point] | None = None  # what was read, and what it says

    def read(self) -> Point | None:
        content, last = content_of(self.path), self._last
        if content is None:
            return None
        if last is None or last[0] != content:
            points = [point for slot in (0, 1) if (point := _read_slot(content, slot)) is not None]
            if not points:
                raise LedgerDamaged(f"the mark {self.path} is damaged", hint=RESTORE)
            last = self._last = content, max(points, key=lambda point: point.number)
        return last[1]

    def begin(self, point: Point) -> Point:
        write_once(self.path, _slot(point) * 2)
        self._at("mark begun")
        return self.read() or point

    def move(self, before: Point, point: Point) -> bool:
        import fcntl  # noqa: PLC0415 (not on every platform)

        try:
            with self.path.open("r+b", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # of the mark's own: copies of a ledger have no other lock in common
                content = file.read(2 * _SLOT)
                first, second = _read_slot(content, 0), _read_slot(content, 1)
                older = 0 if first is None or (second is not None and first.number <= second.number) else 1
                if before != (second if older == 0 else first):
                    return False
                file.seek(older * _SLOT)
                file.write(_slot(point))
                self._at("mark written")
                sync(file.fileno())
                return True
        except OSError as error:
            raise LedgerUnavailable(
                f"the mark {self.path} cannot be written: {error.strerror}",
                hint="what was being charged stays charged; its answer was not released",
            ) from error

    def replace(self, point: Point) -> None:
        with suppress(FileNotFoundError):
            self.path.unlink()
        self.begin(point)

    def secret(self, *, create: bool) -> bytes | None:
        found = content_of(self._secret)
        if found is None and create:
            write_once(self._secret, secrets.token_bytes(_SECRET))
            found = content_of(self._secret)
        if found is not None and len(found) != _SECRET:
            raise LedgerDamaged(f"the secret {self._secret} is damaged", hint=RESTORE)
        return found

    def inherit(self, secret: bytes) -> None:
        write_once(self._secret, secret)

    @contextmanager
    def turn(self, name: str) -> Iterator[bool]:
        with locked(self.path.with_name(f"{self.path.name}.{name[:32]}.turn")) as waited:
            yield waited

    def remove(self) -> None:
        for path in (self.path, self._secret):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            self.path.parent.rmdir()  # unless there is something else

    def abandon(self) -> None:
        """Do nothing: nothing is open between calls."""

    def close(self) -> None:
        """Do nothing: nothing is open between calls."""


def _slot(point: Point) -> bytes:
    body = canonical(asdict(point))
    line = f"{body} {digest(body)}"
    return line.ljust(_SLOT - 1).encode("ascii") + b"\n"


def _read_slot(content: bytes, slot: int) -> Point | None:
    try:
        body, _, check = content[slot * _SLOT : (slot + 1) * _SLOT].decode("ascii").rstrip().rpartition(" ")
    except UnicodeDecodeError:
        return None
    return Point(**json.loads(body)) if body and digest(body) == check else None
