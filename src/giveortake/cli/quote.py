"""`giveortake quote`: what an answer would cost and how sure it would be. Nothing is asked, nothing spent."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from giveortake.answers.render import printable
from giveortake.cli import session_options
from giveortake.cli.session_options import allotted_share, largest_question
from giveortake.cli.shell import Command, terminal
from giveortake.exact import percent, rough_percent
from giveortake.progress import progress
from giveortake.session.render import cost_of, quote_facts, shown_margin

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from giveortake.answers.terms import CapLine
    from giveortake.session import Quote, Session


def run(arguments: argparse.Namespace) -> int:
    """Print the quote; it begins no ledger, and registers no table."""
    text = session_options.question(arguments)
    with ExitStack() as stack:
        with progress(f"loading {printable(arguments.file)}"):
            session, unknown = stack.enter_context(session_options.rehearsed_session(arguments))
            quote = session.sql(text).quote(**session_options.spend_terms(arguments))
            quote = quote if unknown is None else replace(quote, notes=(*quote.notes, unknown))
        if arguments.format == "json":
            affordable = session.affordable
            left = {"affordable_epsilon": None if affordable is None else float(affordable)}
            sys.stdout.write(json.dumps(json.loads(quote.to_json()) | left, ensure_ascii=False) + "\n")
        else:
            show(terminal(), session, quote)
    return 0


def show(out: Console, session: Session, quote: Quote) -> None:
    """Print a quote: margins, noise, price, what is left, and what would be cheaper."""
    table = Table("column", pad_edge=False, box=None)
    table.add_column(f"give or take, with {percent(quote.confidence)}", justify="right")
    for name, margin in quote.margins.items():
        table.add_row(Text(printable(name)), shown_margin(margin))
    out.print(table)
    out.print()
    facts = Table.grid(padding=(0, 2))
    for label, text in _facts(session, quote):
        facts.add_row(Text(label, style="bold"), Text(printable(text)))
    out.print(facts)
    if quote.left_out is not None and quote.left_out.lines:
        out.print()
        out.print(_caps(quote.left_out.lines))


def _caps(lines: tuple[CapLine, ...]) -> Table:
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


def _facts(session: Session, quote: Quote) -> list[tuple[str, str]]:
    facts = [cost_of(quote)]
    status, affordable = session.rest()
    if status.used is not None:
        affordable_note = "" if affordable is None else f"; {largest_question(affordable)}"
        facts.append(("used so far", f"{percent(status.used, 3)}{allotted_share(status)}{affordable_note}"))
    left_out = None if quote.left_out is None else replace(quote.left_out, lines=())
    return [*facts, *quote_facts(replace(quote, left_out=left_out))]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    session_options.add_arguments(parser)
    parser.add_argument("--format", choices=("table", "json"), default="table", help="json is for programs")


COMMAND = Command(
    summary="what an answer would cost and how sure it would be, for free",
    description=(
        "Price a question before asking it: the margin of every column, the noise, the cost and what would be left.\n"
        "It is computed from the question and the declared domains alone; nothing is spent."
    ),
    examples=(
        'giveortake quote trips.csv "SELECT COUNT(*) FROM trips" --unit id --budget 1 --epsilon 1 --rows-per-person 9',
        'giveortake quote trips.toml "SELECT AVG(amount) FROM trips" --margin 5 --n 10000 --rows-per-person 20',
    ),
    add_arguments=_add_arguments,
    run=run,
)
