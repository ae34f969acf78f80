"""The respondent's page, in a real browser."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from cases import all_cases
from giveortake.errors import InvalidParameter
from giveortake.local import Poll, RandomizedResponse, UnaryEncoding
from giveortake.local.respondent import page, reports_of
from statistics_of_draws import counts_are_plausible
from waiting import LONGEST, until


def opened(browser: Any, survey: Any, folder: Path) -> Any:
    path = folder / "ask.html"
    path.write_text(page(survey, 'Is "this" <a> question?'), encoding="utf-8")
    tab = browser.new_context().new_page()
    tab.set_default_timeout(1000 * LONGEST)
    tab.goto(path.as_uri())
    return tab


def reloaded(tab: Any) -> Any:
    """The page anew: one that was just opened may see late what the one before it has kept."""
    tab.reload()
    return tab


def test_an_answer_is_randomised_once_and_nothing_is_sent(browser: Any, tmp_path: Path) -> None:
    survey = RandomizedResponse(["never", "once", "often"], 1)
    tab = opened(browser, survey, tmp_path)
    requests: list[str] = []
    tab.on("request", lambda request: requests.append(request.url))
    problems: list[str] = []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    assert tab.title() == 'Is "this" <a> question?'
    assert not tab.is_visible("#report")
    tab.click("button[type=submit]")  # nothing chosen: the browser asks for a choice
    assert not tab.is_visible("#report")
    tab.check("input[value='1']")
    tab.click("button[type=submit]")
    tab.wait_for_selector("#report")
    line = tab.inner_text("#report")
    fingerprint, _, report = line.partition(",")
    reports = reports_of(survey, [(fingerprint, report)])
    assert reports[0] in survey.categories
    assert not tab.is_visible("form")
    assert requests == []
    assert not tab.is_visible("#again")
    until(lambda: reloaded(tab).is_visible("#again"), "a page that sees what the one before it has kept")
    assert tab.inner_text("#report") == line
    assert tab.evaluate("Object.values(localStorage)") == [report]  # the report is kept, the true answer is not
    assert problems == []


@all_cases("truth", ["1/3", "5/8"])
def test_every_random_byte_is_tried_and_the_law_is_exact(browser: Any, tmp_path: Path, truth: str) -> None:
    survey = Poll(truth=truth, otherwise="1/5")
    tab = opened(browser, survey, tmp_path)
    for answer in (0, 1):
        # Every pair of accepted coins once: the browser's generator is replaced by a script.
        yes = tab.evaluate(
            """([answer, first, second]) => {
              const queue = [];
              crypto.getRandomValues = bytes => { bytes[0] = queue.shift(); return bytes; };
              const shift = bound => 8 - (bound - 1).toString(2).length;
              let yes = 0;
              for (let i = 0; i < first; i++) for (let j = 0; j < second; j++) {
                // a candidate that is too large comes first, and is thrown away
                queue.length = 0;
                if (first & (first - 1)) queue.push(255);
                queue.push(i << shift(first));
                if (second & (second - 1)) queue.push(255);
                queue.push(j << shift(second));
                yes += randomize(answer);
              }
              return yes;
            }""",
            [answer, survey.truth.denominator, survey.otherwise.denominator],
        )
        pairs = survey.truth.denominator * survey.otherwise.denominator
        assert Fraction(yes, pairs) == survey.law(bool(answer))[True]


@pytest.mark.statistical
def test_the_browsers_own_coins_follow_the_law_and_no_other(browser: Any, tmp_path: Path) -> None:
    survey = RandomizedResponse(["never", "once", "often"], 1)
    tab = opened(browser, survey, tmp_path)
    drawn = tab.evaluate("Array.from({length: 20000}, () => randomize(1))")
    seen = Counter(survey.categories[place] for place in drawn)
    observed = [seen[category] for category in survey.categories]
    for claim, plausible in ((1, True), ("7/10", False), ("13/10", False)):
        law = RandomizedResponse(["never", "once", "often"], claim).law("once")
        assert counts_are_plausible(observed, [float(law[category]) for category in survey.categories]) == plausible


def test_a_page_is_made_for_surveys_it_can_hold_only() -> None:
    with pytest.raises(InvalidParameter):  # a kind without a page
        page(UnaryEncoding(["a", "b"], 1), "Which?")
    text = page(RandomizedResponse(["</script><script>alert(1)", "b"], 1), "Which?")
    assert text.count("<script>") == 1


def test_another_question_on_the_same_device_is_asked(browser: Any, tmp_path: Path) -> None:
    tab = browser.new_context().new_page()  # of several, one may see late what another has kept
    tab.set_default_timeout(1000 * LONGEST)
    path = tmp_path / "ask.html"  # one address, so that all pages share what the browser keeps
    lines = []
    for survey, question in (
        (Poll(truth="1/2"), "Do you smoke?"),
        (Poll(truth="1/2"), "Do you drink?"),
        (Poll(truth="1/2", name="Do you drink?"), None),
    ):
        path.write_text(page(survey, question), encoding="utf-8")
        tab.goto(path.as_uri())
        assert tab.is_visible("form")
        tab.check("input[value='1']")
        tab.click("button[type=submit]")
        tab.wait_for_selector("#report")
        lines.append(tab.inner_text("#report"))
    assert len({line.partition(",")[0] for line in lines}) == 2
    until(lambda: reloaded(tab).evaluate("localStorage.length") == 3, "a page that sees three kept answers")


def test_a_page_tells_the_promise_and_needs_a_question() -> None:
    assert "ln 3 ≈ 1.0987" in page(Poll(truth="1/2"), "Which?")
    assert "<h1>{{survey}} {{x}}</h1>" in page(Poll(truth="1/2"), "{{survey}} {{x}}")
    with pytest.raises(InvalidParameter, match="is empty"):
        page(Poll(truth="1/2"))


def test_a_form_that_escapes_the_script_sends_nothing_either(browser: Any, tmp_path: Path) -> None:
    tab = opened(browser, RandomizedResponse(["never", "once", "often"], 1), tmp_path)
    before = tab.url
    tab.check("input[value='1']")
    forbidden = tab.evaluate(
        """() => new Promise(told => {
          document.addEventListener("securitypolicyviolation", event => told(event.effectiveDirective));
          HTMLFormElement.prototype.submit.call(document.getElementById("form"));  // asks no listener
        })"""
    )
    assert forbidden == "form-action"
    assert tab.url == before
