"""Large releases: workers write them, pages render them beside the loop, and whoever is revoked is told nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from demo_service import COUNT, Running, own_clock
from giveortake.answers import Answer
from giveortake.server.console import release_pages, workbench
from giveortake.server.console.views import answer_of
from waiting import LONGEST

PAGES = ("/releases/visits/{0}", "/ask/visits?release={0}", "/compare/visits?before={0}&after={0}")


class Slow:
    """Reading an answer takes until somebody lets it; what happens is kept in its order."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.begun, self.go = threading.Event(), threading.Event()

    def read(self, written: bytes) -> Answer:
        self.events.append("begun")
        self.begun.set()
        self.go.wait(LONGEST)
        self.events.append("read")
        return answer_of(written)

    def during(self, ask: Callable[[], httpx.Response], meanwhile: Callable[[], None]) -> httpx.Response:
        with ThreadPoolExecutor(1) as asking:
            asked: Future[httpx.Response] = asking.submit(ask)
            try:
                assert self.begun.wait(LONGEST)
                meanwhile()
            finally:
                self.go.set()
            return asked.result()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    found = Slow()
    for each in (release_pages, workbench):
        monkeypatch.setattr(each, "answer_of", found.read)
    return found


def released(service: Running, who: str, epsilon: str) -> str:
    return str(service.answer(who, COUNT, f"large {who} {epsilon}", epsilon=epsilon).json()["release_id"])


@pytest.mark.parametrize("path", PAGES)
def test_others_are_answered_while_a_release_is_rendered(service: Running, slow: Slow, path: str) -> None:
    release = released(service, "bob", "0.01")

    def meanwhile() -> None:
        assert service.call("eve", "GET", "/v1/datasets/visits").status_code == 200
        slow.events.append("another request")

    shown = slow.during(lambda: service.call("bob", "GET", path.format(release)), meanwhile)
    assert slow.events[:3] == ["begun", "another request", "read"]
    assert shown.status_code == 200
    assert "north" in shown.text


def test_whoever_is_revoked_while_a_release_is_rendered_is_shown_nothing(
    service: Running, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After half a second by this clock it is asked once more who may still be shown anything."""
    now = own_clock(monkeypatch)
    who = {"name": "una", "datasets": ["visits"], "budget": {"epsilon": "0.01"}}
    service.call("custodian", "POST", "/v1/analysts", who).raise_for_status()
    made = service.call("custodian", "POST", "/v1/tokens", {"role": "analyst", "analyst": "una"}).json()
    service.tokens["una"] = made["token"]
    release = released(service, "una", "0.01")

    def meanwhile() -> None:
        gone = service.call("custodian", "POST", "/v1/analysts/una/revoke", {"reason": "left"})
        assert gone.status_code == 200
        now[0] += 0.6

    shown = slow.during(lambda: service.call("una", "GET", f"/releases/visits/{release}"), meanwhile)
    assert slow.events == ["begun", "read"]
    assert shown.status_code == 403
    assert "north" not in shown.text


def test_the_front_hands_on_the_very_bytes_that_a_worker_wrote(service: Running) -> None:
    release = released(service, "bob", "0.01")
    terms: Any = {"analyst": "bob", "face": "service", "release": release, "place": None, "format": "json"}
    asking = service.service.pools["visits"].ask("release", slow=True, **terms)
    document, content = asyncio.run_coroutine_threadsafe(asking, service.loop).result(LONGEST)
    assert document == {"release_id": release}
    reply = service.call("bob", "GET", f"/v1/datasets/visits/releases/{release}")
    assert reply.content == content
    assert reply.headers["content-type"] == "application/json"
    assert reply.json()["release_id"] == release
