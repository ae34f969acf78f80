"""Options of the command line that describe a session, a query and its cost; `query` and `quote` share them.

- Sentences about budgets.
- Sessions opened from options, on the ledger or on a copy of it; and the options themselves, read and declared.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import re
import shlex
import sys
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake import ledger as ledgers
from giveortake import session as sessions
from giveortake.answers.terms import CAP_TERMS, TERMS
from giveortake.configuration import configurations, parse_budget, select_section
from giveortake.engines.protocol import is_address, with_table
from giveortake.errors import ApprovalRequired, GiveOrTakeError, InvalidParameter, NotFound
from giveortake.exact import MOST_DIGITS, decimal, percent, rational
from giveortake.ledger import Ledger
from giveortake.ledger.discovery import CONFIGURATION, MEMORY, require_no_other_configuration, usual_ledger
from giveortake.ledger.opening import rehearsal
from giveortake.plan.relations import span_of
from giveortake.privacy import ApproxDP, PureDP
from giveortake.session.protection import table_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from giveortake.configuration import Configuration
    from giveortake.ledger.budget_status import BudgetStatus
    from giveortake.privacy import Guarantee
    from giveortake.session import Session


_LARGE_DELTA, _LARGE_EPSILON = Fraction(1, 1000), 20  # budgets that are warned of

BUDGETS = (["epsilon"], ["delta", "epsilon"], ["rho"], ["mu"])  # the numbers that state a promise, in order
CUSTODIANS = (  # options that a TOML file states instead
    "unit",
    "budget",
    "domain",
    "name",
    "population",
    "new_population",
    "mark",
)


def allotted_share(status: BudgetStatus) -> str:
    """The part of a budget that was given to analysts, in parentheses; empty if none was."""
    return f" ({percent(status.given, 3)} given to analysts)" if status.given else ""


def weakness(budget: Guarantee) -> str | None:
    """A sentence about a budget that protects hardly anybody; None if it is not that large.

    >>> weakness(ApproxDP(1, "1e-6")), weakness(PureDP(400))
    (None, 'ε = 400 is so large that it protects hardly anybody: `giveortake explain --epsilon 400`')
    """
    if isinstance(budget, ApproxDP) and budget.delta >= _LARGE_DELTA:
        return (
            f"δ = {decimal(budget.delta)} allows all about a person to be revealed with that probability: 1e-6 is usual"
        )
    if isinstance(budget, PureDP | ApproxDP) and budget.epsilon > _LARGE_EPSILON:
        epsilon = decimal(budget.epsilon)
        return f"ε = {epsilon} is so large that it protects hardly anybody: `giveortake explain --epsilon {epsilon}`"
    return None


def _section(arguments: argparse.Namespace) -> Configuration | None:
    """The section of the TOML file that the arguments name; None if they name a table."""
    if Path(arguments.file).suffix.lower() != ".toml":
        return None
    return select_section(configurations(arguments.file), arguments.table, "--table")


def proposed_profile(arguments: argparse.Namespace) -> Mapping[str, Any]:
    """The profile that the TOML file of the arguments proposes; empty if there is none."""
    section = _section(arguments)
    return {} if section is None else section.profile


def open_session(arguments: argparse.Namespace) -> tuple[Session, str]:
    """Open the session that the arguments describe; return it, and the path of its ledger."""
    path = ledger_path(arguments)
    return _open(arguments, path), path


@contextmanager
def rehearsed_session(arguments: argparse.Namespace) -> Iterator[tuple[Session, str | None]]:
    """Open the session without registering anything; and a sentence if the people's budget is unknown to it.

    It is for quotes: nothing that it would answer may be shown. A table that its ledger does not hold yet as it is
    described is opened on a copy of the ledger in memory, so that what its people have spent counts.
    """
    path, mark = ledger_path(arguments), mark_path(arguments)
    registered_tables = _registered(path, mark)
    if registered_tables is None or _is_stored(arguments, registered_tables):
        with _open(arguments, path) as session:
            yield session, None
    elif registered_tables and (expected_name(arguments) in registered_tables or _names_people(arguments)):
        with rehearsal(path, mark=mark) as ledger, _open(arguments, ledger) as session:
            yield session, None
    else:
        with _open(arguments, MEMORY) as session:
            if session.name not in registered_tables:
                yield session, _unknown_people(arguments) if registered_tables else None
                return
        with _open(arguments, path) as session:  # what a table is called is known for sure once it is open
            yield session, None


def _unknown_people(arguments: argparse.Namespace) -> str:
    population_setting = "--population NAME" if _section(arguments) is None else 'population = "NAME"'
    return (
        "the ledger has people already, and nobody said whether these are the same: what they have spent was not "
        f"looked at; {population_setting} says that they are"
    )


def _names_people(arguments: argparse.Namespace) -> bool:
    """Whether the arguments or the TOML file name the population of the table."""
    section = _section(arguments)
    stated = vars(arguments) if section is None else section.settings
    return bool(stated.get("population") or stated.get("new_population"))


def _open(arguments: argparse.Namespace, ledger: str | Ledger) -> Session:
    if (section := _section(arguments)) is not None:
        return _from_toml(arguments, section, ledger)
    for name in ("unit", "budget"):
        if getattr(arguments, name) is None:
            raise GiveOrTakeError(f"--{name} is missing", hint=f"{_MISSING[name]}; {_TOML}")
    return sessions.protect(
        with_table(arguments.file, arguments.table),
        unit=arguments.unit,
        budget=promise(arguments.budget),
        domains=dict(_domain(text) for text in arguments.domain),
        name=arguments.name,
        ledger=ledgers.at(
            ledger,
            mark=None if ledger == MEMORY or isinstance(ledger, Ledger) else arguments.mark,
            population=arguments.population,
            new_population=arguments.new_population,
        ),
        analyst=arguments.analyst,
        engine={} if (cache := _cache(arguments)) is None else {"cache": cache},
    )


def _cache(arguments: argparse.Namespace) -> Path | None:
    """Where loaded copies of CSV files are kept: in the user's own cache folder, as the XDG specification says."""
    if arguments.no_cache:
        return None
    stated = os.environ.get("XDG_CACHE_HOME", "")
    if Path(stated).is_absolute():
        return Path(stated) / "giveortake"
    with suppress(RuntimeError):  # a user without a home
        return Path.home() / ".cache" / "giveortake"
    return None


def _from_toml(arguments: argparse.Namespace, section: Configuration, ledger: str | Ledger) -> Session:
    for name in (*CUSTODIANS, *(["ledger"] if section.ledger is not None else [])):
        if value := getattr(arguments, name):
            problem = f"is already set in {arguments.file}"
            raise InvalidParameter(
                f"--{name.replace('_', '-')}", value, problem, hint="leave it out, or change the file"
            )
    overrides: dict[str, Any] = {} if arguments.analyst is None else {"analyst": arguments.analyst}
    return section.open(ledger=ledger, cache=_cache(arguments), **overrides)


def ledger_path(arguments: argparse.Namespace) -> str:
    """The path of the ledger: what the TOML file or the option says, else a file beside the table."""
    path: str | None = arguments.ledger
    if (section := _section(arguments)) is not None:
        if path is None:
            section.require_one_budget()
        path = section.ledger or path
    elif is_address(arguments.file):
        return path or usual_ledger(expected_name(arguments))
    elif path is None:
        require_no_other_configuration(arguments.file)
    elif path != MEMORY and os.path.realpath(path) == os.path.realpath(arguments.file):
        usual = usual_ledger(arguments.file)
        status = "is there already" if Path(usual).exists() else "is begun by the first question"
        raise InvalidParameter(
            "--ledger", path, "is the table itself", hint=f"leave it out: {usual}, the usual ledger, {status}"
        )
    return path or usual_ledger(arguments.file)


def mark_path(arguments: argparse.Namespace) -> str | None:
    """Where the ledger's mark is, if the TOML file or the option says so."""
    section, path = _section(arguments), arguments.mark
    return path if section is None else section.mark or path


def _registered(path: str, mark: str | None) -> dict[str, bool | None] | None:
    """The tables in a ledger file, with whether their domains are frozen (None if they have none); None if unknown."""
    if path == MEMORY or "://" in path:
        return None
    if not Path(path).exists():
        return {}
    with suppress(GiveOrTakeError), ledgers.open(path, mark=mark, create=False, read_only=True) as ledger:
        return {
            level.name: None if ledger.domains(level.name) is None else not ledger.is_open(level.name)
            for level in ledger.levels()
            if level.kind == "data set"
        }
    return None  # a ledger that cannot be read is refused when it is opened to be written


def _is_stored(arguments: argparse.Namespace, registered_tables: dict[str, bool | None]) -> bool:
    """Whether opening the table would register neither the table nor its domains."""
    name = expected_name(arguments)
    return name in registered_tables and (
        registered_tables[name] or (registered_tables[name] is None and not _declares(arguments))
    )


def _declares(arguments: argparse.Namespace) -> bool:
    """Whether the arguments or the TOML file declare any domains."""
    section = _section(arguments)
    return bool(arguments.domain if section is None else section.settings.get("domains"))


def rehearse(arguments: argparse.Namespace, text: str) -> str | None:
    """Refuse now what would be refused later, before a ledger registers the table or its domains for good.

    Budgets are frozen once they are registered, domains once a question was charged. So a table that its ledger does
    not hold yet as it is described is opened once without a trace, and the question quoted; one that is held so is
    asked directly. A sentence is returned if the budget of a new table is very large.
    """
    registered_tables = _registered(ledger_path(arguments), mark_path(arguments))
    if registered_tables is None or _is_stored(arguments, registered_tables):
        return None
    with rehearsed_session(arguments) as (session, _):
        query = session.sql(text)
        if not query.quote(**spend_terms(arguments)).admitted:
            with suppress(ApprovalRequired):  # which the ledger itself is asked for
                query.answer(**spend_terms(arguments))  # says why not, before a row is read
        return weakness(session.budget.granted)


def expected_name(arguments: argparse.Namespace) -> str:
    """What the table will be called in the ledger."""
    section = _section(arguments)
    return table_name(with_table(arguments.file, arguments.table), arguments.name) if section is None else section.name


def question(arguments: argparse.Namespace) -> str:
    """The question, from the argument, from `@file.sql`, or from standard input if it is `-`."""
    text: str = arguments.sql
    if not os.path.exists(arguments.file) and (_ASKS.match(arguments.file) or os.path.exists(text)):  # noqa: PTH110 (a question may be too long for a path)
        raise GiveOrTakeError(
            "the table comes first, and then the question",
            hint=f"giveortake {arguments.command} {shlex.quote(text)} {shlex.quote(arguments.file)}",
        )
    try:
        if text == "-":
            return sys.stdin.read()
        return Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text
    except (OSError, UnicodeDecodeError):
        source = "standard input" if text == "-" else text[1:]
        hint = "pass the question as an argument, or as `@question.sql`, which reads it from a file"
        raise NotFound(f"{source} cannot be read as text", hint=hint) from None


def spend_terms(arguments: argparse.Namespace) -> dict[str, Any]:
    """The spend and the caps as arguments of `query.answer`; numbers stay exact."""
    terms = {name: getattr(arguments, name) for name in (*TERMS, *CAP_TERMS) if getattr(arguments, name) is not None}
    if "=" in terms.get("rows_per_person", ""):
        parts = terms["rows_per_person"].split(",")
        terms["rows_per_person"] = dict(_pair("--rows-per-person", part, "flights=600,planes=1") for part in parts)
    return terms


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of both commands."""
    add_file(parser)
    parser.add_argument(
        "sql", metavar="SQL", help="the question; `-` reads it from standard input, `@PATH` from a file"
    )
    cost = parser.add_argument_group("what the answer may cost (one of them)")
    cost.add_argument("--share", metavar="S", help="a share of the whole budget, such as 5%% or 1/20")
    cost.add_argument("--margin", metavar="X", help="the least that gives every column at most this margin")
    cost.add_argument("--epsilon", metavar="E", help="pure ε: Laplace noise; with --delta, the noise is chosen")
    cost.add_argument("--delta", metavar="D", help="goes with --epsilon")
    cost.add_argument("--rho", metavar="R", help="zero-concentrated ρ: Gaussian noise")
    cost.add_argument("--mu", metavar="M", help="Gaussian μ: Gaussian noise")
    cost.add_argument("--confidence", metavar="P", help="how sure each interval is; 0.95 unless stated")
    cost.add_argument(
        "--confidence-over",
        choices=["cell", "answer"],
        help="whether --confidence is of each interval, or of all together",
    )
    cost.add_argument(
        "--key-delta", metavar="D", help="δ for finding keys; unless stated, a tenth of the budget's δ for keys"
    )
    cost.add_argument(
        "--aim", choices=["numbers", "groups"], help="of groups that have to be found: surer numbers, or more groups"
    )
    cost.add_argument(
        "--n", metavar="N", help="how many rows a group has, if that is public; it gives margins of means"
    )
    caps = parser.add_argument_group("how much of one person counts (in place of what the TOML file says)")
    caps.add_argument("--rows-per-person", metavar="R", help="how many rows in a table: 600, or flights=600,planes=1")
    caps.add_argument("--groups-per-person", metavar="G", help="how many groups of the answer")
    caps.add_argument("--rows-per-group", metavar="R", help="how many rows in each group, or in all if there are none")
    caps.add_argument(
        "--caps", choices=["best"], help="take the caps with the least error of what is asked, by a released profile"
    )
    add_people(parser)


def add_file(parser: argparse.ArgumentParser, other_sources: str = "") -> None:
    """Add the argument that names the table."""
    help_text = f"CSV, Parquet, a DuckDB database, postgresql://…?table=NAME, {other_sources}or a TOML configuration"
    help_text += f"; or the name of a table in {CONFIGURATION}"
    parser.add_argument("file", metavar="FILE", action=_Source, help=help_text)


class _Source(argparse.Action):
    """Takes the file of a table, or the section of that name in the configuration of the folder."""

    def __call__(self, _parser: object, namespace: argparse.Namespace, values: Any, _option: object = None) -> None:
        namespace.file = values
        is_file = is_address(values) or os.path.lexists(values)
        if not is_file and Path(CONFIGURATION).exists() and values in configurations(CONFIGURATION):
            namespace.file, namespace.table = CONFIGURATION, values


def add_people(parser: argparse.ArgumentParser) -> None:
    """Add the options about who is protected, and about the ledger."""
    people = parser.add_argument_group("who is protected, and how (a TOML configuration says it instead)")
    people.add_argument("--unit", metavar="COLUMN", help="the column that names a person, or `row`")
    people.add_argument("--budget", metavar="B", help='for all questions ever: "1", "1,1e-8", "rho=0.1" or "mu=1"')
    people.add_argument(
        "--domain",
        action="append",
        default=[],
        metavar="COLUMN=…",
        help="bounds `amount=0:500` or keys `region=north,south`; once for each column",
    )
    books = parser.add_argument_group("where from, and where it is written down")
    books.add_argument("--name", metavar="NAME", help="what the table is called; the name of the file unless stated")
    books.add_argument("--population", metavar="NAME", help="the people in it, if the ledger knows them already")
    books.add_argument(
        "--new-population", metavar="NAME", help="the people in it, if the ledger does not know them yet"
    )
    books.add_argument("--table", metavar="NAME", help="the section of a TOML file, or the table of a database")
    books.add_argument("--ledger", metavar="PATH", help="FILE.ledger unless stated; `:memory:` forgets what was spent")
    books.add_argument("--mark", metavar="PATH", help="the ledger's mark; in the state folder unless stated")
    books.add_argument(
        "--no-cache", action="store_true", help="keep no loaded copy of a CSV file, and no parsed question"
    )
    books.add_argument("--analyst", metavar="NAME", help="who asks, if the ledger knows analysts")


# -- reading options --------------------------------------------------------------------------------------------------


def promise(text: str) -> Guarantee:
    """The budget that --budget states."""
    terms = budget_terms(text)
    try:
        return parse_budget(terms)
    except InvalidParameter as error:
        problem = f"is not a budget: {error.message}"
        raise InvalidParameter("--budget", text, problem, hint=_MISSING["budget"]) from None


def budget_terms(text: str) -> dict[str, str]:
    """The numbers of a budget as it is written.

    >>> budget_terms("1,1e-8"), budget_terms("rho=0.1"), budget_terms("epsilon=1, delta=1e-8")
    ({'epsilon': '1', 'delta': '1e-8'}, {'rho': '0.1'}, {'epsilon': '1', 'delta': '1e-8'})
    """
    parts = [part.partition("=") for part in text.split(",")]
    named = all(sign for _, sign, _ in parts)
    names = [name.strip() for name, _, _ in parts] if named else ["epsilon", "delta"][: len(parts)]
    terms = {name: (value if sign else whole).strip() for name, (whole, sign, value) in zip(names, parts, strict=False)}
    if (len(terms) < len(parts) or any(sign for _, sign, _ in parts) != named) or sorted(terms) not in BUDGETS:
        raise InvalidParameter("--budget", text, "is not a budget", hint=_MISSING["budget"])
    return terms


def _pair(option: str, text: str, example: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip() or not value:
        raise InvalidParameter(option, text, "is not NAME=…", hint=f"{option} {example}")
    return name.strip(), value


def _domain(text: str) -> tuple[str, Any]:
    """A column and its domain, as an option states them.

    >>> _domain("amount=0:500"), _domain("region=north,south"), _domain('code="1","2"')
    (('amount', (0, 500)), ('region', ['north', 'south']), ('code', ['1', '2']))
    """
    column, domain = _pair("--domain", text, "amount=0:500")
    if domain[0] in _BRACKETS or domain[-1] in _BRACKETS:
        hint = f"bounds are written {column}=0:200, categories {column}=north,south, or in quotes: '{column}=\"(0\"'"
        raise InvalidParameter("--domain", text, "has brackets, which options do not need", hint=hint)
    ends = domain.split(":")
    if len(ends) == 2:
        for read in (_number, dt.date.fromisoformat):
            with suppress(InvalidParameter, ValueError):
                return column, tuple(read(end.strip()) for end in ends)
        raise InvalidParameter(
            "--domain",
            text,
            "has bounds that are neither numbers nor dates",
            hint=f"--domain {column}=0:500, or --domain {column}=2024-01-01:2024-12-31; one --domain for each column",
        )
    span = span_of(domain)
    if span is not None:
        raise InvalidParameter(
            "--domain",
            text,
            "could be bounds or one category",
            hint=f"did you mean {column}={':'.join(span)}? one category stands in quotes: '{column}=\"{domain}\"'",
        )
    return column, _keys([part.strip() for part in domain.split(",")])


def _keys(parts: Sequence[str]) -> list[Any]:
    """Keys as whole numbers or dates if all of them are; else as texts, without quotes around them."""
    if all(len(part) < MOST_DIGITS and part.removeprefix("-").isdecimal() and str(int(part)) == part for part in parts):
        return [int(part) for part in parts]
    with suppress(ValueError):
        return [dt.date.fromisoformat(part) for part in parts]
    return [part[1:-1] if len(part) > 1 and part[0] == part[-1] == '"' else part for part in parts]


def _number(text: str) -> Any:
    number = rational("--domain", text)
    return number.numerator if number.denominator == 1 else number


_BRACKETS = frozenset("()[]{}")
_ASKS = re.compile(r"\s*(select|with)\s", re.IGNORECASE)
_TOML = f"or state it once, in {CONFIGURATION}, which `giveortake init` drafts"
_MISSING = {
    "unit": "--unit user_id names the column of the person; --unit row protects single rows",
    "budget": '--budget 1, or --budget "1,1e-8" (ε and δ), for everything that will ever be asked',
}
