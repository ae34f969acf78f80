"""What a service writes while it works: nobody else can read it, and nothing is left when it has ended."""

from __future__ import annotations

import os
import re
import resource
import signal
import stat
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from giveortake.server import demo
from served_process import Served, served
from waiting import LONGEST, until

if TYPE_CHECKING:
    from giveortake.server.demo import Demo

pytestmark = pytest.mark.xdist_group("service")
ANSWER = "/v1/datasets/visits/answer"
BODY = {"sql": "SELECT COUNT(*) AS n FROM visits", "terms": {"epsilon": "0.01"}, "key": "last"}


@pytest.fixture
def ready(tmp_path: Path) -> Demo:
    found = demo.prepared(tmp_path)
    with found.settings.toml.open("a") as toml:
        toml.write("workers = 2\nspares = 0\nclerks = 1\n")
    return found


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def engines(service: Served) -> list[int]:
    return [pid for pid in service.workers if "duckdb" in Path(f"/proc/{pid}/maps").read_text(encoding="ascii")]


def folder_of(pid: int, scratch: Path) -> Path:
    """The folder below which a worker writes; rows lie in it, as if its engine could not hold them in memory."""
    found = re.search(rb"TMPDIR=([^\0]*)", Path(f"/proc/{pid}/environ").read_bytes())
    assert found is not None
    folder = Path(os.fsdecode(found[1]))
    for inside in [folder, *folder.glob("giveortake-rows-*")] if folder != scratch else scratch.iterdir():
        (inside / "rows").write_text("exact rows", encoding="ascii")
    return folder


def test_nothing_is_left_by_workers_that_are_killed_nor_by_a_stop_while_questions_are_asked(
    ready: Demo, scratch: Path
) -> None:
    with served(ready.settings.toml, scratch) as service:
        until(lambda: len(engines(service)) >= 2, "both workers are there")
        killed, *others = engines(service)
        folder, rest = folder_of(killed, scratch), [folder_of(pid, scratch) for pid in others]
        os.kill(killed, signal.SIGKILL)
        until(lambda: not folder.exists(), "its folder is removed")
        assert all(each.exists() for each in rest)
        under_way = engines(service)
        for pid in under_way:
            os.kill(pid, signal.SIGSTOP)
        with closing(HTTPConnection(service.place, timeout=LONGEST)) as asking:
            service.ask(asking, "POST", ANSWER, ready.analyst, BODY)
            assert service.call("GET", "/v1/me", ready.analyst)[0] == 200  # so that the question is under way
            service.process.send_signal(signal.SIGTERM)
            for pid in under_way:
                os.kill(pid, signal.SIGCONT)
            assert service.reply(asking)[0] == 200
        assert service.process.wait(LONGEST) == 0
    assert list(scratch.iterdir()) == []


def require_private(service: Served, scratch: Path) -> None:
    """A service writes for its user alone, whatever its umask was, and may open many files, whatever the limit was."""
    for pid in (service.process.pid, *service.workers):
        assert "Umask:\t0077\n" in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    modes = []
    for path in scratch.rglob("*"):
        with suppress(FileNotFoundError):  # workers are still starting
            modes.append(stat.S_IMODE(path.lstat().st_mode) & 0o077)
    assert set(modes) == {0}
    assert resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE)[0] > 256


def test_a_service_writes_for_its_user_alone_and_what_one_leaves_that_was_killed_is_removed_by_the_next(
    ready: Demo, scratch: Path
) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    def few() -> None:
        os.umask(0o022)
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))

    with served(ready.settings.toml, scratch, preexec_fn=few) as service:
        require_private(service, scratch)
        workers = service.workers
        folders = [folder_of(pid, scratch) for pid in engines(service)]
        for pid in (service.process.pid, *workers):
            os.kill(pid, signal.SIGKILL)
    assert any(folder.exists() for folder in folders)
    with served(ready.settings.toml, scratch) as service:
        assert not any(folder.exists() for folder in folders)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(LONGEST) == 0
    assert list(scratch.iterdir()) == []
