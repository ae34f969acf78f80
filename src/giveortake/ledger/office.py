"""The base class of the parts of a ledger: their chain, and the transactions of a custodian."""

from __future__ import annotations

from abc import ABC
from contextlib import contextmanager
from typing import TYPE_CHECKING

from giveortake.ledger import registration
from giveortake.ledger.standings import Standing, standing_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from giveortake.ledger.book import Book
    from giveortake.ledger.chain import Chain
    from giveortake.ledger.drafts import Draft
    from giveortake.ledger.levels import Level


class Office(ABC):
    """The base of `Custody`, `Till` and `Records`, which share a chain."""

    chain: Chain

    @contextmanager
    def _administering(self, by: str | None) -> Iterator[Draft]:
        """Open a transaction for a custodian's decision; `by` is kept in its entries, if given."""
        who = None if by is None else registration.named("by", by)
        with self.chain.changing() as draft:
            draft.by = who
            yield draft

    def _standing(self, find: Callable[[Book], Level]) -> Standing:
        with self.chain.looking() as draft:
            return standing_of(draft, find(draft.book))
