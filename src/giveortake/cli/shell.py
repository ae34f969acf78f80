"""What every command stands on: the terminal, the standard streams, Ctrl-C, and commands loaded by name.

- Standard input, output and error, of which some may be closed, on a full disk, or without a reader.
- What a command consists of; each is loaded when it is first needed, since most calls need one.
- Ctrl-C: noticed wherever it arrives, and answered with what the ledger says about the query.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from giveortake.answers.render import printable
from giveortake.errors import GiveOrTakeError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable
    from types import FrameType

    from giveortake.ledger import Entry


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


_WIDEST = 100  # longer lines are hard to read


@final
@dataclass(frozen=True, slots=True)
class Command:
    """A command: what `--help` says about it, its arguments, and what it does."""

    summary: str
    description: str
    examples: tuple[str, ...]
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    interrupted: Callable[[argparse.Namespace, str], str] | None = None  # what became of it since a time, in words
    unwritten: Callable[[argparse.Namespace], str] | None = None  # what became of output that was not delivered


def number(text: str) -> int:
    """A whole number of the command line, in ASCII digits: `int` also reads "1_0" and digits of other scripts."""
    if not text.isascii() or not text.removeprefix("-").isdecimal():
        raise ValueError(text)
    return int(text)


def terminal() -> Console:
    """Standard output: coloured only if it is a terminal, at most 100 columns wide, 80 if the width is unknown."""
    console = Console(highlight=False)
    console.width = min(console.width, _WIDEST)
    return console


def grid(headings: Iterable[str], rows: Iterable[Iterable[object]]) -> Table:
    """A table of texts, none of which is markup; what is None is empty."""
    table = Table(pad_edge=False, box=None)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if cell is None else printable(str(cell))) for cell in row))
    return table


@final
class Commands(MutableMapping[str, "Command"]):
    """A mapping of commands; each is the `COMMAND` of the module of its name, or one of the `COMMANDS` of another."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules
        self._commands: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self._commands:
            module = import_module(f"giveortake.cli.{self._modules[name]}")
            self._commands[name] = module.COMMANDS[name] if hasattr(module, "COMMANDS") else module.COMMAND
        return self._commands[name]

    def __setitem__(self, name: str, command: Command) -> None:
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        del self._commands[name]

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


@final
@dataclass(slots=True)
class Stop:
    """Whether somebody asked to stop."""

    requested: bool = False


@contextmanager
def watching_interrupts() -> Iterator[Stop]:
    """Remember a Ctrl-C, whatever becomes of its exception: an engine may turn it into another one.

    If the program handles the signal itself, or ignores it, that stays as it is.
    """
    stop = Stop()
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield stop
        return

    def handle(number: int, frame: FrameType | None) -> None:
        stop.requested = True
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, handle)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def now() -> str:
    """What the clock says, as entries of a ledger write it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def charged_since(arguments: argparse.Namespace, started: str) -> str:
    """Say whether the ledger holds a charge for a question that was interrupted."""
    from giveortake import ledger as ledgers  # noqa: PLC0415 (these take a moment that most calls do not need)
    from giveortake.cli import session_options  # noqa: PLC0415 (as above)
    from giveortake.cli.ledger import relations  # noqa: PLC0415 (as above)
    from giveortake.ledger.discovery import MEMORY  # noqa: PLC0415 (as above)
    from giveortake.ledger.releases import price  # noqa: PLC0415 (as above)

    try:
        path = session_options.ledger_path(arguments)
        if path == MEMORY:
            return "what was charged was kept in memory only, and is forgotten"
        if "://" not in path and not Path(path).exists():
            return _NOTHING
        mark = session_options.mark_path(arguments)
        with ledgers.open(path, mark=mark, create=False) as ledger:  # to write: a charge may not have been marked yet
            entries = ledger.history()
    except GiveOrTakeError:
        return "whether it was charged is not known: the ledger cannot be read now; `giveortake ledger show` tells"
    name = session_options.expected_name(arguments)
    charge = _charge(entries, name, started)
    if charge is None:
        return _NOTHING
    cost = price(charge.content["event"], relations(entries)[name])
    return (
        f"the question was charged, {cost} (entry {charge.number} of {path}); the charge stands, and asking the same "
        "again is free"
    )


def _charge(entries: list[Entry], dataset: str, started: str) -> Entry | None:
    """The last charge for a question to a data set since `started`; None if there is none."""
    return next(
        (
            entry
            for entry in reversed(entries)
            if entry.kind == "reserved"
            and entry.at >= started
            and entry.content["dataset"] == dataset
            and entry.content["levels"]
        ),
        None,
    )


_NOTHING = "nothing was charged by this call"
