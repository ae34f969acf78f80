"""Indexes that follow from the entries, derived anew from the first one on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.errors import LedgerMissing
from giveortake.ledger.book import Book
from giveortake.ledger.entries import NOTHING, RESTORE
from giveortake.ledger.opening import opened, store_at

if TYPE_CHECKING:
    import os

    from giveortake.ledger.entries import Point
    from giveortake.ledger.store import Transaction


def indexed_anew(transaction: Transaction) -> Book:
    """Replace whatever indexes and checkpoints there are by what the entries say, and return the book of all entries.

    Entries are what counts: this is how a ledger with damaged indexes gets new ones.
    """
    transaction.create_indexes()
    book = Book()
    for entry in transaction.entries(1, NOTHING):
        book.apply(entry)
        transaction.keep(book.take_rows())
    return book


def reindex(where: str | os.PathLike[str], *, mark: str | os.PathLike[str] | None = None) -> Point:
    """Rebuild checkpoints and indexes from the entries, which are checked in order and against the mark.

    No entry changes. It takes as long as reading all of them.
    """
    store = store_at(where)
    try:
        if not store.exists():
            raise LedgerMissing(f"there is no ledger at {store.name}", hint=RESTORE)
        with store.writing() as transaction:
            transaction.require_schema()
            indexed_anew(transaction)
    finally:
        store.close()
    with opened(where, mark=mark, create=False) as ledger:
        return ledger.chain.head
