"""Fixed times: everything about rows leaves at the same instant, and what cannot is counted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo_service import COUNT
from giveortake.server.latency import Departure, departure

if TYPE_CHECKING:
    from demo_service import Running


@given(st.integers(0, 10**6), st.integers(0, 10**4), st.integers(1, 10**3))
def test_a_result_leaves_at_the_first_multiple_once_it_is_done(start: int, taken: int, fixed: int) -> None:
    exactly: Any = (Fraction(start), Fraction(start + taken), Fraction(fixed))
    leaves: Any = departure(*exactly)
    assert leaves.at == start + leaves.turns * fixed
    assert leaves.at >= start + taken
    assert leaves.turns == 1 or leaves.at - fixed < start + taken
    assert leaves.is_overrun == (taken > fixed)


@pytest.mark.parametrize(("fixed", "overruns"), [(30.0, 0), (1e-6, 4)])
def test_answers_refusals_and_failures_have_the_fixed_time_and_nothing_else_has(
    service: Running, monkeypatch: pytest.MonkeyPatch, fixed: float, overruns: int
) -> None:
    """Departures are recorded, and nobody waits for them here."""
    found: list[Departure] = []

    def recorded(arrived: float, done: float, stated: float) -> Departure:
        found.append(departure(arrived, done, stated))
        return replace(found[-1], at=done)

    monkeypatch.setitem(service.service.settings.latency, "visits", fixed)
    monkeypatch.setattr("giveortake.server.application.departure", recorded)
    before = service.service.metrics.overruns["visits"]
    asked = ("SELECT 1", COUNT, COUNT, "x" * 70_000)  # refused, answered, answered before, refused by the guard
    statuses = [service.answer("ann", sql, f"fixed {fixed}", epsilon="0.001").status_code for sql in asked]
    assert statuses == [422, 200, 200, 413]
    assert service.call("ann", "GET", "/v1/me").status_code == 200
    assert len(found) == len(asked)
    assert service.service.metrics.overruns["visits"] - before == overruns
