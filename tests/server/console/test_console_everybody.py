"""Every page for everybody: without scripts, by keyboard, for screen readers, in the dark, on a phone, and light."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from console_desk import BY_REGION, EVIL, PAGES, PHONE, WIDE, Desk, press, quoted
from tiers import tiered


@pytest.mark.long
def test_everything_but_the_live_curve_works_without_scripts(desk: Desk) -> None:
    page = desk.window("bob", java_script_enabled=False, viewport=PHONE)
    page.goto("/ask/visits?currency=epsilon")
    press(page, "ul.plainlist li:nth-child(1) button")
    page.fill("#spend", "0.015")
    press(page, "button:has-text('Quote again')")
    page.wait_for_selector("#curve", state="attached")
    assert not page.is_visible("#slider")
    press(page, "#ask")
    assert "release=" in page.url
    page.wait_for_selector("#answer tbody tr")
    assert page.locator("#answer tbody tr").count() == 1


@pytest.mark.long
def test_the_keyboard_alone_logs_in_quotes_and_asks(desk: Desk) -> None:
    page = desk.window(None)
    page.goto("/login")
    tab_to(page, "token")
    page.keyboard.type(desk.service.tokens["bob"])
    page.keyboard.press("Enter")
    page.wait_for_url("**/")
    page.goto("/ask/visits?currency=epsilon")
    tab_to(page, "sql")
    page.keyboard.type("SELECT COUNT(*) AS n FROM visits WHERE amount > 100")
    tab_to(page, "spend")
    page.keyboard.press("Control+a")
    page.keyboard.type("0.01")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#ask:has-text('0.01'):not([disabled])")
    assert page.locator("#answer").count() == 0  # it quotes, and never asks
    tab_to(page, "ask")
    page.keyboard.press("Enter")
    page.wait_for_selector("#answer")
    assert page.evaluate("document.activeElement.id") == "answer"


def tab_to(page: Any, name: str) -> None:
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == name:
            return
    pytest.fail(f"Tab never comes to {name}")


@pytest.mark.long
def test_names_and_keys_that_would_run_are_inert(desk: Desk) -> None:
    page = desk.window(EVIL)
    assert EVIL in page.text_content(".who")
    name = EVIL.replace('"', '""')
    quoted(page, f'SELECT region AS "{name}", COUNT(*) AS "n {name}" FROM visits GROUP BY region', "0.02")
    page.click("#ask")
    page.wait_for_selector("#answer")
    assert EVIL in page.text_content("#answer thead")
    for path in (*PAGES, page.url):
        page.goto(path)
        assert page.locator("main img, main script, main [onerror]").count() == 0
    owner = desk.window("custodian")
    owner.goto("/custodian")
    assert EVIL in owner.text_content("main")
    assert owner.locator("main img, main script").count() == 0


@pytest.mark.parametrize("scheme", tiered(["light"], ["light", "dark"]))
def test_every_screen_is_readable_by_everybody(scheme: str, desk: Desk) -> None:
    """Axe finds nothing, in light on a desk and in dark on a phone, and a phone never scrolls sideways."""
    wide = scheme == "light"
    page = desk.window("bob", color_scheme=scheme, viewport=WIDE if wide else PHONE)
    release = desk.service.answer("bob", BY_REGION, "compare 0.012", epsilon="0.012").json()["release_id"]
    screens = ["/", f"/ask/visits?release={release}", "/meaning/visits"]
    if wide:
        screens += ["/login", "/ask/visits", "/releases/visits", "/profile/visits", f"/releases/visits/{release}"]
        screens.append(f"/compare/visits?before={release}&after={release}")
    for path in screens:
        page.goto(path)
        found = Axe().run(page, options=None if wide else {"runOnly": ["color-contrast", "target-size", "label"]})
        assert found.violations_count == 0, f"{path}: {found.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    owner = desk.window("custodian", color_scheme=scheme, viewport=WIDE if wide else PHONE)
    for path in ("/custodian", "/approvals", "/tables", "/no/such/page"):
        owner.goto(path)
        if path == "/no/such/page":
            desk.expect_complaint(owner, "404")
        assert Axe().run(owner).violations_count == 0, path
        assert owner.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
