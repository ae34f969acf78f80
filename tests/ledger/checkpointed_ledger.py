"""A ledger with many checkpoints: how it is filled, and all that can be learnt of it."""

from __future__ import annotations

from typing import Any

from giveortake.ledger import Charge, Ledger
from giveortake.privacy import ApproxDP, PureDP
from giveortake.privacy.events import Laplace

EVERY = 5
TENTH = Laplace(10)


def fill(ledger: Ledger, charges: int = 8) -> None:
    """People with two analysts, and charges with and without keys, questions, answers and draws."""
    ledger.population("people", budget=ApproxDP(100, "1e-6"), unit="person")
    ledger.dataset("d", population="people", budget=PureDP(50))
    for name in ("ann", "bob"):
        ledger.analyst(name, datasets=["d"], budget=PureDP(5))
    for number in range(charges):
        ask(ledger, number)


def ask(ledger: Ledger, number: int) -> None:
    analyst = (None, "ann", "bob")[number % 3]
    key, question = str(number), f"how many {number}?"
    paid = ledger.reserve(Charge(TENTH, dataset="d", analyst=analyst, key=key, name=question))
    if number % 4 == 3:
        ledger.keep(paid, 0, {"n": number})
        ledger.keep(paid, 1, {"n": -number})
    if number % 5 != 4:
        ledger.settle(paid, {"n": number})


def told(ledger: Ledger, charges: int = 8) -> Any:
    """Everything that can be learnt of a ledger without changing it."""
    asked = []
    for number in range(charges):
        analyst = (None, "ann", "bob")[number % 3]
        question = f"how many {number}?"
        found = ledger.reserve(Charge(TENTH, dataset="d", analyst=analyst, key=str(number), name=question))
        again = ledger.is_paid(Charge(TENTH, dataset="d", analyst=analyst, name=question))
        asked.append((found, again, ledger.kept(found), ledger.release(found.id, analyst=analyst)))
    own = [ledger.entries(analyst=name) for name in ("ann", "bob")]
    return asked, own, ledger.levels(), ledger.failures(), ledger.burn_down(), [each.hash for each in ledger.history()]


def checkpoints(ledger: Ledger) -> list[int]:
    return [entry.number for entry in ledger.history() if entry.kind == "checkpoint"]
