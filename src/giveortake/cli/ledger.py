"""`giveortake ledger`: verify, show, export, restore, back up and move a ledger.

- The path of a ledger in a command: it is not a TOML file, although that names one; and which table it is about.
- Verification, and the budget status of every level, with its burn-down.
- What the custodian does to the store: restore, back up, move, index anew.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from giveortake import ledger as ledgers
from giveortake.answers.render import printable
from giveortake.cli.shell import Command, number, terminal
from giveortake.configuration import Configuration, configurations, select_section
from giveortake.engines.protocol import is_address
from giveortake.errors import GiveOrTakeError, InvalidParameter, NotFound
from giveortake.exact import decimal
from giveortake.ledger.budget_status import used_of_whole
from giveortake.ledger.budgets import promise_text
from giveortake.ledger.chain.entries import canonical
from giveortake.ledger.discovery import CONFIGURATION, usual_ledger
from giveortake.ledger.releases import minute, summary
from giveortake.ledger.reservations import revealed
from giveortake.privacy import PureDP
from giveortake.privacy.events import Pure

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from giveortake.ledger import Allowance, BudgetStatus, Entry, Ledger
    from giveortake.privacy import Neighbours


def ledger_of(arguments: argparse.Namespace, path: str | None) -> tuple[str, str | None]:
    """The ledger that a command is about, and its mark: the one that is named, or that of a TOML file.

    A TOML file may be named instead of its ledger; the one in the folder of the command need not be.
    """
    if path is None and not Path(CONFIGURATION).exists():
        hint = f"name the ledger, or call this where {CONFIGURATION} is"
        raise InvalidParameter("ledger", None, "is missing", hint=hint)
    file = CONFIGURATION if path is None else path
    if Path(file).suffix.lower() != ".toml":
        _require_existing(file)
        return file, arguments.mark
    sections = configurations(file)
    ledgers_in_file = {section.ledger or usual_ledger(file) for section in sections.values()}
    if len(ledgers_in_file) == 1 and arguments.table is None:
        section = next(iter(sections.values()))
    else:
        section = select_section(sections, arguments.table, "table")
    return section.ledger or usual_ledger(file), arguments.mark or section.mark


def add_ledger(parser: argparse.ArgumentParser, *, option: bool = True) -> None:
    """Add the options that say which ledger a command is about."""
    words = f"the ledger's file, a PostgreSQL URL, or a TOML file; {CONFIGURATION} unless stated"
    if option:
        parser.add_argument("--ledger", metavar="PATH", help=words)
    else:
        parser.add_argument("path", metavar="PATH", nargs="?", help=words)
    parser.add_argument(
        "--table", metavar="NAME", help="the section of the TOML file, if its tables have several ledgers"
    )
    parser.add_argument("--mark", metavar="PATH", help="where its mark is, if not in the state folder")


def _require_existing(path: str) -> None:
    """Refuse a missing file if a ledger beside it was probably meant; else opening the ledger refuses it."""
    file = Path(path)
    if is_address(path) or file.exists() or not file.parent.is_dir():
        return
    candidates = sorted(
        str(candidate) for candidate in file.parent.glob("*.ledger") if candidate.name.startswith(f"{file.stem}.")
    )
    if candidates:
        raise NotFound(f"there is no ledger at {path}", hint=f"did you mean {' or '.join(candidates)}?")


def table_of(ledger: str) -> tuple[str, str | None]:
    """The TOML file beside a ledger that names it, with its section; else the file of the table beside it.

    Reading a ledger's releases needs the declarations about the table, which are there.
    """
    path = Path(ledger)
    sections = [
        (str(configuration), section.name)
        for configuration in sorted(path.absolute().parent.glob("*.toml"))
        for section in _sections(configuration)
        if Path(section.ledger or usual_ledger(str(configuration))).resolve() == path.resolve()
    ]
    if len(sections) == 1:
        return sections[0]
    if sections:
        listing = ", ".join(f"[{section}] of {Path(file).name}" for file, section in sections)
        raise InvalidParameter(
            "file",
            ledger,
            f"is the ledger of several tables: {listing}",
            hint="name the TOML file, and --table SECTION",
        )
    table = ledger.removesuffix(".ledger")
    if not Path(table).exists():
        raise InvalidParameter(
            "file",
            ledger,
            "is a ledger, and no TOML file or table beside it says what it is about",
            hint="name the TOML file, or the table with --unit and --budget, as `giveortake query` takes it",
        )
    return table, None


def _sections(configuration: Path) -> list[Configuration]:
    """The sections of a TOML file; none if the file is not ours."""
    try:
        return list(configurations(configuration).values())
    except GiveOrTakeError:
        return []


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
        out.print(f"ε = {decimal(charge.epsilon)} was charged to every level for what may be forgotten.")
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


_BAR = 8
_NARROWEST = 7  # of a name
_PIPED = 200  # columns, where nobody reads lines as wide as their terminal
_WIDTH = 48  # of a burn-down
_STEPS = "▁▂▃▄▅▆▇█"


def run(arguments: argparse.Namespace) -> int:
    """Run the action that the arguments name."""
    arguments.path, arguments.mark = ledger_of(arguments, arguments.path)
    if arguments.action in ACTIONS:
        return ACTIONS[arguments.action](arguments)
    with ledgers.open(arguments.path, mark=arguments.mark, create=False, read_only=True) as ledger:
        return {"verify": _verify, "show": _show, "export": _export}[arguments.action](ledger, arguments)


def _verify(ledger: Ledger, arguments: argparse.Namespace) -> int:
    report = ledger.verify()
    if arguments.json:
        sys.stdout.write(json.dumps(asdict(report)) + "\n")
        return 0
    out = terminal()
    out.print(Text.assemble(("whole", "bold green"), f"  {printable(ledger.name)}"), soft_wrap=True)
    out.print(
        f"{report.entries} entries follow one another, {report.reservations} reservations were admissible when they "
        f"were made, {report.answers} answers are kept, and what {report.levels} levels have spent follows from them."
    )
    out.print(f"last hash  {report.head}", soft_wrap=True)
    return 0


def _show(ledger: Ledger, arguments: argparse.Namespace) -> int:
    levels, used, history = ledger.levels(), ledger.burn_down(), ledger.history()
    if arguments.json:
        sys.stdout.write(json.dumps(_as_json(ledger, levels, used)) + "\n")
        return 0
    out = terminal()
    if not out.is_terminal and "COLUMNS" not in os.environ:  # a file or another program, where nothing is to be cut
        out.width = _PIPED
    out.print(Text.assemble((printable(ledger.name), "bold"), f"  {len(history)} entries\n"), soft_wrap=True)
    out.print(standings(ledger, levels))
    _draw_burn_down(out, levels, used_of_whole(used, history))
    out.print()
    print_failures(out, ledger.failures())
    _print_last(out, history, arguments.last)
    return 0


def _export(ledger: Ledger, _arguments: argparse.Namespace) -> int:
    for entry in ledger.history():
        sys.stdout.write(canonical({"entry": json.loads(entry.body), "hash": entry.hash}) + "\n")
    return 0


def standings(ledger: Ledger, levels: list[BudgetStatus], asks: Mapping[int, str] | None = None) -> Table:
    """A table of who may spend what, and what is left; `asks` has the data sets of each level, by its number."""
    table = Table(pad_edge=False, box=None)
    table.add_column("level", no_wrap=True)
    table.add_column("name", overflow="fold", min_width=_NARROWEST)
    protected = {printable(level.unit.column or "row") for level in levels}
    if asks is not None:
        table.add_column("may ask", overflow="fold", min_width=_NARROWEST)
    if len(protected) > 1:
        table.add_column("protects", overflow="fold", min_width=_NARROWEST)
    given_away = any(level.given for level in levels)
    table.add_column("budget", overflow="fold")
    table.add_column("spent", no_wrap=True)
    for heading in (*(["given"] if given_away else []), "left"):
        table.add_column(heading, justify="right", no_wrap=True)
    for level in levels:
        label_cells = [Text(level.kind), Text(printable(level.name))]
        label_cells += [Text(printable(asks[level.number]))] if asks is not None else []
        label_cells += [Text(printable(level.unit.column or "row"))] if len(protected) > 1 else []
        if level.own is None:
            table.add_row(*label_cells, "of its people", "")
            continue
        bar = Text(_bar(level.own), style="red" if level.own == 1 else "cyan")
        given_cells = [f"{floor(100 * level.given)} %" if level.given else ""] if given_away else []
        left = "closed" if level.closed else _left(level, ledger.affordable(level))
        table.add_row(*label_cells, Text(promise_text(level.budget)), bar, *given_cells, left)
    whom_all = f"each {next(iter(protected))} is protected" if len(protected) == 1 else ""
    spent = "spent: by questions of one's own; given: to analysts, used or not" if given_away else ""
    table.caption = Text("\n".join(filter(None, (whom_all, spent))))
    table.caption_justify = "left"
    return table


def print_failures(out: Console, allowances: list[Allowance]) -> None:
    """Print how many questions of each asker failed and may fail, and what that can reveal besides answers."""
    grid = Table.grid(padding=(0, 2))
    for allowance in allowances:
        asker = f"{printable(allowance.name)} ({'analyst' if allowance.kind == 'analyst' else 'custodian'})"
        counted = f"{allowance.failed} of {allowance.allowed} allowed failures used"
        counted += f" ({allowance.defects} by a defect)" if allowance.defects else ""
        leakage = f"failures could reveal at most {float(allowance.bits):.1f} bits in addition to ε"
        grid.add_row(Text(f"  {asker}"), f"{counted}; {leakage}")
    out.print("[bold]Questions that failed[/]  for lack of memory, time or disk, or by a defect")
    out.print(grid)
    failed, executions = (
        sum(allowance.failed for allowance in allowances),
        sum(allowance.executions for allowance in allowances),
    )
    total = (
        f"{failed:,} among {executions:,} executions of all questions: at most {float(revealed(allowances)):.1f} bits"
    )
    out.print(f"  so far, {total}", soft_wrap=True)


def _draw_burn_down(out: Console, levels: list[BudgetStatus], used: dict[int, list[tuple[int, Fraction]]]) -> None:
    grid = Table.grid(padding=(0, 2))
    for level in levels:
        if level.number in used:
            points = [1 - share for _, share in used[level.number]]
            line = Text(sparkline(points), style="cyan")
            grid.add_row(f"  {level.kind}", Text(printable(level.name)), line, f"{floor(100 * points[-1])} % left")
    out.print("\n[bold]Burn-down[/]  what was left of each whole budget, neither spent nor given, charge by charge")
    out.print(grid)


def _print_last(out: Console, history: list[Entry], count: int) -> None:
    last_entries = history[len(history) - min(count, len(history)) :]
    out.print(f"\n[bold]The last {len(last_entries)} entries[/]")
    out.print(entries(last_entries, out.width, relations(history)))


def relations(history: list[Entry]) -> dict[str, Neighbours]:
    """The neighbouring relation of every data set, by its name: that of its population."""
    people = {e.content["name"]: e.content["budget"]["neighbours"] for e in history if e.kind == "population"}
    return {e.content["name"]: people[e.content["population"]] for e in history if e.kind == "dataset"}


def entries(history: list[Entry], width: int, neighbours: Mapping[str, Neighbours]) -> Table:
    """Entries, one line each, cut to the width."""

    def described(entry: Entry) -> str:
        return summary(entry, neighbours.get(entry.content.get("dataset", ""), "add-remove"))

    rows = [(str(entry.number), minute(entry.at), entry.kind, printable(described(entry))) for entry in history]
    table = Table(pad_edge=False, box=None)
    for name in ("entry", "at", "kind"):
        table.add_column(name, no_wrap=True)
    table.add_column("what", no_wrap=True)
    fixed_width = 2 + sum(
        max([len(name), *(len(row[i]) + 2 for row in rows)]) for i, name in enumerate(("entry", "at", "kind"))
    )
    room = max(20, width - fixed_width)
    for row in rows:
        table.add_row(*row[:3], Text(row[3] if len(row[3]) <= room else f"{row[3][: room - 1]}…"))
    return table


def sparkline(points: list[Fraction]) -> str:
    """Numbers from 0 to 1 as a line of blocks; of numbers that share a column, the lowest is shown.

    >>> sparkline([Fraction(1), Fraction(1, 2), Fraction(0)])
    '█▅▁'
    """
    columns = min(_WIDTH, len(points))
    line = []
    for column in range(columns):
        part = points[column * len(points) // columns : (column + 1) * len(points) // columns]
        line.append(_STEPS[min(len(_STEPS) - 1, floor(min(part) * len(_STEPS)))])
    return "".join(line)


def _bar(share: Fraction) -> str:
    full = floor(share * _BAR) if share < 1 else _BAR
    return "█" * full + "░" * (_BAR - full) + f" {floor(100 * share)} %"


def _left(level: BudgetStatus, affordable: Fraction | None) -> str:
    """What is left: the ε of a pure budget, of any other the share."""
    if isinstance(level.budget, PureDP) and affordable is not None:
        return f"ε ≤ {decimal(affordable)}"
    return "" if level.used is None else f"{floor(100 * (1 - level.used))} %"


def _as_json(ledger: Ledger, levels: list[BudgetStatus], used: dict[int, list[tuple[int, Fraction]]]) -> dict[str, Any]:
    return {
        "ledger": ledger.name,
        "levels": [
            {
                "number": level.number,
                "kind": level.kind,
                "name": level.name,
                "unit": level.unit.column,
                "budget": None if level.budget is None else repr(level.budget),
                "spent": _exact(level.spent),
                "remaining": _exact(level.remaining),
                "given": _exact(level.given),
                "own": _exact(level.own),
                "closed": level.closed,
                "analysts": "allotted" if level.allotted else "pooled",
                "allotments": [repr(allotment) for allotment in level.allotments],
                "burn_down": [[number, _exact(share)] for number, share in used.get(level.number, [])],
            }
            for level in levels
        ],
        "failures": [
            {
                "kind": allowance.kind,
                "name": allowance.name,
                "failed": allowance.failed,
                "k": allowance.allowed,
                "N": allowance.questions + allowance.steps,
                "steps": allowance.steps,
                "bits": str(allowance.bits),
                "defects": allowance.defects,
                "executions": allowance.executions,
                "revealed": str(allowance.revealed),
            }
            for allowance in ledger.failures()
        ],
    }


def _exact(amount: object) -> object:
    if isinstance(amount, Fraction):
        return str(amount)
    if isinstance(amount, Mapping):
        return {name: _exact(value) for name, value in amount.items()}
    return amount


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, title="actions")
    for name, help_text in (
        ("verify", "derive everything again from the first entry, and say whether it holds"),
        ("show", "who may spend what, what is left, how it burned down, and the last entries"),
        ("export", "print every entry as a line of JSON with its hash"),
        ("restore", "accept an old copy as the truth from now on; only the custodian can decide that"),
        ("backup", "copy the ledger as it is at one moment, without its mark"),
        ("move", "move the ledger to another path, disk or machine on purpose"),
        ("reindex", "derive checkpoints and indexes anew from the entries"),
    ):
        action = actions.add_parser(name, help=help_text, description=help_text)
        add_ledger(action, option=False)
        if name in {"verify", "show"}:
            action.add_argument("--json", action="store_true", help="for programs")
        if name == "show":
            action.add_argument("--last", type=number, default=10, metavar="N", help="how many entries to list")
        if name in ACTIONS:
            add_arguments(name, action)


COMMAND = Command(
    summary="verify, show, back up and move a ledger of budgets and answers",
    description="Look at a ledger: whether it is whole, what is left of every budget, and all that happened.",
    examples=(
        "giveortake ledger verify trips.ledger",
        "giveortake ledger show trips.ledger --last 20",
        "giveortake ledger export trips.ledger > entries.jsonl",
        "giveortake ledger backup trips.ledger --to /backups/trips.ledger",
    ),
    add_arguments=_add_arguments,
    run=run,
)
