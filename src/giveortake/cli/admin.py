"""`giveortake admin`: what the custodian of a ledger decides about those who ask."""

from __future__ import annotations

from dataclasses import dataclass
from getpass import getuser
from typing import TYPE_CHECKING, TypeAlias, final

from giveortake import ledger as ledgers
from giveortake.cli import admin_access as access
from giveortake.cli import admin_actions as actions
from giveortake.cli.command import Command, number, terminal
from giveortake.cli.ledger_paths import require_ledger

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from rich.console import Console

    from giveortake.ledger import Ledger

Do: TypeAlias = "Callable[[Ledger, argparse.Namespace, Console], None]"


@final
@dataclass(frozen=True, slots=True)
class Action:
    """An action of the custodian: in words, what it does, and what options it takes."""

    words: str
    do: Do
    takes: Callable[[argparse.ArgumentParser], None] | None = None  # None: it reads, and takes nothing


def run(arguments: argparse.Namespace) -> int:
    """Do what the action says; one that takes nothing only reads."""
    action = SUBJECTS[arguments.subject][1][arguments.action]
    reads = action.takes is None
    require_ledger(arguments.ledger, "--ledger")
    with ledgers.open(arguments.ledger, mark=arguments.mark, create=False, read_only=reads) as ledger:
        action.do(ledger, arguments, terminal())
    return 0


def _for_adding(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="what the analyst is called")
    parser.add_argument(
        "--dataset", action="append", required=True, metavar="NAME", help="what they may ask; once for each data set"
    )
    _take_budget(parser, required=False)
    parser.add_argument(
        "--failures", type=number, metavar="N", help="how many of their questions may fail; 3 unless stated"
    )
    parser.add_argument("--questions", type=number, metavar="N", help="how many questions they may ask at all")
    parser.add_argument(
        "--approval-above",
        metavar="B",
        help='a larger spend at once waits for `admin approval approve`: "0.1", "mu=0.5"',
    )


def _for_one_analyst(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="what the analyst is called")
    _take_reason(parser)


def _for_changing(parser: argparse.ArgumentParser) -> None:
    whose = parser.add_mutually_exclusive_group()
    whose.add_argument("--population", metavar="NAME", help="the budget of these people")
    whose.add_argument("--analyst", metavar="NAME", help="the allotment or cap of this analyst")
    parser.add_argument(
        "--dataset", metavar="NAME", help="the cap of this data set; with --analyst, which of their budgets"
    )
    _take_budget(parser, required=True, or_spent=True)
    _take_reason(parser)


def _for_resetting(parser: argparse.ArgumentParser) -> None:
    who = parser.add_mutually_exclusive_group(required=True)
    who.add_argument("--analyst", metavar="NAME", help="whose questions failed")
    who.add_argument("--population", metavar="NAME", help="the people about whom the custodian's own questions failed")
    _take_reason(parser)


def _for_issuing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--analyst", metavar="NAME", help="whom it lets in; unless stated, a custodian")
    _take_expiry(parser, "until when it is valid; 90 days unless stated")


def _for_one_token(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("token", metavar="ID", help="the token's id, as `admin token list` shows it")
    _take_reason(parser)


def _for_approving(parser: argparse.ArgumentParser) -> None:
    _for_denying(parser)
    _take_expiry(parser, "until when it may be used; without end unless stated")


def _for_denying(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("request", metavar="REQUEST", type=number, help="its number, as `admin approval list` shows it")
    _take_reason(parser)


def _take_expiry(parser: argparse.ArgumentParser, words: str) -> None:
    parser.add_argument("--expires", metavar="DAY", help=f"{words}: 2027-01-31, or 2027-01-31T12:00:00+00:00")


def _take_budget(parser: argparse.ArgumentParser, *, required: bool, or_spent: bool = False) -> None:
    spent = "; spent lowers it to what was spent and given" if or_spent else ""
    parser.add_argument("--budget", required=required, metavar="B", help=f'"1", "1,1e-8", "rho=0.1" or "mu=1"{spent}')
    parser.add_argument("--budget-delta", metavar="D", help="the δ of the budget, if it is not in --budget")


def _take_reason(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reason", required=True, help="why, or what you found; it is kept in the ledger")


SUBJECTS: dict[str, tuple[str, dict[str, Action]]] = {
    "analyst": (
        "who may ask, and within which budget",
        {
            "list": Action("who may ask, and what is left to them", actions.list_analysts),
            "add": Action("let somebody ask some data sets, within a budget", actions.add_analyst, _for_adding),
            "revoke": Action("from now on they are told nothing", actions.revoke_analyst, _for_one_analyst),
            "readmit": Action("take a revocation back", actions.readmit_analyst, _for_one_analyst),
        },
    ),
    "budget": (
        "what everybody may spend",
        {
            "list": Action("every budget, and what is left of it", actions.list_budgets),
            "change": Action("a new promise in place of an old one", actions.change_budget, _for_changing),
        },
    ),
    "dataset": (
        "the tables that can be asked about",
        {"list": Action("every table, whose people are in it, and what is declared", actions.list_datasets)},
    ),
    "token": (
        "secrets that let somebody into a service",
        {
            "list": Action("every token, whom it lets in and until when", access.list_tokens),
            "issue": Action("a new token for an analyst or a custodian, shown once", access.issue_token, _for_issuing),
            "revoke": Action("from now on nobody is let in by it", access.revoke_token, _for_one_token),
        },
    ),
    "approval": (
        "large spends, which wait for the custodian",
        {
            "list": Action("what waits, what it asks and by whom, and what was decided", access.list_approvals),
            "approve": Action("let one through, once", access.approve, _for_approving),
            "deny": Action("refuse one, with a reason that is told", access.deny, _for_denying),
        },
    ),
    "failures": (
        "questions that ran out of memory, time or disk, of which each asker may observe a few",
        {
            "show": Action("who has observed how many, and what that can tell", actions.show_failures),
            "reset": Action("allow as many again", actions.reset_failures, _for_resetting),
        },
    ),
}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    subjects = parser.add_subparsers(dest="subject", metavar="SUBJECT", required=True, title="subjects")
    for subject, (words, known) in SUBJECTS.items():
        about = subjects.add_parser(subject, help=words, description=words)
        listed = about.add_subparsers(dest="action", metavar="ACTION", required=True, title="actions")
        for name, action in known.items():
            one = listed.add_parser(name, help=action.words, description=action.words)
            one.add_argument("--ledger", required=True, metavar="PATH", help="the ledger's file, or a PostgreSQL URL")
            one.add_argument("--mark", metavar="PATH", help="where its mark is, if not in the state folder")
            if action.takes is not None:
                action.takes(one)
                one.add_argument(
                    "--by",
                    default=_login(),
                    metavar="NAME",
                    help="who decides, for the ledger; your login name unless stated",
                )


def _login() -> str | None:
    """The login name of whoever decides, for the entries; None if there is none."""
    try:
        return getuser()
    except (OSError, KeyError):
        return None


COMMAND = Command(
    summary=f"decide about those who ask: {', '.join(SUBJECTS)}",
    description="What the custodian of a ledger decides about those who ask.",
    examples=(
        "giveortake admin analyst add ann --dataset trips --budget 0.5 --ledger trips.ledger",
        'giveortake admin budget change --analyst ann --budget 0.7 --reason "approved" --ledger trips.ledger',
        "giveortake admin dataset list --ledger trips.ledger",
        "giveortake admin token issue --analyst ann --expires 2027-01-31 --ledger trips.ledger",
        'giveortake admin approval deny 140737488355421 --reason "too fine" --ledger trips.ledger',
        'giveortake admin failures reset --ledger trips.ledger --analyst ann --reason "the disk was full"',
    ),
    add_arguments=_add_arguments,
    run=run,
)
