"""What a restored ledger must not give out again, and texts that must not merge; on both backends."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from ledger_places import Place, place

from giveortake.errors import ApprovalRequired, IdempotencyConflict, InvalidParameter, LedgerMismatch, PopulationClosed
from giveortake.ledger import Charge, restore
from giveortake.privacy import PureDP, unit
from giveortake.privacy.events import Pure

TENTH = Pure("0.1")


def test_an_answer_that_may_be_in_the_world_is_not_given_a_second_time(place: Place) -> None:
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(1))
        ledger.dataset("d", population="people")
        reserved = ledger.reserve(Charge(Pure("0.9"), dataset="d", key="k"))
        backup = place.backup()
        assert ledger.settle(reserved, 41) == 41
    place.put_back(backup)
    restore(place.where, reason="the disk died", charge=Pure("0.05"))
    with place.open() as ledger:
        with pytest.raises(LedgerMismatch, match="new charge"):
            ledger.reserve(Charge(Pure("0.9"), dataset="d", key="k"))
        with pytest.raises(LedgerMismatch):
            ledger.settle(reserved, 57)
        ledger.verify()


def test_every_level_with_a_budget_is_closed_also_those_that_come_back_later(place: Place) -> None:
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(1))
        ledger.dataset("d", population="people")
        ledger.analyst("ann", datasets=["d"], budget=PureDP("0.1"))
        backup = place.backup()
        ledger.reserve(Charge(TENTH, dataset="d", analyst="ann"))
        ledger.population("others", budget=PureDP("0.1"))
        ledger.dataset("e", population="others")
        ledger.reserve(Charge(TENTH, dataset="e"))
    place.put_back(backup)
    restore(place.where, reason="the disk died")
    with place.open() as ledger:
        ledger.change_budget(ledger.population("people"), PureDP(1), reason="all is known here")
        with pytest.raises(PopulationClosed, match="ann"):
            ledger.reserve(Charge(TENTH, dataset="d", analyst="ann"))
        ledger.population("others", budget=PureDP("0.1"))
        ledger.dataset("e", population="others")
        with pytest.raises(PopulationClosed, match="others"):
            ledger.reserve(Charge(TENTH, dataset="e"))
        ledger.change_budget(ledger.population("others"), PureDP("0.1"), reason="nothing was asked")
        ledger.reserve(Charge(TENTH, dataset="e"))
        ledger.verify()


def test_what_was_lost_is_charged_to_people_as_a_group_of_rows(place: Place) -> None:
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(1, unit=unit("person")))
        ledger.dataset("d", population="people", unit=PureDP(1).unit, rows_per_person=5)
        backup = place.backup()
        ledger.reserve(Charge(TENTH, dataset="d"))
        assert ledger.population("people").spent == Fraction(1, 2)
    place.put_back(backup)
    restore(place.where, reason="the disk died", charge=TENTH)
    with place.open() as ledger:
        assert ledger.population("people").spent == Fraction(1, 2)
        ledger.verify()


def test_halves_of_characters_are_refused_because_they_would_merge(place: Place) -> None:
    halves = "\ud83d\ude00"
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(1))
        ledger.dataset("d", population="people")
        attempts: list[dict[str, Any]] = [
            {"key": halves},
            {"name": halves},
            {"name": {halves: 1}},
            {"name": [halves]},
        ]
        for attempt in attempts:
            with pytest.raises(InvalidParameter, match="half a character"):
                ledger.reserve(Charge(TENTH, dataset="d", **attempt))
        ledger.reserve(Charge(TENTH, dataset="d", key="\U0001f600"))
    with place.open() as ledger:
        assert ledger.population("people").spent == Fraction(1, 10)
        ledger.verify()


def test_a_key_stands_for_its_question_and_an_approval_for_its_question_and_version(place: Place) -> None:
    with place.open() as ledger:
        ledger.population("people", budget=PureDP(1), approval_above=PureDP("0.05"))
        ledger.dataset("d", population="people", version="1")
        small = Pure("0.01")
        ledger.settle(ledger.reserve(Charge(small, dataset="d", key="small", name="one")), 1)
        with pytest.raises(IdempotencyConflict):
            ledger.reserve(Charge(small, dataset="d", key="small", name="another"))
        with pytest.raises(ApprovalRequired):
            ledger.reserve(Charge(TENTH, dataset="d", key="k", name="harmless"))
        (asked,) = ledger.waiting()
        ledger.approve(asked, reason="harmless indeed")
        with pytest.raises(ApprovalRequired):
            ledger.reserve(Charge(TENTH, dataset="d", key="k", name="victim"))
        ledger.new_version("d", version="2")
        with pytest.raises(ApprovalRequired):
            ledger.reserve(Charge(TENTH, dataset="d", key="k", name="harmless"))
