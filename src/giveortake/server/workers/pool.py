"""Pools of processes for one data set or for the ledger: they have a deadline, are killed, and are replaced."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, final

from giveortake.engines.runtime import ScratchFolder
from giveortake.errors import GiveOrTakeError
from giveortake.ledger.reservations import beat
from giveortake.server.limits import Turns, Work
from giveortake.server.responses import Refusal
from giveortake.server.workers.framing import packed, read

if TYPE_CHECKING:
    from collections.abc import Callable


_STARTED_IN = 600.0  # seconds, for loading a large table
_CLOSED_IN = 5.0  # seconds in which a worker that is asked nothing more closes what it has opened
_LONGEST_PAUSE = 30.0  # seconds between attempts to start one
_KILLED = (-signal.SIGKILL, -signal.SIGTERM)  # from outside, as for memory; any other end is a crash of its own
_LOST = {"deadline": "{}: deadline", "worker_lost": "{}: lost", "cancelled": "cancelled"}  # and what the log says


@final
class WorkerFailed(GiveOrTakeError):
    """A worker could not be started; the message is that of its own error."""


@final
@dataclass(slots=True, eq=False)
class Worker:
    """The front's connection to one worker process, and the folder for all that it writes while it lives.

    Guarantee: the folder is removed when the process ends, however it ends. What a front leaves that is killed with
    its workers is removed by the next start.
    """

    process: asyncio.subprocess.Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    gone: asyncio.Task[None]  # which waits until the process has ended, and removes its folder

    @classmethod
    async def start(cls, task: dict[str, Any]) -> Self:
        """Start a process and wait until it is ready; no thread, lock or memory of the front is copied into it.

        Whoever gives up meanwhile leaves no process behind: the connection is there before the process is, and
        nothing is waited for between the start of the process and what ends it.
        """
        scratch = ScratchFolder(sweep=False)
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                reader, writer = await asyncio.open_connection(sock=ours)
            except BaseException:
                ours.close()
                scratch.remove()
                raise
            try:
                process = await asyncio.create_subprocess_exec(  # which ends what it has begun, if it is cancelled
                    *(sys.executable, "-m", "giveortake.server.workers.worker"),
                    stdin=theirs.fileno(),
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.DEVNULL,
                    env={**os.environ, "TMPDIR": str(scratch.path)},
                    pass_fds=(scratch.lock,),
                )
            except BaseException:
                writer.close()
                scratch.remove()
                raise
        worker = cls(process, reader, writer, asyncio.ensure_future(_gone(process, scratch)))
        try:
            async with asyncio.timeout(_STARTED_IN):
                document = await worker._exchange(task)
        except (EOFError, OSError, TimeoutError):
            await worker.end()
            raise WorkerFailed("a worker did not start", hint="is its memory enough for the table?") from None
        except BaseException:
            await worker.end()
            raise
        if "failed" in document[0]:
            await worker.end()
            failed = document[0]["failed"]
            raise WorkerFailed(failed["message"], hint=failed["hint"])
        return worker

    async def ask(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Send a request, and return the reply; EOFError if the worker is gone."""
        return await self._exchange(request)

    async def _exchange(self, document: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        self.writer.write(packed(document))
        await self.writer.drain()
        return await read(self.reader)

    @property
    def has_crashed(self) -> bool:
        """Whether the process ended by itself: nobody killed it, as for memory, so that a row may have decided it."""
        return self.process.returncode not in {None, *_KILLED}

    async def end(self) -> None:
        """Kill the process, and wait until it and its folder are gone, even if cancelled; nothing is lost by that."""
        with suppress(ProcessLookupError):
            self.process.kill()
        self.writer.close()
        try:
            await asyncio.shield(self.gone)
        except asyncio.CancelledError:
            await self.gone
            raise

    async def close(self) -> None:
        """Let the process finish and close what it has opened; kill it if that takes long."""
        self.writer.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSED_IN):
                await asyncio.shield(self.gone)
        await self.end()


async def _gone(process: asyncio.subprocess.Process, scratch: ScratchFolder) -> None:
    await process.wait()
    await asyncio.to_thread(scratch.remove)


@final
@dataclass(slots=True)
class Pool:
    """Workers that do the same; some of them, the spares, wait to replace one that is lost.

    Guarantee: whatever becomes of a worker, a question that was charged stays charged, once, and its answer is drawn
    once: reserve, draw and settle are all done in the worker, by the ledger's rules, and whoever asks again with the
    same key finds what the ledger holds. Nothing is asked twice by the pool itself, but for what a worker has not begun
    because it holds an older version of the table: it is replaced by one that opens the table anew.

    With a `pace`, the loss or failure of a worker is noticed on a beat alone, (k − ½)·pace after it was asked: rows may
    decide when it died, and whoever waits for a worker, or asks whether there is one, must not learn that. One that is
    too slow is ended at its deadline, and its loss is noticed on the next beat.
    """

    name: str
    task: dict[str, Any]
    workers: int
    spares: int
    deadline: float
    waiting: int = 64  # requests of one caller
    on_loss: Callable[[str], None] = lambda _why: None
    on_problem: Callable[[str], None] = lambda _why: None  # in words for the custodian
    pace: float | None = None
    _idle: asyncio.Queue[Worker] = field(default_factory=asyncio.Queue, repr=False)
    _warm: list[Worker] = field(default_factory=list, repr=False)
    _all: set[Worker] = field(default_factory=set, repr=False)
    _starting: set[asyncio.Task[None]] = field(default_factory=set, repr=False)
    _turns: Turns = field(init=False, repr=False)
    _closed: bool = False

    def __post_init__(self) -> None:
        self._turns = Turns(self._idle, self.workers, self.waiting)

    async def open(self, first: Worker | None = None) -> None:
        """Start the first worker, unless it is given, and raise if that fails; start the others in the background."""
        self._add(await Worker.start(self.task) if first is None else first)
        for _ in range(self.workers - 1 + self.spares):
            self._start_one()

    @property
    def working(self) -> tuple[Worker, ...]:
        """The workers that are in use or next in turn, without the spares."""
        return tuple(worker for worker in self._all if worker not in self._warm)

    @property
    def is_ready(self) -> bool:
        """Whether there is a worker that is no spare, busy or not."""
        return len(self._all) > len(self._warm)

    async def ask(
        self, operation: str, *, work: Work | None = None, slow: bool = False, **arguments: Any
    ) -> tuple[dict[str, Any], bytes]:
        """The reply of a free worker, in the caller's turn; without `work`, the service itself asks.

        What is slow leaves one worker, if there are several, to what is quick.
        """
        for _ in range(self.workers + self.spares + 1):  # all may hold an older version
            document, content = await self._ask_one(operation, work or Work(""), slow, arguments)
            if "stale" not in document:
                return document["result"], content
        raise Refusal("overloaded")

    async def _ask_one(
        self, operation: str, work: Work, slow: bool, arguments: dict[str, Any]
    ) -> tuple[dict[str, Any], bytes]:
        try:
            async with asyncio.timeout(self.deadline):
                worker = await self._free(work, slow)
        except TimeoutError:
            raise Refusal("overloaded") from None
        started = time.monotonic()
        try:
            document, content = await self._asked(worker, {"operation": operation, **arguments})
        finally:
            seconds = time.monotonic() - started
            work.seconds += seconds
            self._turns.end(work, slow=slow, seconds=seconds)
        if "refused" in document:
            if document["refused"] == "internal" or document.get("defect"):
                self.on_loss(f"{self.name}: {operation}: {document['kind']}")
                self.on_problem(f"{self.name}: {document['kind']}")
            if document.get("why"):
                self.on_problem(document["why"])
            defect = bool(document.get("defect"))
            raise Refusal(document["refused"], document["document"], why=document.get("why"), defect=defect)
        return document, content

    async def _free(self, work: Work, slow: bool) -> Worker:
        """A worker that is alive; one that died while idle is replaced, and the caller does not notice."""
        while True:
            worker = await self._turns.worker(work, slow=slow)
            if worker.process.returncode is None and not worker.reader.at_eof():
                return worker
            self._turns.end(work, slow=slow)
            await self._lose(worker, "was gone")

    async def _asked(self, worker: Worker, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        started, lost = time.monotonic(), ""
        reply: tuple[dict[str, Any], bytes] = {}, b""
        try:
            try:
                async with asyncio.timeout(self.deadline):
                    reply = await worker.ask(request)
            except TimeoutError:  # no row decides this moment, so it is ended now, before it writes anything more
                lost = "deadline"
                await worker.end()
            except (EOFError, OSError):
                lost = "worker_lost"
            except BaseException:  # nobody waits for its result any more
                lost = "cancelled"
                raise
            if lost or reply[0].get("refused") == "internal":
                await self._keep_pace(started)
        finally:
            if lost:
                await self._lose(worker, _LOST[lost].format(request["operation"]))
            elif reply[0].get("ends"):  # its state cannot be trusted: nobody else is to ask it
                await self._lose(worker, "another version" if "stale" in reply[0] else "ended")
            else:
                self._rest(worker)
        if lost:
            raise Refusal(lost, defect=lost == "worker_lost" and worker.has_crashed)
        return reply

    async def _keep_pace(self, started: float) -> None:
        if self.pace is not None:
            await asyncio.sleep(beat(started, time.monotonic(), self.pace) - time.monotonic())

    async def _lose(self, worker: Worker, why: str) -> None:
        self._all.discard(worker)
        self.on_loss(f"{self.name}: {why}")
        if self._warm:
            self._rest(self._warm.pop())
        self._start_one()
        await worker.end()

    def _start_one(self) -> None:
        if not self._closed:
            started = asyncio.get_running_loop().create_task(self._started())
            self._starting.add(started)
            started.add_done_callback(self._starting.discard)

    async def _started(self) -> None:
        pause = 0.5
        while not self._closed:
            try:
                worker = await Worker.start(self.task)
            except (WorkerFailed, OSError) as error:
                self.on_loss(f"{self.name}: start: {type(error).__name__}")
                self.on_problem(f"{self.name}: a worker does not start: {error}")
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
                continue
            if self._closed:
                await worker.end()
                return
            self._add(worker)
            return

    def _add(self, worker: Worker) -> None:
        self._all.add(worker)
        if len(self._all) - len(self._warm) > self.workers:
            self._warm.append(worker)
        else:
            self._rest(worker)

    def _rest(self, worker: Worker) -> None:
        self._idle.put_nowait(worker)
        self._turns.serve()

    async def close(self) -> None:
        """Close all workers."""
        self._closed = True
        for started in list(self._starting):
            started.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.gather(*(worker.close() for worker in self._all))
        self._all.clear()
