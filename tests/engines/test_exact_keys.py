"""A row has one key: what is listed, joined, compared or partitioned is never rounded on the way."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import giveortake as gt
from engine_places import EVERYWHERE, place
from giveortake.session import Session
from inside import engine_of, measured
from replay import SPEND, exact_integers

WIDE = pl.Decimal(38, 2)


def counted(s: Session, text: str) -> list[int]:
    made = measured(s, text, SPEND)
    return [int(each) for each in exact_integers(made, engine_of(s))[0]]


def session(source: Any, **more: Any) -> Session:
    options: dict[str, Any] = {"unit": gt.ROW, "budget": gt.PureDP(100), "name": "t", **more}
    return gt.protect(source, **options)


def test_decimals_with_many_digits_are_keys_of_their_own() -> None:
    large, *others = (Decimal(f"1{'0' * 31}.0{n}") for n in range(5))
    table = pl.DataFrame({"d": pl.Series([large] * 9, dtype=WIDE)})
    with session(table, domains={"d": [large, *others]}) as s:
        assert counted(s, "SELECT d, COUNT(*) AS n FROM t GROUP BY d") == [9, 0, 0, 0, 0]
        with pytest.raises(gt.errors.InvalidParameter, match="floating-point"):
            s.partition("d")


@pytest.mark.parametrize("stored", [pl.Decimal(20, 0), pl.Int64], ids=str)
def test_parts_of_values_that_are_one_double_are_refused_unless_they_are_whole_numbers(stored: Any) -> None:
    """The filter of a part compares other numbers as doubles: both parts would hold the same rows, for one price."""
    table = pl.DataFrame({"d": pl.Series([2**60] * 9, dtype=stored)})
    with session(table, domains={"d": [2**60, 2**60 + 1]}) as s:
        if stored == pl.Int64:
            parts = s.partition("d")
            assert [counted(parts[value], "SELECT COUNT(*) AS n FROM t") for value in parts] == [[9], [0]]
            return
        with pytest.raises(gt.errors.InvalidParameter, match="floating-point"):
            s.partition("d")


@pytest.mark.parametrize("where", EVERYWHERE)
def test_nullif_and_clamp_keep_what_they_are_given(where: str, request: pytest.FixtureRequest) -> None:
    table = pl.DataFrame({"i": [2**60 + 7] * 4, "c": pl.Series([Decimal("3.25")] * 4, dtype=pl.Decimal(18, 2))})
    source = place(where, request)("exact_keys", table)
    ids = [2**60 + n for n in range(20)]
    public = {"p": pl.DataFrame({"id": ids, "w": [1] * 20})}
    with session(source, domains={"i": ids, "c": (0, 9)}, public=public) as s:
        assert sum(counted(s, "SELECT NULLIF(i, 0.5) AS k, COUNT(*) AS n FROM t GROUP BY k")) == 4
        assert counted(s, "SELECT COUNT(*) AS n FROM t JOIN p ON NULLIF(t.i, 0.5) = p.id") == [4]
        with pytest.raises(gt.errors.QueryRefused):
            s.sql("SELECT CLAMP(c, 0.006, 50) AS k, COUNT(*) AS n FROM t GROUP BY k")


@pytest.mark.parametrize("where", EVERYWHERE)
def test_tiny_bounds_bound(where: str, request: pytest.FixtureRequest) -> None:
    table = pl.DataFrame({"x": [1.0, 0.0, 1e-290, -5.0, 5e-324]})
    with session(place(where, request)("tiny", table), domains={"x": (-9, 9)}) as s:
        made = measured(s, "SELECT SUM(CLAMP(x, 1e-280, 1.0000001e-280)) AS a FROM t", SPEND)
        (total,) = exact_integers(made, engine_of(s))
        assert abs(int(total[0])) <= 5 * made.measures[0].l1


@pytest.mark.parametrize("where", EVERYWHERE)
def test_columns_with_names_of_ours_switch_nothing_off(where: str, request: pytest.FixtureRequest) -> None:
    names = ["row_rank", "part_rank", "p", "code", "k0", "v0", "m", "c", "n", "place", "t"]
    table = pl.DataFrame({**{name: [0] * 60 for name in names}, "r": [f"r{n % 3}" for n in range(60)]})
    source = place(where, request)("named", table)
    domains = {"r": [f"r{n}" for n in range(3)]}
    with session(source, unit="p", rows_per_person=3, domains=domains) as s:
        assert counted(s, "SELECT COUNT(*) AS a FROM t") == [3]
    with session(source, unit="p", caps={"groups_per_person": 1, "rows_per_group": 2}, domains=domains) as s:
        found = [counted(part, "SELECT COUNT(*) AS a FROM t")[0] for part in s.partition("r").values()]
        assert sorted(found)[:2] == [0, 0]
        assert any(found)


def test_a_table_named_like_a_bounded_one_is_another() -> None:
    table = pl.DataFrame({"p": [1] * 50})
    tables = {"a": table, "a with at most 3 rows of a person": table}
    with gt.protect(tables, unit="p", rows_per_person=3, budget=gt.PureDP(1)) as s:
        assert counted(s, "SELECT COUNT(*) AS n FROM a") == [3]


def test_files_that_cannot_be_read_are_refused_when_they_are_protected(tmp_path: Path) -> None:
    broken = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")])
    pa.parquet.write_table(pa.table({"p": [1], "q": broken}), tmp_path / "t.parquet")
    with pytest.raises(gt.errors.InvalidParameter):
        session(tmp_path / "t.parquet")


def test_categories_are_values_of_the_column() -> None:
    table = pl.DataFrame({"i": [1, 2], "c": pl.Series([Decimal("1.25")] * 2, dtype=pl.Decimal(18, 2))})
    for domains in ({"i": [1.5]}, {"c": [Decimal("1.255")]}, {"i": [2**63]}):
        (name,) = domains
        with pytest.raises(gt.errors.InvalidParameter) as refused:
            session(table, domains=domains)
        assert name in refused.value.name
