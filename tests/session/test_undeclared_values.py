"""A value that no declared category is: the quote says so, and the answer."""

from __future__ import annotations

import datetime as dt
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from giveortake.session import Session

MISSPELT = "'surgry' is none of the declared categories of `ward`, and has no group of its own; did you mean `surgery`?"


def session() -> Session:
    rows = pl.DataFrame({"who": range(40), "ward": ["surgery", "ear"] * 20, "note": ["surgry"] * 40})
    return gt.protect(
        rows, unit="who", budget=gt.PureDP(9), domains={"ward": ["surgery", "ear"]}, rows_per_person=1, name="stays"
    )


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
        assert len(told("ward, floor")) == 1
        assert told("floor") == []  # bounds clamp, and a missing number has a group of its own
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
