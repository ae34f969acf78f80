"""The check of a ledger takes as long as it takes: beside the clerks, one at a time, with its progress in sight."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from demo_service import running_demo
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from demo_service import Running

pytestmark = pytest.mark.xdist_group("service")

CHECK = "/v1/ledger/check"
LONG = """
import sys
from pathlib import Path
if "giveortake.server.worker" in sys.orig_argv:
    from giveortake.ledger.records import Records
    from giveortake.server import ledger_desk
    folder, usual, ledger_desk._TURN = Path({!r}), Records.verifying, 0.0
    def verifying(self):
        with (folder / "begun").open("a") as begun:
            begun.write("begun\\n")
        while not (folder / "gate").exists():
            yield 1, 7
        if (folder / "broken").exists():
            raise OverflowError
        return (yield from usual(self))
    Records.verifying = verifying
"""


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service whose checks go on until there is a file `gate`, and which finishes no request when it stops."""
    folder = tmp_path_factory.mktemp("slow")
    (folder / "sitecustomize.py").write_text(LONG.format(str(folder)))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(folder))
        patched.setattr("giveortake.server.running._DRAINED_IN", 0)
        with running_demo(folder) as found:
            yield found


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


def test_a_check_outlives_deadlines_and_whoever_began_it_and_a_second_call_joins_it(slow: Running) -> None:
    assert progress(slow) == {"state": "none", "checked": 0, "entries": 0, "result": None}
    clerks = {worker.process.pid for worker in slow.service.clerks.working}
    slow.service.check.settings = replace(slow.service.settings, seconds=0.0)  # no request would have any time
    begin_and_leave(slow)
    with ThreadPoolExecutor(2) as asking:
        joined = [asking.submit(slow.call, "custodian", "POST", CHECK) for _ in range(2)]
        assert progress(slow)["state"] == "running"
        (slow.folder / "gate").touch()
        replies = [each.result() for each in joined]
    assert [each.status_code for each in replies] == [200, 200]
    with slow.book() as book:
        assert replies[0].json() == replies[1].json() == progress(slow)["result"]
        assert replies[0].json()["ledger"] == book.verify().ledger
    assert progress(slow)["state"] == "holds"
    assert (slow.folder / "begun").read_text() == "begun\n"
    assert {worker.process.pid for worker in slow.service.clerks.working} == clerks


def test_a_check_that_fails_says_so_and_the_next_call_begins_anew(slow: Running) -> None:
    for name in ("gate", "broken"):
        (slow.folder / name).touch()
    assert slow.call("custodian", "POST", CHECK).status_code == 500
    assert progress(slow)["state"] == "failed"
    (slow.folder / "broken").unlink()
    assert slow.call("custodian", "POST", CHECK).status_code == 200
    assert slow.call("bob", "POST", CHECK).status_code == slow.call("bob", "GET", CHECK).status_code == 403


def test_a_service_that_stops_does_not_wait_for_a_check(slow: Running) -> None:
    (slow.folder / "gate").unlink(missing_ok=True)
    begin_and_leave(slow)  # and the fixture ends
