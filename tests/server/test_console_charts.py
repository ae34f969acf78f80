"""Charts of the console: the same numbers as the answer, on one scale, and nothing of the data is markup."""

from __future__ import annotations

import ast
import datetime as dt
import json
import math
import re
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import giveortake as gt
from giveortake.answers import Answer
from giveortake.answers.column import Column
from giveortake.plot.svg import MOST_PANELS, MOST_ROWS, Scale, bars, brief, figure, tag
from giveortake.privacy.guarantee import beliefs
from giveortake.server.console.charts import (
    attacker_chart,
    belief_chart,
    burn_chart,
    curve_chart,
    curve_table,
    group_belief,
    group_chart,
    margin_at,
    meter,
)
from giveortake.server.console.profiles import bounds_view, profile_chart
from giveortake.server.console.views import literal, snippets

HOSTILE = "<script>alert(1)</script>\u202e\"'&"


def parsed(markup: str) -> Any:
    return ET.fromstring(f"<html>{markup}</html>")  # noqa: S314 (our own)


def shares(svg: str, kind: str) -> dict[str, float]:
    (found,) = [each for each in parsed(svg).iter() if each.get("class") == kind]
    return {name: float(value[:-1]) / 100 for name, value in found.attrib.items() if value.endswith("%")}


def counts(n: int = 3) -> Column:
    return Column("n", [100 * k for k in range(n)], [100 * k - 20 for k in range(n)], [100 * k + 20 for k in range(n)])


def test_bars_of_one_column_stand_on_one_scale() -> None:
    drawn = bars(Column("n", [100, 50], [80, 40], [120, 60]))
    assert (drawn.left, drawn.right) == ("0", "120")
    first, second = drawn.rows
    assert shares(first, "range") == pytest.approx({"x": 80 / 120, "width": 40 / 120}, abs=1e-3)
    assert shares(second, "value")["x1"] == pytest.approx(50 / 120, abs=1e-3)


@pytest.mark.parametrize(("low", "high", "arrows"), [(-math.inf, 9.0, 1), (1.0, math.inf, 1), (-math.inf, math.inf, 2)])
def test_an_interval_without_an_end_runs_to_the_edge_with_an_arrow(low: float, high: float, arrows: int) -> None:
    svg = bars(Column("mean", [5.0, 6.0], [low, 4.0], [high, 8.0])).rows[0]
    assert svg.count('class="arrow"') == arrows
    found = shares(svg, "range")
    if math.isinf(low):
        assert found["x"] == 0
    if math.isinf(high):
        assert found["x"] + found["width"] == pytest.approx(1, abs=1e-3)


def test_a_missing_number_has_no_bar_and_a_missing_interval_none_either() -> None:
    rows = bars(Column("m", [None, math.nan, 3.0], [None, math.nan, 2.0], [None, math.nan, 4.0])).rows
    assert ["range" in row for row in rows] == [False, False, True]
    assert ["value" in row for row in rows] == [False, False, True]


def test_dates_as_values_have_a_scale_of_dates() -> None:
    days = [dt.date(2024, 1, 1), dt.date(2024, 3, 1)]
    drawn = bars(
        Column("first", days, [day - dt.timedelta(7) for day in days], [day + dt.timedelta(7) for day in days])
    )
    assert (drawn.left, drawn.right) == ("25 Dec 2023", "8 Mar 2024")


@pytest.mark.parametrize(
    ("first", "days", "labels"),
    [
        (dt.date(2024, 1, 1), 366, ["Jan 2024", "Apr 2024", "Jul 2024", "Oct 2024", "Jan 2025"]),
        (dt.date(2024, 2, 28), 2, ["28 Feb 2024", "29 Feb 2024", "1 Mar 2024"]),
        (dt.date(1990, 6, 1), 12000, ["2000", "2010", "2020"]),
    ],
)
def test_an_answer_by_date_is_drawn_on_an_axis_of_dates(first: dt.date, days: int, labels: list[str]) -> None:
    step = max(1, days // 60)
    dates = [first + dt.timedelta(k) for k in range(0, days + 1, step)]
    chart = figure(Answer([Column("day", dates), counts(len(dates))]))
    assert chart is not None
    assert [each for each in re.findall(r">([^<>]+)</text>", chart) if any(c.isdigit() for c in each)][
        -len(labels) :
    ] == (labels)


def test_many_days_are_a_line_with_a_band_that_no_missing_day_and_no_missing_end_is_hidden_by() -> None:
    year = [dt.date(2024, 1, 1) + dt.timedelta(k) for k in range(366)]

    def drawn(days: list[dt.date], column: Column) -> tuple[int, int, int]:
        chart = figure(Answer([Column("day", days), column]))
        assert chart is not None
        parsed(chart)
        return chart.count('class="band"'), chart.count('class="line thin"'), chart.count('class="arrow"')

    assert drawn(year, counts(366)) == (1, 1, 0)
    assert drawn(year[:50], counts(50)) == (0, 0, 0)  # few are drawn each by itself
    assert drawn([*year[:100], *year[107:]], counts(359)) == (2, 2, 0)  # a week is missing
    high: list[float] = [k + 1.0 for k in range(366)]
    high[200] = float("inf")
    open_end = Column("n", [float(k) for k in range(366)], [k - 1.0 for k in range(366)], high)
    assert drawn(year, open_end) == (2, 2, 1)
    apart = Column("n", [*([5.0] * 366), 4000.0], [*([0.0] * 366), 3900.0], [*([9.0] * 366), 4100.0])
    chart = figure(Answer([Column("day", [*year, None]), apart]))
    assert chart is not None
    assert (chart.count('class="band"'), "not drawn: 1 group without day" in chart) == (1, True)
    assert "4,000" not in chart, "the axis is that of what is drawn"
    months = [dt.date(2000 + k // 12, k % 12 + 1, 1) for k in range(120)]
    assert drawn(months, counts(120)) == (1, 1, 0)


def test_charts_are_bounded_whatever_the_answer_holds() -> None:
    many = 30_000
    keys = Column("k", list(range(many)))
    answer = Answer([keys, counts(many)])
    assert len(bars(answer["n"]).rows) == MOST_ROWS
    chart = figure(answer)
    assert chart is not None
    assert len(chart) < 100_000
    assert "the first 2,000 of 30,000 are drawn" in chart
    panels = Answer([Column("k", [0, 1, 2] * 9), Column("who", [str(k // 3) for k in range(27)]), counts(27)])
    drawn = figure(panels)
    assert drawn is not None
    assert drawn.count('<svg class="chart"') == MOST_PANELS
    assert "5 more are in the table" in drawn


def test_texts_of_the_data_are_texts_in_every_chart() -> None:
    answer = Answer(
        [Column("day", [1, 2, 3]), Column(HOSTILE, [HOSTILE] * 3), Column("n<b>", [1, 2, 3], [0, 1, 2], [2, 3, 4])]
    )
    chart = figure(answer)
    assert chart is not None
    assert "<script" not in chart
    assert "\u202e" not in chart
    curve = _curve("n<b>")
    assert "<b>" not in str(curve_chart(curve)) + curve_table(curve) + tag("i", HOSTILE, title=HOSTILE)
    parsed(chart + str(curve_chart(curve)) + curve_table(curve) + tag("i", HOSTILE, title=HOSTILE))


def _curve(name: str = "n", dear: float = 1.0) -> dict[str, Any]:
    spends = ["0.02", "0.0356", "0.0632", "0.112", "0.2", "0.356", "0.632", "1.12", "2"]
    points = [{"spend": s, "margins": {name: 12 / float(s)}, "admitted": float(s) <= dear} for s in spends]
    return {"currency": "epsilon", "points": points, "affordable": dear}


def test_the_curve_falls_through_its_points_and_shades_what_is_too_dear() -> None:
    chart = str(curve_chart(_curve(dear=0.4), "0.2"))
    assert "too dear" in chart
    assert "too dear" not in str(curve_chart(_curve(dear=2.0), "0.2"))
    assert 'aria-label="The margin of n falls from plus or minus 600 at ε = 0.02' in chart
    assert margin_at([(1.0, 8.0), (4.0, 2.0)], 2.0) == pytest.approx(4.0)  # a straight line in logarithms: 8 / spend


def test_a_curve_of_means_is_that_of_a_group_of_usual_size_and_of_unknown_margins_there_is_none() -> None:
    curve = _curve()
    for point in curve["points"]:
        point["margins"] = {"mean": f"{100 / float(point['spend'])} / n"}
    assert "margin of mean of 1,000 rows" in str(curve_chart(curve))
    for point in curve["points"]:
        point["margins"] = {"mean": None}
    assert curve_chart(curve) is None


def test_what_is_left_burns_down_and_a_meter_never_exceeds_its_budget() -> None:
    assert burn_chart([], "x") is None
    chart = str(burn_chart([0.25, 0.5, 0.75], "visits"))
    assert "25% after 3 charges" in chart
    assert len(str(burn_chart([k / 1e6 for k in range(100_000)], "visits"))) < 40_000
    assert 'aria-label="75% spent, 25% for this question, 0% left"' in meter(0.75, 0.5)


@pytest.mark.parametrize("promise", [gt.PureDP(1), gt.ApproxDP(2, "1e-6"), gt.ZCDP("1/10"), gt.GaussianDP("1/2")])
def test_charts_of_a_promise_are_drawn_for_every_kind(promise: Any) -> None:
    for chart in (belief_chart, attacker_chart, group_chart):
        parsed(chart(promise))
    low, high = group_belief(promise, 2)
    found = beliefs(promise.group(2), Fraction(1, 2))
    assert found is None or (low, high) == (float(found[0]), float(found[1]))


def test_a_profile_is_drawn_with_a_mark_at_the_least_error() -> None:
    lines = [
        {
            "cap": 2.0**k,
            "noise": 10.0 * 2**k,
            "bias": 1000.0 / 2**k,
            "low": 0.0,
            "high": 1e9,
            "error": 10.0 * 2**k + 1000 / 2**k,
        }
        for k in range(8)
    ]
    assert "at a cap of 8 rows" in str(profile_chart(lines))
    assert profile_chart(lines[:1]) is None
    ended = str(profile_chart(lines[:3]))  # where the error still falls
    assert "falls up to 4 rows, the last cap tried" in ended
    assert 'class="dot"' not in ended
    assert "a larger cap may be better" not in str(profile_chart(lines))


def test_axes_write_round_numbers() -> None:
    assert [said for _, said in Scale(0, 1600).ticks(5)] == ["0", "500", "1,000", "1,500"]
    assert [said for _, said in Scale(0.01, 3, "log").ticks(5)] == ["0.01", "0.1", "1"]
    assert [said for _, said in Scale(-419, 442).ticks(4)] == ["−400", "−200", "0", "200", "400"]  # none stands alone
    assert brief(250_000) == "250k"
    assert Scale.over([5, 5], "float").low < 5 < Scale.over([5, 5], "float").high


@pytest.mark.parametrize("sql", ["SELECT \"a\\b\"\nFROM t WHERE x = 'é😀'", "tabs\tand \u202e hidden \x00 letters"])
def test_a_snippet_holds_the_question_as_it_was_asked(sql: str) -> None:
    code = dict(snippets("visits", sql, {"epsilon": "0.1"}))
    assert ast.literal_eval(literal(sql)) == sql
    assert literal(sql) in code["Python"]
    assert literal(sql) in code["R"]
    assert json.loads(code["curl"].partition("<<'JSON'\n")[2].removesuffix("JSON\n"))["sql"] == sql
    assert "\u202e" not in "".join(code.values())


@pytest.mark.parametrize(
    ("found", "declared", "clamp"),
    [
        ([0, 128], {"low": "0", "high": "100"}, ""),
        ([0, 64], {"low": "0", "high": "100"}, 'CLAMP("Fare", 0, 64)'),
        ([-4.0, 0.25], {"low": None, "high": None}, 'CLAMP("Fare", -4, 0.25)'),
        ([-4, 512], {"low": "0", "high": "1000"}, 'CLAMP("Fare", 0, 512)'),
    ],
)
def test_bounds_of_a_profile_are_proposed_where_they_are_narrower(found: Any, declared: Any, clamp: str) -> None:
    assert bounds_view("Fare", found, declared)["clamp"] == clamp
