"""`giveortake profile`: how many rows people have, found privately once, to choose caps by."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from giveortake.answers.render import printable
from giveortake.cli import session_options
from giveortake.cli.shell import Command, terminal
from giveortake.exact import decimal, rough_percent
from giveortake.sql.refusals import in_sql

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from giveortake.plan import Domain
    from giveortake.plan.expressions import Schema
    from giveortake.session.profiles.profile import Profile

_SHOWN = 8  # lines of a table


def run(arguments: argparse.Namespace) -> int:
    """Release the profile, or find it in the ledger, and print it."""
    wanted = {name: getattr(arguments, name) for name in ("by", "columns", "most_rows")}
    with ExitStack() as stack:
        if arguments.quote:
            rehearsed, _ = stack.enter_context(session_options.rehearsed_session(arguments))
            quote = rehearsed.profile(**wanted).quote(epsilon=arguments.epsilon)
            terminal().print(Text(printable("; ".join(quote.notes))))
            return 0
        session, _ = session_options.open_session(arguments)
        stack.enter_context(session)
        profile = session.profile(**wanted).answer(epsilon=arguments.epsilon, key=arguments.key)
        if arguments.format == "json":
            sys.stdout.write(json.dumps(_as_json(profile), ensure_ascii=False) + "\n")
        else:
            show(terminal(), profile, session.catalog.private[profile.table].schema)
    return 0


def show(out: Console, profile: Profile, declared: Schema) -> None:
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
                "Lower caps mean less noise, and leave more rows out; --caps best weighs both for each question."
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


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    session_options.add_file(parser)
    parser.add_argument("--epsilon", metavar="E", required=True, help="what the profile may cost")
    parser.add_argument("--by", action="append", default=[], metavar="COL", help="a column that questions group by")
    parser.add_argument(
        "--columns", action="append", default=[], metavar="COL", help="a number whose bounds are wanted"
    )
    parser.add_argument("--most-rows", metavar="R", help="a public maximum of rows per person, if there is one")
    parser.add_argument("--quote", action="store_true", help="say how precise it would be; charge nothing")
    parser.add_argument("--key", metavar="TEXT", help="makes a retry safe: the same key is charged once")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="json is for programs")
    session_options.add_people(parser)


COMMAND = Command(
    summary="release how many rows people have, once, to choose caps by",
    description=(
        "Release how many rows (and groups, and how large numbers) people have, in bins, with noise; the ledger keeps\n"
        "it. From then on `giveortake quote` and `query` say what their caps cut, and --caps best chooses."
    ),
    examples=(
        "giveortake profile trips.parquet --unit user_id --budget 1 --epsilon 0.1",
        "giveortake profile trips.toml --epsilon 0.1 --by region --columns amount --most-rows 1000",
    ),
    add_arguments=_add_arguments,
    run=run,
)
