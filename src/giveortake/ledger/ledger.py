"""The ledger: what was promised to whom, what was charged, and what was answered, for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, final

from giveortake.ledger.custody import Custody
from giveortake.ledger.records import Records
from giveortake.ledger.till import Till

if TYPE_CHECKING:
    from types import TracebackType

    from giveortake.ledger.chain import Chain


@final
class Ledger(Custody, Till, Records):
    """An append-only, hash-chained record of budgets, charges and answers; see `gt.ledger.open`.

    Guarantee: a charge is in the ledger, durably and at every level, before `reserve` returns, and an answer before
    `settle` returns it. Whatever crashes, in whatever order: a released answer is charged once, no level exceeds its
    budget, and a ledger that has forgotten something is refused, not believed.

    Threads may share a ledger. A child process that inherits one opens its own connection.
    """

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        with chain.looking():
            pass  # reads and checks the last checkpoint and every entry since

    @property
    def name(self) -> str:
        """Where the ledger is."""
        return self.chain.name

    @property
    def id(self) -> str:
        """The id of the ledger, the same wherever the ledger lies."""
        return self.chain.ledger

    def close(self) -> None:
        """Close the database. Everything is already stored."""
        self.chain.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Ledger {self.name}: {self.chain.length} entries>"
