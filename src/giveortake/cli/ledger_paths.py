"""The path of a ledger as a command is given it; a configuration is none, and names one."""

from __future__ import annotations

from pathlib import Path

from giveortake.errors import InvalidParameter, shown
from giveortake.session.configuration import configurations
from giveortake.session.ledgers_beside import usual_ledger


def require_ledger(path: str, command: str) -> None:
    """Refuse a TOML file by the name of the ledger that it speaks of."""
    if Path(path).suffix.lower() != ".toml":
        return
    places = {section.ledger or usual_ledger(path) for section in configurations(path).values()}
    told = " or ".join(str(shown(place)) for place in sorted(places))
    raise InvalidParameter("ledger", path, f"is a TOML file; its ledger is {told}", hint=f"{command} {told}")
