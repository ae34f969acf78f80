"""Services whose workers are forked from a process that has imported everything, and live 1 s of CPU earlier.

Each front starts its workers and clerks as it always does, but that a nursery beside it forks them. They belong into a
process of their own, which has no threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import select
import signal
import socket
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from giveortake.server.running import running
from giveortake.server.workers import pool, worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from giveortake.server.settings import Settings

LONGEST = 60.0  # seconds without an answer after which something hangs


def warm(ledger: str) -> None:
    """Import what workers need, before the first is forked."""
    for heavy in (
        "giveortake.server.workers.session_worker",
        "giveortake.server.workers.ledger_worker",
        "duckdb",
        "polars",
    ):
        import_module(heavy)
    if ledger.startswith("postgresql://"):
        import_module("giveortake.ledger.chain.postgres")


def begun(what: Callable[..., None], *arguments: Any) -> int:
    """A child that does something, and ends."""
    pid = os.fork()
    if pid:
        return pid
    code = 3
    try:
        what(*arguments)
        code = 0
    except pool.WorkerFailed:
        code = 1  # its first worker was killed
    except BaseException as error:  # noqa: BLE001 (a child)
        sys.stderr.write(f"{what.__name__}: {type(error).__name__}: {error}\n")
    finally:
        os._exit(code)


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def children(pid: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    except OSError:
        return []


def front(settings: Settings, address: Path) -> None:
    """Serve until killed; the file `address` says where, once questions can come."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if not os.fork():
        ours.close()
        with contextlib.suppress(OSError):  # the front is gone
            nursery(theirs)
        os._exit(0)
    theirs.close()

    async def start_worker(*_command: str, stdin: int, **_outputs: int) -> Process:
        socket.send_fds(ours, [b"."], [stdin])
        return Process(int(ours.recv(64)))

    vars(asyncio)["create_subprocess_exec"] = start_worker  # instead of spawning it

    async def serve() -> None:
        async with running(settings) as (where, _):
            written = Path(tempfile.mktemp(dir=address.parent))  # noqa: S306 (our own folder)
            written.write_text(where)
            written.rename(address)
            await asyncio.Event().wait()

    asyncio.run(serve())


def nursery(asked: socket.socket) -> None:
    """Fork a worker for each socket that comes, until the front is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        _, given, _, _ = socket.recv_fds(asked, 1, 1)
        if not given:
            return
        pid = os.fork()
        if not pid:
            asked.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(given[0], 0)
            os.close(given[0])
            os._exit(worker.main())
        os.close(given[0])
        asked.send(str(pid).encode())


class Process:
    """What a pool asks of the process of a worker, for one that is somebody else's child."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        try:
            self._watched = os.pidfd_open(pid)
        except ProcessLookupError:  # killed already
            self._watched = -1

    @property
    def returncode(self) -> int | None:
        if self._watched < 0 or select.select([self._watched], [], [], 0)[0]:
            return -signal.SIGKILL
        return None

    def kill(self) -> None:
        if self.returncode is None:
            signal.pidfd_send_signal(self._watched, signal.SIGKILL)

    async def wait(self) -> int | None:
        if self.returncode is None:  # the pool waits as long as the worker lives: nothing may be spent on that
            loop, ended = asyncio.get_running_loop(), asyncio.Event()
            loop.add_reader(self._watched, ended.set)
            try:
                await ended.wait()
            finally:
                loop.remove_reader(self._watched)
        if self._watched >= 0:
            os.close(self._watched)
            self._watched = -1
        return -signal.SIGKILL


def reply_of(
    address: Path, token: str, method: str, path: str, body: dict[str, Any] | None = None
) -> tuple[int, dict[str, Any]]:
    """The status of a reply and the document; 0 if nobody is there, or somebody was."""
    try:
        place = urlsplit(address.read_text())
        connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=LONGEST)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())
    except (OSError, http.client.HTTPException, ValueError):
        return 0, {}
