"""What the custodian of a ledger can do about analysts, budgets, data sets and failures, one function each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from giveortake.answers.text import printable
from giveortake.cli.ledger import print_failures, standings
from giveortake.cli.session_options import promise
from giveortake.errors import InvalidParameter, NotFound
from giveortake.exact import shown
from giveortake.ledger.rules.releases import promised
from giveortake.privacy import ApproxDP, PureDP

if TYPE_CHECKING:
    import argparse
    from fractions import Fraction

    from rich.console import Console

    from giveortake.ledger import Entry, Ledger, Standing
    from giveortake.ledger.rules.budget_changes import Spent
    from giveortake.privacy import Guarantee


# -- analysts ---------------------------------------------------------------------------------------------------------


def list_analysts(ledger: Ledger, _arguments: argparse.Namespace, out: Console) -> None:
    """Print the analysts, what they may spend, and what is left of it."""
    found = [level for level in ledger.levels() if level.kind == "analyst"]
    if not found:
        out.print("the ledger has no analysts: only its custodian asks")
        return
    out.print(standings(ledger, found, {each.number: ", ".join(_asked_by(ledger, each)) for each in found}))
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
    cap = "" if granted.budget is None else f", up to {promised(granted.budget)}"
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
    left = None if people is None else ledger.affordable(people)
    is_lowered = arguments.budget == "spent" and arguments.budget_delta is None
    budget: Guarantee | Spent = "spent" if is_lowered else promise(arguments.budget, arguments.budget_delta)
    changed = ledger.change_budget(level, budget, reason=arguments.reason, by=arguments.by)
    before = "none" if level.budget is None else promised(level.budget)
    out.print(Text(f"{level.kind} {printable(level.name)}: {before} before, {promised(changed.budget)} from now on"))
    if isinstance(level.budget, ApproxDP) and isinstance(changed.budget, PureDP):
        kept = f"--budget {arguments.budget},{shown(level.budget.delta)}"
        out.print(Text(f"It has no δ any more, so keys can no longer be found; {kept} keeps the δ."))
    out.print("The old promise is void: all that was charged was run again under the new one, and fits.")
    if people is not None and left is not None:
        _print_taken(ledger, people, left, out)


def _people_above(ledger: Ledger, level: Standing) -> Standing | None:
    """The population that an allotment is taken from; None for what is no allotment."""
    if level.kind != "analyst":
        return None
    first = _asked_by(ledger, level)[0]
    table = next(each for each in ledger.levels() if (each.kind, each.name) == ("data set", first))
    people = ledger.population(_made_by(ledger, table).content["population"])
    return people if people.allotted else None


def _print_taken(ledger: Ledger, before: Standing, left: Fraction, out: Console) -> None:
    """Print what the change of an allotment took from the people's budget, and how much of that is left."""
    after = ledger.population(before.name)
    taken = f"{shown(100 * (after.given - before.given), 3)} %"
    still = "nothing" if not (now := ledger.affordable(after)) else f"ε ≤ {shown(now, 3)}"
    out.print(
        Text(
            f"Taken from the budget of {printable(before.name)}: {taken}. "
            f"Left there for others: ε ≤ {shown(left, 3)} before, {still} from now on."
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
    columns = [(f"{table}." if len(domains) > 1 else "", held) for table, held in domains.items()]
    said = [
        f"{table}{column}"
        for table, held in columns
        if isinstance(held, dict)
        for column, domain in held.items()
        if isinstance(domain, dict) and {"low", "high", "categories", "longest"} & domain.keys()
    ]
    return printable(", ".join(said)) or "no bounds, no categories"


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


def _levels(ledger: Ledger, arguments: argparse.Namespace) -> list[Standing]:
    """The levels of an analyst, a population or a data set that the arguments name."""
    dataset = getattr(arguments, "dataset", None)
    if arguments.analyst is not None:
        found = [each for each in ledger.levels() if (each.kind, each.name) == ("analyst", arguments.analyst)]
        if found and dataset is not None:
            return _for_dataset(ledger, found, dataset)
        kind, name = "analyst", arguments.analyst
    else:
        kind, name = ("data set", dataset) if arguments.population is None else ("population", arguments.population)
        found = [each for each in ledger.levels() if (each.kind, each.name) == (kind, name)]
    if not found:
        there = sorted({each.name for each in ledger.levels() if each.kind == kind})
        raise NotFound(f"the ledger has no {kind} {name!r}", hint=f"there are: {', '.join(there) or 'none'}")
    return found


def _for_dataset(ledger: Ledger, levels: list[Standing], dataset: str) -> list[Standing]:
    """The budgets of an analyst that are for a data set."""
    asked = {each.number: _asked_by(ledger, each) for each in levels}
    found = [each for each in levels if dataset in asked[each.number]]
    if not found:
        there = sorted({name for names in asked.values() for name in names})
        raise NotFound(f"{levels[0].name!r} has no budget for {dataset!r}", hint=f"there are: {', '.join(there)}")
    return found


def _require_one_subject(arguments: argparse.Namespace) -> None:
    """Refuse to change no budget, or two; `--analyst` with `--dataset` names one."""
    if arguments.dataset is not None and arguments.population is not None:
        raise InvalidParameter("--dataset", arguments.dataset, "and --population name two budgets", hint=_SUBJECT)
    if (arguments.dataset, arguments.population, arguments.analyst) == (None,) * 3:
        raise InvalidParameter("--population", None, "is missing: say whose budget to change", hint=_SUBJECT)


_SUBJECT = "pass one of --population, --dataset and --analyst; if an analyst has several budgets, --dataset says which"


def _one_level(ledger: Ledger, arguments: argparse.Namespace) -> Standing:
    found = _levels(ledger, arguments)
    if len(found) > 1:
        raise NotFound(
            f"{found[0].name!r} has {len(found)} budgets, for different data sets",
            hint="pass --dataset NAME",
        )
    return found[0]


def _asked_by(ledger: Ledger, level: Standing) -> list[str]:
    """The data sets that an analyst's budget is for."""
    return list(_made_by(ledger, level).content["datasets"])


def _made_by(ledger: Ledger, level: Standing) -> Entry:
    """The entry that made a level, whose number is the level's."""
    return ledger.entries(after=level.number - 1, limit=1)[0]


def _revoked(ledger: Ledger) -> list[str]:
    found: dict[str, bool] = {}
    for entry in ledger.history():
        if entry.kind in {"revoked", "readmitted"}:
            found[entry.content["analyst"]] = entry.kind == "revoked"
    return [name for name, is_revoked in found.items() if is_revoked]
