"""Limits beside a budget can be changed: what waits for approval, and how many questions may fail or be asked."""

from __future__ import annotations

from pathlib import Path

import pytest

import giveortake as gt
from giveortake.errors import AllowanceExceeded, ApprovalRequired, InvalidParameter, LedgerMismatch
from giveortake.ledger import Charge, Ledger

SMALL = gt.accounting.events.Pure("0.01")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.ledger"
    with gt.ledger.open(path) as ledger:
        ledger.population("patients", budget=gt.PureDP(2), unit="person_id")
        ledger.dataset("visits", population="patients")
        ledger.analyst("ann", datasets=["visits"], budget=gt.PureDP(1), questions=1)
    return path


def ask(ledger: Ledger, key: str) -> None:
    ledger.reserve(Charge(SMALL, dataset="visits", analyst="ann", key=key, name=key))


def test_a_changed_limit_decides_about_the_next_charge_and_what_was_before_still_counts(path: Path) -> None:
    with gt.ledger.open(path) as ledger:
        (ann,) = ledger.levels(analyst="ann")
        ask(ledger, "one")
        with pytest.raises(AllowanceExceeded):
            ask(ledger, "two")
        ledger.change_limits(ann, questions=2, reason="a course")
        ask(ledger, "two")
        with pytest.raises(AllowanceExceeded):
            ask(ledger, "three")
        ledger.change_limits(ann, questions="none", failures=5, reason="it goes on")
        ask(ledger, "three")
        changed = ledger.change_limits(ann, approval_above=gt.PureDP("0.001"), reason="small ones")
        assert changed.approval_above == gt.PureDP("0.001", unit=gt.unit("person_id"))
        with pytest.raises(ApprovalRequired):
            ask(ledger, "four")
        ledger.change_limits(ann, approval_above="none", reason="trusted")
    with gt.ledger.open(path) as ledger:  # all of it is in the chain
        ask(ledger, "four")
        (allowance,) = (allowance for allowance in ledger.failures() if allowance.name == "ann")
        assert (allowance.allowed, allowance.left) == (5, 5)
        assert len([entry for entry in ledger.entries(analyst="ann") if entry.kind == "limits"]) == 4
        ledger.verify()


def test_who_is_registered_again_is_compared_with_the_limits_of_now(path: Path) -> None:
    with gt.ledger.open(path) as ledger:
        (ann,) = ledger.levels(analyst="ann")
        ledger.change_limits(ann, questions=7, reason="a course")
        ledger.analyst("ann", datasets=["visits"], budget=gt.PureDP(1), questions=7)
        with pytest.raises(LedgerMismatch):
            ledger.analyst("ann", datasets=["visits"], budget=gt.PureDP(1), questions=1)


def test_a_change_of_nothing_or_of_what_a_data_set_does_not_count_is_refused(path: Path) -> None:
    with gt.ledger.open(path) as ledger:
        before = len(ledger.history())
        (visits,) = (level for level in ledger.levels() if level.kind == "data set")
        (ann,) = ledger.levels(analyst="ann")
        for level, limits in (
            (visits, {"questions": 3}),
            (visits, {"failures": 3}),
            (ann, {}),
            (ann, {"failures": -1}),
        ):
            with pytest.raises(InvalidParameter):
                ledger.change_limits(level, reason="?", **limits)  # type: ignore[arg-type]  # (numbers)
        assert len(ledger.history()) == before
        ledger.change_limits(visits, approval_above=gt.PureDP("0.1"), reason="large ones wait")
