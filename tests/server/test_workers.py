"""Workers that are killed, too slow, or too large: a question is charged once, and has one answer."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import signal
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from demo_service import COUNT, running_demo
from giveortake.advice import Advice
from giveortake.errors import GiveOrTakeError
from giveortake.privacy import PureDP
from giveortake.privacy.events import Pure
from giveortake.server import pipes
from giveortake.server.pool import Pool, Worker, WorkerFailed
from giveortake.server.refusals import Refused
from giveortake.server.worker import _done, failure

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from demo_service import Running

pytestmark = pytest.mark.xdist_group("service")


@pytest.fixture(scope="module")
def fragile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service of its own, whose workers are killed."""
    with running_demo(tmp_path_factory.mktemp("fragile"), spares=2) as found:
        yield found


def pids(service: Running) -> list[int]:
    return [worker.process.pid for worker in service.service.pools["visits"].working]


def test_what_is_asked_many_times_at_once_with_one_key_is_charged_once(fragile: Running) -> None:
    with fragile.book() as book:
        before = book.levels(analyst="eve")[0].spent
    with ThreadPoolExecutor(8) as asking:
        asked = [asking.submit(fragile.answer, "eve", COUNT, "one", epsilon="1/10") for _ in range(8)]
        found = [each.result() for each in asked]
    assert {each.status_code for each in found} == {200}
    assert len({str(each.json()["columns"]) for each in found}) == 1
    with fragile.book() as book:
        assert book.levels(analyst="eve")[0].spent == before + Fraction(1, 10)


def test_a_worker_that_is_too_slow_is_ended_and_replaced(fragile: Running) -> None:
    pool = fragile.service.pools["visits"]
    before = set(pids(fragile))
    usual, pool.deadline = pool.deadline, 0.001
    try:
        response = fragile.call("ann", "GET", "/v1/datasets/visits")
    finally:
        pool.deadline = usual
    assert (response.status_code, response.json()["error"]["cause"]) == (504, "deadline")
    assert fragile.call("ann", "GET", "/v1/datasets/visits").status_code == 200
    assert before - set(pids(fragile))


def begun(service: Running, key: str) -> None:
    """What a worker leaves that is ended in the middle: a charge under a key, and no answer."""
    with service.book() as book:
        book.reserve(Pure("1/1000"), dataset="visits", analyst="carl", key=key, request=key, question=key)


def stopped_worker(service: Running) -> int:
    """The one worker, which takes requests from now on and replies to none."""
    assert service.call("carl", "GET", "/v1/datasets/visits").status_code == 200  # it is there
    (pid,) = pids(service)
    os.kill(pid, signal.SIGSTOP)
    return pid


def too_slow(service: Running, key: str) -> Any:
    pool = service.service.pools["visits"]
    stopped_worker(service)
    usual, pool.deadline = pool.deadline, 0.2
    try:
        return service.answer("carl", COUNT, key, epsilon="1/1000")
    finally:
        pool.deadline = usual


def killed(service: Running, key: str) -> Any:
    pool, pid = service.service.pools["visits"], stopped_worker(service)
    with ThreadPoolExecutor(1) as asking:
        asked = asking.submit(service.answer, "carl", COUNT, key, epsilon="1/1000")
        while not pool._idle.empty():
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        return asked.result()


def failed(service: Running) -> int:
    found = service.call("custodian", "GET", "/v1/failures").json()["failures"]
    return int(next(each["failed"] for each in found if each["name"] == "carl"))


def test_deadlines_and_lost_workers_are_failures_that_are_counted_before_they_are_told(fragile: Running) -> None:
    with fragile.book() as book:
        book.analyst("carl", datasets=["visits"], budget=PureDP("1/20"), failures=2)
        fragile.tokens["carl"] = book.issue_token(role="analyst", analyst="carl")[1]
    assert too_slow(fragile, "nothing was charged").status_code == 504
    assert failed(fragile) == 0
    for place, (ended, cause) in enumerate([(too_slow, "deadline"), (killed, "worker_lost")]):
        begun(fragile, cause)
        assert ended(fragile, cause).json()["error"]["cause"] == cause
        assert failed(fragile) == place + 1
    refused = fragile.answer("carl", COUNT, "one more", epsilon="1/1000")
    assert (refused.status_code, refused.json()["error"]["cause"]) == (402, "allowance")
    with fragile.book() as book:
        book.verify()


def test_a_question_has_less_time_than_its_request_so_that_it_fails_by_itself(fragile: Running) -> None:
    settings = fragile.service.settings
    assert 0 < settings.session_task("visits")["seconds"] < settings.seconds


def test_health_is_about_the_process_and_about_workers(fragile: Running) -> None:
    assert fragile.call(None, "GET", "/health/live").json() == {"status": "live"}
    assert fragile.call(None, "GET", "/health/ready").json() == {"status": "ready"}
    failures = fragile.call("custodian", "GET", "/v1/failures").json()
    assert failures["service"]["losses"] > 0
    metrics = fragile.call("custodian", "GET", "/metrics").text
    assert "giveortake_worker_losses_total" in metrics
    assert "got_" not in metrics
    assert "amount" not in metrics


def asked_of(task: dict[str, Any], operation: str, **settings: Any) -> Any:
    async def run() -> Any:
        pool = Pool("toy", task, 1, 0, **{"deadline": 30.0, **settings})
        try:
            await pool.open()
            return await pool.ask(operation, analyst=None)
        finally:
            await pool.close()

    return asyncio.run(run())


@pytest.mark.parametrize("given_up", [False, True])
def test_a_slow_request_that_finds_no_worker_gives_its_turn_back(*, given_up: bool) -> None:
    async def run() -> None:
        pool = Pool("toy", {}, 2, 0, deadline=30.0 if given_up else 0.001)  # and nothing is ever started
        for _ in range(3):
            asked = asyncio.ensure_future(pool.ask("answer", slow=True))
            if given_up:
                await asyncio.sleep(0)
                asked.cancel()
            with pytest.raises(asyncio.CancelledError if given_up else Refused):
                await asked
        assert pool._turns._slow == 0
        assert not pool._turns._shares

    asyncio.run(run())


@pytest.mark.parametrize("how", ["killed", "failed"])
def test_with_a_pace_nobody_sees_when_a_worker_is_lost(fragile: Running, how: str) -> None:
    """Rows may decide that: whether there is a worker, and when one is free, is known on a beat alone."""

    async def run() -> tuple[float, float]:
        pool = Pool("toy", fragile.service.settings.ledger_task, 1, 0, deadline=30.0, pace=4.0)
        await pool.open()
        try:
            started = time.monotonic()
            (worker,) = pool.working
            if how == "killed":
                worker.process.send_signal(signal.SIGSTOP)
            asked = asyncio.ensure_future(pool.ask("nothing", analyst=None))
            await asyncio.sleep(0.1)
            if how == "killed":
                worker.process.kill()
            while pool.is_ready and pool._idle.empty():
                await asyncio.sleep(0.01)
            seen = time.monotonic() - started
            with pytest.raises(Refused):
                await asked
            return seen, time.monotonic() - started
        finally:
            await pool.close()

    seen, told = asyncio.run(run())
    assert min(seen, told) >= 2.0
    assert not fragile.service.settings.latency


def test_a_worker_that_is_too_slow_is_ended_at_its_deadline_and_writes_nothing_after_it(
    fragile: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the deadline and the beat on which it is missed, it would store an answer that nobody is told."""
    ended: list[int | None] = []

    async def run() -> None:
        pool = Pool("toy", fragile.service.settings.ledger_task, 1, 0, deadline=0.2, pace=4.0)
        await pool.open()
        (worker,) = pool.working

        async def keep_pace(_self: Pool, _begun: float) -> None:
            ended.append(worker.process.returncode)

        monkeypatch.setattr(Pool, "_keep_pace", keep_pace)
        worker.process.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(Refused) as refused:
                await pool.ask("nothing", analyst=None)
            assert refused.value.cause.name == "deadline"
            assert worker not in pool.working
        finally:
            await pool.close()

    asyncio.run(run())
    assert ended == [-signal.SIGKILL]


def test_whoever_gives_up_at_the_deadline_leaves_the_pool_whole(fragile: Running) -> None:
    async def run() -> bool:
        pool = Pool("toy", fragile.service.settings.ledger_task, 1, 0, deadline=0.2, pace=60.0)
        await pool.open()
        try:
            (worker,) = pool.working
            worker.process.send_signal(signal.SIGSTOP)
            asked = asyncio.ensure_future(pool.ask("nothing", analyst=None))
            while worker.process.returncode is None:
                await asyncio.sleep(0.01)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            return worker not in pool.working and bool(pool._starting)
        finally:
            await pool.close()

    assert asyncio.run(run())


def test_a_worker_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(WorkerFailed, match="cannot be read"):
        asked_of({"kind": "session", "toml": str(tmp_path / "none.toml"), "name": "x"}, "describe")


@pytest.mark.parametrize("names", [("trips.csv",), ()])
def test_what_the_system_refuses_to_a_worker_is_told_and_memory_is_not_blamed(names: tuple[str, ...]) -> None:
    failed = failure(PermissionError(errno.EACCES, "Permission denied", *names))
    assert failed["message"] == ": ".join((*names, "Permission denied"))
    assert "memory" not in str(Advice.spoken(failed["hints"]))


@pytest.mark.parametrize("steps", range(12))
def test_whoever_gives_up_while_a_worker_starts_leaves_no_process_behind(tmp_path: Path, steps: int) -> None:
    async def run() -> None:
        task = {"kind": "session", "toml": str(tmp_path / "none.toml"), "name": "x"}
        started = asyncio.ensure_future(Worker.start(task))
        for _ in range(steps):
            await asyncio.sleep(0)
        started.cancel()
        with pytest.raises(asyncio.CancelledError):
            await started

    with warnings.catch_warnings(record=True) as left_behind:
        warnings.simplefilter("always")
        asyncio.run(run())
        gc.collect()
    assert [str(each.message) for each in left_behind] == []


def test_whoever_gives_up_while_a_worker_is_ended_has_waited_for_it(fragile: Running) -> None:
    async def run() -> int | None:
        worker = await Worker.start(fragile.service.settings.ledger_task)
        ended = asyncio.ensure_future(worker.end())
        await asyncio.sleep(0)
        ended.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ended
        return worker.process.returncode

    assert asyncio.run(run()) == -signal.SIGKILL


def test_a_worker_has_no_more_address_space_than_it_is_given(fragile: Running) -> None:
    task = fragile.service.settings.session_task("visits")
    with pytest.raises(GiveOrTakeError):
        asked_of({**task, "address_space": 200 << 20}, "describe")


def test_an_operation_that_is_not_known_is_an_error_of_ours_and_tells_its_kind_alone(fragile: Running) -> None:
    losses: list[str] = []
    with pytest.raises(Refused) as refused:
        asked_of(fragile.service.settings.ledger_task, "nothing", on_loss=losses.append)
    assert refused.value.cause.name == "internal"
    assert losses[0].startswith("toy: nothing: KeyError at ")


def test_a_worker_that_ran_out_of_memory_is_asked_nothing_more(
    fragile: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def give_up(_: object) -> dict[str, Any]:
        raise MemoryError

    reply, trusted = _done({"describe": give_up}, {"operation": "describe"})
    assert not trusted

    async def replied(*_: object) -> tuple[dict[str, Any], bytes]:
        reader = asyncio.StreamReader()
        reader.feed_data(reply)
        return await pipes.read(reader)

    async def run() -> None:
        pool = Pool("toy", fragile.service.settings.ledger_task, 1, 0, deadline=30.0)
        try:
            await pool.open()
            (first,) = pool.working
            with monkeypatch.context() as patched:
                patched.setattr(Worker, "ask", replied)
                with pytest.raises(Refused, match="internal"):
                    await pool.ask("describe")
            assert first.process.returncode is not None, "it has been ended, before anybody else can ask it"
            await pool.ask("levels", analyst=None)  # by another
        finally:
            await pool.close()

    asyncio.run(run())
