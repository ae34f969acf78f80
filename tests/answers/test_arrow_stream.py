"""The Arrow C stream that answers export, read back by three libraries."""

from __future__ import annotations

import datetime
import gc
import subprocess
import sys
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest

from cases import all_cases
from giveortake.answers import Answer, Column, arrow
from giveortake.errors import InvalidParameter

COLUMNS: dict[str, list[Any]] = {
    "text": ["a", None, "ü€😀", ""],
    "whole": [5, None, -(2**63), 2**63 - 1],
    "real": [0.5, None, float("inf"), -0.0],
    "truth": [True, None, False, True],
    "day": [datetime.date(2020, 2, 29), None, datetime.date(1969, 12, 31), datetime.date(1, 1, 1)],
    "time": [datetime.datetime(2020, 1, 1, 1, 2, 3, 4), None, datetime.datetime(1960, 1, 1), None],
    "money": [Decimal("1.5"), None, Decimal("-2.25"), Decimal("1E+3")],
    "huge": [2**70, None, -(2**70), 1],
    "nothing": [None, None, None, None],
}


def sample() -> Answer:
    return Answer([Column(name, values) for name, values in COLUMNS.items()])


def test_pyarrow_reads_what_was_written() -> None:
    table = sample().to_arrow()
    table.validate(full=True)
    assert table.to_pydict() == COLUMNS
    assert [str(kind) for kind in table.schema.types] == [
        "string",
        "int64",
        "double",
        "bool",
        "date32[day]",
        "timestamp[us]",
        "decimal128(38, 2)",
        "decimal128(38, 0)",
        "null",
    ]


def test_polars_reads_what_was_written() -> None:
    assert sample().to_polars().to_dict(as_series=False) == COLUMNS


def test_duckdb_reads_what_was_written() -> None:
    answer = sample()  # noqa: F841 (found by name)
    rows: Any = duckdb.execute("from answer").fetchall()
    assert [row[0] for row in rows] == COLUMNS["text"]
    assert [row[1] for row in rows] == COLUMNS["whole"]
    assert [row[4] for row in rows] == COLUMNS["day"]
    assert duckdb.execute("select sum(whole) from answer where truth").fetchall() == [(2**63 + 4,)]


def test_pandas_keeps_integers_with_missing_ones_whole() -> None:
    frame = sample().to_pandas()
    assert str(frame.dtypes["whole"]) == "Int64"
    assert frame["whole"][3] == 2**63 - 1
    assert str(frame.dtypes["truth"]) == "boolean"
    assert frame["huge"][0] == 2**70
    assert pandas.isna(frame["real"][1])


@all_cases("rows", [0, 1, 7, 8, 9, 1000])
def test_bitmaps_of_any_length_are_right(rows: int) -> None:
    flags = [None if row % 3 == 0 else row % 2 == 0 for row in range(rows)]
    table = Answer([Column("b", flags, kind="truth")]).to_arrow()
    table.validate(full=True)
    assert table.column("b").to_pylist() == flags
    assert str(table.schema.types[0]) == "bool"


@all_cases("dtype", [np.int8, np.uint32, np.int64, np.uint64, np.float32, np.float64, np.bool_])
def test_arrays_are_exported_with_their_intervals(dtype: Any) -> None:
    numbers = np.array([0, 1, 1], dtype=dtype)
    answer = Answer([Column("n", numbers, numbers, numbers)])
    assert answer.to_arrow().to_pydict() == {name: numbers.tolist() for name in ("n", "n_low", "n_high")}
    assert polars.DataFrame(answer).height == 3


def test_a_table_without_rows_keeps_its_types() -> None:
    empty = np.array([], dtype=np.int64)
    answer = Answer([Column("k", [], kind="text"), Column("n", empty, empty, empty)])
    assert [str(kind) for kind in answer.to_arrow().schema.types] == ["string", "int64", "int64", "int64"]
    assert answer.to_polars().height == 0


def test_times_with_a_zone_become_utc_and_mixed_ones_are_refused() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=2))
    aware = datetime.datetime(2020, 1, 1, 2, tzinfo=zone)
    table = Answer([Column("t", [aware])]).to_arrow()
    assert str(table.schema.types[0]) == "timestamp[us, tz=UTC]"
    assert table.column("t").to_pylist() == [aware]
    mixed = Answer([Column("t", [aware, datetime.datetime(2020, 1, 1)])])
    with pytest.raises(InvalidParameter):
        mixed.to_arrow()


@all_cases("value", [10**39, Decimal(10) ** 40, Decimal("Infinity")])
def test_numbers_that_arrow_cannot_hold_are_refused(value: Any) -> None:
    with pytest.raises(InvalidParameter):
        Answer([Column("n", [value])]).to_arrow()


def test_memory_is_kept_while_a_table_lives_and_given_back_after() -> None:
    gc.collect()
    before = len(arrow._KEPT)
    table = sample().to_arrow()
    frame = sample().to_polars()
    column = table.column("text")
    del table
    gc.collect()
    assert column.to_pylist() == COLUMNS["text"]
    assert frame["text"].to_list() == COLUMNS["text"]
    del column, frame
    unread = sample().__arrow_c_stream__()
    assert len(arrow._KEPT) > before
    del unread
    gc.collect()
    assert len(arrow._KEPT) == before


def test_a_stream_is_read_once_and_an_answer_as_often_as_one_likes() -> None:
    answer = sample()
    reader = pyarrow.RecordBatchReader.from_stream(answer)
    assert len(list(reader)) == 1
    assert answer.to_arrow().num_rows == answer.to_arrow().num_rows == 4


def test_a_table_may_outlive_everything_until_the_interpreter_ends() -> None:
    program = (
        "from giveortake.answers import Answer, Column\n"
        "a = Answer([Column('k', ['x', None])])\n"
        "kept, frame = a.to_arrow(), a.to_polars()\n"
        "print(len(kept))\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "2\n", "")
