"""The custodian's log: one line of JSON for each request, without rows, constants of questions, or tokens' secrets."""

from __future__ import annotations

import datetime as dt
import fcntl
import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from pathlib import Path

SIZE = 10_000_000  # bytes of one file
FILES = 10  # that are kept besides


@final
class Log:
    """A log file that is begun anew when it is large; without a path, nothing is written.

    Several services may write to one file: each line is appended by one call, and who begins a new file holds a lock.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: int | None = None

    def request(self, route: str, *, status: int, seconds: float, **known: str | None) -> None:
        """Log a finished request. Route and cause are words of our own.

        Nothing that was sent is logged, but for the client's own id of the request, if it is short and plain.
        """
        self.say("request", route=route, status=status, milliseconds=round(1000 * seconds, 1), **known)

    def say(self, what: str, **known: Any) -> None:
        """Log an event. A full disk keeps nobody from asking."""
        if self._path is None:
            return
        now = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        line = {"at": now, "front": os.getpid(), "what": what}
        line |= {name: each for name, each in known.items() if each is not None}
        with suppress(OSError):
            os.write(self._opened(self._path), json.dumps(line).encode() + b"\n")

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _opened(self, path: Path) -> int:
        """The open log file; a new one is begun if it is too large."""
        if self._file is not None and _is_at(self._file, path):
            if os.fstat(self._file).st_size < SIZE:
                return self._file
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return self._file  # somebody else begins a new one, and nobody waits for them
            if _is_at(self._file, path):  # nobody else was faster
                _move_up(path)
        self.close()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640)
        return self._file


def _is_at(file: int, path: Path) -> bool:
    """Whether an open file is still the one at a path."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


def _move_up(path: Path) -> None:
    """Renumber the older files, so that the path is free; the oldest is removed."""
    for number in range(FILES - 1, 0, -1):
        with suppress(FileNotFoundError):
            path.with_name(f"{path.name}.{number}").replace(path.with_name(f"{path.name}.{number + 1}"))
    path.replace(path.with_name(f"{path.name}.1"))
