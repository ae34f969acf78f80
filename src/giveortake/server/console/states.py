"""What a page says about a refusal: what happened, whether anything was charged, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from giveortake.server.refusals import Refused

NOTHING = "Nothing was charged."
ONCE = "If it was charged, it is charged once: the same button sends the same key, and the answer is then free."
_TITLES = {
    "unauthenticated": ("A token is needed", NOTHING),
    "role": ("This is for the custodian", NOTHING),
    "foreign_page": ("This came from another site", NOTHING),
    "revoked": ("Your access was revoked", "Answers you already received remain valid."),
    "not_found": ("Nothing here", NOTHING),
    "method": ("This address cannot be opened like that", NOTHING),
    "refused": ("This cannot be asked", NOTHING),
    "invalid": ("That does not fit", NOTHING),
    "malformed": ("That does not fit", NOTHING),
    "unprovable": ("Nothing could be promised for this", NOTHING),
    "unpriced": ("This has no price here", NOTHING),
    "budget": ("Too expensive", NOTHING),
    "allowance": ("No more questions", NOTHING),
    "approval_required": (
        "This waits for approval",
        "Nothing was charged yet. Once it is approved, ask the same again.",
    ),
    "key_conflict": ("This key was used for another question", NOTHING),
    "table_changed": ("The ledger holds something else", NOTHING),
    "closed": ("This budget is closed", NOTHING),
    "too_many": ("Too many requests", NOTHING),
    "failed": (
        "The question failed",
        "It was charged: that something failed could tell something. Asking again is free.",
    ),
    "worker_lost": ("The worker was lost", ONCE),
    "deadline": ("The question took too long, and was ended", ONCE),
    "overloaded": ("No worker is free", ONCE),
    "busy": ("The ledger is busy", ONCE),
    "ledger": ("The ledger cannot be used now", ONCE),
    "draining": ("The service is stopping", ONCE),
    "internal": ("Something went wrong here", ONCE),
}

_WORDS = {  # messages of pages that differ from those of the API
    "not_found": "There is nothing at this address, or nothing for you: a page does not say which.",
    "method": "A button of a page leads there.",
}
_HINTS = {  # hints of pages that differ from those of the API
    "revoked": "whoever keeps the data can let you in again",
    "worker_lost": "",
    "deadline": "",
}


@final
@dataclass(frozen=True, slots=True)
class Told:
    """The words of a panel on a page."""

    cause: str
    title: str
    message: str
    hint: str
    charged: str
    calm: bool = False


def told(refused: Refused, *, exhausted: bool = False) -> Told:
    """A refusal, in the words of a page."""
    cause = refused.cause.name
    error = refused.document["error"]
    title, charged = _TITLES.get(cause, ("This cannot be done", NOTHING))
    hint = _HINTS.get(cause, error.get("hint") or "")
    message = "" if cause in _HINTS else _WORDS.get(cause) or str(error.get("message") or "")
    if cause == "budget" and exhausted:
        title, hint = (
            "Your allotment is used up",
            "the custodian can grant more; what was released stays readable, free",
        )
    return Told(cause, title, message, str(hint), charged)


EXHAUSTED = Told(
    "budget",
    "Your allotment is used up",
    "",
    "the custodian can grant more; what was released stays readable, free",
    NOTHING,
    calm=True,
)
EDITED = Told(
    "unquoted",
    "This was changed after its price was quoted",
    "",
    "look at its own price and margin, then ask",
    NOTHING,
    calm=True,
)
NO_LONGER_FREE = Told(
    "unquoted",
    "This is no longer free",
    "",
    "the table has changed since this was quoted: look at the price, then ask",
    NOTHING,
    calm=True,
)
