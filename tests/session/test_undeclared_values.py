"""Values that no declared domain allows: the quote remarks them, and the answer says which rows it leaves out."""

from __future__ import annotations

import datetime as dt
from typing import Any

import polars as pl

import giveortake as gt
from giveortake.configuration import protection_arguments
from giveortake.session import Session

ROWS = pl.DataFrame(
    {
        "who": range(60),
        "number": [row % 6 for row in range(60)],
        "ward": ["surgery", "ear", "roof"] * 20,
        "day": [dt.date(2024, 1 + row % 6, 15) for row in range(60)],
        "note": ["a"] * 60,
    }
)
BOUNDS: dict[str, Any] = {"number": (1, 3), "ward": ["surgery", "ear"], "day": ("2024-02-10", "2024-04-20")}
IN_SUBQUERY = "SELECT k, COUNT(*) AS n FROM (SELECT {} AS k FROM stays) GROUP BY k"


def session(unit: Any = gt.ROW, **more: Any) -> Session:
    options: dict[str, Any] = {"unit": unit, "budget": gt.ApproxDP(10**6, "0.1"), "domains": BOUNDS} | more
    return gt.protect(ROWS, **protection_arguments({"name": "stays", "threads": 1, **options}))


def test_a_misspelt_category_is_remarked_before_and_after_and_what_may_occur_is_not() -> None:
    remarked = [
        "SELECT COUNT(*) AS n FROM stays WHERE ward = 'surgry'",
        "SELECT COUNT(*) AS n FROM stays WHERE who > 3 AND ward IN ('ear', 'surgry')",
        "SELECT COUNT(*) FILTER (WHERE ward = 'surgry') AS n FROM stays",
        "SELECT COUNT(*) AS n FROM (SELECT who, ward FROM stays WHERE NOT ward <> 'surgry')",
    ]
    others = [
        "SELECT COUNT(*) AS n FROM stays WHERE ward = 'surgery'",
        "SELECT COUNT(*) AS n FROM stays WHERE note = 'surgry'",
        "SELECT COUNT(*) AS n FROM stays WHERE ward LIKE 'surgry'",
    ]
    with session() as s:
        for text in remarked:
            for notes in (s.sql(text).quote(epsilon=1).notes, s.sql(text).answer(epsilon=1).notes):
                assert any("'surgry'" in note and "`ward`" in note for note in notes), text
        for text in others:
            assert not any("`ward`" in note for note in s.sql(text).quote(epsilon=1).notes), text


def test_a_comparison_with_null_is_remarked() -> None:
    with session() as s:
        for condition, is_remarked in (("ward = NULL", True), ("NOT ward <> NULL", True), ("ward IS NULL", False)):
            quote = s.sql(f"SELECT COUNT(*) AS n FROM stays WHERE {condition}").quote(epsilon=1)
            assert any("NULL" in note for note in quote.notes) == is_remarked


def test_every_key_says_what_becomes_of_values_that_no_domain_allows() -> None:
    keys: dict[str, tuple[int, str | None]] = {  # how many of sixty rows count, and what is said of the others
        "number": (30, "no group"),
        "number + 1": (30, "no group"),
        "day": (30, "no group"),
        "DATE_TRUNC('month', day)": (30, "no group"),
        "COALESCE(ward, 'none')": (40, "no group"),
        "LEAST(number, 2)": (50, "no group"),
        "BUCKET(number, 2)": (60, "beyond"),
        "MONTH(day)": (60, None),
        "CLAMP(number, 1, 3)": (60, None),
        "BUCKET(CLAMP(number, 1, 3), 2)": (60, None),
        "CASE WHEN number > 2 THEN 'many' ELSE 'few' END": (60, None),
        "CASE WHEN BUCKET(number, 2) > 2 THEN 'many' ELSE 'few' END": (60, "beyond"),
        "number > 2": (60, None),
    }
    with session() as s:
        for key, (rows, words) in keys.items():
            for text in (f"SELECT {key} AS k, COUNT(*) AS n FROM stays GROUP BY k", IN_SUBQUERY.format(key)):
                answer = s.sql(text).answer(epsilon=100)
                assert sum(answer.to_dict()["n"]) == rows, text  # type: ignore[arg-type]  # (numbers)
                notes = [each for each in answer.notes if "no group" in each or "beyond" in each]
                assert len(notes) == (words is not None), text
                assert words is None or words in notes[0] or "FROM (" in text, text


def test_each_of_several_keys_says_its_own_and_missing_values_are_a_group_or_none() -> None:
    with session() as s:
        for keys in ("ward", "ward, number", "ward, note"):
            answer = s.sql(f"SELECT {keys}, COUNT(*) AS n FROM stays GROUP BY {keys}").answer(epsilon=90, delta="1e-3")
            notes = [note for note in answer.notes if "no group" in note]
            names = ("`ward`", "`number`") if "number" in keys else ("`ward`",)
            assert all(name in note for name, note in zip(names, notes, strict=True))
            assert "none" in notes[0]
        (missing,) = [
            note
            for note in s.sql("SELECT number, COUNT(*) AS n FROM stays GROUP BY number").answer(epsilon=1).notes
            if note.startswith("–")
        ]
        assert "`number`" in missing
    with session(domains={"ward": ["surgery", "ear", None]}) as s:
        answer = s.sql("SELECT ward, COUNT(*) AS n FROM stays GROUP BY ward").answer(epsilon=1)
        assert [("none" in note) for note in answer.notes if "no group" in note] == [False]


def test_sums_of_listed_numbers_say_that_others_count_as_the_nearest() -> None:
    with session(domains={"number": [1, 2, 3]}) as s:
        for measured in ("SUM(number)", "AVG(number * 2)", "MEDIAN(number)"):
            query = s.sql(f"SELECT {measured} AS x FROM stays")
            for notes in (query.quote(epsilon=1).notes, query.answer(epsilon=1).notes):
                assert any("`number`" in note and "nearest" in note for note in notes), measured
        for measured in ("COUNT(number)", "AVG(CASE WHEN number = 2 THEN 1 ELSE 0 END)", "SUM(CLAMP(number, 1, 3))"):
            answer = s.sql(f"SELECT {measured} AS x FROM stays").answer(epsilon=1)
            assert not any("beyond" in note for note in answer.notes), measured


def test_persons_whom_caps_leave_out_of_groups_are_told() -> None:
    by_ward = "SELECT ward, COUNT(DISTINCT who) AS n FROM stays GROUP BY ward"
    with session("who", groups_per_person=1, rows_per_group=3) as s:
        answer = s.sql(by_ward).answer(epsilon=1)
        assert answer.left_out is not None
        assert not answer.left_out.is_known
        assert str(answer.left_out) in answer.notes
        assert s.sql("SELECT COUNT(DISTINCT who) AS n FROM stays").answer(epsilon=1).left_out is None
    with session("who", rows_per_person=1) as s:
        some = s.sql("SELECT COUNT(DISTINCT who) AS n FROM stays WHERE number > 1").answer(epsilon=1)
        assert some.left_out is None  # a cap that lowers no noise is not applied
