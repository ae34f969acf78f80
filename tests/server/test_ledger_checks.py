"""The check of a ledger takes as long as it takes: beside the clerks, one at a time, with its progress in sight."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from giveortake.server.service import LedgerCheck
from waiting import until

if TYPE_CHECKING:
    from demo_service import Running

pytestmark = pytest.mark.xdist_group("service")

CHECK = "/v1/ledger/check"


def progress(service: Running) -> dict[str, Any]:
    found: dict[str, Any] = service.call("custodian", "GET", CHECK).json()
    return found


def begin_and_leave(service: Running) -> None:
    """Begin a check, and close the connection without waiting for its end."""
    token = service.tokens["custodian"]
    lines = (f"POST {CHECK} HTTP/1.1", "host: here", f"authorization: Bearer {token}", "content-length: 0", "", "")
    with socket.create_connection(service.place) as connection:
        connection.sendall("\r\n".join(lines).encode())
        now = {"state": "running", "checked": 1, "entries": 7}
        until(lambda: now.items() <= progress(service).items(), "the check is under way")


def test_a_check_outlives_deadlines_and_whoever_began_it_and_a_second_call_joins_it(
    tampered: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, run = [0], LedgerCheck.run

    async def counted(check: LedgerCheck) -> Any:
        calls[0] += 1
        return await run(check)

    monkeypatch.setattr(LedgerCheck, "run", counted)
    assert progress(tampered) == {"state": "none", "checked": 0, "entries": 0, "result": None}
    clerks = {worker.process.pid for worker in tampered.service.ledger_workers.working}
    tampered.service.check.settings = replace(tampered.service.settings, seconds=0.0)  # no request would have any time
    begin_and_leave(tampered)
    with ThreadPoolExecutor(2) as asking:
        joined = [asking.submit(tampered.call, "custodian", "POST", CHECK) for _ in range(2)]
        until(lambda: calls[0] == 3, "both have joined")
        assert progress(tampered)["state"] == "running"
        (tampered.folder / "gate").touch()
        replies = [each.result() for each in joined]
    assert [each.status_code for each in replies] == [200, 200]
    with tampered.book() as book:
        assert replies[0].json() == replies[1].json() == progress(tampered)["result"]
        assert replies[0].json()["ledger"] == book.verify().ledger
    assert progress(tampered)["state"] == "holds"
    assert (tampered.folder / "begun").read_text() == "begun\n"
    assert {worker.process.pid for worker in tampered.service.ledger_workers.working} == clerks


def test_a_check_that_fails_says_so_the_next_call_begins_anew_and_a_service_that_stops_ends_it(
    tampered: Running,
) -> None:
    for name in ("gate", "broken"):
        (tampered.folder / name).touch()
    assert tampered.call("custodian", "POST", CHECK).status_code == 500
    assert progress(tampered)["state"] == "failed"
    for name in ("gate", "broken"):
        (tampered.folder / name).unlink()
    begin_and_leave(tampered)
    asyncio.run_coroutine_threadsafe(tampered.service.check.close(), tampered.loop).result()
    assert progress(tampered)["state"] == "failed"
    assert tampered.call("bob", "POST", CHECK).status_code == tampered.call("bob", "GET", CHECK).status_code == 403
