"""The custodian's log: one line of JSON for each request, without rows, constants of questions, or tokens' secrets."""

from __future__ import annotations

import datetime as dt
import json
import logging
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from pathlib import Path

_SIZE = 10_000_000  # bytes of one file
_FILES = 10


@final
class Log:
    """Lines in a file that is begun anew when it is large; nowhere if there is no file."""

    def __init__(self, path: Path | None) -> None:
        self._handler: logging.Handler | None = None
        if path is not None:
            self._handler = RotatingFileHandler(path, maxBytes=_SIZE, backupCount=_FILES, encoding="utf-8", delay=True)

    def request(self, route: str, *, status: int, seconds: float, **known: str | None) -> None:
        """A request is done. The route is ours, and so is the cause: nothing of what was sent is in it."""
        self.say("request", route=route, status=status, milliseconds=round(1000 * seconds, 1), **known)

    def say(self, what: str, **known: Any) -> None:
        """Something happened."""
        if self._handler is None:
            return
        now = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"at": now, "what": what, **{name: each for name, each in known.items() if each is not None}})
        self._handler.emit(logging.LogRecord("giveortake", logging.INFO, "", 0, line, None, None))

    def close(self) -> None:
        """Let go of the file."""
        if self._handler is not None:
            self._handler.close()
