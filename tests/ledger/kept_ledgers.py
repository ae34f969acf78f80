"""Ledgers in files, one charge old: as this version writes them, and as 0.1 left them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ledger_places import FilePlace

from giveortake.ledger import Ledger
from giveortake.privacy import PureDP
from giveortake.privacy.events import Laplace

TENTH = Laplace(10)


def begin(ledger: Ledger) -> None:
    ledger.population("people", budget=PureDP(1))
    ledger.dataset("d", population="people")
    charge(ledger, "k0")


def charge(ledger: Ledger, key: str) -> Any:
    return ledger.settle(ledger.reserve(TENTH, dataset="d", key=key), key)


@pytest.fixture
def place(tmp_path: Path) -> FilePlace:
    (tmp_path / "house").mkdir()
    found = FilePlace(tmp_path / "house")
    with found.open() as ledger:
        begin(ledger)
    return found


@pytest.fixture
def old(tmp_path: Path) -> FilePlace:
    """A ledger as 0.1 left it: schema 1, and its mark beside it."""
    place = FilePlace(tmp_path, beside=True)
    with place.open() as ledger:
        begin(ledger)
    place.sql("UPDATE about SET value = '1'")
    place.mark = None
    return place
