"""Ledgers in files, one charge old."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ledger_places import FilePlace

from giveortake.ledger import Charge, Ledger
from giveortake.privacy import PureDP
from giveortake.privacy.events import Laplace

TENTH = Laplace(10)


def begin(ledger: Ledger) -> None:
    ledger.population("people", budget=PureDP(1))
    ledger.dataset("d", population="people")
    charge(ledger, "k0")


def charge(ledger: Ledger, key: str) -> Any:
    return ledger.settle(ledger.reserve(Charge(TENTH, dataset="d", key=key)), key)


@pytest.fixture
def place(tmp_path: Path) -> FilePlace:
    (tmp_path / "house").mkdir()
    found = FilePlace(tmp_path / "house")
    with found.open() as ledger:
        begin(ledger)
    return found
