"""One way through the console for each who uses it: somebody without a token, an analyst, a custodian."""

from __future__ import annotations

import re
from typing import Any

import pytest

from console_desk import PHONE, WIDE, Desk, cause, press, spent


def test_a_token_is_pasted_once_and_a_cookie_that_no_script_or_other_site_can_use_names_the_login(
    desk: Desk,
) -> None:
    page = desk.window(None)
    page.goto("/ask/visits?currency=epsilon")
    assert page.url.endswith("/login?why=first")
    page.fill("#token", "got_0000000000000000_" + "0" * 64)
    press(page, "button:has-text('Log in')")
    assert page.url.endswith("/login?why=token")
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


def test_a_question_is_quoted_on_a_curve_asked_on_purpose_and_free_the_second_time(desk: Desk, bob: Any) -> None:
    before = spent(desk.service, "bob")
    bob.goto("/ask/visits?currency=epsilon")
    bob.click("ul.plainlist li:nth-child(2) button")
    bob.wait_for_selector("#ask")
    assert "COUNT(*)" in bob.input_value("#sql")
    bob.wait_for_selector("#light .k >> nth=3", state="attached")  # SELECT, COUNT, AS, FROM
    dot = bob.get_attribute("#curve-mark circle", "cx")
    bob.focus("#slider")
    with bob.expect_response("**/ask/visits"):  # the exact quote follows
        for _ in range(40):
            bob.keyboard.press("ArrowLeft")
    assert bob.get_attribute("#curve-mark circle", "cx") != dot
    bob.wait_for_selector("#ask:not([disabled])")
    price = bob.input_value("#spend")
    assert bob.text_content("#ask").strip() == f"Ask for ε = {price}"
    assert f"at ε = {price}" in bob.text_content("#exact")
    bob.fill("#spend", "0.05")
    bob.wait_for_selector("#act:has-text('ε = 0.05')")
    assert spent(desk.service, "bob") == before
    bob.wait_for_selector("#ask:not([disabled])")
    bob.click("#ask")
    bob.wait_for_selector("#answer")
    bob.wait_for_url("**release=*")
    release = bob.url.partition("release=")[2]
    assert release
    rows = bob.locator("#answer tbody tr")
    assert rows.count() == bob.locator("#answer svg.interval").count() == 6
    assert re.search(r"± \d+", rows.first.text_content())
    assert spent(desk.service, "bob") == pytest.approx(before + 0.05)
    bob.reload()
    assert bob.locator("#answer tbody tr").count() == 6
    bob.click("#ask")
    bob.wait_for_selector("#live:has-text('The answer is here.')", state="attached")  # another one was there before
    assert bob.locator("#answer tbody tr").count() == 6
    assert release in bob.url
    assert spent(desk.service, "bob") == pytest.approx(before + 0.05)


@pytest.mark.long
def test_an_address_where_nothing_is_shows_a_page_with_a_way_on(desk: Desk, bob: Any) -> None:
    for path in ("/no/such/page", "/ask/nothing", "/v1/datasets/nothing", "/releases/visits/0000"):
        bob.goto(path)
        assert cause(bob) == "not_found"
        assert bob.text_content("h1") == "Nothing here"
        desk.expect_complaint(bob, "404")
    bob.click("main a:has-text('visits')")
    bob.wait_for_selector("#sql")


def test_a_custodian_grants_issues_revokes_and_checks_and_the_revoked_are_told(desk: Desk) -> None:
    owner, elsa = desk.window("custodian"), desk.window("elsa")
    owner.goto("/custodian")
    owner.click("summary:has-text('Let somebody ask')")
    owner.fill("form:has(button[value='analyst add']) input[name=name]", "finn")
    owner.fill("form:has(button[value='analyst add']) input[name=budget-epsilon]", "0.01")
    owner.click("button[value='analyst add']")
    owner.wait_for_selector(".state:has-text('finn may ask visits')")
    press(owner, "button[aria-label='New token for finn']")
    secret = owner.text_content(".secret")
    assert re.fullmatch(r"got_[0-9a-f]{16}_[0-9a-f]{64}", secret or "")
    desk.service.tokens["finn"] = secret
    assert desk.window("finn").locator("h1").first.text_content() == "Data sets"
    owner.click("summary[aria-label='Revoke elsa']")
    assert desk.service.call("elsa", "GET", "/v1/me").status_code == 200  # one click revokes nobody
    press(owner, "button[aria-label='Revoke elsa, really']")
    elsa.goto("/ask/visits?currency=epsilon")
    assert cause(elsa) == "revoked"
    desk.expect_complaint(elsa, "403")
    owner.click(f"summary[aria-label='Revoke token {(secret or '')[4:20]}']")
    owner.click(f"button[aria-label='Revoke token {(secret or '')[4:20]}, really']")
    owner.wait_for_selector(".state:has-text('lets nobody in')")
    assert desk.service.call("finn", "GET", "/v1/me").status_code == 401
    press(owner, "button[value='ledger verify']")
    owner.wait_for_selector("b:has-text('It holds.')")
    assert "Workers lost" in owner.text_content("main")
    owner.set_viewport_size(PHONE)  # where rows are cards, and nothing is hidden at the side
    assert owner.evaluate(
        "[...document.querySelectorAll('.scroll')].every((each) => each.scrollWidth <= each.clientWidth)"
    )
    owner.set_viewport_size(WIDE)
    owner.goto("/")
    assert re.search(r"0 % spent.*% given to analysts", owner.text_content("main"), re.DOTALL)
