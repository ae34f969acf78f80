"""Files that are not what they seem: a typed error that quotes nothing of them, and nothing looked for elsewhere."""

from __future__ import annotations

import datetime as dt
import gzip
import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import giveortake as gt
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.errors import InvalidParameter
from inside import engine_of
from stated_caps import stating_caps


def protect(source: Any, **more: Any) -> gt.session.Session:
    return gt.protect(source, **stating_caps({"unit": "p", "budget": gt.PureDP(1), **more}))


@pytest.fixture
def parquet(tmp_path: Path) -> bytes:
    path = tmp_path / "whole.parquet"
    pl.DataFrame({"p": [f"secret{i}" for i in range(1000)], "x": range(1000)}).write_parquet(path)
    return path.read_bytes()


@pytest.mark.parametrize("name", ["t.parquet", "t.pq", "t.duckdb", "t.db", "t.csv"])
def test_an_empty_file_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(gt.errors.InvalidParameter, match="source"):
        protect(tmp_path / name)


@pytest.mark.parametrize("kept", [4, 100, -1, -500])
def test_a_parquet_file_that_is_cut_off_is_refused_without_a_word_of_it(
    kept: int, parquet: bytes, tmp_path: Path
) -> None:
    (tmp_path / "t.parquet").write_bytes(parquet[:kept])
    with pytest.raises(gt.errors.InvalidParameter, match="cut off") as refusal:
        protect(tmp_path / "t.parquet")
    assert "secret" not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None


@pytest.mark.parametrize("content", [gzip.compress(b"p,x\nsecret,1\n", mtime=0)[:-9], b"\x1f\x8bsecret"])
def test_a_damaged_packed_file_is_refused_without_a_word_of_it(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(gt.errors.InvalidParameter, match="cut off") as refusal:
        protect(tmp_path / "t.csv")
    assert refusal.value.__context__ is None


@pytest.mark.parametrize("name", ["t.duckdb", "t.db"])
def test_a_file_of_another_kind_is_refused(name: str, parquet: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(parquet)
    with pytest.raises(gt.errors.InvalidParameter, match="the kind"):
        protect(tmp_path / name)
    (tmp_path / "t.parquet").write_bytes(b"p,x\nsecret,1\n")
    with pytest.raises(gt.errors.InvalidParameter, match="the kind"):
        protect(tmp_path / "t.parquet")


def test_no_extension_is_looked_for_to_read_a_file_of_sqlite(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("CREATE TABLE t (p TEXT)")
    with pytest.raises(gt.errors.InvalidParameter, match="the kind"):
        protect(tmp_path / "t.db")
    engine = DuckDBEngine()
    settings = engine._rows(
        "SELECT name, value FROM duckdb_settings() WHERE name IN ('autoinstall_known_extensions', "
        "'autoload_known_extensions', 'allow_community_extensions')"
    )
    engine.close()
    assert sorted(settings) == [
        ("allow_community_extensions", "false"),
        ("autoinstall_known_extensions", "false"),
        ("autoload_known_extensions", "false"),
    ]


@pytest.mark.parametrize("name", ["t[1].csv", "t*.csv", "t?.parquet", "t[ab].parquet"])
def test_a_file_whose_name_is_a_pattern_is_refused(name: str, parquet: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(parquet if name.endswith("parquet") else b"p,x\na,1\n")
    with pytest.raises(gt.errors.InvalidParameter, match="rename"):
        protect(tmp_path / name)


def test_a_collation_of_a_view_is_found(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE stored AS SELECT 'a' AS p")
        connection.execute("CREATE VIEW t AS SELECT p COLLATE NOCASE AS p FROM stored")
    with pytest.raises(gt.errors.InvalidParameter, match="collation"):
        protect(tmp_path / "t.duckdb", name="t")


def test_rows_whose_cells_are_not_what_was_declared_still_count(tmp_path: Path) -> None:
    rows = "".join(f"p{i},{'n/a' if i % 10 < 3 else i}\n" for i in range(1000))
    (tmp_path / "t.csv").write_text(f"p,x\n{rows}", encoding="utf-8")
    with gt.protect(
        tmp_path / "t.csv", unit="p", budget=gt.PureDP(10**7), domains={"x": (0, 1000)}, rows_per_person=1
    ) as s:
        found = s.sql("SELECT COUNT(*) AS n, COUNT(x) AS v FROM t").answer(epsilon=10**6).to_dict()
    assert (found["n"], found["v"]) == ([1000], [700])


def test_columns_that_cannot_be_asked_about_are_listed(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'a' AS p, 1 AS x, [1, 2] AS many, 'b'::BLOB AS photo")
    with protect(tmp_path / "t.duckdb", name="t") as s:
        shown = repr(s)
    assert "t(p, x)" in shown
    assert "INTEGER[]" in shown
    assert {"many", "photo"} <= set(shown.split())


def test_a_parquet_file_with_a_text_that_is_no_utf_8_is_refused_without_a_word_of_it(tmp_path: Path) -> None:
    _, places, letters = pa.array([b"fine", b"secret\xff"], pa.binary()).buffers()
    texts = pa.StringArray.from_buffers(2, places, letters)
    pq.write_table(pa.table({"p": [1, 2], "s": texts}), tmp_path / "t.parquet")
    with pytest.raises(gt.errors.InvalidParameter, match="not UTF-8") as refusal:
        protect(tmp_path / "t.parquet")
    assert "secret" not in str(refusal.value)
    assert refusal.value.__context__ is None


def test_two_columns_of_one_name_are_refused_by_that_name_wherever_the_table_is(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("who,fee,Fee\n1,2,3\n")
    column = pa.array([1])
    frames = [
        path,
        pd.DataFrame([[1, 2, 3]], columns=["who", "fee", "fee"]),
        pa.table([column, column, column], names=["who", "fee", "FEE"]),
    ]
    for source in frames:
        with pytest.raises(InvalidParameter, match=r"`fee` and `(fee|Fee|FEE)`"):
            gt.protect(source, unit="who", budget=gt.PureDP(1), name="visits", ledger=":memory:")


@pytest.mark.parametrize(
    "odd", [2.5, "unknown", Decimal("1.234567"), True, dt.date(2024, 1, 1), dt.datetime(2024, 1, 1), None]
)
def test_no_cell_of_a_pandas_column_of_objects_decides_its_type_or_which_rows_of_others_count(odd: Any) -> None:
    def kept(notes: list[Any]) -> tuple[str, set[tuple[Any, Any]]]:
        rows = {"p": [each // 2 for each in range(len(notes))], "x": [each % 2 for each in range(len(notes))]}
        frame = pd.DataFrame(rows).assign(note=pd.Series(notes, dtype=object))
        said: Any = {"unit": "p", "name": "t", "domains": {"x": (0, 1)}, "rows_per_person": 1}
        with gt.protect(frame, budget=gt.ApproxDP(10**8, "1e-6"), **said) as s:
            s.sql("SELECT SUM(x) AS n FROM t").answer(epsilon=10**6)
            found = engine_of(s)._connection.execute("SELECT p, x FROM bounded_0").fetchall()
            return str(s.catalog.private["t"].schema["note"].kind), {row for row in found if row[0] < 200}

    assert kept([1] * 400) == kept([1] * 400 + [odd, odd])


class Mute:
    """An object without a text."""

    def __str__(self) -> str:
        raise RuntimeError


def test_no_cell_of_a_pandas_column_of_objects_keeps_the_table_from_being_read() -> None:
    cells = ["a", Mute(), 10**5000, "\ud800", b"\xff", [1], float("inf"), pd.NA]
    frame = pd.DataFrame({"p": range(8), "x": pd.Series(cells, dtype=object)})
    with gt.protect(frame, unit="p", budget=gt.PureDP(10**7), name="t", rows_per_person=1) as s:
        found = s.sql("SELECT COUNT(*) AS n, COUNT(x) AS x FROM t").answer(epsilon=10**6).to_dict()
        assert (found["n"], found["x"]) == ([8], [5])


def test_pandas_columns_of_objects_are_what_their_domains_say() -> None:
    cells = [Decimal("1.5"), 2, "3.25", None, float("nan"), pd.NaT, "none"]
    frame = pd.DataFrame({"p": range(7), "x": pd.Series(cells, dtype=object)})
    frame["day"] = pd.Series([dt.date(2024, 1, 1)] * 3 + ["2024-01-02", None, 5, "?"], dtype=object)
    said: Any = {"unit": "p", "name": "t", "rows_per_person": 1}
    domains = {"x": (0, 10), "day": (dt.date(2024, 1, 1), dt.date(2024, 1, 3))}
    with gt.protect(frame, budget=gt.ApproxDP(10**8, "1e-6"), domains=domains, **said) as s:
        total: Any = s.sql("SELECT SUM(x) AS s, COUNT(day) AS n FROM t").answer(epsilon=10**6).to_dict()
        assert (round(total["s"][0], 2), total["n"]) == (6.75, [4])
