"""Windows of one browser, for people of one service: what the tests of the console share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from demo_service import Running
from waiting import LONGEST, until

BY_REGION = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
EVIL = "<img src=x onerror=alert(1)>\"'&<script>alert(2)</script>"
PAGES = ("/", "/ask/visits", "/releases/visits", "/meaning/visits", "/profile/visits")
WIDE, PHONE = {"width": 1300, "height": 900}, {"width": 390, "height": 844}


class Desk:
    """Windows of one browser, for people of one service; whatever a page complains about is kept."""

    def __init__(self, browser: Any, service: Running) -> None:
        self.browser, self.service = browser, service
        self.complaints: list[str] = []
        self.windows: list[Any] = []

    def window(self, who: str | None, **options: Any) -> Any:
        context = self.browser.new_context(base_url=self.service.address, **{"viewport": WIDE, **options})
        self.windows.append(context)
        page = context.new_page()
        page.set_default_timeout(1000 * LONGEST)
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"a dialog: {dialog.message}"))
        if who is not None:
            page.goto("/login")
            page.fill("#token", self.service.tokens[who])
            page.click("button:has-text('Log in')")
            page.wait_for_url("**/")
        return page

    def expect_complaint(self, page: Any, words: str) -> None:
        """Wait until a page has complained of this, which is meant; everything else is still to complain about."""
        happens(page, lambda: any(words in each for each in self.complaints), f"a complaint of {words}")
        self.complaints.remove(next(each for each in self.complaints if words in each))

    def analyst(self, name: str, epsilon: str) -> str:
        body = {"name": name, "datasets": ["visits"], "budget": {"epsilon": epsilon}}
        self.service.call("custodian", "POST", "/v1/analysts", body).raise_for_status()
        made = self.service.call("custodian", "POST", "/v1/tokens", {"role": "analyst", "analyst": name}).json()
        self.service.tokens[name] = made["token"]
        return name


def happens(page: Any, condition: Callable[[], object], event: str) -> None:
    """Wait for something that the browser tells this process: it is heard while the page is asked for something."""
    until(lambda: (page.evaluate("0"), condition())[1], event)


def quoted(page: Any, sql: str, epsilon: str) -> Any:
    """The workbench with a question on it, and its price beside it."""
    page.goto("/ask/visits?currency=epsilon")
    page.fill("#sql", sql)
    page.fill("#spend", epsilon)
    page.press("#sql", "Control+Enter")
    page.wait_for_selector("#ask, .state[data-cause]")
    return page


def press(page: Any, selector: str) -> None:
    """Click what leads to another page, and wait for all of it: a click alone may return while the old one is there."""
    with page.expect_navigation():
        page.click(selector)


def cause(page: Any) -> str:
    return str(page.wait_for_selector(".state[data-cause]").get_attribute("data-cause"))


def spent(service: Running, who: str) -> float:
    return float(service.call(who, "GET", "/v1/datasets/visits/budget").json()["share"])
