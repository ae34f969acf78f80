"""What is written about a charge is written on a beat, whatever the rows took."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import giveortake as gt
from giveortake.ledger.paces import Pace, beat
from giveortake.privacy.events import Laplace

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

    monkeypatch.setattr("giveortake.ledger.paces.time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    with gt.ledger.open(":memory:") as ledger:
        ledger.population("people", budget=gt.PureDP(9), failures=9)
        ledger.dataset("d", population="people")
        ledger.pace = None if seconds is None else Pace(seconds)
        for act in ACTS.values():
            for taken in (0.0, 0.3, 0.9):
                clock.now = 100.0
                reserved = ledger.reserve(TENTH, dataset="d")
                clock.now += taken
                act(ledger, reserved)
                found.add(round(clock.now, 6))
    assert found == moments
