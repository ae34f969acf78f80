"""`giveortake init`: a draft of a configuration, from the names and types of a file's columns alone."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from giveortake.answers.render import printable
from giveortake.cli.shell import Command, report
from giveortake.configuration import FILL_IN, quoted
from giveortake.engines.protocol import is_address
from giveortake.errors import InvalidParameter
from giveortake.ledger.discovery import usual_ledger
from giveortake.plan import Kind
from giveortake.session.protection import table_name

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

_USUAL = "giveortake.toml"
_FORMS = {
    Kind.TEXT: 'text: ["north", "south"], what there may be; or { max_length = 100 }',
    Kind.INTEGER: "whole numbers: { bounds = [0, 120], integer = true }",
    Kind.REAL: "numbers: { bounds = [0, 500] }",
    Kind.DECIMAL: "numbers: { bounds = [0, 500] }",
    Kind.DATE: "dates: { bounds = [2024-01-01, 2024-12-31] }",
    Kind.TIMESTAMP: "times: { bounds = [2024-01-01, 2024-12-31] }",
    Kind.BOOLEAN: "true or false: nothing has to be said",
}

_CELLS = """\
# Of a CSV file every cell is text until its domain says otherwise. One that cannot be read as its domain says counts as
# missing, without a word: write numbers as 12.50 (12,50 where semicolons separate cells) and dates as 2024-12-31."""


def run(arguments: argparse.Namespace) -> int:
    """Write the draft; an existing file is never overwritten."""
    from giveortake.engines.duckdb.tables import columns_of  # noqa: PLC0415 (brings DuckDB)

    if is_address(arguments.file):
        raise InvalidParameter(
            "file",
            arguments.file.partition("://")[0],
            "is an address",
            hint="`giveortake init` takes a CSV, Parquet or DuckDB file",
        )
    path, output = Path(arguments.file), Path(arguments.output)
    columns = columns_of(path, arguments.table)
    folder = Path.cwd() if arguments.output == "-" else output.absolute().parent
    text = draft(
        Path(os.path.relpath(path, folder)).as_posix(),
        table_name(path, None),
        columns,
        arguments.table,
        _USUAL if arguments.output == "-" else arguments.output,
    )
    if arguments.output == "-":
        sys.stdout.write(text)
        return 0
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InvalidParameter(
            "--output", arguments.output, "already exists", hint="name another file, or `-` for the terminal"
        ) from None
    report(f"{output}: fill in what is marked {FILL_IN}; no row of {path} was looked at\n")
    return 0


def draft(
    source: str, name: str, columns: Mapping[str, Kind | None], table: str | None = None, called: str = _USUAL
) -> str:
    """The text of a configuration with the places to fill in."""
    file = shlex.quote(printable(called))
    listed = ", ".join(map(quoted, columns))
    untyped = all(kind is None for kind in columns.values())
    cells = f"\n{_CELLS}" if untyped else ""
    padded = [quoted(column) for column in columns if column != column.strip()]
    blanks = (
        f"\n# Blanks belong to these names, and questions write them in quotes: {', '.join(padded)}" if padded else ""
    )
    lines = "\n".join(f"# {quoted(column)} = {FILL_IN}{_form(kind)}" for column, kind in columns.items())
    table_line = "" if table is None else f"table = {quoted(table)}\n"
    return f"""\
# A draft of `giveortake init`, made of the names and types of the columns alone: no row was looked at.
# Fill in what is marked {FILL_IN}; then check the file with this free command:
#   giveortake quote {file} 'SELECT COUNT(*) AS n FROM {_in_sql(name)}' --epsilon 0.1 --rows-per-person 10
# (without --rows-per-person if unit = "row", or if it is said below).
# Let analysts in before that if their budgets have a delta: what you ask yourself fixes how the rest of delta is used.
# The first charge freezes what is said below about columns. To say something else after it, rename the section and add
# population = "people of {name}".

[{name}]
source = {quoted(source)}
{table_line}ledger = {quoted(usual_ledger(source))}  # what was spent, and what was answered
unit = "{FILL_IN}"  # the column that names a person, or "row" if every row is somebody else
# the columns: {listed}{blanks}
budget = {{ epsilon = "{FILL_IN}" }}  # for all questions ever, such as "1"; with delta = "1e-8" keys can be found
# How many rows of a person count is found at a price, once, and chosen for every query then. After the first charge:
#   giveortake profile {file}
# profile = {{ share = "1/20", most_rows = {FILL_IN} }}  # of the budget; most_rows: nobody can have more, as is public
# rows_per_person = {FILL_IN}  # or say it yourself, such as 10; the noise grows with it

# What columns may hold, as far as it is known without looking at the table: categories that are found in the data, or
# bounds that are read off it, would give away what is in it. What is not declared can be found at a price, or not be
# asked about. A line counts once its # is removed.{cells}
#   amount = {{ bounds = [0, 500] }}  age = {{ bounds = [0, 120], integer = true }}  region = ["north", "south"]
#   day = {{ bounds = [2024-01-01, 2024-12-31] }}
[{name}.domains]
{lines}
"""  # noqa: S608 (nobody runs it: it is an example in a comment)


def _in_sql(name: str) -> str:
    return name if name.isidentifier() else f'"{name}"'


def _form(kind: Kind | None) -> str:
    return "" if kind is None else f"  # {_FORMS[kind]}"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a CSV, Parquet or DuckDB file")
    parser.add_argument("--output", default=_USUAL, metavar="PATH", help=f"{_USUAL} unless stated; `-` prints it")
    parser.add_argument("--table", metavar="NAME", help="the table of a database")


COMMAND = Command(
    summary="draft a configuration from the names and types of a file's columns",
    description=(
        "Write a TOML file that describes a table, with the places to fill in marked. It is made of the header and\n"
        "the types alone: what the table holds is not looked at, so the draft gives nothing away."
    ),
    examples=("giveortake init trips.csv", "giveortake init trips.parquet --output trips.toml"),
    add_arguments=_add_arguments,
    run=run,
)
