"""Large spends wait for the custodian, who sees what is asked, and approves or denies it with a reason."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from ledger_places import FilePlace, Place
from ledger_places import place_of_rules as place
from test_tokens import Clock

from giveortake.errors import AllowanceExceeded, ApprovalDenied, ApprovalRequired, InvalidParameter, NotFound
from giveortake.ledger import Charge, Ledger
from giveortake.privacy import PureDP
from giveortake.privacy.events import Pure

LARGE = Pure("0.5")


def clinic(ledger: Ledger) -> None:
    ledger.population("patients", budget=PureDP(10), unit="person")
    ledger.dataset("visits", population="patients")
    for name in ("ann", "bob"):
        ledger.analyst(name, datasets=["visits"], budget=PureDP(4), approval_above=PureDP("0.1"))


def ask(ledger: Ledger, analyst: str = "ann", **said: Any) -> Any:
    known: Any = {"name": "how many", "description": "count rows in visits", "record": {"sql": "SELECT COUNT(*)"}}
    return ledger.reserve(Charge(LARGE, dataset="visits", analyst=analyst, **{**known, **said}))


def waiting(ledger: Ledger, analyst: str = "ann") -> int:
    with pytest.raises(ApprovalRequired) as asked:
        ask(ledger, analyst)
    return asked.value.request


def test_a_request_shows_what_is_asked_what_it_spends_and_by_whom(place: Place) -> None:
    with place.open() as ledger:
        clinic(ledger)
        request = waiting(ledger)
        (found,) = ledger.approvals(waiting=True)
        assert (found.request, found.state, found.analyst, found.dataset) == (request, "waiting", "ann", "visits")
        assert (found.event, found.description, found.record) == (
            LARGE,
            "count rows in visits",
            {"sql": "SELECT COUNT(*)"},
        )
        ledger.approve(request, reason="for the report", by="olga")
        (found,) = ledger.approvals()
        assert (found.state, found.reason, found.by) == ("approved", "for the report", "olga")
        assert ask(ledger).charged == ("ann",)
        assert [each.state for each in ledger.approvals()] == ["used"]
        assert ledger.approvals(waiting=True) == []
        ledger.verify()


def test_a_denial_is_told_with_its_reason_costs_nothing_and_can_be_taken_back(place: Place) -> None:
    with place.open() as ledger, place.open() as other:
        clinic(ledger)
        request = waiting(ledger)
        ledger.deny(request, reason="too fine", by="olga")
        before = len(ledger.history())
        with pytest.raises(ApprovalDenied, match="too fine") as told:
            ask(other)
        assert (told.value.request, told.value.reason) == (request, "too fine")
        assert len(ledger.history()) == before
        ledger.approve(request, reason="after all")
        assert ask(other).fresh
        ledger.verify()


def test_what_is_asked_is_approved_under_whatever_key_and_once(place: Place) -> None:
    with place.open() as ledger:
        clinic(ledger)
        with pytest.raises(ApprovalRequired) as asked:
            ask(ledger, key="of a window that is closed by now")
        with pytest.raises(ApprovalRequired) as again:
            ask(ledger, key="another")
        assert again.value.request == asked.value.request
        ledger.approve(asked.value.request, reason="for the report")
        with pytest.raises(ApprovalRequired):
            ask(ledger, key="another", name="how many else")
        paid = ask(ledger, key="another")
        assert paid.charged == ("ann",)
        ledger.settle(paid, {"n": 7})
        assert ask(ledger, key="of a window that is closed by now").charged == ()
        ledger.verify()


def test_a_spend_that_has_no_name_is_approved_by_its_key(tmp_path: Path) -> None:
    with FilePlace(tmp_path).open() as ledger:
        clinic(ledger)
        with pytest.raises(ApprovalRequired) as asked:
            ask(ledger, name=None, key="nameless")
        ledger.approve(asked.value.request, reason="for the report")
        with pytest.raises(ApprovalRequired):
            ask(ledger, name=None, key="nameless, too")
        assert ask(ledger, name=None, key="nameless").charged == ("ann",)


def test_an_approval_that_is_over_is_asked_for_once_more(tmp_path: Path) -> None:
    clock = Clock()
    with FilePlace(tmp_path).open(now=clock) as ledger:
        clinic(ledger)
        request = waiting(ledger)
        ledger.approve(request, reason="today", expires=timedelta(hours=1))
        clock.now += timedelta(hours=2)
        assert [each.state for each in ledger.approvals()] == ["expired"]
        second = waiting(ledger)
        assert second != request
        with pytest.raises(NotFound):
            ledger.approve(request, reason="the old one")
        ledger.approve(second, reason="tomorrow", expires=timedelta(hours=1))
        clock.now += timedelta(minutes=59)
        assert ask(ledger).fresh
        ledger.verify()


def test_an_approval_can_be_withdrawn_before_it_is_used(place: Place) -> None:
    with place.open() as ledger:
        clinic(ledger)
        request = waiting(ledger)
        ledger.approve(request, reason="fine")
        ledger.deny(request, reason="not fine after all")
        with pytest.raises(ApprovalDenied):
            ask(ledger)


def test_an_approval_is_for_one_analyst_and_analysts_see_their_own_alone(place: Place) -> None:
    with place.open() as ledger:
        clinic(ledger)
        anns, bobs = waiting(ledger), waiting(ledger, "bob")
        assert ledger.waiting() == sorted([anns, bobs])
        ledger.approve(anns, reason="for ann")
        assert ask(ledger).fresh
        assert waiting(ledger, "bob") == bobs
        assert [each.request for each in ledger.approvals(analyst="bob")] == [bobs]
        ledger.deny(bobs, reason="not for bob")
        told = {name: [entry.kind for entry in ledger.entries(analyst=name)] for name in ("ann", "bob")}
        assert told == {
            "ann": ["analyst", "requested", "approved", "reserved"],
            "bob": ["analyst", "requested", "denied"],
        }


def test_what_was_not_requested_is_not_decided(tmp_path: Path) -> None:
    wrong: list[Any] = [1, -1, True, "7", None]
    with FilePlace(tmp_path).open() as ledger:
        clinic(ledger)
        number = waiting(ledger)
        for decide in (ledger.approve, ledger.deny):
            for request in wrong:
                with pytest.raises(NotFound):
                    decide(request, reason="?")
            with pytest.raises(InvalidParameter, match="reason"):
                decide(number, reason="")


def test_requests_that_are_done_are_forgotten_but_the_last_and_checkpoints_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("giveortake.ledger.chain.state.DONE", 3)
    place = FilePlace(tmp_path)
    with place.open(every=7) as ledger:
        clinic(ledger)
        denied = waiting(ledger, "bob")
        ledger.deny(denied, reason="no")
        used = []
        for number in range(6):
            with pytest.raises(ApprovalRequired) as asked:
                ask(ledger, name=f"question {number}")
            used.append(asked.value.request)
            ledger.approve(used[-1], reason="yes")
            ask(ledger, name=f"question {number}")
        assert [each.request for each in ledger.approvals()] == [denied, *used[-3:]]
        ledger.verify()
    with place.open(every=7) as again:
        assert [each.request for each in again.approvals()] == [denied, *used[-3:]]


def test_what_an_analyst_reads_of_their_requests_depends_on_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("giveortake.ledger.chain.state.DONE", 2)
    with FilePlace(tmp_path).open() as ledger:
        clinic(ledger)
        for analyst, number in [("ann", 0), *(("bob", each) for each in range(5))]:
            with pytest.raises(ApprovalRequired) as asked:
                ask(ledger, analyst, name=f"question {number}")
            ledger.approve(asked.value.request, reason="yes")
            ask(ledger, analyst, name=f"question {number}")
        assert [each.state for each in ledger.approvals(analyst="ann")] == ["used"]
        assert len(ledger.approvals(analyst="bob")) == 2
        ledger.verify()


def test_an_analyst_of_whom_many_large_spends_wait_asks_for_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("giveortake.ledger.approvals._WAITING", 2)
    with FilePlace(tmp_path).open() as ledger:
        clinic(ledger)
        for number in range(2):
            with pytest.raises(ApprovalRequired):
                ask(ledger, name=f"question {number}")
        length = len(ledger.history())
        with pytest.raises(AllowanceExceeded, match="2 of"):
            ask(ledger, name="one more")
        assert len(ledger.history()) == length
        with pytest.raises(ApprovalRequired):  # the same again is the request that waits, and others may wait too
            ask(ledger, name="question 1")
        assert waiting(ledger, "bob")
