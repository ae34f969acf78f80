"""Several services of one configuration: one budget, one answer for a key, one revocation, one limit."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import two_fronts

import giveortake as gt
from giveortake.server import application
from giveortake.server.guard import Guard
from giveortake.server.running import running
from giveortake.server.service import Service
from giveortake.server.settings import WRONG_TOKENS, Settings
from service_kills import described


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_two_fronts_on_one_ledger_decide_as_one(store: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    where = str(tmp_path / "fronts.ledger")
    if store == "postgres":
        where = f"{request.getfixturevalue('server')}&schema=fronts_{uuid4().hex[:12]}"
    paths = [str(Path(gt.__file__).parents[2] / each) for each in ("tests", "benchmarks")]
    done = subprocess.run(
        [sys.executable, two_fronts.__file__, where, str(tmp_path / "folder")],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(paths)},
    )
    assert (done.stderr, done.returncode) == ("", 0)
    found = json.loads(done.stdout)
    assert found["registered"] == 1
    assert found["one key"] == {
        "statuses": [200],
        "answers": 1,
        "releases": 1,
        "spent": "1/1000",
        "other": ["key_conflict"] * 2,
    }
    assert found["revoked"] == [[200, 200], [401, 401]]
    assert found["let through"] == {"200": two_fronts.BURST, "429": two_fronts.BURST}
    assert found["wrong tokens"] == {"401": two_fronts.WRONG[1], "429": two_fronts.WRONG[1]}
    assert found["logging"] == 2


def configured(folder: Path, **server: Any) -> Settings:
    toml = described(str(folder / "x.ledger"), folder / "x").toml
    said = "".join(f"{name} = {value}\n" for name, value in server.items())
    toml.write_text(f"{toml.read_text()}\n[server]\n{said}")
    return Settings.read(toml)


def test_fronts_share_every_limit_and_no_more_of_them_than_it_has_parts(tmp_path: Path) -> None:
    settings = configured(tmp_path, fronts=4, requests_per_second=20, burst=60, in_flight=10)
    guard = Guard.from_settings(None, settings)  # type: ignore[arg-type]  # (nobody is asked)
    for part, whole in (
        (guard.callers.each_second, settings.requests_per_second),
        (guard.callers.burst, settings.burst),
        (guard.in_flight.most, settings.in_flight),
        (guard.backlog.most, settings.worker_seconds),
        (guard.strangers.rate.each_second, WRONG_TOKENS[0]),
        (guard.strangers.rate.burst, WRONG_TOKENS[1]),
    ):
        assert whole / 4 - 1 < part <= whole / 4
    with pytest.raises(gt.errors.InvalidParameter) as error:
        configured(tmp_path / "more", fronts=9)
    assert error.value.name == "[server] fronts"


def test_a_fixed_time_leaves_room_for_what_is_written_late_before_the_deadline(tmp_path: Path) -> None:
    def latency(fixed: str) -> dict[str, float]:
        return configured(tmp_path / fixed, seconds=f"40\n[server.latency]\nvisits = {fixed}").latency

    assert latency("20.0") == {"visits": 20.0}
    for fixed in ("20.1", "0"):
        with pytest.raises(gt.errors.InvalidParameter, match="40"):
            latency(fixed)


def test_an_address_that_is_taken_is_told_and_nothing_is_left_open(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        settings = configured(tmp_path, port=other.getsockname()[1])

        async def run() -> None:
            async with running(settings):
                raise AssertionError("it does not serve")

        before = sockets()
        with pytest.raises(gt.errors.NotFound, match="in use") as told:
            asyncio.run(run())
        assert sockets() <= before
        assert told.tb is not None  # it holds all that was there when it happened: nothing was closed by chance


def sockets() -> set[str]:
    """Every socket that this process has open."""
    found: set[str] = set()
    for each in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the folder itself
            found.add(str(each.readlink()))
    return {each for each in found if each.startswith("socket:")}


def test_an_address_that_another_service_takes_meanwhile_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", 0))

        async def loaded(_service: Service) -> None:
            other.listen()

        async def run() -> None:
            async with running(configured(tmp_path, port=other.getsockname()[1])):
                raise AssertionError("it does not serve")

        monkeypatch.setattr(Service, "open", loaded)
        with pytest.raises(gt.errors.NotFound, match="in use"):
            asyncio.run(run())


def test_lines_of_two_services_are_in_one_log_and_none_is_lost_when_it_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "SIZE", 1000)
    monkeypatch.setattr(application, "FILES", 100)
    path = tmp_path / "service.log"
    both = [application.Log(path), application.Log(path)]
    for number in range(200):
        both[number % 2].say("counted", number=number)
    for each in both:
        each.close()
    files = [path, *tmp_path.glob("service.log.*")]
    told = [json.loads(line)["number"] for each in files for line in each.read_text(encoding="utf-8").splitlines()]
    assert sorted(told) == list(range(200))
    assert len(files) > 10
    assert all(each.stat().st_size < 1200 for each in files)
    monkeypatch.setattr(application, "FILES", 3)
    last = application.Log(path)
    for number in range(100):
        last.say("counted", number=number)
    last.close()
    assert not (tmp_path / "service.log.101").exists()
    held = os.open(path, os.O_WRONLY)
    fcntl.flock(held, fcntl.LOCK_EX)  # by whoever begins a new file, and never ends
    last = application.Log(path)
    for number in range(50):
        last.say("counted", number=number)
    last.close()
    os.close(held)
    assert path.stat().st_size > 2000
    last = application.Log(tmp_path / "nowhere" / "service.log")
    last.say("nothing")  # and nobody is kept from asking
