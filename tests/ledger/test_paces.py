"""What is written about a charge is written on a beat, whatever the rows took."""

from __future__ import annotations

import os
import threading
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_places import FilePlace, Place
from ledger_places import place_of_rules as place

import giveortake as gt
from giveortake.ledger import Charge
from giveortake.ledger.reservations import Pace, beat
from giveortake.privacy.events import Laplace
from waiting import until

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
