"""Draws: several random results for one charge, each stored before it is used.

A run that chooses its next measurement by the last one has no answer until it ends. Its draws may be known outside
before; so every draw is an entry of its own, and a resumed run begins with them.
"""

from __future__ import annotations

from itertools import count, takewhile
from typing import TYPE_CHECKING, Any

from giveortake.errors import AccessDenied, LedgerMismatch, NotFound
from giveortake.ledger.entries import plain
from giveortake.ledger.reservations import require_not_stopped

if TYPE_CHECKING:
    from giveortake.ledger.drafts import Draft
    from giveortake.ledger.levels import Reserved


def keep(draft: Draft, number: int, place: int, content: object) -> Any:
    """Keep the draw at a place, which has to be the next one.

    Guarantee: whoever is behind, because somebody else went on or because they were interrupted, is refused before
    anything is written, and what they drew is forgotten. So there is one sequence of draws, and nobody who was not
    told of the last one adds to it.
    """
    reserved = _unsettled(draft, number)
    if not draft.book.is_next(reserved.number, place):
        raise LedgerMismatch(
            "what is drawn here has gone on elsewhere, or was interrupted", hint="open it again: what was drawn is kept"
        )
    require_not_stopped(draft.book, reserved)
    kept = plain("drawn", content)
    draft.add("drawn", {"reservation": number, "place": place, "drawn": kept})
    return kept


def kept(draft: Draft, number: int) -> list[Any]:
    """What was drawn for a reservation so far, in order."""
    book, found = draft.book, _reserved(draft, number).number
    entries = takewhile(lambda entry: entry is not None, (book.drawn(found, place) for place in count()))
    return [draft.stored(entry).content["drawn"] for entry in entries if entry is not None]


def _unsettled(draft: Draft, number: int) -> Reserved:
    reserved = _reserved(draft, number)
    if reserved.analyst in draft.book.revoked:
        raise AccessDenied(f"the analyst {reserved.analyst!r} was revoked; the charge stands")
    if reserved.answer is not None or reserved.lost is not None:
        raise LedgerMismatch("nothing more is drawn for what has an answer, or may have lost it")
    return reserved


def _reserved(draft: Draft, number: int) -> Reserved:
    found = draft.book.reservations.get(number)
    if found is None:
        raise NotFound(f"entry {number} is not a reservation")
    return found
