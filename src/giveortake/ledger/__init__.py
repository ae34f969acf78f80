"""A ledger that never forgets: budgets of people, data sets and analysts, what was charged, and what was answered.

>>> with open(":memory:") as ledger:
...     _ = ledger.population("patients", budget=gt.PureDP(1), unit="person_id")
...     _ = ledger.dataset("visits", population="patients")
...     charge = gt.ledger.Charge(gt.privacy.events.Laplace(4), "visits", key="my first question")
...     paid = ledger.reserve(charge)
...     answer = ledger.settle(paid, {"n": 41})
...     ledger.verify().answers
1
"""

from giveortake.ledger.approvals import Approval
from giveortake.ledger.budget_status import BudgetStatus, TrialFilter
from giveortake.ledger.chain.entries import Entry
from giveortake.ledger.discovery import LedgerLocation, at
from giveortake.ledger.ledger import Ledger
from giveortake.ledger.opening import backup, move, reindex, restore
from giveortake.ledger.opening import open_ledger as open  # noqa: A004 (gt.ledger.open is its name)
from giveortake.ledger.registration import Registered
from giveortake.ledger.releases import ReleaseRecord
from giveortake.ledger.reservations import Allowance, Charge, Reservation
from giveortake.ledger.tokens import Principal, TokenRecord
from giveortake.ledger.verification import Verification

__all__ = [
    "Allowance",
    "Approval",
    "BudgetStatus",
    "Charge",
    "Entry",
    "Ledger",
    "LedgerLocation",
    "Principal",
    "Registered",
    "ReleaseRecord",
    "Reservation",
    "TokenRecord",
    "TrialFilter",
    "Verification",
    "at",
    "backup",
    "move",
    "open",
    "reindex",
    "restore",
]
