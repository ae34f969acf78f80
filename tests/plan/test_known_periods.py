"""First days of periods of bounded dates are known keys."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from giveortake.plan import Call, ColumnReference, Domain, Kind, Literal
from giveortake.plan.expressions import first_day
from giveortake.session import Session

FIRST, LAST = dt.date(2023, 12, 29), dt.date(2024, 3, 2)


def domain(period: str, low: dt.date = FIRST, high: dt.date = LAST, **more: Any) -> Domain:
    days = Domain(Kind.DATE, Fraction(low.toordinal()), Fraction(high.toordinal()), **more)
    return Call("date_trunc", (Literal(period), ColumnReference("day"))).domain({"day": days})


@pytest.mark.parametrize(
    ("period", "keys"),
    [
        ("year", ["2023-01-01", "2024-01-01"]),
        ("quarter", ["2023-10-01", "2024-01-01"]),
        ("month", ["2023-12-01", "2024-01-01", "2024-02-01", "2024-03-01"]),
        ("week", ["2023-12-25", "2024-01-01"]),
    ],
)
def test_periods_between_bounds_are_listed_in_order(period: str, keys: list[str]) -> None:
    last = dt.date(2024, 1, 7) if period == "week" else LAST
    found = domain(period, high=last, nullable=False).keys()
    assert found == tuple(map(dt.date.fromisoformat, keys))
    assert domain(period, high=last).keys() == (*found, None)


def test_days_are_the_days_themselves_and_too_many_are_not_listed() -> None:
    assert len(domain("day", nullable=False).keys() or ()) == (LAST - FIRST).days + 1
    ages = (dt.date(1000, 1, 1), dt.date(9000, 1, 1))
    assert domain("day", *ages).keys() is None
    assert domain("month", *ages).keys() is None
    assert len(domain("year", dt.date(1000, 1, 1), dt.date(3000, 1, 1), nullable=False).keys() or ()) == 2001
    assert domain("week", dt.date(1, 1, 1), dt.date(1, 2, 1)).keys() is None  # its first week begins before all dates
    assert (
        Call("date_trunc", (Literal("month"), ColumnReference("day"))).domain({"day": Domain(Kind.DATE)}).keys() is None
    )


def trips(where: str = "duckdb") -> Session:
    days = [FIRST + dt.timedelta(days=i) for i in range((LAST - FIRST).days + 1)]
    table = pl.DataFrame({"day": days})
    return gt.protect(
        table,
        unit=gt.ROW,
        budget=gt.ApproxDP(10_000, "1e-6"),
        domains={"day": {"bounds": (FIRST, LAST), "nullable": False}},
        name="trips",
        engine={"threads": 1},
    )


@pytest.mark.parametrize("period", ["year", "quarter", "month", "week", "day"])
def test_an_answer_has_every_period_and_the_engine_truncates_alike(period: str) -> None:
    with trips() as s:
        query = s.sql(f"SELECT DATE_TRUNC('{period}', day) AS k, COUNT(*) AS n FROM trips GROUP BY k")
        assert not query.finds_keys
        answer = query.answer(epsilon=1_000)
    days = [FIRST + dt.timedelta(days=i) for i in range((LAST - FIRST).days + 1)]
    counted: dict[dt.date, int] = {}
    for day in days:
        start = first_day(day, period)  # type: ignore[arg-type]
        counted[start] = counted.get(start, 0) + 1
    assert dict(zip(answer["k"].values, answer["n"].values, strict=True)) == counted
