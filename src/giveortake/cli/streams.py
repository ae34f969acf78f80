"""Standard input, output and error as they are found: some may be closed, a disk full, a reader gone."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path
from typing import Any, NoReturn, final

from giveortake.answers.printable import printable

_FLAGS = (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY)


@final
class Closed(io.TextIOBase):
    """In the place of a stream that was closed before we began: whoever uses it gets the system's error."""

    def write(self, _text: str) -> NoReturn:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    def read(self, _size: int | None = -1) -> NoReturn:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def is_closed(stream: object) -> bool:
    """Whether a stream was closed before we began."""
    return isinstance(stream, Closed)


def prepare() -> None:
    """Take the places of streams that are closed, so that no file that is opened later becomes one of them."""
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
    """Let go of what could not be written, so that the end of the program does not try again."""
    stream: Any = sys.stdout
    if not is_closed(stream):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def report(text: str) -> None:
    """Lines for people on standard error; if nobody can read them there, the exit code has to say it.

    Names of files, columns and analysts are in them, so control and bidirectional characters are shown as escapes.
    """
    try:
        sys.stderr.write("\n".join(map(printable, text.split("\n"))))
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
