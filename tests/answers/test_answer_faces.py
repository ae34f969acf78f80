"""How answers look: as text, in a terminal, in a notebook, as a chart."""

from __future__ import annotations

import datetime
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import giveortake as gt
from cases import all_cases
from giveortake.answers import Answer, Column
from giveortake.answers.render import number_text, shown_with_margin
from giveortake.answers.terms import Confidence
from giveortake.hints import rendered


def sample(rows: int = 3) -> Answer:
    values = np.arange(rows) * 1000.0
    return Answer(
        [Column("key", [f"k{row}" for row in range(rows)]), Column("n", values, values - 12.34, values + 12.34)],
        guarantee=gt.PureDP("0.1"),
        cost=gt.PureDP("0.1"),
    )


def test_text_shows_values_with_margins_and_what_they_cost() -> None:
    *table, last = repr(sample()).splitlines()
    assert table == ["key  n", "k0       0 ± 12", "k1   1,000 ± 12", "k2   2,000 ± 12"]
    assert all(fact in last for fact in ("3 rows", "95 %", "ε = 0.1 (pure)"))


def test_a_long_table_is_cut() -> None:
    assert "… 80 more rows" in repr(sample(100))
    assert "… 80 more rows" in sample(100)._repr_html_()


def test_a_terminal_shows_the_promise_below_the_table() -> None:
    out = io.StringIO()
    Console(file=out, width=100).print(sample())
    text = out.getvalue()
    assert "1,000" in text
    assert "± 12" in text
    assert "ε = 0.1 (pure)" in text


def test_markup_and_html_in_data_are_shown_and_never_obeyed() -> None:
    answer = Answer(
        [Column("<script>", ["<img src=x onerror=alert(1)>", "[red]x[/]"]), Column("n", [1, 2], [0, 1], [2, 3])],
        notes=("<b>note</b>",),
    )
    page = answer._repr_html_()
    assert "<img" not in page
    assert "<script>" not in page
    assert "<b>" not in page
    out = io.StringIO()
    Console(file=out, width=200).print(answer)
    assert "[red]x[/]" in out.getvalue()


def test_every_face_shows_the_notes_once() -> None:
    answer = Answer([Column("k", []), Column("n", [], [], [])], notes=("a note",))
    out = io.StringIO()
    Console(file=out, width=100).print(answer)
    for face in (repr(answer), str(answer), answer._repr_html_(), out.getvalue()):
        assert face.count("a note") == 1


def test_html_draws_a_bar_for_every_interval_on_one_scale() -> None:
    page = Answer([Column("n", [10, 50], [0, 0], [20, 100])])._repr_html_()
    assert "left:10.0%" in page
    assert "left:0.0%;width:100.0%" in page
    assert page.count("<tr>") == 3


def test_an_empty_answer_has_every_face() -> None:
    answer = Answer([Column("k", []), Column("n", [], [], [])])
    assert "0 rows" in repr(answer)
    assert "<tbody></tbody>" in answer._repr_html_()
    Console(file=io.StringIO()).print(answer)


@all_cases(
    ("row", "text"),
    [
        ((0.30712, 0.2741, 0.3402), ("0.307", "± 0.033")),
        ((123456.7, 123000.0, 123913.4), ("123,457", "± 457")),
        ((0.01, 0.0, 0.05), ("0.010", "+0.040 −0.010")),
        ((5, 1, 9), ("5", "± 4")),
        ((5, 5, 9), ("5 … 9", "estimate 5")),
        ((0.0, 0.0, 1782.4), ("0 … 1,782", "estimate 0")),
        ((500.0, 210.0, 500.0), ("210 … 500", "estimate 500")),
        ((0.00001, 0.0, 0.5), ("0.00 … 0.50", "estimate 0.00")),
        ((10**20, 10**20, 10**20 + 5), (f"{10**20:,} … {10**20 + 5:,}", f"estimate {10**20:,}")),
        ((19979, 19973, 19984), ("19,979", "± 6")),
        ((1706, 1706, 1707), ("1,706", "± 1")),
        ((float("nan"), float("nan"), float("nan")), ("–", "")),
        ((0, 0, 0), ("0", "± 0")),
        ((None, None, None), ("–", "")),
        ((0.5, 0.5, 0.5), ("0.5", "")),
        ((0.5, 0.0, float("inf")), ("0.5", "0 … ∞, unbounded")),
        ((0.5, float("-inf"), float("inf")), ("0.5", "unbounded")),
        ((float("nan"), float("-inf"), float("inf")), ("–", "unbounded")),
        ((-0.001, -0.2, 0.2), ("0.00", "± 0.20")),
        ((-0.1, 0.0, 0.2), ("-0.10", "+0.30 +0.10")),
    ],
)
def test_numbers_have_as_many_digits_as_their_margin_makes_sense_of(
    row: tuple[Any, Any, Any], text: tuple[str, str]
) -> None:
    assert shown_with_margin(*row) == text


def test_an_estimate_at_its_bound_is_its_interval_on_every_face() -> None:
    answer = Answer([Column("mean", [0.0, 250.0], [0.0, 240.0], [1782.0, 260.0])])
    out = io.StringIO()
    Console(file=out, width=100).print(answer)
    for face in (repr(answer), answer.to_markdown(), answer.to_html(), out.getvalue()):
        assert "0 … 1,782" in face
        assert "estimate 0" in face
        assert "−0" not in face
    assert answer.to_dict()["mean"] == [0.0, 250.0]  # to programs it is what it was


def test_whole_numbers_of_a_column_have_one_form_on_every_face() -> None:
    answer = Answer([Column("place", [11, 12, 13], [1, 1, 13], [12, 12, 13])])
    out = io.StringIO()
    Console(file=out, width=100).print(answer)
    for face in (repr(answer), answer.to_markdown(), answer.to_html(), out.getvalue()):
        assert face.count("estimate") == 3
        assert "±" not in face


def test_values_without_a_margin_are_short() -> None:
    assert number_text(float("nan")) == "–"
    assert number_text(1e300) == "1e+300"
    assert number_text(datetime.datetime(2020, 1, 2, 3, 4)) == "2020-01-02 03:04:00"
    assert shown_with_margin(datetime.date(2020, 1, 2), datetime.date(2020, 1, 1), datetime.date(2020, 1, 3)) == (
        "2020-01-02",
        "2020-01-01 … 2020-01-03",
    )


def test_a_chart_has_a_point_and_a_bar_for_every_row() -> None:
    chart = sample().plot().to_dict()
    assert [layer["mark"]["type"] for layer in chart["layer"]] == ["rule", "point"]
    assert [row["key"] for row in chart["data"]["values"]] == ["k0", "k1", "k2"]
    two = Answer([Column("a", [1], [0], [2]), Column("b", [1], [0], [2])])
    assert len(two.plot().to_dict()["hconcat"]) == 2


def test_a_path_in_the_place_of_the_title_saves_the_chart(tmp_path: Path) -> None:
    chart = sample().plot(str(tmp_path / "visits.svg"))
    assert (tmp_path / "visits.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "visits.svg" not in str(chart.to_dict())
    sample().plot(tmp_path / "a page.html")
    assert (tmp_path / "a page.html").exists()
    assert sample().plot("vs. trips").to_dict()["title"]["text"] == "vs. trips"
    with pytest.raises(gt.errors.InvalidParameter):
        sample().plot("visits.pdf")


def test_html_draws_an_interval_without_an_end_to_the_edge_with_an_arrow() -> None:
    inf = float("inf")
    values = Column("n", [10.0, 20.0, 30.0, None], [-inf, 5.0, -inf, None], [15.0, inf, inf, None])
    first, second, third, nothing = Answer([values])._repr_html_().partition("<tbody>")[2].split("<tr>")[1:]
    assert ("◂" in first, "▸" in first) == (True, False)
    assert "left:0.0%;width:50.0%" in first
    assert ("◂" in second, "▸" in second) == (False, True)
    assert "left:0.0%;width:100.0%" in third
    assert "<span" not in nothing


def test_a_year_that_is_a_key_has_no_comma_in_it_on_any_face() -> None:
    table = Answer([Column("year", [2010, 2011]), Column("n", [1204, 873], low=[1190, 859], high=[1218, 887])])
    for face in (repr(table), table._repr_html_(), table.to_markdown()):
        assert "2010" in face
        assert "1,204" in face


def test_where_caps_apply_every_face_says_that_intervals_cover_the_noise_alone() -> None:
    of_caps = "intervals hold with 95 % each for the noise; they do not cover truncation by caps"
    capped = Answer(
        [Column("n", [5.0], [4.0], [6.0])],
        recipe={"contributions": "at most 4 rows of a person"},
        cost=gt.PureDP("0.1"),
    )
    for face in (repr(capped), capped._repr_html_(), capped.to_markdown()):
        assert of_caps in face
    assert "caps" not in repr(sample())


@all_cases(("said", "meant"), [(95, "0.95"), ("99.9", "0.999"), (2, "0.95"), (0, "0.95")])
def test_who_states_a_confidence_in_percent_is_told_the_probability(said: Any, meant: str) -> None:
    with pytest.raises(gt.errors.InvalidParameter, match="strictly between 0 and 1") as told:
        Confidence(said)
    assert rendered(told.value.hint, "console") == f"“Confidence”: {meant}"
    assert rendered(told.value.hint, "command") == f"--confidence {meant}"
