"""The faces of an answer to a workload: one stacked table of everything, and a page that shows numbers."""

from __future__ import annotations

import csv
import datetime as dt
import html
import io
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from giveortake.answers import Answer
from giveortake.errors import InvalidParameter, QueryRefused
from giveortake.session import Session

DOMAINS: dict[str, Any] = {
    "city": ["Rome", "Oslo", None],
    "sex": ["m", "f"],
    "age": (20, 23),
    "day": ("2024-01-01", "2024-01-04"),
}
ROWS = 240


def _session(**more: Any) -> Session:
    table = pl.DataFrame(
        {
            "city": [["Rome", "Oslo", None][row % 3] for row in range(ROWS)],
            "sex": ["mf"[row % 2] for row in range(ROWS)],
            "age": [20 + row % 4 for row in range(ROWS)],
            "day": [dt.date(2024, 1, 1 + row % 4) for row in range(ROWS)],
        }
    )
    said: dict[str, Any] = {"unit": gt.ROW, "budget": gt.ZCDP(10**9), "domains": DOMAINS} | more
    return gt.protect({"staff": table}, **said)


EVERYTHING = (
    gt.workload.marginals(["city", "sex"])
    + gt.workload.ranges("age", by="sex")
    + gt.workload.ranges("day")
    + gt.workload.total()
    + gt.workload.total(of="age")
)


def test_the_stacked_table_has_every_cell_of_every_table_and_every_border_of_every_range() -> None:
    answer = _session().workload(EVERYTHING).answer(rho=10**8)
    stacked = answer.stacked()
    rows = stacked.rows()
    assert [column.name for column in stacked.columns] == [
        "grouping",
        "city",
        "sex",
        "age_below",
        "day_below",
        "n",
        "n_consistent",
        "age_sum",
    ]
    assert len(rows) == sum(len(answer[each]) for each in answer.tables)
    for table in answer.tables:
        named = " × ".join(table) or "total"
        if table and table[0] in {"age", "day"}:
            named = " × ".join([f"{table[0]}_below", *table[1:]])
        part = [row for row in rows if row["grouping"] == named]
        for ours, theirs in zip(part, answer[table].rows(), strict=True):
            assert all(ours[name] == value for name, value in theirs.items())
            assert all(value is None for name, value in ours.items() if name not in {*theirs, "grouping"})
    below = {row["day_below"]: row["n"] for row in rows if row["grouping"] == "day_below"}
    assert below[dt.date(2024, 1, 3)] == pytest.approx(ROWS / 2, abs=1)


def test_a_workload_of_ranges_alone_is_stacked_too() -> None:
    answer = _session().workload(gt.workload.ranges("age")).answer(rho=10**8)
    assert answer.stacked().to_dict()["age_below"] == [21, 22, 23, 24]
    assert [round(each) for each in answer.to_polars()["n"]] == [ROWS // 4, ROWS // 2, 3 * ROWS // 4, ROWS]


def test_all_texts_hold_the_stacked_table(tmp_path: Any) -> None:
    answer = _session().workload(EVERYTHING).answer(rho=1)
    stacked = answer.stacked()
    assert answer.to_dict() == stacked.to_dict()
    assert Answer.from_json(answer.to_json()) == stacked
    lines = list(csv.DictReader(io.StringIO(answer.to_csv() or "")))
    assert [line["n"] for line in lines] == ["" if each is None else str(each) for each in stacked.to_dict()["n"]]
    assert answer.to_csv(tmp_path / "all.csv") is None
    assert (tmp_path / "all.csv").read_bytes().decode() == answer.to_csv()
    assert pl.DataFrame(answer.to_arrow()).equals(answer.to_polars())


def test_pages_show_the_first_rows_of_a_few_tables_and_which_others_there_are() -> None:
    answer = _session().workload(EVERYTHING).answer(rho=10**8)
    text, page = repr(answer), answer._repr_html_()
    first = answer["city"].to_dict()
    for shown in (text, page):
        assert all(fact in shown for fact in ("6 tables", "95 %", "n_consistent"))
        assert f"{first['n'][0]:,.0f}"[:2] in shown
        assert "3 more" in shown
    assert "r[()]" in text
    assert "<table>" in page
    assert (
        "<script>"
        not in _session(
            domains=DOMAINS | {"city": ["<script>", "Oslo", None]},
        )
        .workload(gt.workload.marginals(["city"]))
        .answer(rho=1)
        ._repr_html_()
    )


def test_names_that_sql_gives_are_those_of_the_answer_and_cost_nothing_more() -> None:
    session = _session(budget=gt.ZCDP(10))
    plain = session.workload("SELECT city, sex, COUNT(*) AS n, SUM(age) AS a FROM staff GROUP BY CUBE (city, sex)")
    spent = plain.answer(rho=1) and session.spent
    named = session.workload(
        "SELECT city AS town, sex AS gender, COUNT(*) AS heads, SUM(age) AS years FROM staff GROUP BY CUBE (city, sex)"
    )
    answer = named.answer(rho=1)
    assert session.spent == spent  # the same question by other names
    assert answer.tables == (("town", "gender"), ("town",), ("gender",), ())
    assert sorted(answer["town"].to_dict()) == sorted(
        ["town", "heads", "heads_low", "heads_high", "heads_consistent", "years", "years_low", "years_high"]
    )
    assert [*answer["gender", "town"]["heads"]] == [*plain.answer(rho=1)["sex", "city"]["n"]]
    assert [column.name for column in answer.stacked().columns] == [
        "grouping",
        "town",
        "gender",
        "heads",
        "heads_consistent",
        "years",
    ]
    assert "heads_consistent" in str(answer["town"])
    assert next(line["table"] for line in named.quote(rho=1).lines) == ("town", "gender")
    assert named.quote(rho=1).facts == plain.quote(rho=1).facts
    alias = session.workload("SELECT city AS town, COUNT(*) AS heads FROM staff GROUP BY ROLLUP (town)")
    assert alias.answer(rho=1).tables == (("town",), ())
    with pytest.raises(QueryRefused, match="`again` repeats `n`"):
        session.workload("SELECT sex, COUNT(*) AS n, COUNT(*) AS again FROM staff GROUP BY CUBE (sex)")


def test_days_may_be_written_as_text_where_a_range_is_asked_for() -> None:
    answer = _session().workload(gt.workload.ranges("day")).answer(rho=10**8)
    days = dt.date(2024, 1, 2), dt.date(2024, 1, 4)
    assert answer.between("day", *days) == answer.between("day", *map(str, days))
    assert answer.between("day", "2024-01-02", "2024-01-04").value == pytest.approx(ROWS / 2, abs=1)
    with pytest.raises(InvalidParameter):
        answer.between("day", "yesterday", "2024-01-04")
    with pytest.raises(InvalidParameter):
        answer.between("day", 3, "2024-01-04")
    with pytest.raises(InvalidParameter, match="nearest are 2024-01-05"):
        answer.between("day", "2024-01-02", "2024-02-04")


def test_hundreds_of_tables_are_stacked_as_whole_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row is never made by itself: whatever asks an answer for its rows would be slow."""
    answer = _session().workload(EVERYTHING).answer(rho=1)
    monkeypatch.setattr(Answer, "rows", lambda _: pytest.fail("rows were made"))
    columns = {column.name: column for column in answer.stacked().columns}
    assert {type(each).__name__ for each in columns["n"].parts().values()} == {"ndarray"}
    assert {type(each).__name__ for each in columns["age_sum"].parts().values()} == {"tuple"}  # where some are missing


def test_a_workload_says_what_caps_and_bounds_do_on_every_face() -> None:
    table = pl.DataFrame({"who": range(60), "sex": ["m", "f"] * 30, "age": [20 + row for row in range(60)]})
    domains: dict[str, Any] = {"sex": ["m", "f"], "age": (20, 23)}
    said: dict[str, Any] = {"unit": "who", "budget": gt.PureDP(10**9), "domains": domains, "rows_per_person": 1}
    with gt.protect({"staff": table}, **said) as s:
        query = s.workload(gt.workload.marginals(["sex"]) + gt.workload.ranges("age", by="sex"))
        quote, answer = query.quote(epsilon=10**6), query.answer(epsilon=10**6)
        one = answer.between("age", 20, 24, sex="m")
        faces = (
            str(quote),
            quote._repr_html_(),
            repr(answer),
            answer._repr_html_(),
            repr(one),
            answer["sex"].to_html(),
        )
        assert quote.left_out is not None
        assert not quote.left_out.is_known
        assert all(str(quote.left_out) in html.unescape(face) for face in faces)
        assert one.value == pytest.approx(30, abs=0.1)  # 28 of them are older
        assert any("`age`" in note for note in one.notes)
        s.profile(most_rows=1).answer(epsilon=10**6)
        assert query.quote(epsilon=10**6).left_out.high == 0  # type: ignore[union-attr]  # (a profile tells)
