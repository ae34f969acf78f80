"""The workbench: a question, its price on a curve, the answer, and what can be done with it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from console_desk import BY_REGION, Desk, happens, press, quoted, spent

pytestmark = pytest.mark.long


def test_the_spend_may_be_what_the_budget_has_prices_for_and_a_repeat_is_told_as_free(desk: Desk, bob: Any) -> None:
    bob.goto("/ask/visits?currency=epsilon")
    ways = bob.locator("#currency option").evaluate_all("options => options.map(option => option.value)")
    assert ways == ["share", "margin", "epsilon"]  # a pure ε has no price for Gaussian noise
    ann = desk.window("ann")
    ann.goto("/releases/visits")
    before = ann.locator("tbody tr").count()
    page = quoted(ann, BY_REGION, "0.2")
    signs = {"rho": "ρ = 0.02", "mu": "μ = 0.2", "approximate": "ε = 0.2, δ = 5e-9"}
    for currency, price in signs.items():  # about the same noise, proposed
        page.select_option("#currency", currency)
        page.wait_for_selector(f"#ask:has-text('Ask for {price}')")
        assert f"Exactly, at {price}" in page.text_content("#exact")
        page.wait_for_selector("#curve", state="attached")
    page.click("#ask")
    page.wait_for_selector("#answer")
    assert "(Gaussian)" in page.text_content("#answer") or "μ = " in page.text_content("#answer")
    press(page, "#answer-title a")
    page.fill("input[name=spend]", "0.1")
    press(page, "button:has-text('Quote the refinement')")
    press(page, "button:has-text('Refine for an additional ε = 0.1, δ = 5e-9')")
    page.wait_for_url(re.compile(r"/releases/visits/(?!.*refine)"))
    desk.service.answer("ann", BY_REGION, "another key", epsilon="0.2", delta="5e-9").raise_for_status()
    page.goto("/releases/visits")
    assert page.locator("tbody tr").count() == before + 2  # the question and its refinement, and not what was free
    page.goto("/")
    assert page.locator("svg.chart").count() == 1  # it burned down by what was charged


def test_too_large_a_spend_says_what_fits_and_a_button_takes_it(bob: Any) -> None:
    bob.goto("/ask/visits?currency=epsilon")
    bob.fill("#sql", "SELECT COUNT(*) AS n, MEDIAN(amount) AS the_median FROM visits")
    bob.fill("#spend", "50")
    bob.press("#sql", "Control+Enter")
    bob.wait_for_selector("#act:has-text('ε = 50 does not fit: at most ε = ')")
    assert not bob.is_visible("#curve-mark")  # 50 is not on the curve
    ends = "document.querySelector('#exact .stacked b').getBoundingClientRect().right"
    edge = "document.querySelector('#exact').getBoundingClientRect().right"
    assert bob.evaluate(f"{ends} <= {edge}")
    most = (bob.text_content("#fit") or "").strip().removeprefix("Quote ε = ")
    bob.click("#fit")
    bob.wait_for_selector(f"#ask:has-text('Ask for ε = {most}'):not([disabled])")
    assert bob.is_visible("#curve-mark")


class Held:
    """What a page sends to the workbench, kept back until it is let go."""

    def __init__(self, page: Any) -> None:
        self.page, self.routes = page, list[Any]()
        page.route("**/ask/visits", self._keep)

    def _keep(self, route: Any) -> None:
        self.routes.append(route)

    def next(self) -> Any:
        """What was sent first, once it was sent."""
        happens(self.page, lambda: self.routes, "something is sent")
        return self.routes.pop(0)


def test_a_price_that_comes_late_is_not_shown_for_another_spend(desk: Desk) -> None:
    """What a button says is what is spent, however slow the service and however quick the hand."""
    page = quoted(desk.window("bob"), BY_REGION, "0.1")
    held = Held(page)
    page.fill("#spend", "0.05")
    late = held.next()
    page.fill("#spend", "0.04")
    with page.expect_response("**/ask/visits"):
        late.continue_()
    right = held.next()  # sent after the late one was read
    assert page.text_content("#ask") == "Ask for ε = 0.04"
    assert page.is_disabled("#ask")
    right.continue_()
    page.wait_for_selector("#ask:not([disabled])")
    assert (page.text_content("#ask") or "").strip() == "Ask for ε = 0.04"
    assert "at ε = 0.04" in page.text_content("#exact")


def test_what_is_edited_after_its_quote_is_quoted_anew_and_never_asked_under_the_old_one(desk: Desk) -> None:
    sql, mean = "SELECT COUNT(*) AS n FROM visits", "SELECT AVG(amount) AS amount FROM visits"
    page = desk.window("bob")
    page.clock.install()
    before = spent(desk.service, "bob")
    for field, value in (("#sql", mean), ("[name=confidence]", "0.9"), ("[name=rows_per_person]", "2")):
        quoted(page, sql, "0.0123")
        page.evaluate("document.querySelector('details').open = true")
        page.fill(field, value)
        assert page.text_content("#ask") == "Quote the price"
        assert page.locator("#price.stale").count() == 1
        page.clock.run_for(60_000)  # as long as anybody waits before a price is fetched
        page.click("#ask")  # which quotes
        page.wait_for_selector("#price:not(.stale)")
        assert page.text_content("#ask") == "Ask for ε = 0.0123"
        assert page.input_value(field) == value
    quoted(page, sql, "0.0123")
    page.fill("#spend", "much")  # no number: there is no live price of it
    assert page.text_content("#ask") == "Quote the price"
    with page.expect_response("**/ask/visits"):
        page.press("#sql", "Control+Enter")
        page.fill("[name=confidence]", "0.8")  # while the price of another one is on its way
    page.wait_for_selector("#price.stale", state="attached")
    assert page.input_value("[name=confidence]") == "0.8"
    assert spent(desk.service, "bob") == before


def test_whoever_types_while_the_price_comes_goes_on_in_the_same_field(desk: Desk) -> None:
    """The price may come between two keys: neither is lost, and the second replaces what was chosen."""
    page = quoted(desk.window("bob"), "SELECT COUNT(*) AS n FROM visits", "0.0123")
    held = Held(page)
    for name, value in (("confidence", "0.8"), ("rows_per_person", "2")):  # which is folded on the new page
        page.evaluate("document.querySelector('details').open = true")
        page.press("#sql", "Control+Enter")
        sent = held.next()
        page.focus(f"[name={name}]")
        page.keyboard.type(value[:1])
        page.evaluate("document.activeElement.select()")
        page.evaluate("document.querySelector('main').id = 'before'")
        sent.continue_()
        page.wait_for_selector("main#main")
        page.keyboard.insert_text(value)
        assert page.input_value(f"[name={name}]") == value
        assert page.locator("#price.stale").count() == 1


def test_without_a_script_an_edited_question_is_priced_and_not_asked(desk: Desk) -> None:
    page = desk.window("bob", java_script_enabled=False)
    before = spent(desk.service, "bob")
    page.goto("/ask/visits?currency=epsilon")
    page.fill("#sql", "SELECT\n COUNT(*) AS n FROM visits")
    page.fill("#spend", "0.0123")
    press(page, "button[value=price]")
    page.fill("#sql", "SELECT AVG(amount) AS amount\n FROM visits")
    press(page, "#ask")
    assert "changed after its price was quoted" in page.text_content(".state[data-cause=unquoted]")
    assert "amount" in page.text_content("#exact")
    assert spent(desk.service, "bob") == before
    press(page, "#ask")
    assert "release=" in page.url
    assert spent(desk.service, "bob") == pytest.approx(before + 0.0123)


def test_an_answer_under_way_is_shown_whatever_is_moved_or_typed_meanwhile(desk: Desk) -> None:
    page = quoted(desk.window("bob"), "SELECT COUNT(*) AS n FROM visits WHERE amount > 7", "0.01")
    page.clock.install()
    held = Held(page)
    page.click("#ask")
    asked = held.next()
    page.fill("#spend", "0.02")
    page.fill("#sql", "SELECT COUNT(*) AS next FROM visits")
    page.press("#sql", "Control+Enter")
    page.clock.run_for(60_000)  # as long as anybody waits before a price is fetched
    asked.continue_()
    page.wait_for_selector("#answer:has-text('amount > 7')", state="attached")
    assert page.input_value("#sql") == "SELECT COUNT(*) AS next FROM visits"  # nothing is lost
    assert held.routes == []


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
    bob.goto("/ask/visits?currency=epsilon")
    bob.fill("#sql", "")
    bob.type("#sql", "SELECT COUNT(*) AS n FROM visits WHERE amo")
    bob.wait_for_selector("#offers:has-text('amount')")
    bob.keyboard.press("Control+Space")
    assert bob.input_value("#sql").endswith("WHERE amount")


def test_refining_citing_downloading_and_the_same_elsewhere(desk: Desk, bob: Any) -> None:
    desk.service.answer("bob", "SELECT COUNT(*) AS n FROM visits", "to refine", epsilon="0.01")
    bob.goto("/releases/visits")
    press(bob, "tbody tr:first-child a")
    assert "Cite" in bob.text_content("main")
    first = bob.url
    code = bob.locator("details pre.code").all_text_contents()
    assert sum("GIVEORTAKE_TOKEN" in each for each in code) == 4
    assert "got_" not in "".join(code)
    before = spent(desk.service, "bob")
    press(bob, "button:has-text('Quote the refinement')")  # at the price of the first one, which was paid for
    assert "Takes ε = 0.01 in addition, leaves ε = " in bob.text_content("#refinement")
    bob.fill("input[name=spend]", "0.02")
    press(bob, "button:has-text('Quote again')")  # there is no way to pay without a price
    told = bob.text_content("#refinement")
    assert "Takes ε = 0.02 in addition, leaves ε = " in told
    assert re.search(r"n: ± [\d,]+ now at the widest, about ± [\d,]+ after", " ".join(told.split()))
    assert spent(desk.service, "bob") == before
    press(bob, "button:has-text('Refine for an additional ε = 0.02')")
    bob.wait_for_url(re.compile(r"/releases/visits/(?!.*refine)"))
    assert spent(desk.service, "bob") == pytest.approx(before + 0.02)
    refined = bob.url
    bob.goto(first)
    bob.fill("input[name=spend]", "0.02")
    press(bob, "button:has-text('Quote the refinement')")
    assert "in addition" not in bob.text_content("#refinement")  # it was paid for, and is free
    press(bob, "button:has-text('Show the refined answer, free')")
    assert spent(desk.service, "bob") == pytest.approx(before + 0.02)
    bob.goto(refined)
    assert "SELECT COUNT(*) AS n FROM visits" in bob.text_content("pre.code >> nth=0")  # of what it refines
    bob.fill("input[name=spend]", "50")
    press(bob, "button:has-text('Quote the refinement')")
    assert "does not fit" in bob.text_content("#refinement")
    assert bob.locator("button[value=refine]").count() == 0
    bob.goto(bob.url.removesuffix("/refine#refine"))
    with bob.expect_download() as caught:
        bob.click("a:has-text('csv')")
    assert caught.value.path().read_text().startswith("n,n_low,n_high")
    bob.goto("/releases/visits")
    assert "refines an earlier release" in bob.text_content("tbody tr:first-child")
    assert "refines an earlier release" not in bob.text_content("tbody tr:nth-child(2)")


def test_a_share_and_a_margin_are_the_first_ways_to_pay_and_stay_after_the_answer(desk: Desk) -> None:
    page = desk.window("ann")
    page.goto("/ask/visits")
    ways = page.locator("#currency option").evaluate_all("options => options.map(option => option.value)")
    assert ways[:3] == ["share", "margin", "epsilon"]
    assert page.input_value("#currency") == "share"
    page.fill("#sql", BY_REGION)
    page.press("#sql", "Control+Enter")
    page.wait_for_selector("#ask:has-text('Ask for 5 % of the budget')")
    assert "more like this one" in page.text_content("#act")
    press(page, "#price form button:has-text('Quote that')")  # a better way, with one press
    assert page.input_value("[name=rows_per_group]") == "1"
    before = spent(desk.service, "ann")
    page.click("#ask:not([disabled])")
    page.wait_for_selector("#answer")
    assert (page.input_value("#currency"), page.input_value("#spend")) == ("share", "5")
    assert "free" in page.text_content("#act")
    assert 0.049 < spent(desk.service, "ann") - before <= 0.05
    assert "Shares are measured in the" in page.text_content("#allot")
    page.select_option("#currency", "margin")
    page.wait_for_selector("#ask:has-text('a margin of ± 50'), #act:has-text('a margin of ± 50')")
