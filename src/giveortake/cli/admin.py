"""`giveortake admin`: what the owner of a ledger decides about those who ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake import ledger as ledgers
from giveortake.cli.command import Command, terminal
from giveortake.cli.ledger import print_failures
from giveortake.errors import NotFound

if TYPE_CHECKING:
    import argparse

    from giveortake.ledger import Ledger, Standing


def run(arguments: argparse.Namespace) -> int:
    """Show who has observed how many failures, or allow as many again."""
    reads = arguments.action == "show"
    with ledgers.open(arguments.ledger, mark=arguments.mark, create=False, read_only=reads) as ledger:
        out = terminal()
        if reads:
            print_failures(out, ledger.failures())
            return 0
        for level in _meant(ledger, arguments):
            ledger.reset_failures(level, reason=arguments.reason)
            out.print(f"{level.name}: as many questions may fail again as at the beginning")
    return 0


def _meant(ledger: Ledger, arguments: argparse.Namespace) -> list[Standing]:
    if arguments.analyst is not None:
        found = ledger.levels(analyst=arguments.analyst)
        if not found:
            raise NotFound(f"the ledger has no analyst {arguments.analyst!r}")
        return found
    people = [each for each in ledger.levels() if (each.kind, each.name) == ("population", arguments.population)]
    if not people:
        raise NotFound(f"the ledger has no population {arguments.population!r}")
    return people


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    subjects = parser.add_subparsers(dest="subject", metavar="SUBJECT", required=True, title="subjects")
    words = "questions that ran out of memory, time or disk, of which each asker may observe a few"
    failures = subjects.add_parser("failures", help=words, description=words)
    actions = failures.add_subparsers(dest="action", metavar="ACTION", required=True, title="actions")
    for name, said in (("show", "who has observed how many, and what that can tell"), ("reset", "allow as many again")):
        action = actions.add_parser(name, help=said, description=said)
        action.add_argument("--ledger", required=True, metavar="PATH", help="the ledger's file, or a PostgreSQL URL")
        action.add_argument("--mark", metavar="PATH", help="where its high-water mark is, if not in the state folder")
        if name == "reset":
            who = action.add_mutually_exclusive_group(required=True)
            who.add_argument("--analyst", metavar="NAME", help="whose questions failed")
            who.add_argument("--population", metavar="NAME", help="of whom the custodian's own questions failed")
            action.add_argument("--reason", required=True, help="what you found; it is kept in the ledger")


COMMAND = Command(
    summary="decide about those who ask: failures",
    description="What the owner of a ledger decides about those who ask.",
    examples=('giveortake admin failures reset --ledger trips.ledger --analyst ann --reason "the disk was full"',),
    add_arguments=_add_arguments,
    run=run,
)
