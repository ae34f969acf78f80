"""Types, NULLs, dates and habits of other libraries: what a newcomer trips over is told with the way out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import giveortake as gt
from giveortake.errors import GiveOrTakeError, InvalidParameter

DAYS = pd.date_range("2024-01-01", periods=3)
FRAME = pd.DataFrame(
    {
        "u": [1, 2, 3],
        "x": [1.0, 2.0, 3.0],
        "c": ["a", "b", "a"],
        "b": [True, False, True],
        "at": DAYS,
        "day": DAYS.date,
        "zoned": DAYS.tz_localize("UTC"),
        "lasting": pd.to_timedelta([1, 2, 3], unit="h"),
    }
)
MISSING = np.nan
YEAR = ("2024-01-01", "2024-12-31")


def _protected(source: Any = FRAME, **more: Any) -> Any:
    said: dict[str, Any] = {
        "unit": "u",
        "budget": gt.ApproxDP(9, "1e-6"),
        "domains": {"x": (0, 9), "c": ["a", "b"], "at": YEAR, "day": YEAR},
    }
    return gt.protect(source, rows_per_person=1, **{"table": "t", **said, **more})


@pytest.fixture(scope="module")
def world() -> Iterator[Any]:
    """A session, its table, and the words that questions are made of; Any, so that wrong calls have no type."""
    with _protected() as session:
        yield SimpleNamespace(s=session, sql=session.sql, t=session.table(), col=gt.col, gt=gt)


Call = Callable[[Any], object]

TOLD: dict[str, tuple[Call, str, str]] = {
    "== None": (lambda w: w.col("c") == None, "is never true", ".is_null()"),  # noqa: E711 (what is refused)
    "nan": (lambda w: w.col("c") == MISSING, "is not finite", ".is_null()"),
    "a mean of truths": (lambda w: w.sql("SELECT AVG(b) AS n FROM t"), "boolean", "COUNTIF(x)"),
    "the last day": (lambda w: w.sql("SELECT MAX(day) AS n FROM t"), "the maximum of `day`", "DATE_DIFF"),
    "times as keys": (lambda w: w.t.group_by("at").agg(n=gt.count()), "grouped by", "CAST(at AS DATE)"),
    "buckets of times": (
        lambda w: w.t.group_by(k=w.col("at").bucket(7)).agg(n=gt.count()),
        "got a timestamp",
        "DATE_TRUNC('week', x)",
    ),
    "a date as another text": (lambda w: w.t.filter(w.col("day") > "2.1.2024"), "not a date", "as '2024-01-31'"),
    "a date as a number": (lambda w: w.t.filter(w.col("day") > 2024), "compared", "datetime.date(2024, 1, 31)"),
    "a text as a condition": (lambda w: w.sql("SELECT COUNTIF(c) AS n FROM t"), "true or false", "[True, False]"),
    "a zone": (lambda w: w.sql("SELECT COUNT(zoned) AS n FROM t"), "`zoned` cannot be asked about", "tz_convert(None)"),
    "a span": (lambda w: w.t.agg(n=gt.sum("lasting")), "`lasting` cannot be asked about", "total_seconds()"),
    "a zone that is declared": (lambda w: _protected(domains={"zoned": YEAR}), "WITH TIME ZONE", "tz_convert(None)"),
    "a span as unit": (lambda w: _protected(unit="lasting"), "INTERVAL", "total_seconds()"),
    "a margin with n": (lambda w: w.t.agg(m=gt.median("x")).quote(margin=1, n=17), "depends on", "state epsilon="),
    "months of pandas": (
        lambda w: _protected(FRAME.assign(p=DAYS.to_period("M"))),
        "has a column `p` of type period[M]",
        "dt.to_timestamp()",
    ),
    "complex numbers": (lambda w: _protected(FRAME.assign(p=1j)), "has a column `p` of type complex", "astype(str)"),
    "ids with a hole": (lambda w: _protected(FRAME.assign(u=[1, 2, np.nan])), "cannot name people", "Int64"),
    "nan as a key": (lambda w: _protected(domains={"c": ["a", np.nan]}), "is not a key", "write None"),
    "an array as keys": (lambda w: _protected(domains={"c": FRAME.c.unique()}), "is not a domain", "list(…)"),
    "days not as ISO": (lambda w: _protected(domains={"at": ("01/02/2024", "3/2/2024")}), "lists text", "2024-01-01"),
    "ε for a budget": (lambda w: w.gt.protect(FRAME, unit="u", epsilon=1), "epsilon = <hidden> is unknown", "PureDP"),
    "a pair as a budget": (lambda w: _protected(budget=(1, 1e-6)), "is not a promise", "gt.ApproxDP("),
    "a batch by name": (lambda w: w.s.batch({"a": w.t.agg(n=gt.count())}, epsilon=1), "not a list", "s.batch([q1"),
    "a classifier": (lambda w: w.gt.learn.LogisticRegression("b", ["x"], 2), "by name", "LogisticRegression(…, eps"),
}


@pytest.mark.parametrize(("call", "problem", "hint"), TOLD.values(), ids=TOLD)
def test_a_stumble_is_told_with_the_way_out_of_it(world: Any, call: Call, problem: str, hint: str) -> None:
    with pytest.raises(GiveOrTakeError) as refused:
        call(world)
    assert problem in refused.value.message
    assert hint in str(refused.value.hint)
    assert "pass n=" not in str(refused.value.hint)


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda w: w.col("c").isna, ".is_null()"),
        (lambda w: w.col("c").isnull, ".is_null()"),
        (lambda w: w.col("at").dt, "need no dt"),
        (lambda w: w.t.order_by, ".order_by("),
        (lambda w: w.gt.explain, "giveortake explain"),
    ],
)
def test_names_of_other_libraries_lead_to_ours(world: Any, call: Call, hint: str) -> None:
    with pytest.raises(AttributeError) as refused:
        call(world)
    assert hint in str(refused.value)


@pytest.mark.parametrize("where", [5, "None", 1.5, b"x"])
def test_what_is_no_place_for_a_ledger_makes_no_file(where: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidParameter, match="ledger"):
        _protected(ledger=where)
    with pytest.raises(InvalidParameter, match="ledger"):
        gt.ledger.open(where)
    assert not list(tmp_path.iterdir())


def test_a_series_keeps_its_name_and_its_objects_are_texts() -> None:
    numbers = pd.Series([1, "2", None], name="fee", dtype=object)
    with gt.protect(numbers, unit=gt.ROW, budget=gt.PureDP(1)) as session:
        assert "fee (text)" in repr(session.table())
    with gt.protect(pd.Series([1.5]), unit=gt.ROW, budget=gt.PureDP(1)) as session:
        assert "value (real)" in repr(session.table())


def test_groups_are_printed_as_groups(world: Any) -> None:
    assert repr(world.t.group_by("c")).startswith("<groups by c of <rows with the columns u")
