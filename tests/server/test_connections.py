"""Connections: whoever reads nothing is cut, whoever reads slowly is not, and nobody takes all of them."""

from __future__ import annotations

import asyncio
import json
import select
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import uvicorn

from demo_service import COUNT
from giveortake.server.responses import SAFE
from giveortake.server.running import protocol
from giveortake.server.settings import Settings
from waiting import LONGEST, until_async

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from demo_service import Running
    from giveortake.server.running import PatientProtocol

REQUEST = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
BODY = bytes(range(256)) * 64
Place = tuple[str, int]


def narrow(place: Place) -> socket.socket:
    """A connection whose own side holds almost nothing that was not read."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    connection.settimeout(LONGEST)
    connection.connect(place)
    connection.setblocking(False)
    return connection


def is_cut(connection: socket.socket) -> bool:
    """Whether the other side has given up, while nothing is read here."""
    watched = select.poll()
    watched.register(connection, 0)  # errors alone
    return bool(watched.poll(0))


async def application(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"16384")]})
    await send({"type": "http.response.body", "body": BODY})


@asynccontextmanager
async def serving(kind: type[PatientProtocol]) -> AsyncIterator[Place]:
    """A server of this protocol, whose connections hold little in the system, as where many share its memory."""
    config = uvicorn.Config(application, http=kind, ws="none", lifespan="off", log_config=None)
    server, listening = uvicorn.Server(config), socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    running = asyncio.create_task(server.serve(sockets=[listening]))
    await until_async(lambda: server.started, "the server listens")
    yield listening.getsockname()
    server.should_exit = True
    await running


async def rest(connection: socket.socket) -> bytes:
    """Whatever comes until the other side closes."""
    loop, content = asyncio.get_running_loop(), b""
    try:
        while part := await loop.sock_recv(connection, 1 << 16):
            content += part
    except ConnectionError:
        pass
    connection.close()
    return content


def test_responses_that_nobody_reads_are_cut_and_so_are_headers_that_never_end(tmp_path: Path) -> None:
    """Each response is below what the server would pause at."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        async with serving(protocol(Settings(tmp_path, (), "", patience=0.05))) as place:
            unread = [narrow(place) for _ in range(20)]
            for connection in unread:
                await loop.sock_sendall(connection, REQUEST)
            for begun in (b"", b"GET / HTTP/1.1\r\nHost: here\r\nX-Slow: "):
                slow = narrow(place)
                await loop.sock_sendall(slow, begun)
                assert await rest(slow) == b""  # which returns, because the other side closes
            await until_async(lambda: all(map(is_cut, unread)), "all are cut")
            for connection in unread:
                connection.close()

    asyncio.run(run())


def test_whoever_reads_slowly_gets_everything_and_is_cut_only_after_reading_nothing(tmp_path: Path) -> None:
    """The server looks whenever this test says, always after something was read: no clock decides."""
    connections: list[PatientProtocol] = []
    kind = protocol(Settings(tmp_path, (), "", patience=10 * LONGEST))

    class Recorded(kind):  # type: ignore[misc, valid-type]
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            connections.append(self)

    async def run() -> tuple[bytes, bool]:
        loop, content = asyncio.get_running_loop(), b""
        async with serving(Recorded) as place:
            reader = narrow(place)
            await loop.sock_sendall(reader, REQUEST)
            await until_async(lambda: connections and connections[0]._writing is not None, "something waits to be read")
            (connection,) = connections
            unsent = connection.transport.get_write_buffer_size
            while unsent():
                before = connection._taken()
                content += await loop.sock_recv(reader, 1 << 16)
                if unsent():
                    await until_async(lambda: connection._taken() > before, "more is taken")  # noqa: B023 (at once)
                    connection._look(before)
            while len(content.partition(b"\r\n\r\n")[2]) < len(BODY):
                content += await loop.sock_recv(reader, 1 << 16)
            await loop.sock_sendall(reader, REQUEST)
            await until_async(lambda: connection._writing is not None, "something waits to be read again")
            taken = connection._taken

            def looked() -> bool:
                """Whether it is cut by a look since which nothing was taken: what the system holds is taken first."""
                connection._look(looks[-1])
                looks.append(taken())
                return connection.transport.is_closing()

            looks = [-1]
            await until_async(looked, "it is cut")
            reader.close()
            return content.partition(b"\r\n\r\n")[2], looks[-2] > -1

    content, looked_twice = asyncio.run(run())
    assert content == BODY
    assert looked_twice


def test_one_address_has_a_part_of_the_connections_and_all_have_an_end(tmp_path: Path) -> None:
    kind = protocol(Settings(tmp_path, (), "", patience=LONGEST, connections=6, connections_per_address=4))

    async def run() -> None:
        async def opened(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            reader, writer = await asyncio.open_connection(*place, local_addr=(address, 0))
            writer.write(REQUEST)
            return reader, writer

        async def status(address: str) -> tuple[int, asyncio.StreamReader, asyncio.StreamWriter]:
            reader, writer = await opened(address)
            return int((await reader.readuntil(b"\r\n\r\n")).split()[1]), reader, writer

        async def open_one(address: str) -> asyncio.StreamWriter:
            """A connection that counts: it is answered, and stays open."""
            code, _, writer = await status(address)
            assert code == 200
            return writer

        async with serving(kind) as place:
            many = [await open_one("127.0.0.1") for _ in range(4)]
            code, reader, writer = await status("127.0.0.1")
            assert (code, json.loads(await reader.read())["error"]["cause"]) == (503, "overloaded")
            writer.close()
            many += [await open_one("127.0.0.2") for _ in range(2)]
            code, _, writer = await status("127.0.0.3")
            assert code == 503
            writer.close()
            many.pop(0).close()
            await until_async(lambda: kind.everybody.enters(""), "the server has seen that one is closed")
            kind.everybody.leaves("")
            many.append(await open_one("127.0.0.1"))
            for each in many:
                each.close()

    asyncio.run(run())


def test_a_trusted_proxy_is_not_one_client(tmp_path: Path) -> None:
    kind = protocol(Settings(tmp_path, (), "", proxies=("10.0.0.0/8", "192.0.2.1")))
    assert [address in kind.proxies for address in ("10.1.2.3", "192.0.2.1", "192.0.2.2")] == [True, True, False]


PAGES = [
    *((None, "/health/live", 200), ("ann", "/v1/openapi.json", 200), (None, "/login", 200)),
    *((None, "/static/console.css", 200), (None, "/static/nothing", 404), (None, "/v1/me", 401), (None, "/", 303)),
    *(("ann", "/", 200), ("ann", "/v1/me", 200), ("ann", "/v1/datasets/visits", 200), ("ann", "/v1/nothing", 404)),
    *(("ann", "/v1/tokens", 403), ("custodian", "/metrics", 200), ("ann", "/v1/me?x=1", 400)),
]


def test_every_response_has_the_headers_that_keep_browsers_safe(service: Running) -> None:
    for who, path, status in PAGES:
        reply = service.call(who, "GET", path, headers={"accept": "text/html"} if path == "/" else {})
        assert (path, reply.status_code) == (path, status)
        assert dict(SAFE).items() <= dict(reply.headers.raw).items(), path
        assert len(dict(reply.headers.raw)) == len(reply.headers.raw), f"{path}: one occurs twice"
    for kind in ("json", "csv", "arrow", "parquet"):
        body = {"sql": COUNT, "terms": {"epsilon": "0.001"}, "key": "headers"}
        reply = service.call("ann", "POST", f"/v1/datasets/visits/answer?format={kind}", body)
        refused = service.call("ann", "POST", "/v1/me", body)
        assert (reply.status_code, refused.status_code) == (200, 405)
        for each in (reply, refused):
            assert dict(SAFE).items() <= dict(each.headers.raw).items(), kind


def test_what_is_no_request_is_refused_with_them(service: Running) -> None:
    with socket.create_connection(service.place, LONGEST) as raw:
        raw.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        content = b""
        while part := raw.recv(1 << 16):
            content += part
    assert content.startswith(b"HTTP/1.1 400 ")
    assert all(name + b": " + value + b"\r\n" in content for name, value in SAFE)
