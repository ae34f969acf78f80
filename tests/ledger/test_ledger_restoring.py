"""How an owner brings a ledger back, where marks may lie, and ledgers of former years; on both backends."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from ledger_places import FilePlace, Place, place

from giveortake.errors import (
    BudgetExceeded,
    LedgerDamaged,
    LedgerError,
    LedgerMismatch,
    LedgerRolledBack,
    PopulationClosed,
)
from giveortake.ledger import Charge, Ledger, restore
from giveortake.ledger.chain.entries import canonical
from giveortake.ledger.chain.state import ENTRY_TYPES
from giveortake.privacy import PureDP
from giveortake.privacy.events import Laplace, Pure

TENTH = Laplace(10)


def begin(ledger: Ledger) -> None:
    ledger.population("people", budget=PureDP(1))
    ledger.dataset("d", population="people")
    charge(ledger, "k0")


def charge(ledger: Ledger, key: str) -> Any:
    return ledger.settle(ledger.reserve(Charge(TENTH, dataset="d", key=key)), key)


def left(ledger: Ledger) -> Fraction:
    remaining = ledger.population("people").remaining
    assert isinstance(remaining, Fraction)
    return remaining


def test_a_restored_ledger_is_closed_until_the_owner_sets_a_budget(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        backup = place.backup()
        charge(ledger, "k1")
    place.put_back(backup)
    restore(place.where, reason="the disk died; backup of Monday")
    with place.open() as ledger:
        acknowledged = ledger.history()[-1]
        assert acknowledged.kind == "restored"
        assert acknowledged.content["mark"]["number"] == 7
        assert ledger.reserve(Charge(TENTH, dataset="d", key="k0")).answer == "k0"
        with pytest.raises(PopulationClosed, match="restored"):
            ledger.reserve(Charge(TENTH, dataset="d", key="k1"))
        assert ledger.population("people").closed
        ledger.change_budget(ledger.population("people"), PureDP("0.5"), reason="half is written off")
        charge(ledger, "k1")
        assert left(ledger) == Fraction(3, 10)
        ledger.verify()


def test_a_ledger_that_has_forgotten_nothing_needs_no_restore(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        before = ledger.verify()
    with pytest.raises(LedgerMismatch):
        restore(place.where, reason="nothing happened")
    with place.open() as ledger:
        assert ledger.verify() == before


def test_a_restore_may_charge_what_was_lost_instead(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
        backup = place.backup()
        charge(ledger, "k1")
    place.put_back(backup)
    with pytest.raises(BudgetExceeded):
        restore(place.where, reason="more than there is", charge=Pure(1))
    with pytest.raises(LedgerRolledBack):
        place.open()
    restore(place.where, reason="at most 0.3 was lost", charge=Pure("0.3"))
    with place.open() as ledger:
        assert left(ledger) == Fraction(6, 10)
        charge(ledger, "k1")
        ledger.verify()


def test_a_lost_mark_can_be_acknowledged_too(place: Place) -> None:
    with place.open() as ledger:
        begin(ledger)
    place.lose_mark()
    restore(place.where, reason="moved to another machine", charge=Pure("1e-9"))
    with place.open() as ledger:
        charge(ledger, "k1")
        assert ledger.history()[5].content["mark"] is None
        ledger.verify()


def test_the_mark_may_be_kept_elsewhere(place: Place, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    place.mark = str(tmp_path / "elsewhere" / "people.mark")
    with place.open() as ledger:
        begin(ledger)
        backup = place.backup()
        charge(ledger, "k1")
    place.put_back(backup)
    with pytest.raises(LedgerRolledBack):
        place.open()
    restore(place.where, mark=place.mark, reason="backup", charge=Pure("0.1"))
    with place.open() as ledger:
        ledger.verify()


@pytest.mark.parametrize(("lost", "kind"), [(0, "settled"), (2, "restored")])
def test_a_lost_ledger_is_written_anew_from_its_export(place: Place, lost: int, kind: str) -> None:
    with place.open() as ledger:
        begin(ledger)
        charge(ledger, "k1")
        export = [canonical({"entry": json.loads(entry.body), "hash": entry.hash}) for entry in ledger.history()]
        before = ledger.levels()
    with pytest.raises(LedgerMismatch, match="already"):
        restore(place.where, reason="it is still there", export=export)
    place.delete()
    for wrong in ([*export[:3], *export[4:]], [*export[:4], export[4].replace("k0", "k9")], ["{}"], ["[]"], ["x"]):
        with pytest.raises(LedgerDamaged):
            restore(place.where, reason="a bad export", export=wrong)
        with pytest.raises(LedgerError):
            place.open()
    restore(place.where, reason="written anew", export=export[: len(export) - lost])
    with place.open() as ledger:
        assert ledger.history()[-1].kind == kind
        assert ledger.reserve(Charge(TENTH, dataset="d", key="k0")).answer == "k0"
        ledger.verify()
        if not lost:
            assert ledger.levels() == before


def test_many_may_begin_the_same_ledger_at_once(place: Place) -> None:
    def begin_and_ask(_number: int) -> str:
        with place.open() as ledger:
            ledger.population("people", budget=PureDP(1))
            return ledger.verify().ledger

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(begin_and_ask, range(16)))) == 1
    with place.open() as ledger:
        assert ledger.verify().entries == 2


def test_a_file_can_have_its_mark_on_a_server(server: str, tmp_path: Path) -> None:
    place = FilePlace(tmp_path)
    place.mark = f"{server}&schema=for_a_file"
    with place.open() as ledger:
        begin(ledger)
        backup = place.backup()
        charge(ledger, "k1")
    place.put_back(backup)
    with pytest.raises(LedgerRolledBack):
        place.open()
