"""Running a service: start workers, then listen, over connections that cost little whoever is at the other end.

uvicorn waits for ever for the end of a header, and reads for ever what nobody wants. Here

- a request line and its headers have to arrive whole within `patience` seconds of the first byte, or of the connection;
- of a body that was refused unread, a little is read and thrown away, so that the refusal arrives; then it is cut;
- a response of which the other side takes nothing in `patience` seconds is cut; whoever takes it slowly gets all of it;
- more connections than the service has room for, in all or from one address, are refused at once;
- a request that says in two ways where its body ends is refused, and its connection closed (RFC 9112, 6.1).

The time for a body is kept by the guard, which reads it. When a service stops, requests under way are finished first.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import resource
import signal
import socket
import struct
import sys
import termios
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol

from giveortake.errors import NotFound
from giveortake.server.application import ROUTES, Application, Log
from giveortake.server.console.login import page_refusal
from giveortake.server.limits import InFlight
from giveortake.server.responses import SAFE, refusal_bytes
from giveortake.server.service import Service
from giveortake.wire.errors import BY_NAME

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Container

    from giveortake.server.settings import Settings
    from giveortake.wire.errors import Cause


_LONGEST_HEAD = 16 * 1024  # bytes of a request line and its headers
_THROWN_AWAY = 1 << 20  # bytes of a body that was refused
_AT_ONCE = struct.pack("ii", 1, 0)  # for SO_LINGER: the system keeps nothing of what was not taken either
_ALL = ""  # the name under which all connections are counted

_TWO_ENDS = frozenset({b"content-length", b"transfer-encoding"})


class _OneEnd(h11.Connection):
    """A connection on which no other reader, such as a proxy, can take a part of a body for the next request."""

    bytes_written = 0  # bytes that were handed to the transport

    def send(self, event: Any) -> Any:  # (of several types, as h11 has it)
        output = super().send(event)
        self.bytes_written += len(output or b"")
        return output

    def next_event(self) -> Any:  # (of many types, as h11 has it)
        event = super().next_event()
        if isinstance(event, h11.Request) and _TWO_ENDS.issubset(name for name, _ in event.headers):
            raise h11.RemoteProtocolError("a body with two ends")
        return event


class PatientProtocol(H11Protocol):
    """The HTTP/1.1 protocol of uvicorn, with limits of time and number."""

    patience = 10.0
    everybody = InFlight(1000)
    of_address = InFlight(100)
    proxies: Container[str] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn: _OneEnd = _OneEnd(h11.SERVER, _LONGEST_HEAD)
        self._counted: list[tuple[InFlight, str]] = []
        self._head: asyncio.TimerHandle | None = None
        self._rest: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._thrown_away = 0

    def connection_made(self, transport: Any) -> None:  # (a transport of asyncio, as uvicorn narrows it)
        super().connection_made(transport)
        address = "?" if self.client is None else self.client[0]
        limits = [(self.everybody, _ALL), (self.of_address, address)]
        for limit, name in limits[:1] if address in self.proxies else limits:
            if not limit.enters(name):
                self._refuse(BY_NAME["overloaded"])
                return
            self._counted.append((limit, name))
        self._await_head()

    def data_received(self, data: bytes) -> None:
        if self._between_requests:
            self._await_head()
        elif self.cycle.response_complete:
            self._thrown_away += len(data)
            if self._thrown_away > _THROWN_AWAY:
                self.transport.abort()
                return
        super().data_received(data)

    def handle_events(self) -> None:
        super().handle_events()
        if not self._between_requests:
            self._head = _cancelled(self._head)
        if self.conn.their_state is not h11.SEND_BODY:
            self._rest = _cancelled(self._rest)

    def on_response_complete(self) -> None:
        if self.conn.their_state is h11.SEND_BODY and self._rest is None:
            self._thrown_away = 0
            self._rest = self.loop.call_later(self.patience, self.transport.abort)
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head, self._rest, self._writing = map(_cancelled, (self._head, self._rest, self._writing))
        for limit, name in self._counted:
            limit.leaves(name)
        self._counted.clear()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse in the shape of all refusals, without uvicorn's words."""
        self._refuse(BY_NAME["malformed"], "this is not a valid HTTP/1.1 request")

    def _refuse(self, cause: Cause, message: str | None = None) -> None:
        """Refuse before there is a request that could be answered, and close the connection."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            headers, body = refusal_bytes(cause, message)
            all_headers = [*self.server_state.default_headers, *headers, (b"connection", b"close")]
            reason = HTTPStatus(cause.status).phrase.encode()
            event = h11.Response(status_code=cause.status, headers=all_headers, reason=reason)
            for part in (event, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(part) or b"")
        self.transport.close()
        self._watch()

    # -- what the other side does not take -----------------------------------------------------------------------

    def _watch(self) -> None:
        """While something waits to be sent, look after each `patience` whether any of it was taken."""
        if self._writing is None and self.transport.get_write_buffer_size():
            self._writing = self.loop.call_later(self.patience, self._look, self._taken())

    def _look(self, before: int) -> None:
        self._writing = _cancelled(self._writing)
        if self._taken() > before:
            self._watch()
        elif self.transport.get_write_buffer_size():
            with suppress(OSError):
                self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
            self.transport.abort()

    def _taken(self) -> int:
        """How many bytes the other side has acknowledged: those that neither we nor the system hold any more."""
        waiting = self.transport.get_write_buffer_size()
        with suppress(OSError, ValueError):  # not on every platform, nor once it is closed
            queue = fcntl.ioctl(self.transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
            waiting += int(struct.unpack("i", queue)[0])
        return self.conn.bytes_written - waiting

    @property
    def _between_requests(self) -> bool:
        return self.conn.their_state is h11.IDLE

    def _await_head(self) -> None:
        if self._head is None:
            self._head = self.loop.call_later(self.patience, self.transport.abort)


def protocol(settings: Settings) -> type[PatientProtocol]:
    """The protocol of one service, with its limits. Proxies that are trusted are no client of their own."""
    limits = {
        "patience": settings.patience,
        "everybody": InFlight(settings.connections),
        "of_address": InFlight(settings.connections_per_address),
        "proxies": ProxyHeadersMiddleware(_nobody, list(settings.proxies)).trusted_hosts,
    }
    return type("Protocol", (PatientProtocol,), limits)


async def _nobody(*_: Any) -> None:
    """Never called: the middleware only tells which hosts uvicorn trusts."""


def _cancelled(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    """Cancel a timer, and return None."""
    if timer is not None:
        timer.cancel()
    return None


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
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, stop.set)
    async with running(settings) as (address, _):
        announce(address)
        await stop.wait()


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[tuple[str, Service]]:
    """Run a service as long as the block lasts; yield its address and itself."""
    service, log = Service.from_settings(settings), Log(settings.log)

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
                raise _unusable_address(settings, serving.exception())
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
        raise _unusable_address(settings, error) from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(family[4])
    except OSError as error:
        listening.close()
        raise _unusable_address(settings, error) from None
    return listening


def _unusable_address(settings: Settings, error: BaseException | None) -> NotFound:
    """The error for an address that cannot be listened at; a port that is taken has a hint of its own."""
    why = error.strerror if isinstance(error, OSError) else type(error).__name__
    hint = "--host is an address of this machine, 127.0.0.1 unless stated"
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        hint = "a service may be running there already; --port 0 takes a free port"
    return NotFound(f"cannot listen at {settings.host}:{settings.port}: {why}", hint=hint)
