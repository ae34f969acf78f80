"""The commands of `giveortake`, one file each. Nothing private is computed here."""

from __future__ import annotations

import argparse
import os
import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn

from giveortake import __version__
from giveortake.cli import admin, audit, bench, demo, explain, ledger, query, quote, survey, verify
from giveortake.errors import GiveOrTakeError, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from giveortake.cli.command import Command

__all__ = ["COMMANDS", "main"]

COMMANDS: dict[str, Command] = {
    "demo": demo.COMMAND,
    "query": query.COMMAND,
    "quote": quote.COMMAND,
    "ledger": ledger.COMMAND,
    "admin": admin.COMMAND,
    "explain": explain.COMMAND,
    "verify": verify.COMMAND,
    "audit": audit.COMMAND,
    "survey": survey.COMMAND,
    "bench": bench.COMMAND,
}

_REFUSED = 2
_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 2 refused (the reason is on stderr), 130 interrupted."""
    given = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters shows a question mark
    try:
        code = _dispatch(given)
        sys.stdout.flush()
    except GiveOrTakeError as error:
        sys.stderr.write(f"error: {error}\n")
        return _REFUSED
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # the reader, `head` for example, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _dispatch(given: list[str]) -> int:
    parser = _parser()
    if not given:
        parser.print_help()
        return 0
    if not given[0].startswith("-") and given[0] not in COMMANDS:
        raise _unknown_command(given[0])
    arguments = parser.parse_args(given)
    return COMMANDS[arguments.command].run(arguments)


def _unknown_command(name: str) -> InvalidParameter:
    close = get_close_matches(name, COMMANDS, n=1)
    meant = f"did you mean `giveortake {close[0]}`? " if close else ""
    return InvalidParameter("command", name, "does not exist", hint=f"{meant}the commands are {', '.join(COMMANDS)}")


class _Parser(argparse.ArgumentParser):
    """argparse, with errors in the house's form."""

    def error(self, message: str) -> NoReturn:
        raise GiveOrTakeError(message, hint=f"`{self.prog} --help` shows what it takes")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="giveortake",
        description="Differential privacy: every answer is a number give or take an honest margin.",
        epilog="\n".join(["examples:", *(f"  {line}" for command in COMMANDS.values() for line in command.examples)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"giveortake {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, title="commands")
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(
            name,
            help=command.summary,
            description=command.description,
            epilog="\n".join(["examples:", *(f"  {line}" for line in command.examples)]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(subparser)
    return parser
