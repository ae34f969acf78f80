"""What opening a ledger of an earlier version for writing would change; and rebuilding indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.errors import LedgerMissing
from giveortake.ledger.entries import RESTORE
from giveortake.ledger.indexes import indexed_anew
from giveortake.ledger.marks import FileMark
from giveortake.ledger.opening import home_of, opened, store_at
from giveortake.ledger.store import SCHEMA

if TYPE_CHECKING:
    import os

    from giveortake.ledger.entries import Point


def pending(where: str | os.PathLike[str], *, mark: str | os.PathLike[str] | None = None) -> list[str]:
    """What an upgrade would change, in sentences; nothing is written. The ledger is verified on the way.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/visits.ledger"
    >>> gt.ledger.open(path).close()
    >>> gt.ledger.pending(path)
    []
    """
    changes = []
    with opened(where, mark=mark, create=False, read_only=True) as ledger:
        ledger.verify()
        schema, keeper = ledger.chain.schema(), ledger.chain.mark
        home = home_of(ledger.chain.store, mark)
        if schema < SCHEMA:
            changes.append(
                f"its schema {schema} becomes {SCHEMA}: earlier versions of giveortake refuse it from then on"
            )
        if not ledger.chain.is_indexed():
            changes.append(
                "its indexes are derived from its entries, so that a long one is opened as fast as a short one"
            )
        if home is not None and isinstance(keeper, FileMark) and keeper.path == home.beside.path:
            changes.append(f"its mark moves from {home.beside.path} to {home.state.folder}, and the move is an entry")
    return changes


def upgrade(where: str | os.PathLike[str], *, mark: str | os.PathLike[str] | None = None) -> list[str]:
    """Upgrade a ledger, as opening it for writing would, and return what changed, in sentences.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/visits.ledger"
    >>> gt.ledger.open(path).close()
    >>> gt.ledger.upgrade(path)  # it is of this version already
    []
    """
    changes = pending(where, mark=mark)
    opened(where, mark=mark, create=False).close()
    return changes


def reindex(where: str | os.PathLike[str], *, mark: str | os.PathLike[str] | None = None) -> Point:
    """Rebuild checkpoints and indexes from the entries, which are checked in order and against the mark.

    No entry changes. It takes as long as reading all of them.
    """
    store = store_at(where)
    try:
        if not store.exists():
            raise LedgerMissing(f"there is no ledger at {store.name}", hint=RESTORE)
        with store.writing() as transaction:
            if transaction.outdated():
                transaction.migrate()
            indexed_anew(transaction)
    finally:
        store.close()
    with opened(where, mark=mark, create=False) as ledger:
        return ledger.chain.head
