"""Standard input, output and error, of which some may be closed, on a full disk, or without a reader."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path
from typing import Any, NoReturn, final

from giveortake.answers.text import printable

_FLAGS = (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)


@final
class Closed(io.TextIOBase):
    """A substitute for a stream that was closed before we began: using it raises the system's error."""

    def write(self, _text: str) -> NoReturn:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    def read(self, _size: int | None = -1) -> NoReturn:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def is_closed(stream: object) -> bool:
    """Whether a stream was closed before we began."""
    return isinstance(stream, Closed)


def prepare() -> None:
    """Replace closed streams, so that no file that is opened later takes their numbers."""
    for number, flags in enumerate(_FLAGS):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, flags), number)  # the least free number is this one or a smaller one
    if sys.stdin is None:
        sys.stdin = Closed()
    if sys.stdout is None:
        sys.stdout = Closed()
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (for as long as the program runs)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters shows a question mark


def give_up_output() -> None:
    """Drop output that could not be written, so that the end of the program does not try again."""
    stream: Any = sys.stdout
    if not is_closed(stream):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def report(text: str) -> None:
    """Write lines for people to standard error; if that fails, only the exit code tells.

    Names of files, columns and analysts are in them, so control and bidirectional characters are shown as escapes.
    """
    try:
        sys.stderr.write("\n".join(map(printable, text.split("\n"))))
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
