"""Sources of DuckDB: rules of CSV, loaded copies, types of columns, and what is refused without a word of it."""

from __future__ import annotations

import datetime as dt
import gzip
import os
import random
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import giveortake as gt
from giveortake.engines.duckdb import csv_files, tables
from giveortake.engines.duckdb.csv_files import load_csv, separator_of
from giveortake.engines.duckdb.engine import DuckDBEngine
from giveortake.engines.duckdb.tables import LoadedCopies, open_database
from giveortake.engines.runtime import CacheFolder
from giveortake.errors import GiveOrTakeError, InvalidParameter
from giveortake.plan import Domain, Kind
from inside import engine_of
from stated_caps import stating_caps
from tiers import tiered


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
            return str(s.describe().catalog.private["t"].schema["note"].kind), {row for row in found if row[0] < 200}

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


CONNECTION = duckdb.connect(":memory:")
KINDS = {"x": Kind.REAL, "i": Kind.INTEGER, "d": Kind.DATE}


def loaded(content: bytes, folder: Path) -> list[tuple[object, ...]]:
    path = folder / "t.csv"
    path.write_bytes(content)
    separator = separator_of(path)
    assert separator is not None
    load_csv(CONNECTION, "t", path, separator, KINDS)
    assert [name for (name,) in CONNECTION.execute("SELECT table_name FROM duckdb_tables()").fetchall()] == ["t"]
    rows = CONNECTION.execute("SELECT * FROM t").fetchall()
    CONNECTION.execute("DROP TABLE t")
    return rows


def test_a_cell_that_is_not_what_was_declared_is_missing_and_its_row_is_there(tmp_path: Path) -> None:
    rows = "".join(f"p{i},{'n/a' if i % 10 < 3 else i}\n" for i in range(1000))
    found = loaded(f"p,x\n{rows}".encode(), tmp_path)
    assert len(found) == 1000
    assert sum(value is None for _, value in found) == 300


def test_a_fraction_is_no_whole_number_and_nothing_is_rounded(tmp_path: Path) -> None:
    cells = {"3": 3, "3.0": 3, "1e3": 1000, "3.7": None, "-3.2": None, ".5": None, str(2**63 - 1): 2**63 - 1}
    cells |= {f"{2**63 - 1}.4": None, "9007199254740993": 9007199254740993}
    found = loaded(("p,i\n" + "".join(f"a,{each}\n" for each in cells)).encode(), tmp_path)
    assert [value for _, value in found] == list(cells.values())


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b'p,x\na,"1"\n"b\nc",2\n', [("a", 1.0), ("b\nc", 2.0)]),
        (b"p,x\r\na,1\r\n", [("a", 1.0)]),
        (b"p,x\ra,1\rb,2\r", [("a", 1.0), ("b", 2.0)]),
        (b"p,x\na,1\rb,2\n", [("a", 1.0), ("b", 2.0)]),
        (b"p,x\na,1\r\nb,2\n", [("a", 1.0), ("b", 2.0)]),
        (b"p,x\na\nb,2\n", [("a", None), ("b", 2.0)]),
        (b"p,x\na,1,7,8\nb,2\n", [("a", 1.0), ("b", 2.0)]),
        (b"p,x\n\na,1\n\n", [("a", 1.0)]),
        (b"p,x\na\xff,1\nb,2\n", [("a\ufffd", 1.0), ("b", 2.0)]),
        (b"p,x\na\0b,1\nb,2\n", [("a\ufffdb", 1.0), ("b", 2.0)]),
        (b"\xef\xbb\xbfp,x\na,1\n", [("a", 1.0)]),
        ("p,x\nß,1\n".encode("utf-16"), [("ß", 1.0)]),
        ("p,x\nß,1\n".encode("utf-32"), [("ß", 1.0)]),
        (gzip.compress("p,x\nß,1\n".encode(), mtime=0), [("ß", 1.0)]),
        (gzip.compress("p,x\nß,1\n".encode("utf-16"), mtime=0), [("ß", 1.0)]),
        (b'p,x\n 1 , "2" \n', [(" 1 ", 2.0)]),
        (b'p,x\na"b,1\n', [('a"b', 1.0)]),
        (b'p,x\n"a""b",1\n', [('a"b', 1.0)]),
        (b"p,x\n", []),
        (b"p,x", []),
        (b"p;x\na;1\n", [("a", 1.0)]),
        (b"p;x;i\na;1,5;1\nb;-2e3;1,5\nc;1.234,5;x\n", [("a", 1.5, 1), ("b", -2000.0, None), ("c", None, None)]),
        (b'"p";"x"\n"a;b";"1,5"\n', [("a;b", 1.5)]),
        (b"p\tx\na,b\t1\n", [("a,b", 1.0)]),
        (b"p|x\na;b|1,5\n", [("a;b", None)]),
        (b"p;q,x\na;b,1\n", [("a;b", 1.0)]),
        (b'p,x\na,"1,5"\nb;2\n', [("a", None), ("b;2", None)]),
        (b'"p;q"\na;b\n', [("a;b",)]),
        ("p;x\nß;1,5\n".encode("utf-16"), [("ß", 1.5)]),
        (b"p,x\n" + b"z" * 3_000_000 + b",1\nb,2\n", [("z" * 1_000_001, 1.0), ("b", 2.0)]),
    ],
)
def test_files_are_read_by_the_stated_rules(content: bytes, rows: list[tuple[object, ...]], tmp_path: Path) -> None:
    assert sorted(loaded(content, tmp_path), key=repr) == sorted(rows, key=repr)


def test_names_of_columns_that_are_not_utf_8_are_refused_and_cells_are_not(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="not UTF-8") as refused:
        loaded("p,région\na,b\n".encode("latin-1"), tmp_path)
    assert refused.value.hint is not None
    assert refused.value.hint.startswith("iconv -f latin1 -t utf-8 ")
    assert loaded("p,région\na,b\n".encode(), tmp_path) == [("a", "b")]


def test_an_empty_line_of_a_single_column_is_a_row(tmp_path: Path) -> None:
    assert loaded(b"p\na\n\nb\n", tmp_path) == [("a",), (None,), ("b",)]
    assert loaded(b"p\na\n\n\xff\n", tmp_path) == [("a",), (None,), ("\ufffd",)]


@pytest.mark.parametrize(
    "content",
    [
        b'p,x\nsecret,"1\nb,2\n',
        b'p,x\n"secret"s,1\n',
        b"p,p\nsecret,1\n",
        b"p,P\nsecret,1\n",
        b"p,\nsecret,1\n",
        b"\np,x\nsecret,1\n",
        b"",
    ],
)
def test_what_cannot_be_read_is_refused_without_a_word_of_it(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        loaded(content, tmp_path)
    assert "secret" not in str(refusal.value)
    assert refusal.value.__context__ is None or "secret" not in str(refusal.value.__context__)


@pytest.mark.parametrize("row", [b"1;17", b'1;17"', b'1;"17'])
@pytest.mark.parametrize(
    ("header", "separator"), [(b'id;diagonal, "', ";"), (b'id;"a,b"', ";"), (b'"id","a;b"', ","), (b'a"b,c', ",")]
)
def test_no_row_closes_a_quote_that_reading_in_a_wrong_way_has_opened(
    header: bytes, separator: str, row: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(header + b"\n" + row + b"\n")
    assert separator_of(path) == separator


@pytest.mark.parametrize("record", [b"a,b,c", b"a;b;c", b"a\tb", b"a|b", b'"a', b"", b"\xff"])
@pytest.mark.parametrize(
    ("header", "separator"), [(b"p", ","), (b"p,x", ","), (b"p;x", ";"), (b"p\tx", "\t"), (b"p|x", "|")]
)
def test_the_header_alone_decides_what_stands_between_cells(
    header: bytes, separator: str, record: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(header + b"\n" + record + b"\n")
    assert separator_of(path) == separator
    assert separator_of(path.rename(tmp_path / "t.tsv")) == "\t"


PIECES = ["a", "b", '"', '""', ",", "\n", "\r\n", " ", "1", "'", "#", "\\", "ß", "\t", "2024-01-31", ";"]


def _scribbled(luck: random.Random) -> str:
    return "".join(luck.choice(PIECES) for _ in range(luck.randint(0, 12)))


def _well_written(luck: random.Random, width: int, end: str) -> str:
    """Rows as a program would write them, any text inside of quotes."""

    def cell() -> str:
        text = _scribbled(luck).replace("\r\n", "\n").replace("\n", end)
        return '"' + text.replace('"', '""') + '"' if luck.random() < 0.7 else luck.choice(["", "1", "ß", " b"])

    return "".join(",".join(cell() for _ in range(width)) + end for _ in range(luck.randint(0, 5)))


def test_duckdb_and_the_reader_here_make_the_same_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    luck = random.Random(7)  # noqa: S311 (texts for a test)
    by_duckdb = csv_files._read_by_duckdb
    taken = refused = 0

    def attempt(content: bytes) -> object:
        try:
            return sorted(loaded(content, tmp_path), key=repr)
        except GiveOrTakeError as refusal:
            return type(refusal)

    for turn in range(tiered(60, 600)):
        width, end = luck.randint(1, 3), luck.choice(["\n", "\r\n"])
        header = ",".join(["x", "i", "s"][:width]) + end
        content = (header + (_well_written(luck, width, end) if turn % 2 else _scribbled(luck))).encode()
        seen: list[bool] = []
        monkeypatch.setattr(csv_files, "_read_by_duckdb", lambda *a, seen=seen: seen.append(by_duckdb(*a)) or seen[-1])
        first = attempt(content)
        monkeypatch.setattr(csv_files, "_read_by_duckdb", lambda *_: False)
        assert attempt(content) == first, content
        taken += seen == [True]
        refused += isinstance(first, type)
    assert taken > 15
    assert refused > 2


LARGE = tables.SMALLEST
COPIED = {"amount": Kind.REAL, "day": Kind.DATE, "late": Kind.BOOLEAN, "n": Kind.INTEGER}
ROWS = 'who,amount,day,late,n\nana,1.5,2013-01-01,true,9007199254740993\n"b,""o",nan,never,,\n,-inf,2013-12-31,no,x\n'


@pytest.fixture(autouse=True)
def every_file_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "SMALLEST", 1)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were read as text."""
    found: list[Path] = []

    def load_csv(connection: Any, table: str, path: Path, *said: Any) -> None:
        found.append(path)
        csv_files.load_csv(connection, table, path, *said)

    monkeypatch.setattr(tables, "load_csv", load_csv)
    return found


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "trips.csv"
    path.write_text(ROWS, encoding="utf-8")
    return path


def content(path: Path, cache: Path | None, kinds: Mapping[str, Kind] = COPIED) -> tuple[Any, Any]:
    copies = None if cache is None else LoadedCopies(CacheFolder(cache))
    with open_database() as connection:
        loaded = tables.load(connection, "trips", path, dict(kinds), None, copies=copies)
        return loaded.source, connection.execute(f"SELECT * FROM {loaded.text} ORDER BY ALL").fetchall()


def copies_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.duckdb"))


def only_copy(folder: Path) -> Path:
    (copy,) = copies_in(folder)
    return copy


def test_a_copy_is_the_same_table_and_the_file_is_read_as_text_once(
    table: Path, tmp_path: Path, reads: list[Path]
) -> None:
    plain, first, second = content(table, None), content(table, tmp_path / "c"), content(table, tmp_path / "c")
    assert repr(plain) == repr(first) == repr(second)  # repr: NaN is no equal of NaN
    assert len(reads) == 2  # without a folder, and the first time with one


def test_only_its_user_can_read_a_copy_or_its_name(table: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        content(table, tmp_path / "c")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "c").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "c").iterdir()} == {0o600}
    content(table, tmp_path / "d")
    names = [only_copy(tmp_path / folder).name for folder in "cd"]
    assert set(names[0].removesuffix(".duckdb").split("-")).isdisjoint(names[1].removesuffix(".duckdb").split("-"))
    assert "trips" not in names[0]


def test_a_file_that_changed_is_read_again_and_its_old_copy_is_removed(
    table: Path, tmp_path: Path, reads: list[Path]
) -> None:
    content(table, tmp_path / "c")
    old = only_copy(tmp_path / "c")
    times = table.stat()
    table.write_text(ROWS.replace("ana", "ann"), encoding="utf-8")
    os.utime(table, ns=(times.st_atime_ns, times.st_mtime_ns))  # of the same size and time
    assert "ann" in repr(content(table, tmp_path / "c"))
    assert len(reads) == 2
    assert only_copy(tmp_path / "c") != old


def test_other_declared_types_have_a_copy_of_their_own(table: Path, tmp_path: Path, reads: list[Path]) -> None:
    for kinds in (COPIED, {}, COPIED, {}):
        assert content(table, tmp_path / "c", kinds)[0] == content(table, None, kinds)[0]
    assert len(copies_in(tmp_path / "c")) == 2
    assert len(reads) == 4 + 2


def _flip_a_byte(copy: Path) -> None:
    written = bytearray(copy.read_bytes())
    written[len(written) // 2] ^= 1
    copy.write_bytes(written)


def _cut_off(copy: Path) -> None:
    copy.write_bytes(copy.read_bytes()[:-9])


def _empty(copy: Path) -> None:
    copy.write_bytes(b"")


def _let_others_write(copy: Path) -> None:
    copy.chmod(0o622)


def _replace_by_a_link(copy: Path) -> None:
    elsewhere = copy.parent / "elsewhere"
    copy.rename(elsewhere)
    copy.symlink_to(elsewhere)


def _replace_by_another_table(copy: Path) -> None:
    copy.unlink()
    with open_database() as connection:
        connection.execute(f"ATTACH '{copy}' AS other")
        connection.execute("CREATE TABLE other.kept_rows AS SELECT 'eve' AS who")
    copy.chmod(0o600)


@pytest.mark.parametrize(
    "damage", [_flip_a_byte, _cut_off, _empty, _let_others_write, _replace_by_a_link, _replace_by_another_table]
)
def test_a_copy_that_was_damaged_or_put_there_by_others_is_noticed_and_made_anew(
    damage: Callable[[Path], None], table: Path, tmp_path: Path, reads: list[Path]
) -> None:
    expected = repr(content(table, tmp_path / "c"))
    damage(only_copy(tmp_path / "c"))
    assert repr(content(table, tmp_path / "c")) == expected
    assert len(reads) == 2
    assert repr(content(table, tmp_path / "c")) == expected
    assert len(reads) == 2


def test_copies_of_another_secret_are_not_found(table: Path, tmp_path: Path, reads: list[Path]) -> None:
    content(table, tmp_path / "c")
    (tmp_path / "c" / "secret").write_bytes(bytes(32))
    content(table, tmp_path / "c")
    assert len(reads) == 2
    (tmp_path / "c" / "secret").chmod(0o644)  # others may know it: it proves nothing any more
    content(table, tmp_path / "c")
    assert len(reads) == 3


def test_a_folder_that_cannot_be_used_means_no_copy(table: Path, tmp_path: Path, reads: list[Path]) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    for _ in range(2):
        assert repr(content(table, tmp_path / "file")) == repr(content(table, None))
    assert len(reads) == 4


def test_a_file_that_is_written_while_it_is_read_has_no_copy(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def load_csv(connection: Any, name: str, path: Path, *said: Any) -> None:
        path.write_text(ROWS.replace("ana", "ann"), encoding="utf-8")
        csv_files.load_csv(connection, name, path, *said)

    monkeypatch.setattr(tables, "load_csv", load_csv)
    content(table, tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_a_session_asks_a_copy_that_is_removed_meanwhile(table: Path, tmp_path: Path, reads: list[Path]) -> None:
    def session() -> gt.session.Session:
        domains: dict[str, Any] = {"amount": (0, 10), "late": [True, False]}
        return gt.protect(
            table, unit=gt.ROW, budget=gt.PureDP(10**9), domains=domains, engine={"cache": tmp_path / "c"}
        )

    with session():
        pass
    with session() as second:
        only_copy(tmp_path / "c").unlink()
        answer = second.sql("SELECT COUNT(*) AS n, SUM(amount) AS s FROM trips").answer(epsilon=10**8)
    assert answer.to_polars().select("n", "s").rows() == [(3, pytest.approx(1.5, abs=0.01))]
    assert len(reads) == 1


def test_a_small_file_is_not_worth_a_copy(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "SMALLEST", LARGE)
    content(table, tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_copies_that_nobody_used_for_a_month_and_half_written_ones_are_removed(table: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(ROWS, encoding="utf-8")
    content(other, tmp_path / "c")
    long_ago = only_copy(tmp_path / "c")
    half = tmp_path / "c" / "0.draft"
    half.touch()
    for path in (long_ago, half):
        os.utime(path, (0, 0))
    content(table, tmp_path / "c")
    assert not half.exists()
    assert only_copy(tmp_path / "c") != long_ago


def test_threads_and_processes_that_load_at_the_same_time_all_get_the_table(table: Path, tmp_path: Path) -> None:
    table.write_text(ROWS + "ana,1,2013-01-01,true,1\n" * 60_000, encoding="utf-8")  # above the least size
    expected, found = repr(content(table, None)), list[str]()
    threads = [threading.Thread(target=lambda: found.append(repr(content(table, tmp_path / "c")))) for _ in range(2)]
    code = (
        "from pathlib import Path; from giveortake.engines.duckdb import tables; from giveortake.plan import Kind;"
        "from giveortake.engines.duckdb.tables import open_database;"
        "from giveortake.engines.runtime import CacheFolder;"
        "from giveortake.engines.duckdb.tables import LoadedCopies;"
        f"copies, kinds = LoadedCopies(CacheFolder(Path({str(tmp_path / 'c')!r}))), {{'amount': Kind.REAL}};"
        "c = open_database(); print(c.execute('SELECT count(*) FROM '"
        f" + tables.load(c, 'trips', Path({str(table)!r}), kinds, None, copies=copies).text).fetchall())"
    )
    others = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 2
    assert [other.communicate()[0] for other in others] == ["[(60003,)]\n"]
    assert {other.returncode for other in others} == {0}
    assert not list((tmp_path / "c").glob("*.draft"))


ASKED: dict[str, tuple[str, Domain]] = {
    "TINYINT": ("1", Domain(Kind.INTEGER)),
    "HUGEINT": ("170141183460469231731687303715884105727", Domain(Kind.INTEGER)),
    "UBIGINT": ("1", Domain(Kind.INTEGER)),
    "DECIMAL(10,2)": ("1.25", Domain(Kind.DECIMAL, step=Fraction(1, 100))),
    "DECIMAL(38,0)": ("1", Domain(Kind.DECIMAL, step=Fraction(1))),
    "FLOAT": ("1.5", Domain(Kind.REAL)),
    "ENUM('a', 'b[]')": ("'b[]'", Domain(Kind.TEXT)),
    "UUID": ("'6ccd780c-baba-1026-9564-5b8c656024db'", Domain(Kind.TEXT)),
    "BOOLEAN": ("true", Domain(Kind.BOOLEAN)),
    "DATE": ("'2024-01-31'", Domain(Kind.DATE)),
    "TIMESTAMP": ("'2024-01-31 12:00:00'", Domain(Kind.TIMESTAMP)),
    "TIMESTAMP_S": ("'2024-01-31 12:00:00'", Domain(Kind.TIMESTAMP)),
    "TIMESTAMP_NS": ("'2024-01-31 12:00:00'", Domain(Kind.TIMESTAMP)),
}
UNASKED = {
    "DECIMAL(10,2)[]": "[1.25]",
    "DECIMAL(10,2)[2]": "[1.25, 2]",
    "DECIMAL(10,2)[][]": "[[1.25]]",
    "INTEGER[]": "[1]",
    "DOUBLE[]": "[1.5]",
    "ENUM('a', 'b')[]": "['a']",
    "UUID[]": "['6ccd780c-baba-1026-9564-5b8c656024db']",
    "TIMESTAMP[]": "['2024-01-31 12:00:00']",
    "TIMESTAMP_NS[]": "['2024-01-31 12:00:00']",
    "DATE[]": "['2024-01-31']",
    'STRUCT(a INTEGER, "DECIMAL(1,1)" VARCHAR)': "{'a': 1, 'DECIMAL(1,1)': 'x'}",
    "MAP(VARCHAR, DECIMAL(10,2))": "MAP {'a': 1.25}",
    "UNION(n INTEGER, t VARCHAR)": "'x'",
    "UHUGEINT": "1",
    "BIGNUM": "1",
    "BIT": "'101'",
    "BLOB": "'abc'",
    "INTERVAL": "INTERVAL 1 DAY",
    "TIME": "'12:00:00'",
    "TIMETZ": "'12:00:00+02'",
    "TIMESTAMPTZ": "'2024-01-31 12:00:00+02'",
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("types") / "t.duckdb"
    values = [*(value for value, _ in ASKED.values()), *UNASKED.values()]
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate([*ASKED, *UNASKED]))
    with duckdb.connect(str(place)) as connection:
        connection.execute(f"CREATE TABLE t (u INTEGER, {columns})")
        for person in (1, 2, 3):
            connection.execute(f"INSERT INTO t VALUES ({person}, {', '.join(values)})")
    return place


def test_a_table_of_every_type_is_asked_about_what_can_be_asked(file: Path) -> None:
    said = {"unit": "u", "budget": gt.PureDP(10**9), "rows_per_person": 1}
    with gt.protect(f"{file}?table=t", **said) as session:  # type: ignore[arg-type]
        schema = session.describe().catalog.private["t"].schema
        for number, (kind, (_, domain)) in enumerate(ASKED.items()):
            assert schema[f"c{number}"] == domain, kind
        for number, kind in enumerate(UNASKED, start=len(ASKED)):
            assert f"c{number}" not in schema, kind
            assert f"c{number}" in str(session), kind  # which says that it is left out
        asked = ", ".join(f"COUNT(c{number}) AS n{number}" for number in range(len(ASKED)))
        answer = session.sql(f"SELECT {asked} FROM t").answer(epsilon=10**8)
    assert {value for row in answer.rows() for name, value in row.items() if "_" not in name} == {3}


def test_lists_in_a_frame_and_in_a_file_are_left_alone(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"u": [1, 2], "x": [[1.5], []], "d": pl.Series([["1.25"], []]).cast(pl.List(pl.Decimal(10, 2)))}
    )
    frame.write_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.parquet"):
        with gt.protect(source, unit="u", budget=gt.PureDP(1), rows_per_person=1) as session:
            assert list(next(iter(session.describe().catalog.private.values())).schema) == ["u"]
