"""`giveortake publish`: settled releases as Parquet, CSV, DuckDB or PostgreSQL, and one of them as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from giveortake import ledger as ledgers
from giveortake.answers.render import printable
from giveortake.cli import session_options
from giveortake.cli.ledger import table_of
from giveortake.cli.shell import Command, grid, terminal
from giveortake.engines.protocol import is_address
from giveortake.errors import GiveOrTakeError, InvalidParameter, NotFound
from giveortake.ledger.discovery import MEMORY
from giveortake.ledger.releases import minute, without_repeats
from giveortake.publication import publish, report

if TYPE_CHECKING:
    import argparse

    from rich.table import Table

    from giveortake.ledger import ReleaseRecord

_SHORTEST_ID = 8  # digits


def run(arguments: argparse.Namespace) -> int:
    """Publish, and print what was written and what was left out."""
    if arguments.to is None and arguments.report is None and not arguments.list:
        hint = "--to answers.duckdb, or --release ID --report release.html; --list shows the releases"
        raise GiveOrTakeError("--to or --report is missing: say where to publish", hint=hint)
    if arguments.file.endswith(".ledger"):
        arguments.file, section = table_of(arguments.file)
        arguments.table = arguments.table or section
    if arguments.report is not None and len(arguments.release) != 1:
        raise InvalidParameter(
            "--report", arguments.report, "is a page of one release: name it", hint="--release ID; --list shows the ids"
        )
    releases = _releases(arguments)
    if arguments.list:
        terminal().print(_listed(releases) if releases else "nothing was released yet")
    if arguments.to is None and arguments.report is None:
        return 0
    if not releases:
        raise NotFound("nothing was released yet", hint="`giveortake query` releases an answer")
    release_ids = [_whole_id(release_id, releases) for release_id in arguments.release]
    session, _ = session_options.open_session(arguments)
    with session:
        if arguments.to is not None:
            publication = publish(session, arguments.to, release=release_ids or None, schema=arguments.schema)
            for line in str(publication).splitlines():
                terminal().print(Text(printable(line)))
        if arguments.report is not None:
            report(session, release_ids[0], arguments.report)
            terminal().print(Text(f"{printable(arguments.report)} is a page of release {release_ids[0]}"))
    return 0


def _releases(arguments: argparse.Namespace) -> list[ReleaseRecord]:
    """All releases of the table, the oldest first; the ledger is only read, and none is begun."""
    path = session_options.ledger_path(arguments)
    releases: list[ReleaseRecord] = []
    if path == MEMORY or not (is_address(path) or Path(path).exists()):
        return releases
    name = session_options.expected_name(arguments)
    with ledgers.open(path, mark=session_options.mark_path(arguments), create=False, read_only=True) as ledger:
        while page := ledger.releases(
            analyst=arguments.analyst, dataset=name, after=releases[-1].id if releases else None, limit=100
        ):
            releases += page
    return releases


def _listed(releases: list[ReleaseRecord]) -> Table:
    rows = [
        (release.id, minute(release.at), release.analyst or "custodian", " ".join((release.description or "").split()))
        for release, _ in without_repeats(releases)
    ]
    return grid(("release", "when", "who", "what"), rows)


def _whole_id(abbreviation: str, releases: list[ReleaseRecord]) -> str:
    """The one id that begins like this, or begins and ends like this: `8be3·2e79`, as pages show it.

    Published tables have the first twelve digits in their names.
    """
    first, _, last = abbreviation.partition("·")
    matches = [release.id for release in releases if abbreviation == release.id] or [
        release.id for release in releases if release.id.startswith(first) and release.id.endswith(last)
    ]
    if matches and abbreviation != matches[0] and len(first) + len(last) < _SHORTEST_ID:
        problem = f"is too short: say {_SHORTEST_ID} letters of the id or more"
        raise InvalidParameter("--release", abbreviation, problem, hint="--list shows the ids")
    if len(matches) > 1:
        raise InvalidParameter(
            "--release", abbreviation, f"is said of {len(matches)} releases", hint="say more of the id"
        )
    if not matches:
        raise NotFound(f"there is no release {abbreviation!r}", hint="--list shows the ids")
    return matches[0]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    session_options.add_file(parser, "the ledger of a file, ")
    group = parser.add_argument_group("what, and where to")
    group.add_argument(
        "--to",
        metavar="PLACE",
        help="one table: FILE.parquet or FILE.csv; all: a folder/, FILE.duckdb, or postgresql://…/database",
    )
    group.add_argument(
        "--release", action="append", default=[], metavar="ID", help="publish only this release; may be repeated"
    )
    group.add_argument(
        "--list", action="store_true", help="show what was released, with ids; nothing is written for it"
    )
    group.add_argument(
        "--schema", metavar="NAME", default="giveortake", help="the schema of a database; giveortake unless stated"
    )
    group.add_argument(
        "--report", metavar="FILE.html", help="write one release as a page, which runs no script and loads nothing"
    )
    session_options.add_people(parser)


COMMAND = Command(
    summary="releases as Parquet, CSV, DuckDB or PostgreSQL for other programs, or as a page",
    description=(
        "Write settled releases where psql, Metabase, Superset or pandas read them, and one as CSV for Excel: each\n"
        "with the ends of intervals, margins, promise and caps as columns and comments, and a catalogue, `releases`.\n"
        "Publishing again replaces them in one transaction. Nothing is charged."
    ),
    examples=(
        "giveortake publish trips.toml --to answers.duckdb",
        "giveortake publish trips.csv.ledger --to answers/ --unit user_id --budget 1",
        "giveortake publish trips.toml --to postgresql://me@host/reports --analyst ann",
        "giveortake publish trips.toml --release 8a7afee9774886ca498d9cb1 --to region.csv --report release.html",
    ),
    add_arguments=_add_arguments,
    run=run,
)
