"""The screenshots of docs/console.md: `.venv/bin/python tests/server/console_screenshots.py`. Look at them."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
BY_REGION = "SELECT region, COUNT(*) AS visits, AVG(amount) AS mean\nFROM visits GROUP BY region"


def taken(page: Any, name: str, most: int = 1500) -> None:
    """One picture of a page, from its top, at most so high."""
    folder = ROOT / "docs" / "console"
    folder.mkdir(exist_ok=True)
    wide, high = page.evaluate("[innerWidth, document.documentElement.scrollHeight]")
    clip = {"x": 0, "y": 0, "width": wide, "height": min(high, most)}
    page.screenshot(path=folder / f"{name}.png", full_page=True, clip=clip)


def logged_in(browser: Any, address: str, token: str, **options: Any) -> Any:
    """A window of somebody."""
    page = browser.new_context(base_url=address, **{"viewport": {"width": 1240, "height": 500}, **options}).new_page()
    page.set_default_timeout(120_000)
    page.goto("/login")
    page.fill("#token", token)
    page.click("button:has-text('Log in')")
    page.wait_for_url("**/")
    return page


def asked(page: Any, sql: str, epsilon: str) -> None:
    """A question, quoted and asked."""
    page.goto("/ask/visits?currency=epsilon")
    page.fill("#sql", sql)
    page.fill("#spend", epsilon)
    page.press("#sql", "Control+Enter")
    page.click("#ask:not([disabled])")
    page.wait_for_selector("#answer")


def waits(service: Any) -> None:
    """Two large spends of an analyst's: one that was denied, and one that waits."""
    who = {"name": "gus", "datasets": ["visits"], "budget": {"epsilon": "0.1"}, "approval_above": {"epsilon": "0.01"}}
    service.call("custodian", "POST", "/v1/analysts", who).raise_for_status()
    made = service.call("custodian", "POST", "/v1/tokens", {"role": "analyst", "analyst": "gus"}).json()
    service.tokens["gus"] = made["token"]
    first = service.answer("gus", "SELECT COUNT(*) AS visits FROM visits", "first", epsilon="0.09").json()
    request, because = first["error"]["request"], {"reason": "nearly everything at once; half of it would do"}
    service.call("custodian", "POST", f"/v1/approvals/{request}/deny", because).raise_for_status()
    service.answer("gus", BY_REGION, "second", epsilon="0.05")


def _form(page: Any) -> None:
    """The form of a table, half filled in."""
    page.goto("/tables")
    page.click("button[value=columns]")
    page.fill("input[name=name]", "trips")
    page.select_option("select[name=unit]", "rider")
    page.fill("input[name=epsilon]", "1")
    page.fill("input[name=delta]", "1e-8")
    for place, kind, low, high in ((1, "date", "2024-01-01", "2024-12-31"), (2, "real", "0", "200")):
        page.select_option(f"select[name=c{place}-kind]", kind)
        page.fill(f"input[name=c{place}-low]", low)
        page.fill(f"input[name=c{place}-high]", high)
    page.fill("input[name=c3-values]", "inner, outer, airport")


def main() -> None:
    """Every screen once, on the service of the demonstration."""
    from browser_window import opened_browser  # noqa: PLC0415 (heavy)
    from demo_service import running_demo  # noqa: PLC0415 (heavy)

    with tempfile.TemporaryDirectory() as folder, running_demo(Path(folder)) as service, opened_browser() as browser:
        page = logged_in(browser, service.address, service.tokens["ann"])
        asked(page, BY_REGION, "0.25")
        page.wait_for_selector("#slide:not([hidden])")
        taken(page, "workbench")
        asked(page, "SELECT region, COUNT(*) AS visits FROM visits GROUP BY region", "0.2")
        asked(page, "SELECT region, COUNT(*) AS visits FROM visits WHERE amount > 100 GROUP BY region", "0.2")
        page.goto("/")
        taken(page, "datasets")
        page.goto("/releases/visits")
        page.check("tbody tr:nth-child(2) input[name=before]")
        page.check("tbody tr:nth-child(1) input[name=after]")
        taken(page, "releases")
        page.click("button:has-text('Compare')")
        taken(page, "compare")
        page.goto("/meaning/visits")
        taken(page, "meaning", 1050)
        page.goto("/profile/visits")
        page.check("input[name=by-region]")
        page.click("button:has-text('Quote it')")
        page.click("button:has-text('Make it')")
        page.wait_for_selector("svg.chart")
        page.fill("input[name=most_rows]", "60")
        page.click("button:has-text('Quote it')")
        page.click("button:has-text('Make it')")
        page.wait_for_selector("li b:has-text('nobody has more than 60 rows')")
        taken(page, "profile")
        page.goto("/no/such/page")
        taken(page, "nothing")
        page.goto("/ask/visits")
        page.fill("#sql", "SELECT region, amount FROM visits")
        page.press("#sql", "Control+Enter")
        page.wait_for_selector(".state[data-cause]")
        taken(page, "refused", 700)
        phone = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}
        small = logged_in(browser, service.address, service.tokens["ann"], **phone)
        asked(small, BY_REGION, "0.25")
        taken(small, "phone")
        owner = logged_in(browser, service.address, service.tokens["custodian"])
        waits(service)
        owner.goto("/approvals")
        taken(owner, "approvals")
        owner.goto("/custodian")
        taken(owner, "custodian")
        _form(owner)
        taken(owner, "tables")


if __name__ == "__main__":
    main()
