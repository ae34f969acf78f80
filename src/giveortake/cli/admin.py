"""`giveortake admin`: what the custodian of a ledger decides, one function for each action.

- Tokens and requests above a threshold; analysts, budgets, data sets and failures.
- The actions as a table, from which the parser is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from getpass import getuser
from typing import TYPE_CHECKING, Any, TypeAlias, final

from rich.table import Table
from rich.text import Text

from giveortake import ledger as ledgers
from giveortake.answers.text import printable
from giveortake.cli import shell
from giveortake.cli.ledger import print_failures, require_ledger, standings
from giveortake.cli.session_options import promise
from giveortake.cli.shell import Command, number, terminal
from giveortake.errors import GiveOrTakeError, InvalidParameter, NotFound
from giveortake.exact import decimal, percent
from giveortake.ledger.rules.budgets import promise_text
from giveortake.privacy import ApproxDP, PureDP

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from fractions import Fraction

    from rich.console import Console

    from giveortake.ledger import Approval, BudgetStatus, Entry, Ledger, TokenRecord
    from giveortake.ledger.rules.budgets import Spent
    from giveortake.ledger.rules.tokens import Role
    from giveortake.privacy import Guarantee


# -- tokens -----------------------------------------------------------------------------------------------------------


def list_tokens(ledger: Ledger, _arguments: argparse.Namespace, out: Console) -> None:
    """Print every token, whom it lets in and until when. No secret is shown: none is stored."""
    tokens = ledger.tokens()
    grid = Table(pad_edge=False, box=None)
    for heading in ("token", "role", "analyst", "until", "state", "issued by"):
        grid.add_column(heading, overflow="fold")
    for token in tokens:
        names = (Text(printable(name or "")) for name in (token.analyst, token.by))
        analyst, by = names
        grid.add_row(token.id, token.role, analyst, _minute(token.expires), _state(token), by)
    out.print(grid if tokens else "no token was issued")


def _state(token: TokenRecord) -> str:
    return "revoked" if token.revoked else "expired" if token.expired else "valid"


def issue_token(ledger: Ledger, arguments: argparse.Namespace, out: Console) -> None:
    """Issue a token, and print it this once."""
    role: Role = "custodian" if arguments.analyst is None else "analyst"
    token_id, secret = ledger.issue_token(
        role=role, analyst=arguments.analyst, expires=arguments.expires, by=arguments.by
    )
    until = next(token.expires for token in ledger.tokens() if token.id == token_id)
    holder = "a custodian" if arguments.analyst is None else printable(arguments.analyst)
    out.print(secret, soft_wrap=True, markup=False)
    message = f"It lets {holder} in until {_minute(until)}, and is not shown again: the ledger keeps its hash."
    shell.report(f"{message}\n")  # beside the token, so that `TOKEN=$(…)` holds nothing else


def revoke_token(ledger: Ledger, arguments: argparse.Namespace, out: Console) -> None:
    """Revoke a token: it lets nobody in from now on."""
    ledger.revoke_token(arguments.token, reason=arguments.reason, by=arguments.by)
    out.print(Text(f"the token {printable(arguments.token)} is revoked: it lets nobody in any more"))


# -- approvals --------------------------------------------------------------------------------------------------------


def list_approvals(ledger: Ledger, _arguments: argparse.Namespace, out: Console) -> None:
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
    record = approval.record if isinstance(approval.record, dict) else {}
    queries = [question["sql"] for question in record.get("questions", ()) if "sql" in question] or [
        approval.description or ""
    ]
    lines = [printable(text) for text in queries if text]
    if approval.reason is not None:
        by = "" if approval.by is None else f", by {printable(approval.by)}"
        until = "" if approval.expires is None else f", until {_minute(approval.expires)}"
        lines.append(f"because: {printable(approval.reason)}{by}{until}")
    return lines


def _price(ledger: Ledger, approval: Approval) -> str:
    """What would be charged, as a promise to the people of the data set; the name of the event if it makes none."""
    try:
        to = ledger.deciding(approval.dataset).budget or PureDP(1)  # the people's budget says who, and against what
        return promise_text(approval.event.guarantee(unit=to.unit, neighbours=to.neighbours))
    except GiveOrTakeError:
        return type(approval.event).__name__


def approve(ledger: Ledger, arguments: argparse.Namespace, out: Console) -> None:
    """Let one large spend through, once."""
    ledger.approve(arguments.request, reason=arguments.reason, expires=arguments.expires, by=arguments.by)
    out.print(f"request {arguments.request} is approved: asked again, it goes through, once")


def deny(ledger: Ledger, arguments: argparse.Namespace, out: Console) -> None:
    """Refuse one large spend."""
    ledger.deny(arguments.request, reason=arguments.reason, by=arguments.by)
    out.print(f"request {arguments.request} is denied, and whoever asks again is told why")


def _minute(moment: str) -> str:
    return f"{moment[:16].replace('T', ' ')} UTC"


# -- analysts ---------------------------------------------------------------------------------------------------------


def list_analysts(ledger: Ledger, _arguments: argparse.Namespace, out: Console) -> None:
    """Print the analysts, what they may spend, and what is left of it."""
    levels = [level for level in ledger.levels() if level.kind == "analyst"]
    if not levels:
        out.print("the ledger has no analysts: only its custodian asks")
        return
    out.print(standings(ledger, levels, {level.number: ", ".join(_datasets_of(ledger, level)) for level in levels}))
    revoked = _revoked(ledger)
    if revoked:
        out.print(Text(f"revoked: {', '.join(map(printable, revoked))}"))


def add_analyst(ledger: Ledger, arguments: argparse.Namespace, out: Console) -> None:
    """Let somebody ask, within a budget of their own."""
    budget = None if arguments.budget is None else promise(arguments.budget, arguments.budget_delta)
    granted = ledger.analyst(
        arguments.name,
        datasets=arguments.dataset,
        budget=budget,
        failures=arguments.failures,
        questions=arguments.questions,
        approval_above=None if arguments.approval_above is None else promise(arguments.approval_above, None),
        by=arguments.by,
    )
    cap = "" if granted.budget is None else f", up to {promise_text(granted.budget)}"
    out.print(Text(f"{printable(granted.name)} may ask {printable(', '.join(arguments.dataset))}{cap}"))


def revoke_analyst(ledger: Ledger, arguments: argparse.Namespace, out: Console) -> None:
    """Revoke an analyst, who is told nothing from now on."""
    ledger.revoke(arguments.name, reason=arguments.reason, by=arguments.by)
    out.print(Text(f"{printable(arguments.name)} can no longer ask or read answers; what was granted stays taken"))


def readmit_analyst(ledger: Ledger, arguments: argparse.Namespace, out: Console) -> None:
    """Take a revocation back."""
    ledger.readmit(arguments.name, reason=arguments.reason, by=arguments.by)
    out.print(Text(f"{printable(arguments.name)} may ask again; what was spent stays spent"))


# -- budgets ----------------------------------------------------------------------------------------------------------


def list_budgets(ledger: Ledger, _arguments: argparse.Namespace, out: Console) -> None:
    """Print every level, what it may spend, and what is left."""
    out.print(standings(ledger, ledger.levels()))


def change_budget(ledger: Ledger, arguments: argparse.Namespace, out: Console) -> None:
    """Replace a promise by a new one to the same people."""
    _require_one_subject(arguments)
    level = _one_level(ledger, arguments)
    people = _people_above(ledger, level)
    affordable_before = None if people is None else ledger.affordable(people)
    is_lowered = arguments.budget == "spent" and arguments.budget_delta is None
    budget: Guarantee | Spent = "spent" if is_lowered else promise(arguments.budget, arguments.budget_delta)
    changed = ledger.change_budget(level, budget, reason=arguments.reason, by=arguments.by)
    old_budget = "none" if level.budget is None else promise_text(level.budget)
    out.print(
        Text(f"{level.kind} {printable(level.name)}: {old_budget} before, {promise_text(changed.budget)} from now on")
    )
    if isinstance(level.budget, ApproxDP) and isinstance(changed.budget, PureDP):
        option = f"--budget {arguments.budget},{decimal(level.budget.delta)}"
        out.print(Text(f"It has no δ any more, so keys can no longer be found; {option} keeps the δ."))
    out.print("The old promise is void: all that was charged was run again under the new one, and fits.")
    if people is not None and affordable_before is not None:
        _print_taken(ledger, people, affordable_before, out)


def _people_above(ledger: Ledger, level: BudgetStatus) -> BudgetStatus | None:
    """The population that an allotment is taken from; None for what is no allotment."""
    if level.kind != "analyst":
        return None
    dataset_name = _datasets_of(ledger, level)[0]
    dataset = next(
        candidate for candidate in ledger.levels() if (candidate.kind, candidate.name) == ("data set", dataset_name)
    )
    people = ledger.population(_creating_entry(ledger, dataset).content["population"])
    return people if people.allotted else None


def _print_taken(ledger: Ledger, old_level: BudgetStatus, affordable_before: Fraction, out: Console) -> None:
    """Print what the change of an allotment took from the people's budget, and how much of that is left."""
    new_level = ledger.population(old_level.name)
    taken = percent(new_level.given - old_level.given, 3)
    left_text = "nothing" if not (affordable := ledger.affordable(new_level)) else f"ε ≤ {decimal(affordable, 3)}"
    out.print(
        Text(
            f"Taken from the budget of {printable(old_level.name)}: {taken}. "
            f"Left there for others: ε ≤ {decimal(affordable_before, 3)} before, {left_text} from now on."
        )
    )


# -- data sets --------------------------------------------------------------------------------------------------------


def list_datasets(ledger: Ledger, _arguments: argparse.Namespace, out: Console) -> None:
    """Print the data sets, the people they are about, and what is declared about their columns."""
    entries = ledger.history()
    people = {entry.content["name"]: entry.content["population"] for entry in entries if entry.kind == "dataset"}
    domains = {entry.content["name"]: entry.content["domains"] for entry in entries if entry.kind in _DECLARING}
    grid = Table(pad_edge=False, box=None)
    for heading in ("data set", "population", "version", "declared"):
        grid.add_column(heading, overflow="fold")
    for name, population in people.items():
        version = ledger.versions(name)[-1][0]
        grid.add_row(Text(printable(name)), Text(printable(population)), version, Text(_declared(domains[name])))
    out.print(grid if people else "the ledger has no data sets")


def _declared(domains: Any) -> str:
    """The columns that have bounds, categories or a greatest length, by name."""
    if not isinstance(domains, dict):
        return "nothing yet"
    tables = [(f"{table}." if len(domains) > 1 else "", columns) for table, columns in domains.items()]
    names = [
        f"{table}{column}"
        for table, columns in tables
        if isinstance(columns, dict)
        for column, domain in columns.items()
        if isinstance(domain, dict) and {"low", "high", "categories", "longest"} & domain.keys()
    ]
    return printable(", ".join(names)) or "no bounds, no categories"


# -- failures ---------------------------------------------------------------------------------------------------------


def show_failures(ledger: Ledger, _arguments: argparse.Namespace, out: Console) -> None:
    """Print how many failures each asker has observed, and what these can reveal."""
    print_failures(out, ledger.failures())


def reset_failures(ledger: Ledger, arguments: argparse.Namespace, out: Console) -> None:
    """Allow as many failures again."""
    for level in _levels(ledger, arguments):
        ledger.reset_failures(level, reason=arguments.reason, by=arguments.by)
        out.print(Text(f"{printable(level.name)}: as many questions may fail again as in the beginning"))


# -- inside -----------------------------------------------------------------------------------------------------------

_DECLARING = ("dataset", "declared")


def _levels(ledger: Ledger, arguments: argparse.Namespace) -> list[BudgetStatus]:
    """The levels of an analyst, a population or a data set that the arguments name."""
    dataset = getattr(arguments, "dataset", None)
    if arguments.analyst is not None:
        levels = [level for level in ledger.levels() if (level.kind, level.name) == ("analyst", arguments.analyst)]
        if levels and dataset is not None:
            return _for_dataset(ledger, levels, dataset)
        kind, name = "analyst", arguments.analyst
    else:
        kind, name = ("data set", dataset) if arguments.population is None else ("population", arguments.population)
        levels = [level for level in ledger.levels() if (level.kind, level.name) == (kind, name)]
    if not levels:
        known_names = sorted({level.name for level in ledger.levels() if level.kind == kind})
        raise NotFound(f"the ledger has no {kind} {name!r}", hint=f"there are: {', '.join(known_names) or 'none'}")
    return levels


def _for_dataset(ledger: Ledger, levels: list[BudgetStatus], dataset: str) -> list[BudgetStatus]:
    """The budgets of an analyst that are for a data set."""
    datasets = {level.number: _datasets_of(ledger, level) for level in levels}
    matches = [level for level in levels if dataset in datasets[level.number]]
    if not matches:
        known_names = sorted({name for names in datasets.values() for name in names})
        raise NotFound(f"{levels[0].name!r} has no budget for {dataset!r}", hint=f"there are: {', '.join(known_names)}")
    return matches


def _require_one_subject(arguments: argparse.Namespace) -> None:
    """Refuse to change no budget, or two; `--analyst` with `--dataset` names one."""
    if arguments.dataset is not None and arguments.population is not None:
        raise InvalidParameter("--dataset", arguments.dataset, "and --population name two budgets", hint=_SUBJECT)
    if (arguments.dataset, arguments.population, arguments.analyst) == (None,) * 3:
        raise InvalidParameter("--population", None, "is missing: say whose budget to change", hint=_SUBJECT)


_SUBJECT = "pass one of --population, --dataset and --analyst; if an analyst has several budgets, --dataset says which"


def _one_level(ledger: Ledger, arguments: argparse.Namespace) -> BudgetStatus:
    levels = _levels(ledger, arguments)
    if len(levels) > 1:
        raise NotFound(
            f"{levels[0].name!r} has {len(levels)} budgets, for different data sets",
            hint="pass --dataset NAME",
        )
    return levels[0]


def _datasets_of(ledger: Ledger, level: BudgetStatus) -> list[str]:
    """The data sets that an analyst's budget is for."""
    return list(_creating_entry(ledger, level).content["datasets"])


def _creating_entry(ledger: Ledger, level: BudgetStatus) -> Entry:
    """The entry that made a level, whose number is the level's."""
    return ledger.entries(after=level.number - 1, limit=1)[0]


def _revoked(ledger: Ledger) -> list[str]:
    revocations: dict[str, bool] = {}
    for entry in ledger.history():
        if entry.kind in {"revoked", "readmitted"}:
            revocations[entry.content["analyst"]] = entry.kind == "revoked"
    return [name for name, is_revoked in revocations.items() if is_revoked]


Do: TypeAlias = "Callable[[Ledger, argparse.Namespace, Console], None]"


@final
@dataclass(frozen=True, slots=True)
class Action:
    """An action of the custodian: in words, what it does, and what options it takes."""

    summary: str
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
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--population", metavar="NAME", help="the budget of these people")
    group.add_argument("--analyst", metavar="NAME", help="the allotment or cap of this analyst")
    parser.add_argument(
        "--dataset", metavar="NAME", help="the cap of this data set; with --analyst, which of their budgets"
    )
    _take_budget(parser, required=True, or_spent=True)
    _take_reason(parser)


def _for_resetting(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--analyst", metavar="NAME", help="whose questions failed")
    group.add_argument(
        "--population", metavar="NAME", help="the people about whom the custodian's own questions failed"
    )
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


def _take_expiry(parser: argparse.ArgumentParser, summary: str) -> None:
    parser.add_argument("--expires", metavar="DAY", help=f"{summary}: 2027-01-31, or 2027-01-31T12:00:00+00:00")


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
            "list": Action("who may ask, and what is left to them", list_analysts),
            "add": Action("let somebody ask some data sets, within a budget", add_analyst, _for_adding),
            "revoke": Action("from now on they are told nothing", revoke_analyst, _for_one_analyst),
            "readmit": Action("take a revocation back", readmit_analyst, _for_one_analyst),
        },
    ),
    "budget": (
        "what everybody may spend",
        {
            "list": Action("every budget, and what is left of it", list_budgets),
            "change": Action("a new promise in place of an old one", change_budget, _for_changing),
        },
    ),
    "dataset": (
        "the tables that can be asked about",
        {"list": Action("every table, whose people are in it, and what is declared", list_datasets)},
    ),
    "token": (
        "secrets that let somebody into a service",
        {
            "list": Action("every token, whom it lets in and until when", list_tokens),
            "issue": Action("a new token for an analyst or a custodian, shown once", issue_token, _for_issuing),
            "revoke": Action("from now on nobody is let in by it", revoke_token, _for_one_token),
        },
    ),
    "approval": (
        "large spends, which wait for the custodian",
        {
            "list": Action("what waits, what it asks and by whom, and what was decided", list_approvals),
            "approve": Action("let one through, once", approve, _for_approving),
            "deny": Action("refuse one, with a reason that is told", deny, _for_denying),
        },
    ),
    "failures": (
        "questions that ran out of memory, time or disk, of which each asker may observe a few",
        {
            "show": Action("who has observed how many, and what that can tell", show_failures),
            "reset": Action("allow as many again", reset_failures, _for_resetting),
        },
    ),
}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    subjects = parser.add_subparsers(dest="subject", metavar="SUBJECT", required=True, title="subjects")
    for subject, (summary, actions) in SUBJECTS.items():
        subject_parser = subjects.add_parser(subject, help=summary, description=summary)
        action_parsers = subject_parser.add_subparsers(dest="action", metavar="ACTION", required=True, title="actions")
        for name, action in actions.items():
            action_parser = action_parsers.add_parser(name, help=action.summary, description=action.summary)
            action_parser.add_argument(
                "--ledger", required=True, metavar="PATH", help="the ledger's file, or a PostgreSQL URL"
            )
            action_parser.add_argument("--mark", metavar="PATH", help="where its mark is, if not in the state folder")
            if action.takes is not None:
                action.takes(action_parser)
                action_parser.add_argument(
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
