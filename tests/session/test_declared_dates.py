"""Bounds of dates and times, however they are stored and written."""

from __future__ import annotations

import io
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import giveortake as gt
from cases import all_cases
from giveortake.errors import InvalidParameter
from giveortake.session import Session

ROWS = "who,day\n" + "".join(f"{n},2024-{1 + n % 3:02}-{1 + n % 28:02}\n" for n in range(90))
BY_MONTH = "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM data GROUP BY m"
QUARTER = (date(2024, 1, 1), date(2024, 3, 31))
MONTHS = (date(2024, 1, 1), date(2024, 2, 1), date(2024, 3, 1), None)


def protected(source: Any, said: Any) -> Session:
    return gt.protect(source, unit="who", budget=gt.PureDP(99), domains={"day": said}, rows_per_person=1, name="data")


def frame(*, parse: bool = True) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(ROWS), parse_dates=["day"] if parse else [])


@all_cases(
    "said",
    [
        QUARTER,
        ("2024-01-01", "2024-03-31"),
        (datetime(2024, 1, 1, 6), datetime(2024, 3, 31, 12)),
        {"bounds": ["2024-01-01", "2024-03-31"]},
    ],
)
def test_dates_bound_a_column_of_times(said: Any) -> None:
    with protected(frame(), said) as session:
        answer = session.sql(BY_MONTH).answer(epsilon=9)
        assert answer["m"].values == MONTHS
        counts: Any = answer["n"].values
        assert all(25 <= n <= 35 for n in counts[:3])
        days = session.sql("SELECT CAST(day AS DATE) AS d, COUNT(*) AS n FROM data GROUP BY d")
        assert days.quote(epsilon=1).admitted
        years = session.sql("SELECT AVG(DATE_DIFF('day', DATE '2024-01-01', day)) AS mean FROM data")
        assert years.quote(epsilon=1).admitted


def test_the_last_day_counts_to_its_last_microsecond() -> None:
    late = pd.DataFrame({"who": range(200), "day": [datetime(2024, 3, 31, 23, 59, 59, 999_999)] * 200})
    with protected(late, QUARTER) as session:
        counted = session.sql(BY_MONTH).answer(epsilon=9)
        by_month: dict[Any, Any] = dict(zip(counted["m"].values, counted["n"].values, strict=True))
        assert by_month[date(2024, 3, 1)] > 150
        assert "timestamp from 2024-01-01 00:00:00 to 2024-03-31 23:59:59.999999" in session._repr_html_()


@pytest.mark.parametrize("said", [("2024-01-01", "2024-03-31"), {"bounds": ["2024-01-01", "2024-03-31"]}])
def test_a_pair_of_written_dates_bounds_the_dates_of_a_csv_file_and_a_list_is_categories(
    tmp_path: Path, said: Any
) -> None:
    path = tmp_path / "days.csv"
    path.write_text(ROWS)
    with protected(path, said) as session:
        assert session.sql(BY_MONTH).answer(epsilon=9)["m"].values == MONTHS
    with protected(path, ["2024-01-01", "2024-03-31"]) as session:
        listed = session.sql("SELECT day, COUNT(*) AS n FROM data GROUP BY day").answer(epsilon=9)
        assert listed["day"].values == ("2024-01-01", "2024-03-31")


def test_bounds_that_do_not_fit_a_column_are_refused_by_what_it_holds() -> None:
    with pytest.raises(InvalidParameter) as refused:
        protected(frame(parse=False), QUARTER)
    assert "parse_dates" in str(refused.value.hint)
    with pytest.raises(InvalidParameter) as refused:
        protected(frame(), (0, 5))
    assert '("2024-01-01", "2024-12-31")' in str(refused.value.hint)
    numbers = pd.DataFrame({"who": [1], "day": [3]})
    with pytest.raises(InvalidParameter):
        protected(numbers, QUARTER)
    with pytest.raises(InvalidParameter):
        protected(frame(), QUARTER[::-1])
