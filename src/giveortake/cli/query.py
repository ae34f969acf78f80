"""`giveortake query`: ask a table behind a budget, and write the answer."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from giveortake.answers.render import printable
from giveortake.cli import session_options
from giveortake.cli.session_options import allotted_share, largest_question
from giveortake.cli.shell import Command, charged_since, is_closed, report, terminal
from giveortake.errors import GiveOrTakeError, InvalidParameter
from giveortake.exact import percent
from giveortake.ledger.discovery import MEMORY
from giveortake.progress import progress

if TYPE_CHECKING:
    import argparse

    from giveortake.answers import Answer
    from giveortake.session import Session

FORMATS = ("table", "csv", "json", "parquet")


def run(arguments: argparse.Namespace) -> int:
    """Charge, ask, answer; the answer goes to standard output or a file, all else to standard error."""
    kind = _format(arguments)
    text = session_options.question(arguments)
    with ExitStack() as stack:
        with progress(f"loading {printable(arguments.file)}") as bar:
            weak = session_options.rehearse(arguments, text)
            session, ledger_path = session_options.open_session(arguments)
            stack.enter_context(session)
            bar.says("asking")
            answer = session.sql(text).answer(**session_options.spend_terms(arguments), key=arguments.key)
        _write(answer, kind, arguments)
        report("" if weak is None else f"warning: {weak}\n")
        report(_bill(session, answer, ledger_path, noted=kind == "table" and arguments.output is None))
    return 0


def _format(arguments: argparse.Namespace) -> str:
    """The format that --format or the name of the file states; checked before anything is charged."""
    kind: str | None = arguments.format
    if kind is None:
        ending = Path(arguments.output or "").suffix.removeprefix(".").lower()
        if ending not in {*FORMATS, "txt", ""}:
            raise InvalidParameter(
                "--output",
                arguments.output,
                "names a format that is not written",
                hint="the formats are .csv, .json, .parquet and .txt; --format states one for any other name",
            )
        kind = ending if ending in FORMATS else "table"
    if kind == "parquet" and arguments.output is None:
        raise InvalidParameter("--format", kind, "is not for terminals", hint="add --output answer.parquet")
    if arguments.output is not None and not Path(arguments.output).absolute().parent.is_dir():
        hint = f"make the folder {Path(arguments.output).parent} first"
        raise InvalidParameter("--output", arguments.output, "lies in a folder that does not exist", hint=hint)
    if arguments.output is not None and Path(arguments.output).is_dir():
        raise InvalidParameter("--output", arguments.output, "is a folder", hint="name a file in it")
    if arguments.output is None and is_closed(sys.stdout):
        raise GiveOrTakeError("standard output is closed, and nobody would see the answer", hint="add --output PATH")
    return kind


def _write(answer: Answer, kind: str, arguments: argparse.Namespace) -> None:
    output: str | None = arguments.output
    if output is None:
        _print(answer, kind)
        return
    try:
        if kind == "parquet":
            answer.to_parquet(output)
        else:
            Path(output).write_text(_text(answer, kind), encoding="utf-8", newline="")
    except (OSError, InvalidParameter) as error:
        problem = error.strerror if isinstance(error, OSError) else None
        raise InvalidParameter(
            "--output", output, f"cannot be written{f': {problem}' if problem else ''}", hint=_recovery_hint(arguments)
        ) from None


def _recovery_hint(arguments: argparse.Namespace) -> str:
    """A hint on where to find an answer that could not be written."""
    if session_options.ledger_path(arguments) == MEMORY:
        return "the ledger was in memory, so the answer is lost; --ledger PATH keeps it"
    return "the answer is in the ledger: ask the same again, for free, and write it elsewhere"


def _print(answer: Answer, kind: str) -> None:
    if kind == "table":
        terminal().print(answer)
    else:
        sys.stdout.write(_text(answer, kind))
    sys.stdout.flush()  # a full disk says so now, while the bill has not been written


def _text(answer: Answer, kind: str) -> str:
    return str(answer.to_csv()) if kind == "csv" else f"{answer.to_json() if kind == 'json' else repr(answer)}\n"


def _bill(session: Session, answer: Answer, ledger_path: str, *, noted: bool) -> str:
    """One line on what is left, and where the ledger is; a table shows the answer's notes already."""
    status, affordable = session.standing(), session.affordable
    used = "" if status.used is None else f"{percent(status.used, 3)} of the budget is used{allotted_share(status)}"
    affordable_note = "" if affordable is None else f", {largest_question(affordable)}"
    storage = "kept nowhere: the ledger was in memory" if ledger_path == MEMORY else f"kept in {ledger_path}"
    free = not noted and any("nothing was charged" in note for note in answer.notes)
    repeat_note = "asked before, and free; " if free else ""
    return f"{repeat_note}{used}{affordable_note}; {storage}\n"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    session_options.add_arguments(parser)
    parser.add_argument("--key", metavar="TEXT", help="makes a retry safe: one key is charged once")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="how to write the answer; by default as the name of --output says, else a table",
    )
    parser.add_argument("--output", metavar="PATH", help="write the answer to this file instead of to the terminal")


COMMAND = Command(
    summary="ask a table behind a budget, in SQL",
    description=(
        "Put a table behind a privacy budget and ask it a question in SQL. What was spent is kept in FILE.ledger, so\n"
        "that the next call knows. Exit codes: 0 answered, 2 refused (standard error says why), 130 interrupted."
    ),
    examples=(
        'giveortake query trips.csv "SELECT COUNT(*) FROM trips" --unit id --budget 1 --epsilon 1 --rows-per-person 9',
        "giveortake query trips.toml @weekly.sql --epsilon 0.1 --rows-per-person 20 --output weekly.csv",
    ),
    add_arguments=_add_arguments,
    run=run,
    interrupted=charged_since,
    unwritten=_recovery_hint,
)
