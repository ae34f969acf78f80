"""Fits from afar: in processes of their own that may be killed, stopped and left, under one charge."""

from __future__ import annotations

import asyncio
import os
import signal
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import giveortake as gt
from demo_service import Running, running_demo
from giveortake.server.jobs import Jobs
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STEPS = 40
TERMS: dict[str, Any] = {"steps": STEPS, "n": 5_000, "epsilon": "0.1", "delta": "1e-7", "loss": "squared"}


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Running]:
    """A service that says soon that a fit is under way."""
    with running_demo(tmp_path, patience=0.5) as service:
        yield service


def fitted(service: Running, key: str | None) -> Any:
    with gt.connect(service.address, token=service.tokens["ann"]) as s:
        return gt.learn.sgd(s, "amount", ["region"], key=key, **TERMS)


def kill_after(service: Running, steps: int) -> None:
    """Kill the process of the one job once it has made some steps."""
    jobs = service.service.jobs
    until(lambda: any(job.steps >= steps for job in jobs.running), f"{steps} steps")
    (job,) = jobs.running
    assert job.worker is not None
    os.kill(job.worker.process.pid, signal.SIGKILL)


def charged(service: Running) -> list[str]:
    with service.book() as book:
        return [release.id for release in book.releases(analyst="ann") if not release.free]


def failed(service: Running) -> int:
    with service.book() as book:
        return sum(allowance.failed for allowance in book.failures() if allowance.name == "ann")


def test_a_fit_goes_on_through_killed_processes_and_a_caller_who_leaves_under_one_charge(own: Running) -> None:
    with ThreadPoolExecutor(2) as threads:
        first: Future[Any] = threads.submit(fitted, own, "once")
        kill_after(own, 3)
        second: Future[Any] = threads.submit(fitted, own, None)  # the same fit, of whoever was cut off
        kill_after(own, 12)
        model, again = first.result(), second.result()
    assert model.path.shape[0] == STEPS
    assert np.array_equal(model.path, again.path)
    (release,) = charged(own)
    assert model.provenance.release_id == release
    assert failed(own) <= 2  # a process that is killed between two steps cannot be told from one that is killed in one
    with gt.connect(own.address, token=own.tokens["ann"]) as s:
        assert np.array_equal(s.release(release).path, model.path)


def test_a_fit_that_the_service_stops_between_two_steps_has_not_failed(own: Running) -> None:
    service = own.service
    with ThreadPoolExecutor(1) as threads:
        stopped: Future[Any] = threads.submit(fitted, own, "stopped")
        until(lambda: any(job.steps >= 3 for job in service.jobs.running), "3 steps")
        asyncio.run_coroutine_threadsafe(service.jobs.close(), own.loop).result()
        own.loop.call_soon_threadsafe(
            setattr, service, "jobs", Jobs(service.settings, service.metrics.lose, service.jobs.count_failure)
        )
        model = stopped.result()  # the client sends it again
    assert model.path.shape[0] == STEPS
    assert len(charged(own)) == 1
    assert failed(own) == 0


def test_a_process_that_crashes_by_itself_is_a_defect_of_the_asker(own: Running) -> None:
    jobs = own.service.jobs
    with ThreadPoolExecutor(1) as threads:
        crashed: Future[Any] = threads.submit(fitted, own, "crashed")
        until(lambda: any(job.steps >= 2 for job in jobs.running), "2 steps")
        (job,) = jobs.running
        assert job.worker is not None
        os.kill(job.worker.process.pid, signal.SIGSEGV)
        with pytest.raises(gt.errors.GiveOrTakeError):
            crashed.result()
    with own.book() as book:
        (allowance,) = [allowance for allowance in book.failures() if allowance.name == "ann"]
        assert (allowance.defects, allowance.left) == (1, 0)


def test_a_step_of_weights_whose_worker_is_lost_is_counted_before_it_is_told(own: Running) -> None:
    with gt.connect(own.address, token=own.tokens["ann"]) as s:
        weights = s.weights(["region"], accuracy="0.2", queries=5).answer(epsilon="0.1", delta="1e-8")
        (worker,) = own.service.pools["visits"].working
        os.kill(worker.process.pid, signal.SIGSTOP)
        with ThreadPoolExecutor(1) as threads:
            body = {"argument": [{"region": "north"}]}
            path = f"/v1/datasets/visits/releases/{weights.release_id}/advance"
            told: Future[Any] = threads.submit(own.call, "ann", "POST", path, body)
            until(lambda: worker.reader.at_eof() or not worker.writer.transport.get_write_buffer_size(), "it was sent")
            os.kill(worker.process.pid, signal.SIGKILL)
            assert told.result().status_code == 503
    assert failed(own) == 1


def test_what_cannot_be_learned_is_refused_by_a_job_as_by_a_session(own: Running) -> None:
    with gt.connect(own.address, token=own.tokens["ann"]) as s:
        with pytest.raises(gt.errors.InvalidParameter):
            gt.learn.moments(s, ["reason"], mu="0.1")
        with pytest.raises(gt.errors.BudgetExceeded):
            gt.learn.moments(s, ["amount"], mu=50)
    assert charged(own) == []
