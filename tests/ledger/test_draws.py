"""Draws of a run: kept one after the other before it has an answer, and never replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

import giveortake as gt
from giveortake.errors import LedgerMismatch, NotFound
from giveortake.ledger import Charge, Ledger, Reservation
from giveortake.privacy import events


def _begun(ledger: Ledger) -> Reservation:
    ledger.population("people", budget=gt.ZCDP(1))
    ledger.dataset("visits", population="people")
    ledger.analyst("anna", datasets=["visits"], budget=gt.ZCDP("1/2"))
    return ledger.reserve(Charge(events.ZCDP("1/4"), dataset="visits", analyst="anna", name="a run"))


def test_what_is_drawn_is_kept_in_order_and_stays_what_it_is(tmp_path: Path) -> None:
    with gt.ledger.open(tmp_path / "a.ledger") as ledger:
        reservation = _begun(ledger)
        assert ledger.keep(reservation, 0, {"n": 5}) == {"n": 5}
        assert ledger.keep(reservation, 1, {"n": 7}) == {"n": 7}
        for wrong in (-1, 0, 1, 3):  # somebody is behind, or ahead: nothing is written
            with pytest.raises(LedgerMismatch):
                ledger.keep(reservation, wrong, {"n": 99})
    with gt.ledger.open(tmp_path / "a.ledger") as ledger:
        assert ledger.kept(reservation) == [{"n": 5}, {"n": 7}]
        assert ledger.verify().entries == len(ledger.history())
        again = ledger.reserve(Charge(events.ZCDP("1/4"), dataset="visits", analyst="anna", name="a run"))
        assert (again.number, again.fresh, again.settled) == (reservation.number, False, False)


def test_an_analyst_sees_their_own_draws_and_nobody_elses(tmp_path: Path) -> None:
    with gt.ledger.open(tmp_path / "a.ledger") as ledger:
        reservation = _begun(ledger)
        ledger.analyst("ben", datasets=["visits"], budget=gt.ZCDP("1/4"))
        ledger.keep(reservation, 0, {"n": 5})
        (own,) = [entry for entry in ledger.entries(analyst="anna") if entry.kind == "drawn"]
        assert dict(own.content) == {"place": 0, "drawn": {"n": 5}, "id": reservation.id}
        assert not [entry for entry in ledger.entries(analyst="ben") if entry.kind == "drawn"]


def test_nothing_is_drawn_after_the_answer_or_for_no_reservation(tmp_path: Path) -> None:
    with gt.ledger.open(tmp_path / "a.ledger") as ledger:
        reservation = _begun(ledger)
        ledger.keep(reservation, 0, {"n": 5})
        ledger.settle(reservation, {"steps": 1})
        with pytest.raises(LedgerMismatch):
            ledger.keep(reservation, 1, {"n": 7})
        with pytest.raises(NotFound, match="not a reservation"):
            ledger.keep(1, 0, {})
        assert ledger.verify().entries == len(ledger.history())
