"""Jobs: fits and syntheses, each in a process of its own, with a deadline for each of its steps.

A job is found by its data set, asker, key and request: the same POST joins the job that runs, or goes on where a killed
worker, a dropped connection or a restart of the service has left it. There is no table of jobs: what is charged and
drawn is in the ledger. A job that takes longer than a request may wait says how far it is, with the status 202.

Guarantee: a process that is lost in the middle of a step is counted as a failure before the step is executed again
(`ledger.begin_again`); one that the service ends between two steps is not, since no row decides that moment. Nobody is
told of either but by the time that it takes, which has a pace where the data set has one. A process that crashes by
itself is a defect, which ends the job and the allowance of its asker: one row may decide it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias, final

from giveortake.ledger.reservations import beat
from giveortake.server.responses import Refusal
from giveortake.server.workers.framing import packed, read
from giveortake.server.workers.pool import Worker, WorkerFailed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from giveortake.server.settings import Settings

Result: TypeAlias = "tuple[dict[str, Any], bytes]"
ENDED = frozenset({"deadline", "worker_lost", "internal"})  # after which no worker has said that it failed
_LONG = ("fit", "synthesis")  # kinds of requests
_ATTEMPTS = 3  # without a new step
_FORGOTTEN_IN = 60.0  # seconds for which a result is there for whoever has waited
_ENDED_IN = 5.0  # seconds in which a process that closed its connection is over
_PAUSED_IN = 10.0  # seconds in which a step that was begun may still be stored when the service stops


def is_long(arguments: dict[str, Any]) -> bool:
    """Whether a request that is charged is a job: a fit or a synthesis."""
    wanted = arguments.get("wanted", {}).get("request")
    if arguments.get("key") is None or wanted is None:
        return False
    if isinstance(wanted, str):
        with suppress(ValueError, RecursionError):
            wanted = json.loads(wanted)
    return isinstance(wanted, dict) and wanted.get("kind") in _LONG


@final
@dataclass(slots=True, eq=False)
class Job:
    """One job: its request, how many steps it has taken here, and what it gives."""

    caller: str
    request: dict[str, Any]
    steps: int = 0
    task: asyncio.Task[Result] | None = None
    worker: Worker | None = None
    is_yielding: bool = False


@final
@dataclass(slots=True)
class Jobs:
    """The jobs that run now. At most `settings.jobs` of them have a process, and the others wait for one.

    Who has had a process for as long as a request may take, while others wait, stops between two steps and goes on
    after them.
    """

    settings: Settings
    on_loss: Callable[[str], None]
    count_failure: Callable[..., Awaitable[None]]
    _jobs: dict[tuple[str, ...], Job] = field(default_factory=dict, repr=False)
    _free: asyncio.Semaphore = field(init=False, repr=False)
    _waiting: int = 0
    _is_stopping: bool = False

    def __post_init__(self) -> None:
        self._free = asyncio.Semaphore(self.settings.jobs)

    @property
    def running(self) -> list[Job]:
        """The jobs that have a process now."""
        return [job for job in self._jobs.values() if job.worker is not None]

    async def ask(self, dataset: str, caller: str, request: dict[str, Any]) -> Result | int:
        """What a job gives; the number of its steps so far if it takes longer than a request may wait.

        The same under another key, or in another format, waits for the first and then finds what that has stored.
        """
        same = {name: value for name, value in request.items() if name not in {"key", "format"}}
        digest = hashlib.sha256(json.dumps(same, sort_keys=True).encode()).hexdigest()
        name = (dataset, caller, digest)
        until = time.monotonic() + self.settings.patience
        while True:
            job = self._jobs.get(name) or self._begin(name, dataset, caller, request)
            assert job.task is not None  # noqa: S101 (just begun, or before)
            await asyncio.wait({job.task}, timeout=max(0.0, until - time.monotonic()))
            if not job.task.done():
                return job.steps
            self._forget(name, job)
            if job.request == request:
                return job.task.result()

    def _begin(self, name: tuple[str, ...], dataset: str, caller: str, request: dict[str, Any]) -> Job:
        if self._is_stopping:
            raise Refusal("draining")
        if sum(other.caller == caller for other in self._jobs.values()) >= self.settings.waiting:
            raise Refusal("too_many")
        job = self._jobs[name] = Job(caller, request)
        job.task = asyncio.ensure_future(self._run(job, dataset))
        job.task.add_done_callback(lambda task: self._keep(name, job, task))
        return job

    def _keep(self, name: tuple[str, ...], job: Job, task: asyncio.Task[Result]) -> None:
        """Keep the result for a while: nobody may come for it, and it is in the ledger."""
        if not task.cancelled():
            task.exception()  # was counted, and is told to whoever comes
        asyncio.get_running_loop().call_later(_FORGOTTEN_IN, self._forget, name, job)

    def _forget(self, name: tuple[str, ...], job: Job) -> None:
        if self._jobs.get(name) is job:
            del self._jobs[name]

    async def _run(self, job: Job, dataset: str) -> Result:
        """Run a job to its end; what it fails by is counted before anybody is told."""
        started = datetime.now(UTC)
        try:
            while True:
                self._waiting += 1
                try:
                    await self._free.acquire()
                finally:
                    self._waiting -= 1
                try:
                    result = await self._turn(job, dataset)
                finally:
                    self._free.release()
                if result is not None:
                    return result
        except Refusal as refused:
            if refused.cause.name in ENDED:
                analyst, key = job.request["analyst"], job.request["key"]
                await asyncio.shield(self.count_failure(analyst, key, started, defect=refused.defect))
            raise

    async def _turn(self, job: Job, dataset: str) -> Result | None:
        """Go on with a job; None if it has stopped for others who wait."""
        attempts, pace = 0, self.settings.latency.get(dataset)
        while True:
            before, started, crashed = job.steps, time.monotonic(), False
            try:
                return await self._attempt(job, dataset)
            except TimeoutError:
                lost = "deadline"
            except _Crashed:
                lost, crashed = "worker_lost", True
            except (EOFError, OSError, WorkerFailed):
                lost = "worker_lost"
            except Refusal as refused:
                if refused.cause.name == "internal":
                    await self._keep_pace(started, pace)
                raise
            if self._is_stopping:
                raise Refusal("draining")
            await self._keep_pace(started, pace)
            self.on_loss(f"{dataset}: job: {lost}")
            attempts = 1 if job.steps > before else attempts + 1
            if crashed or attempts >= _ATTEMPTS:
                raise Refusal(lost, defect=crashed)

    async def _keep_pace(self, started: float, pace: float | None) -> None:
        if pace is not None:
            await asyncio.sleep(beat(started, time.monotonic(), pace) - time.monotonic())

    async def _attempt(self, job: Job, dataset: str) -> Result | None:
        """One process, from where the ledger has the job; the deadline begins anew with each stored step."""
        job.worker = worker = await Worker.start({**self.settings.session_task(dataset), "is_job": True})
        started, job.is_yielding = time.monotonic(), False
        try:
            worker.writer.write(packed(job.request))
            await worker.writer.drain()
            while True:
                async with asyncio.timeout(self.settings.seconds):
                    document, content = await read(worker.reader)
                if "step" not in document:
                    break
                job.steps += 1
                if self._waiting and not job.is_yielding and time.monotonic() > started + self.settings.seconds:
                    job.is_yielding = True
                    self._pause(job)
        except (EOFError, OSError) as error:
            await asyncio.wait({worker.gone}, timeout=_ENDED_IN)
            if worker.has_crashed:
                raise _Crashed from error
            raise
        finally:
            job.worker = None
            await worker.end()
        if job.is_yielding and document.get("refused") == "overloaded":
            return None
        if "refused" in document:
            defect = bool(document.get("defect"))
            raise Refusal(document["refused"], document["document"], why=document.get("why"), defect=defect)
        if "stale" in document:
            raise Refusal("overloaded")  # the table has a new version, which the next attempt opens
        return document["result"], content

    @staticmethod
    def _pause(job: Job) -> None:
        """Let the process stop after the step that it is in, which is stored."""
        if job.worker is not None:
            with suppress(ProcessLookupError):
                job.worker.process.send_signal(signal.SIGTERM)

    async def close(self) -> None:
        """Let every job store the step that it is in, and stop there: whoever asks again goes on after it."""
        self._is_stopping = True
        running = [job for job in self._jobs.values() if job.task is not None and not job.task.done()]
        for job in running:
            self._pause(job)
        tasks = {job.task for job in running if job.task is not None}
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_PAUSED_IN)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


class _Crashed(Exception):
    """A process ended by itself."""
