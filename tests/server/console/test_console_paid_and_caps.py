"""Questions that were paid for elsewhere, caps from a profile, and bounds of numbers that a profile finds."""

from __future__ import annotations

from typing import Any

import pytest

import giveortake as gt
from console_desk import BY_REGION, Desk, quoted, spent

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def eve(desk: Desk) -> Any:
    """A window of an analyst whom no other test here asks for."""
    return desk.window("eve")


@pytest.mark.parametrize(
    ("terms", "fields"),
    [
        ({"epsilon": "0.01"}, {}),
        ({"epsilon": "1/30", "confidence": "0.9"}, {"confidence": "0.9"}),
        ({"epsilon": 0.02, "rows_per_person": {"visits": 2}}, {"rows_per_person": "2"}),
    ],
)
def test_what_was_paid_for_in_python_is_free_here(desk: Desk, eve: Any, terms: Any, fields: Any) -> None:
    with gt.connect(desk.service.address, token=desk.service.tokens["eve"]) as session:
        release = session.sql(BY_REGION).answer(**terms).release_id
    before = spent(desk.service, "eve")
    eve.goto("/ask/visits?currency=epsilon")
    eve.evaluate("document.querySelector('details').open = true")
    for name, value in fields.items():
        eve.fill(f"[name={name}]", value)
    eve.fill("#sql", f"{BY_REGION.lower()};")  # another spelling of the same
    eve.fill("#spend", str(terms["epsilon"]))
    eve.press("#sql", "Control+Enter")
    eve.wait_for_selector("#ask:has-text('Show the answer, free')")
    assert "it was answered at this price: asking for it again is free" in eve.text_content("#act")
    assert "now" not in eve.text_content("#allot")
    eve.click("#ask")
    eve.wait_for_selector("#answer")
    assert spent(desk.service, "eve") == pytest.approx(before)
    eve.goto(f"/ask/visits?release={release}")  # the form asks the very same
    assert "Show the answer, free" in eve.text_content("#ask")
    assert {name: eve.input_value(f"[name={name}]") for name in fields} == fields


def test_another_price_or_cap_is_another_question_and_has_its_price(eve: Any) -> None:
    quoted(eve, BY_REGION, "0.011")
    assert eve.text_content("#ask").strip() == "Ask for ε = 0.011"


def test_the_best_caps_are_taken_from_a_profile_and_a_profile_finds_bounds_of_numbers(desk: Desk, eve: Any) -> None:
    eve.goto("/ask/visits?currency=epsilon")
    eve.evaluate("document.querySelector('details').open = true")
    eve.select_option("[name=caps]", "best")
    eve.fill("#sql", BY_REGION)
    eve.fill("#spend", "0.01")
    eve.press("#sql", "Control+Enter")
    eve.wait_for_selector(".state:has-text('buy a profile of it first')")
    assert "caps=" not in eve.text_content("main")
    eve.goto("/profile/visits")
    assert "amount · real, 0 to 500" in eve.text_content("fieldset >> nth=1")
    eve.check("[name=column-amount]")
    eve.fill("[name=most_rows]", "x")
    eve.click("button:has-text('Quote it')")
    eve.wait_for_selector(".state[data-cause=invalid]")
    assert eve.is_checked("[name=column-amount]")  # what was ticked stays
    eve.fill("[name=most_rows]", "60")
    eve.fill("[name=epsilon]", "0.1")
    eve.click("button:has-text('Quote it')")
    assert "bounds of a column show only where more than about" in eve.text_content("#quote")
    eve.click("button:has-text('Make it')")
    eve.wait_for_url("**/profile/visits?release=*")
    assert "bounds of amount" in eve.text_content("main")
    eve.goto("/ask/visits?currency=epsilon")
    eve.evaluate("document.querySelector('details').open = true")
    eve.select_option("[name=caps]", "best")
    eve.fill("#sql", BY_REGION)
    eve.fill("#spend", "0.01")
    eve.press("#sql", "Control+Enter")
    eve.wait_for_selector("#ask:not([disabled])")
    assert eve.input_value("[name=caps]") == "best"
    assert "cut" in eve.text_content("#left-out")
    assert "rows of noise" in eve.text_content("#other-caps")
    before = spent(desk.service, "eve")
    eve.click("#ask")
    eve.wait_for_selector("#answer")
    paid = spent(desk.service, "eve") - before
    assert paid == pytest.approx(0.01 / 0.9) or paid == pytest.approx(0)  # the noise decides which caps are best
    assert "Show the answer, free" in eve.text_content("#ask")


def test_a_year_of_days_says_one_number_of_rows(desk: Desk) -> None:
    page = desk.window("ann")
    sql = "SELECT BUCKET(CLAMP(amount, 0, 499), 1) AS euros, COUNT(*) AS n FROM visits GROUP BY euros"
    quoted(page, sql, "0.01")
    page.click("#ask:not([disabled])")
    page.wait_for_selector("#answer")
    assert page.text_content("details.rest summary") == "471 more rows"
    assert "The page has the first 200 of 501 rows, a download has all." in page.text_content("details.rest")
