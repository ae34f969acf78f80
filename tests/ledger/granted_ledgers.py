"""A ledger in which several analysts hold the same allotment."""

from __future__ import annotations

from giveortake.ledger import Ledger
from giveortake.ledger import open as open_ledger
from giveortake.privacy import Guarantee


def everyone(budget: Guarantee, allotment: Guarantee, *who: str) -> Ledger:
    """Each analyst has a data set of their own, of the same people."""
    ledger = open_ledger(":memory:")
    ledger.population("people", budget=budget)
    ledger.dataset("d", population="people")
    for name in who:
        ledger.dataset(f"of {name}", population="people")
        ledger.analyst(name, datasets=[f"of {name}"], budget=allotment)
    return ledger
