"""Connections: whoever reads nothing is cut, whoever reads slowly is not, and nobody takes all of them."""

from __future__ import annotations

import asyncio
import select
import socket
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import uvicorn

from demo_service import COUNT, LONGEST, client_at, running_demo
from giveortake.server import running
from giveortake.server.connections import protocol
from giveortake.server.refusals import SAFE
from giveortake.server.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from demo_service import Running
    from giveortake.server.connections import PatientProtocol

REQUEST = b"GET /static/console.css HTTP/1.1\r\nHost: here\r\n\r\n"


def narrow(place: tuple[str, int]) -> socket.socket:
    """A connection whose own side holds almost nothing that was not read."""
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    found.settimeout(LONGEST)
    found.connect(place)
    return found


def is_cut(connection: socket.socket) -> bool:
    """Whether the other side gives up, while nothing is read here."""
    watched = select.poll()
    watched.register(connection, 0)  # errors alone
    return bool(watched.poll(LONGEST * 1000))


def little(listening: socket.socket) -> socket.socket:
    """A socket whose connections hold little in the system, as where many of them share its memory."""
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    return listening


def test_responses_that_nobody_reads_are_cut_and_the_service_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is below what the server would pause at; nobody needs a token for them."""
    bound = running._listening
    monkeypatch.setattr(running, "_listening", lambda settings: little(bound(settings)))
    with running_demo(tmp_path, patience=0.5) as service:
        assert len(service.call(None, "GET", "/static/console.css").content) < 1 << 16
        held = [narrow(service.place) for _ in range(20)]
        for connection in held:
            connection.sendall(REQUEST)
        assert all(map(is_cut, held))
        assert service.call(None, "GET", "/health/live").status_code == 200
        for connection in held:
            connection.close()


def test_whoever_reads_slowly_gets_everything_and_is_cut_only_after_reading_nothing(tmp_path: Path) -> None:
    """The server looks whenever this test says, always after something was read: no clock decides."""
    body, made = bytes(range(256)) * 64, []

    async def application(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"16384")]})
        await send({"type": "http.response.body", "body": body})

    kind = protocol(Settings(tmp_path, (), "", patience=10 * LONGEST))

    class Kept(kind):  # type: ignore[misc, valid-type]
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            made.append(self)

    async def look(connection: PatientProtocol, before: int) -> None:
        """Let it look, once what was read has made room for more."""
        ends = time.monotonic() + LONGEST
        while connection._taken() <= before:
            assert time.monotonic() < ends, "nothing more is taken"
            await asyncio.sleep(0.001)
        connection._look(before)

    async def run() -> tuple[bytes, bool]:
        config = uvicorn.Config(application, http=Kept, ws="none", lifespan="off", log_config=None)
        server, listening = uvicorn.Server(config), little(socket.create_server(("127.0.0.1", 0)))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        reader = narrow(listening.getsockname())
        reader.setblocking(False)
        loop, content = asyncio.get_running_loop(), b""
        await loop.sock_sendall(reader, REQUEST)
        while not made or made[0]._writing is None:
            await asyncio.sleep(0.001)
        while made[0].transport.get_write_buffer_size():
            before = made[0]._taken()
            content += await loop.sock_recv(reader, 1 << 16)
            if made[0].transport.get_write_buffer_size():
                await look(made[0], before)
        while len(content.partition(b"\r\n\r\n")[2]) < len(body):
            content += await loop.sock_recv(reader, 1 << 16)
        await loop.sock_sendall(reader, REQUEST)
        while made[0]._writing is None:
            await asyncio.sleep(0.001)
        ends, before = time.monotonic() + LONGEST, -1
        while (now := made[0]._taken()) != before or not made[0].transport.get_write_buffer_size():
            before = now
            assert time.monotonic() < ends
            await asyncio.sleep(0.1)
        made[0]._look(before)
        cut = made[0].transport.is_closing()
        reader.close()
        server.should_exit = True
        await serving
        return content.partition(b"\r\n\r\n")[2], cut

    content, cut = asyncio.run(run())
    assert content == body
    assert cut


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A service with room for four connections of one address, and six in all."""
    limits = {"connections": 6, "connections_per_address": 4, "patience": LONGEST}
    with running_demo(tmp_path_factory.mktemp("small"), **limits) as found:
        found.client.close()
        found.elsewhere.close()
        yield found


def test_one_address_has_a_part_of_the_connections_and_all_have_an_end(small: Running) -> None:
    def live(address: str) -> int:
        with client_at(address) as client:
            return client.get(f"{small.address}/health/live").status_code

    def eventually(address: str, status: int) -> bool:
        """A connection that was closed here is noticed there a little later."""
        ends = time.monotonic() + LONGEST
        while live(address) != status:
            if time.monotonic() > ends:
                return False
            time.sleep(0.01)
        return True

    def held(address: str) -> socket.socket:
        """A connection that counts: it has been answered, and stays open."""
        connection = socket.create_connection(small.place, LONGEST, (address, 0))
        connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: here\r\n\r\n")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        return connection

    assert eventually("127.0.0.1", 200)
    many = [held("127.0.0.1") for _ in range(4)]
    refused = httpx.get(f"{small.address}/health/live", timeout=LONGEST)
    assert (refused.status_code, refused.json()["error"]["cause"]) == (503, "overloaded")
    assert dict(SAFE).items() <= dict(refused.headers.raw).items()
    assert eventually("127.0.0.2", 200)
    many += [held("127.0.0.2") for _ in range(2)]
    assert eventually("127.0.0.3", 503)
    many.pop(0).close()
    assert eventually("127.0.0.1", 200)
    for connection in many:
        connection.close()


def test_a_trusted_proxy_is_not_one_client(tmp_path: Path) -> None:
    kind = protocol(Settings(tmp_path, (), "", proxies=("10.0.0.0/8", "192.0.2.1")))
    assert [address in kind.proxies for address in ("10.1.2.3", "192.0.2.1", "192.0.2.2")] == [True, True, False]


@pytest.mark.parametrize(
    ("who", "path", "status"),
    [
        (None, "/health/live", 200),
        ("ann", "/v1/openapi.json", 200),
        (None, "/login", 200),
        (None, "/static/console.css", 200),
        (None, "/static/nothing", 404),
        (None, "/v1/me", 401),
        (None, "/", 303),
        ("ann", "/", 200),
        ("ann", "/v1/me", 200),
        ("ann", "/v1/datasets/visits", 200),
        ("ann", "/v1/nothing", 404),
        ("ann", "/v1/tokens", 403),
        ("custodian", "/metrics", 200),
    ],
)
def test_every_response_has_the_headers_that_keep_browsers_safe(
    service: Running, who: str | None, path: str, status: int
) -> None:
    found = service.call(who, "GET", path, headers={"accept": "text/html"} if path == "/" else {})
    assert found.status_code == status
    assert dict(SAFE).items() <= dict(found.headers.raw).items()
    assert len(dict(found.headers.raw)) == len(found.headers.raw)  # none twice


@pytest.mark.parametrize("wanted", ["json", "csv", "arrow", "parquet"])
def test_files_and_refused_requests_have_them_too(service: Running, wanted: str) -> None:
    body = {"sql": COUNT, "terms": {"epsilon": "0.001"}, "key": f"headers {wanted}"}
    found = service.call("ann", "POST", f"/v1/datasets/visits/answer?format={wanted}", body)
    assert (found.status_code, service.call("ann", "POST", "/v1/me", body).status_code) == (200, 405)
    for response in (found, service.call("ann", "POST", "/v1/me", body), service.call("ann", "GET", "/v1/me?x=1")):
        assert dict(SAFE).items() <= dict(response.headers.raw).items()


def test_what_is_no_request_is_refused_with_them(service: Running) -> None:
    with socket.create_connection(service.place, LONGEST) as raw:
        raw.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        content = b""
        while part := raw.recv(1 << 16):
            content += part
    assert content.startswith(b"HTTP/1.1 400 ")
    assert all(name + b": " + value + b"\r\n" in content for name, value in SAFE)
