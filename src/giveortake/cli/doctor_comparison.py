"""Whether a ledger would accept a table as a TOML file describes it, and whether the file has the columns of both.

A copy of the ledger is tried. Of a table nothing but the names of its columns is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake import ledger as ledgers
from giveortake.answers.text import printable
from giveortake.engines.protocol import is_address
from giveortake.errors import GiveOrTakeError, meant
from giveortake.ledger.opening import rehearsal
from giveortake.plan import Domain, Kind
from giveortake.plan.domains import declared
from giveortake.privacy import ROW
from giveortake.session.ledger_discovery import files_of
from giveortake.session.protection import own_domains, table_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from giveortake.configuration import Configuration
    from giveortake.ledger import Ledger

_NO_CONTENT = "0" * 64  # a fingerprint that no table has: its content is not looked at


def refusal(section: Configuration, place: str) -> GiveOrTakeError | None:
    """Why the ledger at a place would refuse a section: other people, another budget, or other domains.

    None if it would not, or if that is unknown: there is no ledger yet, it is in a server, or it cannot be read, which
    is reported elsewhere. Columns that the ledger does not know, and types of columns, only the table shows.
    """
    if is_address(place) or not Path(place).is_file():
        return None
    with suppress(GiveOrTakeError, OSError), rehearsal(place, mark=section.mark) as book:
        return _refused(section, book)
    return None


def lost_columns(section: Configuration, places: Iterable[str]) -> tuple[str, str] | None:
    """The columns of a section or its ledger that its files lack, and what may be meant; None if they lack none."""
    said, source = section.said, section.said["source"]
    domains, held = said.get("domains", {}), _held(section, places)
    for table, files in source.items() if isinstance(source, Mapping) else [(section.name, source)]:
        own = domains.get(table, {}) if isinstance(source, Mapping) else domains
        spoken_of = {*(own if isinstance(own, Mapping) else ()), *held.get(table, ())}
        for file in files_of(files):
            found = _lost(file, said["unit"].column, spoken_of, said.get("table"))
            if found is not None:
                return found
    return None


def _held(section: Configuration, places: Iterable[str]) -> Mapping[str, Any]:
    """The columns of a section's tables in the ledger; none if it does not know them, or cannot be read."""
    for place in places:
        if not is_address(place) and Path(place).is_file():
            with (
                suppress(GiveOrTakeError, OSError),
                ledgers.open(place, mark=section.mark, create=False, read_only=True) as book,
            ):
                return book.domains(section.name) or {}
    return {}


def columns_lost_since(file: str, book: Ledger) -> tuple[str, str] | None:
    """The columns of a table in its ledger, which holds no other table, that its file lacks."""
    held = [level for level in book.levels() if level.kind == "data set"]
    if len(held) != 1 or table_name(file, None, None) != held[0].name:
        return None
    columns = (book.domains(held[0].name) or {}).get(held[0].name, {})
    return _lost(file, held[0].unit.column, set(columns), None)


def _lost(file: str, person: str | None, spoken_of: set[str], table: str | None) -> tuple[str, str] | None:
    from giveortake.engines.duckdb.tables import columns_of  # noqa: PLC0415 (brings DuckDB)

    try:
        there = columns_of(Path(file), table)
    except GiveOrTakeError:  # a folder, a pattern or no header: asking the table says what is wrong
        return None
    lost = [each for each in (*filter(None, [person]), *sorted(spoken_of)) if each not in there]
    if not lost:
        return None
    named = ", ".join(f"`{printable(each)}`" for each in dict.fromkeys(lost))
    hint = f"{meant(lost[0], there)}its columns are {', '.join(there)}"
    return f"{printable(file)} has no column {named}", printable(hint)


def _refused(section: Configuration, book: Ledger) -> GiveOrTakeError | None:
    said, whom = section.said, section.said["unit"]
    try:
        book.register(
            section.name,
            budget=replace(said["budget"], unit=whom, neighbours=said.get("neighbours", "add-remove")),
            unit=whom,
            domains=_as_said(section, book),
            fingerprint=_NO_CONTENT,
            first=f"{'rows' if whom == ROW else 'people'} of {section.name}",
            population=said.get("population"),
            new_population=said.get("new_population"),
            owner_confirms=said.get("owner_confirms"),
            declared=bool(said.get("domains")),
        )
    except GiveOrTakeError as error:
        return error
    return None


def _as_said(section: Configuration, book: Ledger) -> dict[str, Any]:
    """The domains in the ledger, with what the section declares in place of what was declared before."""
    if section.name not in {level.name for level in book.levels() if level.kind == "data set"}:
        return {}
    said, several = section.said.get("domains", {}), isinstance(section.said["source"], Mapping)
    person = section.said["unit"].column
    return {
        table: {
            column: kept if column == person else _column(column, kept, own_domains(said, table, several))
            for column, kept in columns.items()
        }
        for table, columns in (book.domains(section.name) or {}).items()
    }


def _column(column: str, kept: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """The domain of a column, by the type in the ledger and by what is declared now."""
    step = Fraction(kept["step"]) if "step" in kept else None
    physical = Domain(Kind(kept["kind"]), nullable=kept["nullable"], step=step)
    return (declared(column, said[column], physical) if column in said else physical).to_dict()
