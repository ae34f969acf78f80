"""The state of a budget as a document: what is spent and left, in words and, if there is one, as a number."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

from giveortake.privacy.documents import fraction, promise_to_json, written

if TYPE_CHECKING:
    from giveortake.ledger import Ledger, Standing
    from giveortake.session import Session


def standing_document(session: Session) -> dict[str, Any]:
    """The state of the level that decides about the asker's next question."""
    return _document(*session.rest())


def level_document(book: Ledger, standing: Standing) -> dict[str, Any]:
    """The state of any level of a ledger, for the custodian."""
    large = standing.approval_above
    named = {"number": standing.number, "name": standing.name, "allotted": standing.allotted}
    named |= {"approval_above": None if large is None else str(large)}
    return named | _document(standing, book.affordable(standing))


def _document(standing: Standing, left: Fraction | None) -> dict[str, Any]:
    return {
        "level": standing.kind,
        "budget": None if standing.budget is None else str(standing.budget),
        "promise": None if standing.budget is None else promise_to_json(standing.budget),
        "spent": _amount(standing.spent),
        "remaining": _amount(standing.remaining),
        "share": None if standing.share is None else float(standing.share),
        "given": float(standing.given),
        "given_exactly": written(standing.given),
        "own": None if standing.own is None else float(standing.own),
        "allotments": [str(each).partition(" (")[0] for each in standing.allotments],
        "affordable": None if left is None else float(left),
        "affordable_exactly": None if left is None else written(left),
        "closed": standing.closed,
    }


def _amount(value: Any) -> dict[str, Any]:
    return {"words": str(value), "exactly": written(value) if isinstance(value, Fraction) else None}


@final
class Balance(str):
    """What a race of filters has left or has spent, in words: no single number says it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def amount_of(document: dict[str, Any]) -> Fraction | Balance:
    """The number in a document, or its words if there is none."""
    return Balance(document["words"]) if document["exactly"] is None else fraction(document["exactly"])
