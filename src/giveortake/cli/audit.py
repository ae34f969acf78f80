"""`giveortake audit`: look at this installation from outside, and report."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from giveortake.audit.bounds import figure
from giveortake.audit.self_check import Check, Outcome, checks
from giveortake.cli.shell import Command, terminal
from giveortake.errors import InvalidParameter
from giveortake.progress import progress

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

ALPHA = 1e-6  # of the whole audit: a sound installation is suspected once in a million audits
_QUICK = 0.05


def run(arguments: argparse.Namespace) -> int:
    """Run every check and print one line for each; exit code 1 if something is suspected."""
    chosen = _chosen(arguments.groups)
    out, effort = terminal(), _QUICK if arguments.quick else 1.0
    started = time.monotonic()
    outcomes: list[tuple[Check, Outcome]] = []
    with progress("", total=len(chosen)) as bar:
        for check in chosen:
            bar.says(f"{check.group}: {check.name}")
            outcomes.append((check, check.run(effort, ALPHA / len(chosen))))
            bar.advance()
    _report(out, outcomes, verbose=arguments.all)
    return _conclude(out, outcomes, time.monotonic() - started)


def _chosen(groups: list[str]) -> list[Check]:
    everything = checks()
    known = list(dict.fromkeys(check.group for check in everything))
    for group in groups:
        if group not in known:
            raise InvalidParameter("GROUP", group, "does not exist", hint=f"there are {', '.join(known)}")
    return [check for check in everything if not groups or check.group in groups]


def _report(out: Console, outcomes: list[tuple[Check, Outcome]], *, verbose: bool) -> None:
    for group in dict.fromkeys(check.group for check, _ in outcomes):
        members = [(check, outcome) for check, outcome in outcomes if check.group == group]
        sound = sum(outcome.sound for _, outcome in members)
        out.print(f"[bold]{group}[/]  {sound} of {len(members)} without a finding")
        grid = Table.grid(padding=(0, 2))
        for check, outcome in members:
            if verbose or not outcome.sound or group != "filters":
                mark = Text("ok" if outcome.sound else "SUSPECT", style="green" if outcome.sound else "bold red")
                grid.add_row("  ", mark, Text(check.name), Text(outcome.claim), Text(outcome.finding, style="dim"))
        if grid.row_count:
            out.print(grid)
        if group == "filters" and not verbose:
            out.print("  [dim]each budget against each adversary; --all lists them[/]")
        out.print()


def _conclude(out: Console, outcomes: list[tuple[Check, Outcome]], seconds: float) -> int:
    suspects = [check.name for check, outcome in outcomes if not outcome.sound]
    out.print(
        f"{len(outcomes)} checks in {seconds:.0f} s. If everything is as promised, an audit like this one suspects "
        f"something with probability at most {figure(ALPHA)}. It looks from outside, at samples: "
        "[bold]finding nothing is no proof[/]."
    )
    if suspects:
        out.print(Text(f"Suspected: {', '.join(suspects)}", style="bold red"))
        return 1
    return 0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "groups", nargs="*", metavar="GROUP", help="mechanisms, samplers, traces, filters, requests; all if none"
    )
    parser.add_argument("--quick", action="store_true", help="a twentieth of the samples")
    parser.add_argument("--all", action="store_true", help="one line for every filter and adversary too")


COMMAND = Command(
    summary="audit this installation: mechanisms, samplers, filters, requests",
    description=(
        "Draw from every mechanism, sampler and filter of this installation and hold the samples against what is "
        "promised; buy every kind of request, in every currency, of generated neighbouring tables, and hold what it "
        "loses against what is charged, and all else that can be seen on one table against the other. No live table "
        "is touched. It takes about five minutes."
    ),
    examples=("giveortake audit", "giveortake audit mechanisms --quick"),
    add_arguments=_add_arguments,
    run=run,
)
