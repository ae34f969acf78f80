"""What a page says when something cannot be had: refused, too dear, used up, lost, offline."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from console_desk import BY_REGION, Desk, cause, happens, press, quoted, spent

pytestmark = pytest.mark.long


def test_what_cannot_be_asked_says_which_construct_and_what_to_write(desk: Desk, bob: Any) -> None:
    before = spent(desk.service, "bob")
    quoted(bob, "SELECT * FROM visits", "0.1")
    assert cause(bob) == "refused"
    assert "rows are never shown" in bob.text_content(".state[data-cause]")
    assert "Nothing was charged" in bob.text_content(".state[data-cause]")
    assert bob.text_content("#live") == ""  # there is no price
    quoted(bob, "SELECT COUNT(*) AS n FROM visits", "nonsense")
    assert cause(bob) == "invalid"
    bob.fill("[name=confidence]", "95")
    bob.fill("#spend", "0.1")
    bob.press("#sql", "Control+Enter")
    bob.wait_for_selector(".state[data-cause]:has-text('“Confidence”: 0.95')")
    assert spent(desk.service, "bob") == before


def test_what_is_too_dear_is_shaded_and_cannot_be_asked_for(desk: Desk, bob: Any) -> None:
    desk.service.answer("bob", BY_REGION, "so that less is left", epsilon="0.01").raise_for_status()
    bob.goto("/ask/visits?currency=epsilon")
    bob.fill("#sql", BY_REGION)
    bob.fill("#spend", "3")
    bob.press("#sql", "Control+Enter")
    bob.wait_for_selector("#act:has-text('does not fit')")
    assert bob.locator("#ask").count() == 0
    assert bob.locator("svg .dear").count() == 1


def test_a_used_up_allotment_says_who_can_grant_more(desk: Desk) -> None:
    assert desk.service.answer("dora", BY_REGION, "all of it", epsilon="0.02").status_code == 200
    page = desk.window("dora", java_script_enabled=False)
    page.goto("/ask/visits?currency=epsilon")
    page.fill("#sql", "SELECT COUNT(*) AS n FROM visits")
    press(page, "button[value=price]")
    assert "does not fit" in page.text_content("#act")
    assert "the custodian can grant more" in page.text_content(".state[data-cause=budget]")
    page.goto("/releases/visits")
    press(page, "tbody tr:first-child a")
    for place in ("release", "workbench"):
        if place == "workbench":
            press(page, "a:has-text('Open in the workbench')")
        assert "with 95 % confidence." in page.text_content(".state:has-text('Uncertain')")
        assert "would" not in page.text_content(".state:has-text('Uncertain')")  # nothing that can be paid for
    page.goto("/ask/visits?currency=epsilon")
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
    (asked,) = pool.working
    os.kill(asked.process.pid, signal.SIGSTOP)
    bob.click("#ask")
    happens(bob, pool._idle.empty, "the question is under way")
    os.kill(asked.process.pid, signal.SIGKILL)
    assert cause(bob) == "worker_lost"
    assert "charged once" in bob.text_content(".state[data-cause]")
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
    desk.expect_complaint(bob, "ERR_INTERNET_DISCONNECTED")
    bob.click("#ask")
    bob.wait_for_selector("#answer")


def test_whoever_is_sent_away_for_a_while_keeps_the_question_and_its_price(desk: Desk, bob: Any) -> None:
    quoted(bob, "SELECT COUNT(*) AS n FROM visits WHERE region = 'east'", "0.01")
    before = spent(desk.service, "bob")
    desk.service.service.draining = True
    try:
        bob.click("#ask")
        assert cause(bob) == "draining"
    finally:
        desk.service.service.draining = False
    desk.expect_complaint(bob, "503")
    assert "The service is stopping" in bob.text_content(".state[data-cause]")
    assert "charged once" in bob.text_content(".state[data-cause]")
    assert "region = 'east'" in bob.input_value("#sql")
    assert "± " in bob.text_content("#exact")
    bob.click("#ask")
    bob.wait_for_selector("#answer")
    assert bob.locator(".state[data-cause]").count() == 0
    assert spent(desk.service, "bob") == pytest.approx(before + 0.01)
