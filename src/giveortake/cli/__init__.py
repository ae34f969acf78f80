"""The commands of `giveortake`. Nothing private is computed here."""

from __future__ import annotations

import argparse
import sys
from textwrap import fill
from typing import TYPE_CHECKING, Any, NoReturn

from giveortake import __version__
from giveortake.cli import shell
from giveortake.cli.shell import Commands
from giveortake.errors import GiveOrTakeError, InvalidParameter, did_you_mean
from giveortake.hints import parameter, rendered

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["COMMANDS", "main", "parser_of_all"]

COMMANDS = Commands(
    {
        "demo": "demo",
        "init": "init",
        "query": "query",
        "quote": "query",
        "profile": "query",
        "publish": "publish",
        "ledger": "ledger",
        "admin": "admin",
        "serve": "serve",
        "explain": "explain",
        "verify": "verify",
        "audit": "audit",
        "survey": "survey",
        "bench": "bench",
        "doctor": "doctor",
    }
)

_SHORTEST = 4  # letters and dashes of an option that is taken for a misspelt one
_WIDTH = 79  # of descriptions
_UNREAD = 1
_REFUSED = 2
_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 2 refused (the reason is on stderr), 130 interrupted."""
    command_line = list(sys.argv[1:] if argv is None else argv)
    shell.prepare()
    started = shell.now()
    arguments: argparse.Namespace | None = None
    with shell.watching_interrupts() as stop:
        try:
            arguments = _read(command_line)
            code = 0 if arguments is None else COMMANDS[arguments.command].run(arguments)
            sys.stdout.flush()
        except KeyboardInterrupt:
            return _interrupted(arguments, started)
        except GiveOrTakeError as error:
            if stop.requested:  # an error into which an engine turned Ctrl-C
                return _interrupted(arguments, started)
            shell.report(f"error: {_error_text(error, command_line)}\n")
            return _REFUSED
        except OSError as error:
            return _unwritten(arguments, error)
    return code


def _error_text(error: GiveOrTakeError, command_line: Sequence[str]) -> str:
    """An error with its hint, in the words of the command line: a parameter given as an option is named as one."""
    message = error.message
    if isinstance(error, InvalidParameter):
        option = f"--{error.name.replace('_', '-')}"
        is_stated = any(argument.partition("=")[0] == option for argument in command_line)
        message = error.called(option if is_stated else parameter(error.name, "command"))
    hint = rendered(error.hint, "command")
    return message if hint is None else f"{message}\n\n  hint: {hint}"


def _interrupted(arguments: argparse.Namespace | None, started: str) -> int:
    message = ""
    if arguments is not None and (describe := COMMANDS[arguments.command].interrupted) is not None:
        try:
            message = describe(arguments, started)
        except KeyboardInterrupt:  # once more
            message = "`giveortake ledger show` tells whether something was charged"
    if message:
        shell.report(f"interrupted: {message}\n")
    return _INTERRUPTED


def _unwritten(arguments: argparse.Namespace | None, error: OSError) -> int:
    if error.filename is not None:
        shell.report(f"error: {error.filename}: {error.strerror}\n")
        return _REFUSED
    shell.give_up_output()
    describe = None if arguments is None else COMMANDS[arguments.command].unwritten
    hint = None if arguments is None or describe is None else describe(arguments)
    if isinstance(error, BrokenPipeError) and hint is None:  # the reader, `head` for example, has seen enough
        return _UNREAD
    shell.report(f"error: {GiveOrTakeError(f'the output cannot be written: {error.strerror}', hint=hint)}\n")
    return _UNREAD if isinstance(error, BrokenPipeError) else _REFUSED


def _read(command_line: list[str]) -> argparse.Namespace | None:
    """The arguments of a command; None if there are none, and help was printed instead."""
    if command_line and command_line[0] in COMMANDS:
        return _parser([command_line[0]]).parse_args(command_line)
    parser = parser_of_all()
    if not command_line or command_line == ["help"]:
        parser.print_help()
        return None
    if command_line[0] == "help" and len(command_line) > 1:
        return _read([*command_line[1:], "--help"])
    if command_line == ["version"]:
        command_line = ["--version"]
    if not command_line[0].startswith("-"):
        raise _unknown_command(command_line[0])
    return parser.parse_args(command_line)


def parser_of_all() -> argparse.ArgumentParser:
    """The parser of every command, from which `shtab` makes completion scripts."""
    return _parser(list(COMMANDS))


def _unknown_command(name: str) -> InvalidParameter:
    commands = f"the commands are {', '.join(COMMANDS)}"
    return InvalidParameter("command", name, "does not exist", hint=f"{did_you_mean(name, COMMANDS)}{commands}")


class _Parser(argparse.ArgumentParser):
    """An argparse parser with errors in our form. Options cannot be abbreviated: a slip might spend."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "allow_abbrev": False})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Refuse unknown arguments in the command that got them, so that the hint is its own help."""
        arguments, unknown = super().parse_known_args(args, namespace)
        if unknown:
            raise self._refusal(f"unrecognized arguments: {' '.join(unknown)}", self._guess(unknown))
        return arguments, unknown

    def _guess(self, unknown: list[str]) -> str:
        """How a hint begins, by what was not understood: a question without quotes, or an option that is misspelt."""
        if {"FROM", "SELECT"} & {word.upper() for word in unknown}:
            return 'put the question in quotes: "SELECT COUNT(*) FROM trips"; '
        option_name, options = unknown[0].partition("=")[0], self._option_string_actions
        if len(option_name) < _SHORTEST:
            return ""
        return did_you_mean(
            next((option for option in options if option.startswith(option_name)), option_name), options
        )

    def error(self, message: str) -> NoReturn:
        raise self._refusal(message)

    def _refusal(self, message: str, guess: str = "") -> GiveOrTakeError:
        return GiveOrTakeError(message, hint=f"{guess}`{self.prog} --help` shows what it takes")


def _parser(names: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of these commands; one that is called needs no other."""
    commands_by_name = {name: COMMANDS[name] for name in names}
    parser = _Parser(
        prog="giveortake",
        description="Differential privacy: every answer is a number give or take an honest margin.",
        epilog="\n".join(
            ["examples:", *(f"  {line}" for command in commands_by_name.values() for line in command.examples)]
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"giveortake {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, title="commands")
    for name, command in commands_by_name.items():
        subparser = commands.add_parser(
            name,
            help=command.summary,
            description=fill(" ".join(command.description.split()), _WIDTH),
            epilog="\n".join(["examples:", *(f"  {line}" for line in command.examples)]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(subparser)
    return parser
