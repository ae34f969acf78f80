"""What every command consists of, and the terminal they all write to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from rich.console import Console

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

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
