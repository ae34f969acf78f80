"""The custodian's pages."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe

from console_desk import Desk, cause, press, quoted
from demo_service import Running
from giveortake.ledger import Charge
from giveortake.privacy.events import Pure

pytestmark = pytest.mark.long


def test_a_form_that_does_not_fit_stays_open_as_it_was_and_says_why_in_its_own_words(desk: Desk) -> None:
    owner = desk.window("custodian")
    owner.goto("/custodian")
    form = "details:has(button[value='analyst add'])"
    owner.click("summary:has-text('Let somebody ask')")
    owner.fill(f"{form} input[name=name]", "hana")
    for typed, words in (
        ({"budget-epsilon": "", "budget-rho": ""}, "state an allotment of their own"),
        ({"budget-epsilon": "0.01", "budget-rho": "0.1"}, "does not state exactly one promise"),
        ({"budget-epsilon": "0,01", "budget-rho": ""}, "0,01"),
        ({"budget-epsilon": "0.01", "approval_above-epsilon": "x"}, "is not a number"),
        ({"approval_above-epsilon": "", "questions": "few"}, "“Questions” is not a whole number"),
        ({"questions": "", "name": "bob"}, "bob already has an allotment of ε = 1"),
    ):
        for name, value in typed.items():
            owner.fill(f"{form} input[name={name}]", value)
        press(owner, "button[value='analyst add']")
        assert words in owner.text_content(f"{form}[open] .state")
        for name, value in typed.items():
            assert owner.input_value(f"{form} input[name={name}]") == value
    assert "change it (giveortake admin budget change), or choose another name" in owner.text_content(f"{form} .state")
    owner.click("summary:has-text('Change a promise')")
    owner.fill("details:has(button[value='budget change']) input[name=reason]", "a reason")
    press(owner, "button[value='budget change']")
    assert "lacks budget" in owner.text_content("details[open] .state")
    assert owner.input_value("details:has(button[value='budget change']) input[name=reason]") == "a reason"


def test_without_a_folder_the_page_says_how_to_set_one_up(desk: Desk) -> None:
    service, owner = desk.service.service, desk.window("custodian")
    before = service.settings
    service.settings = replace(before, folders=())
    try:
        owner.goto("/tables")
    finally:
        service.settings = before
    assert "No folder is set up from which tables may be added" in owner.text_content(".state.calm")
    assert "folders = " in owner.text_content(".state.calm")


def large(service: Running, key: str) -> httpx.Response:
    """A question of gus's that costs more than they may spend unseen."""
    return service.answer("gus", "SELECT COUNT(*) AS large FROM visits", key, epsilon="0.008")


def test_a_large_spend_waits_with_its_price_is_denied_with_a_reason_and_approved_once(desk: Desk) -> None:
    service = desk.service
    grant = {"name": "gus", "datasets": ["visits"], "budget": {"epsilon": "0.02"}}
    more = {"approval_above": {"epsilon": "0.005"}, "failures": 5}
    service.call("custodian", "POST", "/v1/analysts", grant | more).raise_for_status()
    made = service.call("custodian", "POST", "/v1/tokens", {"role": "analyst", "analyst": "gus"}).json()
    service.tokens["gus"] = made["token"]
    priced = {"sql": "SELECT COUNT(*) AS large FROM visits", "terms": {"epsilon": "0.008"}}
    quote = service.call("gus", "POST", "/v1/datasets/visits/quote", priced).json()
    assert (quote["admitted"], quote["approval"]) == (True, True)
    page = quoted(desk.window("gus"), "SELECT COUNT(*) AS large FROM visits", "0.008")
    assert page.text_content("#ask") == "Ask for approval of ε = 0.008"
    assert "waits until the custodian approves it" in page.text_content("#exact")
    assert large(service, "one").json()["error"]["cause"] == "approval_required"
    owner = desk.window("custodian")
    owner.goto("/approvals")
    waiting = owner.locator("section:has-text('gus')").first
    text = waiting.text_content()
    assert "SELECT COUNT(*) AS large" in text
    assert "ε = 0.008" in text
    assert "40 % for this" in text
    assert "60 % after" in text
    waiting.locator("button[value='approval deny']").click()
    assert cause(owner) == "invalid"  # without a reason
    owner.fill("section:has-text('gus') input[name=reason]", "too much at once")
    owner.click("section:has-text('gus') button[value='approval deny']")
    owner.wait_for_selector(".state:has-text('is denied')")
    told = large(service, "two").json()["error"]
    assert told["cause"] == "approval_denied"
    assert "too much at once" in told["message"]
    log = service.call("gus", "GET", "/releases/visits").text
    assert "too much at once" in log
    assert "token " not in log  # who decided is not told
    owner.click("button:has-text('Approve after all')")
    owner.wait_for_selector(".state:has-text('is approved')")
    (mine,) = service.call("gus", "GET", "/v1/datasets/visits/approvals").json()["approvals"]
    assert (mine["state"], mine["price"]) == ("approved", "ε = 0.008")
    assert mine["expires"] is not None
    assert not service.call("gus", "POST", "/v1/datasets/visits/quote", priced).json()["approval"]  # it may pass now
    assert large(service, "three").status_code == 200
    assert service.call("bob", "GET", "/v1/datasets/visits/approvals").json() == {"approvals": []}
    owner.goto("/approvals")
    assert "Nothing waits" in owner.text_content("main")
    assert "used" in owner.text_content("tbody")


def test_failures_are_reset_by_the_custodian_alone_and_written_down(desk: Desk) -> None:
    with desk.service.book() as book:
        paid = book.reserve(Charge(Pure("1/1000"), dataset="visits", analyst="bob", key="it fails", name="q"))
        book.fail(paid)
    owner = desk.window("custodian")
    owner.goto("/custodian")
    owner.click("button[aria-label='Reset failures of analyst bob']")
    owner.wait_for_selector(".state:has-text('may fail again')")
    with desk.service.book() as book:
        last = [entry for entry in book.history() if entry.kind == "forgiven"][-1]
    assert last.content["by"].startswith("token ")


def test_a_table_is_added_by_a_form_that_reads_its_header_and_is_served_at_once(desk: Desk) -> None:
    owner, service = desk.window("custodian"), desk.service
    owner.goto("/tables")
    press(owner, "button[value=columns]")
    assert owner.locator("tbody tr").count() == 4
    owner.fill("input[name=name]", "trips")
    owner.select_option("select[name=unit]", "rider")
    assert owner.input_value("select[name=people]") == ""  # who is in it, somebody has to say
    owner.select_option("select[name=people]", "others")
    owner.fill("input[name=epsilon]", "1")
    owner.select_option("select[name=c2-kind]", "real")
    owner.fill("input[name=c2-low]", "0")
    press(owner, "button[value=add]")
    assert "both bounds" in owner.text_content(".state[data-cause=invalid]")
    assert owner.input_value("input[name=c2-low]") == "0"  # nothing is lost
    assert Axe().run(owner).violations_count == 0
    owner.fill("input[name=c2-high]", "90")
    owner.fill("input[name=c3-values]", "inner, outer")
    owner.fill("input[name=rows_per_person]", "1")
    press(owner, "button[value=add]")
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
    page = service.call("custodian", "GET", "/custodian").text  # where a grant begins with one population
    assert re.findall(r'name="datasets-(\w+)" value="on"( checked)?', page) == [("visits", " checked"), ("trips", "")]


def test_an_analyst_has_no_custodian_page(bob: Any, desk: Desk) -> None:
    assert "Custodian" not in bob.text_content("nav")
    bob.goto("/custodian")
    assert cause(bob) == "role"
    desk.expect_complaint(bob, "403")
