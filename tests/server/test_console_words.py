"""What pages say, without a browser: names of categories, what intervals cover, and what is proposed."""

from __future__ import annotations

from typing import Any

import pytest

from giveortake.answers import Answer
from giveortake.answers.caps import Caps
from giveortake.answers.column import Column
from giveortake.compile.caps import unbounded
from giveortake.server.console.forms import Form
from giveortake.server.console.pages import _templates
from giveortake.server.console.states import told
from giveortake.server.console.views import answer_view, quote_view
from giveortake.server.console.workbench import _names_a_cap
from giveortake.server.refusals import Refused
from giveortake.wire.causes import refusal_of

UNSURE = [Column("n", [100], [10], [200])]


def held(**column: Any) -> str:
    macros: Any = _templates().get_template("parts.html").module
    return " ".join(str(macros.held(column)).split())


def test_declared_categories_are_named_the_first_twelve_at_once_and_all_in_a_section() -> None:
    assert held(categories=["north", "<b>", 3, None], words="4 categories") == "north, &lt;b&gt;, 3, missing"
    assert held(categories=None, words="number, 0 to 500") == "number, 0 to 500"
    many = held(categories=[f"w{k}" for k in range(2000)], words="2000 categories")
    assert many.startswith("w0, w1, ")
    assert "w11 and 1,988 more <details><summary>All 2,000</summary>" in many
    assert many.endswith("w1999</details>")


@pytest.mark.parametrize(
    ("standing", "proposed"),
    [(None, True), ({"affordable": None}, True), ({"affordable": 0.1}, True), ({"affordable": 0.05}, False)]
    + [({"affordable": left}, False) for left in (0.0, 0.0005)],
)
def test_an_uncertain_number_says_with_which_confidence_and_proposes_what_can_be_paid(
    standing: dict[str, float | None] | None, proposed: bool
) -> None:
    (line,) = answer_view(Answer(UNSURE), Form(spend="0.1"), standing)["uncertain"]
    assert line.startswith("n lies between 10 and 200 with 95 % confidence.")
    assert line.endswith("A spend of ε = 0.2 would about halve that.") == proposed
    (line,) = answer_view(Answer(UNSURE), Form(spend="None"), standing)["uncertain"]  # of a record that states none
    assert line.endswith("confidence.")


def test_an_answer_with_caps_says_that_what_they_leave_out_is_not_in_its_intervals() -> None:
    assert "Intervals cover the noise." in answer_view(Answer(UNSURE), Form())["counts"]
    capped = answer_view(Answer(UNSURE, caps=Caps(rows_per_person=4)), Form())["counts"]
    assert "Intervals cover the noise; what caps leave out is not in them." in capped


def test_the_section_about_caps_is_open_when_a_hint_names_one_of_its_fields() -> None:
    missing = told(Refused(*refusal_of(unbounded("rows"), "console")))
    assert "“Rows of a person”: 10" in missing.hint
    assert _names_a_cap(missing.hint)
    assert not _names_a_cap("“Sure with”: 0.95")


def test_the_quote_of_a_mean_says_what_n_is() -> None:
    quote = {"admitted": True, "confidence": "19/20", "keys": "none", "standing": {}, "margins": {"mean": "9.5 / n"}}
    assert quote_view(quote, Form())["of_rows"]
    assert not quote_view({**quote, "margins": {"n": 4.5}}, Form())["of_rows"]
