"""Answers as JSON, Parquet, Markdown, HTML and Arrow streams."""

from __future__ import annotations

import datetime
import datetime as dt
import gc
import json
import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import pandas as pd
import polars
import polars as pl
import pyarrow
import pytest

import giveortake as gt
from cases import all_cases
from giveortake import codec
from giveortake.answers import Answer, Column, Estimate, arrow
from giveortake.errors import InvalidParameter

INF = math.inf
EVERY_KIND = Answer(
    [
        Column("region", ["north", None, "=1+1"]),
        Column("day", [dt.date(2013, 1, 1), None, dt.date(2013, 1, 3)]),
        Column("at", [dt.datetime(2013, 1, 1, 5), None, None]),
        Column("late", [True, None, False]),
        Column("nothing", [None, None, None]),
        Column("empty", [None, None, None], kind="date"),
        Column("n", [3, 2**70, None], [1, 2**69, None], [5, 2**71, None]),
        Column("share", [0.5, math.nan, 1.0], [0.0, -INF, 0.9], [1.0, INF, INF]),
        Column("price", [Decimal("1.50"), None, Decimal(2)], [Decimal("1.0"), None, 1], [Decimal(2), None, 3]),
    ],
    guarantee=gt.ApproxDP("1/3", "1e-9", unit=gt.unit("person")),
    cost=gt.GaussianDP("0.1", neighbours="change-one"),
    release_id="r-1",
    confidence="0.9",
    citations=("[DMNS06]",),
    recipe={"spend": "ε = 0.1", "contributions": "at most 4 rows of a person"},
    entropy="the system's",
    notes=("a note",),
)


@all_cases(
    "answer",
    [
        EVERY_KIND,
        Answer([Column("n", [1], [0], [2])], cost=Fraction(1, 7), recipe=("first", "second")),
        Answer([Column("k", [], kind="text"), Column("n", [], [], [], kind="integer")]),
        Answer([Column("n", [1], [0], [2])], guarantee=gt.ZCDP("0.1"), cost=gt.RenyiDP({2: "0.1", 8: "0.5"})),
        Estimate(0.31, 0.28, 0.34, name="share", guarantee=gt.PureDP(1)),
    ],
    ids=["every kind", "a number as its cost", "empty", "concentrated and Rényi", "an estimate"],
)
def test_an_answer_that_was_written_as_json_is_read_whole(answer: Answer | Estimate) -> None:
    found = type(answer).from_json(answer.to_json())
    assert found == answer
    assert [column.kind for column in found.columns] == [column.kind for column in answer.columns]
    assert repr(found) == repr(answer)
    assert found.to_json() == answer.to_json()


def test_an_answer_of_a_session_is_read_whole() -> None:
    table = pl.DataFrame({"who": range(50), "region": ["a", "b"] * 25})
    with gt.protect(
        table, unit="who", budget=gt.PureDP(9), domains={"region": ["a", "b"]}, name="t", rows_per_person=1
    ) as s:
        answer = s.sql("SELECT region, COUNT(*) AS n FROM t GROUP BY region").answer(epsilon=1)
    assert Answer.from_json(answer.to_json()) == answer


def test_a_promise_that_no_budget_is_kept_in_is_read_as_its_text() -> None:
    promise = gt.ComputationalDP(1, "1e-6")
    found = Answer.from_json(Answer([Column("n", [1], [0], [2])], guarantee=promise).to_json())
    assert found.guarantee == str(promise)


def changed(**fields: Any) -> str:
    return json.dumps(json.loads(EVERY_KIND.to_json()) | fields)


NO_ANSWERS = dict(
    enumerate(
        [
            "",
            "[]",
            "3",
            "{}",
            "[" * 100_000,
            '{"format": 1}',
            changed(kind="estimate"),
            changed(kinds=[["region", "colour"]]),
            changed(kinds=[]),
            changed(kinds=5),
            changed(intervals=["region"]),
            changed(intervals=["absent"]),
            changed(surprise={}),
            EVERY_KIND.to_json().replace('"-inf"', '"12"'),
            changed(columns={}),
            changed(confidence="2"),
            changed(confidence=None),
            changed(release_id=5),
            changed(notes=None),
            changed(recipe=7),
            changed(guarantee={"promise": "magic"}),
            changed(guarantee={"promise": "pure", "epsilon": "1e999999999", "unit": None, "neighbours": "x"}),
            EVERY_KIND.to_json().replace('"2013-01-01"', '"the first"'),
            EVERY_KIND.to_json().replace('"1.50"', '"one"'),
            EVERY_KIND.to_json().replace('"north"', "7"),
            EVERY_KIND.to_json()[:-5],
        ]
    )
)


@all_cases("text", NO_ANSWERS.values())
def test_what_is_no_answer_in_json_is_refused_by_a_sentence(text: str) -> None:
    with pytest.raises(InvalidParameter):
        Answer.from_json(text)


def test_a_parquet_file_holds_the_table_with_its_intervals(tmp_path: Path) -> None:
    answer = Answer([Column("day", [dt.date(2013, 1, 1)]), Column("n", [3.0], [-INF], [INF])])
    answer.to_parquet(tmp_path / "answer.parquet")
    assert pl.read_parquet(tmp_path / "answer.parquet").rows(named=True) == answer.rows()
    with pytest.raises(InvalidParameter):
        answer.to_parquet(tmp_path / "absent" / "answer.parquet")


def test_pandas_makes_a_table_of_an_answer_by_itself() -> None:
    answer = Answer([Column("k", ["a", "b"]), Column("n", [1, 2], [0, 1], [2, 3])])
    pd.testing.assert_frame_equal(pd.DataFrame(answer), answer.to_pandas())
    assert [row["n"] for row in answer] == [1, 2]
    assert pl.DataFrame(answer).columns == ["k", "n", "n_low", "n_high"]


def test_markdown_has_every_row_and_what_was_promised_below() -> None:
    rows = 30
    answer = Answer(
        [
            Column("region", [f"r{row}" for row in range(rows)]),
            Column("n", [1204] * rows, [1190] * rows, [1218] * rows),
        ],
        cost=gt.PureDP("0.1"),
        notes=("a note",),
    )
    lines = answer.to_markdown().splitlines()
    assert lines[:3] == ["| region | n |", "| :--- | ---: |", "| r0 | 1,204 ± 14 |"]
    assert len(lines) == rows + 5
    assert all(fact in lines[-2] for fact in ("30 rows", "95 %", "ε = 0.1 (pure)"))
    assert lines[-1] == "a note"


@all_cases(
    ("text", "escaped"),
    [
        ("a|b", r"a\|b"),
        ("<script>", r"\<script\>"),
        ("[x](javascript:alert(1))", r"\[x\](javascript\:alert(1))"),
        ("http://evil.example", r"http\://evil.example"),
        ("www.evil.example", r"www\.evil.example"),
        ("**bold** _it_ `code`", r"\*\*bold\*\* \_it\_ \`code\`"),
        ("a\nb", r"a\\nb"),
        ("&lt;", r"\&lt;"),
    ],
)
def test_no_text_of_the_data_is_markup_in_markdown(text: str, escaped: str) -> None:
    lines = Answer([Column(text, [text])], notes=(text,)).to_markdown().splitlines()
    assert lines[0] == lines[2] == f"| {escaped} |"
    assert lines[-1] == escaped


def test_html_has_every_row_and_escapes_every_text() -> None:
    answer = Answer([Column("<b>", [f"<i>{row}" for row in range(30)]), Column("n", [1] * 30, [0] * 30, [2] * 30)])
    page = answer.to_html()
    assert page.count("<tr>") == 31
    assert "more rows" not in page
    assert "<i>" not in page
    assert answer._repr_html_().count("<tr>") == 21


def test_a_parquet_file_tells_caps_cost_confidence_and_release(tmp_path: Path) -> None:
    rows = pl.DataFrame({"who": range(9), "n": [1] * 9})
    with gt.protect(rows, unit="who", budget=gt.PureDP(1), name="it's") as session:
        answer = session.table().agg(n=gt.count()).answer(epsilon="0.5", rows_per_person=2)
    answer.to_parquet(tmp_path / "answer.parquet")
    with duckdb.connect() as connection:
        found = connection.execute(
            "SELECT key, value FROM parquet_kv_metadata(?)", [str(tmp_path / "answer.parquet")]
        ).fetchall()
    told = json.loads(dict(found)[b"giveortake"])
    assert told["caps"] == {"rows_per_person": 2}
    assert told["cost"] == codec.write(answer.cost)
    assert (told["confidence"], told["release_id"]) == ("19/20", answer.release_id)


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
