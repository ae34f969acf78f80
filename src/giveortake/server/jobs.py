"""Jobs: fits and syntheses, each in a process of its own, with a deadline for each of its steps.

A job is found by its data set, asker, key and request: the same POST joins the job that runs, or goes on where a killed
worker, a dropped connection or a restart of the service has left it. There is no table of jobs: what is charged and
drawn is in the ledger. A job that takes longer than a request may wait says how far it is, with the status 202.

Guarantee: a process that is lost in the middle of a step is counted as a failure before the step is executed again
(`ledger.begin_again`); one that the service ends between two steps is not, since no row decides that moment. Nobody is
told of either but by the time that it takes, which has a pace where the data set has one.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, final

from giveortake.ledger.reservations import beat
from giveortake.server.responses import Refusal
from giveortake.server.workers.framing import packed, read
from giveortake.server.workers.pool import Worker, WorkerFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.server.settings import Settings

Sent: TypeAlias = "tuple[dict[str, Any], bytes]"
_LONG = ("fit", "synthesis")  # kinds of requests
_ATTEMPTS = 3  # without a new step
_FORGOTTEN_IN = 60.0  # seconds for which a result is there for whoever has waited
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
    """One job: how many steps it has taken here, and what it gives."""

    caller: str
    steps: int = 0
    task: asyncio.Task[Sent] | None = None
    worker: Worker | None = None


@final
@dataclass(slots=True)
class Jobs:
    """The jobs that run now. At most `settings.jobs` of them have a process; the others wait for one."""

    settings: Settings
    on_loss: Callable[[str], None]
    _jobs: dict[tuple[str, ...], Job] = field(default_factory=dict, repr=False)
    _free: asyncio.Semaphore = field(init=False, repr=False)
    _is_stopping: bool = False

    def __post_init__(self) -> None:
        self._free = asyncio.Semaphore(self.settings.jobs)

    @property
    def running(self) -> list[Job]:
        """The jobs that have a process now."""
        return [job for job in self._jobs.values() if job.worker is not None]

    async def ask(self, dataset: str, caller: str, request: dict[str, Any]) -> Sent | int:
        """What a job gives; the number of its steps so far if it takes longer than a request may wait."""
        digest = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
        name = (dataset, caller, digest)
        job = self._jobs.get(name)
        if job is None:
            if self._is_stopping:
                raise Refusal("draining")
            if sum(other.caller == caller for other in self._jobs.values()) >= self.settings.waiting:
                raise Refusal("too_many")
            job = self._jobs[name] = Job(caller)
            job.task = asyncio.ensure_future(self._run(job, dataset, request))
            job.task.add_done_callback(lambda _: self._forget_later(name, job))
        assert job.task is not None  # noqa: S101 (just begun, or before)
        await asyncio.wait({job.task}, timeout=self.settings.patience)
        if not job.task.done():
            return job.steps
        self._forget(name, job)
        return job.task.result()

    def _forget_later(self, name: tuple[str, ...], job: Job) -> None:
        """Nobody may come for the result, which is in the ledger."""
        asyncio.get_running_loop().call_later(_FORGOTTEN_IN, self._forget, name, job)

    def _forget(self, name: tuple[str, ...], job: Job) -> None:
        if self._jobs.get(name) is job:
            del self._jobs[name]

    async def _run(self, job: Job, dataset: str, request: dict[str, Any]) -> Sent:
        attempts, pace = 0, self.settings.latency.get(dataset)
        async with self._free:
            while True:
                before, started = job.steps, time.monotonic()
                try:
                    return await self._attempt(job, dataset, request)
                except (EOFError, OSError, TimeoutError, WorkerFailed) as error:
                    lost = "deadline" if isinstance(error, TimeoutError) else "worker_lost"
                if self._is_stopping:
                    raise Refusal("draining")
                if pace is not None:
                    await asyncio.sleep(beat(started, time.monotonic(), pace) - time.monotonic())
                self.on_loss(f"{dataset}: job: {lost}")
                attempts = 1 if job.steps > before else attempts + 1
                if attempts >= _ATTEMPTS:
                    raise Refusal(lost)

    async def _attempt(self, job: Job, dataset: str, request: dict[str, Any]) -> Sent:
        """One process, from where the ledger has the job; the deadline begins anew with each stored step."""
        job.worker = worker = await Worker.start({**self.settings.session_task(dataset), "is_job": True})
        try:
            worker.writer.write(packed(request))
            await worker.writer.drain()
            while True:
                async with asyncio.timeout(self.settings.seconds):
                    document, content = await read(worker.reader)
                if "step" not in document:
                    break
                job.steps += 1
        finally:
            job.worker = None
            await worker.end()
        if "refused" in document:
            defect = bool(document.get("defect"))
            raise Refusal(document["refused"], document["document"], why=document.get("why"), defect=defect)
        if "stale" in document:
            raise Refusal("overloaded")  # the table has a new version, which the next attempt opens
        return document["result"], content

    async def close(self) -> None:
        """Let every job store the step that it is in, and stop there: whoever asks again goes on after it."""
        self._is_stopping = True
        running = [job for job in self._jobs.values() if job.task is not None and not job.task.done()]
        for job in running:
            if job.worker is not None:
                with suppress(ProcessLookupError):
                    job.worker.process.send_signal(signal.SIGTERM)
        tasks = {job.task for job in running if job.task is not None}
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_PAUSED_IN)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
