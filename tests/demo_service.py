"""A real service on loopback for tests: the bundled table, an analyst, a custodian, and workers that can be killed."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx

import giveortake as gt
from giveortake.server import demo, running
from waiting import LONGEST

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

    from giveortake.server.service import Service

COUNT = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"


@dataclass
class Running:
    """A service, its address, and tokens by who has them."""

    address: str
    service: Service
    tokens: dict[str, str]
    folder: Path
    loop: asyncio.AbstractEventLoop
    client: httpx.Client
    elsewhere: httpx.Client  # at an address of its own: one that sends wrong tokens is soon not let in with a new one

    @property
    def place(self) -> tuple[str, int]:
        parts = urlsplit(self.address)
        assert parts.hostname is not None
        assert parts.port is not None
        return parts.hostname, parts.port

    def call(self, who: str | None, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        client: httpx.Client = more.pop("client", self.client)
        headers = {} if who is None else {"authorization": f"Bearer {self.tokens[who]}"}
        if body is not None:
            more |= {"content": json.dumps(body)}
            headers["content-type"] = "application/json"
        headers |= more.pop("headers", {})
        return client.request(method, f"{self.address}{path}", headers=headers, timeout=LONGEST, **more)

    def answer(self, who: str, sql: str, key: str, **terms: Any) -> httpx.Response:
        body = {"sql": sql, "terms": terms, "key": key}
        return self.call(who, "POST", "/v1/datasets/visits/answer", body)

    def cookie(self, who: str) -> dict[str, str]:
        """The header by which a browser is let in that has logged in."""
        headers = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}
        sent = self.call(None, "POST", "/login", headers=headers, content=f"token={self.tokens[who]}")
        self.client.cookies.clear()
        return {"cookie": sent.headers["set-cookie"].partition(";")[0]}

    def book(self) -> gt.ledger.Ledger:
        return gt.ledger.open(self.folder / "visits.ledger", mark=self.folder / "visits.mark")


def own_clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The one number that is the time in the front of a service, until the test ends.

    It is below all that the real clock says, so that nothing is believed afterwards because of it.
    """
    now = [0.0]
    for module in ("application", "service"):
        monkeypatch.setattr(f"giveortake.server.{module}.time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def client_at(address: str) -> httpx.Client:
    """One that uses no connection again: the service cuts those that were silent for a while."""
    limits = httpx.Limits(max_keepalive_connections=0)
    transport = httpx.HTTPTransport(verify=False, limits=limits, local_address=address)
    return httpx.Client(transport=transport, timeout=LONGEST)


@contextmanager
def running_demo(folder: Path, **settings: Any) -> Iterator[Running]:
    """The service of `serve --demo` with one worker and one spare, and two more analysts."""
    ready = demo.prepared(folder)
    tokens = {"ann": ready.analyst, "custodian": ready.custodian}
    with gt.ledger.open(folder / "visits.ledger", mark=folder / "visits.mark") as book:
        for name, epsilon in (("bob", "1"), ("eve", "9/10")):
            book.analyst(name, datasets=["visits"], budget=gt.PureDP(epsilon), failures=100)
            tokens[name] = book.issue_token(role="analyst", analyst=name)[1]
    usual = {
        "workers": 1,
        "spares": 0,
        "clerks": 1,
        "patience": LONGEST,
        "seconds": LONGEST,  # of a worker: whoever wants a deadline sets one
        "requests_per_second": 10_000.0,
        "burst": 10_000.0,
        "worker_seconds": 10_000.0,  # a busy machine takes long for what tests ask one after the other
    }
    chosen = replace(ready.settings, **{**usual, **settings})
    with (
        in_a_thread(chosen) as (address, service, loop),
        client_at("127.0.0.1") as here,
        client_at("127.0.0.2") as elsewhere,
    ):
        found = Running(address, service, tokens, folder, loop, here, elsewhere)
        for who in tokens:  # so that wrong tokens from the same address do not keep them out
            assert found.call(who, "GET", "/v1/me").status_code == 200
        yield found


@contextmanager
def in_a_thread(settings: Any) -> Iterator[tuple[str, Service, asyncio.AbstractEventLoop]]:
    up = threading.Event()
    found: dict[str, Any] = {}

    async def run() -> None:
        found["stop"], found["loop"] = asyncio.Event(), asyncio.get_running_loop()
        async with running.running(settings) as (address, service):
            found["address"], found["service"] = address, service
            up.set()
            await found["stop"].wait()

    def work() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:  # noqa: BLE001 (told below)
            found["error"] = error
            up.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert up.wait(LONGEST), "the service neither starts nor fails"
    if "error" in found:
        thread.join()
        raise found["error"]
    try:
        yield found["address"], found["service"], found["loop"]
    finally:
        found["loop"].call_soon_threadsafe(found["stop"].set)
        thread.join(LONGEST)
        if "error" in found:
            raise found["error"]
        assert not thread.is_alive(), "the service does not end"
