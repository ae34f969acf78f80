"""`giveortake doctor`: which extras, engines, ledgers and marks are there, and whether they are well."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

import giveortake as gt
from giveortake.cli.command import Command, terminal
from giveortake.cli.doctor_findings import Finding, findings

if TYPE_CHECKING:
    import argparse

_SIGNS = {"well": ("✓", "green"), "absent": ("–", "yellow"), "ill": ("✗", "bold red")}


def run(arguments: argparse.Namespace) -> int:
    """Check everything and print the findings; exit code 1 if something is ill. What is merely absent is no fault."""
    found = list(findings(arguments.places))
    ill = any(each.state == "ill" for each in found)
    if arguments.json:
        told = {"version": gt.__version__, "healthy": not ill, "findings": [asdict(each) for each in found]}
        sys.stdout.write(json.dumps(told, ensure_ascii=False) + "\n")
    else:
        _print(found)
    return int(ill)


def _print(found: list[Finding]) -> None:
    out = terminal()
    for group in dict.fromkeys(each.group for each in found):
        grid = Table.grid(padding=(0, 2))
        grid.add_column()
        grid.add_column(overflow="fold", max_width=32)
        grid.add_column(overflow="fold")
        for each in found:
            if each.group == group:
                told = Text(each.told)
                if each.hint is not None and each.state != "well":
                    told.append(f"\n{each.hint}", style="dim")
                sign, style = _SIGNS[each.state]
                grid.add_row(Text(sign, style=style), Text(each.name), told)
        out.print(f"[bold]{group}[/]")
        out.print(grid)
        out.print()
    states = Counter(each.state for each in found)
    problems = f"{states['ill']} problem{'s' * (states['ill'] != 1)}"
    counted = f"{states['well']} ok, {states['absent']} not installed or not present, {problems}"
    out.print(Text(counted, style="bold red" if states["ill"] else "bold green"))
    out.print("To test the noise itself, run `giveortake audit --quick`.")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("places", nargs="*", metavar="TOML|LEDGER", help="those of this folder, unless some are named")
    parser.add_argument("--json", action="store_true", help="for programs")


COMMAND = Command(
    summary="check this installation: extras, engines, ledgers and marks",
    description=(
        "Look at this installation, its state folder, and the ledgers and TOML files of this folder. Nothing is "
        "written and no protected table is opened. Exit code 1 if something is ill."
    ),
    examples=("giveortake doctor", "giveortake doctor giveortake.toml --json"),
    add_arguments=_add_arguments,
    run=run,
)
