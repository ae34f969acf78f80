"""Probes: whether a charge could be written now, which nobody knows without writing something."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from giveortake.errors import LedgerUnavailable
from giveortake.ledger.entries import Point
from giveortake.ledger.files import sync
from giveortake.ledger.marks import FileMark
from giveortake.ledger.sqlite import SQLiteStore

if TYPE_CHECKING:
    from pathlib import Path

    from giveortake.ledger.ledger import Ledger

_SIZE = 1 << 16  # bytes: about what an entry with its indexes takes
_NO_LEVEL = -1
_NOWHERE = Point("", -1, "")  # a point that no mark remembers


class _Undone(Exception):
    """The transaction is to be rolled back."""


def probe(ledger: Ledger) -> None:
    """Write beside the ledger and its mark, durably, and into both of them, and take all of it back.

    It raises `LedgerUnavailable`, which names the folder, if a disk is full, or something is read-only or out of reach.
    """
    store, mark = ledger.chain.store, ledger.chain.mark
    if isinstance(store, SQLiteStore) and store.path is not None:
        _write_in(store.path.parent)
    if isinstance(mark, FileMark):
        _write_in(mark.path.parent)
    with suppress(_Undone), store.writing() as transaction:
        transaction.keep_snapshot(_NO_LEVEL, "")
        raise _Undone
    mark.move(_NOWHERE, _NOWHERE)  # which is refused, and has to be able to write


def _write_in(folder: Path) -> None:
    path = folder / f".{os.getpid()}.probe"
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(bytes(_SIZE))
            file.flush()
            sync(file.fileno())
    except OSError as error:
        raise LedgerUnavailable(
            f"nothing can be written in the folder {folder}: {error.strerror}",
            hint="it needs a disk with room, to which this user may write",
        ) from error
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)
