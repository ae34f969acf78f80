"""`giveortake admin`: the operations of custodians and auditors, with commands and options made of their table.

What an operation changed is told in its own words. Lists have a view for people here, or else are JSON.
"""

from __future__ import annotations

import json
import sys
from getpass import getuser
from typing import TYPE_CHECKING, Any

from rich.text import Text

from giveortake import ledger as ledgers
from giveortake.answers.render import printable
from giveortake.cli import shell
from giveortake.cli.ledger import add_ledger, ledger_of, print_failures, standings
from giveortake.cli.session_options import budget_terms
from giveortake.cli.shell import Command, grid, number, terminal
from giveortake.errors import GiveOrTakeError
from giveortake.ledger.budgets import promise_text
from giveortake.ledger.releases import minute, parts_of
from giveortake.operations import BY_NAME, OPERATIONS, SUBJECTS, ListDatasets, kind_of, words_of
from giveortake.privacy import PureDP

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from rich.console import Console

    from giveortake.codec import Part
    from giveortake.ledger import Approval, Ledger, TokenRecord
    from giveortake.operations import Operation


def run(arguments: argparse.Namespace) -> int:
    """Do what the subject and the action say; what only reads leaves the ledger as it is."""
    operation = BY_NAME[f"{arguments.subject} {arguments.action}"]
    stated = {part.name: _argument(arguments, part) for part in operation.parts.values()}
    document = {name: argument for name, argument in stated.items() if argument is not None}
    path, mark = ledger_of(arguments, arguments.ledger)
    out = terminal()
    with ledgers.open(path, mark=mark, create=False, read_only=not operation.changes) as ledger:
        if operation.name in VIEWS:
            VIEWS[operation.name](ledger, out)
            return 0
        outcome = operation.parse(document).run(ledger, getattr(arguments, "by", None))
    if not operation.changes:
        sys.stdout.write(f"{json.dumps(outcome, ensure_ascii=False, indent=2)}\n")
    elif "token" in outcome:  # alone on standard output, so that `TOKEN=$(…)` holds nothing else
        out.print(outcome["token"], soft_wrap=True, markup=False)
        shell.report(f"{outcome['message']}\n")
    else:
        out.print(Text("\n".join(map(printable, outcome["message"].split("\n")))))
    return 0


# -- views of what is only read ---------------------------------------------------------------------------------------


def list_tokens(ledger: Ledger, out: Console) -> None:
    """Print every token, whom it lets in and until when. No secret is shown: none is stored."""
    rows = [
        (token.id, token.role, token.analyst, f"{minute(token.expires)} UTC", _state(token), token.by)
        for token in ledger.tokens()
    ]
    headings = ("token", "role", "analyst", "until", "state", "issued by")
    out.print(grid(headings, rows) if rows else "no token was issued")


def _state(token: TokenRecord) -> str:
    return "revoked" if token.revoked else "expired" if token.expired else "valid"


def list_approvals(ledger: Ledger, out: Console) -> None:
    """Print the large spends that wait, what they ask and cost and who asks; then what was decided before."""
    approvals = ledger.approvals()
    if not approvals:
        out.print("no large spends were asked for")
    for approval in sorted(approvals, key=lambda approval: approval.state != "waiting"):
        analyst = "the custodian" if approval.analyst is None else printable(approval.analyst)
        price = _price(ledger, approval)
        out.print(Text(f"{approval.request}  {approval.state}: {analyst} asks {printable(approval.dataset)}, {price}"))
        for line in _lines(approval):
            out.print(Text(f"  {line}"))


def _lines(approval: Approval) -> list[str]:
    queries = [part["sql"] for part in parts_of(approval.record) if "sql" in part] or [approval.description or ""]
    lines = [printable(text) for text in queries if text]
    if approval.reason is not None:
        by = "" if approval.by is None else f", by {printable(approval.by)}"
        until = "" if approval.expires is None else f", until {minute(approval.expires)} UTC"
        lines.append(f"because: {printable(approval.reason)}{by}{until}")
    return lines


def _price(ledger: Ledger, approval: Approval) -> str:
    """What would be charged, as a promise to the people of the data set; the name of the event if it makes none."""
    try:
        to = ledger.deciding(approval.dataset).budget or PureDP(1)  # the people's budget says who, and against what
        return promise_text(approval.event.guarantee(unit=to.unit, neighbours=to.neighbours))
    except GiveOrTakeError:
        return type(approval.event).__name__


def list_analysts(ledger: Ledger, out: Console) -> None:
    """Print the analysts, what they may spend, and what is left of it."""
    levels = [level for level in ledger.levels() if level.kind == "analyst"]
    if not levels:
        out.print("the ledger has no analysts: only its custodian asks")
        return
    out.print(standings(ledger, levels, {level.number: ", ".join(ledger.datasets_of(level)) for level in levels}))
    if revoked := sorted(ledger.revoked()):
        out.print(Text(f"revoked: {', '.join(map(printable, revoked))}"))


def list_budgets(ledger: Ledger, out: Console) -> None:
    """Print every level, what it may spend, and what is left."""
    out.print(standings(ledger, ledger.levels()))


def list_datasets(ledger: Ledger, out: Console) -> None:
    """Print the data sets, the people they are about, and what is declared about their columns."""
    rows = []
    for dataset in ListDatasets().read(ledger)["datasets"]:
        columns = dataset["declared"]
        declared = "nothing yet" if columns is None else ", ".join(columns) or "no bounds, no categories"
        rows.append((dataset["name"], dataset["population"], dataset["version"], declared))
    out.print(grid(("data set", "population", "version", "declared"), rows) if rows else "the ledger has no data sets")


def show_failures(ledger: Ledger, out: Console) -> None:
    """Print how many failures each asker has observed, and what these can reveal."""
    print_failures(out, ledger.failures())


VIEWS: dict[str, Callable[[Ledger, Console], None]] = {
    "analyst list": list_analysts,
    "token list": list_tokens,
    "budget list": list_budgets,
    "dataset list": list_datasets,
    "approval list": list_approvals,
    "failures show": show_failures,
}


# -- options of the rows ----------------------------------------------------------------------------------------------


def _argument(arguments: argparse.Namespace, part: Part) -> Any:
    """An argument as a document says it, from its option."""
    value = getattr(arguments, part.name)
    if kind_of(part) == "budget" and value is not None and value not in words_of(part):
        return budget_terms(value)
    return value


def _add_option(parser: argparse.ArgumentParser, part: Part, *, positional: bool) -> None:
    kind, words = kind_of(part), words_of(part)
    options: dict[str, Any] = {"help": part.description}
    if kind == "choice":
        options["choices"] = words
    else:
        options["metavar"] = _METAVARS[kind]
    if kind == "budget":
        options["help"] += ': "1", "1,1e-8", "rho=0.1" or "mu=1"'
    if kind == "number":
        options["type"] = (lambda text: text if text in words else number(text)) if words else number
    name = part.name
    if kind == "names":  # one option for each
        name = name.removesuffix("s")
        options |= {"action": "append", "help": f"{part.description}; once for each"}
    if positional:
        parser.add_argument(name, **{**options, "metavar": name.upper()})
    else:
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, dest=part.name, required=not part.has_default, **options)


_METAVARS = {"budget": "B", "names": "NAME", "number": "N", "moment": "DAY", "text": "TEXT"}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    subjects = parser.add_subparsers(dest="subject", metavar="SUBJECT", required=True, title="subjects")
    for subject, summary in SUBJECTS.items():
        subject_parser = subjects.add_parser(subject, help=summary, description=summary)
        actions = subject_parser.add_subparsers(dest="action", metavar="ACTION", required=True, title="actions")
        for operation in OPERATIONS:
            if operation.subject == subject:
                help_text = operation.summary
                _add_options(actions.add_parser(operation.action, help=help_text, description=help_text), operation)


def _add_options(parser: argparse.ArgumentParser, operation: Operation) -> None:
    """The first argument has no option if it is needed: it is what the operation is about."""
    for index, part in enumerate(operation.parts.values()):
        _add_option(parser, part, positional=index == 0 and not part.has_default)
    add_ledger(parser)
    if operation.changes:
        words = "who decides, for the ledger; your login name unless stated"
        parser.add_argument("--by", default=_login(), metavar="NAME", help=words)


def _login() -> str | None:
    """The login name of whoever decides, for the entries; None if there is none."""
    try:
        return getuser()
    except (OSError, KeyError):
        return None


COMMAND = Command(
    summary=f"decide about those who ask: {', '.join(SUBJECTS)}",
    description="What the custodian of a ledger decides about those who ask, and what an auditor reads.",
    examples=(
        "giveortake admin analyst add ann --dataset trips --budget 0.5 --ledger trips.ledger",
        'giveortake admin budget change --analyst ann --budget 0.7 --reason "approved" --ledger trips.ledger',
        'giveortake admin budget limit --analyst ann --questions 100 --reason "a course" --ledger trips.ledger',
        "giveortake admin token issue --analyst ann --expires 2027-01-31 --ledger trips.ledger",
        'giveortake admin approval deny 140737488355421 --reason "too fine" --ledger trips.ledger',
        'giveortake admin failures reset --ledger trips.ledger --analyst ann --reason "the disk was full"',
    ),
    add_arguments=_add_arguments,
    run=run,
)
