"""Releases, what ε means, and profiles."""

from __future__ import annotations

from typing import Any

import pytest

from console_desk import BY_REGION, Desk, cause, press, spent

pytestmark = pytest.mark.long


def test_two_releases_are_compared_with_intervals_of_the_differences(desk: Desk, bob: Any) -> None:
    for epsilon in ("0.012", "0.013"):
        desk.service.answer("bob", BY_REGION, f"compare {epsilon}", epsilon=epsilon)
    bob.goto("/releases/visits?q=group by region")
    assert bob.locator("tbody tr").count() >= 2
    bob.check("tbody tr:nth-child(2) input[name=before]")
    bob.check("tbody tr:nth-child(1) input[name=after]")
    press(bob, "button:has-text('Compare')")
    assert bob.locator("svg.interval").count() == 6
    assert "hold with at least 90 %" in bob.text_content("main")
    bob.goto("/releases/visits?q=no such words")
    assert "Nothing found" in bob.text_content("main")
    bob.goto("/compare/visits")
    assert "Choose two releases" in bob.text_content("main")


def test_a_workload_is_read_table_by_table(desk: Desk, bob: Any) -> None:
    cube = "SELECT region, COUNT(*) AS n FROM visits GROUP BY CUBE (region)"
    body = {"workload": {"sql": cube}, "terms": {"epsilon": "0.011"}, "key": "tables"}
    desk.service.call("bob", "POST", "/v1/datasets/visits/answer", body).raise_for_status()
    questions = [{"sql": BY_REGION}, {"sql": BY_REGION.replace("n FROM", "m FROM")}]
    several = {"questions": questions, "terms": {"epsilon": "0.014"}, "key": "several"}
    desk.service.call("bob", "POST", "/v1/datasets/visits/answer", several).raise_for_status()
    bob.goto("/releases/visits")
    assert "2 questions: " in bob.text_content("tbody tr:first-child")
    assert "ε = 0.014" in bob.text_content("tbody tr:first-child")
    assert bob.locator("tbody tr:nth-child(2) input:disabled").count() == 2  # what is compared is one table
    press(bob, "tbody tr:nth-child(2) a")
    first = bob.text_content("main")
    assert "Table 1 of 2; ε = " in first
    assert "Refine" not in first
    press(bob, "a:has-text('the next')")
    assert "Table 2 of 2" in bob.text_content("main")
    with bob.expect_download() as caught:
        bob.click("a:has-text('csv')")
    assert "n,n_low,n_high" in caught.value.path().read_text()


def test_a_refinement_is_quoted_also_of_a_plan_and_quantiles_offer_none(desk: Desk, bob: Any) -> None:
    count: Any = {"kind": "question", "relation": {"kind": "table", "name": "visits"}, "keys": []}
    count |= {"outputs": [["n", {"kind": "measured", "aggregate": {"kind": "count rows"}}]]}
    asked = {"plan": count, "terms": {"epsilon": "0.0151"}, "key": "a plan"}  # nobody has asked for it in SQL
    release = desk.service.call("bob", "POST", "/v1/datasets/visits/answer", asked).json()["release_id"]
    before = spent(desk.service, "bob")
    for spend, words in (("0.01", "Takes ε = 0.01 in addition"), ("9", "does not fit"), ("much", "is no number")):
        at, own = f"/releases/visits/{release}/refine", {"origin": desk.service.address}
        assert words in bob.request.post(at, form={"do": "quote", "spend": spend}, headers=own).text()
    assert spent(desk.service, "bob") == before
    middle = desk.service.answer("bob", "SELECT MEDIAN(amount) AS m FROM visits", "middle", epsilon="0.01").json()
    page = bob.request.get(f"/releases/visits/{middle['release_id']}").text()
    assert "Uncertain" in page
    assert "Quote the refinement" not in page


def test_what_epsilon_means_is_told_for_mine_and_for_all(bob: Any) -> None:
    bob.goto("/meaning/visits")
    assert bob.locator("section svg.chart").count() == 6
    text = bob.text_content("main")
    assert "All that you may ever ask, together" in text
    assert "All that anybody may ever ask, together" in text
    assert "ε = 4, δ = 1e-6" in text


def test_a_profile_is_charged_once_drawn_and_shown_again_for_free(desk: Desk, bob: Any) -> None:
    before = spent(desk.service, "bob")
    bob.goto("/profile/visits")
    assert "No profile yet" in bob.text_content("main")
    for epsilon, most in (("0.03", "40"), ("0.02", "")):
        bob.fill("input[name=epsilon]", epsilon)
        bob.fill("input[name=most_rows]", most)
        bob.check("input[name=by-region]")
        press(bob, "button:has-text('Quote it')")
        assert "Each number of people is known to about ±" in bob.text_content("#quote")
        press(bob, "button:has-text('Make it')")
        bob.wait_for_url("**/profile/visits?release=*")
        assert bob.locator("tr.mine").count() == 1
    assert spent(desk.service, "bob") == pytest.approx(before + 0.05)
    press(bob, "button:has-text('Quote it')")
    bob.fill("input[name=epsilon]", "0.04")  # another price than was quoted: it is quoted first
    press(bob, "button:has-text('Make it')")
    assert "It takes ε = 0.04" in bob.text_content("#quote")
    assert spent(desk.service, "bob") == pytest.approx(before + 0.05)
    bob.goto("/profile/visits")  # both are kept, the newest is drawn
    assert bob.locator("svg.chart").count() == 1
    assert "at ε = 0.02" in bob.text_content("main")
    press(bob, "a:has-text('nobody has more than 40 rows')")
    assert "at ε = 0.03" in bob.text_content("main")
    press(bob, "a:has-text('The numbers that were released')")
    head = bob.text_content("thead")
    assert "rows_from" in head
    assert "rows_to" in head
    assert "Refine" not in bob.text_content("main")  # its bins are not a question
    assert "Table 1 of 3; ε = 0.03 for all of them" in bob.text_content("main")  # and not what one of them takes
    assert "Table 1 of 3, which take ε = 0.03 together." in bob.text_content("main")
    assert "All 3 tables together: ε = 0.03. The one below: ε = 0.01" in bob.text_content("main")
    assert "without `rows_to`" not in bob.text_content("main")  # the last bin has no end
    assert bob.locator("svg.chart").count() == 0
    assert bob.locator("a:has-text('the profile, drawn')").count() == 1
    bob.goto("/releases/visits")
    assert "profile of visits: rows, groups" in bob.text_content("tbody tr:first-child")
    assert "(UTC)" in bob.text_content("thead")
    bob.goto("/profile/visits")
    bob.fill("input[name=most_rows]", "many")
    press(bob, "button:has-text('Quote it')")
    assert cause(bob) == "invalid"
    assert bob.input_value("input[name=most_rows]") == "many"  # nothing is lost
    assert spent(desk.service, "bob") == pytest.approx(before + 0.05)
    bob.goto(f"/profile/visits?release={'0' * 24}")
    assert cause(bob) == "not_found"
    desk.expect_complaint(bob, "404")
