"""Workers that are killed, too slow, or too large: a question is charged once, and has one answer."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import re
import signal
import warnings
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from demo_service import COUNT
from giveortake.ledger import Charge
from giveortake.privacy import PureDP
from giveortake.privacy.events import Pure
from giveortake.server.responses import Refusal
from giveortake.server.workers.pool import Pool, Worker, WorkerFailed
from giveortake.server.workers.worker import failure
from waiting import LONGEST, until, until_async

if TYPE_CHECKING:
    from pathlib import Path

    from demo_service import Running

pytestmark = pytest.mark.xdist_group("service")


def pids(service: Running) -> list[int]:
    return [worker.process.pid for worker in service.service.pools["visits"].working]


def test_what_is_asked_many_times_at_once_with_one_key_is_charged_once(tampered: Running) -> None:
    with tampered.book() as book:
        before = book.levels(analyst="eve")[0].spent
    with ThreadPoolExecutor(8) as asking:
        asked = [asking.submit(tampered.answer, "eve", COUNT, "one", epsilon="1/10") for _ in range(8)]
        found = [each.result() for each in asked]
    assert {each.status_code for each in found} == {200}
    assert len({str(each.json()["columns"]) for each in found}) == 1
    with tampered.book() as book:
        assert book.levels(analyst="eve")[0].spent == before + Fraction(1, 10)


def begun(service: Running, key: str) -> None:
    """What a worker leaves that is ended in the middle: a charge under a key, and no answer."""
    with service.book() as book:
        book.reserve(Charge(Pure("1/1000"), dataset="visits", analyst="carl", key=key, name=key))


def stopped_worker(service: Running) -> int:
    """The one worker, which takes requests from now on and replies to none."""
    assert service.call("carl", "GET", "/v1/datasets/visits").status_code == 200  # it is there
    (pid,) = pids(service)
    os.kill(pid, signal.SIGSTOP)
    return pid


def too_slow(service: Running, key: str) -> Any:
    pool = service.service.pools["visits"]
    stopped_worker(service)
    usual, pool.deadline = pool.deadline, 0.01
    try:
        return service.answer("carl", COUNT, key, epsilon="1/1000")
    finally:
        pool.deadline = usual


def killed(service: Running, key: str) -> Any:
    pool, pid = service.service.pools["visits"], stopped_worker(service)
    with ThreadPoolExecutor(1) as asking:
        asked = asking.submit(service.answer, "carl", COUNT, key, epsilon="1/1000")
        until(pool._idle.empty, "the question is under way")
        os.kill(pid, signal.SIGKILL)
        return asked.result()


def failed(service: Running) -> int:
    found = service.call("custodian", "GET", "/v1/failures").json()["failures"]
    return int(next(each["failed"] for each in found if each["name"] == "carl"))


def test_deadlines_and_lost_workers_are_failures_that_are_counted_before_they_are_told(tampered: Running) -> None:
    with tampered.book() as book:
        book.analyst("carl", datasets=["visits"], budget=PureDP("1/50"), failures=2)
        tampered.tokens["carl"] = book.issue_token(role="analyst", analyst="carl")[1]
    assert tampered.call("carl", "GET", "/v1/datasets/visits").status_code == 200
    before = pids(tampered)
    assert too_slow(tampered, "nothing was charged").status_code == 504
    assert failed(tampered) == 0
    for place, (ended, cause) in enumerate([(too_slow, "deadline"), (killed, "worker_lost")]):
        begun(tampered, cause)
        assert ended(tampered, cause).json()["error"]["cause"] == cause
        assert failed(tampered) == place + 1
    refused = tampered.answer("carl", COUNT, "one more", epsilon="1/1000")
    assert (refused.status_code, refused.json()["error"]["cause"]) == (402, "allowance")
    assert not set(before) & set(pids(tampered)), "a worker that is too slow is ended and replaced"
    with tampered.book() as book:
        book.verify()


def test_a_question_has_less_time_than_its_request_so_that_it_fails_by_itself(tampered: Running) -> None:
    settings = tampered.service.settings
    assert 0 < settings.session_task("visits")["seconds"] < settings.seconds
    assert not settings.latency


def test_health_is_about_the_process_and_about_workers(tampered: Running) -> None:
    assert tampered.call(None, "GET", "/health/live").json() == {"status": "live"}
    until(lambda: tampered.call(None, "GET", "/health/ready").json() == {"status": "ready"}, "there is a worker again")
    metrics = tampered.call("custodian", "GET", "/metrics").text
    losses = re.search(r"^giveortake_worker_losses_total (\d+)$", metrics, re.MULTILINE)
    assert losses is not None
    assert int(losses[1]) > 0
    assert "got_" not in metrics
    assert "amount" not in metrics


def test_an_operation_that_is_not_known_is_an_error_of_ours_and_tells_its_kind_alone(tampered: Running) -> None:
    clerks = tampered.service.ledger_workers
    with pytest.raises(Refusal) as refused:
        asyncio.run_coroutine_threadsafe(clerks.ask("nothing", analyst=None), tampered.loop).result()
    assert refused.value.cause.name == "internal"
    assert "ledger: nothing: KeyError at " in tampered.call("custodian", "GET", "/custodian").text


def started(task: dict[str, Any]) -> None:
    async def run() -> None:
        worker = await Worker.start(task)
        await worker.end()

    asyncio.run(run())


def test_a_worker_that_cannot_start_says_why(tmp_path: Path, tampered: Running) -> None:
    with pytest.raises(WorkerFailed, match=r"none\.toml"):
        started({"kind": "session", "toml": str(tmp_path / "none.toml"), "name": "x"})
    task = tampered.service.settings.session_task("visits")
    with pytest.raises(WorkerFailed):
        started({**task, "address_space": 200 << 20})


def test_what_the_system_refuses_to_a_worker_is_told_and_memory_is_not_blamed() -> None:
    for names in (("trips.csv",), ()):
        failed = failure(PermissionError(errno.EACCES, "Permission denied", *names))
        assert failed["message"] == ": ".join((*names, "Permission denied"))
        assert "memory" not in str(failed["hint"])


# -- a pool by itself -------------------------------------------------------------------------------------------------

TOY = """
import json, os, signal, socket, struct
connection = socket.socket(fileno=os.dup(0))
def receive():
    size = struct.unpack(">II", connection.recv(8, socket.MSG_WAITALL) or exit())[0]
    return json.loads(connection.recv(size, socket.MSG_WAITALL))
def send(document):
    text = json.dumps(document).encode()
    connection.sendall(struct.pack(">II", len(text), 0) + text)
receive()
send({"ready": True})
while True:
    operation = receive()["operation"]
    if operation == "hang":
        signal.pause()
    send({"refused": "internal", "document": {"error": {}}, "kind": "toy"} if operation == "fail" else {"result": {}})
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The task of a worker that is there at once, and hangs or fails when it is asked to."""
    package = tmp_path / "giveortake" / "server" / "workers"
    package.mkdir(parents=True)
    for folder in (package.parent.parent, package.parent, package):
        (folder / "__init__.py").touch()
    (package / "worker.py").write_text(TOY)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return {}


class Paced:
    """The module asyncio for a pool, and its clock: it goes on while somebody sleeps, once the gate is open."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.wakes, self.gate = 100.0, list[float](), asyncio.Event()
        self.notice: Any = lambda: None
        monkeypatch.setattr("giveortake.server.workers.pool.asyncio", self)
        monkeypatch.setattr("giveortake.server.workers.pool.time", SimpleNamespace(monotonic=lambda: self.now))

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        self.notice()
        self.wakes.append(self.now + seconds)
        await self.gate.wait()
        self.now += seconds


@pytest.mark.parametrize("how", ["killed", "failed"])
def test_with_a_pace_nobody_sees_when_a_worker_is_lost(
    toy: dict[str, Any], how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows may decide that: whether there is a worker, and when one is free, is known on a beat alone."""

    async def run() -> None:
        pool, paced = Pool("toy", toy, 1, 0, deadline=LONGEST, pace=4.0), Paced(monkeypatch)
        await pool.open()
        (worker,) = pool.working
        asked = asyncio.ensure_future(pool.ask("hang" if how == "killed" else "fail"))
        await until_async(pool._idle.empty, "it is asked")
        paced.now += 0.3
        if how == "killed":
            worker.process.kill()
        await until_async(lambda: paced.wakes, "it is lost")
        assert paced.wakes == [102.0]  # half a pace after it was asked
        assert pool.is_ready
        assert pool._idle.empty()
        paced.gate.set()
        with pytest.raises(Refusal):
            await asked
        assert pool.working == (() if how == "killed" else (worker,))
        await pool.close()

    asyncio.run(run())


def test_a_worker_that_is_too_slow_is_ended_at_its_deadline_and_writes_nothing_after_it(
    toy: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the deadline and the beat on which it is missed, it would store an answer that nobody is told."""
    ended: list[int | None] = []

    async def run() -> None:
        pool, paced = Pool("toy", toy, 1, 0, deadline=0.01, pace=4.0), Paced(monkeypatch)
        await pool.open()
        (worker,) = pool.working
        paced.notice = lambda: ended.append(worker.process.returncode)
        paced.gate.set()
        with pytest.raises(Refusal) as refused:
            await pool.ask("hang")
        assert refused.value.cause.name == "deadline"
        assert worker not in pool.working
        await pool.close()

    asyncio.run(run())
    assert ended == [-signal.SIGKILL]


def test_whoever_gives_up_at_the_deadline_leaves_the_pool_whole(
    toy: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> bool:
        pool, paced = Pool("toy", toy, 1, 0, deadline=0.01, pace=60.0), Paced(monkeypatch)
        await pool.open()
        (worker,) = pool.working
        asked = asyncio.ensure_future(pool.ask("hang"))
        await until_async(lambda: paced.wakes, "the deadline is over")
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        whole = worker not in pool.working and bool(pool._starting)
        await pool.close()
        return whole

    assert asyncio.run(run())


@pytest.mark.parametrize("given_up", [False, True])
def test_a_slow_request_that_finds_no_worker_gives_its_turn_back(*, given_up: bool) -> None:
    async def run() -> None:
        pool = Pool("toy", {}, 2, 0, deadline=LONGEST if given_up else 0.001)  # and nothing is ever started
        for _ in range(3):
            asked = asyncio.ensure_future(pool.ask("answer", slow=True))
            if given_up:
                await asyncio.sleep(0)
                asked.cancel()
            with pytest.raises(asyncio.CancelledError if given_up else Refusal):
                await asked
        assert pool._turns._slow == 0
        assert not pool._turns._shares

    asyncio.run(run())


def test_whoever_gives_up_while_a_worker_starts_leaves_no_process_behind(toy: dict[str, Any]) -> None:
    async def run(steps: int) -> None:
        started = asyncio.ensure_future(Worker.start(toy))
        for _ in range(steps):
            await asyncio.sleep(0)
        started.cancel()
        with pytest.raises(asyncio.CancelledError):
            await started

    for steps in range(12):
        with warnings.catch_warnings(record=True) as left_behind:
            warnings.simplefilter("always")
            asyncio.run(run(steps))
            gc.collect()
        assert [str(each.message) for each in left_behind] == [], steps


def test_whoever_gives_up_while_a_worker_is_ended_has_waited_for_it(toy: dict[str, Any]) -> None:
    async def run() -> int | None:
        worker = await Worker.start(toy)
        ended = asyncio.ensure_future(worker.end())
        await asyncio.sleep(0)
        ended.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ended
        return worker.process.returncode

    assert asyncio.run(run()) == -signal.SIGKILL
