"""`giveortake query`, `quote` and `profile`: ask a table behind a budget, price it before, choose caps for it.

- A question, charged and answered: the answer goes to standard output or a file, all else to standard error.
- What an answer would cost and how sure it would be. Nothing is asked, nothing spent.
- How many rows people have, found privately once, to choose caps by.
"""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from giveortake.answers.render import facts, printable
from giveortake.cli import session_options
from giveortake.cli.session_options import allotted_share
from giveortake.cli.shell import Command, charged_since, is_closed, report, terminal
from giveortake.errors import GiveOrTakeError, InvalidParameter
from giveortake.exact import decimal, percent, rough_percent
from giveortake.ledger.discovery import MEMORY
from giveortake.progress import progress
from giveortake.session.render import cost_of, left_of, margin_rows, more_like_it, quote_facts
from giveortake.sql.refusals import in_sql

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from giveortake.answers import Answer
    from giveortake.answers.terms import CapLine
    from giveortake.plan import Domain
    from giveortake.plan.expressions import Schema
    from giveortake.session import Quote, Session
    from giveortake.session.profiles.profile import Profile

FORMATS = ("table", "csv", "json", "parquet")


def query(arguments: argparse.Namespace) -> int:
    """Charge, ask, answer; the answer goes to standard output or a file, all else to standard error."""
    kind = _format(arguments)
    text = session_options.question(arguments)
    with ExitStack() as stack:
        with progress(f"loading {printable(arguments.file)}") as bar:
            weak = session_options.rehearse(arguments, text)
            session, ledger_path = session_options.open_session(arguments)
            stack.enter_context(session)
            bar.says("asking")
            terms = session_options.spend_terms(arguments)
            answer = session.sql(text).answer(**terms, key=arguments.key)
        _write(answer, kind, arguments)
        report("" if weak is None else f"warning: {weak}\n")
        if kind != "table" or arguments.output is not None:  # which has no place for it
            report(f"{printable(' · '.join(facts(answer)))}\n")
        more = session.sql(text).quote(**terms).more
        report(_bill(session, answer, more, ledger_path, noted=kind == "table" and arguments.output is None))
    return 0


def _format(arguments: argparse.Namespace) -> str:
    """The format that --format or the name of the file states; checked before anything is charged."""
    kind: str | None = arguments.format
    if kind is None:
        ending = Path(arguments.output or "").suffix.removeprefix(".").lower()
        if ending not in {*FORMATS, "txt", ""}:
            raise InvalidParameter(
                "--output",
                arguments.output,
                "names a format that is not written",
                hint="the formats are .csv, .json, .parquet and .txt; --format states one for any other name",
            )
        kind = ending if ending in FORMATS else "table"
    if kind == "parquet" and arguments.output is None:
        raise InvalidParameter("--format", kind, "is not for terminals", hint="add --output answer.parquet")
    if arguments.output is not None and not Path(arguments.output).absolute().parent.is_dir():
        hint = f"make the folder {Path(arguments.output).parent} first"
        raise InvalidParameter("--output", arguments.output, "lies in a folder that does not exist", hint=hint)
    if arguments.output is not None and Path(arguments.output).is_dir():
        raise InvalidParameter("--output", arguments.output, "is a folder", hint="name a file in it")
    if arguments.output is None and is_closed(sys.stdout):
        raise GiveOrTakeError("standard output is closed, and nobody would see the answer", hint="add --output PATH")
    return kind


def _write(answer: Answer, kind: str, arguments: argparse.Namespace) -> None:
    output: str | None = arguments.output
    if output is None:
        _print(answer, kind)
        return
    try:
        if kind == "parquet":
            answer.to_parquet(output)
        else:
            Path(output).write_text(_text(answer, kind), encoding="utf-8", newline="")
    except (OSError, InvalidParameter) as error:
        problem = error.strerror if isinstance(error, OSError) else None
        raise InvalidParameter(
            "--output", output, f"cannot be written{f': {problem}' if problem else ''}", hint=_recovery_hint(arguments)
        ) from None


def _recovery_hint(arguments: argparse.Namespace) -> str:
    """A hint on where to find an answer that could not be written."""
    if session_options.ledger_path(arguments) == MEMORY:
        return "the ledger was in memory, so the answer is lost; --ledger PATH keeps it"
    return "the answer is in the ledger: ask the same again, for free, and write it elsewhere"


def _print(answer: Answer, kind: str) -> None:
    if kind == "table":
        terminal().print(answer)
    else:
        sys.stdout.write(_text(answer, kind))
    sys.stdout.flush()  # a full disk says so now, while the bill has not been written


def _text(answer: Answer, kind: str) -> str:
    return str(answer.to_csv()) if kind == "csv" else f"{answer.to_json() if kind == 'json' else repr(answer)}\n"


def _bill(session: Session, answer: Answer, more: int | None, ledger_path: str, *, noted: bool) -> str:
    """One line on what is left, and where the ledger is; a table shows the answer's notes already."""
    status = session.budget.status()
    used = "" if status.used is None else f"{percent(status.used, 3)} of the budget is used{allotted_share(status)}"
    room = "" if more is None else f", with room for {more_like_it(more)}"
    storage = "kept nowhere: the ledger was in memory" if ledger_path == MEMORY else f"kept in {ledger_path}"
    free = not noted and any("nothing was charged" in note for note in answer.notes)
    repeat_note = "asked before, and free; " if free else ""
    return f"{repeat_note}{used}{room}; {storage}\n"


def _query_arguments(parser: argparse.ArgumentParser) -> None:
    session_options.add_arguments(parser)
    parser.add_argument("--key", metavar="TEXT", help="makes a retry safe: one key is charged once")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="how to write the answer; by default as the name of --output says, else a table",
    )
    parser.add_argument("--output", metavar="PATH", help="write the answer to this file instead of to the terminal")


def quote(arguments: argparse.Namespace) -> int:
    """Print the quote; it begins no ledger, and registers no table."""
    text = session_options.question(arguments)
    with ExitStack() as stack:
        with progress(f"loading {printable(arguments.file)}"):
            session, unknown = stack.enter_context(session_options.rehearsed_session(arguments))
            price = session.sql(text).quote(**session_options.spend_terms(arguments))
            price = price if unknown is None else replace(price, notes=(*price.notes, unknown))
        if arguments.format == "json":
            sys.stdout.write(price.to_json() + "\n")
        else:
            _show_quote(terminal(), session, price)
    return 0


def _show_quote(out: Console, session: Session, quote: Quote) -> None:
    """Print a quote: margins, noise, price, what is left, and what would be cheaper."""
    table = Table("column", pad_edge=False, box=None)
    table.add_column(f"give or take, with {percent(quote.confidence)}", justify="right")
    rows = margin_rows(quote)
    if any(len(row) > 2 for row in rows):
        table.add_column("rows that caps cut")
    for name, *cells in rows:
        table.add_row(Text(printable(name)), *map(Text, cells))
    out.print(table)
    out.print()
    facts = Table.grid(padding=(0, 2))
    for label, text in _quote_facts(session, quote):
        facts.add_row(Text(label, style="bold"), Text(printable(text)))
    out.print(facts)
    if quote.left_out is not None and quote.left_out.lines:
        out.print()
        out.print(_compared_caps(quote.left_out.lines))


def _compared_caps(lines: tuple[CapLine, ...]) -> Table:
    """Other caps to compare: their noise, what they cut, and the error of both; the least is marked."""
    table = Table("", "caps", pad_edge=False, box=None)
    scope = "in a group" if lines[0].grouped else "in all"
    for title in ("noise, rows", "cut, about", f"error, rows {scope}"):
        table.add_column(title, justify="right")
    least = min(line.error for line in lines)
    for line in lines:
        numbers = (f"± {line.margin:,.0f}", rough_percent(line.estimate, 2), f"{line.error:,.0f}")
        table.add_row("→" if line.error == least else "", Text(line.caps.partition(", chosen")[0]), *numbers)
    return table


def _quote_facts(session: Session, quote: Quote) -> list[tuple[str, str]]:
    facts = [cost_of(quote)]
    status, affordable = session.budget.status(), session.budget.affordable
    if status.used is not None and affordable is not None:
        used = f"{percent(status.used, 3)}{allotted_share(status)}{left_of(status.budget, affordable)}"
        facts.append(("used so far", used))
    left_out = None if quote.left_out is None else replace(quote.left_out, lines=())
    return [*facts, *quote_facts(replace(quote, left_out=left_out), "command")]


def _quote_arguments(parser: argparse.ArgumentParser) -> None:
    session_options.add_arguments(parser)
    parser.add_argument("--format", choices=("table", "json"), default="table", help="json is for programs")


_SHOWN = 8  # lines of a table


_PROFILED: dict[str, Any] = {"by": (), "columns": (), "most_rows": None}


def profile(arguments: argparse.Namespace) -> int:
    """Release the profile, or find it in the ledger, and print it."""
    proposed = session_options.proposed_profile(arguments)
    wanted = {name: getattr(arguments, name) or proposed.get(name) or none for name, none in _PROFILED.items()}
    stated = {name: getattr(arguments, name) for name in ("epsilon", "share")}
    terms = stated if any(stated.values()) else {name: proposed.get(name) for name in stated}
    with ExitStack() as stack:
        if arguments.quote:
            rehearsed, _ = stack.enter_context(session_options.rehearsed_session(arguments))
            price = rehearsed.profile(**wanted).quote(**terms)
            terminal().print(Text(printable("; ".join(price.notes))))
            return 0
        session, _ = session_options.open_session(arguments)
        stack.enter_context(session)
        released = session.profile(**wanted).answer(**terms, key=arguments.key)
        if arguments.format == "json":
            sys.stdout.write(json.dumps(_as_json(released), ensure_ascii=False) + "\n")
        else:
            _show_profile(terminal(), released, session.describe().catalog.private[released.table].schema)
    return 0


def _show_profile(out: Console, profile: Profile, declared: Schema) -> None:
    """Print a profile: what each cap leaves out, which cap to take and why, and bounds within declared ones."""
    out.print(Text(printable(str(profile).partition("\n")[0])))
    caps = profile.caps()
    if profile.rows is not None:
        out.print(Text(profile.told_persons()))
        out.print()
        out.print(_left_out(profile, caps["rows_per_person"]))
        out.print()
        options = " ".join(f"--{name.replace('_', '-')} {cap}" for name, cap in caps.items())
        out.print(
            Text(
                f"{options}: the least that leaves 95 % of the persons as they are, as far as the noise lets us see. "
                "Lower caps mean less noise, and leave more rows out; queries that state none weigh both."
            )
        )
    for column, ends in profile.bounds.items():
        out.print(Text(printable(_bounds(column, ends, declared[column]))))
    if profile.unseen:
        out.print(Text(printable(profile.unseen)))
    for note in profile.notes:
        out.print(Text(printable(f"note: {note}")))


def _bounds(column: str, ends: tuple[int | float, int | float], declared: Domain) -> str:
    """What narrower bounds would keep, or that the declared ones are as narrow."""
    if not declared.is_bounded:
        low, high = map(str, ends)
    else:
        least, most = declared.ends()
        if ends[0] <= least and ends[1] >= most:
            return (
                f"{column}: the declared bounds, {decimal(least)} to {decimal(most)}, are as narrow as what was found"
            )
        low, high = (decimal(max(Fraction(ends[0]), least), 12), decimal(min(Fraction(ends[1]), most), 12))
    return f"CLAMP({in_sql(column)}, {low}, {high}) keeps all numbers of 95 % of the persons"


def _left_out(profile: Profile, advised: int) -> Table:
    """A table of some caps and the share of rows that each leaves out; the advised cap is marked."""
    lines = [int(line["cap"]) for line in profile.lines()]
    step = max(1, len(lines) // _SHOWN)
    table = Table("", pad_edge=False, box=None)
    for title in ("rows of a person", "cut, about", "at least", "at most"):
        table.add_column(title, justify="right")
    for index, cap in enumerate(lines):
        if index % step == 0 or cap == advised:
            share = profile.left_out(rows_per_person=cap)
            parts = [share.estimate, share.low, None if share.high is None or share.high >= 1 else share.high]
            mark = "→" if cap == advised else ""
            table.add_row(
                mark, f"{cap:,}", *("not known" if part is None else rough_percent(part, 2) for part in parts)
            )
    return table


def _as_json(profile: Profile) -> dict[str, Any]:
    return {
        "table": profile.table,
        "epsilon": str(profile.epsilon),
        "release_id": profile.release_id,
        "caps": profile.caps(),
        "bounds": {name: list(ends) for name, ends in profile.bounds.items()},
        "left_out": [{"rows_per_person": line["cap"], **_share(profile, int(line["cap"]))} for line in profile.lines()]
        if profile.rows is not None
        else [],
        "notes": list(profile.notes),
    }


def _share(profile: Profile, cap: int) -> dict[str, Any]:
    share = profile.left_out(rows_per_person=cap)
    return {"low": share.low, "high": share.high, "estimate": share.estimate, "likely": share.likely}


def _profile_arguments(parser: argparse.ArgumentParser) -> None:
    session_options.add_file(parser)
    price = parser.add_mutually_exclusive_group()
    price.add_argument(
        "--share", metavar="S", help="a share of the whole budget, such as 1/20, unless the file says it"
    )
    price.add_argument("--epsilon", metavar="E", help="instead, what the profile may cost")
    parser.add_argument("--by", action="append", default=[], metavar="COL", help="a column that questions group by")
    parser.add_argument(
        "--columns", action="append", default=[], metavar="COL", help="a number whose bounds are wanted"
    )
    parser.add_argument("--most-rows", metavar="R", help="a public maximum of rows per person, if there is one")
    parser.add_argument("--quote", action="store_true", help="say how precise it would be; charge nothing")
    parser.add_argument("--key", metavar="TEXT", help="makes a retry safe: the same key is charged once")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="json is for programs")
    session_options.add_people(parser)


_EXAMPLE = 'trips.csv "SELECT COUNT(*) FROM trips" --unit id --budget 1 --epsilon 1 --rows-per-person 9'
COMMANDS = {
    "query": Command(
        summary="ask a table behind a budget, in SQL",
        description=(
            "Put a table behind a privacy budget and ask it a question in SQL. What was spent is kept in FILE.ledger, "
            "so that the next call knows. Exit codes: 0 answered, 2 refused (standard error says why), 130 interrupted."
        ),
        examples=(
            f"giveortake query {_EXAMPLE}",
            "giveortake query trips.toml @weekly.sql --epsilon 0.1 --rows-per-person 20 --output weekly.csv",
        ),
        add_arguments=_query_arguments,
        run=query,
        interrupted=charged_since,
        unwritten=_recovery_hint,
    ),
    "quote": Command(
        summary="what an answer would cost and how sure it would be, for free",
        description=(
            "Price a question before asking it: the margin of every column, the noise, the cost and what would be "
            "left. It is computed from the question and the declared domains alone; nothing is spent."
        ),
        examples=(
            f"giveortake quote {_EXAMPLE}",
            'giveortake quote trips.toml "SELECT AVG(amount) FROM trips" --margin 5 --n 10000 --rows-per-person 20',
        ),
        add_arguments=_quote_arguments,
        run=quote,
    ),
    "profile": Command(
        summary="release how many rows people have, once, to choose everybody's caps by",
        description=(
            "Release how many rows (and groups, and how large numbers) people have, in bins, with noise; the ledger "
            "keeps it. From then on every query that states no caps has the best ones by it, whoever asks, and every "
            'interval holds the number of all rows. A TOML file may say what it costs: profile = { share = "1/20" }.'
        ),
        examples=(
            "giveortake profile trips.parquet --unit user_id --budget 1 --epsilon 0.1",
            "giveortake profile trips.toml --share 1/20 --by region --columns amount --most-rows 1000",
        ),
        add_arguments=_profile_arguments,
        run=profile,
    ),
}
