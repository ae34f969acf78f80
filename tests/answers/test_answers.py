"""Answers, estimates and differences, compared, copied, written as text, and with texts from outside."""

from __future__ import annotations

import copy
import csv
import datetime
import io
import json
import math
import pickle
import sys
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import giveortake as gt
from cases import all_cases
from giveortake.answers import Answer, Column, Estimate, difference
from giveortake.answers.column import Margins
from giveortake.answers.render import number_text, printable, shown_with_margin
from giveortake.answers.terms import Caps, Confidence
from giveortake.errors import InvalidParameter, NotFound, QueryRefused, Unprovable
from giveortake.hints import rendered


def by_region(**provenance: Any) -> Answer:
    return Answer(
        [Column("region", ["north", "south"]), Column("n", [1204, 873], low=[1190, 859], high=[1218, 887])],
        **provenance,
    )


def test_a_column_comes_with_its_ends_and_keys_keep_their_names() -> None:
    assert by_region().to_dict() == {
        "region": ["north", "south"],
        "n": [1204, 873],
        "n_low": [1190, 859],
        "n_high": [1218, 887],
    }
    assert by_region().rows()[1] == {"region": "south", "n": 873, "n_low": 859, "n_high": 887}


def test_a_column_is_found_by_name_and_a_row_by_its_keys() -> None:
    answer = by_region()
    assert list(answer["n"]) == [1204, 873]
    assert answer["n"][1] == 873
    assert answer["n"].margins == (14, 14)
    assert answer.row(region="south")["n"] == 873
    assert [column.name for column in answer.keys] == ["region"]
    with pytest.raises(NotFound, match="region, n"):
        answer["mean"]
    with pytest.raises(NotFound):
        answer.row(region="west")


def test_one_number_has_a_value_and_two_ends() -> None:
    answer = Answer([Column("n", [5], [1], [9])])
    assert (answer.value, answer.low, answer.high) == (5, 1, 9)
    with pytest.raises(Unprovable, match="2 rows and 1 estimate,"):
        _ = by_region().value


def test_an_estimate_is_one_number_with_every_face_of_an_answer() -> None:
    estimate = Estimate(0.31, 0.28, 0.345, name="share", confidence="0.9")
    assert (estimate.value, estimate.low, estimate.high) == (0.31, 0.28, 0.345)
    assert estimate.margin == pytest.approx(0.035)
    assert estimate.confidence == Fraction(9, 10)
    assert estimate.to_polars().columns == ["share", "share_low", "share_high"]
    assert len(estimate) == 1


def test_answers_compare_by_content() -> None:
    assert by_region() == by_region()
    assert hash(by_region()) == hash(by_region())
    assert by_region() != by_region(confidence="0.9")
    assert by_region() != by_region(cost=Fraction(1))
    assert by_region() != Answer([Column("region", ["north", "south"])])
    assert Column("x", [float("nan")]) == Column("x", np.array([np.nan]))
    assert Column("x", [1]) != Column("x", [1], [0], [2])


def test_an_answer_cannot_be_changed() -> None:
    answer = Answer([Column("n", np.array([5, 6]))])
    with pytest.raises(AttributeError):
        answer.cost = 0
    with pytest.raises(AttributeError):
        del answer.cost
    with pytest.raises(ValueError, match="read-only"):
        answer["n"].values[0] = 7  # type: ignore[index]


def test_an_array_is_copied_so_that_its_owner_cannot_change_the_answer() -> None:
    numbers = np.array([5, 6])
    column = Column("n", numbers)
    numbers[0] = 0
    assert list(column) == [5, 6]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Column("", [1]), "not the name of a column"),
        (lambda: Column("n", [1], low=[0]), "not an interval"),
        (lambda: Column("n", [1], low=[2], high=[0]), "not an interval"),
        (lambda: Column("n", np.array([1.0]), np.array([2.0]), np.array([0.0])), "not an interval"),
        (lambda: Column("n", [1], low=[0, 0], high=[2, 2]), "do not match 1 values"),
        (lambda: Column("n", [1, "a"]), "different kinds"),
        (lambda: Column("n", [object()]), "not a type that an answer can hold"),
        (lambda: Column("n", "abc"), "not a list"),
        (lambda: Column("n", np.zeros((2, 2))), "not one column"),
        (lambda: Answer([]), "is empty"),
        (lambda: Answer([Column("n", [1]), Column("n", [1])]), "occurs twice"),
        (lambda: Answer([Column("n", [1], [0], [2]), Column("n_low", [1])]), "occurs twice"),
        (lambda: Answer([Column("n", [1]), Column("m", [1, 2])]), "has 2 rows and not 1"),
        (lambda: Answer([Column("n", [1])], confidence=1), "strictly between"),
    ],
)
def test_what_is_no_table_is_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        make()


def test_json_holds_the_table_and_where_it_came_from() -> None:
    promise = gt.PureDP("0.1")
    answer = Answer(
        [
            Column("day", [datetime.date(2020, 2, 29)]),
            Column("price", [Decimal("1.50")]),
            Column("mean", [float("inf")]),
        ],
        guarantee=promise,
        cost=Fraction(1, 10),
        release_id="r1",
        recipe={"mechanism": "laplace"},
        citations=("[DMNS06]",),
        entropy="test",
        notes=("a note",),
    )
    document = json.loads(answer.to_json())
    assert document["columns"] == {"day": ["2020-02-29"], "price": ["1.50"], "mean": ["inf"]}
    assert document["guarantee"]["epsilon"] == "1/10"
    assert document["recipe"] == {"mechanism": "laplace"}
    assert (document["release_id"], document["cost"], document["confidence"]) == ("r1", "1/10", "19/20")


def test_csv_is_returned_or_written(tmp_path: Path) -> None:
    text = by_region().to_csv()
    assert text == "region,n,n_low,n_high\nnorth,1204,1190,1218\nsouth,873,859,887\n"
    assert by_region().to_csv(tmp_path / "a.csv") is None
    assert (tmp_path / "a.csv").read_text(encoding="utf-8") == text


def test_answers_travel_between_processes_and_are_copied() -> None:
    for answer in (
        by_region(guarantee=gt.PureDP(1), cost=Fraction(1), recipe={"a": 1}, notes=("n",)),
        Answer([Column("n", np.array([1.5]), np.array([1.0]), np.array([2.0]))], recipe=["a", "b"]),
        Estimate(0.31, 0.28, 0.345, name="share", confidence="0.9"),
    ):
        assert pickle.loads(pickle.dumps(answer)) == answer  # noqa: S301 (our own bytes)
        assert copy.deepcopy(answer) == answer


def test_an_answer_is_refined_by_whoever_gave_it() -> None:
    better = by_region(confidence="0.99")
    answer = Answer([Column("n", [1])], refine=lambda **_: better)
    assert answer.refine(epsilon=1) is better
    with pytest.raises(Unprovable, match="asked again"):
        better.refine()


@pytest.mark.parametrize(
    ("way", "library"), [("to_polars", "polars"), ("to_pandas", "pandas"), ("to_arrow", "pyarrow")]
)
def test_a_table_of_a_library_that_is_not_there_says_what_to_install(
    way: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(NotFound, match=f"pip install {library}"):
        getattr(by_region(), way)()


def test_a_column_that_is_taken_as_an_attribute_is_told_the_brackets() -> None:
    with pytest.raises(AttributeError):
        _ = by_region().n  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        _ = by_region().nothing  # type: ignore[attr-defined]
    assert copy.copy(by_region()) == by_region()
    assert not hasattr(object.__new__(Answer), "notes")


def released(values: dict[str, tuple[int, int]], name: str = "r", **more: Any) -> Answer:
    middles, margins = zip(*values.values(), strict=True)
    lows, highs = ([m + sign * w for m, w in zip(middles, margins, strict=True)] for sign in (-1, 1))
    return Answer([Column("region", list(values)), Column("n", middles, lows, highs)], release_id=name, **more)


def test_the_interval_of_a_difference_is_as_wide_as_both_and_states_what_it_holds_with() -> None:
    found = difference(released({"n": (100, 10), "s": (50, 10)}, "a"), released({"s": (90, 5), "n": (95, 5)}, "b"))
    assert list(found.keys[0]) == ["s", "n"]
    assert list(found.estimates[0].triples()) == [(40, 25, 55), (-5, -20, 10)]
    assert found.certain == (True, False)
    assert found.confidence == Fraction(9, 10)


def test_the_interval_of_a_difference_holds_whenever_both_intervals_do() -> None:
    found = difference(released({"x": (0, 3)}, "a"), released({"x": (1, 2)}, "b"))
    ends = found.estimates[0].low, found.estimates[0].high
    reached = [b - a for a in range(-3, 4) for b in range(-1, 4)]  # whatever the two truths are
    assert ends == ((min(reached),), (max(reached),))


def test_rows_without_a_partner_are_counted_and_other_columns_left_aside() -> None:
    found = difference(released({"n": (1, 1), "gone": (2, 1)}, "a"), released({"n": (3, 1), "new": (4, 1)}, "b"))
    assert (len(found), found.only_before, found.only_after, found.left_aside) == (1, 1, 1, ())
    with pytest.raises(QueryRefused):
        difference(released({"n": (1, 1)}), Answer([Column("n", [1], [0], [2])]))
    with pytest.raises(QueryRefused):
        difference(released({"n": (1, 1)}), Answer([Column("region", ["n"]), Column("m", [1], [0], [2])]))


def test_caps_that_differ_and_a_release_beside_itself_are_told() -> None:
    capped = gt.answers.terms.Caps(rows_per_group=1)
    found = difference(released({"n": (1, 1)}, "a"), released({"n": (1, 1)}, "b", caps=capped))
    assert "at most 1 row of a person in the second" in found.notes[0]
    assert "same release" in difference(released({"n": (1, 1)}), released({"n": (1, 1)})).notes[0]


def test_what_has_no_end_has_none_in_a_difference_and_floats_are_rounded_outwards() -> None:
    one = Answer([Column("m", [0.3], [0.1], [math.inf])], release_id="a")
    other = Answer([Column("m", [0.1], [0.1], [0.2])], release_id="b")
    ((_, low, high),) = difference(one, other).estimates[0].triples()
    assert low == -math.inf
    assert high == math.nextafter(0.2 - 0.1, 1)


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


def test_every_face_says_first_which_rows_the_numbers_are_of() -> None:
    open_ended = Answer(
        [Column("n", [5.0], [4.0], [6.0], open_sides=(False, True))],
        caps=Caps(rows_per_group=4),
        cost=gt.PureDP("0.1"),
    )
    for face in (repr(open_ended), open_ended._repr_html_(), open_ended.to_markdown()):
        assert "1 row · of at most 4 rows of a person; more rows are not in this number · intervals" in face
    assert open_ended.margins["n"] == Margins((1.0,), (None,))
    whole = Answer([Column("n", [5], [4], [9], noise=([4], [6]))], caps=Caps(rows_per_group=4))
    assert "for all rows" in repr(whole)
    assert whole.margins["n"] == Margins((1,), (3,))
    assert Answer.from_json(whole.to_json()) == whole != Answer([Column("n", [5], [4], [9])], caps=whole.caps)
    assert Answer.from_json(open_ended.to_json()) == open_ended
    assert "more rows" not in repr(sample())


def test_the_parts_of_an_interval_are_written_apart_on_every_face() -> None:
    keys = Column("region", ["north", "south"])
    counts = Column("n", [13630, 480], [13585, 435], [14470, 1320], noise=([13585, 435], [13675, 525]))
    means = Column("mean", [12.31, 2.2], [11.8, 1.0], [13.3049, 3.9], noise=([12.1, 1.1], [12.5, 3.3]))
    answer = Answer([keys, counts, means], caps=Caps(rows_per_person=3))
    out = io.StringIO()
    Console(file=out, width=200).print(answer)
    faces = repr(answer), answer._repr_html_(), answer.to_markdown(), out.getvalue()
    for face in faces:
        for part in ("13,630", "± 45", "up to 795 more", "up to 0.81 more or 0.30 less", "± 1.1"):
            assert part in face
    assert faces[0].splitlines()[1].index("up to 795") == faces[0].splitlines()[2].index("up to 795")
    assert "repeating-linear-gradient" in faces[1]
    assert answer.to_dict()["n_high"] == [14470, 1320]  # tables hold the whole interval
    assert answer.margins["n"] == Margins((45, 45), (795, 795))
    unlimited = Answer([Column("x", [1.0], [0.5], [math.inf], noise=([0.5], [1.5]))])
    assert "± 0.50, up to ∞ more" in repr(unlimited)
    days = [date(2024, 1, day) for day in range(1, 6)]
    of_days = Answer([Column("day", [days[2]], [days[0]], [days[4]], noise=([days[1]], [days[3]]))])
    assert "2024-01-02 … 2024-01-04, 2024-01-01 … 2024-01-05 for all rows" in repr(of_days)


def test_what_truncation_may_do_is_kept_in_estimates_and_differences() -> None:
    estimate = Estimate(5.0, 4.0, 6.0, open_sides=(True, False), caps=Caps(rows_per_person=2))
    assert Estimate.from_json(estimate.to_json()) == estimate
    assert "at most 2 rows of a person" in repr(estimate)
    before = Answer([Column("n", [10], [8], [30], noise=([8], [12]))], release_id="a")
    after = Answer([Column("n", [50], [45], [55], open_sides=(False, True))], release_id="b")
    change = difference(before, after)
    (column,) = change.estimates
    assert next(column.triples()) == (40, 15, 47)
    assert next(column.noise_ends()) == (33, 47)
    assert column.open_sides == (False, True)
    assert change.notes
    assert difference(after, before).estimates[0].open_sides == (True, False)


@all_cases(("said", "meant"), [(95, "0.95"), ("99.9", "0.999"), (2, "0.95"), (0, "0.95")])
def test_who_states_a_confidence_in_percent_is_told_the_probability(said: Any, meant: str) -> None:
    with pytest.raises(gt.errors.InvalidParameter, match="strictly between 0 and 1") as told:
        Confidence(said)
    assert rendered(told.value.hint, "console") == f"“Confidence”: {meant}"
    assert rendered(told.value.hint, "command") == f"--confidence {meant}"


EVIL = {
    "clears the screen": "red\x1b[2J",
    "an eight-bit escape": "red\x9b2J",
    "goes back": "blue\rred",
    "a bell": "red\x07",
    "a null": "red\0",
    "turns round": "abc\u202egpj.exe",
    "isolates": "\u2067admin\u2069",
    "a mark of direction": "red\u200f",
    "hides": "re\u200bd",
    "a line of its own": "red\nblue",
    "a paragraph": "red\u2029blue",
    "half a character": "red\ud800",
}
PLAIN = ["red", "", "naïve café", "日本語", "‹‹—››", "شهر", "می\u200cخواهم", "👩\u200d🔬", "a\\b", "non\u00a0breaking"]


def answer_with(text: str) -> Answer:
    return Answer([Column("key", [text]), Column(f"n of {text}", [3], low=[1], high=[5])])


@all_cases("text", EVIL.values(), ids=EVIL)
def test_a_terminal_and_repr_show_what_is_hidden_in_a_key(text: str) -> None:
    out = io.StringIO()
    terminal = Console(file=out, width=200, force_terminal=True, color_system=None)
    if "\ud800" not in text:  # no stream writes half a character
        terminal.print(answer_with(text))
    for face in (repr(answer_with(text)), out.getvalue(), answer_with(text)._repr_html_()):
        assert not any(letter in face for letter in text if not letter.isprintable() and letter != "\n")
    assert len(repr(answer_with(text)).splitlines()) == 3
    assert printable(text).startswith(("red", "blue", "abc", "\\u2067", "re\\u"))
    assert "\\" in printable(text)


@all_cases("text", PLAIN)
def test_letters_of_every_language_are_shown_as_they_are(text: str) -> None:
    assert printable(text) == text


@all_cases("text", EVIL.values(), ids=EVIL)
def test_values_stay_what_they_are(text: str) -> None:
    assert answer_with(text)["key"][0] == text
    assert answer_with(text).rows()[0]["key"] == text


@all_cases(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t1",
        "\r=1",
        "\n=1",
        "=cmd|' /C calc'!A0",
        "＝1",
        "＋1",
        "－1",
        "＠1",
        " =1",
        "\u00a0=1",
        "\ufeff@x",
        "\u200b+1",
    ],
)
def test_no_cell_of_a_csv_file_is_a_formula(text: str) -> None:
    written = Answer([Column(text, [text, "fine"]), Column("n", [-3, 4])]).to_csv()
    rows = list(csv.reader(io.StringIO(written, newline="")))
    assert rows == [[f"'{text}", "n"], [f"'{text}", "-3"], ["fine", "4"]]


@all_cases("separator", [";", "\t"])
def test_no_cell_is_a_formula_to_whoever_separates_cells_otherwise(separator: str) -> None:
    text = f"x{separator}=1+cmd|' /C calc'!A0{separator}@y"
    written = Answer([Column(text, [text]), Column("n", [1])]).to_csv() or ""
    cells = [cell for row in csv.reader(io.StringIO(written, newline=""), delimiter=separator) for cell in row]
    assert len(cells) == 6
    assert not any(cell.startswith(("=", "@")) for cell in cells)


@all_cases("end", ["\r", "\n", "\r\n"])
def test_no_end_of_a_line_inside_a_key_begins_a_row(end: str) -> None:
    text = f"red{end}=1+1"
    written = Answer([Column("key", [text]), Column("n", [1])]).to_csv()
    assert written == f'key,n\n"{text}",1\n'
    assert list(csv.reader(io.StringIO(written, newline=""))) == [["key", "n"], [text, "1"]]


def test_numbers_dates_and_missing_values_of_a_csv_file_stay_as_they_are() -> None:
    columns = [
        Column("n", [-3, None]),
        Column("x", [-0.5, 1e-9]),
        Column("d", [Decimal("-1.50"), Decimal(2)]),
        Column("day", [date(2026, 1, 2), None]),
        Column("is", [True, False]),
    ]
    assert Answer(columns).to_csv() == "n,x,d,day,is\n-3,-0.5,-1.50,2026-01-02,True\n,1e-09,2,,False\n"


def test_other_formats_hold_every_text_as_it_is() -> None:
    assert '"=1+1"' in Answer([Column("key", ["=1+1"])]).to_json()
    assert Answer([Column("key", ["=1+1"])]).to_polars()["key"].to_list() == ["=1+1"]
