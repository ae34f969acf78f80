"""The path of a ledger in a command: it is not a TOML file, although that names one; and which table it is about."""

from __future__ import annotations

from pathlib import Path

from giveortake.configuration import Configuration, configurations
from giveortake.engines.protocol import is_address
from giveortake.errors import GiveOrTakeError, InvalidParameter, NotFound, safe_text
from giveortake.session.ledger_discovery import usual_ledger


def require_ledger(path: str, command: str) -> None:
    """Refuse a TOML file, and name its ledger; refuse a missing file, and name a ledger beside it."""
    if Path(path).suffix.lower() != ".toml":
        _require_there(path)
        return
    places = {section.ledger or usual_ledger(path) for section in configurations(path).values()}
    told = " or ".join(str(safe_text(place)) for place in sorted(places))
    raise InvalidParameter("ledger", path, f"is a TOML file; its ledger is {told}", hint=f"{command} {told}")


def _require_there(path: str) -> None:
    """Refuse a missing file if a ledger beside it was probably meant; else opening the ledger refuses it."""
    place = Path(path)
    if is_address(path) or place.exists() or not place.parent.is_dir():
        return
    beside = sorted(str(each) for each in place.parent.glob("*.ledger") if each.name.startswith(f"{place.stem}."))
    if beside:
        raise NotFound(f"there is no ledger at {path}", hint=f"did you mean {' or '.join(beside)}?")


def table_of(ledger: str) -> tuple[str, str | None]:
    """The TOML file beside a ledger that names it, with its section; else the file of the table beside it.

    Reading a ledger's releases needs the declarations about the table, which are there.
    """
    place = Path(ledger)
    found = [
        (str(configuration), section.name)
        for configuration in sorted(place.absolute().parent.glob("*.toml"))
        for section in _sections(configuration)
        if Path(section.ledger or usual_ledger(str(configuration))).resolve() == place.resolve()
    ]
    if len(found) == 1:
        return found[0]
    if found:
        told = ", ".join(f"[{section}] of {Path(file).name}" for file, section in found)
        raise InvalidParameter(
            "file", ledger, f"is the ledger of several tables: {told}", hint="name the TOML file, and --table SECTION"
        )
    table = ledger.removesuffix(".ledger")
    if not Path(table).exists():
        raise InvalidParameter(
            "file",
            ledger,
            "is a ledger, and no TOML file or table beside it says what it is about",
            hint="name the TOML file, or the table with --unit and --budget, as `giveortake query` takes it",
        )
    return table, None


def _sections(configuration: Path) -> list[Configuration]:
    """The sections of a TOML file; none if the file is not ours."""
    try:
        return list(configurations(configuration).values())
    except GiveOrTakeError:
        return []
