"""Logins of the console: they end on the server, whatever a browser keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from demo_service import COUNT
from giveortake.server.guard import Logins

if TYPE_CHECKING:
    from demo_service import Running

HOUR = 3600.0
FORM = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"}


def status(service: Running, cookie: dict[str, str]) -> int:
    return service.call(None, "GET", "/v1/me", headers=cookie).status_code


def test_a_cookie_holds_no_token_and_a_token_is_no_cookie(service: Running) -> None:
    cookie = service.cookie("bob")
    assert service.tokens["bob"] not in str(cookie)
    assert service.call(None, "GET", "/v1/me", headers=cookie).json()["analyst"] == "bob"
    assert status(service, {"cookie": f"giveortake={service.tokens['bob']}"}) == 401


def test_logging_out_ends_the_login_on_the_server_and_no_other(service: Running) -> None:
    first, second = service.cookie("bob"), service.cookie("bob")
    assert service.call(None, "POST", "/logout", headers={**first, **FORM}, content="").status_code == 303
    assert [status(service, cookie) for cookie in (first, second)] == [401, 200]
    assert service.call("bob", "GET", "/v1/me").status_code == 200


def test_logging_in_again_ends_the_login_before(service: Running) -> None:
    first = service.cookie("bob")
    content = f"token={service.tokens['bob']}"
    assert service.call(None, "POST", "/login", headers={**first, **FORM}, content=content).status_code == 303
    service.client.cookies.clear()
    assert status(service, first) == 401


def test_a_wrong_token_begins_no_login(service: Running) -> None:
    content = "token=got_0123456789abcdef_" + "0" * 64
    sent = service.call(None, "POST", "/login", headers=FORM, content=content)
    assert (sent.status_code, sent.headers["location"]) == (303, "/login?why=token")
    assert "set-cookie" not in sent.headers


@pytest.mark.parametrize(("steps", "last"), [([1.0], 401), ([0.9] * 13, 200), ([0.9] * 14, 401)])
def test_a_login_ends_after_twelve_hours_or_one_without_a_request(
    service: Running, monkeypatch: pytest.MonkeyPatch, steps: list[float], last: int
) -> None:
    now = [0.0]
    monkeypatch.setattr(service.service, "logins", Logins(clock=lambda: now[0]))
    cookie = service.cookie("bob")
    statuses = []
    for step in steps:
        now[0] += step * HOUR
        statuses.append(status(service, cookie))
    assert statuses == [200] * (len(steps) - 1) + [last]


def test_a_login_ends_when_its_token_is_revoked(service: Running) -> None:
    made = service.call("custodian", "POST", "/v1/tokens", {"role": "analyst", "analyst": "bob"}).json()
    service.tokens["lost"] = made["token"]
    cookie = service.cookie("lost")
    assert status(service, cookie) == 200
    service.call("custodian", "POST", f"/v1/tokens/{made['id']}/revoke", {"reason": "lost"}).raise_for_status()
    assert status(service, cookie) == 401


def test_one_token_fills_no_memory_with_logins() -> None:
    logins = Logins()
    secrets = [logins.begin("got_a") for _ in range(30)]
    other = logins.begin("got_b")
    assert [logins.token(secret) for secret in secrets] == [None] * 10 + ["got_a"] * 20
    assert logins.token(other) == "got_b"


def test_a_page_of_another_site_can_press_no_button_and_log_nobody_in(service: Running) -> None:
    def spent() -> str:
        return str(service.call("bob", "GET", "/v1/datasets/visits/budget").json()["share"])

    before, cookie, form = spent(), service.cookie("bob"), {"content-type": FORM["content-type"]}
    question = urlencode({"do": "ask", "sql": COUNT, "spend": "0.1"})
    foreign: list[dict[str, str]] = [{"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}, {}]
    for headers in foreign:
        sent = service.call(None, "POST", "/ask/visits", headers={**form, **cookie, **headers}, content=question)
        assert sent.status_code == 403, headers
        content = f"token={service.tokens['bob']}"
        sent = service.call(None, "POST", "/login", headers={**form, **headers}, content=content)
        assert (sent.status_code, sent.headers.get("set-cookie")) == (403, None), headers
    assert spent() == before


def test_a_browser_that_says_its_own_origin_is_let_in_and_no_page_hides_it(service: Running) -> None:
    """Over plain HTTP from another machine browsers send no Sec-Fetch-Site; without a referrer they would send none."""
    page = service.call(None, "GET", "/login")
    assert page.headers["referrer-policy"] == "same-origin"
    headers = {"content-type": FORM["content-type"], "origin": service.address}
    sent = service.call(None, "POST", "/login", headers=headers, content=f"token={service.tokens['bob']}")
    assert (sent.status_code, sent.headers["location"]) == (303, "/")
    service.client.cookies.clear()
