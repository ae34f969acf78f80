"""What opening a ledger of an earlier version for writing would change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.ledger.marks import FileMark
from giveortake.ledger.opening import home_of, opened
from giveortake.ledger.store import SCHEMA

if TYPE_CHECKING:
    import os


def pending(where: str | os.PathLike[str], *, mark: str | os.PathLike[str] | None = None) -> list[str]:
    """What an upgrade would change, in sentences; nothing is written. The ledger is verified on the way."""
    changes = []
    with opened(where, mark=mark, create=False, read_only=True) as ledger:
        ledger.verify()
        schema, keeper = ledger.chain.schema(), ledger.chain.mark
        home = home_of(ledger.chain.store, mark)
        if schema < SCHEMA:
            changes.append(
                f"its schema {schema} becomes {SCHEMA}: earlier versions of giveortake refuse it from then on"
            )
        if home is not None and isinstance(keeper, FileMark) and keeper.path == home.beside.path:
            changes.append(f"its mark moves from {home.beside.path} to {home.state.folder}, and the move is an entry")
    return changes


def upgrade(where: str | os.PathLike[str], *, mark: str | os.PathLike[str] | None = None) -> list[str]:
    """Make these changes, as opening the ledger for writing would."""
    changes = pending(where, mark=mark)
    opened(where, mark=mark, create=False).close()
    return changes
