"""The way in: a token, a cookie, and pages of other sites."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe

from console_desk import BY_REGION, Desk, cause, press, spent
from demo_service import LONGEST


def test_a_token_is_pasted_once_and_a_cookie_that_no_script_or_other_site_can_use_names_the_login(
    desk: Desk,
) -> None:
    page = desk.window(None)
    page.goto("/ask/visits")
    assert page.url.endswith("/login?why=first")
    assert "If it worked before" not in page.text_content("main")
    assert "the terminal that started this service printed" in page.text_content("main")  # it is a demonstration
    page.fill("#token", "got_0000000000000000_" + "0" * 64)
    press(page, "button:has-text('Log in')")
    assert "This token was not accepted" in page.text_content("main")
    assert "If it worked before" in page.text_content("main")
    page.fill("#token", desk.service.tokens["bob"])
    page.press("#token", "Enter")
    page.wait_for_selector("h1:has-text('Data sets')")
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert cookie["value"] != desk.service.tokens["bob"]
    assert desk.service.tokens["bob"] not in page.url + page.content() + str(page.evaluate("document.cookie"))
    page.click("button:has-text('Log out')")
    page.wait_for_url("**/login")
    assert page.context.cookies() == []


@pytest.mark.parametrize("headers", [{"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}, {}])
def test_a_page_of_another_site_can_press_no_button(headers: dict[str, str], desk: Desk) -> None:
    before = spent(desk.service, "bob")
    sent = httpx.post(
        f"{desk.service.address}/ask/visits",
        data={"do": "ask", "sql": BY_REGION, "spend": "0.1"},
        headers={**desk.service.cookie("bob"), **headers},
        timeout=LONGEST,
    )
    assert sent.status_code == 403
    assert spent(desk.service, "bob") == before


def test_a_browser_that_says_its_own_origin_is_let_in_and_no_page_hides_it(desk: Desk) -> None:
    """Over plain HTTP from another machine browsers send no Sec-Fetch-Site; without a referrer they would send none."""
    page = httpx.get(f"{desk.service.address}/login", timeout=LONGEST)
    assert page.headers["referrer-policy"] == "same-origin"
    sent = httpx.post(
        f"{desk.service.address}/login",
        data={"token": desk.service.tokens["bob"]},
        headers={"origin": desk.service.address},
        timeout=LONGEST,
    )
    assert (sent.status_code, sent.headers["location"]) == (303, "/")


def test_nobody_is_logged_in_by_a_page_of_another_site(desk: Desk) -> None:
    sent = httpx.post(
        f"{desk.service.address}/login",
        data={"token": desk.service.tokens["bob"]},
        headers={"origin": "https://evil.example"},
        timeout=LONGEST,
    )
    assert sent.status_code == 403
    assert "set-cookie" not in sent.headers


def test_an_address_where_nothing_is_shows_a_page_with_a_way_on(desk: Desk, bob: Any) -> None:
    for path in ("/no/such/page", "/ask/nothing", "/v1/datasets/nothing", "/releases/visits/0000"):
        bob.goto(path)
        assert cause(bob) == "not_found"
        assert bob.text_content("h1") == "Nothing here"
        desk.expect_complaint(bob, "404")
    assert Axe().run(bob).violations_count == 0
    bob.click("main a:has-text('visits')")
    bob.wait_for_selector("#sql")
