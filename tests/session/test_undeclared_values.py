"""A value that no declared category is: the quote says so, and the answer."""

from __future__ import annotations

import datetime as dt
from typing import Any

import polars as pl

import giveortake as gt
from cases import all_cases
from giveortake.session import Session

MISSPELT = "'surgry' is none of the declared categories of `ward`, and has no group of its own; did you mean `surgery`?"


def session() -> Session:
    rows = pl.DataFrame({"who": range(40), "ward": ["surgery", "ear"] * 20, "note": ["surgry"] * 40})
    return gt.protect(
        rows, unit="who", budget=gt.PureDP(9), domains={"ward": ["surgery", "ear"]}, rows_per_person=1, name="stays"
    )


@all_cases(
    "question",
    [
        "SELECT COUNT(*) AS n FROM stays WHERE ward = 'surgry'",
        "SELECT COUNT(*) AS n FROM stays WHERE who > 3 AND ward IN ('ear', 'surgry')",
        "SELECT COUNT(*) FILTER (WHERE ward = 'surgry') AS n FROM stays",
        "SELECT COUNT(*) AS n FROM (SELECT who, ward FROM stays WHERE NOT ward <> 'surgry')",
    ],
)
def test_a_misspelt_category_is_remarked_before_and_after(question: str) -> None:
    with session() as s:
        query = s.sql(question)
        assert MISSPELT in query.quote(epsilon=1).remarks
        assert MISSPELT in query.answer(epsilon=1).notes


@all_cases(
    "question",
    [
        "SELECT COUNT(*) AS n FROM stays WHERE ward = 'surgery'",
        "SELECT COUNT(*) AS n FROM stays WHERE note = 'surgry'",
        "SELECT COUNT(*) AS n FROM stays WHERE ward LIKE 'surgry'",
    ],
)
def test_what_may_occur_is_not_remarked(question: str) -> None:
    with session() as s:
        assert not [each for each in s.sql(question).quote(epsilon=1).remarks if "declared categories" in each]


def test_a_comparison_with_null_is_told_to_be_never_true() -> None:
    with session() as s:
        for condition, is_told in (("ward = NULL", True), ("NOT ward <> NULL", True), ("ward IS NULL", False)):
            quote = s.sql(f"SELECT COUNT(*) AS n FROM stays WHERE {condition}").quote(epsilon=1)
            assert ("a comparison with NULL is never true: write IS NULL" in str(quote)) == is_told


def test_an_answer_in_declared_groups_says_which_rows_are_in_none_of_them() -> None:
    rows = pl.DataFrame({"who": range(40), "ward": ["surgery", "ear"] * 20, "floor": [1, 2] * 20})
    domains: dict[str, Any] = {"ward": ["surgery", "ear"], "floor": (1, 2)}
    with gt.protect(rows, unit="who", budget=gt.PureDP(99), domains=domains, rows_per_person=1, name="stays") as s:

        def told(keys: str) -> list[str]:
            answer = s.sql(f"SELECT {keys}, COUNT(*) AS n FROM stays GROUP BY {keys}").answer(epsilon=1)
            return [note for note in answer.notes if "in no group" in note]

        assert told("ward") == ["rows with another `ward` than the declared ones, or with none, are in no group"]
        assert len(told("ward, floor")) == 2
        assert told("floor") == ["rows with another `floor` than the declared domain allows are in no group"]
        missing = "– in `floor`: the rows without one, which are a group of their own"
        assert missing in s.sql("SELECT floor, COUNT(*) AS n FROM stays GROUP BY floor").answer(epsilon=1).notes
    dates = pl.DataFrame({"who": range(9), "day": [dt.date(2024, 1, 1)] * 9})
    bounds = {"day": (dt.date(2024, 1, 1), dt.date(2024, 1, 2))}
    with gt.protect(dates, unit="who", budget=gt.PureDP(9), domains=bounds, rows_per_person=1, name="stays") as s:
        notes = s.sql("SELECT day, COUNT(*) AS n FROM stays GROUP BY day").answer(epsilon=1).notes
        assert any("without one (of a CSV file also those whose date is not written as 2024-12-31)" in n for n in notes)
    domains["ward"] = ["surgery", "ear", None]
    with gt.protect(rows, unit="who", budget=gt.PureDP(9), domains=domains, rows_per_person=1, name="stays") as s:
        answer = s.sql("SELECT ward, COUNT(*) AS n FROM stays GROUP BY ward").answer(epsilon=1)
        assert "rows with another `ward` than the declared ones are in no group" in answer.notes


OUTSIDE = pl.DataFrame(
    {
        "who": range(60),
        "number": [row % 6 for row in range(60)],
        "ward": ["surgery", "ear", "roof"] * 20,
        "day": [dt.date(2024, 1 + row % 6, 15) for row in range(60)],
        "free": ["a"] * 60,
    }
)
BOUNDS: dict[str, Any] = {"number": (1, 3), "ward": ["surgery", "ear"], "day": ("2024-02-10", "2024-04-20")}


def _outside(unit: Any = gt.ROW, **more: Any) -> Session:
    said: dict[str, Any] = {"unit": unit, "budget": gt.ApproxDP(10**6, "0.1"), "domains": BOUNDS} | more
    return gt.protect(OUTSIDE, name="stays", **said)


@all_cases(
    ("key", "counted", "note"),
    [
        ("number", 30, "rows with another `k` than the declared domain allows are in no group"),
        ("number + 1", 30, "rows with another `k` than the declared domain allows are in no group"),
        ("day", 30, "rows with another `k` than the declared domain allows are in no group"),
        ("DATE_TRUNC('month', day)", 30, "rows with another `k` than the declared domain allows are in no group"),
        ("COALESCE(ward, 'none')", 40, "rows with another `k` than the declared domain allows are in no group"),
        ("LEAST(number, 2)", 50, "rows with another `k` than the declared domain allows are in no group"),
        ("BUCKET(number, 2)", 60, "values beyond the declared bounds count in the first or the last bucket of `k`"),
        ("MONTH(day)", 60, None),
        ("CLAMP(number, 1, 3)", 60, None),
        ("BUCKET(CLAMP(number, 1, 3), 2)", 60, None),
        ("CASE WHEN number > 2 THEN 'many' ELSE 'few' END", 60, None),
        ("CASE WHEN BUCKET(number, 2) > 2 THEN 'many' ELSE 'few' END", 60, "values beyond the declared bounds"),
        ("number > 2", 60, None),
    ],
)
def test_every_key_tells_what_becomes_of_values_that_no_domain_allows(key: str, counted: int, note: str | None) -> None:
    with _outside() as s:
        for text in (f"SELECT {key} AS k, COUNT(*) AS n FROM stays GROUP BY k", _IN_SUBQUERY.format(key)):
            answer = s.sql(text).answer(epsilon=100)
            assert sum(answer.to_dict()["n"]) == counted  # type: ignore[arg-type]  # (numbers)
            told = [each for each in answer.notes if "in no group" in each or "beyond" in each]
            assert len(told) == (note is not None)
            assert note is None or note in told[0] or "FROM (" in text


_IN_SUBQUERY = "SELECT k, COUNT(*) AS n FROM (SELECT {} AS k FROM stays) GROUP BY k"


def test_declared_keys_beside_keys_that_are_found_leave_out_others_too_and_say_so() -> None:
    with _outside() as s:
        answer = s.sql("SELECT ward, free, COUNT(*) AS n FROM stays GROUP BY ward, free").answer(
            epsilon=90, delta="1e-3"
        )
        assert sum(answer.to_dict()["n"]) == 40  # type: ignore[arg-type]  # (numbers)
        assert "rows with another `ward` than the declared ones, or with none, are in no group" in answer.notes


def test_sums_of_listed_numbers_say_that_others_count_as_the_nearest() -> None:
    said = "values of `number` beyond the declared ones count as the nearest of them"
    with _outside(domains={"number": [1, 2, 3]}) as s:
        for measured in ("SUM(number)", "AVG(number * 2)", "MEDIAN(number)"):
            query = s.sql(f"SELECT {measured} AS x FROM stays")
            assert said in query.quote(epsilon=1).remarks
            assert said in query.answer(epsilon=1).notes
        for measured in ("COUNT(number)", "AVG(CASE WHEN number = 2 THEN 1 ELSE 0 END)", "SUM(CLAMP(number, 1, 3))"):
            assert not any(
                "beyond" in note for note in s.sql(f"SELECT {measured} AS x FROM stays").answer(epsilon=1).notes
            )
    with _outside(domains={"number": [1, 3]}) as s:
        (note,) = s.sql("SELECT SUM(number) AS x FROM stays").answer(epsilon=1).notes
        assert note == f"{said}; a list means keys, and bounds are (1, 3)"


def test_persons_whom_caps_leave_out_of_groups_are_told() -> None:
    by_ward = "SELECT ward, COUNT(DISTINCT who) AS n FROM stays GROUP BY ward"
    with _outside("who", groups_per_person=1, rows_per_group=3) as s:
        assert s.sql(by_ward).quote(epsilon=1).left_out is not None
        assert any(
            "how much the caps leave out is not known" in note for note in s.sql(by_ward).answer(epsilon=1).notes
        )
        assert s.sql("SELECT COUNT(DISTINCT who) AS n FROM stays").answer(epsilon=1).left_out is None
    with _outside("who", rows_per_person=1) as s:
        some = s.sql("SELECT COUNT(DISTINCT who) AS n FROM stays WHERE number > 1").answer(epsilon=1)
        assert some.left_out is not None
