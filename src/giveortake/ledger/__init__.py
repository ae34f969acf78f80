"""A ledger that never forgets: budgets of people, data sets and analysts, what was charged, and what was answered.

>>> with open(":memory:") as book:
...     _ = book.population("patients", budget=gt.PureDP(1), unit="person_id")
...     _ = book.dataset("visits", population="patients")
...     paid = book.reserve(gt.privacy.events.Laplace(4), dataset="visits", key="my first question")
...     answer = book.settle(paid, {"n": 41})
...     book.verify().answers
1
"""

from giveortake.ledger.approvals import Approval
from giveortake.ledger.entries import Entry
from giveortake.ledger.failures import Allowance
from giveortake.ledger.indexes import reindex
from giveortake.ledger.ledger import Ledger
from giveortake.ledger.opening import open_ledger as open  # noqa: A004 (gt.ledger.open is its name)
from giveortake.ledger.releases import ReleaseRecord
from giveortake.ledger.relocation import backup, move
from giveortake.ledger.reservations import Reservation
from giveortake.ledger.restoration import restore
from giveortake.ledger.standings import Standing
from giveortake.ledger.tables import Registered
from giveortake.ledger.tokens import Principal, TokenRecord
from giveortake.ledger.trials import Trial
from giveortake.ledger.verification import Verification

__all__ = [
    "Allowance",
    "Approval",
    "Entry",
    "Ledger",
    "Principal",
    "Registered",
    "ReleaseRecord",
    "Reservation",
    "Standing",
    "TokenRecord",
    "Trial",
    "Verification",
    "backup",
    "move",
    "open",
    "reindex",
    "restore",
]
