"""Access tokens, approvals of large spends, and the beat on which charges are written."""

from __future__ import annotations

import os
import re
import threading
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_places import FilePlace, Place
from ledger_places import place_of_rules as place

import giveortake as gt
from giveortake.errors import (
    AccessDenied,
    AllowanceExceeded,
    ApprovalDenied,
    ApprovalRequired,
    InvalidParameter,
    LedgerTooNew,
    NotFound,
)
from giveortake.ledger import Charge, Ledger, Principal
from giveortake.ledger.chain.state import ENTRY_TYPES
from giveortake.ledger.reservations import Pace, beat
from giveortake.privacy import PureDP
from giveortake.privacy.events import Laplace, Pure
from waiting import until

START = datetime(2026, 11, 1, 12, tzinfo=UTC)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> str:
        return self.now.isoformat()


def clinic(ledger: Ledger) -> None:
    ledger.population("patients", budget=PureDP(1), unit="person", by="olga")
    ledger.dataset("visits", population="patients", by="olga")
    ledger.analyst("ann", datasets=["visits"], budget=PureDP("0.4"), by="olga")


def test_a_token_lets_in_whom_it_was_issued_to_until_it_is_revoked(place: Place) -> None:
    with place.open() as ledger, place.open() as other:
        clinic(ledger)
        name, text = ledger.issue_token(role="analyst", analyst="ann", by="olga")
        assert re.fullmatch(r"got_[0-9a-f]{16}_[0-9a-f]{64}", text)
        assert other.authenticate(text) == Principal(name, "analyst", "ann")
        own, secret = ledger.issue_token(role="custodian")
        assert ledger.authenticate(secret) == Principal(own, "custodian")
        ledger.revoke_token(name, reason="lost", by="olga")
        ledger.revoke_token(name, reason="lost again", by="olga")
        assert other.authenticate(text) is None
        assert ledger.authenticate(secret) is not None
        assert [(each.id, each.is_valid, each.by) for each in ledger.tokens()] == [
            (name, False, "olga"),
            (own, True, None),
        ]
        assert [entry.kind for entry in ledger.history()].count("withdrawn") == 1
        ledger.verify()


def test_only_the_whole_text_is_a_token(place: Place) -> None:
    with place.open() as ledger:
        clinic(ledger)
        name, text = ledger.issue_token(role="analyst", analyst="ann")
        _, second = ledger.issue_token(role="custodian")
        secret = text.rpartition("_")[2]
        changed = text[:-1] + ("0" if text[-1] != "0" else "1")
        wrong: list[Any] = [
            "", "got_", name, secret, changed, text.upper(), f"{text} ", f" {text}", f"{text}\n", text + "0",
            f"got_{name}_{second.rpartition('_')[2]}", f"got_{'0' * 16}_{secret}", "got_é_x", "\ud800", None, 7, b"got",
        ]  # fmt: skip
        assert [ledger.authenticate(each) for each in wrong] == [None] * len(wrong)
        assert ledger.authenticate(text) is not None


def test_the_ledger_cannot_tell_a_token(tmp_path: Path) -> None:
    place = FilePlace(tmp_path)
    with place.open() as ledger:
        clinic(ledger)
        _, text = ledger.issue_token(role="analyst", analyst="ann")
        secret = text.rpartition("_")[2]
        assert secret not in "".join(entry.body for entry in ledger.history())
        assert secret not in repr(ledger.tokens())
        assert text not in repr(ledger.authenticate(text))
    assert secret.encode() not in place.path.read_bytes()


def test_a_token_ends_by_the_clock(tmp_path: Path) -> None:
    clock = Clock()
    with FilePlace(tmp_path).open(now=clock) as ledger:
        clinic(ledger)
        _, usual = ledger.issue_token(role="custodian")
        _, short = ledger.issue_token(role="custodian", expires=timedelta(hours=1))
        _, of_a_day = ledger.issue_token(role="custodian", expires="2026-11-02")
        _, of_a_zone = ledger.issue_token(role="custodian", expires="2026-11-02T00:00:00+02:00")
        valid: dict[timedelta, str] = {}
        for hours in (0.9, 1, 9.9, 10, 35.9, 36, 24 * 89, 24 * 91):
            clock.now = START + timedelta(hours=hours)
            valid[timedelta(hours=hours)] = "".join(
                "01"[ledger.authenticate(text) is not None] for text in (usual, short, of_a_day, of_a_zone)
            )
        assert list(valid.values()) == ["1111", "1011", "1011", "1010", "1010", "1000", "1000", "0000"]
        assert all(each.expired for each in ledger.tokens())


WRONG: list[dict[str, Any]] = [
    {"role": "king"},
    {"role": "analyst"},
    {"role": "custodian", "analyst": "ann"},
    {"role": "custodian", "expires": timedelta(0)},
    {"role": "custodian", "expires": "2020-01-01"},
    {"role": "custodian", "expires": "soon"},
    {"role": "custodian", "expires": datetime(2099, 1, 1)},
    {"role": "custodian", "expires": timedelta.max},
    {"role": "custodian", "by": ""},
    {"role": "custodian", "by": "a\nb"},
]


def test_what_is_no_token_is_not_issued(tmp_path: Path) -> None:
    with FilePlace(tmp_path).open() as ledger:
        clinic(ledger)
        before = len(ledger.history())
        for wrong in WRONG:
            with pytest.raises(InvalidParameter):
                ledger.issue_token(**wrong)
        assert len(ledger.history()) == before


def test_tokens_are_for_analysts_that_the_ledger_knows(place: Place) -> None:
    with place.open() as ledger:
        clinic(ledger)
        with pytest.raises(NotFound, match="no analyst 'bob'"):
            ledger.issue_token(role="analyst", analyst="bob")
        _, text = ledger.issue_token(role="analyst", analyst="ann")
        ledger.revoke("ann", reason="left", by="olga")
        with pytest.raises(AccessDenied):
            ledger.issue_token(role="analyst", analyst="ann")
        known = ledger.authenticate(text)  # who they are is known, and they are told that they were revoked
        assert known is not None
        with pytest.raises(AccessDenied):
            ledger.reserve(Charge(Pure("0.1"), dataset="visits", analyst=known.analyst))
        with pytest.raises(NotFound):
            ledger.revoke_token("0" * 16, reason="?")


def test_every_administrative_act_says_who_did_it_and_questions_say_nothing(place: Place) -> None:
    with place.open() as ledger:
        clinic(ledger)
        ledger.new_version("visits", version="2", by="olga")
        (level,) = ledger.levels(analyst="ann")
        ledger.change_budget(level, PureDP("0.5"), reason="more", by="olga")
        ledger.revoke("ann", reason="left", by="paul")
        ledger.readmit("ann", reason="came back", by="paul")
        ledger.reset_failures(level, reason="looked", by="paul")
        name, _ = ledger.issue_token(role="custodian", by="paul")
        ledger.revoke_token(name, reason="lost", by="paul")
        ledger.settle(ledger.reserve(Charge(Pure("0.1"), dataset="visits", analyst="ann")), {"n": 1})
        who = [(entry.kind, entry.content.get("by")) for entry in ledger.history()]
        assert who == [
            ("ledger", None), ("population", "olga"), ("dataset", "olga"), ("analyst", "olga"), ("version", "olga"),
            ("budget", "olga"), ("revoked", "paul"), ("readmitted", "paul"), ("forgiven", "paul"), ("token", "paul"),
            ("withdrawn", "paul"), ("reserved", None), ("settled", None),
        ]  # fmt: skip
        assert "by" not in {name for entry in ledger.entries(analyst="ann") for name in entry.content}
        ledger.population("patients", budget=PureDP(1), unit="person", by="somebody else")  # the same again
        assert len(ledger.history()) == len(who)
        ledger.verify()
        assert all(later.previous == earlier.hash for earlier, later in pairwise(ledger.history()))


def test_a_kind_of_a_later_version_is_told_from_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = FilePlace(tmp_path)
    with place.open() as ledger:
        clinic(ledger)
        ledger.issue_token(role="custodian")
    monkeypatch.setattr(
        "giveortake.ledger.chain.state.ENTRY_TYPES",
        {kind: taken for kind, taken in ENTRY_TYPES.items() if kind != "token"},
    )
    with pytest.raises(LedgerTooNew, match="'token'"):
        place.open()


LARGE = Pure("0.5")


def clinic_of_analysts(ledger: Ledger) -> None:
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
        clinic_of_analysts(ledger)
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
        clinic_of_analysts(ledger)
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
        clinic_of_analysts(ledger)
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
        clinic_of_analysts(ledger)
        with pytest.raises(ApprovalRequired) as asked:
            ask(ledger, name=None, key="nameless")
        ledger.approve(asked.value.request, reason="for the report")
        with pytest.raises(ApprovalRequired):
            ask(ledger, name=None, key="nameless, too")
        assert ask(ledger, name=None, key="nameless").charged == ("ann",)


def test_an_approval_that_is_over_is_asked_for_once_more(tmp_path: Path) -> None:
    clock = Clock()
    with FilePlace(tmp_path).open(now=clock) as ledger:
        clinic_of_analysts(ledger)
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
        clinic_of_analysts(ledger)
        request = waiting(ledger)
        ledger.approve(request, reason="fine")
        ledger.deny(request, reason="not fine after all")
        with pytest.raises(ApprovalDenied):
            ask(ledger)


def test_an_approval_is_for_one_analyst_and_analysts_see_their_own_alone(place: Place) -> None:
    with place.open() as ledger:
        clinic_of_analysts(ledger)
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
        clinic_of_analysts(ledger)
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
        clinic_of_analysts(ledger)
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
        clinic_of_analysts(ledger)
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
        clinic_of_analysts(ledger)
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


__all__ = ["place"]  # a fixture

TENTH = Laplace(10)
ACTS: dict[str, Any] = {
    "an answer": lambda ledger, reserved: ledger.settle(reserved, 41),
    "a draw": lambda ledger, reserved: ledger.keep(reserved, 0, 7),
    "a failure": lambda ledger, reserved: ledger.fail(reserved),
}


@given(st.integers(0, 10**6), st.integers(0, 10**4), st.integers(1, 10**3))
def test_a_beat_is_half_way_between_multiples_and_the_first_that_is_not_too_early(
    begun: int, taken: int, seconds: int
) -> None:
    exactly: Any = (Fraction(begun), Fraction(begun + taken), seconds)
    found = Fraction(beat(*exactly))
    assert ((found - begun) / seconds + Fraction(1, 2)).denominator == 1
    assert found >= begun + taken
    assert found == begun + Fraction(seconds, 2) or found - seconds < begun + taken


@pytest.mark.parametrize(("seconds", "moments"), [(2.0, {101.0}), (None, {100.0, 100.3, 100.9})])
def test_answers_draws_and_failures_are_written_at_one_moment_however_long_they_take(
    monkeypatch: pytest.MonkeyPatch, seconds: float | None, moments: set[float]
) -> None:
    """A clock of our own: without a pace the same ledger is changed when the work is done."""
    clock, found = SimpleNamespace(now=0.0), set()

    def sleep(seconds: float) -> None:
        clock.now += seconds

    monkeypatch.setattr(
        "giveortake.ledger.reservations.time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep)
    )
    with gt.ledger.open(":memory:") as ledger:
        ledger.population("people", budget=gt.PureDP(9), failures=9)
        ledger.dataset("d", population="people")
        ledger.pace = None if seconds is None else Pace(seconds)
        for act in ACTS.values():
            for taken in (0.0, 0.3, 0.9):
                clock.now = 100.0
                reserved = ledger.reserve(Charge(TENTH, dataset="d"))
                clock.now += taken
                act(ledger, reserved)
                found.add(round(clock.now, 6))
    assert found == moments


def waits(place: Place) -> bool:
    """Whether somebody of this process, or of the tests' server, waits for a lock."""
    if isinstance(place, FilePlace):
        locks = [line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines()]
        return any(words[1:3] == ["->", "FLOCK"] and words[5] == str(os.getpid()) for words in locks)
    return bool(place.sql("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"))


def test_whoever_waited_for_a_turn_goes_on_at_a_beat_of_their_own(place: Place) -> None:
    """When the other let go of it, rows may have decided: a process that they ended lets go too."""
    beats: list[float | None] = []
    with place.open() as ledger, place.open() as other:
        ledger.population("people", budget=gt.PureDP(9))
        ledger.dataset("d", population="people")
        recorded: Any = SimpleNamespace(begin=lambda: None, wait=beats.append)
        ledger.pace = other.pace = recorded

        def ask() -> None:
            with other.turn(Charge(TENTH, dataset="d", name="q")):
                pass

        asking = threading.Thread(target=ask)
        with ledger.turn(Charge(TENTH, dataset="d", name="q")):
            asking.start()
            until(lambda: waits(place), "somebody waits for the turn")
            assert beats == []
        asking.join()
        assert len(beats) == 1
        assert beats[0] is not None
        ask()  # whom nobody made wait
        assert len(beats) == 1


def test_whoever_finds_a_charge_whose_executor_is_gone_goes_on_at_a_beat_too(place: Place) -> None:
    """Else whoever comes after it was ended goes on sooner than whoever came before."""
    beats: list[float | None] = []
    with place.open() as ledger:
        ledger.population("people", budget=gt.PureDP(9))
        ledger.dataset("d", population="people")
        recorded: Any = SimpleNamespace(begin=lambda: None, wait=lambda since=None: beats.append(since))
        ledger.pace = recorded
        with ledger.turn(Charge(TENTH, dataset="d", name="q")):
            begun = ledger.reserve(Charge(TENTH, dataset="d", name="q", key="one"))
        assert beats == []
        with ledger.turn(Charge(TENTH, dataset="d", name="q")):  # whoever was to answer it is gone
            assert len(beats) == 1
        with ledger.turn(Charge(TENTH, dataset="d", name="another")):
            assert len(beats) == 1
        ledger.settle(begun, 41)
        beats.clear()
        with ledger.turn(Charge(TENTH, dataset="d", name="q")):  # it has an answer
            assert beats == []


def test_a_beat_may_be_counted_from_another_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: 100.3, sleep=slept.append)
    monkeypatch.setattr("giveortake.ledger.reservations.time", clock)
    Pace(2.0).wait(since=100.0)
    assert [round(each, 6) for each in slept] == [0.7]
