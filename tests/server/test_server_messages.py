"""What pages say that a reader relies on: what an interval covers, what is left out, and what can be paid."""

from __future__ import annotations

import json
import re

import giveortake as gt
from giveortake.answers import Answer
from giveortake.answers.column import Column
from giveortake.answers.terms import Caps, Confidence
from giveortake.server.console.release_pages import Measured, measured_of, uncertain
from giveortake.server.console.views import Form, answer_view, quote_view, snippets
from giveortake.session import Quote

UNSURE = [Column("n", [100], [10], [200])]


REFINED = "A refinement for an additional ε = 0.18 would about halve that."
ANEW = "A new question for ε = 0.2 would about halve how many ranks away its ends are."
ALL = "A refinement for all that is left, ε = 0.09, would narrow that to about 74 % of it."


def test_an_uncertain_number_says_with_which_confidence_and_proposes_what_can_be_paid() -> None:
    for left, quantiles, proposed in (
        *((1.0, False, REFINED), (0.18, False, REFINED), (0.09, False, ALL), (0.01, False, None), (0.0, False, None)),
        *((1.0, True, ANEW), (0.2, True, ANEW), (0.19, True, None), (None, False, None)),
    ):
        measured = Measured(frozenset("n") if quantiles else frozenset(), refinable=not quantiles)
        line, *more = uncertain(Answer(UNSURE), Form(spend="0.1"), {"affordable": left}, measured)
        assert line == "n lies between 10 and 200 with 95 % confidence."
        assert more == ([] if proposed is None else [proposed]), (left, quantiles)
        assert len(uncertain(Answer(UNSURE), Form(spend="None"), {"affordable": 1.0}, measured)) == 1  # states no spend


def test_a_wide_interval_of_a_quantile_is_told_where_that_of_a_count_is_not() -> None:
    wide = Answer([Column("most", [465.0], [148.0], [500.0])])
    assert uncertain(wide, Form(), None, Measured()) == []
    assert uncertain(wide, Form(), None, Measured(frozenset({"most"})))


def test_what_is_measured_says_whether_it_can_be_refined() -> None:
    def record(*outputs: object) -> dict[str, object]:
        return {"request": {}, "record": {"request": json.dumps({"kind": "query", "question": {"outputs": outputs}})}}

    def output(name: str, kind: str) -> list[object]:
        return [name, {"kind": "measured", "aggregate": {"kind": kind}}]

    count, middle = output("n", "count rows"), output("m", "quantile")
    assert measured_of(record(count)) == Measured(counts=frozenset("n"), refinable=True)
    assert measured_of(record(count, middle)) == Measured(frozenset("m"), frozenset("n"))
    assert not measured_of({**record(count), "tables": 2}).refinable
    assert measured_of({"record": None, "request": None}) == Measured()


def test_a_count_below_zero_is_explained_and_a_long_answer_is_folded() -> None:
    below = [Column("n", [-3, *range(40)], [-9] * 41, [50] * 41)]
    view = answer_view(Answer(below), Measured(counts=frozenset("n")))
    assert "Noise can take a small count below zero" in view["notes"][0]
    assert (len(view["rows"]), len(view["rest"])) == (30, 11)
    assert view["notes"][1:] == answer_view(Answer(below), Measured())["notes"]  # a sum may be negative


def test_every_question_has_a_key_of_its_own_in_the_code_that_is_taken_along() -> None:
    code = "".join(code for sql in ("a", "b") for _, code in snippets("v", sql, {}))
    assert sorted(map(code.count, set(re.findall(r"asked-[0-9a-f]{16}", code)))) == [3, 3]  # R, JavaScript, curl


def test_the_headline_of_an_answer_with_caps_says_which_rows_its_numbers_are_of() -> None:
    assert "Intervals cover the noise." in answer_view(Answer(UNSURE), Measured())["counts"]
    opened = Column("n", [5], [4], [6], open_sides=(False, True))
    headline = answer_view(Answer([opened], caps=Caps(rows_per_person=4)), Measured())["certainty"]
    rows, sure, arrow = headline.split(". ")
    assert rows == "Of at most 4 rows of a person, chosen before any filter; more rows are not in this number"
    assert sure == "In 95 of 100 cases the number without noise lies within the bar"
    assert "open arrow" in arrow
    known = Column("n", [5], [4], [9], noise=([4], [6]))
    view = answer_view(Answer([known], caps=Caps(rows_per_person=4)), Measured())
    assert view["certainty"].startswith("In 95 of 100 cases the number of all rows lies within the bar.")
    assert "Intervals cover the noise and truncation by caps." in view["counts"]


def test_the_quote_of_a_mean_is_told_for_a_group_of_usual_size_and_no_wider_than_its_bounds() -> None:
    margins = {"mean": "9.5 / n"}
    mean = Quote("query", "", "ε = 0.1", gt.PureDP("0.1"), None, None, True, Confidence("0.95"), margins=margins)
    quote = json.loads(mean.to_json()) | {"standing": {}}
    assert quote_view(quote, Form())["margins"] == [("mean", "± 0.0095 if a group has 1,000 rows", "")]
    wide = quote_view({**quote, "margins": {"mean": "3e6 / n"}, "spans": {"mean": 500}}, Form())
    assert wide["margins"] == [("mean", "± 500 if a group has 1,000 rows", "")]
    assert quote_view(quote, Form())["of_rows"]
    assert not quote_view({**quote, "margins": {"n": 4.5}}, Form())["of_rows"]


def test_a_group_without_a_key_is_told_where_the_first_rows_do_not_show_it() -> None:
    def told_of(days: int) -> list[str]:
        numbers = [407] * (days + 1)
        counts = Column("n", numbers, [each - 100 for each in numbers], [each + 100 for each in numbers])
        view = answer_view(Answer([Column("day", [*range(days), None]), counts]), Measured(frozenset()))
        return list(view["apart"])

    assert told_of(366) == ["without `day`: n 407 ± 100"]
    assert told_of(20) == []  # it is a row that is seen
