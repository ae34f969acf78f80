"""Fixed times: everything about rows leaves at the same instant, and what cannot is counted."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo_service import COUNT
from giveortake.server.application import Application, Log, Metrics
from giveortake.server.limits import Work
from giveortake.server.responses import Refusal, SendTime, send_time
from giveortake.server.routes import Call, Principal, Route

if TYPE_CHECKING:
    from collections.abc import Callable

    from demo_service import Running


@given(st.integers(0, 10**6), st.integers(0, 10**4), st.integers(1, 10**3))
def test_a_result_leaves_at_the_first_multiple_once_it_is_done(start: int, taken: int, fixed: int) -> None:
    exactly: Any = (Fraction(start), Fraction(start + taken), Fraction(fixed))
    leaves: Any = send_time(*exactly)
    assert leaves.at == start + leaves.turns * fixed
    assert leaves.at >= start + taken
    assert leaves.turns == 1 or leaves.at - fixed < start + taken
    assert leaves.is_overrun == (taken > fixed)


@pytest.mark.parametrize(("fixed", "overruns"), [(30.0, 0), (1e-6, 4)])
def test_answers_refusals_and_failures_have_the_fixed_time_and_nothing_else_has(
    service: Running, monkeypatch: pytest.MonkeyPatch, fixed: float, overruns: int
) -> None:
    """Departures are recorded, and nobody waits for them here."""
    found: list[SendTime] = []

    def recorded(arrived: float, done: float, stated: float) -> SendTime:
        found.append(send_time(arrived, done, stated))
        return replace(found[-1], at=done)

    monkeypatch.setitem(service.service.settings.latency, "visits", fixed)
    monkeypatch.setattr("giveortake.server.application.send_time", recorded)
    before = service.service.metrics.overruns["visits"]
    asked = ("SELECT 1", COUNT, COUNT, "x" * 70_000)  # refused, answered, answered before, refused by the guard
    statuses = [service.answer("ann", sql, f"fixed {fixed}", epsilon="0.001").status_code for sql in asked]
    assert statuses == [422, 200, 200, 413]
    assert service.call("ann", "GET", "/v1/me").status_code == 200
    assert len(found) == len(asked)
    assert service.service.metrics.overruns["visits"] - before == overruns


OUTCOMES: dict[str, Any] = {
    "an answer": {"n": 41},
    "a larger one": {"n": list(range(5000))},
    "a refusal": Refusal("budget"),
    "a lost worker": Refusal("worker_lost"),
    "an error of ours": ValueError("of a row"),
}


@pytest.mark.parametrize(("fixed", "instants"), [(2.0, {102.0}), (None, {100.0, 100.1, 101.9})])
def test_whatever_becomes_of_a_request_and_however_long_it_takes_it_leaves_at_the_same_instant(
    monkeypatch: pytest.MonkeyPatch, fixed: float | None, instants: set[float]
) -> None:
    """A clock of our own: without a fixed time the same requests tell how long they took."""
    clock, found = SimpleNamespace(now=0.0), set()

    async def sleep(seconds: float) -> None:
        clock.now += seconds

    async def handler(call: Call) -> Any:
        clock.now += call.body["seconds"]
        outcome = OUTCOMES[call.body["outcome"]]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def send(message: Any) -> None:
        found.add(round(clock.now, 6))

    async def ask(application: Application, body: dict[str, Any]) -> None:
        application._guard = guard_that_lets_in(body, lambda: found.add(round(clock.now, 6)))
        scope = {"type": "http", "method": "POST", "path": "/v1/datasets/visits/answer", "headers": []}
        await application(scope, no_body, send)

    monkeypatch.setattr("giveortake.server.application.time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr("giveortake.server.application.asyncio", SimpleNamespace(sleep=sleep))
    route = Route("POST", "/v1/datasets/{dataset}/answer", "analyst", "an answer", handler, touches=True)
    settings = SimpleNamespace(
        latency={} if fixed is None else {"visits": fixed},
        requests_per_second=9,
        burst=9,
        in_flight=9,
        worker_seconds=9,
        patience=9,
        fronts=1,
    )
    service: Any = SimpleNamespace(settings=settings, metrics=Metrics(), draining=False)
    application = Application(service, [route], Log(None))
    for outcome in OUTCOMES:
        for seconds in (0.0, 0.1, 1.9):
            clock.now = 100.0
            asyncio.run(ask(application, {"outcome": outcome, "seconds": seconds}))
    assert found == instants
    assert not service.metrics.overruns


def guard_that_lets_in(body: dict[str, Any], leaves: Callable[[], None]) -> Any:
    """A guard that has no doubts; `leaves` is called when there is room for another request."""

    async def principal(_scope: Any) -> Principal:
        return Principal("token", "analyst", "ann", ("visits",))

    async def read(*_: Any) -> dict[str, Any]:
        return body

    async def still(*_: Any) -> None: ...

    return SimpleNamespace(
        principal=principal,
        require_role=lambda *_: None,
        require_still=still,
        begin=lambda *_: Work("ann"),
        end=lambda _: leaves(),
        query=lambda *_: {},
        body=read,
        log_in=lambda *_: None,
        log_out=lambda *_: None,
    )


async def no_body() -> Any:
    raise AssertionError("the guard reads bodies")
