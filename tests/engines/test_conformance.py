"""What engines do differently by themselves has one meaning, and the same integers before noise.

That everything that can be bought has the same integers on every engine is in tests/audit/test_coupled_runs.py.
"""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import polars as pl
import pytest

import giveortake as gt
from engine_places import EVERYWHERE, OTHERS, place
from giveortake.audit.cases import PLAIN
from giveortake.audit.neighbours import Row, Table, random_row, random_rows, random_visits
from giveortake.compile import Caps
from giveortake.compile.measures import ValueSum
from giveortake.compile.partition_selection import listed_keys
from giveortake.engines import Found
from inside import engine_of, measured
from replay import MODES, SPEND, exact_integers, exact_units


def evil_table() -> Table:
    """Everything that a table can hold, a person with very many rows, and rows of nobody; no NUL characters."""
    luck = random.Random("engines")  # noqa: S311 (which rows are tried need not be secret)
    rows: list[Row] = []
    visits: list[Row] = []
    for person in range(14):
        rows += random_rows(luck, person)
        visits += random_visits(luck, person)
    rows += [random_row(luck, 77) for _ in range(400)]
    rows += [random_row(luck, luck.randrange(30)) for _ in range(150)]
    rows += [random_row(luck, None) for _ in range(20)]
    rows += [random_row(luck, person) for person in (2**63 - 1, -(2**63), -1)]
    visits += random_visits(luck, None)
    return Table(tuple({**row, "q": (row["q"] or "").replace("\0", "") or None} for row in rows), tuple(visits))


EVIL = evil_table()


@pytest.mark.parametrize("where", OTHERS)
def test_groups_that_come_as_a_long_list_have_the_same_integers(where: str, request: pytest.FixtureRequest) -> None:
    text = PLAIN["several by discovered dates"]
    with MODES[1].session(EVIL) as one, MODES[1].session(EVIL, place(where, request)) as other:
        made = measured(one, text, SPEND)
        listed = sorted(exact_units(made, engine_of(one)), key=repr)[::2]
        keys = listed_keys(made, Found(len(listed), lambda: iter([listed[:3], listed[3:]])))
        found, others = (exact_integers(made, engine_of(session), keys) for session in (one, other))
        assert [array.tolist() for array in found] == [array.tolist() for array in others]


@pytest.mark.parametrize("where", EVERYWHERE)
def test_one_row_is_kept_of_the_persons_whom_a_join_takes_for_one(where: str, request: pytest.FixtureRequest) -> None:
    """Names that differ in case, in spaces or in how a letter is composed are persons of their own, in both."""
    names = ["Ann", "ann", "ann ", " ann", "é", "e\u0301", "ß", "ss", "1", "01"]
    put = place(where, request)
    flights = put("flights", pl.DataFrame({"tail": names * 3, "delay": list(range(30))}))
    planes = put("planes", pl.DataFrame({"tail": names * 4, "seats": list(range(40))}))
    said: dict[str, Any] = {"unit": "tail", "budget": gt.PureDP(1), "domains": {"seats": (0, 99)}}
    with gt.protect({"flights": flights, "planes": planes}, **said) as s:
        text = "SELECT COUNT(*) AS n, COUNT(DISTINCT seats) AS d FROM flights JOIN planes ON flights.tail = planes.tail"
        made = measured(s, text, SPEND, Caps(rows_per_person={"flights": 3, "planes": 1}))
        assert made.stability.rows == 3
        assert [each.tolist() for each in exact_integers(made, engine_of(s))] == [[30], [10]]


# -- where engines differ by themselves, each with the one meaning that the printer gives it --------------------------

ONE_ROW = pl.DataFrame(
    {
        "seven": [7],
        "two": [2],
        "zero": [0],
        "minus_one": [-1],
        "minus_seven": [-7],
        "most": [2**63 - 1],
        "least": [-(2**63)],
        "half": [2.5],
        "minus_half": [-2.5],
        "below_half": [0.49999999999999994],
        "huge": [1e308],
        "tiny": [5e-324],
        "nan": [float("nan")],
        "above_all": [float("inf")],
        "no_text": pl.Series([None], dtype=pl.String),
        "street": ["Straße"],
        "greek": ["Ὀδυσσεύς ΣΊΣΥΦΟΣ"],
        "blank": [" \ta "],
        "percent": ["50%_\\x"],
        "face": ["a😀b"],
        "leap": ["2024-02-29"],
        "no_leap": ["2023-02-29"],
        "no_day": ["infinity"],
        "digits": ["20240229"],
        "day": [dt.date(2024, 12, 30)],
        "first": [dt.date(1, 1, 1)],
        "moment": pl.Series([dt.datetime(2024, 2, 29, 23, 59, 59)], dtype=pl.Datetime("ms")),
    }
)
MEANINGS = {
    "1/0": "seven / zero IS NULL",
    "remainder by zero": "seven % zero IS NULL",
    "7/2": "seven / two = 3.5",
    "remainder of the least by -1": "least % minus_one = 0",
    "sign of a remainder": "minus_seven % two = -1",
    "halves go up": "ROUND(half) = 3 AND ROUND(minus_half) = -2",
    "halves in casts": "CAST(half AS INTEGER) = 3 AND CAST(minus_half AS INTEGER) = -2",
    "floor and ceil": "FLOOR(minus_half) = -3 AND CEIL(minus_half) = -2",
    "whole numbers do not overflow": "(most + most) / 4 > 4.6e18 AND SQRT(most * most) > 9e18 AND ABS(least) > 9e18",
    "doubles overflow to infinity": "huge * huge = above_all AND huge + huge = above_all AND -huge * huge = -above_all",
    "doubles underflow to zero": "tiny / seven = 0 AND tiny * half > 0",
    "quotients overflow": "huge / tiny = above_all",
    "infinity less infinity": "above_all - above_all IS NULL",
    "exp": "EXP(huge) = above_all AND EXP(-huge) = 0",
    "sqrt": "SQRT(zero - two) IS NULL AND SQRT(half * half) = 2.5",
    "ln": "LN(zero) IS NULL AND LN(zero - two) IS NULL",
    "NaN is missing": "nan IS NULL AND COALESCE(nan, 1) = 1",
    "greatest of missing": "GREATEST(seven, nan) IS NULL",
    "clamp": "CLAMP(above_all, 0, 3) = 3",
    "cast to whole beyond 64 bits": "CAST(huge AS INTEGER) IS NULL AND FLOOR(above_all) IS NULL",
    "concatenation with nothing": "no_text || street IS NULL AND street || 'x' = 'Straßex'",
    "capitals": "UPPER(street) = 'STRAßE' AND LOWER('ÀÇ') = 'àç'",
    "greek capitals": "LOWER(greek) LIKE '%σίσυφοσ' AND UPPER(greek) LIKE '%ΣΊΣΥΦΟΣ'",
    "trim takes blanks": "LENGTH(TRIM(blank)) = 2",
    "length in letters": "LENGTH(face) = 3 AND LENGTH(street) = 6",
    "substring in letters": "SUBSTRING(face, 2, 1) = '😀' AND SUBSTRING(street, 5) = 'ße' "
    "AND SUBSTRING(street, 9, 2) = ''",
    "like": "percent LIKE '50%' AND face LIKE 'a_b' AND NOT percent LIKE '50!%' AND percent LIKE '%\\x'",
    "ilike": "street ILIKE 'sTRAßE' AND NOT street ILIKE 'strasse'",
    "numbers in texts": "CAST(' 1.5e1 ' AS DOUBLE) = 15 AND CAST('.5' AS DOUBLE) = 0.5",
    "no numbers in texts": "CAST('1e400' AS DOUBLE) IS NULL AND CAST('nan' AS DOUBLE) IS NULL "
    "AND CAST('0x10' AS DOUBLE) IS NULL AND CAST('1d' AS DOUBLE) IS NULL AND CAST('1_0' AS DOUBLE) IS NULL",
    "dates in texts": "CAST(leap AS DATE) = DATE '2024-02-29' AND CAST(no_leap AS DATE) IS NULL "
    "AND CAST(no_day AS DATE) IS NULL AND CAST(digits AS DATE) IS NULL",
    "texts by code points": "'Z' < 'a' AND 'z' < 'é' AND 'a' < 'a '",
    "weeks are those of ISO": "WEEK(day) = 1 AND YEAR(day) = 2024 AND DAYOFWEEK(day) = 1",
    "parts of dates": "QUARTER(day) = 4 AND DAYOFYEAR(moment) = 60 AND HOUR(moment) = 23 AND MINUTE(moment) = 59",
    "truncated dates": "DATE_TRUNC('week', moment) = DATE '2024-02-26' "
    "AND DATE_TRUNC('quarter', day) = DATE '2024-10-01'",
    "the first day": "YEAR(first) = 1 AND DATE_TRUNC('month', first) = first",
    "moments as texts": "CAST(moment AS VARCHAR) = '2024-02-29 23:59:59' AND CAST(day AS VARCHAR) = '2024-12-30'",
    "truths as texts": "CAST(seven > 2 AS VARCHAR) = 'true'",
    "powers": "POWER(half, 2) = 6.25 AND POWER(minus_half, 3) = -15.625 AND two ** 10 = 1024 AND POWER(two, -1) = 0.5",
    "powers of nothing": "POWER(zero, -1) IS NULL AND POWER(zero, 0) = 1 AND POWER(minus_half, 0.5) IS NULL "
    "AND POWER(zero, 0.5) = 0 AND POWER(zero, -0.5) IS NULL AND ABS(POWER(seven, 0.5) - SQRT(seven)) < 0.000001",
    "powers overflow": "POWER(huge, 2) = above_all AND POWER(tiny, 2) = 0 AND POWER(nan, 0) IS NULL",
    "signs": "SIGN(minus_half) = -1 AND SIGN(zero) = 0 AND SIGN(above_all) = 1 AND SIGN(nan) IS NULL "
    "AND SIGN(above_all - above_all) IS NULL",
    "digits": "ROUND(half / 2, 1) = 1.3 AND ROUND(minus_half / 2, 1) = -1.2 AND ROUND(seven * 11, -1) = 80",
    "names": "DAYNAME(day) = 'Monday' AND MONTHNAME(moment) = 'February' AND DAYNAME(first) = 'Monday'",
    "days later": "day + 2 = DATE '2025-01-01' AND day - 364 = DATE '2024-01-01' AND 2 + day = DATE '2025-01-01' "
    "AND day + INTERVAL 1 WEEK = DATE '2025-01-06' AND moment - INTERVAL '29 days' < DATE '2024-02-01'",
    "months later": "day + INTERVAL 2 MONTH = DATE '2025-02-28' AND DATE_ADD(day, INTERVAL 1 YEAR) = DATE '2025-12-30' "
    "AND day - INTERVAL 1 QUARTER = DATE '2024-09-30' AND moment + INTERVAL 12 MONTH < DATE '2025-03-01'",
    "seconds later": "moment + INTERVAL 1 SECOND = DATE '2024-03-01' AND HOUR(moment - INTERVAL 2 HOUR) = 21",
    "before the first day": "first - 1 IS NULL AND first - INTERVAL 1 MONTH IS NULL AND day + 3000000 IS NULL "
    "AND moment + INTERVAL 7976 YEAR IS NULL AND YEAR(first + INTERVAL 9998 YEAR) = 9999 "
    "AND moment - INTERVAL 70000000000 SECOND IS NULL",
    "between dates": "DATE_DIFF('day', moment, day) = 305 AND day - DATE '2024-12-01' = 29 "
    "AND DATE_DIFF('week', DATE '2024-12-29', day) = 1 AND DATE_DIFF('month', moment, day) = 10 "
    "AND DATE_DIFF('quarter', day, moment) = -3 AND DATE_DIFF('year', first, day) = 2023",
    "between hours": "DATE_DIFF('hour', moment, day) = 305 * 24 - 23 "
    "AND DATE_DIFF('hour', moment, moment + INTERVAL 1 SECOND) = 1 "
    "AND DATE_DIFF('minute', moment - INTERVAL 2 HOUR, moment) = 120 AND DATE_DIFF('minute', day, first) < -1000000000",
    "dates beside moments": "moment < day AND moment >= DATE '2024-02-29'",
}


@pytest.mark.parametrize("where", EVERYWHERE)
def test_what_engines_do_differently_has_one_meaning(where: str, request: pytest.FixtureRequest) -> None:
    source = place(where, request)("one_row", ONE_ROW)
    whole = [name for name, kind in ONE_ROW.schema.items() if kind == pl.Int64]
    domains: Any = dict.fromkeys(whole, (-(2**62), 2**62))
    domains |= dict.fromkeys(["half", "minus_half", "huge", "above_all"], (-100, 100))
    with gt.protect(source, unit=gt.ROW, name="t", budget=gt.PureDP(1), domains=domains) as s:
        counted = ", ".join(f"COUNT_IF({condition}) AS c{place}" for place, condition in enumerate(MEANINGS.values()))
        made = measured(s, f"SELECT {counted} FROM t", SPEND)
        found = [int(array[0]) for array in exact_integers(made, engine_of(s))]
        assert [name for name, count in zip(MEANINGS, found, strict=True) if count != 1] == []


@pytest.mark.parametrize("where", EVERYWHERE)
def test_sums_beyond_64_bits_are_exact(where: str, request: pytest.FixtureRequest) -> None:
    frame = pl.DataFrame({"w": [2**63 - 1] * 9 + [-(2**63)] * 2, "p": [1] * 6 + [2] * 5})
    source = place(where, request)("wide_sums", frame)
    options: dict[str, Any] = {"budget": gt.PureDP(1), "domains": {"w": (-(2**62), 2**62)}, "name": "t"}
    with gt.protect(source, unit=gt.ROW, **options) as s:
        made = measured(s, "SELECT SUM(w) AS s FROM t", SPEND)
        (total,) = exact_integers(made, engine_of(s))
        (measure,) = made.measures
        assert isinstance(measure, ValueSum)
        assert int(total[0]) + 11 * measure.quantum.shift == 7 * 2**62
    with gt.protect(source, unit="p", **options, caps={"groups_per_person": 1, "rows_per_group": 6}) as s:
        made = measured(s, "SELECT SUM(w) AS s FROM t", SPEND)
        (total,) = exact_integers(made, engine_of(s))
        assert int(total[0]) == 7 * 2**62
