"""Indexes that follow from the entries, derived anew from the first one on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giveortake.ledger.book import Book
from giveortake.ledger.entries import NOTHING

if TYPE_CHECKING:
    from giveortake.ledger.store import Transaction


def indexed_anew(transaction: Transaction) -> Book:
    """Replace whatever indexes and checkpoints there are by what the entries say, and return the book of all entries.

    Entries are what counts: this is how a ledger of an earlier version gets its indexes, and how a damaged one does.
    """
    transaction.create_indexes()
    book = Book()
    for entry in transaction.entries(1, NOTHING):
        book.apply(entry)
        transaction.keep(book.take_rows())
    return book
