"""Charts of answers: the form follows the key, no row is lost, and what has no end is drawn without one."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import vl_convert

import giveortake as gt
from cases import all_cases
from giveortake import plot
from giveortake.answers import Answer, Column
from giveortake.answers.terms import Caps
from giveortake.errors import InvalidParameter
from giveortake.plot import svg
from giveortake.plot.theme import altair

INF = math.inf
YEAR = [dt.date(2013, 1, 1) + dt.timedelta(day) for day in range(365)]
SCREEN = 700  # pixels of height that a small screen has for a page


def estimate(values: list[float], margin: float = 5, name: str = "n") -> Column:
    return Column(name, values, [value - margin for value in values], [value + margin for value in values])


def answer_by(keys: list[Any], values: list[float] | None = None, **said: Any) -> Answer:
    numbers = [float(row) for row in range(len(keys))] if values is None else values
    return Answer([Column("key", keys), estimate(numbers)], **said)


def rows_of(chart: Any) -> list[dict[str, Any]]:
    return list(chart.to_dict()["data"]["values"])


def marks_of(chart: Any) -> list[str]:
    return [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]


def height_in_pixels(chart: Any) -> float:
    svg = vl_convert.vegalite_to_svg(json.dumps(chart.to_dict()))
    return float(svg.partition('height="')[2].partition('"')[0])


def test_dates_are_a_line_with_a_band_on_a_time_axis_that_is_the_same_in_every_time_zone() -> None:
    chart = answer_by(YEAR).plot()
    assert marks_of(chart)[:2] == ["area", "line"]
    across = chart.to_dict()["layer"][0]["encoding"]["x"]
    assert (across["type"], across["scale"]["type"]) == ("temporal", "utc")
    assert rows_of(chart)[31]["place"] == "2013-02-01T00:00:00Z"
    times = answer_by([dt.datetime(2013, 1, 1, hour) for hour in range(24)]).plot()
    assert rows_of(times)[3]["place"] == "2013-01-01T03:00:00Z"


@pytest.mark.parametrize("keys", [YEAR, [f"airport {number}" for number in range(365)], list(range(365))])
def test_a_year_of_rows_fits_a_screen(keys: list[Any]) -> None:
    chart = answer_by(keys).plot()
    assert len(rows_of(chart)) == 365
    assert height_in_pixels(chart) < SCREEN


def test_categories_come_the_greatest_first_and_numbers_in_their_order() -> None:
    regions = answer_by(["north", "south", "east"], [3, 9, 5]).plot().to_dict()
    assert regions["layer"][0]["encoding"]["y"]["scale"]["domain"] == ["south", "east", "north"]
    years = answer_by([2013, 2011, 2012], [3, 9, 5]).plot()
    assert years.to_dict()["layer"][0]["encoding"]["x"]["type"] == "quantitative"
    assert [row["place"] for row in rows_of(years)] == [2013, 2011, 2012]


def test_other_keys_tell_lines_apart_beside_a_date() -> None:
    days = YEAR[:5] * 2
    carriers = ["UA"] * 5 + ["AA"] * 5
    chart = Answer([Column("carrier", carriers), Column("day", days), estimate([1.0] * 10)]).plot()
    assert {row["series"] for row in rows_of(chart)} == {"UA", "AA"}
    assert all("color" in layer["encoding"] for layer in chart.to_dict()["layer"])


def test_bars_of_two_lines_do_not_hide_each_other_beside_their_bands() -> None:
    one = Answer([Column("day", YEAR[:5]), estimate([1.0] * 5)])
    two = Answer([Column("carrier", ["UA", "AA"] * 5), Column("day", sorted(YEAR[:5] * 2)), estimate([1.0] * 10)])
    a_day = Answer([Column("carrier", ["UA", "AA"]), Column("day", YEAR[:1] * 2), estimate([1.0] * 2)])
    assert ["rule" in marks_of(each.plot()) for each in (one, two, a_day)] == [True, False, True]


def test_bars_of_two_lines_at_one_time_stand_beside_each_other() -> None:
    a_day = Answer([Column("carrier", ["UA", "AA"]), Column("day", YEAR[:1] * 2), estimate([1.0] * 2)])
    without_end = Column("ratio", [1.0] * 6, [-INF, -INF, 0.0, 0.0, 0.0, 0.0], [INF, INF, 2.0, 2.0, 2.0, 2.0])
    days = Answer([Column("carrier", ["UA", "AA"] * 3), Column("day", sorted(YEAR[:3] * 2)), without_end])
    for chart, marks in ((a_day.plot(), {"rule", "point"}), (days.plot(), {"rule"})):
        layers = chart.to_dict()["layer"]
        for mark in marks:
            moved = [each["mark"]["xOffset"] for each in layers if each["mark"]["type"] == mark]
            assert set(moved) == {-4, 4}
        assert "aria-label" in vl_convert.vegalite_to_svg(json.dumps(chart.to_dict()))


def test_a_few_days_have_one_label_each() -> None:
    for count, expected in ((4, {"interval": "day", "step": 1}), (1, 6), (60, 6)):
        chart = answer_by(YEAR[:count]).plot().to_dict()
        assert chart["layer"][0]["encoding"]["x"]["axis"]["tickCount"] == expected


@pytest.mark.parametrize("keys", [["a", "b", "c", "d"], YEAR[:4], [1, 2, 3, 4]], ids=["texts", "dates", "numbers"])
def test_intervals_without_an_end_reach_the_edge_and_the_axis_is_that_of_the_finite_ends(keys: list[Any]) -> None:
    column = Column("ratio", [10.0, 12.0, 14.0, 16.0], [8.0, -INF, 11.0, -INF], [13.0, 15.0, INF, INF])
    chart = Answer([Column("key", keys), column]).plot()
    assert {row["open"] for row in rows_of(chart)} == {"", "low", "high", "both"}
    ends = [row[end] for row in rows_of(chart) for end in ("low", "high") if row[end] is not None]
    assert (len(rows_of(chart)), min(ends), max(ends)) == (4, 8.0, 15.0)
    shapes = {layer["mark"].get("shape") for layer in chart.to_dict()["layer"]}
    across = isinstance(keys[0], str)
    assert shapes >= ({"triangle-left", "triangle-right"} if across else {"triangle-up", "triangle-down"})
    own, edges = ("x", {0, "width"}) if across else ("y", {"height", 0})
    drawn = [layer["encoding"] for layer in chart.to_dict()["layer"] if layer["mark"]["type"] == "rule"]
    assert edges <= {end["value"] for each in drawn for end in (each[own], each[f"{own}2"]) if "value" in end}
    assert "aria-label" in vl_convert.vegalite_to_svg(json.dumps(chart.to_dict()))


def test_a_band_has_a_gap_where_an_end_is_missing() -> None:
    column = Column("ratio", [1.0, 2.0, 3.0], [0.0, -INF, 2.0], [2.0, 3.0, 4.0])
    rows = rows_of(Answer([Column("day", YEAR[:3]), column]).plot())
    assert [(row["band_low"], row["band_high"]) for row in rows] == [(0.0, 2.0), (None, None), (2.0, 4.0)]
    assert [row["value"] for row in rows] == [1.0, 2.0, 3.0]


def test_a_row_without_a_date_is_told_in_the_caption_and_many_of_them_change_the_form() -> None:
    chart = answer_by([*YEAR[:3], None]).plot().to_dict()
    assert any("3.0 ± 5.0" in line for line in chart["title"]["subtitle"])
    several = Answer([Column("day", [None] * 4 + YEAR[:4]), Column("who", list("abcdabcd")), estimate([1.0] * 8)])
    assert len(rows_of(several.plot())) == 8
    assert marks_of(several.plot()) == ["rule", "point"]


def test_keys_that_look_the_same_stay_apart() -> None:
    chart = answer_by([None, "–", "red\x07", "red\\x07"]).plot()
    assert len({row["place"] for row in rows_of(chart)}) == 4
    assert "\x07" not in json.dumps(chart.to_dict(), ensure_ascii=False)


def test_the_caption_says_what_was_promised_how_sure_it_is_and_how_much_of_a_person_counts() -> None:
    said = answer_by(
        ["a"], guarantee=gt.PureDP("0.1"), cost=gt.PureDP("0.1"), recipe={"contributions": "at most 4 rows of a person"}
    )
    heading = said.plot().to_dict()["title"]
    assert heading["text"] == "n by key"
    caption = " ".join(heading["subtitle"])
    assert all(fact in caption for fact in ("ε = 0.1", "95 %", "at most 4 rows"))
    assert said.plot(title="Visits").to_dict()["title"]["text"] == "Visits"


def test_the_caption_tells_what_the_numbers_cost_and_not_what_one_call_was_charged() -> None:
    """In a notebook that is run again every answer is free, and its picture said both."""
    rows = {"u": [1, 2], "x": [1.0, 2.0]}
    with gt.protect(pl.DataFrame(rows), unit="u", budget=gt.PureDP(1), rows_per_person=1) as session:
        query = session.sql("SELECT COUNT(*) AS n FROM data")
        first, again = (query.answer(epsilon="0.5") for _ in range(2))
    assert first.plot().to_dict()["title"] == again.plot().to_dict()["title"]
    assert "cost ε = 0.5" in " ".join(again.plot().to_dict()["title"]["subtitle"])


def test_tables_are_counted_in_words_and_ways_that_do_not_occur_are_not_in_the_legend() -> None:
    one = plot.predicted_errors([("a × b", True, 0.1)]).to_dict()
    assert "1 of 1" in one["title"]["text"]
    assert one["encoding"]["shape"]["scale"] == {"domain": ["measured"], "range": ["circle"]}
    both = plot.predicted_errors([("a × b", True, 0.1), ("a × c", False, 0.2)]).to_dict()
    assert both["encoding"]["shape"]["scale"]["range"] == ["circle", "triangle-right"]
    lines = [{"table": ("a",), "of": "n", "sd": 3.0, "equal_sd": 4.0}]
    title = plot.workloads(lines).to_dict()["title"]["text"]
    assert re.findall(r"\d+", title) == ["1", "3", "4"]  # table, deviation, and that of an equal split


def test_what_is_made_of_estimates_is_no_key_wherever_keys_stand() -> None:
    plans, counts = Column("plan", ["free", "pro"]), estimate([90.0, 10.0])
    made = Column("n_consistent", [90.5, 9.5])
    for columns in ([plans, counts, made], [counts, made, plans], [plans, counts, Column("place", [1, 2])]):
        chart = Answer(columns).plot()
        assert chart.to_dict()["title"]["text"] == "n by plan"
        assert [row["place"] for row in rows_of(chart)] == ["free", "pro"]
        assert marks_of(chart) == ["rule", "point"]
    assert Answer([counts, made]).plot().to_dict()["title"]["text"] == "n"


def test_more_lines_than_colours_get_a_chart_each_and_more_than_a_picture_holds_are_refused() -> None:
    def by_ages(lines: int) -> Answer:
        names = [f"city {line}" for line in range(lines) for _ in range(3)]
        return Answer([Column("city", names), Column("age", [20, 30, 40] * lines), estimate([1.0] * 3 * lines)])

    assert "color" in by_ages(8).plot().to_dict()["layer"][0]["encoding"]
    many = by_ages(9).plot().to_dict()
    assert (many["facet"]["field"], many["columns"]) == ("series", 3)
    assert {row["place"] for row in many["data"]["values"]} == {20.0, 30.0, 40.0}
    assert "aria-label" in vl_convert.vegalite_to_svg(json.dumps(many))
    with pytest.raises(InvalidParameter, match=r"31.*`age`.*30"):
        by_ages(31).plot()


def test_charts_in_one_picture_name_their_own_lines() -> None:
    one = Answer([Column("day", sorted(YEAR[:2] * 2)), Column("who", ["a", "b"] * 2), estimate([1.0] * 4)])
    both = plot.panels([("day × who", one), ("who × day", one)], more=3).to_dict()
    assert both["title"]["text"] == "5 tables"
    assert both["title"]["subtitle"][-1].startswith("3 ")
    assert both["resolve"]["scale"]["color"] == "independent"
    assert plot.panels([("total", Answer([estimate([3.0])]))]).to_dict()["title"]["text"] == "total"


def test_the_caption_says_which_rows_numbers_are_of_on_lines_as_wide_as_the_charts() -> None:
    open_column = Column("n", [1.0], [0.0], [2.0], open_sides=(False, True))
    columns = [Column("k", ["a"]), open_column, estimate([2.0], name="total")]
    for some, wide in ((columns[:2], 74), (columns, 148)):
        lines = Answer(some, caps=Caps(rows_per_person=4), notes=("word " * 60,)).plot().to_dict()["title"]["subtitle"]
        assert "at most 4 rows of a person" in " ".join(lines)
        assert wide - 8 < max(map(len, lines)) <= wide


@all_cases("keys", [["a", "b", "c"], [1, 2, 3], YEAR[:3]])
def test_truncation_is_drawn_apart_from_noise(keys: list[Any]) -> None:
    """Hatched from the end of the solid part to the end of the interval; an open side has an open arrow at its end."""
    numbers = [10.0, 20.0, 30.0]
    lows, highs = [number - 5 for number in numbers], [number + 5 for number in numbers]
    truncated = Column("n", numbers, lows, [high + 40 for high in highs], noise=(lows, highs))
    opened = Column("n", numbers, lows, highs, open_sides=(False, True))
    known, unknown, bare = (Answer([Column("key", keys), column]) for column in (truncated, opened, estimate(numbers)))
    assert [row["high"] - row["noise_high"] for row in rows_of(known.plot())] == [40.0] * 3

    def marks(answer: Answer) -> list[dict[str, Any]]:
        return [layer["mark"] for layer in answer.plot().to_dict()["layer"]]

    def hatched(answer: Answer) -> int:
        return sum("strokeDash" in mark for mark in marks(answer))

    def open_arrows(answer: Answer) -> list[str]:
        return [mark["shape"] for mark in marks(answer) if mark.get("shape", "").startswith("triangle")]

    assert (hatched(known) > 0, hatched(unknown), hatched(bare)) == (True, 0, 0)
    assert [len(open_arrows(answer)) for answer in (known, unknown, bare)] == [0, 1, 0]
    assert not next(mark for mark in marks(unknown) if "triangle" in mark.get("shape", ""))["filled"]
    drawn = [str(svg.figure(answer) or "") + "".join(svg.bars(answer["n"]).rows) for answer in (known, unknown, bare)]
    assert ["truncation" in picture for picture in drawn] == [True, False, False]
    assert ['class="open"' in picture for picture in drawn] == [False, True, False]
    for answer, words in ((known, "hatched"), (unknown, "open arrow")):
        assert words in answer.plot().to_dict()["title"]["subtitle"][-1]


def test_values_are_strokes_across_their_intervals_and_legends_are_lines() -> None:
    """A dot hid the intervals that are narrower, and at zero the label beside it."""
    for chart, shape in ((answer_by(["a", "b"]), "M0,-1L0,1"), (answer_by([1, 2]), "stroke")):
        point = chart.plot().to_dict()["layer"][-1]["mark"]
        assert (point["shape"], point["filled"]) == (shape, False)
    days = Answer([Column("who", ["a", "b"] * 2), Column("day", sorted(YEAR[:2] * 2)), estimate([1.0] * 4)])
    for layer in days.plot().to_dict()["layer"]:
        legend = layer["encoding"]["color"]["legend"]
        assert (legend["symbolType"], legend["symbolOpacity"]) == ("stroke", 1)


def test_caps_are_whole_rows() -> None:
    class Sizes:
        table, epsilon = "visits", Fraction(1)

        def lines(self, epsilon: object = None) -> list[dict[str, float]]:
            return [
                dict.fromkeys(("noise", "bias", "low", "high", "error"), cap) | {"cap": cap} for cap in (1.0, 2.0, 7.0)
            ]

    axis = plot.caps(Sizes()).to_dict()["layer"][1]["encoding"]["x"]["axis"]
    assert axis == {"values": [1.0, 2.0, 7.0], "labelOverlap": True}


def test_other_charts_can_be_laid_upon_one() -> None:
    alt = altair()
    truth = alt.Chart(alt.Data(values=[{"key": "a", "truth": 40}])).mark_tick().encode(x="truth:Q", y="key:N")
    both = (answer_by(["a", "b"]).plot() + truth).to_dict()
    assert [layer["mark"]["type"] for layer in both["layer"]][-1] == "tick" or "layer" in both["layer"][0]
    assert "aria-label" in vl_convert.vegalite_to_svg(json.dumps(both))


def test_one_number_and_no_number_have_a_chart_and_several_estimates_have_one_each() -> None:
    assert len(rows_of(Answer([estimate([3.0])]).plot())) == 1
    assert rows_of(Answer([Column("k", [], kind="text"), Column("n", [], [], [])]).plot()) == []
    three = Answer([Column("k", ["a"]), *(estimate([1.0], name=name) for name in "xyz")]).plot().to_dict()
    assert (len(three["concat"]), three["columns"]) == (3, 2)
    assert three["title"]["text"] == "x, y, z by k"


def test_what_is_missing_has_a_place_and_no_interval() -> None:
    chart = Answer([Column("k", ["a", "b"]), Column("n", [1.0, None], [0.0, None], [2.0, None])]).plot()
    assert [row["open"] for row in rows_of(chart)] == ["", "none"]
    assert chart.to_dict()["layer"][0]["encoding"]["y"]["scale"]["domain"] == ["a", "b"]


def test_what_is_not_drawn_does_not_stretch_the_axis_and_caps_are_said_once() -> None:
    days = Answer(
        [
            Column("day", [*YEAR[:3], None]),
            Column("n", [900.0, 910.0, 920.0, 1.0], [890.0, 900, 910, 0], [910.0, 920, 930, 2]),
        ],
        recipe={"contributions": "at most 4 rows of a person"},
        notes=("at most 4 rows of a person; rows without a name are left out",),
    )
    chart = days.plot().to_dict()
    assert chart["layer"][0]["encoding"]["y"]["scale"]["zero"] is False
    assert " ".join(chart["title"]["subtitle"]).count("at most 4 rows of a person") == 1


def test_the_axis_of_counts_includes_zero() -> None:
    months = Answer([Column("day", YEAR[:3]), Column("n", [150, 160, 155], [145, 155, 150], [155, 165, 160])])
    assert months.plot().to_dict()["layer"][0]["encoding"]["y"]["scale"]["zero"] is True


def test_points_of_two_lines_at_one_number_stand_beside_each_other() -> None:
    both = Answer(
        [
            Column("age", [1, 1, 2, 2]),
            Column("ward", ["a", "b", "a", "b"]),
            Column("n", [5, 5, 6, 6], [4, 4, 5, 5], [6, 6, 7, 7]),
        ]
    )
    places = [row["place"] for row in rows_of(both.plot())]
    assert len(set(places)) == 4
    assert [round(place) for place in places] == [1, 1, 2, 2]
    assert places == sorted(places)


def test_a_path_of_another_kind_is_named_with_the_kinds_that_are_written() -> None:
    with pytest.raises(InvalidParameter) as error:
        gt.plot.titled_or_saved(lambda title: title, "x.gif")
    assert (error.value.name, error.value.value) == ("path", "x.gif")
    assert set(re.findall(r"\.\w+", str(error.value.hint))) == {".svg", ".png", ".html"}


def test_no_key_that_was_found_runs_on_a_page_or_in_a_notebook_and_a_page_needs_no_network(tmp_path: Path) -> None:
    evil = ["</script><script>alert(1)</script>", "<!-- <script>", "</SCRIPT >", "a</b"]
    counts: Any = [3, 4, 5, 6], [2, 3, 4, 5], [4, 5, 6, 7]
    chart = Answer([Column("reason", evil), Column("".join(evil), *counts)]).plot()
    plain = Answer([Column("reason", ["fine", "flu", "cold", "cough"]), Column("n", *counts)]).plot()
    page, other = (plot.save(each, tmp_path / "deep" / "a.html").read_text(encoding="utf-8") for each in (chart, plain))
    assert "vega" in page
    assert "<script src=" not in page
    notebooks = (each.to_html() for each in (chart, plain))  # as altair shows them
    for found, usual in ((page, other), notebooks):
        for tag in ("</script", "<script", "<!--"):
            assert found.lower().count(tag) == usual.lower().count(tag)


def test_more_categories_than_pixels_are_refused() -> None:
    assert len(rows_of(answer_by([f"key {number}" for number in range(560)]).plot())) == 560
    with pytest.raises(InvalidParameter, match="561"):
        answer_by([f"key {number}" for number in range(561)]).plot()


@pytest.mark.parametrize(("keys", "zero"), [(["a"], False), (["a", "b"], True)])
def test_one_count_alone_fills_the_axis_so_that_its_interval_is_seen(keys: list[str], zero: bool) -> None:
    counts = Column("n", [19_900 + place for place in range(len(keys))], [19_890] * len(keys), [19_999] * len(keys))
    assert f'"zero": {str(zero).lower()}' in Answer([Column("k", keys), counts]).plot().to_json()
