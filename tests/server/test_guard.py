"""In front of everything: what is refused before anybody looks at it, and what that costs."""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from demo_service import COUNT, own_clock
from giveortake.server import responses
from giveortake.server.application import ROUTES
from giveortake.server.guard import Guard, cookie_name, token_of
from giveortake.server.limits import InFlight, Rate
from giveortake.server.responses import Refusal
from giveortake.server.settings import WRONG_TOKENS
from waiting import LONGEST

if TYPE_CHECKING:
    from demo_service import Running

QUOTE = "/v1/datasets/visits/quote"
BODY = {"sql": COUNT, "terms": {"epsilon": "0.1"}}


def cause(response: Any) -> str:
    return str(response.json()["error"]["cause"])


class Raw:
    """A client that says what it likes."""

    def __init__(self, service: Running) -> None:
        self.socket = socket.create_connection(service.place, timeout=LONGEST)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def rest(self) -> bytes:
        found = b""
        try:
            while part := self.socket.recv(1 << 16):
                found += part
        except ConnectionError:
            pass
        finally:
            self.socket.close()
        return found


def head(service: Running, who: str | None, **headers: str) -> bytes:
    token = "" if who is None else f"Authorization: Bearer {service.tokens[who]}\r\n"
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"POST {QUOTE} HTTP/1.1\r\nHost: here\r\n{token}{more}\r\n".encode()


def resident() -> int:
    """The bytes of this process, in which the front runs too."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def test_who_has_no_token_is_refused_before_a_byte_of_the_body_is_read(service: Running) -> None:
    raw = Raw(service)
    raw.send(head(service, None, Content_Type="application/json", Content_Length="60000"))  # and no body at all
    assert raw.socket.recv(1 << 16).startswith(b"HTTP/1.1 401")
    raw.socket.close()


def test_a_role_is_refused_before_a_byte_of_the_body_is_read(service: Running) -> None:
    raw = Raw(service)
    request = head(service, "ann", Content_Type="application/json", Content_Length="60000")
    raw.send(request.replace(QUOTE.encode(), b"/v1/tokens"))
    assert raw.socket.recv(1 << 16).startswith(b"HTTP/1.1 403")
    raw.socket.close()


@pytest.mark.parametrize("who", [None, "ann"])
def test_an_endless_body_is_refused_and_takes_no_memory(service: Running, who: str | None) -> None:
    raw = Raw(service)
    raw.send(head(service, who, Content_Type="application/json", Transfer_Encoding="chunked"))
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    before, most, sent = resident(), 0, 0
    try:
        for _ in range(16_384):  # 1 GB, if anybody wanted it
            raw.send(chunk)
            sent += len(chunk)
            most = max(most, resident() - before)
    except OSError:
        pass  # cut
    assert most < 20_000_000
    assert sent < 200_000_000
    raw.socket.close()
    assert service.call(who or "ann", "GET", "/v1/me").status_code == 200


def test_a_body_that_says_it_is_large_is_refused_unread(service: Running) -> None:
    response = service.call("ann", "POST", QUOTE, {**BODY, "sql": "x" * 70_000})
    assert (response.status_code, cause(response)) == (413, "too_large")


def test_a_body_that_never_ends_is_refused_in_time(service: Running) -> None:
    settings = replace(service.service.settings, patience=0.01)
    guard = Guard.from_settings(service.service, settings)
    (route,) = [each for each in ROUTES if each.method == "POST" and each.path.endswith("/quote") and not each.page][:1]
    headers = [(b"authorization", b"Bearer x"), (b"content-type", b"application/json"), (b"content-length", b"50")]

    async def receive() -> Any:
        await asyncio.Event().wait()

    with pytest.raises(Refusal) as refused:
        asyncio.run(guard.body(route, {"headers": headers}, receive))
    assert (refused.value.cause.name, refused.value.cause.status) == ("slow", 408)


def test_whoever_is_revoked_while_their_body_is_read_is_refused(service: Running) -> None:
    made = service.call("custodian", "POST", "/v1/tokens", {"role": "analyst", "analyst": "ann"}).json()
    service.tokens["parked"] = made["token"]
    body = json.dumps(BODY).encode()
    raw = Raw(service)
    raw.send(head(service, "parked", Content_Type="application/json", Content_Length=str(len(body))) + body[:1])
    assert service.call("parked", "GET", "/v1/me").status_code == 200
    revoke = f"/v1/tokens/{made['id']}/revoke"
    assert service.call("custodian", "POST", revoke, {"reason": "a test"}).status_code == 200
    raw.send(body[1:])
    assert raw.socket.recv(1 << 16).startswith(b"HTTP/1.1 401")
    raw.socket.close()


@pytest.mark.parametrize("who", ["token", "analyst"])
def test_whoever_is_revoked_while_their_answer_waits_for_its_time_is_told_nothing(
    who: str, service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = service.call("custodian", "POST", "/v1/tokens", {"role": "analyst", "analyst": "eve"}).json()
    service.tokens["waiting"] = made["token"]
    paths = {"token": f"/v1/tokens/{made['id']}/revoke", "analyst": "/v1/analysts/eve/revoke"}
    now, departed, go = own_clock(monkeypatch), threading.Event(), threading.Event()

    async def sleep(seconds: float) -> None:
        departed.set()  # the answer is drawn and settled, and waits
        await asyncio.to_thread(go.wait, LONGEST)
        now[0] += seconds

    monkeypatch.setitem(service.service.settings.latency, "visits", 1.0)
    monkeypatch.setattr("giveortake.server.application.asyncio", SimpleNamespace(sleep=sleep))
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(service.answer, "waiting", COUNT, f"waits {who}", epsilon="0.001")
        assert departed.wait(LONGEST)
        assert service.call("custodian", "POST", paths[who], {"reason": "a test"}).status_code == 200
        go.set()
        refused = answer.result()
    assert (refused.status_code, cause(refused)) == {"token": (401, "unauthenticated"), "analyst": (403, "revoked")}[
        who
    ]
    if who == "analyst":
        assert service.call("custodian", "POST", "/v1/analysts/eve/readmit", {"reason": "a test"}).status_code == 200


def test_a_field_that_is_missing_is_named_with_an_example(service: Running) -> None:
    for name in ("key", "terms"):
        body = {field: value for field, value in {**BODY, "key": "a"}.items() if field != name}
        error = service.call("ann", "POST", "/v1/datasets/visits/answer", body).json()["error"]
        assert (error["cause"], error["message"].split()[0]) == ("malformed", name)
        assert error["hint"].startswith(f'"{name}": ')


def test_what_is_no_http_is_refused_in_our_own_shape(service: Running) -> None:
    raw = Raw(service)
    raw.send(b"\x16\x03\x01 hello\r\n\r\n")
    said = raw.rest()
    assert said.startswith(b"HTTP/1.1 400")
    assert json.loads(said.partition(b"\r\n\r\n")[2])["error"]["cause"] == "malformed"


def test_a_body_that_ends_in_two_ways_is_refused_and_its_connection_closed(service: Running) -> None:
    """A proxy may take one end, and we the other: what is between would be somebody else's request."""
    raw = Raw(service)
    body = b"0\r\n\r\nGET /v1/me HTTP/1.1\r\nHost: a\r\n\r\n"
    raw.send(head(service, "ann", Content_Length=str(len(body)), Transfer_Encoding="chunked") + body)
    said = raw.rest()
    assert said.startswith(b"HTTP/1.1 400")
    assert said.count(b"\r\n\r\n") == 1  # no second answer
    assert b"connection: close" in said.lower()


STRICT = [
    b'{"sql": "a", "sql": "b", "terms": {}}',
    b'{"sql": "a", "terms": {"epsilon": NaN}}',
    b'{"sql": "a", "terms": {"epsilon": 1e999}}',
    b'{"sql": "\\ud800", "terms": {}}',
    b'{"\\udfff": 1}',
    b'{"sql": "\xff"}',
    b"[" * 30_000,
    b'{"n": ' + b"[" * 17 + b"]" * 17 + b"}",
    b'{"n": ' + b"9" * 65 + b"}",
    b'{"sql": "a"} x',
    b"",
    b"{",
]


def test_what_two_readers_could_read_differently_is_refused() -> None:
    for body in STRICT:
        with pytest.raises(responses.NotStrict):
            pytest.fail(f"it is read: {body[:80]!r}: {responses.read(body)!r}")


def test_refusals_tell_nothing_back_and_have_one_length(service: Running) -> None:
    secret = "Zx9" * 4
    sent = [
        ("POST", QUOTE, {"content": f'{{"sql": "{secret}", "sql": 1}}'}),
        ("POST", QUOTE, {"content": json.dumps({secret: 1})}),
        ("POST", QUOTE, {"content": json.dumps({"sql": [secret], "terms": {}})}),
        ("POST", QUOTE, {"content": json.dumps({"sql": "a", "terms": {secret: 1}})}),
        ("GET", f"/v1/{secret}", {}),
        ("GET", f"/v1/datasets/{secret}", {}),
        ("GET", f"/v1/datasets/visits/releases?{secret}=1", {}),
    ]
    for method, path, more in sent:
        response = service.call("ann", method, path, headers={"content-type": "application/json"}, **more)
        assert response.status_code in {400, 404}
        assert secret not in response.text
        assert len(response.content) == 1024
        assert response.headers["cache-control"] == "no-store"
        assert "etag" not in response.headers


def test_other_content_types_are_refused(service: Running) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""):
        response = service.call("ann", "POST", QUOTE, headers={"content-type": kind}, content=json.dumps(BODY))
        assert (kind, response.status_code, cause(response)) == (kind, 415, "media_type")


def test_a_name_or_a_header_that_occurs_twice_is_refused(service: Running) -> None:
    assert service.call("ann", "GET", "/v1/datasets/visits/releases?limit=1&limit=2").status_code == 400
    raw = Raw(service)
    raw.send(head(service, "ann", Authorization="Bearer got_other", Connection="close", Content_Length="0"))
    assert b" 400 " in raw.rest().partition(b"\r\n")[0]


def test_a_known_path_with_another_method_is_told(service: Running) -> None:
    refused = service.call("ann", "DELETE", QUOTE)
    assert cause(refused) == "method"
    assert "POST" in refused.json()["error"]["hint"]
    assert service.call(None, "DELETE", QUOTE).status_code == 401


def test_a_page_of_another_site_cannot_act_by_a_cookie(service: Running) -> None:
    cookie = {**service.cookie("ann"), "content-type": "application/json"}
    body = json.dumps(BODY)
    for site, status in (("same-origin", 200), ("cross-site", 403), ("same-site", 403), ("none", 403)):
        response = service.call(None, "POST", QUOTE, headers={**cookie, "sec-fetch-site": site}, content=body)
        assert response.status_code == status
    assert service.call(None, "POST", QUOTE, headers=cookie, content=body).status_code == 403
    assert service.call(None, "GET", "/v1/me", headers=cookie).status_code == 200


@pytest.mark.parametrize(
    ("secure", "reached_by", "own"),
    [(False, "http", "http"), (False, "https", "https"), (True, "http", "https"), (True, "https", "https")],
)
def test_a_page_of_the_same_host_by_another_scheme_is_not_ours(
    *, secure: bool, reached_by: str, own: str, service: Running
) -> None:
    """A proxy that is trusted says how it was reached; secure cookies are sent over TLS alone."""
    settings = replace(service.service.settings, secure_cookies=secure)
    known: Any = SimpleNamespace(settings=settings)
    guard, scope = Guard.from_settings(known, settings), {"scheme": reached_by}
    for scheme in ("http", "https", "ftp", ""):
        headers = {b"origin": f"{scheme}://host:8431".encode(), b"host": b"host:8431"}
        assert guard._own_page(scope, headers) == (scheme == own)
    assert not guard._own_page(scope, {b"host": b"host:8431"})
    assert not guard._own_page(scope, {b"origin": f"{own}://other".encode(), b"host": b"host:8431"})


@pytest.mark.parametrize("secure", [False, True])
def test_a_token_is_taken_from_the_configured_cookie_and_no_other(service: Running, *, secure: bool) -> None:
    own = cookie_name(replace(service.service.settings, secure_cookies=secure))
    (other,) = {"giveortake", "__Host-giveortake"} - {own}
    assert own.startswith("__Host-") == secure
    assert token_of({b"cookie": f"{other}=planted".encode()}, own) == (None, False)
    assert token_of({b"cookie": f"{other}=planted; {own}=mine".encode()}, own) == ("mine", True)


def test_rates_refill_and_are_kept_by_name() -> None:
    now = [0.0]
    rate = Rate(2.0, 3.0, clock=lambda: now[0])
    assert [rate.takes("ann") for _ in range(4)] == [True, True, True, False]
    assert rate.takes("bob")
    rate.gives_back("bob")
    assert [rate.takes("bob") for _ in range(4)] == [True, True, True, False]
    now[0] = 0.5
    assert rate.takes("ann")
    assert not rate.takes("ann")


def test_as_many_are_under_way_as_may_be() -> None:
    under_way = InFlight(2)
    assert [under_way.enters("ann") for _ in range(3)] == [True, True, False]
    under_way.leaves("ann")
    assert under_way.enters("ann")


def test_many_wrong_tokens_at_once_are_not_all_looked_up() -> None:
    looked_up: list[str] = []

    class Service:
        settings = SimpleNamespace(
            fronts=1,
            requests_per_second=1,
            burst=1,
            in_flight=1,
            worker_seconds=1,
            patience=1,
            secure_cookies=False,
        )
        metrics = SimpleNamespace(denied=0)

        def was_let_in(self, token: str) -> bool:
            return False

        async def authenticate(self, token: str, address: str) -> None:
            looked_up.append(token)
            await asyncio.sleep(0)  # as long as somebody else can come

    async def flood() -> list[Any]:
        service: Any = Service()
        guard = Guard.from_settings(service, service.settings)
        guard.strangers.rate.clock = lambda: 0.0
        sent = [[(b"authorization", b"Bearer got_%d" % number)] for number in range(100)]
        scopes = [{"method": "GET", "client": ("10.0.0.1", 1), "headers": each} for each in sent]
        return await asyncio.gather(*map(guard.principal, scopes), return_exceptions=True)

    refused = asyncio.run(flood())
    assert all(isinstance(each, Refusal) for each in refused)
    assert len(looked_up) == WRONG_TOKENS[1] < 100
