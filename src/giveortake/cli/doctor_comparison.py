"""Whether a ledger would take a table as a TOML file describes it. It is tried on a copy, and no table is opened."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giveortake.engines.registry import is_address
from giveortake.errors import GiveOrTakeError
from giveortake.ledger.opening import rehearsal
from giveortake.plan import Domain, Kind
from giveortake.plan.domains import declared
from giveortake.privacy import ROW
from giveortake.session.registration import own_domains

if TYPE_CHECKING:
    from giveortake.ledger import Ledger
    from giveortake.session.configuration import Configuration

_NO_CONTENT = "0" * 64  # a fingerprint that no table has: its content is not looked at


def refusal(section: Configuration, place: str) -> GiveOrTakeError | None:
    """Why the ledger at a place would refuse a section: other people, another budget, or other domains.

    None if it would not, or if that cannot be told: there is no ledger yet, it is in a server, or it cannot be read,
    which is told elsewhere. Columns that the ledger does not know, and types of columns, are seen by the table alone.
    """
    if is_address(place) or not Path(place).is_file():
        return None
    with suppress(GiveOrTakeError, OSError), rehearsal(place, mark=section.mark) as book:
        return _refused(section, book)
    return None


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
    """The domains that the ledger holds, with what the section says in the place of what was declared."""
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
    """What a column may hold, by the type that the ledger knows and by what is said now."""
    step = Fraction(kept["step"]) if "step" in kept else None
    physical = Domain(Kind(kept["kind"]), nullable=kept["nullable"], step=step)
    return (declared(column, said[column], physical) if column in said else physical).to_dict()
