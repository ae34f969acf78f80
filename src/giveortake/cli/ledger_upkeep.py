"""What the custodian of a ledger does to it: restore, back up, move, index anew."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from giveortake import ledger as ledgers
from giveortake.answers.text import printable
from giveortake.cli.command import terminal
from giveortake.errors import InvalidParameter, NotFound
from giveortake.exact import shown
from giveortake.privacy.events import Pure

if TYPE_CHECKING:
    import argparse


def _restore(arguments: argparse.Namespace) -> int:
    charge = None if arguments.lost is None else Pure(arguments.lost)
    export = None if arguments.from_export is None else _lines(arguments.from_export)
    point = ledgers.restore(arguments.path, mark=arguments.mark, reason=arguments.reason, charge=charge, export=export)
    out = terminal()
    with ledgers.open(arguments.path, mark=arguments.mark, create=False) as ledger:
        if ledger.history()[-1].kind != "restored":
            out.print(f"The export reaches to entry {point.number}, as far as the mark remembers: nothing is lost.")
            return 0
    out.print(Text(f"acknowledged in entry {point.number}: {printable(arguments.reason)}"))
    if charge is None:
        out.print("Every level with a budget is closed until it is set anew: `giveortake admin budget change`.")
    else:
        out.print(f"ε = {shown(charge.epsilon)} was charged to every level for what may be forgotten.")
    return 0


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise NotFound(f"{path} cannot be read as an export: {error}") from error


def _backup(arguments: argparse.Namespace) -> int:
    folder = Path(arguments.to).absolute().parent
    if not folder.is_dir():
        make = f"mkdir -p {shlex.quote(str(folder))}"
        raise InvalidParameter("--to", arguments.to, "lies in a folder that does not exist", hint=make)
    point = ledgers.backup(arguments.path, arguments.to, mark=arguments.mark)
    out = terminal()
    out.print(f"{point.number} entries are in {arguments.to}, without the mark", soft_wrap=True)
    out.print(f"last hash  {point.hash}", soft_wrap=True)
    return 0


def _move(arguments: argparse.Namespace) -> int:
    point = ledgers.move(
        arguments.path, arguments.to, reason=arguments.reason, mark=arguments.mark, new_mark=arguments.new_mark
    )
    terminal().print(f"moved to {arguments.to}, which is entry {point.number}", soft_wrap=True)
    return 0


def _reindex(arguments: argparse.Namespace) -> int:
    point = ledgers.reindex(arguments.path, mark=arguments.mark)
    terminal().print(f"indexes follow from {point.number} entries again", soft_wrap=True)
    return 0


def add_arguments(name: str, action: argparse.ArgumentParser) -> None:
    """The options of one action."""
    if name in {"restore", "move"}:
        action.add_argument("--reason", required=True, help="why; it is kept in the ledger")
    if name == "restore":
        action.add_argument(
            "--from-export", type=Path, metavar="FILE", help="write the lost ledger anew from exported entries first"
        )
        action.add_argument(
            "--lost",
            metavar="EPSILON",
            help="charge this ε to every level instead of closing it until its budget is set anew",
        )
    if name in {"backup", "move"}:
        action.add_argument("--to", required=True, metavar="PATH", help="a file that is not there yet")
    if name == "move":
        action.add_argument(
            "--new-mark", metavar="PATH", help="where the mark is kept from now on; the state folder unless stated"
        )


ACTIONS = {"restore": _restore, "backup": _backup, "move": _move, "reindex": _reindex}
