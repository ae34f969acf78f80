"""Events as entries hold them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from giveortake.caching import cached
from giveortake.errors import InvalidParameter, LedgerTooNew
from giveortake.ledger.entries import UPGRADE
from giveortake.privacy.events import event_from_json

if TYPE_CHECKING:
    from giveortake.privacy.events import Event


def event_from_dict(content: Any) -> Event:
    """The event that an entry holds."""
    return _event(json.dumps(content))


@cached(1024)
def _event(text: str) -> Event:
    try:
        return event_from_json(text)
    except InvalidParameter as error:  # its entry's hash is right, so a later version wrote it
        raise LedgerTooNew(f"the ledger holds an event that is unknown here: {error.message}", hint=UPGRADE) from error
