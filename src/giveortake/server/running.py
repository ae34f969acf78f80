"""Running a service: start workers, then listen; when it stops, requests under way are finished first."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import socket
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import uvicorn

from giveortake.errors import NotFound
from giveortake.server.application import Application
from giveortake.server.connections import protocol
from giveortake.server.console.entrance import page_refusal
from giveortake.server.log import Log
from giveortake.server.refusals import SAFE
from giveortake.server.route_table import ROUTES
from giveortake.server.service import Service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from giveortake.server.settings import Settings

_DESCRIPTORS = 1 << 16  # far above the connections that may be open, where the system allows it
_DRAINED_IN = 30  # seconds for requests under way when the service is asked to stop


def serve(settings: Settings, *, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C; `announce` is called with the address once questions can come."""
    os.umask(0o077)  # nobody else reads what is written here
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a picture of the memory would hold tokens
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, _DESCRIPTORS)), hard))
    asyncio.run(_until_stopped(settings, announce))


async def _until_stopped(settings: Settings, announce: Callable[[str], None]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop.set)
    async with running(settings) as (address, _):
        announce(address)
        await stop.wait()


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[tuple[str, Service]]:
    """Run a service as long as the block lasts; yield its address and itself."""
    service, log = Service.of(settings), Log(settings.log)

    def warn(words: str) -> None:
        sys.stderr.write(f"giveortake: {words}\n")
        log.say("trouble", why=words)

    service.warn = warn
    listening = _listening(settings)
    try:
        await service.open()
        server = _Server(_config(settings, Application(service, ROUTES, log, page_refusal=page_refusal)))
        serving = asyncio.ensure_future(server.serve(sockets=[listening]))
        try:
            while not server.started and not serving.done():
                await asyncio.sleep(0.01)
            if serving.done():  # another service, bound at the same time, listens there by now
                raise _taken(settings, serving.exception())
            host, port = listening.getsockname()[:2]
            log.say("started", datasets=list(settings.datasets))
            yield f"http://{f'[{host}]' if ':' in host else host}:{port}", service
        finally:
            log.say("stopping")
            service.draining = True
            server.should_exit = True
            with suppress(OSError):  # which was raised above
                await serving
    finally:
        await service.close()
        log.close()
        listening.close()


class _Server(uvicorn.Server):
    """The server of uvicorn without its signal handling: signals are handled above."""

    def capture_signals(self) -> object:  # type: ignore[override]  # (a context that does nothing)
        from contextlib import nullcontext  # noqa: PLC0415 (here alone)

        return nullcontext()


def _config(settings: Settings, application: Application) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        http=protocol(settings),
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        access_log=False,
        server_header=False,
        headers=[(name.decode(), value.decode()) for name, value in SAFE],
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies),
        timeout_keep_alive=max(1, int(settings.patience)),
        timeout_graceful_shutdown=_DRAINED_IN,
        limit_concurrency=None,
    )


def _listening(settings: Settings) -> socket.socket:
    """Bind the socket before anything is loaded, so that an address in use is reported at once."""
    try:
        family = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family[0], socket.SOCK_STREAM)
    except OSError as error:
        raise _taken(settings, error) from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(family[4])
    except OSError as error:
        listening.close()
        raise _taken(settings, error) from None
    return listening


def _taken(settings: Settings, error: BaseException | None) -> NotFound:
    why = error.strerror if isinstance(error, OSError) else type(error).__name__
    return NotFound(f"cannot listen at {settings.host}:{settings.port}: {why}", hint="--port 0 takes a free one")
