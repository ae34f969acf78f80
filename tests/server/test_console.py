"""The console in a real browser, on the real service: every screen, every designed state, and nothing that runs."""

from __future__ import annotations

import gzip
import os
import re
import signal
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe

from demo_service import Running, running_demo
from giveortake.privacy.events import Pure
from giveortake.server.console.pages import POLICY

BY_REGION = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
EVIL = "<img src=x onerror=alert(1)>\"'&<script>alert(2)</script>"
PAGES = ("/", "/ask/visits", "/releases/visits", "/meaning/visits", "/profile/visits")
WIDE, PHONE = {"width": 1300, "height": 900}, {"width": 390, "height": 844}
LARGEST = 40 * 1024  # of a page with all that it loads, compressed


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
        page.set_default_timeout(20_000)
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"a dialog: {dialog.message}"))
        if who is not None:
            page.goto("/login")
            page.fill("#token", self.service.tokens[who])
            page.click("button:has-text('Log in')")
            page.wait_for_url("**/")
        return page

    def analyst(self, name: str, epsilon: str) -> str:
        body = {"name": name, "datasets": ["visits"], "budget": {"epsilon": epsilon}}
        self.service.call("custodian", "POST", "/v1/analysts", body).raise_for_status()
        made = self.service.call("custodian", "POST", "/v1/tokens", {"role": "analyst", "name": name}).json()
        self.service.tokens[name] = made["token"]
        return name


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service of this module's own: workers are killed, budgets used up and analysts revoked."""
    with running_demo(tmp_path_factory.mktemp("console"), spares=1) as found:
        yield found


@pytest.fixture(scope="module")
def desk(browser: Any, service: Running) -> Iterator[Desk]:
    found = Desk(browser, service)
    for name, epsilon in (("dora", "0.02"), ("elsa", "0.02"), (EVIL, "0.03")):
        found.analyst(name, epsilon)
    yield found
    for context in found.windows:
        context.close()


@pytest.fixture(autouse=True)
def _nothing_to_complain_about(desk: Desk) -> Iterator[None]:
    desk.complaints.clear()
    yield
    assert desk.complaints == []


@pytest.fixture(scope="module")
def bob(desk: Desk) -> Any:
    """A window of an analyst who is logged in, and may spend ε = 1."""
    return desk.window("bob")


def quoted(page: Any, sql: str, epsilon: str) -> Any:
    """The workbench with a question on it, and its price beside it."""
    page.goto("/ask/visits")
    page.fill("#sql", sql)
    page.fill("#spend", epsilon)
    page.press("#sql", "Control+Enter")
    page.wait_for_selector("#ask, .state[data-cause]")
    return page


def cause(page: Any) -> str:
    return str(page.wait_for_selector(".state[data-cause]").get_attribute("data-cause"))


def spent(service: Running, who: str) -> float:
    return float(service.call(who, "GET", "/v1/datasets/visits/budget").json()["share"])


# -- the way in ------------------------------------------------------------------------------------------------------


def test_a_token_is_pasted_once_and_lives_in_a_cookie_that_no_script_and_no_other_site_can_use(desk: Desk) -> None:
    page = desk.window(None)
    page.goto("/ask/visits")
    assert page.url.endswith("/login?why=token")
    page.fill("#token", "got_0000000000000000_" + "0" * 64)
    page.click("button:has-text('Log in')")
    assert "A valid token is needed" in page.text_content("main")
    page.fill("#token", desk.service.tokens["bob"])
    page.press("#token", "Enter")
    page.wait_for_selector("h1:has-text('Data sets')")
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
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
        headers={"cookie": f"giveortake={desk.service.tokens['bob']}", **headers},
    )
    assert sent.status_code == 403
    assert spent(desk.service, "bob") == before


def test_nobody_is_logged_in_by_a_page_of_another_site(desk: Desk) -> None:
    sent = httpx.post(
        f"{desk.service.address}/login",
        data={"token": desk.service.tokens["bob"]},
        headers={"origin": "https://evil.example"},
    )
    assert sent.status_code == 403
    assert "set-cookie" not in sent.headers


# -- the workbench ---------------------------------------------------------------------------------------------------


def test_a_question_is_quoted_on_a_curve_asked_on_purpose_and_free_the_second_time(desk: Desk, bob: Any) -> None:
    bob.goto("/ask/visits")
    bob.click("ul.plainlist li:nth-child(2) button")
    bob.wait_for_selector("#ask")
    assert "COUNT(*)" in bob.input_value("#sql")
    assert bob.locator("#light .k").count() >= 4  # SELECT, COUNT, AS, FROM
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
    assert spent(desk.service, "bob") == 0
    bob.wait_for_selector("#ask:not([disabled])")
    bob.click("#ask")
    bob.wait_for_selector("#answer")
    release = bob.url.partition("release=")[2]
    assert release
    rows = bob.locator("#answer tbody tr")
    assert rows.count() == bob.locator("#answer svg.interval").count() == 6
    assert re.search(r"± \d+", rows.first.text_content())
    assert spent(desk.service, "bob") == pytest.approx(0.05)
    bob.reload()
    assert bob.locator("#answer tbody tr").count() == 6
    bob.click("#ask")
    bob.wait_for_selector("#answer")
    assert release in bob.url
    assert spent(desk.service, "bob") == pytest.approx(0.05)


def test_the_spend_may_be_what_the_budget_has_prices_for_and_a_repeat_is_told_as_free(desk: Desk, bob: Any) -> None:
    assert bob.locator("#currency").count() == 0  # a pure ε has no price for Gaussian noise
    page = quoted(desk.window("ann"), BY_REGION, "0.2")
    signs = {"rho": "ρ = 0.02", "mu": "μ = 0.2", "approximate": "ε = 0.2, δ = 5e-9"}
    for currency, price in signs.items():  # about the same noise, proposed
        page.select_option("#currency", currency)
        page.wait_for_selector(f"#ask:has-text('Ask for {price}')")
        assert f"Exactly, at {price}" in page.text_content("#exact")
        assert page.locator("#curve").count() == 1
    page.click("#ask")
    page.wait_for_selector("#answer")
    assert "(Gaussian)" in page.text_content("#answer") or "μ = " in page.text_content("#answer")
    page.click("#answer-title a")
    page.fill("input[name=spend]", "0.1")
    page.click("button:has-text('Refine for this ε')")
    page.wait_for_url(re.compile(r"/releases/visits/(?!.*refine)"))
    desk.service.answer("ann", BY_REGION, "another key", epsilon="0.2", delta="5e-9").raise_for_status()
    page.goto("/releases/visits")
    assert "free: read again" in page.text_content("tbody tr:first-child")
    page.goto("/")
    assert page.locator("svg.chart").count() == 1  # it burned down by what was charged


def test_paper_holds_the_question_and_the_answer_and_no_buttons(desk: Desk, bob: Any) -> None:
    release = desk.service.answer("bob", BY_REGION, "on paper", epsilon="0.011").json()["release_id"]
    bob.goto(f"/ask/visits?release={release}")
    bob.emulate_media(media="print")
    assert bob.is_visible("#answer pre.paper")
    assert bob.is_visible("#answer table")
    for hidden in ("button", "input", "svg.meter", "nav"):
        assert not any(bob.locator(hidden).nth(place).is_visible() for place in range(bob.locator(hidden).count()))
    bob.emulate_media(media="screen")
    assert not bob.is_visible("#answer pre.paper")


def test_names_are_offered_from_the_schema_and_taken_by_keyboard(bob: Any) -> None:
    bob.goto("/ask/visits")
    bob.fill("#sql", "")
    bob.type("#sql", "SELECT COUNT(*) AS n FROM visits WHERE amo")
    assert "amount" in bob.text_content("#offers")
    bob.keyboard.press("Control+Space")
    assert bob.input_value("#sql").endswith("WHERE amount")


def test_what_cannot_be_asked_says_which_construct_and_what_to_write(desk: Desk, bob: Any) -> None:
    before = spent(desk.service, "bob")
    quoted(bob, "SELECT * FROM visits", "0.1")
    assert cause(bob) == "refused"
    assert "rows are never shown" in bob.text_content(".state[data-cause]")
    assert "Nothing was charged" in bob.text_content(".state[data-cause]")
    quoted(bob, "SELECT COUNT(*) AS n FROM visits", "nonsense")
    assert cause(bob) == "invalid"
    assert spent(desk.service, "bob") == before


def test_what_is_too_dear_is_shaded_and_cannot_be_asked_for(bob: Any) -> None:
    bob.goto("/ask/visits")
    bob.fill("#sql", BY_REGION)
    bob.fill("#spend", "3")
    bob.press("#sql", "Control+Enter")
    bob.wait_for_selector("#act:has-text('too dear as it is')")
    assert bob.locator("#ask").count() == 0
    assert bob.locator("svg .dear").count() == 1


def test_a_used_up_allotment_says_who_can_grant_more(desk: Desk) -> None:
    assert desk.service.answer("dora", BY_REGION, "all of it", epsilon="0.02").status_code == 200
    page = desk.window("dora", java_script_enabled=False)
    page.goto("/ask/visits")
    page.fill("#sql", "SELECT COUNT(*) AS n FROM visits")
    page.click("button[value=price]")
    assert "too dear as it is" in page.text_content("#act")
    assert "the custodian can grant more" in page.text_content(".state[data-cause=budget]")
    sent = page.request.post(
        "/ask/visits",
        form={"do": "ask", "sql": "SELECT COUNT(*) AS n FROM visits", "spend": "0.01"},
        headers={"origin": desk.service.address},
    )
    assert "Your allotment is used up" in sent.text()
    assert "the custodian can grant more" in sent.text()


def test_a_lost_worker_is_told_as_charged_once_and_the_same_press_gives_the_answer(desk: Desk, bob: Any) -> None:
    quoted(bob, "SELECT COUNT(*) AS n FROM visits WHERE region = 'north'", "0.01")
    pool = desk.service.service.pools["visits"]
    pids = [worker.process.pid for worker in pool._all - set(pool._warm)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)  # so that the question is under way when it dies
    bob.click("#ask")
    bob.wait_for_timeout(300)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert cause(bob) == "worker_lost"
    assert "charged once" in bob.text_content(".state[data-cause]")
    desk.complaints.clear()  # the browser tells of a 503
    bob.reload()  # the question and its key are kept by the window
    assert "region = 'north'" in bob.input_value("#sql")
    bob.fill("#spend", "0.01")
    bob.press("#sql", "Control+Enter")
    bob.wait_for_selector("#ask:has-text('0.01'):not([disabled])")
    before = spent(desk.service, "bob")
    bob.click("#ask")
    bob.wait_for_selector("#answer")
    assert spent(desk.service, "bob") == pytest.approx(before + 0.01)


def test_offline_nothing_is_lost(desk: Desk, bob: Any) -> None:
    quoted(bob, "SELECT COUNT(*) AS n FROM visits WHERE region = 'south'", "0.01")
    bob.context.set_offline(True)
    bob.click("#ask")
    bob.wait_for_selector("#offline:not([hidden])")
    bob.context.set_offline(False)
    desk.complaints.clear()  # the browser tells that it was offline
    bob.click("#ask")
    bob.wait_for_selector("#answer")


def test_refining_citing_downloading_and_the_same_elsewhere(desk: Desk, bob: Any) -> None:
    desk.service.answer("bob", "SELECT COUNT(*) AS n FROM visits", "to refine", epsilon="0.01")
    bob.goto("/releases/visits")
    bob.click("tbody tr:first-child a")
    assert "Cite" in bob.text_content("main")
    code = bob.locator("details pre.code").all_text_contents()
    assert sum("GIVEORTAKE_TOKEN" in each for each in code) == 4
    assert "got_" not in "".join(code)
    bob.fill("input[name=spend]", "0.02")
    bob.click("button:has-text('Refine')")
    bob.wait_for_url(re.compile(r"/releases/visits/(?!.*refine)"))
    with bob.expect_download() as caught:
        bob.click("a:has-text('csv')")
    assert caught.value.path().read_text().startswith("n,n_low,n_high")


# -- releases, meaning, profile --------------------------------------------------------------------------------------


def test_two_releases_are_compared_with_intervals_of_the_differences(desk: Desk, bob: Any) -> None:
    for epsilon in ("0.012", "0.013"):
        desk.service.answer("bob", BY_REGION, f"compare {epsilon}", epsilon=epsilon)
    bob.goto("/releases/visits?q=group by region")
    assert bob.locator("tbody tr").count() >= 2
    bob.check("tbody tr:nth-child(2) input[name=before]")
    bob.check("tbody tr:nth-child(1) input[name=after]")
    bob.click("button:has-text('Compare')")
    assert bob.locator("svg.interval").count() == 6
    assert "hold with at least 90 %" in bob.text_content("main")
    bob.goto("/releases/visits?q=no such words")
    assert "Nothing found" in bob.text_content("main")
    bob.goto("/compare/visits")
    assert "Choose two releases" in bob.text_content("main")


def test_a_workload_is_read_table_by_table(desk: Desk, bob: Any) -> None:
    cube = "SELECT region, COUNT(*) AS n FROM visits GROUP BY CUBE (region)"
    body = {"workload": {"sql": cube}, "terms": {"epsilon": "0.011"}, "key": "tables"}
    desk.service.call("bob", "POST", "/v1/datasets/visits/workload", body).raise_for_status()
    questions = [{"sql": BY_REGION}, {"sql": BY_REGION.replace("n FROM", "m FROM")}]
    several = {"questions": questions, "terms": {"epsilon": "0.014"}, "key": "several"}
    desk.service.call("bob", "POST", "/v1/datasets/visits/batch", several).raise_for_status()
    bob.goto("/releases/visits")
    assert "… and 1 more" in bob.text_content("tbody tr:first-child")
    assert "ε = 0.014" in bob.text_content("tbody tr:first-child")
    assert bob.locator("tbody tr:nth-child(2) input:disabled").count() == 2  # what is compared is one table
    bob.click("tbody tr:nth-child(2) a")
    first = bob.text_content("main")
    assert "Table 1 of 2" in first
    assert "Refine" not in first
    bob.click("a:has-text('the next')")
    assert "Table 2 of 2" in bob.text_content("main")
    with bob.expect_download() as caught:
        bob.click("a:has-text('csv')")
    assert "n,n_low,n_high" in caught.value.path().read_text()


def test_what_epsilon_means_is_told_for_mine_and_for_all(bob: Any) -> None:
    bob.goto("/meaning/visits")
    assert bob.locator("section svg.chart").count() == 6
    text = bob.text_content("main")
    assert "All that you may ever ask, together" in text
    assert "All that anybody may ever ask, together" in text
    assert "ε = 4, δ = 1e-6" in text


def test_a_profile_is_charged_once_and_drawn(desk: Desk, bob: Any) -> None:
    bob.goto("/profile/visits")
    bob.fill("input[name=epsilon]", "0.03")
    before = spent(desk.service, "bob")
    bob.click("button:has-text('Make it')")
    bob.wait_for_selector("svg.chart")
    assert bob.locator("tr.mine").count() == 1
    assert spent(desk.service, "bob") == pytest.approx(before + 0.03)


# -- the custodian ---------------------------------------------------------------------------------------------------


def test_a_custodian_grants_issues_revokes_and_checks_and_the_revoked_are_told(desk: Desk) -> None:
    owner, elsa = desk.window("custodian"), desk.window("elsa")
    owner.goto("/custodian")
    owner.click("summary:has-text('Let somebody ask')")
    owner.fill("form:has(button[value=add_analyst]) input[name=name]", "finn")
    owner.fill("form:has(button[value=add_analyst]) input[name=epsilon]", "0.01")
    owner.click("button[value=add_analyst]")
    owner.wait_for_selector(".state:has-text('finn may ask now')")
    owner.click("button[aria-label='New token for finn']")
    secret = owner.text_content(".secret")
    assert re.fullmatch(r"got_[0-9a-f]{16}_[0-9a-f]{64}", secret or "")
    desk.service.tokens["finn"] = secret
    assert desk.window("finn").locator("h1").first.text_content() == "Data sets"
    owner.click("button[aria-label='Revoke elsa']")
    elsa.goto("/ask/visits")
    assert cause(elsa) == "revoked"
    desk.complaints.clear()  # the browser tells of a 403
    owner.click(f"button[aria-label='Revoke token {(secret or '')[4:20]}']")
    owner.wait_for_selector(".state:has-text('lets nobody in')")
    assert desk.service.call("finn", "GET", "/v1/me").status_code == 401
    owner.click("button[value=check]")
    owner.wait_for_selector("b:has-text('It holds.')")
    assert "Workers lost" in owner.text_content("main")


def large(service: Running, key: str) -> httpx.Response:
    """A question of gus's that costs more than they may spend unseen."""
    return service.answer("gus", "SELECT COUNT(*) AS large FROM visits", key, epsilon="0.008")


def test_a_large_spend_waits_with_its_price_is_denied_with_a_reason_and_approved_once(desk: Desk) -> None:
    service = desk.service
    grant = {"name": "gus", "datasets": ["visits"], "budget": {"epsilon": "0.02"}}
    more = {"approval_above": {"epsilon": "0.005"}, "failures": 5}
    service.call("custodian", "POST", "/v1/analysts", grant | more).raise_for_status()
    made = service.call("custodian", "POST", "/v1/tokens", {"role": "analyst", "name": "gus"}).json()
    service.tokens["gus"] = made["token"]
    assert large(service, "one").json()["error"]["cause"] == "approval_required"
    owner = desk.window("custodian")
    owner.goto("/approvals")
    waiting = owner.locator("section:has-text('gus')").first
    text = waiting.text_content()
    assert "SELECT COUNT(*) AS large" in text
    assert "ε = 0.008" in text
    assert "40 % for this" in text
    assert "60 % after" in text
    waiting.locator("button[value=deny]").click()
    assert cause(owner) == "invalid"  # without a reason
    owner.fill("section:has-text('gus') input[name=reason]", "too much at once")
    owner.click("section:has-text('gus') button[value=deny]")
    owner.wait_for_selector(".state:has-text('Denied')")
    told = large(service, "two").json()["error"]
    assert told["cause"] == "approval_denied"
    assert "too much at once" in told["message"]
    log = service.call("gus", "GET", "/releases/visits").text
    assert "too much at once" in log
    assert "token " not in log  # who decided is not told
    owner.click("button:has-text('Approve after all')")
    owner.wait_for_selector(".state:has-text('for a week')")
    (mine,) = service.call("gus", "GET", "/v1/datasets/visits/approvals").json()["approvals"]
    assert (mine["state"], mine["price"]) == ("approved", "ε = 0.008")
    assert mine["expires"] is not None
    assert large(service, "three").status_code == 200
    assert service.call("bob", "GET", "/v1/datasets/visits/approvals").json() == {"approvals": []}
    owner.goto("/approvals")
    assert "Nothing waits" in owner.text_content("main")
    assert "used" in owner.text_content("tbody")


def test_failures_are_reset_by_the_custodian_alone_and_written_down(desk: Desk) -> None:
    with desk.service.book() as book:
        paid = book.reserve(Pure("1/1000"), dataset="visits", analyst="bob", key="it fails", request="r", question="q")
        book.fail(paid)
    owner = desk.window("custodian")
    owner.goto("/custodian")
    owner.click("button[aria-label='Reset failures of analyst bob']")
    owner.wait_for_selector(".state:has-text('As many failures are allowed again')")
    with desk.service.book() as book:
        last = [entry for entry in book.history() if entry.kind == "forgiven"][-1]
    assert last.content["by"].startswith("token ")


def test_a_table_is_added_by_a_form_that_reads_its_header_and_is_served_at_once(desk: Desk) -> None:
    owner, service = desk.window("custodian"), desk.service
    owner.set_default_timeout(90_000)  # workers are started
    owner.goto("/tables")
    owner.click("button[value=columns]")
    assert owner.locator("tbody tr").count() == 4
    owner.fill("input[name=name]", "trips")
    owner.select_option("select[name=unit]", "rider")
    assert owner.input_value("select[name=people]") == ""  # who is in it, somebody has to say
    owner.select_option("select[name=people]", "others")
    owner.fill("input[name=epsilon]", "1")
    owner.select_option("select[name=c2-kind]", "real")
    owner.fill("input[name=c2-low]", "0")
    owner.click("button[value=add]")
    assert "both bounds" in owner.text_content(".state[data-cause=invalid]")
    assert owner.input_value("input[name=c2-low]") == "0"  # nothing is lost
    assert Axe().run(owner).violations_count == 0
    owner.fill("input[name=c2-high]", "90")
    owner.fill("input[name=c3-values]", "inner, outer")
    owner.fill("input[name=rows_per_person]", "1")
    owner.click("button[value=add]")
    owner.wait_for_selector(".state:has-text('trips is behind its budget')")
    text = owner.text_content("pre.code")
    assert text.strip() in (service.folder / "giveortake.toml").read_text(encoding="utf-8")
    assert "incoming/trips.csv" in text
    with service.book() as book:
        (added,) = (entry for entry in book.history() if entry.kind == "dataset" and entry.content["name"] == "trips")
        book.verify()
    assert added.content["by"].startswith("token ")
    asked = {"sql": "SELECT zone, AVG(fare) AS fare FROM trips GROUP BY zone", "terms": {"epsilon": "0.5"}, "key": "k"}
    answered = service.call("custodian", "POST", "/v1/datasets/trips/answer", asked)
    assert answered.json()["columns"]["zone"] == ["inner", "outer"]
    assert service.call("bob", "GET", "/v1/datasets/trips").status_code == 404
    assert service.call("bob", "GET", "/v1/tables").status_code == 403


def test_an_analyst_has_no_custodian_page(bob: Any, desk: Desk) -> None:
    assert "Custodian" not in bob.text_content("nav")
    bob.goto("/custodian")
    assert cause(bob) == "role"
    desk.complaints.clear()  # the browser tells of a 403


# -- for everybody, everywhere ---------------------------------------------------------------------------------------


def test_everything_but_the_live_curve_works_without_scripts(desk: Desk) -> None:
    page = desk.window("bob", java_script_enabled=False, viewport=PHONE)
    page.goto("/ask/visits")
    page.click("ul.plainlist li:nth-child(1) button")
    page.fill("#spend", "0.015")
    page.click("button:has-text('Quote again')")
    assert page.locator("#curve").count() == 1
    assert not page.is_visible("#slider")
    page.click("#ask")
    assert "release=" in page.url
    assert page.locator("#answer tbody tr").count() == 1


def test_the_keyboard_alone_logs_in_quotes_and_asks(desk: Desk) -> None:
    page = desk.window(None)
    page.goto("/login")
    tab_to(page, "token")
    page.keyboard.type(desk.service.tokens["bob"])
    page.keyboard.press("Enter")
    page.wait_for_url("**/")
    page.goto("/ask/visits")
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_screen_is_readable_by_everybody(scheme: str, desk: Desk) -> None:
    """Axe finds nothing, in light on a desk and in dark on a phone, and a phone never scrolls sideways."""
    wide = scheme == "light"
    page = desk.window("bob", color_scheme=scheme, viewport=WIDE if wide else PHONE)
    release = desk.service.answer("bob", BY_REGION, "compare 0.012", epsilon="0.012").json()["release_id"]
    screens = ["/", f"/ask/visits?release={release}", "/meaning/visits"]
    if wide:
        screens += ["/login", "/ask/visits", "/releases/visits", "/profile/visits", f"/releases/visits/{release}"]
    for path in screens:
        page.goto(path)
        found = Axe().run(page, options=None if wide else {"runOnly": ["color-contrast", "target-size", "label"]})
        assert found.violations_count == 0, f"{path}: {found.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    owner = desk.window("custodian", color_scheme=scheme, viewport=WIDE if wide else PHONE)
    for path in ("/custodian", "/approvals"):
        owner.goto(path)
        assert Axe().run(owner).violations_count == 0, path
        assert owner.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


def test_a_page_is_light_loads_only_what_is_ours_and_says_so(desk: Desk) -> None:
    page = desk.window("bob")
    addresses: list[str] = []
    release = desk.service.answer("bob", BY_REGION, "compare 0.012", epsilon="0.012").json()["release_id"]
    page.on("request", lambda request: addresses.append(request.url))
    page.goto(f"/ask/visits?release={release}")
    page.wait_for_selector("#slide:not([hidden])")
    assert all(each.startswith(desk.service.address) for each in addresses)
    loaded = [page.request.get(each) for each in dict.fromkeys(addresses)]
    assert sum(len(gzip.compress(each.body())) for each in loaded) < LARGEST
    assert all(each.headers["content-security-policy"] == POLICY for each in loaded)
    assert "default-src 'none'" in POLICY
    assert "unsafe" not in POLICY
    assert page.locator("[style], script:not([src]), style").count() == 0
